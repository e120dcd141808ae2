//! Starts a command in its own process group, and explains why one did not start.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;

use super::{OUTER_RUNS_VARIABLE, RUN_VARIABLE, SupervisedCommand, Terminal};

/// How many outer runs are recorded in the environment of a run.
const OUTER_RUNS_MAX: usize = 32;

/// Why a command did not start. The message of each says what to do about it.
#[derive(Debug)]
pub enum StartError {
    /// No command was given.
    Empty,
    /// The folder to run in does not exist.
    NoFolder(PathBuf),
    /// No program has that name.
    NotFound(OsString),
    /// The program's file exists, but the interpreter that its first line names does not.
    NoInterpreter(OsString),
    /// The file is not executable.
    NotExecutable(OsString),
    /// The file is not a program.
    NotAProgram(OsString),
    /// Any other system error.
    Other(OsString, std::io::Error),
}

impl StartError {
    /// The code with which shells exit when they cannot start a command.
    pub fn exit_code(&self) -> u8 {
        match self {
            StartError::NotFound(_) | StartError::NoInterpreter(_) => 127,
            StartError::NotExecutable(_) | StartError::NotAProgram(_) => 126,
            StartError::Empty | StartError::NoFolder(_) | StartError::Other(..) => 1,
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Empty => write!(formatter, "no command given: write it after `--`"),
            StartError::NoFolder(folder) => {
                write!(formatter, "cannot run in {}: no such folder; create it, or name another", folder.display())
            }
            StartError::NotFound(program) if program.as_encoded_bytes().contains(&b'/') => {
                write!(formatter, "{}: no such file; check the path", program.display())
            }
            StartError::NotFound(program) => write!(
                formatter,
                "{}: there is no program of this name on the PATH; install it, or give its path",
                program.display()
            ),
            StartError::NoInterpreter(program) => write!(
                formatter,
                "{}: the interpreter in its first line does not exist; install it, or correct the line",
                program.display()
            ),
            StartError::NotExecutable(program) => write!(
                formatter,
                "{}: is not executable; `chmod +x` it, or start it through its interpreter",
                program.display()
            ),
            StartError::NotAProgram(program) => write!(
                formatter,
                "{0}: is not a program this machine can run; a script needs a first line like `#!/bin/sh`, or run `sh {0}`",
                program.display()
            ),
            StartError::Other(program, error) => write!(formatter, "{}: cannot start: {error}", program.display()),
        }
    }
}

impl std::error::Error for StartError {}

/// Starts the command as the leader of a new process group, with the run's marker in its environment.
pub(super) fn start(supervised: &SupervisedCommand<'_>) -> Result<Child, StartError> {
    let [program, arguments @ ..] = supervised.command else { return Err(StartError::Empty) };
    if program.is_empty() {
        return Err(StartError::Empty);
    }
    let mut command = Command::new(program);
    command.args(arguments).current_dir(supervised.folder).process_group(0);
    command.envs(supervised.environment.iter().map(|(name, value)| (name, value)));
    command.env(RUN_VARIABLE, supervised.run_id);
    match outer_runs(std::env::var_os(OUTER_RUNS_VARIABLE), std::env::var_os(RUN_VARIABLE)) {
        Some(outer) => command.env(OUTER_RUNS_VARIABLE, outer),
        None => command.env_remove(OUTER_RUNS_VARIABLE),
    };
    match supervised.terminal {
        Terminal::Inherit => {}
        Terminal::Listen => {
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        Terminal::Pipe => {
            if rustix::termios::isatty(rustix::stdio::stdin()) {
                command.stdin(Stdio::null());
            }
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
    }
    command.spawn().map_err(|error| start_error(supervised.folder, program, error))
}

/// The ids of the runs that this process itself is part of.
fn outer_runs(outer: Option<OsString>, own: Option<OsString>) -> Option<OsString> {
    let own = own.filter(|own| !own.is_empty())?;
    let outer = outer.and_then(|outer| outer.into_string().ok()).unwrap_or_default();
    let mut ids: Vec<&str> = outer.split(':').filter(|id| !id.is_empty()).collect();
    let own = own.to_string_lossy();
    ids.push(&own);
    Some(ids.split_off(ids.len().saturating_sub(OUTER_RUNS_MAX)).join(":").into())
}

fn start_error(folder: &Path, program: &OsStr, error: std::io::Error) -> StartError {
    if !folder.is_dir() {
        return StartError::NoFolder(folder.to_owned());
    }
    let is_path = program.as_encoded_bytes().contains(&b'/');
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    let program = program.to_owned();
    match (error.kind(), errno) {
        (ErrorKind::NotFound, _) if is_path && folder.join(&program).exists() => StartError::NoInterpreter(program),
        (ErrorKind::NotFound, _) => StartError::NotFound(program),
        (ErrorKind::PermissionDenied, _) => StartError::NotExecutable(program),
        (_, Some(Errno::NOEXEC)) => StartError::NotAProgram(program),
        (_, Some(Errno::NOTDIR)) => StartError::NotFound(program),
        _other => StartError::Other(program, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_a_missing_program_and_a_file_that_is_no_program_are_distinguished() {
        let failed = |folder: &str, errno: Errno| {
            start_error(Path::new(folder), OsStr::new("agent"), std::io::Error::from(errno)).to_string()
        };
        assert!(failed("/no/such/folder", Errno::NOENT).starts_with("cannot run in /no/such/folder: "));
        assert!(failed("/", Errno::NOEXEC).starts_with("agent: is not a program"));
        assert!(failed("/", Errno::NOENT).starts_with("agent: there is no program of this name"));
        assert!(failed("/", Errno::AGAIN).starts_with("agent: cannot start: "));
    }

    #[test]
    fn a_run_inside_runs_records_all_of_them() {
        let os = |text: &str| Some(OsString::from(text));
        assert_eq!(outer_runs(None, None), None);
        assert_eq!(outer_runs(os("a"), None), None);
        assert_eq!(outer_runs(None, os("a")), os("a"));
        assert_eq!(outer_runs(os("a:b"), os("c")), os("a:b:c"));
        let many = (0..100).map(|id| id.to_string()).collect::<Vec<_>>().join(":");
        assert_eq!(
            outer_runs(os(&many), os("x")).map(|ids| ids.to_string_lossy().split(':').count()),
            Some(OUTER_RUNS_MAX)
        );
    }
}
