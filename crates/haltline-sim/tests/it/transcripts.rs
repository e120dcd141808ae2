//! Runs the documentation: every console block of every page, in order, in a project per page.
//!
//! A fenced block with a `title` becomes that file first. `<!-- at INSTANT -->` sets the clock.
//! `UPDATE_TRANSCRIPTS=1` writes the real output into the pages.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use haltline_agents::{Client, PROCESS_MARKERS};
use tempfile::TempDir;

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/NAME lies two folders below the root").to_owned()
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Where a page's commands run.
struct Sandbox {
    folder: TempDir,
    at: String,
}

impl Sandbox {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("hl").tempdir().expect("temp folder");
        fs::create_dir_all(folder.path().join("project/.git")).expect("created");
        fs::create_dir_all(folder.path().join("bin")).expect("created");
        symlink(env!("CARGO_BIN_EXE_haltline-at"), folder.path().join("bin/haltline")).expect("linked");
        // The pages describe machines on which the clients are installed.
        for markers in
            PROCESS_MARKERS.iter().filter(|markers| Client::ALL.iter().any(|one| one.name() == markers.client))
        {
            for program in markers.programs {
                symlink("/bin/true", folder.path().join("bin").join(program)).expect("linked");
            }
        }
        // A page cannot type a token; operator.rs tests the confirmation by a person.
        fs::write(folder.path().join("config.toml"), "[operator]\nunattended = true\n").expect("written");
        let sandbox = Self { folder, at: "2026-02-01T10:00:00Z".to_owned() };
        let confirmed = sandbox.run("script -qec 'haltline trust' /dev/null < /dev/null");
        assert!(confirmed.starts_with("Trusted:"), "{confirmed}");
        sandbox
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.folder.path().join("project").join(name);
        fs::create_dir_all(path.parent().expect("below the project")).expect("created");
        fs::write(path, content).expect("written");
    }

    fn run(&self, command: &str) -> String {
        let home = self.folder.path();
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("setsid")
            .args(["--wait", "sh", "-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(home.join("project"))
            .env_clear()
            .env("PATH", format!("{}:{path}", home.join("bin").display()))
            .env("HOME", home)
            .env("USER", "ana")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("HALTLINE_AT", &self.at)
            .env("HALTLINE_STATE_DIR", home.join("state"))
            .env("HALTLINE_CONFIG", home.join("config.toml"))
            .output()
            .expect("setsid of util-linux is there");
        self.plain(&String::from_utf8_lossy(&output.stdout))
    }

    /// The output without the parts that differ between machines.
    fn plain(&self, text: &str) -> String {
        let home = self.folder.path();
        let real = fs::canonicalize(home).expect("exists");
        let mut text = text.to_owned();
        for folder in [&real, home] {
            for (name, shown) in [
                ("project", "~/project"),
                ("state", "~/.local/state/haltline"),
                ("config.toml", "~/.config/haltline/config.toml"),
                (".claude", "~/.claude"),
            ] {
                text = text.replace(&folder.join(name).display().to_string(), shown);
            }
        }
        let binary = fs::canonicalize(env!("CARGO_BIN_EXE_haltline-at")).expect("exists");
        text = text.replace(&binary.display().to_string(), "~/.local/bin/haltline");
        let mut plain = String::new();
        for line in text.split_inclusive('\n') {
            let line = &without_time(line);
            match (line.find("(uid "), line.find(')')) {
                (Some(start), Some(end)) if start < end => {
                    write!(plain, "{}(uid 1000{}", &line[..start], &line[end..])
                        .expect("writing to a String cannot fail");
                }
                (Some(_) | None, _) => plain.push_str(line),
            }
        }
        plain
    }
}

/// Replaces durations, which depend on the machine.
fn without_time(line: &str) -> String {
    if !line.starts_with("haltline: ") {
        return line.to_owned();
    }
    let mut words: Vec<&str> = line.split(' ').collect();
    for index in 1..words.len() {
        // `(3 s):`, `3 s` at the end of a line, `3 s;`
        let is_unit = words[index].trim_end_matches(['\n', ':', ';', ')', ',']) == "s";
        let number = words[index - 1].trim_start_matches('(');
        if is_unit && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            words[index - 1] = if words[index - 1].starts_with('(') { "(0" } else { "0" };
        }
    }
    words.join(" ")
}

/// Runs a page and returns it with the real output.
fn play(text: &str) -> String {
    let mut sandbox = Sandbox::new();
    let mut out = String::new();
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        if let Some(at) = line.trim().strip_prefix("<!-- at ").and_then(|rest| rest.strip_suffix(" -->")) {
            sandbox.at = at.to_owned();
        }
        let Some(info) = line.strip_prefix("```") else { continue };
        let mut block: Vec<&str> = Vec::new();
        for line in lines.by_ref() {
            if line.starts_with("```") {
                break;
            }
            block.push(line);
        }
        if let Some(name) = info.split("title=\"").nth(1).and_then(|rest| rest.split('"').next()) {
            sandbox.write(name, &block.concat());
        }
        if info.trim() == "console" {
            for command in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                write!(out, "$ {command}{}", sandbox.run(command)).expect("writing to a String cannot fail");
            }
        } else {
            out.push_str(&block.concat());
        }
        out.push_str("```\n");
    }
    out
}

#[test]
fn every_transcript_of_the_documentation_is_what_the_binary_prints() {
    let mut all = vec![root().join("README.md")];
    pages(&root().join("docs"), &mut all);
    let mut commands = 0;
    let mut wrong = Vec::new();
    for page in all {
        let text = fs::read_to_string(&page).expect("a page is text");
        commands += text.lines().filter(|line| line.starts_with("$ haltline")).count();
        let played = play(&text);
        if played == text {
            continue;
        }
        if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
            fs::write(&page, &played).expect("written");
            continue;
        }
        let differing = text.lines().zip(played.lines()).enumerate().find(|(_, (page, seen))| page != seen);
        let (line, (expected, seen)) = differing.unwrap_or((0, ("the page ends early", "or goes on too long")));
        wrong.push(format!("{}:{}\n  page: {expected}\n  seen: {seen}", page.display(), line + 1));
    }
    assert!(wrong.is_empty(), "run with UPDATE_TRANSCRIPTS=1 and look at the difference:\n{}", wrong.join("\n"));
    assert!(commands > 30, "only {commands} commands were found");
}
