//! Where each client keeps its transcripts, as data: what `haltline backtest` searches when no path is given.
//!
//! OpenCode keeps its sessions in a database; what it exports is wherever the user saved it. Plain events have no known
//! location either.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Format;

/// A folder that may contain transcripts, and how they differ from its other files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptLocation {
    /// The client's format, as its newest version writes it; older files may be in another format of the same client.
    pub format: Format,
    /// The folder; its subfolders are searched too.
    pub folder: PathBuf,
    /// A folder that must be on the path to the file, if not everything in `folder` is a transcript.
    pub within: Option<&'static str>,
    /// The beginning of the file's name.
    pub begins: &'static str,
    /// The possible endings of the file's name.
    pub endings: &'static [&'static str],
}

impl TranscriptLocation {
    /// True when the file at this path is a transcript.
    pub fn contains(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.folder) else { return false };
        let Some(name) = below.file_name().and_then(|name| name.to_str()) else { return false };
        let is_within = |folder: &str| below.parent().is_some_and(|way| way.iter().any(|part| part == folder));
        name.starts_with(self.begins)
            && self.endings.iter().any(|ending| name.ends_with(ending))
            && self.within.is_none_or(is_within)
    }
}

/// A client's folder: set by an environment variable, or else in the home folder.
struct Root {
    format: Format,
    /// The environment variable that moves the folder; it may list several, separated by commas.
    variable: &'static str,
    /// Where the folder is unless the variable is set, relative to the home folder.
    homes: &'static [&'static str],
    folder: &'static str,
    within: Option<&'static str>,
    begins: &'static str,
    endings: &'static [&'static str],
}

const ROOTS: [Root; 8] = [
    Root {
        format: Format::Claude,
        variable: "CLAUDE_CONFIG_DIR",
        homes: &[".claude", ".config/claude"],
        folder: "projects",
        within: None,
        begins: "",
        endings: &[".jsonl"],
    },
    Root {
        format: Format::Codex,
        variable: "CODEX_HOME",
        homes: &[".codex"],
        folder: "sessions",
        within: None,
        begins: "rollout-",
        endings: &[".jsonl", ".json"],
    },
    Root {
        format: Format::Codex,
        variable: "CODEX_HOME",
        homes: &[".codex"],
        folder: "archived_sessions",
        within: None,
        begins: "rollout-",
        endings: &[".jsonl", ".json"],
    },
    Root {
        format: Format::Gemini,
        variable: "GEMINI_CLI_HOME",
        homes: &[""],
        folder: ".gemini/tmp",
        within: Some("chats"),
        begins: "",
        endings: &[".jsonl", ".json"],
    },
    Root {
        format: Format::Qwen,
        variable: "QWEN_RUNTIME_DIR",
        homes: &[".qwen"],
        folder: "projects",
        within: Some("chats"),
        begins: "",
        endings: &[".jsonl"],
    },
    Root {
        format: Format::Qwen,
        variable: "QWEN_RUNTIME_DIR",
        homes: &[".qwen"],
        folder: "tmp",
        within: Some("chats"),
        begins: "",
        endings: &[".jsonl"],
    },
    Root {
        format: Format::Copilot,
        variable: "COPILOT_HOME",
        homes: &[".copilot"],
        folder: "session-state",
        within: None,
        begins: "",
        endings: &[".jsonl"],
    },
    Root {
        format: Format::SweAgent,
        variable: "SWE_AGENT_TRAJECTORY_DIR",
        homes: &[],
        folder: "",
        within: None,
        begins: "",
        endings: &[".traj"],
    },
];

/// Where the transcripts of the user with this home are, by the environment. The folders may not exist.
pub fn locations(home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Vec<TranscriptLocation> {
    let mut found: Vec<TranscriptLocation> = Vec::new();
    for root in ROOTS {
        let moved = variable(root.variable).filter(|value| !value.is_empty());
        let roots: Vec<PathBuf> = match moved {
            Some(value) => match value.to_str() {
                Some(text) => text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(PathBuf::from).collect(),
                None => vec![PathBuf::from(value)],
            },
            None => root.homes.iter().map(|below| home.join(below)).collect(),
        };
        for folder in roots {
            found.push(TranscriptLocation {
                format: root.format,
                folder: folder.join(root.folder),
                within: root.within,
                begins: root.begins,
                endings: root.endings,
            });
        }
    }
    found
}
