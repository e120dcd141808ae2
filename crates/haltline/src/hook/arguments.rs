//! The arguments of `haltline hook`, parsed by hand because a hook starts at every call.

use std::path::PathBuf;

use haltline_agents::Client;
use haltline_core::digest_hex;

use super::notice_once::NoticeFiles;
use crate::environment;

/// The text that `--help` prints.
pub(super) fn help() -> String {
    let clients = Client::ALL.map(Client::cli_name).join("|");
    format!(
        "Answer one event of a client, read as JSON from standard input

Clients run this command; `haltline init` writes it into their settings. It prints nothing or one JSON object, and always
ends with 0. With --stream it answers every line of its input with a line, until the input ends.

Usage: haltline hook <{clients}> [--stream] [--state FOLDER] [--config FILE]

Example:
  haltline hook claude < event.json
"
    )
}

/// The arguments of a hook.
pub(super) struct Arguments {
    pub state_folder: Option<PathBuf>,
    pub config: Option<PathBuf>,
    pub is_stream: bool,
    /// Identifies the settings file that started this hook: a client starts the same command line for every event.
    pub hook_source: String,
}

impl Arguments {
    pub fn notice_files(&self) -> NoticeFiles {
        let state_folder = self.state_folder.clone().or_else(|| environment::own_paths().state_folder().ok());
        NoticeFiles::new(state_folder.as_deref())
    }
}

/// Identifies the settings file that started this hook: clients start the same command line for every event.
fn hook_source(args: &[&str]) -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let args = args.iter().map(|arg| arg.as_bytes());
    digest_hex(&std::iter::once(program.as_encoded_bytes()).chain(args).collect::<Vec<_>>(), 8)
}

/// Paths come from the command line that `init` wrote; the environment counts only if the command line has none (E9).
pub(super) fn parse_arguments(args: &[&str]) -> Arguments {
    let hook_source = hook_source(args);
    let mut arguments = Arguments { state_folder: None, config: None, is_stream: false, hook_source };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match *arg {
            "--state" => arguments.state_folder = args.next().map(PathBuf::from),
            "--config" => arguments.config = args.next().map(PathBuf::from),
            "--stream" => arguments.is_stream = true,
            _unknown => {}
        }
    }
    arguments
}
