//! House style that a machine can check. Each message says what to do instead.

mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/NAME lies two folders below the root").to_owned()
}

/// Every file git tracks or would track, relative to the root.
fn files() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root())
        .output()
        .expect("git is there: the tests run in a clone");
    let text = String::from_utf8(listed.stdout).expect("paths are UTF-8");
    let mut files: Vec<String> = text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    files.retain(|path| root().join(path).is_file());
    assert!(files.len() > 50, "git lists only {} files", files.len());
    files
}

fn read(path: &str) -> String {
    fs::read(root().join(path))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .expect("listed files are there")
}

fn rust_files() -> Vec<(String, String)> {
    let rust = files().into_iter().filter(|path| path.ends_with(".rs"));
    rust.map(|path| (path.clone(), read(&path))).collect()
}

/// Fails with all findings at once.
fn report(findings: &[String]) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

/// The lines before the unit tests of a file.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let end = text.lines().position(|line| line == "#[cfg(test)]").unwrap_or(usize::MAX);
    text.lines().enumerate().take(end).map(|(number, line)| (number + 1, line))
}

#[test]
fn crates_know_only_whom_they_may_know() {
    let allowed: [(&str, &[&str]); 5] = [
        ("haltline-core", &[]),
        ("haltline-agents", &["haltline-core"]),
        ("haltline-engine", &["haltline-core"]),
        ("haltline", &["haltline-core", "haltline-agents", "haltline-engine"]),
        ("haltline-sim", &["haltline-core", "haltline-agents", "haltline-engine", "haltline"]),
    ];
    let mut findings = Vec::new();
    let crates: BTreeSet<String> =
        files().iter().filter_map(|path| Some(path.strip_prefix("crates/")?.split_once('/')?.0.to_owned())).collect();
    for name in &crates {
        let Some((_, may)) = allowed.iter().find(|(known, _)| known == name) else {
            findings.push(format!("crates/{name}: five crates; a breaker, a front or a store is a file"));
            continue;
        };
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        for (other, _) in allowed {
            let depends = manifest
                .lines()
                .any(|line| line.starts_with(&format!("{other}.")) || line.starts_with(&format!("{other} ")));
            if depends && !may.contains(&other) {
                findings
                    .push(format!("crates/{name}/Cargo.toml: {name} must not know {other} (ARCHITECTURE.md, edges)"));
            }
        }
    }
    assert_eq!(crates.len(), 5);
    for path in files().iter().filter(|path| is_manifest_of_package(path)) {
        let manifest = read(path);
        // Packages of other languages and wrappers may lie beside them; only Rust packages are members.
        let own =
            manifest.lines().find_map(|line| line.strip_prefix("name = \"")).unwrap_or_default().trim_end_matches('"');
        let depends_on = |manifest: &str, other: &str| {
            let starts = |line: &str| line.starts_with(&format!("{other}.")) || line.starts_with(&format!("{other} "));
            manifest.lines().any(starts)
        };
        if depends_on(&manifest, "haltline-sim") {
            findings.push(format!("{path}: {own} must not know haltline-sim (ARCHITECTURE.md, edges)"));
        }
        for name in crates.iter().filter(|name| depends_on(&read(&format!("crates/{name}/Cargo.toml")), own)) {
            findings.push(format!("crates/{name}/Cargo.toml: no crate knows the package {own}"));
        }
    }
    report(&findings);
}

/// True for `packages/NAME/Cargo.toml`.
fn is_manifest_of_package(path: &str) -> bool {
    let name = path.strip_prefix("packages/").and_then(|rest| rest.strip_suffix("/Cargo.toml"));
    name.is_some_and(|name| !name.contains('/'))
}

