//! Where a client keeps its settings and how it writes a hook down: everything that differs between clients whose
//! settings are a JSON file with `hooks`, as data.

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
    /// Keys that silence all hooks when they are `true`.
    pub switches: &'static [&'static str],
    /// The events haltline listens to, in the order they are written.
    pub listeners: &'static [Listener],
    /// How a command is spelled.
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
    /// The variable that names the folder, where there is one.
    pub variable: Option<&'static str>,
    /// The folder, below the home or the project's root.
    pub folder: &'static str,
    /// The file.
    pub file: &'static str,
}

/// An event haltline listens to.
#[derive(Debug)]
pub struct Listener {
    /// As the client spells it.
    pub event: &'static str,
    /// How long the client waits, in its own unit.
    pub timeout: u32,
}

/// How a command is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `command` and `args`, started without a shell.
    Words,
    /// One `command` line for a shell.
    Line,
}

/// A whole file of haltline's own.
#[derive(Debug)]
pub struct OwnFile {
    /// Below the folder of the settings.
    pub path: &'static str,
    /// What it is for the person, as the beginning of a sentence.
    pub title: &'static str,
    /// What it does, as the end of that sentence.
    pub says: &'static str,
    /// Its text for a binary.
    pub text: fn(binary: &str) -> String,
    /// Whether a text is that of haltline, for whatever binary, unchanged.
    pub is_ours: fn(text: &str) -> bool,
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

    /// The whole settings with nothing but haltline's hooks in them.
    pub fn whole(&self, hook: &Hook) -> Value {
        let events = self.listeners.iter().map(|listener| {
            let groups = json!([self.group(hook, listener)]);
            (listener.event.to_owned(), groups)
        });
        json!({ "hooks": events.collect::<Map<_, _>>() })
    }

    pub(super) fn group(&self, hook: &Hook, listener: &Listener) -> Value {
        json!({ "hooks": [self.handler(hook, listener)] })
    }

    fn handler(&self, hook: &Hook, listener: &Listener) -> Value {
        let mut handler = Map::from_iter([("type".to_owned(), json!("command"))]);
        handler.extend(self.words(hook).into_iter().map(|(key, value)| (key.to_owned(), value)));
        handler.insert("timeout".to_owned(), json!(listener.timeout));
        Value::Object(handler)
    }

    /// The members that say what is run.
    pub(super) fn words(&self, hook: &Hook) -> Vec<(&'static str, Value)> {
        match self.spelling {
            Spelling::Words => vec![("command", json!(hook.command)), ("args", json!(hook.args))],
            Spelling::Line => vec![("command", json!(hook.line()))],
        }
    }

    /// The command of a handler, where it is spelled as haltline spells its own.
    pub(super) fn hook_of(&self, handler: &Node) -> Option<Hook> {
        let command = handler.member("command")?.value.text()?;
        match self.spelling {
            Spelling::Words => {
                let args = handler.member("args")?.value.elements()?;
                let args: Option<Vec<String>> = args.iter().map(|word| word.text().map(str::to_owned)).collect();
                Some(Hook { command: command.to_owned(), args: args? })
            }
            Spelling::Line => Hook::of_line(command),
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
