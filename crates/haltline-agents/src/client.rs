//! The clients whose hooks haltline answers: a closed list, each with one [`Protocol`] in a file of its own.
//!
//! Which client speaks is said on the command line of its hook and never guessed from what it says: agents read each
//! other's settings, so a payload may look like another's.

use crate::hook::Protocol;
use crate::{claude, cline, codex, copilot, cursor, gemini, opencode, qwen};

/// An agent client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// Cline.
    Cline,
    /// OpenCode.
    OpenCode,
    /// GitHub Copilot CLI.
    Copilot,
    /// Cursor.
    Cursor,
}

impl Client {
    /// All of them, in the order they are shown.
    pub const ALL: [Client; 8] = [
        Client::Claude,
        Client::Codex,
        Client::Gemini,
        Client::OpenCode,
        Client::Copilot,
        Client::Qwen,
        Client::Cline,
        Client::Cursor,
    ];

    /// Everything that is peculiar to it.
    pub fn protocol(self) -> &'static Protocol {
        match self {
            Client::Claude => &claude::PROTOCOL,
            Client::Codex => &codex::PROTOCOL,
            Client::Gemini => &gemini::PROTOCOL,
            Client::Qwen => &qwen::PROTOCOL,
            Client::Cline => &cline::PROTOCOL,
            Client::OpenCode => &opencode::PROTOCOL,
            Client::Copilot => &copilot::PROTOCOL,
            Client::Cursor => &cursor::PROTOCOL,
        }
    }

    /// The client that this word of a command line means.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.word() == word)
    }

    /// The word that means it on a command line.
    pub fn word(self) -> &'static str {
        self.protocol().word
    }

    /// Its name, as plain events spell it.
    pub fn name(self) -> &'static str {
        self.protocol().name
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        self.protocol().title
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_marks::MARKS;

    #[test]
    fn every_client_is_found_by_its_word_and_has_marks_of_its_processes() {
        for client in Client::ALL {
            assert_eq!(Client::of_word(client.word()), Some(client));
            assert!(MARKS.iter().any(|marks| marks.name == client.name()), "{}", client.name());
        }
        assert_eq!(Client::of_word("claude-code"), None);
    }
}
