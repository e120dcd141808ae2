//! Runs git without trusting the repository it runs in.
//!
//! A look at a tree must not change it, wait for ever, ask anybody anything, or start a program that the repository's
//! configuration names. So every call has a deadline and a limit on what is read, takes no optional lock, and overrides
//! the settings that start programs. The variables with which a caller's git points at its own repository (`GIT_DIR`,
//! `GIT_INDEX_FILE` …) are taken away; whoever needs them sets them with [`Git::variable`].

mod conversation;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// How long one call may take unless told otherwise.
pub const DEADLINE: Duration = Duration::from_secs(60);
/// How many bytes of an answer are read unless told otherwise.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How much of what git complains about is shown.
const COMPLAINT_LINES_MAX: usize = 3;
/// How much of a call is shown in an error.
const COMMAND_CHARACTERS_MAX: usize = 200;

/// Settings that start programs for a mere look, or put something between us and the answer.
const SETTINGS: [&str; 6] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "color.ui=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// The caller's variables that say where configuration is found, which a container may need for `safe.directory`.
/// Every other `GIT_…` is taken away.
const KEPT_VARIABLES: [&str; 5] =
    ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "GIT_ATTR_NOSYSTEM"];

/// git in one folder.
#[derive(Clone, Debug)]
pub struct Git {
    folder: PathBuf,
    variables: Vec<(OsString, OsString)>,
    settings: Vec<(OsString, OsString)>,
    deadline: Duration,
    answer_bytes_max: usize,
}

/// What git answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Answer {
    /// Its standard output.
    pub bytes: Vec<u8>,
    /// The limit was reached and the rest was not read.
    pub is_cut: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no such program.
    #[error("git is not installed, or not on PATH")]
    Missing,
    /// The program could not be started or listened to.
    #[error("git {command}: {source}")]
    Lost {
        /// The arguments.
        command: String,
        /// What went wrong.
        source: std::io::Error,
    },
    /// It ended with another code than 0.
    #[error("git {command}: {status}: {complaint}")]
    Failed {
        /// The arguments.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The first lines of what it said.
        complaint: String,
    },
    /// It did not end in time, and was killed with all it had started.
    #[error("git {command}: did not end within {} s and was killed", deadline.as_secs_f32())]
    Late {
        /// The arguments.
        command: String,
        /// The time it had.
        deadline: Duration,
    },
}

