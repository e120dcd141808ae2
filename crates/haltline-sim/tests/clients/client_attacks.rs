//! Every line of `testdata/attacks.txt`, played by a real Claude Code while a circuit is OPEN. The table in SECURITY.md is
//! written from the same file, so it says only what these tests hold. `UPDATE_ATTACKS=1` rewrites the table.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::script::{Call, Script, ScriptStep, shell, write};

const ATTACKS: &str = include_str!("../../testdata/attacks.txt");
const ESCAPES: &str = include_str!("client_escapes.rs");

/// The mode is explicit, so that there is something to change.
const SETTINGS: &str = "mode = \"enforce\"\n";

/// A rule whose first violation trips the circuit for a day.
const RULE: &str = "---\nid: no-force\nstatus: active\nguards:\n  - tool: Bash\n    command: \"git push --force*\"\ncircuit_breaker:\n  violation_threshold: 1\n---\n# No force\n";

/// What separates the outputs of the lines of one script.
const MARK: &str = "attack-line";

/// How the lines of a group reach the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Typed,
    Script,
    Tool,
    Guarded,
    Played(&'static str),
}

impl Way {
    fn named(text: &'static str) -> Self {
        match text {
            "typed" => Self::Typed,
            "script" => Self::Script,
            "tool" => Self::Tool,
            "guarded" => Self::Guarded,
            other => Self::Played(other.strip_prefix("played, ").unwrap_or_else(|| panic!("unknown way {other:?}"))),
        }
    }

    /// The middle and the last column of the table.
    fn result(self) -> (&'static str, &'static str) {
        match self {
            Self::Typed | Self::Tool => ("the hook denies the call (`HL-OWN-01`)", "prevented"),
            Self::Script => ("the command refuses, or changes nothing", "prevented"),
            Self::Guarded => ("the hook denies the call; the circuit is OPEN", "prevented"),
            Self::Played("prevented") => ("nothing is reset; haltline tells the person (`HL-OWN-05`)", "prevented"),
            Self::Played("reported") => ("no circuit closes; haltline tells the person in the client", "reported"),
            Self::Played("passes, reported") => {
                ("it passes for the person; haltline tells the person in the client", "reported")
            }
            Self::Played(result) => panic!("unknown result {result:?}"),
        }
    }
}

struct Group {
    way: Way,
    title: &'static str,
    lines: Vec<&'static str>,
}

fn groups() -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for line in ATTACKS.lines().filter(|line| !line.is_empty() && !line.starts_with('>')) {
        match line.strip_prefix("# ") {
            Some(heading) => {
                let (way, title) = heading.split_once(": ").expect("a heading names its way");
                groups.push(Group { way: Way::named(way), title, lines: Vec::new() });
            }
            None => groups.last_mut().expect("a heading comes first").lines.push(line),
        }
    }
    groups
}

/// The lines of all groups with this way, with the real paths.
fn lines(sandbox: &Sandbox, way: Way) -> Vec<String> {
    let home = sandbox.root().join("home");
    let names = [
        ("CONFIG", home.join(".config/haltline/config.toml")),
        ("STATE/", home.join(".local/state/haltline/")),
        ("STATE", home.join(".local/state/haltline")),
    ];
    let groups = groups().into_iter().filter(|group| group.way == way);
    groups
        .flat_map(|group| group.lines)
        .map(|line| {
            let mut line = line.replace('⏎', "\n");
            if !line.contains("HALTLINE_") && !line.contains("HALTLINE=") {
                line = line.replace("HALTLINE", &sandbox.haltline().display().to_string());
            }
            // A variable such as HALTLINE_STATE_DIR is no placeholder.
            for (name, path) in &names {
                line = line.replace("HALTLINE_STATE_DIR", "\u{1}").replace(name, &path.display().to_string());
                line = line.replace('\u{1}', "HALTLINE_STATE_DIR");
            }
            line
        })
        .collect()
}

fn sandbox() -> Sandbox {
    let (runner, haltline) = (env!("CARGO_BIN_EXE_client-run"), env!("CARGO_BIN_EXE_haltline-now"));
    let sandbox = Sandbox::with_program(Client::Claude, runner, haltline, SETTINGS);
    sandbox.write("project/docs/constraints/no-force.md", RULE);
    sandbox
}

/// Plays one session with haltline installed by `init` and the circuit OPEN. `check` must say so at the end.
fn play(sandbox: &Sandbox, script: Script) -> Outcome {
    let stages = [
        Stage::Command("haltline init --yes".to_owned()),
        Stage::Command("haltline constraint record no-force --action 'pushed with force'".to_owned()),
        Stage::Clients(vec![Session::from_script(&script)]),
        Stage::Command("haltline constraint check no-force".to_owned()),
    ];
    let outcome = sandbox.run(&[script], &stages);
    let exits: Vec<Option<i32>> = outcome.commands.iter().map(|done| done.exit).collect();
    assert_eq!(exits, [Some(0), Some(0), Some(77)], "{:#?}", outcome.commands);
    outcome
}

/// Plays all calls in one message: they share a verdict, and one after the other the second would end the turn.
fn results(sandbox: &Sandbox, name: &str, calls: Vec<Call>) -> Vec<String> {
    let count = calls.len();
    let outcome = play(sandbox, Script::new(name, vec![ScriptStep::Calls(calls)]));
    let requests = outcome.requests(name);
    assert_eq!((requests.len(), requests[0].calls().len()), (2, count));
    let calls = requests[0].calls();
    calls.into_iter().map(|id| requests[1].result_of(id).map(|(_, text)| text).unwrap_or_default()).collect()
}

