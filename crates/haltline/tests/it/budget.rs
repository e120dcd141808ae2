//! Budgets that many processes share, with the real binary on the real store: nothing is counted twice or lost, a cap is
//! exceeded by no more than the responses in flight, and a killed process leaves no more than one reservation (L7).

use std::io::Write;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::hooks::Client;
use crate::support::{HALTLINE, Site};

const PROCESSES: usize = 64;

fn event(session: usize, number: usize, kind: &str, fields: &str) -> String {
    format!(
        "{{\"v\":1,\"type\":\"{kind}\",\"ts\":\"2026-02-01T10:00:00.000Z\",\"session\":\"s{session}\",\"message\":\"m{number}\"{fields}}}\n"
    )
}

/// A response that costs ten cents, and the call that it made.
fn step(session: usize, number: usize) -> String {
    event(session, number, "message", ",\"usage\":{\"input\":10,\"output\":5},\"cost_usd\":0.1,\"model\":\"big\"")
        + &event(
            session,
            number,
            "tool_start",
            &format!(",\"call\":\"c{number}\",\"tool\":\"Read\",\"input\":{{\"file_path\":\"f{session}-{number}\"}}"),
        )
        + &event(
            session,
            number,
            "tool_end",
            &format!(",\"call\":\"c{number}\",\"outcome\":\"ok\",\"output\":\"text {session} {number}\""),
        )
}

fn begin(site: &Site) -> Child {
    let mut command = Command::new(HALTLINE);
    site.configure(&mut command);
    command.arg("event").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started")
}

fn budgets(site: &Site) -> Value {
    let answer = site.run(&["budget", "--json"]);
    answer.json()
}

fn line<'a>(budgets: &'a Value, scope: &str, unit: &str) -> &'a Value {
    let lines = budgets["lines"].as_array().expect("lines");
    lines.iter().find(|line| line["scope"] == scope && line["unit"] == unit).expect("a line")
}

/// In cents, which are exact.
fn cents(dollars: &Value) -> i64 {
    (dollars.as_f64().expect("a number") * 100.0).round() as i64
}

#[test]
fn sixty_four_processes_exceed_a_cap_by_no_more_than_the_responses_in_flight() {
    let site = Site::new();
    site.config("[budget.week]\nusd_hard = 10.0\n[budget.project]\ncalls_soft = 100000\n");
    let children: Vec<(usize, Child)> = (0..PROCESSES).map(|session| (session, begin(&site))).collect();
    let running: Vec<_> = children
        .into_iter()
        .map(|(session, mut child)| {
            std::thread::spawn(move || {
                let mut input = child.stdin.take().expect("piped");
                let steps: String = (0..5).map(|number| step(session, number)).collect();
                input.write_all(steps.as_bytes()).expect("written");
                drop(input);
                let output = child.wait_with_output().expect("ended");
                String::from_utf8(output.stdout).expect("UTF-8")
            })
        })
        .collect();
    let answers: Vec<String> = running.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    let verdicts: Vec<Value> = answers
        .iter()
        .flat_map(|answer| answer.lines())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(verdicts.len(), PROCESSES * 5 * 3);
    let denied = verdicts.iter().filter(|verdict| verdict["verdict"] == "deny" || verdict["verdict"] == "stop").count();
    let budgets = budgets(&site);
    let week = line(&budgets, "week", "usd");
    // Every response that was paid for is counted, whether or not the call after it was denied.
    assert_eq!(cents(&week["used"]), (PROCESSES * 5 * 10) as i64, "{week}");
    let calls = line(&budgets, "project", "calls")["used"].as_f64().expect("a number") as usize;
    assert_eq!(calls + denied, PROCESSES * 5, "each call ran or was denied");
    // A call runs only while the cap is not reached: at most 99 responses are below it.
    assert!((1..=99).contains(&calls), "{calls} calls ran");
    site.assert_verifies();
}

#[test]
fn a_killed_process_leaves_what_it_spent_and_one_reservation() {
    let site = Site::new();
    site.config("[budget.day]\nusd_hard = 100.0\n");
    let mut child = begin(&site);
    let mut input = child.stdin.take().expect("piped");
    input.write_all(step(1, 1).as_bytes()).expect("written");
    let mut answers = std::io::BufReader::new(child.stdout.take().expect("piped"));
    for _answer in 0..3 {
        let mut answer = String::new();
        std::io::BufRead::read_line(&mut answers, &mut answer).expect("an answer");
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    let now = budgets(&site);
    let day = line(&now, "day", "usd");
    assert_eq!((cents(&day["used"]), cents(&day["reserved"]), cents(&day["free"])), (10, 10, 9980), "{day}");
    site.assert_verifies();
}

#[test]
fn projects_share_the_budget_of_the_machine_and_not_that_of_a_project() {
    let (site, other) = (Site::new(), tempfile::tempdir().expect("a folder"));
    site.config("[budget.week]\ntokens_hard = 1000\n[budget.project]\ntokens_soft = 1000\n");
    for folder in [site.project(), other.path().to_owned()] {
        let mut command = Command::new(HALTLINE);
        site.configure(&mut command);
        let mut child = command
            .current_dir(&folder)
            .arg("event")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("started");
        child.stdin.take().expect("piped").write_all(step(1, 1).as_bytes()).expect("written");
        child.wait().expect("ended");
    }
    let budgets = budgets(&site);
    assert_eq!(line(&budgets, "week", "tokens")["used"], 30.0, "{budgets}");
    assert_eq!(line(&budgets, "project", "tokens")["used"], 15.0, "{budgets}");
    site.assert_verifies();
}

#[test]
fn killed_hooks_lose_nothing_because_the_next_one_reads_on_in_the_transcript() {
    const RESPONSES: usize = 20;
    let site = Site::new();
    site.config("[budget.week]\ntokens_hard = 1000000\n");
    let client = Client { site: &site, session: "killed" };
    let transcript = site.home().join("killed.jsonl");
    client.prompt("go");
    for number in 0..RESPONSES {
        let response = json!({
            "type": "assistant", "sessionId": "killed", "uuid": format!("u{number}"),
            "timestamp": "2026-03-01T10:15:33.400Z",
            "message": {
                "id": format!("m{number}"), "type": "message", "role": "assistant", "model": "claude-opus-4-5",
                "content": [{"type": "text", "text": format!("response {number}")}],
                "usage": {"input_tokens": 1000, "output_tokens": 0, "cache_read_input_tokens": 5000},
            },
        });
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&transcript).expect("a transcript");
        writeln!(file, "{response}").expect("written");
        let batch = || client.begin("PostToolBatch", json!({"transcript_path": transcript, "tool_calls": []}));
        let (mut killed, lives) = (batch(), batch());
        killed.kill().expect("killed");
        killed.wait().expect("ended");
        if number % 3 > 0 {
            Client::finish("PostToolBatch", lives);
        } else {
            let mut lives = lives;
            lives.kill().expect("killed");
            lives.wait().expect("ended");
        }
    }
    client.deliver("Stop", json!({"transcript_path": transcript, "stop_hook_active": false}));
    let budgets = budgets(&site);
    let week = line(&budgets, "week", "tokens");
    // 5,000 tokens from the cache count as 500.
    assert_eq!((&week["used"], &week["reserved"]), (&json!(RESPONSES as f64 * 1500.0), &json!(0.0)), "{week}");
    site.assert_verifies();
}
