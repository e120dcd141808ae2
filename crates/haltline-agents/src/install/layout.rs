//! Where a client keeps its settings and how it writes a hook: everything that differs between clients, as data.

use serde_json::{Map, Value, json};

use super::Hook;
use super::json_text::Node;
use super::slash_command::{first_word, shell_word};
use super::style::Style;

/// The settings of one client.
#[derive(Debug)]
pub struct Layout {
    pub user: Settings,
    /// A project's settings, relative to its root.
    pub project: Settings,
    /// More project files that may contain hooks, relative to the project's root.
    pub more_project_files: &'static [&'static str],
    /// The settings of an organisation, if the client has such a file.
    pub managed: Option<&'static str>,
    pub disable_settings: &'static [DisableSetting],
    /// The events that haltline handles, in the order in which they are written.
    pub event_groups: &'static [EventGroup],
    /// The format of the file with the hooks.
    pub form: Form,
    /// How a command is written in settings that are JSON.
    pub spelling: Spelling,
    /// True if the client has a status line that haltline can set.
    pub has_status_line: bool,
    /// Files that are haltline's as a whole, next to the settings.
    pub own_files: &'static [OwnFile],
    /// What a person must do after the installation, if anything.
    pub post_install_step: Option<&'static str>,
}

/// The location of a settings file.
#[derive(Debug)]
pub struct Settings {
    /// What can move the folder elsewhere.
    pub relocation: Option<Relocation>,
    /// The folder, relative to the home folder or the project's root.
    pub folder: &'static str,
    pub file: &'static str,
}

impl Settings {
    /// A file that nothing moves elsewhere.
    pub(crate) const fn new(folder: &'static str, file: &'static str) -> Self {
        Self { relocation: None, folder, file }
    }

    /// The same file, in a folder that can be elsewhere.
    pub(crate) const fn moved_by(self, relocation: Relocation) -> Self {
        Self { relocation: Some(relocation), ..self }
    }
}

/// What moves a settings folder elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relocation {
    /// A variable that names the folder.
    Folder(&'static str),
    /// Like `Folder`, but the client expands a leading `~` to the home folder.
    FolderFromHome(&'static str),
    /// A variable that names the folder the client uses as home.
    Home(&'static str),
    /// The client reads the folder in the main checkout, whichever work tree it is started in.
    MainCheckout,
}

impl Relocation {
    /// The variable, if one moves the folder.
    pub fn variable(self) -> Option<&'static str> {
        match self {
            Relocation::Folder(name) | Relocation::FolderFromHome(name) | Relocation::Home(name) => Some(name),
            Relocation::MainCheckout => None,
        }
    }
}

/// A setting that disables hooks. Nested keys are joined with dots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisableSetting {
    /// No hook runs if the key is `true`.
    IfTrue(&'static str),
    /// No hook runs if the key is `false`.
    IfFalse(&'static str),
    /// No hook runs if the key is `false` in a TOML file next to the settings.
    IfFalseInToml { file: &'static str, key: &'static str },
    /// The key lists hooks that do not run, by the client's name for them ([`super::InstalledHook::name`]).
    IfListed(&'static str),
}

/// True if a dotted key is `false` in a TOML text. A text that cannot be parsed counts as not setting it.
pub fn is_false_in_toml(text: &str, key: &str) -> bool {
    let root = text.parse().map(toml::Value::Table).ok();
    let value = key.split('.').fold(root.as_ref(), |value, key| value?.get(key));
    value.and_then(toml::Value::as_bool) == Some(false)
}

/// Events for whose hooks the client waits equally long.
#[derive(Debug)]
pub struct EventGroup {
    /// How long the client waits, in the client's unit.
    pub timeout: u32,
    /// The events' names, as the client spells them.
    pub events: &'static [&'static str],
}

/// An event that haltline handles.
#[derive(Clone, Copy, Debug)]
pub struct Listener {
    /// The event's name, as the client spells it.
    pub event: &'static str,
    /// How long the client waits for the hook, in the client's unit.
    pub timeout: u32,
}

/// The format of a file with hooks.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// JSON: `hooks.EVENT` lists groups, each with its matcher and its handlers.
    Grouped,
    /// JSON: `hooks.EVENT` lists the handlers, and the file states the version of this format.
    Flat { version: u32 },
    /// The whole file is haltline's.
    GeneratedFile(GeneratedFile),
}

/// How a command is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spelling {
    pub style: CommandStyle,
    /// The key that holds the command.
    pub command: &'static str,
    /// The key for how long the client waits.
    pub timeout: &'static str,
}

/// How a program and its arguments are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandStyle {
    /// The program in one member, its arguments in `args`; the client starts it without a shell.
    Separate,
    ShellLine,
    /// One line for a shell that always exits with 0, because the client takes any other exit code for a denial.
    ShellLineExitZero,
}

/// Makes the shell become haltline instead of waiting for it, which spares every event a process.
const REPLACE_SHELL: &str = "exec ";
/// Makes a shell line exit with 0, also if haltline is gone or killed. So the shell has to stay.
const EXIT_ZERO_SUFFIX: &str = " || exit 0";

impl Spelling {
    /// `command` and `args`, with a `timeout`.
    pub const SEPARATE: Self = Self { style: CommandStyle::Separate, command: "command", timeout: "timeout" };
    /// One `command` line for a shell, with a `timeout`.
    pub const SHELL_LINE: Self = Self { style: CommandStyle::ShellLine, ..Self::SEPARATE };
}

