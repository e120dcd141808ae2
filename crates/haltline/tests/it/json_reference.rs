//! The names in JSON output: `docs/reference/json.md` lists those of every command, and instants have one spelling.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::Site;

const MARK: &str = "<!-- generated: UPDATE_REFERENCE=1 cargo test -p haltline --test it reference -->\n";
/// Values under these names are not haltline's own words: stored facts, settings, and what other programs named.
const FOREIGN: [&str; 5] = ["fact", "metrics", "schema_of", "guards", "handlers"];

/// A project in which every breaker has tripped.
fn tripped() -> Site {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n[loop.tool_failure]\ncooldown_base_seconds = 3600\n");
    site.constraint("no-x", "violation_threshold: 1");
    let run = |arguments: &[&str]| drop(site.run_detached(arguments, &[]));
    run(&["constraint", "record", "no-x", "--action", "x"]);
    run(&["phase", "begin", "GREEN"]);
    for _ in 0..3 {
        run(&["phase", "report", "--metric", "tests_passing=3", "--metric", "tests_total=9"]);
    }
    run(&["attempt", "begin", "--slice", "S-1", "--in-scope", "src/"]);
    for strategy in ["one", "two", "three"] {
        let attempt =
            ["attempt", "record", "--slice", "S-1", "--test", "t", "--result", "fail", "--strategy", strategy];
        run(&attempt);
    }
    run(&["claim", "advance-stage", "S1"]);
    run(&["claim", "add", "C-1", "--text", "T"]);
    for _ in 0..3 {
        run(&["claim", "round", "C-1", "--objection", "same thing", "--answer", "no"]);
    }
    let mut events = String::new();
    for call in 1..=3 {
        let both = format!(r#""v":1,"ts":"2026-02-01T10:00:0{call}Z","session":"s","call":"c{call}""#);
        events.push_str(&format!(
            "{{{both},\"type\":\"tool_start\",\"tool\":\"Bash\",\"input\":{{\"command\":\"make\"}}}}\n"
        ));
        events.push_str(&format!(
            "{{{both},\"type\":\"tool_end\",\"outcome\":\"failed\",\"exit\":1,\"output\":\"boom\"}}\n"
        ));
    }
    let file = site.file("events.jsonl", &events);
    let mut event = site.command(&["event"]);
    event.stdin(fs::File::open(file).expect("written"));
    event.output().expect("the binary starts");
    site
}

/// Adds every name in a value, and checks the spelling of every instant.
fn collect(value: &Value, command: &str, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, below) in fields {
                names.insert(name.clone());
                if !FOREIGN.contains(&name.as_str()) {
                    collect(below, command, names);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, command, names)),
        Value::String(text) => {
            let is_instant = text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z');
            let is_instant = is_instant && text[..4].bytes().all(|byte| byte.is_ascii_digit());
            assert!(!is_instant || text.len() == 24, "{command}: {text}: an instant has milliseconds");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn json_names_are_those_of_the_reference() {
    let site = tripped();
    let status = site.run(&["status", "--json"]).json();
    let needs = status["needs"].as_array().expect("a list").clone();
    assert_eq!(needs.len(), 5, "{status:#}");
    let mut why = BTreeSet::new();
    for circuit in &needs {
        let incident = circuit["incident"].as_str().expect("an id");
        collect(&site.run(&["why", incident, "--json"]).json(), "why", &mut why);
    }
    let looped = needs.iter().find(|circuit| circuit["breaker"] == "loop").expect("the loop breaker tripped");
    let looped = looped["incident"].as_str().expect("an id").to_owned();
    let commands: [&[&str]; 27] = [
        &["status"],
        &["status", "--all"],
        &["statusline"],
        &["resume", &looped],
        &["false-positive", "--list"],
        &["constraint", "status", "--all"],
        &["constraint", "status", "no-x"],
        &["constraint", "check", "no-x"],
        &["constraint", "record", "no-x", "--action", "y"],
        &["constraint", "history", "no-x"],
        &["constraint", "config", "no-x"],
        &["phase", "status"],
        &["phase", "check"],
        &["phase", "history"],
        &["attempt", "status", "--slice", "S-1"],
        &["attempt", "history", "--slice", "S-1"],
        &["attempt", "check", "--slice", "S-1", "--test", "t", "--strategy", "four"],
        &["claim", "list"],
        &["claim", "show", "C-1"],
        &["journal", "show"],
        &["journal", "verify"],
        &["config", "show"],
        &["config", "check"],
        &["config", "path"],
        &["trust", "--list"],
        &["memory", "report"],
        &["backtest", "events.jsonl", "--summary"],
    ];
    let mut page = String::from("| command | names |\n|---|---|\n");
    let mut push = |command: &str, names: &BTreeSet<String>| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        page.push_str(&format!("| `{command}` | {} |\n", names.join(" ")));
    };
    push("why", &why);
    for arguments in commands {
        let answer = site.run_detached(&[arguments, &["--json"]].concat(), &[]);
        let mut names = BTreeSet::new();
        let command: Vec<&str> =
            arguments.iter().copied().filter(|word| word.starts_with("--") || is_verb(word)).collect();
        collect(&answer.json(), &command.join(" "), &mut names);
        push(&command.join(" "), &names);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/json.md");
    let text = fs::read_to_string(&path).expect("a page");
    let (before, after) = text.split_once(MARK).expect("the page has its mark");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::write(&path, format!("{before}{MARK}\n{page}")).expect("written");
    } else {
        assert!(after.trim_start() == page, "docs/reference/json.md is not up to date: run with UPDATE_REFERENCE=1");
    }
    for name in ["at", "since", "until", "breaker", "circuit", "state", "incident", "code", "cost_usd"] {
        assert!(before.contains(&format!("`{name}`")), "{name}");
    }
}

/// True for a word of the command itself, not for an id or a value.
fn is_verb(word: &str) -> bool {
    word.len() > 1
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        && !matches!(word, "no-x" | "four")
}
