//! Tests of `git.rs`.

use haltline_engine::git::{Git, GitError, GitOutput};
use std::process::Command;
use std::time::Duration;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("temp folder")
}

#[test]
fn a_missing_git_is_distinguished() {
    let folder = folder();
    let nowhere = Git::at(folder.path()).variable("PATH", folder.path());
    assert!(matches!(nowhere.run(&["version"]), Err(GitError::Missing)));
}

#[test]
fn an_error_shows_the_command_and_gits_message() {
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
    let output = echo.run_with_input(&["echo"], &input).expect("cat runs");
    assert!(output == GitOutput { bytes: input.clone(), is_cut: false });
    let cut = echo.output_bytes_max(100_000).run_with_input(&["echo"], &input).expect("cut is no error");
    assert!(cut == GitOutput { bytes: input[..100_000].to_vec(), is_cut: true });
}

#[test]
fn a_program_that_does_not_read_its_input_is_not_waited_for() {
    let folder = folder();
    let ignoring = Git::at(folder.path()).setting("alias.deaf", "!true");
    let output = ignoring.run_with_input(&["deaf"], &vec![b'a'; 1_000_000]).expect("it ended well");
    assert_eq!(output.bytes, b"");
}

#[test]
fn a_call_that_times_out_is_killed_with_all_it_started() {
    let folder = folder();
    let numbers_file = folder.path().join("numbers");
    let hang = format!("!sh -c 'sleep 600 & echo $! >>\"{0}\"; echo $$ >>\"{0}\"; wait' #", numbers_file.display());
    let git = Git::at(folder.path()).setting("alias.hang", hang).timeout(Duration::from_secs(3));
    let error = git.run(&["hang"]).expect_err("it hangs");
    assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
    assert_eq!(error.to_string(), "git hang: did not end within 3 s, so haltline killed it");
    let numbers = std::fs::read_to_string(numbers_file).expect("it was started");
    assert_eq!(numbers.lines().count(), 2);
    for number in numbers.lines() {
        assert!(is_gone(number), "process {number} was left behind");
    }
}

#[test]
fn processes_left_running_neither_block_the_call_nor_survive() {
    let folder = folder();
    let git = Git::at(folder.path()).setting("alias.leave", "!sleep 600 & echo $!");
    let output = git.run(&["leave"]).expect("it ended itself");
    assert!(is_gone(String::from_utf8_lossy(&output.bytes).trim()));
}

/// True if a killed process ends within ten seconds. A zombie that has not been reaped counts as ended.
fn is_gone(number: &str) -> bool {
    let state = || {
        let shown = Command::new("ps").args(["-o", "stat=", "-p", number]).output().expect("ps is there");
        String::from_utf8_lossy(&shown.stdout).trim().to_owned()
    };
    let deadline = haltline_engine::clock::Deadline::new(Duration::from_secs(10));
    while !deadline.remaining().is_zero() {
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
    assert_eq!(git.run(&["init", "-q"]).map(|output| output.bytes).expect("init"), b"");
    let name = "filter.a=b \"c.clean";
    for (key, value) in [("filter.plain.clean", "cat"), (name, "cat")] {
        assert!(git.run(&["config", key, value]).is_ok());
    }
    let overridden = git.setting("filter.plain.clean", "").setting(name, "no");
    let read = |name| overridden.run(&["config", "--get", name]).map(|output| output.bytes).expect("it is set");
    assert_eq!((read("filter.plain.clean"), read(name)), (b"\n".to_vec(), b"no\n".to_vec()));
}