#[test]
fn every_file_says_what_it_is_for_and_is_found_by_name() {
    let mut findings = Vec::new();
    for (path, text) in rust_files() {
        if !text.starts_with("//!") && !text.starts_with("#![no_main]") {
            findings.push(format!("{path}: open with `//!`: what it is for and what it must never do"));
        }
        if text.lines().count() > if path.contains("/tests/") { 700 } else { 600 } {
            findings.push(format!("{path}: {} lines; does it hold one thing?", text.lines().count()));
        }
        let words = ["util", "utils", "helper", "helpers", "common", "misc", "manager"];
        let stem = Path::new(&path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if words.contains(&stem) {
            findings.push(format!("{path}: name the file after what it holds"));
        }
        for (number, line) in code(&text) {
            let named = ["struct ", "enum ", "trait ", "mod "]
                .iter()
                .any(|word| line.trim_start().trim_start_matches("pub ").starts_with(word));
            let lower = line.to_lowercase();
            if named && ["manager", "helper", "utils", "service"].iter().any(|word| lower.contains(word)) {
                findings.push(format!("{path}:{number}: use the domain's noun instead of a manager or helper"));
            }
        }
    }
    report(&findings);
}

#[test]
fn nothing_is_left_over() {
    let marks = [
        concat!("to", "do!("),
        concat!("unimplemen", "ted!("),
        concat!("db", "g!("),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
    ];
    let mut findings = Vec::new();
    for (path, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            if let Some(mark) = marks.iter().find(|mark| line.contains(**mark)) {
                findings.push(format!("{path}:{}: {mark} is left over", number + 1));
            }
            if line.contains(concat!("#[ig", "nore")) || line.contains(concat!("thread::sl", "eep")) {
                findings
                    .push(format!("{path}:{}: tests neither sleep nor are ignored; time is an argument", number + 1));
            }
            if line.trim_start().starts_with("#[allow(")
                || (line.contains("allow(") && line.contains("#![") && !line.contains("reason"))
            {
                findings.push(format!("{path}:{}: #[expect(…, reason = \"…\")] instead of a bare allow", number + 1));
            }
        }
        for (number, line) in code(&text) {
            if line.contains(concat!(".unw", "rap()")) && !path.contains("/tests/") {
                findings.push(format!("{path}:{number}: expect(\"why it cannot fail\") instead of unwrap"));
            }
            if line.trim_start().starts_with("let _ =") {
                findings.push(format!("{path}:{number}: say what happens to the result instead of `let _ =`"));
            }
        }
    }
    report(&findings);
}

#[test]
fn only_the_clock_reads_a_clock_and_only_the_store_opens_the_store() {
    let mut findings = Vec::new();
    for (path, text) in rust_files() {
        let is_shipped = path.starts_with("crates/") || path.starts_with("packages/");
        let in_src = is_shipped && path.contains("/src/") && !path.starts_with("crates/haltline-sim/");
        if !in_src {
            continue;
        }
        for (number, line) in code(&text) {
            let reads_clock = ["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now", "clock_gettime("];
            if reads_clock.iter().any(|call| line.contains(call)) && path != "crates/haltline-engine/src/clock.rs" {
                findings.push(format!("{path}:{number}: ask engine::clock, the only file that reads a clock"));
            }
            if line.contains("rusqlite") && !path.starts_with("crates/haltline-engine/src/store") {
                findings.push(format!("{path}:{number}: go through engine::store; nothing else opens the store"));
            }
            let is_core = path.starts_with("crates/haltline-core/");
            if is_core
                && ["std::fs", "std::env", "std::thread", "std::net", "println!"].iter().any(|word| line.contains(word))
            {
                findings.push(format!("{path}:{number}: the core touches nothing; return a value"));
            }
            if is_core && (line.trim_start().starts_with("_ =>") || line.contains(" _ => ")) {
                findings.push(format!("{path}:{number}: name every case; a new variant must break the build here"));
            }
        }
    }
    report(&findings);
}

#[test]
fn no_path_of_one_machine_is_in_the_tree() {
    let starts = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/fa", "rm/")];
    let mut findings = Vec::new();
    for path in files() {
        for (number, line) in read(&path).lines().enumerate() {
            if starts.iter().any(|start| {
                line.split(|c: char| c.is_whitespace() || "\"'`(=".contains(c)).any(|word| word.starts_with(start))
            }) {
                findings.push(format!("{path}:{}: a path of one machine", number + 1));
            }
        }
    }
    report(&findings);
}

#[test]
fn every_command_has_a_transcript_and_every_code_a_page() {
    let docs: String = files().iter().filter(|path| path.ends_with(".md")).map(|path| read(path)).collect();
    let mut findings = Vec::new();
    let mut leaves = Vec::new();
    collect_leaves(&haltline::command(), "haltline", &mut leaves);
    assert!(leaves.len() > 15, "{leaves:?}");
    for leaf in leaves {
        let is_shown = docs.lines().any(|line| line.starts_with("$ ") && line.contains(&leaf));
        if !is_shown {
            findings.push(format!("`{leaf}` has no transcript: show it in docs/ in a console block"));
        }
    }
    for (path, text) in rust_files() {
        if !path.contains("/src/") {
            continue;
        }
        for part in text.split('"').filter(|part| part.starts_with("HL-") && part.len() < 12) {
            if haltline_core::code_page(part).is_none() {
                findings.push(format!("{path}: the code {part} has no row in haltline-core/src/code.rs"));
            }
            if !docs.contains(&format!("`{part}`")) {
                findings.push(format!("{path}: the code {part} is explained on no page of docs/"));
            }
        }
    }
    report(&findings);
}