fn assert_all_denied(lines: &[String], results: &[String], code: &str) {
    let passed = lines.iter().zip(results).filter(|(_, text)| !text.contains(code));
    let passed: Vec<String> = passed.map(|(line, text)| format!("{line}\n    {text}")).collect();
    assert!(passed.is_empty(), "{} of {} were not denied:\n{}", passed.len(), lines.len(), passed.join("\n"));
}

#[test]
fn the_hook_denies_every_attack_that_the_shell_tool_or_a_file_tool_names() {
    let sandbox = sandbox();
    let config = sandbox.root().join("home/.config/haltline/config.toml");
    let mut all = lines(&sandbox, Way::Typed);
    let mut calls: Vec<Call> = all.iter().map(|line| shell(line)).collect();
    for path in lines(&sandbox, Way::Tool) {
        calls.push(write(&path, "x"));
        all.push(path);
    }
    let results = results(&sandbox, "typed", calls);
    assert_all_denied(&all, &results, "HALTLINE HL-OWN-01");
    assert_eq!(std::fs::read_to_string(config).expect("it is there"), SETTINGS);
}

#[test]
fn the_hook_denies_every_spelling_of_a_guarded_command() {
    let sandbox = sandbox();
    let all = lines(&sandbox, Way::Guarded);
    let results = results(&sandbox, "guarded", all.iter().map(|line| shell(line)).collect());
    assert_all_denied(&all, &results, "HALTLINE HL-CON");
}

#[test]
fn nothing_that_a_script_runs_closes_the_circuit() {
    let sandbox = sandbox();
    let all = lines(&sandbox, Way::Script);
    let mut script = "#!/bin/sh\n".to_owned();
    for (number, line) in all.iter().enumerate() {
        sandbox.write(&format!("project/line-{number}"), &format!("{line}\n"));
        // The state is asked after every line, so that one which closes the circuit is found by its number.
        writeln!(script, "timeout 20 sh ./line-{number} 2>&1 < /dev/null; echo \"{MARK} {number} exit $?\"")
            .expect("a text can be written");
        writeln!(script, "haltline constraint check no-force > /dev/null; echo \"{MARK} {number} state $?\"")
            .expect("a text can be written");
    }
    sandbox.write("project/lines", &script);
    let results = results(&sandbox, "script", vec![shell("sh ./lines")]);
    let open: Vec<bool> =
        (0..all.len()).map(|number| results[0].contains(&format!("{MARK} {number} state 77"))).collect();
    let closed = all.iter().zip(&open).filter(|(_, is_open)| !**is_open).map(|(line, _)| line);
    assert!(open.iter().all(|&is_open| is_open), "{:#?}\n{}", closed.collect::<Vec<_>>(), results[0]);
}

/// The table of SECURITY.md, one row per group.
fn table() -> String {
    let mut table = "| what the agent tries | ways | what happens | result |\n|---|---|---|---|\n".to_owned();
    for group in groups() {
        let (happens, result) = group.way.result();
        let by = match group.way {
            Way::Typed | Way::Guarded | Way::Tool | Way::Played(_) => "",
            Way::Script => ", from a script that the hook does not read",
        };
        writeln!(table, "| {}{by} | {} | {happens} | {result} |", group.title, group.lines.len())
            .expect("a text can be written");
    }
    let groups = groups();
    let count = |wanted: &str| {
        groups.iter().filter(|group| group.way.result().1 == wanted).map(|group| group.lines.len()).sum::<usize>()
    };
    let [prevented, reported, unseen] = ["prevented", "reported", "not seen"].map(count);
    let all = prevented + reported + unseen;
    write!(table, "\n{all} attacks: {prevented} prevented, {reported} reported, {unseen} not seen.\n")
        .expect("a text can be written");
    table
}

fn security_page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md")
}

#[test]
fn the_table_in_the_security_page_is_what_was_played() {
    let (start, end) = ("<!-- attacks -->\n", "<!-- end of attacks -->\n");
    let page = std::fs::read_to_string(security_page()).expect("the page is there");
    let from = page.find(start).expect("the page marks the table") + start.len();
    let to = page.find(end).expect("the page marks the end of the table");
    if std::env::var_os("UPDATE_ATTACKS").is_some() {
        let page = format!("{}{}{}", &page[..from], table(), &page[to..]);
        std::fs::write(security_page(), page).expect("the page can be written");
        return;
    }
    assert_eq!(&page[from..to], table(), "run with UPDATE_ATTACKS=1 if it is meant");
}

#[test]
fn every_attack_that_another_test_plays_names_that_test() {
    let played = groups().into_iter().filter(|group| matches!(group.way, Way::Played(_)));
    for name in played.flat_map(|group| group.lines) {
        assert!(ESCAPES.contains(&format!("\nfn {name}() {{\n")), "client_escapes.rs has no test {name}");
    }
}

#[test]
fn no_attack_is_listed_twice_and_there_are_enough() {
    let in_group = |group: Group| group.lines.into_iter().map(move |line| format!("{:?} {line}", group.way));
    let all: Vec<String> = groups().into_iter().flat_map(in_group).collect();
    let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
    assert!(all.len() >= 120, "{}", all.len());
}
