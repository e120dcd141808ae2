//! Types every command of the README in a fresh home, and holds it to what it says about constraints.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::UNIX_EPOCH;

use haltline_agents::self_test::AnswerEffect;

use crate::support::hooks::Client;
use crate::support::{HALTLINE, Site};

const README: &str = include_str!("../../../../README.md");

/// A fenced block: what follows the fence, its text, and the section it is in.
struct Block {
    info: &'static str,
    text: &'static str,
    section: &'static str,
}

fn blocks() -> Vec<Block> {
    let sections = README.split("\n## ").map(|text| (text.lines().next().unwrap_or_default(), text));
    let fenced = |(section, text): (&'static str, &'static str)| {
        let parts: Vec<&'static str> = text.split("\n```").collect();
        let inside = parts.into_iter().skip(1).step_by(2);
        inside.filter_map(move |part| {
            let (info, text) = part.split_once('\n')?;
            Some(Block { info, text, section })
        })
    };
    sections.flat_map(fenced).collect()
}

/// The commands of the README's shell blocks, in order; `Test` is the one that runs this test.
fn commands() -> Vec<String> {
    let shell = blocks().into_iter().filter(|block| block.info == "sh" && block.section != "Test");
    let text: Vec<String> = shell.map(|block| block.text.replace("\\\n", " ")).collect();
    text.iter().flat_map(|text| text.lines()).map(str::to_owned).collect()
}

/// A toolchain whose installations succeed and whose tests pass.
const CARGO: &str = r#"[ "$1" = test ] || exit 0
echo "running 1 test"
echo "test ${2:-all} ... ok"
echo "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
"#;

/// A home in which a person has a git project, a client, a toolchain, and a session from yesterday.
struct Home {
    site: Site,
}

impl Home {
    fn new() -> Self {
        let site = Site::new();
        let made = Command::new("git").args(["init", "-q"]).current_dir(site.project()).status();
        assert!(made.expect("git starts").success());
        let bin = site.home().join("bin");
        fs::create_dir(&bin).expect("created");
        symlink(HALTLINE, bin.join("haltline")).expect("linked");
        // The client and the toolchain are stand-ins: they exist, and what they are asked to do succeeds.
        for (program, script) in [("claude", ""), ("cargo", CARGO)] {
            fs::write(bin.join(program), format!("#!/bin/sh\n{script}")).expect("written");
            fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755)).expect("executable");
        }
        let sessions = site.home().join(".claude/projects/shop");
        fs::create_dir_all(&sessions).expect("created");
        let session =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../haltline-agents/testdata/transcripts/claude-code/outcomes.jsonl");
        fs::copy(session, sessions.join("session.jsonl")).expect("copied");
        // The session has ended long ago: no agent works in it, so `doctor` has nothing to say about it.
        let file = fs::File::options().write(true).open(sessions.join("session.jsonl")).expect("there");
        file.set_modified(UNIX_EPOCH).expect("set");
        Self { site }
    }

    /// Types a command; one that asks gets a terminal and a `y`. Returns whether it succeeded, and what it printed.
    fn type_command(&self, command: &str) -> (bool, String) {
        let is_asking = command.starts_with("haltline init");
        let mut shell = if is_asking { Command::new("script") } else { Command::new("sh") };
        self.site.configure(&mut shell);
        if is_asking {
            shell.args(["-qec", command, "/dev/null"]);
        } else {
            shell.args(["-c", command]);
        }
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{}:{path}", self.site.home().join("bin").display()));
        shell.env_remove("HALTLINE_STATE_DIR").env_remove("HALTLINE_CONFIG");
        let mut child = shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("sh, and script of util-linux, are there");
        // A command that asks nothing may end before it reads.
        child.stdin.take().expect("piped").write_all(b"y\n").ok();
        let output = child.wait_with_output().expect("waited for");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }
}

#[test]
fn every_command_of_the_readme_runs_as_written_in_a_fresh_home() {
    let home = Home::new();
    let commands = commands();
    assert_eq!(commands[..2], ["cargo install --locked --path crates/haltline", "haltline demo"], "the first block");
    assert!(commands.len() > 8, "{commands:?}");
    for command in &commands {
        let (is_successful, output) = home.type_command(command);
        assert!(is_successful, "{command}\n{output}");
    }
    assert!(home.site.home().join(".claude/settings.json").exists(), "the hooks are installed");
}

#[test]
fn the_folder_that_the_readme_installs_from_is_there() {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let install = commands().into_iter().find(|command| command.starts_with("cargo install")).expect("a command");
    let path = install.split(" --path ").nth(1).expect("a path");
    assert!(root.join(path).join("Cargo.toml").exists(), "{path}");
}

#[test]
fn every_command_that_the_readme_mentions_exists() {
    let mentioned = README.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("haltline "));
    let mut found = 0;
    for mention in mentioned {
        let words: Vec<&str> = mention.split_whitespace().collect();
        let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
        let path: Vec<&str> =
            words.iter().copied().take_while(is_word).take_while(|word| !word.starts_with('-')).collect();
        let output = Command::new(HALTLINE).args(&path).arg("--help").output().expect("the binary starts");
        assert!(output.status.success(), "`haltline {mention}`");
        found += 1;
    }
    assert!(found > 8, "{found}");
}

#[test]
fn the_constraint_of_the_readme_denies_a_force_push_through_the_hook() {
    let site = Site::new();
    let rule = blocks().into_iter().find(|block| block.info.starts_with("yaml title=")).expect("an example");
    let path = rule.info.split('"').nth(1).expect("a title");
    site.file(path, &format!("{}\n", rule.text));
    let client = Client { site: &site, session: "readme" };
    let push = |call: &str| client.shell(call, "git push --force origin main", Ok("done")).answer;
    assert_eq!(push("c1"), AnswerEffect::Warn, "the first one runs with a warning and trips the circuit");
    let other = Client { site: &site, session: "another" };
    let denied = other.shell("c2", "git push --force origin main", Ok("done"));
    assert_eq!(denied.answer, AnswerEffect::Deny, "{denied:?}");
    assert!(denied.to_agent.contains("no-force-push"), "{denied:?}");
    assert_eq!(other.shell("c3", "git push origin main", Ok("done")).answer, AnswerEffect::Pass);
}
