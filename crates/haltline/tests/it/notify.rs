//! A trip notifies the person once, through the configured command or webhook, after the commit (E16).

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::support::Site;

fn trip(site: &Site, id: &str) {
    site.constraint(id, "violation_threshold: 1");
    assert!(site.record(id, "git push --force").out.starts_with("CIRCUIT TRIPPED"));
}

#[test]
fn a_command_gets_each_incident_once_as_json_on_its_input() {
    let site = Site::new();
    let delivered = site.project().join("told.jsonl");
    site.config(&format!(
        "[notify]\ncommand = [\"sh\", \"-c\", \"cat >> '{0}'; echo >> '{0}'\"]\n",
        delivered.display()
    ));
    trip(&site, "first");
    site.record("first", "again, while OPEN");
    site.run(&["constraint", "check", "first"]);
    trip(&site, "second");
    let delivered = std::fs::read_to_string(delivered).expect("told");
    let incidents: Vec<serde_json::Value> =
        delivered.lines().map(|line| serde_json::from_str(line).expect("one JSON object a line")).collect();
    let circuits: Vec<&str> = incidents.iter().filter_map(|incident| incident["circuit"].as_str()).collect();
    assert_eq!(circuits, ["constraint/first", "constraint/second"]);
    let first = &incidents[0];
    assert_eq!((&first["state"], &first["cost_usd"]), (&"OPEN".into(), &serde_json::Value::Null));
    assert_eq!(first["evidence"][0]["action"], "git push --force");
    assert_eq!(first["incident"], site.status("first")["trip"]["incident"]);
}

#[test]
fn an_address_gets_the_incident_as_a_post() {
    let site = Site::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    site.config(&format!("[notify]\nwebhook = \"http://{}/trips\"\n", listener.local_addr().expect("bound")));
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("called");
        let mut seen = String::new();
        let mut bytes = [0; 4096];
        while !seen.contains("\"options\"") {
            let count = stream.read(&mut bytes).expect("readable");
            assert!(count > 0, "it hung up: {seen}");
            seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        stream.write_all(b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n").expect("answered");
        seen
    });
    trip(&site, "rule");
    let seen = server.join().expect("served");
    assert!(seen.starts_with("POST /trips HTTP/1.1\r\n"), "{seen}");
    assert!(
        seen.to_lowercase().contains("content-type: application/json") && seen.contains("constraint/rule"),
        "{seen}"
    );
}

#[test]
fn a_failed_delivery_is_reported_retried_with_the_next_trip_and_changes_no_count() {
    let site = Site::new();
    site.config("[notify]\ncommand = [\"/nonexistent/program\"]\n");
    site.constraint("first", "violation_threshold: 1");
    let answer = site.record("first", "x");
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(
        answer.err.starts_with("warning: incident ") && answer.err.contains("could not be delivered"),
        "{answer:?}"
    );
    assert_eq!(site.status("first")["state"], "OPEN");
    let delivered = site.project().join("told");
    site.config(&format!("[notify]\ncommand = [\"sh\", \"-c\", \"cat >> '{}'\"]\n", delivered.display()));
    trip(&site, "second");
    let delivered = std::fs::read_to_string(delivered).expect("told");
    assert!(delivered.contains("constraint/first") && delivered.contains("constraint/second"), "{delivered}");
}

#[test]
fn a_project_cannot_make_haltline_start_a_program() {
    let site = Site::new();
    let delivered = site.project().join("told");
    site.file(".haltline.toml", &format!("[notify]\ncommand = [\"touch\", \"{}\"]\n", delivered.display()));
    trip(&site, "rule");
    assert!(!delivered.exists());
}

#[test]
fn a_trip_by_violations_from_another_branch_is_delivered_too() {
    let site = Site::new();
    let delivered = site.project().join("told");
    site.config(&format!("[notify]\ncommand = [\"sh\", \"-c\", \"cat >> '{}'\"]\n", delivered.display()));
    site.constraint("rule", "violation_threshold: 2\ndedup_seconds: 0");
    site.record("rule", "here");
    let mirror = site.project().join("docs/constraints/.circuit-state.json");
    let text = std::fs::read_to_string(&mirror).expect("written");
    std::fs::write(&mirror, text.replace("\"here\"", "\"on the other branch\"")).expect("merged");
    assert_eq!(site.run(&["constraint", "check", "rule"]).code, Some(77));
    assert!(std::fs::read_to_string(delivered).expect("told").contains("on the other branch"));
}