/// The content of a file that is haltline's as a whole.
#[derive(Clone, Copy, Debug)]
pub struct GeneratedFile {
    /// What the file is, as the beginning of a sentence for the person.
    pub title: &'static str,
    /// What the file does, as the end of that sentence.
    pub purpose: &'static str,
    /// Returns the text of the file, which runs this command.
    pub text: fn(&Hook) -> String,
    /// Returns the command in a file that haltline wrote. Any other file belongs to the user and yields `None`.
    pub parse_hook: fn(text: &str) -> Option<Hook>,
    /// True if the client starts the file as a program.
    pub is_executable: bool,
}

/// A file that is haltline's as a whole, next to the settings.
#[derive(Debug)]
pub struct OwnFile {
    /// Relative to the folder of the settings file.
    pub path: &'static str,
    /// The event that the file handles, if the client has one file per event. Such a file is always installed.
    pub event: Option<&'static str>,
    pub content: GeneratedFile,
}

impl Layout {
    /// The usual layout of a client with this settings file in the home folder and in a project: hooks in groups, each
    /// one line for a shell, and nothing else.
    pub(crate) const fn new(folder: &'static str, file: &'static str) -> Self {
        Self {
            user: Settings::new(folder, file),
            project: Settings::new(folder, file),
            more_project_files: &[],
            managed: None,
            disable_settings: &[],
            event_groups: &[],
            form: Form::Grouped,
            spelling: Spelling::SHELL_LINE,
            has_status_line: false,
            own_files: &[],
            post_install_step: None,
        }
    }

    /// The events that haltline handles, with their timeouts.
    pub fn listeners(&self) -> impl Iterator<Item = Listener> {
        let groups = self.event_groups.iter();
        groups.flat_map(|group| group.events.iter().map(|event| Listener { event, timeout: group.timeout }))
    }

    /// The events that haltline handles.
    pub fn events(&self) -> impl Iterator<Item = &'static str> {
        self.listeners().map(|listener| listener.event)
    }

    /// True if haltline handles the event.
    pub fn listens_to(&self, event: &str) -> bool {
        self.events().any(|known| known == event)
    }

    /// The hook's handler for an event, on one line, as it is written into a file that is not minified.
    pub fn handler_text(&self, hook: &Hook, listener: Listener) -> String {
        Style::default().inline(&self.handler(hook, listener))
    }

    pub(super) fn event_entry(&self, hook: &Hook, listener: Listener) -> Value {
        match self.form {
            Form::Grouped => json!({ "hooks": [self.handler(hook, listener)] }),
            Form::Flat { .. } | Form::GeneratedFile(_) => self.handler(hook, listener),
        }
    }

    /// The handlers in one entry of the list of an event.
    pub(super) fn handlers<'a>(&self, entry: &'a Node) -> &'a [Node] {
        match self.form {
            Form::Grouped => entry.member("hooks").and_then(|member| member.value.elements()).unwrap_or_default(),
            Form::Flat { .. } | Form::GeneratedFile(_) => std::slice::from_ref(entry),
        }
    }

    fn handler(&self, hook: &Hook, listener: Listener) -> Value {
        let mut handler = Map::from_iter([("type".to_owned(), json!("command"))]);
        handler.extend(self.command_members(hook).into_iter().map(|(key, value)| (key.to_owned(), value)));
        handler.insert(self.spelling.timeout.to_owned(), json!(listener.timeout));
        Value::Object(handler)
    }

    pub(super) fn command_members(&self, hook: &Hook) -> Vec<(&'static str, Value)> {
        let key = self.spelling.command;
        match self.spelling.style {
            CommandStyle::Separate => vec![(key, json!(hook.command)), ("args", json!(hook.args))],
            CommandStyle::ShellLine => vec![(key, json!(REPLACE_SHELL.to_owned() + &hook.to_shell_line()))],
            CommandStyle::ShellLineExitZero => vec![(key, json!(hook.to_shell_line() + EXIT_ZERO_SUFFIX))],
        }
    }

    /// The command of a handler, if it is written as haltline writes its own.
    pub(super) fn parse_handler(&self, handler: &Node) -> Option<Hook> {
        let command = handler.member(self.spelling.command)?.value.text()?;
        match self.spelling.style {
            CommandStyle::Separate => {
                let args = handler.member("args")?.value.elements()?;
                let args: Option<Vec<String>> = args.iter().map(|word| word.text().map(str::to_owned)).collect();
                Some(Hook { command: command.to_owned(), args: args? })
            }
            CommandStyle::ShellLine => Hook::from_shell_line(command),
            CommandStyle::ShellLineExitZero => Hook::from_shell_line(command.strip_suffix(EXIT_ZERO_SUFFIX)?),
        }
    }
}

impl Hook {
    pub fn to_shell_line(&self) -> String {
        let words = std::iter::once(&self.command).chain(&self.args);
        words.map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
    }

    /// Parses a line that [`Hook::to_shell_line`] wrote, with or without `exec` before it.
    pub fn from_shell_line(line: &str) -> Option<Self> {
        let mut words = Vec::new();
        let line = line.trim();
        let mut rest = line.strip_prefix(REPLACE_SHELL).unwrap_or(line).trim_start();
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
    fn a_shell_line_is_parsed_back_unchanged() {
        for words in [["/usr/bin/haltline", "hook", "codex"], ["/home/an a/it's", "--state", "$HOME/x y"]] {
            let [command, args @ ..] = words.map(str::to_owned);
            let hook = Hook { command, args: args.to_vec() };
            let line = hook.to_shell_line();
            assert_eq!(Hook::from_shell_line(&format!("{REPLACE_SHELL}{line}")).as_ref(), Some(&hook));
            assert_eq!(Hook::from_shell_line(&line), Some(hook), "as earlier versions wrote it");
        }
        assert_eq!(Hook::from_shell_line("  "), None);
        assert_eq!(Hook::from_shell_line("'open"), None);
    }
}
