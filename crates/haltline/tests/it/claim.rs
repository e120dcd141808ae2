//! `haltline claim` as scripts use it: exit codes, texts byte for byte, secrets, the operator's verb, and races.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Answer, Site};
use serde_json::{Value, json};

const SECRET: &str = "token: ghp_0123456789abcdefghijABCDEFGHIJ";

fn claim(site: &Site, args: &[&str]) -> Answer {
    let mut all = vec!["claim"];
    all.extend(args);
    site.run(&all)
}

fn round(site: &Site, id: &str) -> Answer {
    claim(site, &["round", id, "--objection", "run the harness", "--answer", "no data"])
}

fn dispute(site: &Site, id: &str) {
    assert_eq!(claim(site, &["add", id, "--text", "x holds"]).code, Some(0));
    for _round in 0..3 {
        assert_eq!(round(site, id).code, Some(0), "a round that is recorded exits with 0, also the third");
    }
}

fn run_with_input(site: &Site, args: &[&str], input: &[u8]) -> Answer {
    let mut command = site.command(args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    Answer {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn verbs_that_a_dispute_forbids_exit_with_77_and_change_nothing() {
    let site = Site::new();
    dispute(&site, "C-1");
    let before = claim(&site, &["show", "C-1", "--json"]).json();
    for args in [
        &["promote", "C-1"][..],
        &["kill", "C-1", "--reason", "x"],
        &["edit", "C-1", "--claim-text", "y"],
        &["edit", "C-1", "--status", "REJECTED"],
        &["round", "C-1", "--objection", "z", "--new-evidence", "e"],
        &["close-stage", "S5"],
        &["close-stage", "s5", "--json"],
    ] {
        let answer = claim(&site, args);
        assert_eq!(answer.code, Some(77), "{args:?} {answer:?}");
    }
    let after = claim(&site, &["show", "C-1", "--json"]).json();
    for field in ["text", "status", "evidence", "objections", "dispute", "generation"] {
        assert_eq!(before[field], after[field], "{field}");
    }
    assert_eq!(after["totals"]["refused"], 5);
    let denied = claim(&site, &["close-stage", "S5", "--json"]).json();
    assert_eq!((&denied["verdict"], &denied["reason"]["code"]), (&json!("deny"), &json!("HL-CLAIM-03")));
    assert_eq!(denied["disputed"][0]["claim"], "C-1");
    assert_eq!(denied["disputed"][0]["options"].as_array().map(Vec::len), Some(3));
    site.assert_verifies();
}

#[test]
fn mistakes_exit_with_1_or_2_on_one_line() {
    let site = Site::new();
    assert_eq!(claim(&site, &["add", "C-1", "--text", "x"]).code, Some(0));
    let long = "x".repeat(300 * 1024);
    let file = site.file("long.txt", &long).display().to_string();
    let bytes = site.project().join("bytes.txt");
    fs::write(&bytes, b"ab\xffcd").expect("written");
    let bytes = bytes.display().to_string();
    for (args, expected) in [
        (&["add", "C-1", "--text", "y"][..], "claim C-1 exists already"),
        (&["add", "a/b", "--text", "y"], "claim \"a/b\": expected letters, digits"),
        (&["add", "--text", " "], "text is empty"),
        (&["add", "--text", "y", "--confidence", "2"], "confidence \"2\": expected a number from 0 to 1"),
        (&["add", "--text", "y", "--depends-on", "C-9"], "depends on C-9: there is no such claim"),
        (&["add", "--text-file", &file], "more than 262144 bytes; haltline keeps text whole or not at all"),
        (&["add", "--text-file", &bytes], "expected UTF-8; byte 3 is invalid"),
        (&["add", "--text-file", "/nonexistent/file"], "--text-file /nonexistent/file: "),
        (&["round", "C-9", "--objection", "z"], "claim C-9 does not exist"),
        (&["round", "C-1"], "objection is missing"),
        (&["round", "C-1", "--objection", "z", "--same-as", "O-7"], "same-as: expected an objection to this claim"),
        (&["show", "C-9"], "claim C-9 does not exist"),
        (&["list", "--status", "OPEN"], "status \"OPEN\": expected one such as VERIFIED or DISPUTED"),
        (&["ledger", "--pipeline", "none"], "this pipeline has no claims"),
        (&["ledger", "--pipeline", "../x"], "pipeline \"../x\": expected letters"),
        (&["resolve", "drop", "C-1", "--rationale", "z"], "claim C-1 is not DISPUTED"),
        (&["cycle", "end"], "no cycle has begun"),
        (&["advance-stage", "S 1"], "stage \"S 1\": expected letters"),
    ] {
        let answer = claim(&site, args);
        assert_eq!((answer.code, answer.err.lines().count()), (Some(1), 1), "{args:?} {answer:?}");
        assert!(answer.err.contains(expected), "{args:?}: {}", answer.err);
    }
    for args in
        [&["promote", "C-1", "--to", "DISPUTED"][..], &["kill", "C-1"], &["reexamine", "C-1", "--outcome", "resolved"]]
    {
        assert_eq!(claim(&site, args).code, Some(2), "{args:?}");
    }
}

#[test]
fn texts_come_back_byte_for_byte_whatever_their_script() {
    let site = Site::new();
    let text = " \u{feff}Zwölf Boxkämpfer\r\n\t检验 🧪\u{200d}🔬 \u{1b}[31m `a`\n\n## C-999\n- Status: VERIFIED\u{0}";
    let file = site.project().join("text.md");
    fs::write(&file, text).expect("written");
    let file = file.display().to_string();
    assert_eq!(claim(&site, &["add", "C-1", "--text-file", &file]).code, Some(0));
    for _round in 0..2 {
        assert_eq!(claim(&site, &["round", "C-1", "--objection-file", &file, "--answer-file", &file]).code, Some(0));
    }
    let args = ["claim", "round", "C-1", "--objection-id", "X", "--objection-file", &file, "--answer", "-"];
    let last = run_with_input(&site, &args, text.as_bytes());
    assert!(last.out.starts_with("CLAIM DISPUTED: C-1"), "{last:?}");
    let shown = claim(&site, &["show", "C-1", "--json"]).json();
    assert_eq!(shown["text"], text);
    assert_eq!(shown["dispute"]["dispute_reason"], text);
    assert_eq!(shown["dispute"]["researcher_position"], text);
    assert_eq!(claim(&site, &["ledger", "--json"]).json()["claims"][0]["dispute_reason"], text);
    let ledger = claim(&site, &["ledger"]).out;
    assert!(!ledger.contains('\u{1b}') && !ledger.contains('\u{0}'), "a terminal would obey it");
    assert_eq!(ledger.lines().filter(|line| line.starts_with("## ")).count(), 3 + 1, "fenced lines are no headings");
    assert!(claim(&site, &["ledger", "--verbatim"]).out.contains(text), "and verbatim it is the very bytes");
    let largest = "ü".repeat(128 * 1024);
    let path = site.file("largest.md", &largest).display().to_string();
    assert_eq!(claim(&site, &["add", "C-2", "--text-file", &path]).code, Some(0));
    assert_eq!(claim(&site, &["show", "C-2", "--json"]).json()["text"], largest);
    site.assert_verifies();
}

#[test]
fn a_direction_mark_in_a_claim_reaches_the_terminal_only_escaped() {
    let site = Site::new();
    let text = "it \u{202e}sdloh\u{2069}";
    assert_eq!(claim(&site, &["add", "C-1", "--text", text, "--evidence", text]).code, Some(0));
    for _round in 0..3 {
        claim(&site, &["round", "C-1", "--objection", text, "--answer", text]);
    }
    assert!(!site.run(&["status"]).out.contains('\u{202e}'));
    for args in [&["claim", "show", "C-1"][..], &["claim", "list"], &["claim", "ledger"], &["why"]] {
        let shown = site.run(args).out;
        assert!(shown.contains("\\u{202e}") && !shown.contains('\u{202e}'), "{args:?} {shown}");
    }
    assert_eq!(claim(&site, &["show", "C-1", "--json"]).json()["text"], text);
}

#[test]
fn standard_input_is_read_once() {
    let site = Site::new();
    let both = run_with_input(&site, &["claim", "add", "--text", "-", "--evidence", "-"], b"x");
    assert_eq!(both.code, Some(1), "{both:?}");
    assert!(both.err.contains("another text uses standard input already"), "{both:?}");
}

#[test]
fn a_secret_is_stored_verbatim_reported_and_masked_where_it_is_shown() {
    let site = Site::new();
    let text = format!("the {SECRET} opens it");
    let added = claim(&site, &["add", "C-1", "--text", &text, "--json"]);
    assert!(
        added.err.contains("warning: text: it contains what looks like a secret; haltline keeps the text unchanged"),
        "{added:?}"
    );
    assert_eq!(added.json()["secrets"], json!(["text"]));
    for _round in 0..3 {
        claim(&site, &["round", "C-1", "--objection", &text, "--answer", &text]);
    }
    for args in [
        &["claim", "show", "C-1"][..],
        &["claim", "show", "C-1", "--json"],
        &["claim", "list", "--json"],
        &["claim", "ledger"],
        &["claim", "ledger", "--json"],
        &["journal", "show", "--json"],
        &["journal", "export"],
        &["status", "--json"],
        &["status"],
        &["why"],
        &["why", "--json"],
    ] {
        let answer = site.run(args);
        assert_eq!(answer.code, Some(0), "{args:?} {answer:?}");
        assert!(!answer.out.contains("ghp_0123456789"), "{args:?} shows it: {}", answer.out);
    }
    let verbatim = claim(&site, &["show", "C-1", "--verbatim", "--json"]);
    assert_eq!((&verbatim.json()["text"], verbatim.err.as_str()), (&json!(text), ""));
    assert_eq!(verbatim.json()["dispute"]["dispute_reason"], text);
    let masked = claim(&site, &["show", "C-1", "--json"]);
    assert_eq!((&masked.json()["is_masked"], masked.err.contains("--verbatim")), (&json!(true), true));
    site.assert_verifies();
}

#[test]
fn only_a_person_overrides_and_anyone_may_bring_data_or_drop() {
    let site = Site::new();
    dispute(&site, "C-1");
    let args = ["claim", "resolve", "override", "C-1", "--status", "VERIFIED", "--rationale", "because"];
    let inside = site.run_detached(&args, &[("CLAUDECODE", "1")]);
    assert_eq!(inside.code, Some(77), "{inside:?}");
    let unattended = site.run_detached(&args, &[]);
    assert_eq!(unattended.code, Some(77), "{unattended:?}");
    assert_eq!(claim(&site, &["show", "C-1", "--json"]).json()["status"], "DISPUTED");
    let data = ["claim", "resolve", "new-data", "C-1", "--evidence", "a track"];
    assert_eq!(site.run_detached(&data, &[("CLAUDECODE", "1")]).code, Some(0));
    dispute(&site, "C-2");
    let drop = ["claim", "resolve", "drop", "C-2", "--rationale", "enough"];
    assert_eq!(site.run_detached(&drop, &[("CLAUDECODE", "1")]).code, Some(0));
    dispute(&site, "C-3");
    site.config("[operator]\nunattended = true\n");
    let args = ["claim", "resolve", "override", "C-3", "--status", "ROBUST", "--rationale", "I looked", "--json"];
    let done = site.run_detached(&args, &[]);
    assert_eq!((done.code, &done.json()["status"]), (Some(0), &json!("ROBUST")), "{done:?}");
    assert!(done.json()["audit"]["who"].as_str().is_some_and(|who| who.starts_with("ana")));
    let shown = claim(&site, &["show", "C-3", "--json"]).json();
    assert_eq!(shown["settled"][0]["human_override_rationale"], "I looked");
    assert_eq!(claim(&site, &["close-stage", "S5"]).code, Some(0));
}

#[test]
fn more_rounds_need_a_reason_and_a_project_that_requests_them_waits_for_trust() {
    let site = Site::new();
    site.config("[claim]\ncircuit_breaker_rounds = 5\n");
    dispute(&site, "C-1");
    let warned = round(&site, "C-1");
    assert!(warned.err.contains("haltline ignores claim.circuit_breaker_rounds = 5"), "{warned:?}");
    assert!(site.run(&["config", "check"]).out.contains("haltline ignores claim.circuit_breaker_rounds = 5"));
    site.config("[claim]\ncircuit_breaker_rounds = 5\ncircuit_breaker_rounds_reason = \"a slow lab\"\n");
    assert_eq!(claim(&site, &["add", "C-2", "--text", "x"]).code, Some(0));
    for number in 1..5 {
        let answer = claim(&site, &["round", "C-2", "--objection", "no", "--json"]);
        assert_eq!(
            (&answer.json()["round"]["count"], &answer.json()["status"]),
            (&json!(number), &json!("UNVERIFIED"))
        );
        assert!(answer.err.contains("reason: a slow lab"), "{answer:?}");
    }
    assert_eq!(claim(&site, &["round", "C-2", "--objection", "no", "--json"]).json()["status"], "DISPUTED");
    site.config("");
    let project = "[claim]\ncircuit_breaker_rounds = 9\ncircuit_breaker_rounds_reason = \"we like to talk\"\n";
    site.file("haltline.toml", project);
    assert_eq!(claim(&site, &["add", "C-3", "--text", "x"]).code, Some(0));
    for _round in 0..3 {
        claim(&site, &["round", "C-3", "--objection", "no"]);
    }
    assert_eq!(claim(&site, &["show", "C-3", "--json"]).json()["status"], "DISPUTED");
}

#[test]
fn a_dispute_is_in_status_and_why_and_reset_points_to_its_resolutions() {
    let site = Site::new();
    dispute(&site, "C-1");
    let status = site.run(&["status", "--json"]).json();
    assert_eq!(status["disputes"][0]["circuit"], "claim/main/C-1");
    assert_eq!(status["incidents_24h"], 1);
    assert!(
        site.run(&["status"])
            .out
            .contains("  claim      main/C-1: 3 rounds on objection O-1 changed nothing\n             DISPUTED since ")
    );
    let incident = status["disputes"][0]["incident"].as_str().expect("a name").to_owned();
    let why = site.run(&["why", &incident, "--json"]).json();
    assert_eq!((&why["code"], &why["state"], &why["count"]), (&json!("HL-CLAIM-01"), &json!("DISPUTED"), &json!(3)));
    let reset = site.run_detached(&["reset", &incident], &[]);
    assert!(reset.code == Some(1) && reset.err.contains("claim resolve new-data C-1"), "{reset:?}");
    assert_eq!(claim(&site, &["resolve", "drop", "C-1", "--rationale", "enough"]).code, Some(0));
    let why = site.run(&["why", &incident, "--json"]).json();
    assert_eq!(
        (&why["state"], &why["ended"]["what"], &why["ended"]["text"]),
        (&json!("CLOSED"), &json!("claim dropped"), &json!("enough"))
    );
    assert_eq!(site.run(&["status", "--json"]).json()["disputes"], json!([]));
}

#[test]
fn a_person_is_notified_of_a_dispute_once_and_without_its_secrets() {
    let site = Site::new();
    let notified = site.project().join("told.jsonl");
    site.config(&format!(
        "[notify]\ncommand = [\"sh\", \"-c\", \"cat >> '{0}'; echo >> '{0}'\"]\n",
        notified.display()
    ));
    assert_eq!(claim(&site, &["add", "C-1", "--text", "x"]).code, Some(0));
    for _round in 0..5 {
        claim(&site, &["round", "C-1", "--objection", SECRET, "--answer", "no"]);
    }
    let notified = fs::read_to_string(notified).expect("told");
    let incidents: Vec<Value> = notified.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(incidents.len(), 1, "{notified}");
    assert_eq!((&incidents[0]["circuit"], &incidents[0]["state"]), (&json!("claim/main/C-1"), &json!("DISPUTED")));
    assert_eq!(
        (&incidents[0]["dispute_reason"], &incidents[0]["researcher_position"]),
        (&json!("token: [redacted]"), &json!("no"))
    );
}

#[test]
fn a_base_of_many_claims_falls_in_one_decision() {
    let site = Site::new();
    let mut lines = vec!["claim add C-base --text base".to_owned()];
    lines.extend((0..60).map(|number| format!("claim add D-{number} --text x --depends-on C-base")));
    for line in &lines {
        let args: Vec<&str> = line.split(' ').collect();
        assert_eq!(site.run(&args).code, Some(0), "{line}");
    }
    let fallen = claim(&site, &["kill", "C-base", "--reason", "wrong", "--json"]).json();
    assert_eq!(fallen["moved"].as_array().map(Vec::len), Some(61));
    site.assert_verifies();
}

fn event(claim: &str, name: &str) -> String {
    let event = json!({"v": 1, "type": "round", "session": "s", "claim": claim, "objection": "run the harness", "answer": "no data", "reviewer": name});
    format!("{event}\n")
}

#[test]
fn rounds_come_as_plain_events_too() {
    let site = Site::new();
    assert_eq!(claim(&site, &["add", "C-1", "--text", "x"]).code, Some(0));
    let lines = event("C-1", "R2").repeat(4) + &event("C-9", "R2");
    let answer = run_with_input(&site, &["event"], lines.as_bytes());
    let answers: Vec<Value> = answer.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let verdicts: Vec<&Value> = answers.iter().map(|answer| &answer["verdict"]).collect();
    assert_eq!(verdicts, [&json!("pass"), &json!("pass"), &json!("warn"), &json!("deny"), &Value::Null]);
    assert_eq!((&answers[2]["code"], &answers[3]["code"]), (&json!("HL-CLAIM-01"), &json!("HL-CLAIM-02")));
    assert!(answers[4]["error"]["message"].as_str().is_some_and(|error| error.starts_with("claim C-9 does not exist")));
    assert_eq!(run_with_input(&site, &["event"], event("C-1", "R2").as_bytes()).code, Some(77));
}

const PROCESSES: usize = 16;
const CLAIMS: usize = 50;

fn claims() -> Vec<String> {
    (1..=CLAIMS).map(|number| format!("C-{number:03}")).collect()
}

/// Runs sixteen processes at once, each with a round on every claim; returns all their answers.
fn race(site: &Site) -> Vec<Value> {
    for _claim in 0..CLAIMS {
        assert_eq!(claim(site, &["add", "--text", "x holds"]).code, Some(0));
    }
    std::thread::scope(|scope| {
        let race = |process: usize| {
            // Each starts at another claim, so that they compete for all of them.
            let mut order = claims();
            order.rotate_left(process * 3);
            let lines: String = order.iter().map(|id| event(id, &format!("R{process}"))).collect();
            let answer = run_with_input(site, &["event"], lines.as_bytes());
            assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{answer:?}");
            answer.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<Value>>()
        };
        let running: Vec<_> = (0..PROCESSES).map(|process| scope.spawn(move || race(process))).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
    })
}

fn count(answers: &[Value], verdict: &str) -> usize {
    answers.iter().filter(|answer| answer["verdict"] == verdict).count()
}

#[test]
fn sixteen_processes_on_fifty_claims_are_counted_one_by_one() {
    let site = Site::new();
    site.config("[claim]\ncircuit_breaker_rounds = 100\ncircuit_breaker_rounds_reason = \"to count\"\n");
    let answers = race(&site);
    assert_eq!(count(&answers, "pass"), PROCESSES * CLAIMS);
    for line in claim(&site, &["list", "--json"]).json()["claims"].as_array().expect("a list") {
        assert_eq!((&line["count"], &line["rounds"]), (&json!(PROCESSES), &json!(PROCESSES)), "{line}");
    }
    let one = claim(&site, &["show", "C-025", "--json"]).json();
    assert_eq!(one["objections"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["objections"][0]["reviewers"].as_array().map(Vec::len), Some(PROCESSES));
    site.assert_verifies();
}

#[test]
fn sixteen_processes_dispute_each_of_fifty_claims_once_at_the_third_round() {
    let site = Site::new();
    let answers = race(&site);
    assert_eq!(count(&answers, "pass"), 2 * CLAIMS);
    assert_eq!(count(&answers, "warn"), CLAIMS);
    assert_eq!(count(&answers, "deny"), (PROCESSES - 3) * CLAIMS);
    for id in claims() {
        let one = claim(&site, &["show", &id, "--json"]).json();
        assert_eq!((&one["status"], &one["objections"][0]["count"]), (&json!("DISPUTED"), &json!(3)), "{one}");
        assert_eq!((&one["totals"]["rounds"], &one["totals"]["refused"]), (&json!(3), &json!(PROCESSES - 3)));
    }
    let denied = claim(&site, &["close-stage", "S5", "--json"]);
    assert_eq!((denied.code, denied.json()["disputed"].as_array().map(Vec::len)), (Some(77), Some(CLAIMS)));
    site.assert_verifies();
}

#[test]
fn a_stage_never_closes_over_a_dispute_while_rounds_come_in() {
    for _time in 0..5 {
        let site = Site::new();
        assert_eq!(claim(&site, &["add", "C-1", "--text", "x"]).code, Some(0));
        let closed = std::thread::scope(|scope| {
            let rounds: Vec<_> = (0..3).map(|_round| scope.spawn(|| round(&site, "C-1"))).collect();
            let close = scope.spawn(|| claim(&site, &["close-stage", "S5"]));
            for thread in rounds {
                thread.join().expect("it ends");
            }
            close.join().expect("it ends").code == Some(0)
        });
        let list = claim(&site, &["list", "--json"]).json();
        let is_disputed = list["disputed"] != json!([]);
        assert_eq!(list["final_stage_closed"], json!(closed), "{list}");
        assert!(!(closed && is_disputed), "{list}");
        site.assert_verifies();
    }
}

/// A fenced block of the reference page, by its title.
fn block(title: &str) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/claim.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let begin = page.find(&format!("title=\"{title}\"\n")).expect("the block is there");
    let rest = &page[begin..];
    let inside = &rest[rest.find('\n').expect("a line") + 1..];
    inside[..inside.find("\n```").expect("it ends") + 1].to_owned()
}

/// True if the command runs here; in CI it must.
fn is_there(program: &str, arguments: &[&str]) -> bool {
    let found = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("CI").is_none(), "{program} {arguments:?} is needed in CI");
    if !found {
        eprintln!("not run: {program} {arguments:?} does not work here");
    }
    found
}

#[test]
fn the_python_example_of_the_page_runs_and_prints_the_documented_output() {
    if !is_there("python3", &["--version"]) {
        return;
    }
    let script = block("review.py");
    assert!(script.lines().filter(|line| !line.trim().is_empty()).count() <= 40, "an example of at most 40 lines");
    let site = Site::new();
    let path = site.file("review.py", &script);
    let mut command = Command::new("python3");
    site.configure(&mut command);
    let folder = std::path::Path::new(crate::support::HALTLINE).parent().expect("a folder");
    let search = std::env::join_paths([folder.to_owned(), "/usr/bin".into(), "/usr/local/bin".into(), "/bin".into()]);
    let output = command.arg(path).env("PATH", search.expect("plain folders")).output().expect("it starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), block("review.txt"), "{err}");
}

#[test]
fn the_ledger_validates_against_its_schema_and_a_closed_stage_with_a_dispute_does_not() {
    if !is_there("python3", &["-c", "import jsonschema"]) {
        return;
    }
    let site = Site::new();
    site.config("[operator]\nunattended = true\n");
    for id in ["C-1", "C-2", "C-3", "C-4"] {
        dispute(&site, id);
    }
    assert_eq!(
        claim(&site, &["add", "--text", "y", "--confidence", "0.5", "--depends-on", "C-1", "--type", "causal"]).code,
        Some(0)
    );
    assert_eq!(claim(&site, &["resolve", "new-data", "C-1", "--evidence", "a track"]).code, Some(0));
    assert_eq!(claim(&site, &["resolve", "drop", "C-2", "--rationale", "enough"]).code, Some(0));
    let args = ["claim", "resolve", "override", "C-3", "--status", "ROBUST", "--rationale", "I looked"];
    assert_eq!(site.run_detached(&args, &[]).code, Some(0));
    let open = claim(&site, &["ledger", "--json"]).json();
    assert_eq!(
        claim(
            &site,
            &["reexamine", "C-4", "--trigger", "new-data", "--detail", "d", "--outcome", "resolved", "--reason", "r"]
        )
        .code,
        Some(0)
    );
    assert_eq!(claim(&site, &["close-stage", "S5"]).code, Some(0));
    let closed = claim(&site, &["ledger", "--json"]).json();
    let changed = |from: &Value, change: fn(&mut Value)| {
        let mut ledger = from.clone();
        change(&mut ledger);
        ledger
    };
    let cases = json!([
        [true, open],
        [true, closed],
        [false, changed(&open, |ledger| ledger["final_stage_closed"] = json!(true))],
        [false, changed(&closed, |ledger| ledger["claims"][0]["status"] = json!("DISPUTED"))],
        [false, changed(&closed, |ledger| ledger["disputed_claims"] = json!(["C-1"]))],
        [false, changed(&open, |ledger| ledger["claims"][4]["dispute_reason"] = json!(null))],
        [false, changed(&open, |ledger| ledger["claims"][0]["status"] = json!("OPEN"))],
        [false, changed(&open, |ledger| ledger["claims"][2]["resolutions"][0]["status"] = json!("VERIFIED"))],
        [false, changed(&open, |ledger| ledger["colour"] = json!("red"))],
    ]);
    let input = json!({"schema": claim(&site, &["ledger", "--schema"]).json(), "cases": cases});
    let check = "import json, sys, jsonschema\n\
        given = json.load(sys.stdin)\n\
        jsonschema.Draft202012Validator.check_schema(given['schema'])\n\
        validator = jsonschema.Draft202012Validator(given['schema'])\n\
        print(json.dumps([[expected, validator.is_valid(ledger)] for expected, ledger in given['cases']]))\n";
    let mut child = Command::new("python3")
        .args(["-c", check])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    child.stdin.take().expect("a pipe").write_all(input.to_string().as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let found: Vec<(bool, bool)> = serde_json::from_slice(&output.stdout).expect("a list");
    let expected = [true, true, false, false, false, false, false, false, false];
    assert_eq!(found, expected.map(|is_valid| (is_valid, is_valid)));
}