/// The notifications of one trip of each breaker.
fn one_of_each_breaker(site: &Site) -> Vec<serde_json::Value> {
    let delivered = site.project().join("told.jsonl");
    site.config(&format!(
        "[notify]\ncommand = [\"sh\", \"-c\", \"cat >> '{0}'; echo >> '{0}'\"]\n",
        delivered.display()
    ));
    let call = |kind: &str, call: u32, rest: &str| {
        let session = "\"v\":1,\"ts\":\"2026-02-01T10:00:00.000Z\",\"session\":\"s\"";
        format!("{{{session},\"type\":\"{kind}\",\"call\":\"c{call}\",{rest}}}\n")
    };
    let stream: String = (1..=3)
        .map(|number| {
            call("tool_start", number, "\"tool\":\"Bash\",\"input\":{\"command\":\"npm test\"}")
                + &call("tool_end", number, "\"outcome\":\"failed\",\"exit\":1,\"output\":\"jwt is broken\"")
        })
        .collect();
    let file = site.file("events.jsonl", &stream).display().to_string();
    let mut command = site.command(&["event"]);
    let events = std::fs::File::open(file).expect("written");
    assert!(command.stdin(events).output().expect("starts").status.success());
    trip(site, "rule");
    site.run(&["phase", "begin", "GREEN"]);
    for _iteration in 0..6 {
        site.run(&["phase", "report", "--metric", "tests_passing=3", "--metric", "tests_total=10"]);
    }
    site.run(&["attempt", "begin", "--slice", "S-1", "--in-scope", "src/"]);
    for number in 0..7 {
        let (test, strategy) = (format!("t{number}"), format!("s{number}"));
        site.run(&[
            "attempt",
            "record",
            "--slice",
            "S-1",
            "--test",
            &test,
            "--result",
            "fail",
            "--strategy",
            &strategy,
        ]);
    }
    site.run(&["claim", "add", "C-1", "--text", "x holds"]);
    for _round in 0..3 {
        site.run(&["claim", "round", "C-1", "--objection", "run the harness", "--answer", "no data"]);
    }
    let delivered = std::fs::read_to_string(delivered).expect("told");
    delivered.lines().map(|line| serde_json::from_str(line).expect("one JSON object a line")).collect()
}

#[test]
fn the_incidents_of_every_breaker_have_the_same_fields() {
    let site = Site::new();
    let incidents = one_of_each_breaker(&site);
    let circuits: Vec<&str> = incidents.iter().filter_map(|incident| incident["circuit"].as_str()).collect();
    let breakers: Vec<&str> = circuits.iter().filter_map(|circuit| circuit.split('/').next()).collect();
    assert_eq!(breakers, ["loop", "constraint", "phase", "attempt", "claim"], "{circuits:?}");
    for incident in &incidents {
        assert!(incident["code"].as_str().is_some_and(|code| code.starts_with("HL-")), "{incident}");
        assert!(incident.as_object().is_some_and(|fields| fields.contains_key("until")), "{incident}");
        let evidence = incident["evidence"].as_array().expect("a list");
        assert!(!evidence.is_empty(), "{incident}");
        for entry in evidence {
            assert!(["at", "kind", "text"].iter().all(|key| entry[key].is_string()), "{incident}");
        }
        let id = incident["incident"].as_str().expect("an id");
        let why = site.run(&["why", id, "--json"]).json();
        for key in ["incident", "circuit", "code"] {
            assert_eq!(why[key], incident[key], "{key}");
        }
        assert_eq!(why["until"].is_null(), incident["until"].is_null(), "{why}");
        for (shown, sent) in why["evidence"].as_array().expect("a list").iter().zip(evidence) {
            assert_eq!((&shown["kind"], &shown["text"]), (&sent["kind"], &sent["text"]), "{why}");
            assert_eq!(shown["what"], shown["kind"], "the key of the first version stays");
        }
    }
    let [session, constraint, phase, slice, _claim] = incidents.as_slice() else { panic!("{circuits:?}") };
    assert_eq!(session["evidence"][0]["answer"], session["evidence"][0]["text"]);
    assert_eq!(constraint["evidence"][0]["action"], "git push --force");
    assert_eq!(phase["evidence"][0]["what"], phase["evidence"][0]["text"]);
    assert_eq!((&slice["evidence"][0]["test"], &slice["evidence"][0]["strategy"]), (&"t0".into(), &"s0".into()));
}

