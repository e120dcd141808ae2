//! The clients whose hooks haltline answers: a closed list, with one [`Protocol`] in a separate file for each.
//!
//! The command line of the hook names the client. haltline never guesses it from the payload, because clients read each
//! other's settings and one client's payload may look like another's.

use crate::hook::Protocol;
use crate::{claude, cline, codex, copilot, cursor, gemini, opencode, qwen};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Claude,
    Codex,
    Gemini,
    Qwen,
    Cline,
    OpenCode,
    /// GitHub Copilot CLI.
    Copilot,
    Cursor,
}

impl Client {
    /// Every client, in the order in which haltline lists them.
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

    /// Everything that is specific to this client.
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

    /// Returns the client that `haltline hook NAME` means.
    pub fn from_cli_name(cli_name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.cli_name() == cli_name)
    }

    pub fn cli_name(self) -> &'static str {
        self.protocol().cli_name
    }

    pub fn name(self) -> &'static str {
        self.protocol().name
    }

    /// The client's product name, for people.
    pub fn title(self) -> &'static str {
        self.protocol().title
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_markers::PROCESS_MARKERS;

    #[test]
    fn every_client_is_found_by_its_cli_name_and_has_process_markers() {
        for client in Client::ALL {
            assert_eq!(Client::from_cli_name(client.cli_name()), Some(client));
            assert!(PROCESS_MARKERS.iter().any(|markers| markers.client == client.name()), "{}", client.name());
        }
        assert_eq!(Client::from_cli_name("claude-code"), None);
    }
}