impl Git {
    /// git as if started in `folder`.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            variables: Vec::new(),
            settings: Vec::new(),
            deadline: DEADLINE,
            answer_bytes_max: ANSWER_BYTES_MAX,
        }
    }

    /// Where it runs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds a variable: a private index, an identity.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Overrides a setting of the repository. Its name may hold any character.
    #[must_use]
    pub fn setting(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// How long a call may take.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// How many bytes of an answer are read.
    #[must_use]
    pub fn answer_bytes_max(mut self, bytes: usize) -> Self {
        self.answer_bytes_max = bytes;
        self
    }

    /// Runs one command without input.
    pub fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Result<Answer, GitError> {
        self.run_with_input(arguments, &[])
    }

    /// Runs one command that reads `input`.
    ///
    /// An answer beyond the limit is cut and git is killed: that is no error, and [`Answer::is_cut`] says so.
    pub fn run_with_input(&self, arguments: &[impl AsRef<OsStr>], input: &[u8]) -> Result<Answer, GitError> {
        let arguments: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
        let lost = |source| GitError::Lost { command: shown(&arguments), source };
        let mut command = self.command(&arguments);
        command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
        let ended = match conversation::hold(&mut command, input, self.deadline, self.answer_bytes_max) {
            Ok(ended) => ended,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(GitError::Missing),
            Err(error) => return Err(lost(error)),
        };
        let Some(status) = ended.status else {
            return Err(GitError::Late { command: shown(&arguments), deadline: self.deadline });
        };
        if !status.success() && !ended.is_cut {
            let complaint = first_lines(&ended.complaint);
            return Err(GitError::Failed { command: shown(&arguments), status, complaint });
        }
        Ok(Answer { bytes: ended.answer, is_cut: ended.is_cut })
    }

    fn command(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new("git");
        for (name, _value) in std::env::vars_os() {
            let is_ours = name.as_encoded_bytes().starts_with(b"GIT_");
            if is_ours && !KEPT_VARIABLES.iter().any(|kept| name == *kept) && !says_a_setting(&name) {
                command.env_remove(name);
            }
        }
        command.env_remove("LANGUAGE");
        command.envs([
            ("LC_ALL", "C"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            // A partial clone would fetch what a look misses: over the network, with programs the configuration names.
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOW_PROTOCOL", "none"),
        ]);
        let known = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(0_usize);
        for (place, (name, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{}", known + place), name);
            command.env(format!("GIT_CONFIG_VALUE_{}", known + place), value);
        }
        if !self.settings.is_empty() {
            command.env("GIT_CONFIG_COUNT", (known + self.settings.len()).to_string());
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

/// Settings handed down by variables, as `GIT_CONFIG_KEY_0`.
fn says_a_setting(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name == b"GIT_CONFIG_COUNT" || name.starts_with(b"GIT_CONFIG_KEY_") || name.starts_with(b"GIT_CONFIG_VALUE_")
}

/// A call as a person reads it.
fn shown(arguments: &[&OsStr]) -> String {
    let words: Vec<String> = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let line = words.join(" ");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("temp folder")
    }

    #[test]
    fn a_missing_git_is_told_apart() {
        let folder = folder();
        let nowhere = Git::at(folder.path()).variable("PATH", folder.path());
        assert!(matches!(nowhere.run(&["version"]), Err(GitError::Missing)));
    }

    #[test]
    fn a_failure_says_what_was_run_and_what_git_said() {
        let folder = folder();
        let error = Git::at(folder.path()).run(&["rev-parse", "--no-such\nthing"]).expect_err("no repository");
        let text = error.to_string();
        assert!(text.starts_with("git rev-parse --no-such?thing: exit status: 128: fatal:"), "{text}");
    }

    #[test]
    fn input_and_output_larger_than_a_pipe_pass_through() {
        let input: Vec<u8> = (0..3_000_000_u32).map(|number| number.to_le_bytes()[1]).collect();
        let folder = folder();
        let echo = Git::at(folder.path()).setting("alias.echo", "!cat");
        let answer = echo.run_with_input(&["echo"], &input).expect("cat runs");
        assert!(answer == Answer { bytes: input.clone(), is_cut: false });
        let cut = echo.answer_bytes_max(100_000).run_with_input(&["echo"], &input).expect("cut is no error");
        assert!(cut == Answer { bytes: input[..100_000].to_vec(), is_cut: true });
    }

    #[test]
    fn a_program_that_does_not_read_its_input_is_not_waited_for() {
        let folder = folder();
        let deaf = Git::at(folder.path()).setting("alias.deaf", "!true");
        let answer = deaf.run_with_input(&["deaf"], &vec![b'a'; 1_000_000]).expect("it ended well");
        assert_eq!(answer.bytes, b"");
    }

    #[test]
    fn a_call_that_is_late_is_killed_with_all_it_started() {
        let folder = folder();
        let mark = folder.path().join("numbers");
        let hang = format!("!sh -c 'sleep 600 & echo $! >>\"{0}\"; echo $$ >>\"{0}\"; wait' #", mark.display());
        let git = Git::at(folder.path()).setting("alias.hang", hang).deadline(Duration::from_secs(3));
        let error = git.run(&["hang"]).expect_err("it hangs");
        assert!(matches!(error, GitError::Late { .. }), "{error}");
        assert_eq!(error.to_string(), "git hang: did not end within 3 s and was killed");
        let numbers = std::fs::read_to_string(mark).expect("it was started");
        assert_eq!(numbers.lines().count(), 2);
        for number in numbers.lines() {
            assert!(is_gone(number), "process {number} was left behind");
        }
    }

    #[test]
    fn what_a_call_leaves_running_neither_holds_it_up_nor_stays() {
        let folder = folder();
        let git = Git::at(folder.path()).setting("alias.leave", "!sleep 600 & echo $!");
        let answer = git.run(&["leave"]).expect("it ended itself");
        assert!(is_gone(String::from_utf8_lossy(&answer.bytes).trim()));
    }

    /// Whether a killed process has ended, or ends within ten seconds. One nobody reaped yet has.
    fn is_gone(number: &str) -> bool {
        let state = || {
            let shown = Command::new("ps").args(["-o", "stat=", "-p", number]).output().expect("ps is there");
            String::from_utf8_lossy(&shown.stdout).trim().to_owned()
        };
        let patience = crate::clock::Patience::new(Duration::from_secs(10));
        while !patience.left().is_zero() {
            let state = state();
            if state.is_empty() || state.starts_with('Z') {
                return true;
            }
        }
        false
    }

    #[test]
    fn settings_override_the_repository_whatever_their_name() {
        let folder = folder();
        let git = Git::at(folder.path());
        assert_eq!(git.run(&["init", "-q"]).map(|answer| answer.bytes).expect("init"), b"");
        let name = "filter.a=b \"c.clean";
        for (place, value) in [("filter.plain.clean", "cat"), (name, "cat")] {
            assert!(git.run(&["config", place, value]).is_ok());
        }
        let quiet = git.setting("filter.plain.clean", "").setting(name, "no");
        let read = |name| quiet.run(&["config", "--get", name]).map(|answer| answer.bytes).expect("it is set");
        assert_eq!((read("filter.plain.clean"), read(name)), (b"\n".to_vec(), b"no\n".to_vec()));
    }
}