/// A server that answers `count` requests and returns them.
fn serve(count: usize) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    let server = std::thread::spawn(move || (0..count).map(|_| answer_one(&listener)).collect());
    (address, server)
}

fn answer_one(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().expect("called");
    let mut seen = String::new();
    let mut bytes = [0; 4096];
    while !is_whole(&seen) {
        let count = stream.read(&mut bytes).expect("readable");
        assert!(count > 0, "it hung up: {seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    stream.write_all(b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").expect("answered");
    seen
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let lengths =
        head.lines().filter_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    lengths.into_iter().any(|length: usize| body.len() >= length)
}

fn body(request: &str) -> serde_json::Value {
    serde_json::from_str(request.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
}

#[test]
fn every_named_target_gets_a_message_in_its_own_form() {
    let site = Site::new();
    let (address, server) = serve(4);
    let delivered = site.project().join("told.txt");
    let command = format!("command:printf '%s' \\\"$HALTLINE_MESSAGE\\\" > '{}'", delivered.display());
    site.config(&format!(
        "[notify]\nto = [\"slack:{address}/s3cret\", \"discord:{address}/s3cret\", \"ntfy:{address}/topic\", \"webhook:{address}/s3cret\", \"{command}\"]\n"
    ));
    trip(&site, "rule");
    let requests = server.join().expect("served");
    let incident = site.status("rule")["trip"]["incident"].as_str().expect("tripped").to_owned();
    let [slack, discord, ntfy, webhook] = requests.as_slice() else { panic!("{requests:?}") };
    let texts = [
        body(slack)["text"].clone(),
        body(discord)["content"].clone(),
        body(ntfy)["message"].clone(),
        std::fs::read_to_string(delivered).expect("the command ran").into(),
    ];
    for text in &texts {
        let text = text.as_str().expect("a text");
        for part in ["git push --force", &format!("haltline why {incident}"), "project", "violation counted"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
    assert!(ntfy.starts_with("POST / HTTP/1.1") && body(ntfy)["topic"] == "topic", "{ntfy}");
    assert!(body(ntfy)["title"].as_str().expect("a title").contains("constraint/rule is OPEN"));
    assert_eq!(body(webhook)["incident"], incident);
}

#[test]
fn a_test_says_what_came_of_each_target_and_shows_no_address() {
    let site = Site::new();
    let (address, server) = serve(1);
    let gone =
        TcpListener::bind("127.0.0.1:0").and_then(|gone| gone.local_addr()).expect("a port that is closed again");
    site.config(&format!(
        "[notify]\nto = [\"slack:{address}/s3cret\", \"discord:http://{gone}/s3cret\", \"command:exit 3\"]\n"
    ));
    let answer = site.run(&["notify", "test"]);
    server.join().expect("served");
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let lines: Vec<&str> = answer.out.lines().collect();
    assert!(
        matches!(lines.as_slice(), [slack, discord, command]
        if *slack == "slack: delivered" && discord.starts_with("discord: not delivered: ") && command.contains("exit status: 3")),
        "{lines:?}"
    );
    let shown =
        [site.run(&["config", "show"]).out, site.run(&["config", "show", "--json"]).out, answer.out, answer.err]
            .concat();
    assert!(!shown.contains("s3cret"), "{shown}");
    site.config("[notify]\nto = [\"slack:s3cret\"]\n");
    let rejected = site.run(&["config", "check"]);
    assert!(rejected.code != Some(0) && !format!("{rejected:?}").contains("s3cret"), "{rejected:?}");
    site.config("");
    let none = site.run(&["notify", "test"]);
    assert!(none.code == Some(1) && none.err.contains("no notification target"), "{none:?}");
}

#[test]
fn a_project_cannot_name_a_target() {
    let site = Site::new();
    let delivered = site.project().join("told");
    site.file(".haltline.toml", &format!("[notify]\nto = [\"command:touch {}\"]\n", delivered.display()));
    trip(&site, "rule");
    assert!(!delivered.exists());
}
