//! Where a client keeps its settings and how it writes a hook down: everything that differs between clients, as data.

use serde_json::{Map, Value, json};

use super::Hook;
use super::json_text::Node;
use super::slash_command::{first_word, shell_word};
use super::style::Style;

/// The settings of one client.
#[derive(Debug)]
pub struct Layout {
    /// Those of the user.
    pub user: Settings,
    /// Those of a project, from its root.
    pub project: Settings,
    /// More files of a project in which hooks may stand, from its root.
    pub more: &'static [&'static str],
    /// What an organisation sets, where it does.
    pub managed: Option<&'static str>,
    /// What silences hooks.
    pub switches: &'static [Switch],
    /// The events haltline listens to, in the order they are written.
    pub listeners: &'static [Listener],
    /// What the settings look like.
    pub form: Form,
    /// How a command is spelled in settings that are JSON.
    pub spelling: Spelling,
    /// Whether a status line can be set.
    pub has_status_line: bool,
    /// Whole files of haltline's own beside the settings.
    pub own_files: &'static [OwnFile],
    /// What a person has to do after the installation, where there is something.
    pub afterwards: Option<&'static str>,
}

/// Where a settings file lies.
#[derive(Debug)]
pub struct Settings {
    /// What puts the folder elsewhere, where something can.
    pub moved: Option<Moved>,
    /// The folder, below the home or the project's root.
    pub folder: &'static str,
    /// The file.
    pub file: &'static str,
}

/// What puts a folder of settings elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// A variable that names the folder.
    Folder(&'static str),
    /// The same, where the client takes a `~` at its beginning for the home.
    FolderFromHome(&'static str),
    /// A variable that names what the client takes for the home.
    Home(&'static str),
    /// The folder is read in the main checkout, whichever work tree the client is started in.
    MainCheckout,
}

impl Moved {
    /// The variable.
    pub fn variable(self) -> Option<&'static str> {
        match self {
            Moved::Folder(name) | Moved::FolderFromHome(name) | Moved::Home(name) => Some(name),
            Moved::MainCheckout => None,
        }
    }
}

/// What silences hooks. Keys of keys stand with dots between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// The key is `true`: no hook runs.
    On(&'static str),
    /// The key is `false`: no hook runs.
    Off(&'static str),
    /// The key is `false` in a TOML file beside the settings: no hook runs.
    OffBeside {
        /// That file.
        file: &'static str,
        /// The key.
        key: &'static str,
    },
    /// The key lists hooks that do not run, by what the client calls them ([`super::Found::name`]).
    Listed(&'static str),
}

/// Whether a key of keys is `false` in a text of TOML; what cannot be read says nothing.
pub fn is_off_in_toml(text: &str, key: &str) -> bool {
    let root = text.parse().map(toml::Value::Table).ok();
    let value = key.split('.').fold(root.as_ref(), |value, key| value?.get(key));
    value.and_then(toml::Value::as_bool) == Some(false)
}

/// An event haltline listens to.
#[derive(Debug)]
pub struct Listener {
    /// As the client spells it.
    pub event: &'static str,
    /// How long the client waits, in its own unit.
    pub timeout: u32,
}

/// What a file with hooks looks like.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// JSON: `hooks.EVENT` lists groups, each with its matcher and its handlers.
    Grouped,
    /// JSON: `hooks.EVENT` lists the handlers, and the file says which version of this it is.
    Flat {
        /// That version.
        version: u32,
    },
    /// A program of haltline's own, the whole file.
    Program(Program),
}

/// How a command is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// How its words are put together.
    pub words: Words,
    /// The member that holds it.
    pub command: &'static str,
    /// The member that says how long the client waits.
    pub timeout: &'static str,
}

/// How the words of a command are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// The program in one member, its arguments in `args`, started without a shell.
    Apart,
    /// One line for a shell.
    Line,
    /// One line for a shell that ends well whatever became of the program: the client takes any other end for a refusal.
    Forgiven,
}

/// What ends a line well.
const FORGIVEN: &str = " || exit 0";

impl Spelling {
    /// `command` and `args`, with a `timeout`.
    pub const APART: Self = Self { words: Words::Apart, command: "command", timeout: "timeout" };
    /// One `command` line for a shell, with a `timeout`.
    pub const LINE: Self = Self { words: Words::Line, ..Self::APART };
}