#[test]
fn every_link_of_a_page_leads_to_a_file_and_a_heading() {
    let pages = files().into_iter().filter(|path| path.ends_with(".md"));
    let mut findings = Vec::new();
    for path in pages {
        let folder = root().join(&path).parent().expect("below the root").to_owned();
        let text = read(&path);
        // Lines are joined, because a link's title may wrap.
        let joined = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let targets = joined.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://") && !target.contains(' ')) {
            let (file, heading) =
                target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
            let found = if file.is_empty() { root().join(&path) } else { folder.join(file) };
            let Some(heading) = heading else {
                if !found.exists() {
                    findings.push(format!("{path}: {target} is not there"));
                }
                continue;
            };
            let page = fs::read_to_string(found).unwrap_or_default();
            let headings = page.lines().filter(|line| line.starts_with('#'));
            if !headings.map(heading_anchor).any(|anchor| anchor == heading) {
                findings.push(format!("{path}: {target} has no such heading"));
            }
        }
    }
    report(&findings);
}

/// The anchor that a heading of Markdown gets.
fn heading_anchor(line: &str) -> String {
    let title = line.trim_start_matches('#').trim().to_lowercase();
    let kept = title.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

fn collect_leaves(command: &clap::Command, path: &str, leaves: &mut Vec<String>) {
    if !command.has_subcommands() {
        leaves.push(path.to_owned());
    }
    for below in command.get_subcommands() {
        collect_leaves(below, &format!("{path} {}", below.get_name()), leaves);
    }
}

#[test]
fn every_fact_has_a_golden_line() {
    let golden = read("crates/haltline-core/testdata/facts.jsonl");
    let mut findings = Vec::new();
    let mut count = 0;
    // The file of each enum of facts, and what surrounds a fact's name in its stored form.
    for (file, name, outside) in [
        ("constraint.rs", "Fact", "{\"constraint\":"),
        ("loop_/agent_fact.rs", "AgentFact", "{\"lane\":"),
        ("loop_/circuits.rs", "CircuitFact", "{\"lane\":{\"board\":"),
        ("loop_/agent_tree.rs", "AgentTreeFact", "{\"tree\":"),
        ("loop_/exemptions.rs", "ExemptionFact", "{\"exempt\":"),
        ("phase.rs", "Fact", "{\"phase\":"),
        ("attempt.rs", "Fact", "{\"attempt\":"),
        ("claim.rs", "Fact", "{\"claim\":"),
        ("claim/pipeline_fact.rs", "PipelineFact", "{\"pipeline\":"),
        ("control.rs", "Fact", "{\"control\":"),
    ] {
        let source = read(&format!("crates/haltline-core/src/{file}"));
        let body = source.split(&format!("pub enum {name} {{")).nth(1).and_then(|rest| rest.split("\n}\n").next());
        let body = body.unwrap_or_else(|| panic!("{file} has no {name}"));
        for (variant, stored_name) in variants(body) {
            count += 1;
            let is_there = golden.lines().filter_map(|line| line.strip_prefix(outside)).any(|rest| {
                rest.starts_with(&format!("{{\"{stored_name}\"")) || rest.starts_with(&format!("\"{stored_name}\""))
            });
            if !is_there {
                findings.push(format!(
                    "{name}::{variant}: add its written form to testdata/facts.jsonl; formats are promises"
                ));
            }
        }
    }
    assert!(count > 50, "only {count} variants were found");
    report(&findings);
}

/// The variants of an enum's body with the names under which serde stores them.
fn variants(body: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut renamed = None;
    for line in body.lines().filter_map(|line| line.strip_prefix("    ")) {
        if let Some(rest) = line.strip_prefix("#[serde(rename = \"") {
            renamed = rest.split('"').next().map(str::to_owned);
        } else if line.starts_with(|letter: char| letter.is_ascii_uppercase()) {
            let name: String = line.chars().take_while(|letter| letter.is_alphanumeric()).collect();
            let stored_name = renamed.take().unwrap_or_else(|| snake_case(&name));
            found.push((name, stored_name));
        }
    }
    found
}

fn snake_case(name: &str) -> String {
    let mut word = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && index > 0 {
            word.push('_');
        }
        word.extend(letter.to_lowercase());
    }
    word
}

