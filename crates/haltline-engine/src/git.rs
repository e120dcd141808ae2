//! Runs git without trusting the repository it runs in.
//!
//! Reading a tree must not change it, hang, prompt anybody, or start a program that the repository's configuration
//! names. So every call has a timeout and a limit on its output, takes no optional lock, and overrides the settings
//! that start programs. The variables with which a calling git points at its own repository (`GIT_DIR`,
//! `GIT_INDEX_FILE` …) are removed; callers that need them set them with [`Git::variable`].

mod child_process;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// How long one call may take by default.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// How many bytes of output are read by default.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How many lines of git's error message are shown.
const COMPLAINT_LINES_MAX: usize = 3;
/// How much of the command line is shown in an error.
const COMMAND_CHARACTERS_MAX: usize = 200;

/// Settings that would start programs even for a read-only command, or alter the output.
const SETTINGS: [&str; 6] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "color.ui=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// The variables that say where configuration is found, which a container may need for `safe.directory`. All other
/// `GIT_…` variables of the caller are removed.
const KEPT_VARIABLES: [&str; 5] =
    ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "GIT_ATTR_NOSYSTEM"];

#[derive(Clone, Debug)]
pub struct Git {
    folder: PathBuf,
    variables: Vec<(OsString, OsString)>,
    settings: Vec<(OsString, OsString)>,
    timeout: Duration,
    output_bytes_max: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct GitOutput {
    pub bytes: Vec<u8>,
    /// True if the limit was reached and the rest was not read.
    pub is_cut: bool,
}

/// Why a git call failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is not installed, or not on PATH")]
    Missing,
    /// git could not be started, or its pipes failed.
    #[error("git {command}: {source}")]
    Io { command: String, source: std::io::Error },
    /// git ended with another code than 0.
    #[error("git {command}: {status}: {complaint}")]
    Failed {
        command: String,
        status: ExitStatus,
        /// The first lines of the standard error.
        complaint: String,
    },
    /// git did not end in time, and was killed with everything it had started.
    #[error("git {command}: did not end within {} s, so haltline killed it", deadline.as_secs_f32())]
    TimedOut { command: String, deadline: Duration },
}

/// The name of a setting, and its value, if it has one.
pub type GitSetting = (Vec<u8>, Option<Vec<u8>>);

impl Git {
    /// Runs git as if started in `folder`.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            variables: Vec::new(),
            settings: Vec::new(),
            timeout: TIMEOUT,
            output_bytes_max: OUTPUT_BYTES_MAX,
        }
    }

    /// As [`Self::at`], but in a broken repository git must not fall back to the one around it.
    pub fn only_at(folder: &Path) -> Self {
        let git = Self::at(folder);
        match folder.parent() {
            Some(parent) => git.variable("GIT_CEILING_DIRECTORIES", parent),
            None => git,
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets an environment variable, for example for a private index or an identity.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Overrides a setting of the repository. Its name may contain any character.
    #[must_use]
    pub fn setting(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Sets how long a call may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how many bytes of output are read.
    #[must_use]
    pub fn output_bytes_max(mut self, bytes: usize) -> Self {
        self.output_bytes_max = bytes;
        self
    }

    /// Runs one command without input.
    pub fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Result<GitOutput, GitError> {
        self.run_with_input(arguments, &[])
    }

    /// Like [`Self::run_with_input`], but returns `None` if git exits with code 1, its way to say that there is no such
    /// thing.
    pub fn find(&self, arguments: &[impl AsRef<OsStr>], input: &[u8]) -> Result<Option<GitOutput>, GitError> {
        match self.run_with_input(arguments, input) {
            Err(GitError::Failed { status, .. }) if status.code() == Some(1) => Ok(None),
            result => result.map(Some),
        }
    }

    /// The settings whose names match a pattern.
    pub fn read_settings(&self, pattern: &str) -> Result<Vec<GitSetting>, GitError> {
        let output = self.find(&["config", "-z", "--get-regexp", pattern], &[])?;
        let bytes = output.map(|output| output.bytes).unwrap_or_default();
        // A setting's name contains no line break.
        let setting = |record: &[u8]| match record.iter().position(|&byte| byte == b'\n') {
            Some(end) => (record[..end].to_vec(), Some(record[end + 1..].to_vec())),
            None => (record.to_vec(), None),
        };
        Ok(records(&bytes).map(setting).collect())
    }

    /// Runs one command that reads `input`.
    ///
    /// Output beyond the limit is cut and git is killed; that is no error, and [`GitOutput::is_cut`] reports it.
    pub fn run_with_input(&self, arguments: &[impl AsRef<OsStr>], input: &[u8]) -> Result<GitOutput, GitError> {
        let arguments: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
        let io_error = |source| GitError::Io { command: display_command(&arguments), source };
        let mut command = self.command(&arguments);
        command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
        let ended = match child_process::run(&mut command, input, self.timeout, self.output_bytes_max) {
            Ok(ended) => ended,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(GitError::Missing),
            Err(error) => return Err(io_error(error)),
        };
        let Some(status) = ended.status else {
            return Err(GitError::TimedOut { command: display_command(&arguments), deadline: self.timeout });
        };
        if !status.success() && !ended.is_cut {
            let complaint = first_lines(&ended.stderr);
            return Err(GitError::Failed { command: display_command(&arguments), status, complaint });
        }
        Ok(GitOutput { bytes: ended.stdout, is_cut: ended.is_cut })
    }

    fn command(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new("git");
        for (name, _value) in std::env::vars_os() {
            let is_git_variable = name.as_encoded_bytes().starts_with(b"GIT_");
            if is_git_variable && !KEPT_VARIABLES.iter().any(|kept| name == *kept) && !is_config_variable(&name) {
                command.env_remove(name);
            }
        }
        command.env_remove("LANGUAGE");
        command.envs([
            ("LC_ALL", "C"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            // A partial clone would fetch missing objects: over the network, with programs the configuration names.
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOW_PROTOCOL", "none"),
        ]);
        let inherited_count =
            std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(0_usize);
        for (index, (name, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{}", inherited_count + index), name);
            command.env(format!("GIT_CONFIG_VALUE_{}", inherited_count + index), value);
        }
        if !self.settings.is_empty() {
            command.env("GIT_CONFIG_COUNT", (inherited_count + self.settings.len()).to_string());
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.arg("-C").arg(&self.folder).arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        command
    }
}

/// The records of an output in which each ends with a zero byte.
pub(crate) fn records(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|&byte| byte == 0).filter(|record| !record.is_empty())
}

/// True for variables that pass settings, such as `GIT_CONFIG_KEY_0`.
fn is_config_variable(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name == b"GIT_CONFIG_COUNT" || name.starts_with(b"GIT_CONFIG_KEY_") || name.starts_with(b"GIT_CONFIG_VALUE_")
}

/// The command line for an error message.
fn display_command(arguments: &[&OsStr]) -> String {
    let texts: Vec<String> = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let line = texts.join(" ");
    let plain = line.chars().map(|letter| if letter.is_control() { '?' } else { letter });
    plain.take(COMMAND_CHARACTERS_MAX).collect()
}

fn first_lines(complaint: &[u8]) -> String {
    let text = String::from_utf8_lossy(complaint);
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).take(COMPLAINT_LINES_MAX).collect();
    let line = if lines.is_empty() { "it said nothing".to_owned() } else { lines.join("; ") };
    line.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}