/// A whole file of haltline's own.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// What it is for the person, as the beginning of a sentence.
    pub title: &'static str,
    /// What it does, as the end of that sentence.
    pub says: &'static str,
    /// Its text, which runs this command.
    pub text: fn(&Hook) -> String,
    /// The command in a text that is haltline's; what is not recognised belongs to the user.
    pub hook: fn(text: &str) -> Option<Hook>,
    /// Whether the client starts it as a program.
    pub is_executable: bool,
}

/// A file of haltline's own beside the settings.
#[derive(Debug)]
pub struct OwnFile {
    /// Below the folder of the settings.
    pub path: &'static str,
    /// The event it is the hook of, where the client has a file for each. Such a file cannot be left out.
    pub event: Option<&'static str>,
    /// What is in it.
    pub program: Program,
}

impl Layout {
    /// The events haltline listens to.
    pub fn events(&self) -> impl Iterator<Item = &'static str> {
        self.listeners.iter().map(|listener| listener.event)
    }

    /// Whether haltline listens to an event.
    pub fn listens_to(&self, event: &str) -> bool {
        self.events().any(|known| known == event)
    }

    /// The hook's handler on one line, as it is written for an event into a file that is not minified.
    pub fn handler_text(&self, hook: &Hook, listener: &Listener) -> String {
        Style::default().inline(&self.handler(hook, listener))
    }

    /// What stands in the list of an event.
    pub(super) fn entry(&self, hook: &Hook, listener: &Listener) -> Value {
        match self.form {
            Form::Grouped => json!({ "hooks": [self.handler(hook, listener)] }),
            Form::Flat { .. } | Form::Program(_) => self.handler(hook, listener),
        }
    }

    /// The handlers of what stands in the list of an event.
    pub(super) fn handlers<'a>(&self, entry: &'a Node) -> &'a [Node] {
        match self.form {
            Form::Grouped => entry.member("hooks").and_then(|member| member.value.elements()).unwrap_or_default(),
            Form::Flat { .. } | Form::Program(_) => std::slice::from_ref(entry),
        }
    }

    fn handler(&self, hook: &Hook, listener: &Listener) -> Value {
        let mut handler = Map::from_iter([("type".to_owned(), json!("command"))]);
        handler.extend(self.words(hook).into_iter().map(|(key, value)| (key.to_owned(), value)));
        handler.insert(self.spelling.timeout.to_owned(), json!(listener.timeout));
        Value::Object(handler)
    }

    /// The members that say what is run.
    pub(super) fn words(&self, hook: &Hook) -> Vec<(&'static str, Value)> {
        let key = self.spelling.command;
        match self.spelling.words {
            Words::Apart => vec![(key, json!(hook.command)), ("args", json!(hook.args))],
            Words::Line => vec![(key, json!(hook.line()))],
            Words::Forgiven => vec![(key, json!(hook.line() + FORGIVEN))],
        }
    }

    /// The command of a handler, where it is spelled as haltline spells its own.
    pub(super) fn hook_of(&self, handler: &Node) -> Option<Hook> {
        let command = handler.member(self.spelling.command)?.value.text()?;
        match self.spelling.words {
            Words::Apart => {
                let args = handler.member("args")?.value.elements()?;
                let args: Option<Vec<String>> = args.iter().map(|word| word.text().map(str::to_owned)).collect();
                Some(Hook { command: command.to_owned(), args: args? })
            }
            Words::Line => Hook::of_line(command),
            Words::Forgiven => Hook::of_line(command.strip_suffix(FORGIVEN)?),
        }
    }
}

impl Hook {
    /// The command as one line for a shell.
    pub fn line(&self) -> String {
        let words = std::iter::once(&self.command).chain(&self.args);
        words.map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
    }

    /// The command of a line that [`Hook::line`] wrote.
    pub fn of_line(line: &str) -> Option<Self> {
        let mut words = Vec::new();
        let mut rest = line.trim();
        while !rest.is_empty() {
            let (word, after) = first_word(rest)?;
            words.push(word);
            rest = after.trim_start();
        }
        let mut words = words.into_iter();
        Some(Self { command: words.next()?, args: words.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back_word_for_word() {
        for words in [["/usr/bin/haltline", "hook", "codex"], ["/home/an a/it's", "--state", "$HOME/x y"]] {
            let [command, args @ ..] = words.map(str::to_owned);
            let hook = Hook { command, args: args.to_vec() };
            assert_eq!(Hook::of_line(&hook.line()), Some(hook));
        }
        assert_eq!(Hook::of_line("  "), None);
        assert_eq!(Hook::of_line("'open"), None);
    }
}
