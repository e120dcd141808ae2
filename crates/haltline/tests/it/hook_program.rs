//! Which program the hooks run when a package manager moves or clears its own files, and `haltline update`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install::{read, settings};
use crate::support::terminal::Terminal;
use crate::support::{Answer, HALTLINE, Site};

/// haltline where `npx` puts it: in a cache that npm may empty at any time.
fn npx_program(site: &Site, build: &str) -> PathBuf {
    let folder = site.home().join(".npm/_npx/15b1/node_modules/@haltline/linux-x64/bin");
    fs::create_dir_all(&folder).expect("created");
    let program = folder.join("haltline");
    fs::copy(HALTLINE, &program).expect("copied");
    // Bytes after the end of a program change nothing that runs.
    let mut file = OpenOptions::new().append(true).open(&program).expect("opened");
    file.write_all(build.as_bytes()).expect("written");
    program
}

fn run(site: &Site, program: &Path, arguments: &[&str]) -> Answer {
    let mut command = Command::new("setsid");
    site.configure(&mut command);
    command.arg("--wait").arg(program).args(arguments);
    Answer::new(&command.output().expect("setsid of util-linux is there"))
}

fn run_at_terminal(site: &Site, program: &Path, arguments: &[&str], done: &str) -> (Option<i32>, String) {
    let plain = site.command(arguments);
    let terminal = Terminal::start_program(site, program.to_str().expect("UTF-8"), arguments, |mut command| {
        for (name, value) in plain.get_envs() {
            command = command.env(name, value.expect("set, not removed"));
        }
        command
    });
    terminal.confirm_and_end(done)
}

fn kept(site: &Site) -> PathBuf {
    site.home().join(".local/share/haltline/bin/haltline")
}

fn installed_from_npx(site: &Site) -> PathBuf {
    let program = npx_program(site, "one");
    let answer = run(site, &program, &["init", "--client", "claude", "--yes"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    program
}

#[test]
fn hooks_still_work_after_npm_has_emptied_its_cache() {
    let site = Site::new();
    installed_from_npx(&site);
    let text = read(&settings(&site));
    assert!(text.contains(kept(&site).to_str().expect("UTF-8")) && !text.contains("_npx"), "{text}");
    fs::remove_dir_all(site.home().join(".npm")).expect("removed");
    let answer = run(&site, &kept(&site), &["doctor", "--json"]);
    assert_eq!(answer.json()["is_fine"], true, "{answer:?}");
}

#[test]
fn a_dry_run_copies_nothing() {
    let site = Site::new();
    let program = npx_program(&site, "one");
    let answer = run(&site, &program, &["init", "--dry-run"]);
    assert!(answer.out.contains(".local/share/haltline/bin/haltline"), "{answer:?}");
    assert!(!site.home().join(".local").exists());
}

#[test]
fn a_program_that_keeps_its_path_is_not_copied() {
    let site = Site::new();
    let folder = site.home().join(".local/bin");
    fs::create_dir_all(&folder).expect("created");
    let program = folder.join("haltline");
    fs::copy(HALTLINE, &program).expect("copied");
    let answer = run(&site, &program, &["init", "--client", "claude", "--yes"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(read(&settings(&site)).contains(program.to_str().expect("UTF-8")));
    assert!(!kept(&site).exists());
}

#[test]
fn the_copy_goes_with_the_last_installation() {
    let site = Site::new();
    let program = installed_from_npx(&site);
    let answer = run(&site, &program, &["init", "--client", "codex", "--yes"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let (code, seen) = run_at_terminal(&site, &program, &["uninstall"], "removed");
    assert!(code == Some(0) && kept(&site).is_file(), "{seen}");
    let (code, seen) = run_at_terminal(&site, &program, &["uninstall", "--client", "codex", "--purge"], "removed");
    assert_eq!(code, Some(0), "{seen}");
    assert!(!site.home().join(".local").join("share/haltline").exists(), "{seen}");
}

#[test]
fn update_replaces_the_copy_for_a_person_only() {
    let site = Site::new();
    installed_from_npx(&site);
    let before = fs::read(kept(&site)).expect("kept");
    let newer = npx_program(&site, "two");
    let view = |answer: &Answer| answer.json()["outcome"].clone();
    assert_eq!(view(&run(&site, &newer, &["update", "--check", "--json"])), "outdated");
    let denied = run(&site, &newer, &["update"]);
    assert_eq!(denied.code, Some(77), "{denied:?}");
    assert!(fs::read(kept(&site)).expect("kept") == before);

    let (code, seen) = run_at_terminal(&site, &newer, &["update"], "Updated");
    assert!(code == Some(0) && seen.contains("another build of version") | seen.contains("this build"), "{seen}");
    assert!(fs::read(kept(&site)).expect("kept") == fs::read(&newer).expect("there"));
    assert_eq!(view(&run(&site, &newer, &["update", "--check", "--json"])), "current");
    // Installing again has nothing to replace now.
    assert_eq!(run(&site, &newer, &["init", "--client", "codex", "--yes"]).code, Some(0));
}

#[test]
fn init_of_another_build_does_not_replace_the_copy_without_a_person() {
    let site = Site::new();
    installed_from_npx(&site);
    let before = fs::read(kept(&site)).expect("kept");
    let other = npx_program(&site, "two");
    for arguments in [["init", "--client", "codex", "--yes"], ["init", "--client", "claude", "--yes"]] {
        run(&site, &other, &arguments);
        assert!(fs::read(kept(&site)).expect("kept") == before, "{arguments:?}");
    }
    let doctor = run(&site, &other, &["doctor"]);
    assert!(doctor.out.contains("haltline update"), "{doctor:?}");
}

#[test]
fn a_missing_copy_is_made_again_by_init() {
    let site = Site::new();
    let program = installed_from_npx(&site);
    fs::remove_file(kept(&site)).expect("removed");
    assert_eq!(run(&site, &program, &["init", "--client", "claude", "--yes"]).code, Some(0));
    assert!(kept(&site).is_file());
}

#[test]
fn update_says_when_nothing_is_installed_and_asks_nobody() {
    let site = Site::new();
    let answer = run(&site, Path::new(HALTLINE), &["update", "--json"]);
    let view = answer.json();
    assert_eq!((view["outcome"].as_str(), view.get("newest")), (Some("not_installed"), None), "{answer:?}");
}
