//! A trip reaches the person once, through the configured command or address, after the commit (E16).

mod support;

use std::io::{Read, Write};
use std::net::TcpListener;

use support::Site;

fn trip(site: &Site, id: &str) {
    site.constraint(id, "violation_threshold: 1");
    assert!(site.record(id, "git push --force").out.starts_with("CIRCUIT TRIPPED"));
}

#[test]
fn a_command_gets_each_incident_once_as_json_on_its_input() {
    let site = Site::new();
    let told = site.project().join("told.jsonl");
    site.config(&format!("[notify]\ncommand = [\"sh\", \"-c\", \"cat >> '{0}'; echo >> '{0}'\"]\n", told.display()));
    trip(&site, "first");
    site.record("first", "again, while OPEN");
    site.run(&["constraint", "check", "first"]);
    trip(&site, "second");
    let told = std::fs::read_to_string(told).expect("told");
    let incidents: Vec<serde_json::Value> =
        told.lines().map(|line| serde_json::from_str(line).expect("one JSON object a line")).collect();
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
fn what_cannot_be_delivered_is_said_tried_again_with_the_next_trip_and_changes_no_count() {
    let site = Site::new();
    site.config("[notify]\ncommand = [\"/nonexistent/program\"]\n");
    site.constraint("first", "violation_threshold: 1");
    let answer = site.record("first", "x");
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.err.starts_with("warning: incident ") && answer.err.contains("was not delivered"), "{answer:?}");
    assert_eq!(site.status("first")["state"], "OPEN");
    let told = site.project().join("told");
    site.config(&format!("[notify]\ncommand = [\"sh\", \"-c\", \"cat >> '{}'\"]\n", told.display()));
    trip(&site, "second");
    let told = std::fs::read_to_string(told).expect("told");
    assert!(told.contains("constraint/first") && told.contains("constraint/second"), "{told}");
}

#[test]
fn a_project_cannot_make_haltline_start_a_program() {
    let site = Site::new();
    let told = site.project().join("told");
    site.file(".haltline.toml", &format!("[notify]\ncommand = [\"touch\", \"{}\"]\n", told.display()));
    trip(&site, "rule");
    assert!(!told.exists());
}

#[test]
fn a_trip_by_violations_that_another_branch_brought_is_told_as_well() {
    let site = Site::new();
    let told = site.project().join("told");
    site.config(&format!("[notify]\ncommand = [\"sh\", \"-c\", \"cat >> '{}'\"]\n", told.display()));
    site.constraint("rule", "violation_threshold: 2\ndedup_seconds: 0");
    site.record("rule", "here");
    let mirror = site.project().join("docs/constraints/.circuit-state.json");
    let text = std::fs::read_to_string(&mirror).expect("written");
    std::fs::write(&mirror, text.replace("\"here\"", "\"on the other branch\"")).expect("merged");
    assert_eq!(site.run(&["constraint", "check", "rule"]).code, Some(77));
    assert!(std::fs::read_to_string(told).expect("told").contains("on the other branch"));
}
