//! Seed 002's `circuit_breaker_config.json`: used as first seen, loosened only by a person (E9, L11).

use std::fs;

use crate::support::Site;

const FILE: &str = ".claude/memory/circuit_breaker_config.json";

fn tool_failure(threshold: u32) -> String {
    format!(r#"{{"circuit_breakers": {{"tool_failure": {{"threshold": {threshold}}}}}}}"#)
}

/// The value in force, and the one that waits for trust.
fn threshold(site: &Site) -> (u64, Option<u64>) {
    let shown = site.run(&["config", "show", "--json"]).json();
    let values = shown["values"].as_array().expect("values").clone();
    let value = values.iter().find(|value| value["key"] == "loop.tool_failure.threshold").expect("a key");
    (value["value"].as_u64().expect("a number"), value["waiting"].as_u64())
}

#[test]
fn a_loosened_file_waits_is_shown_and_applies_once_trusted() {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n");
    site.file(FILE, &tool_failure(4));
    assert_eq!(threshold(&site), (4, None));
    site.file(FILE, &tool_failure(50));
    assert_eq!(threshold(&site), (4, Some(50)));
    let status = site.run(&["status"]);
    assert!(status.out.contains("loop.tool_failure.threshold 4 → 50"), "{status:?}");
    let list = site.run(&["trust", "--list"]);
    assert!(list.out.contains(FILE) && list.out.contains("4 → 50"), "{list:?}");
    let trusted = site.run_detached(&["trust", "--reason", "agreed"], &[]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    assert_eq!(threshold(&site), (50, None));
    assert!(site.run(&["trust", "--list"]).out.contains("Nothing waits"));
    site.assert_verifies();
}

#[test]
fn a_tightened_file_applies_at_once_and_loosening_it_again_waits() {
    let site = Site::new();
    site.file(FILE, &tool_failure(5));
    assert_eq!(threshold(&site), (5, None));
    site.file(FILE, &tool_failure(2));
    assert_eq!(threshold(&site), (2, None));
    site.file(FILE, &tool_failure(5));
    assert_eq!(threshold(&site), (2, Some(5)));
    fs::remove_file(site.project().join(FILE)).expect("removed");
    assert_eq!(threshold(&site), (2, Some(3)), "deleting it loosens to what is built in");
    let facts = site.run(&["journal", "show", "--json"]).json().to_string();
    assert_eq!(facts.matches("\"seen\":").count(), 2, "only what is new is written: {facts}");
}

#[test]
fn bad_values_are_reported_on_one_line_each_and_affect_only_their_key() {
    let site = Site::new();
    site.constraint("rule", "");
    site.file(FILE, r#"{"circuit_breakers": {"tool_failure": {"threshold": 4, "enabled": "yes"}}, "extra": {}}"#);
    let check = site.run(&["constraint", "check", "rule"]);
    assert_eq!((check.code, check.err.lines().count()), (Some(0), 2), "{check:?}");
    assert!(check.err.contains("circuit_breakers.tool_failure.enabled = \"yes\": expected true or false"), "{check:?}");
    assert_eq!(threshold(&site), (4, None));
    let checked = site.run(&["config", "check"]);
    assert!(checked.code == Some(0) && checked.out.contains("unknown key \"extra\""), "{checked:?}");
}