/// Words that the glossary of ARCHITECTURE.md retired, with the word to use instead.
const RETIRED: &[(&str, &str)] = &[
    ("alarm", "false positive"),
    ("asked", "the request, or what was requested"),
    ("board", "circuits"),
    ("chant", "repeated text"),
    ("course", "phase run"),
    ("courses", "phase runs"),
    ("deaf", "silent"),
    ("desk", "the thing it is"),
    ("door", "hook source"),
    ("doors", "hook sources"),
    ("ears", "listener"),
    ("families", "breakers"),
    ("family", "breaker"),
    ("feed", "transcript"),
    ("grounds", "explanation"),
    ("happening", "event"),
    ("hear", "read, record"),
    ("heard", "read, recorded"),
    ("held", "tripped"),
    ("ladder", "escalation"),
    ("landing", "result, resolved path"),
    ("landings", "resolved paths"),
    ("lane", "agent"),
    ("momentous", "needs_sync"),
    ("nameless", "unidentified"),
    ("nearness", "closest to trip"),
    ("pardon", "exempt"),
    ("pardoned", "exempt"),
    ("passage", "transcript range"),
    ("patience", "timeout, deadline"),
    ("refusal", "denial"),
    ("refusals", "denials"),
    ("refuse", "deny"),
    ("refused", "denied"),
    ("rehearsal", "self-test"),
    ("rehearse", "self-test"),
    ("rung", "escalation"),
    ("rungs", "escalations, limits"),
    ("rut", "no progress"),
    ("said", "text, message"),
    ("standing", "state"),
    ("stray", "out-of-scope change"),
    ("strays", "out-of-scope changes"),
    ("stuck", "pattern match, no progress"),
    ("surroundings", "environment"),
    ("tell", "report, notify, print"),
    ("temper", "apply_mode"),
    ("told", "reported, notified, printed"),
    ("whoever", "say who"),
    ("workplace", "context"),
];

/// Identifiers that may contain a retired word, each with the reason.
const RETIRED_EXCEPT: &[(&str, &str)] = &[
    ("AskedUser", "the agent asked the person, which ends an iteration as neutral"),
    ("is_held_by", "a lock is held by a process"),
];

#[test]
fn identifiers_use_the_words_of_the_glossary() {
    let mut findings = Vec::new();
    for (path, text) in rust_files() {
        if path == "tests/tidy.rs" || path == "tests/words.rs" {
            continue;
        }
        let stem = Path::new(&path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if let Some((word, instead)) = retired_word(stem) {
            findings.push(format!("{path}: the glossary says {instead} instead of {word}"));
        }
        for (number, identifier) in identifiers(&text) {
            if RETIRED_EXCEPT.iter().any(|(allowed, _)| *allowed == identifier) {
                continue;
            }
            if let Some((word, instead)) = retired_word(&identifier) {
                findings.push(format!("{path}:{number}: {identifier}: say {instead} instead of {word}"));
            }
        }
    }
    report(&findings);
}

fn retired_word(identifier: &str) -> Option<(&'static str, &'static str)> {
    let snake = snake_case(identifier);
    let mut words = snake.split('_');
    words.find_map(|word| RETIRED.iter().copied().find(|(retired, _)| *retired == word))
}

/// The identifiers of a file with their lines; comments, strings and characters are passed over.
fn identifiers(text: &str) -> Vec<(usize, String)> {
    let tokens = tokens(text).into_iter().filter(|(_, kind, _)| *kind == Token::Identifier);
    tokens.map(|(line, _, token)| (line, token.to_owned())).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Identifier,
    /// A string literal with its quotes.
    Text,
    /// A line comment with its slashes.
    Comment,
}

/// The identifiers, strings and comments of a file with their lines.
fn tokens(text: &str) -> Vec<(usize, Token, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let raw_string = rest.strip_prefix('r').map(|after| after.len() - after.trim_start_matches('#').len());
        let (kind, length) = if rest.starts_with("//") {
            (Some(Token::Comment), rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(hashes) = raw_string.filter(|hashes| rest[1 + hashes..].starts_with('"')) {
            let end = format!("\"{}", "#".repeat(hashes));
            let length = rest[hashes + 2..].find(&end).map_or(rest.len(), |at| hashes + 2 + at + end.len());
            (Some(Token::Text), length)
        } else if first == '"' {
            (Some(Token::Text), quoted_length(rest))
        } else if first == '\'' && rest.chars().nth(1) == Some('\\') {
            (None, rest[2..].find('\'').map_or(rest.len(), |at| at + 3))
        } else if first == '\'' && rest.chars().nth(2) == Some('\'') {
            (None, rest.char_indices().nth(3).map_or(rest.len(), |(at, _)| at))
        } else if first.is_alphabetic() || first == '_' {
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            (Some(Token::Identifier), rest.find(|letter| !is_part(letter)).unwrap_or(rest.len()))
        } else {
            (None, first.len_utf8())
        };
        if let Some(kind) = kind {
            found.push((line, kind, &rest[..length]));
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// How long the string literal at the start of `text` is.
fn quoted_length(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, letter) in text.char_indices() {
        match letter {
            '"' if !is_escaped => return at + 1,
            '\\' if !is_escaped => is_escaped = true,
            _other => is_escaped = false,
        }
    }
    text.len()
}
