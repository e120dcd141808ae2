//! Seed 002's scenarios 5 and 6, and its limit of 5 MB, through the real binary (L9, L12).

use std::fs;

use crate::support::hooks::Client;
use crate::support::{Site, names};

const FOLDER: &str = ".claude/memory";

fn lines(count: usize) -> String {
    (0..count).map(|number| format!("{{\"event\":{number}}}\n")).collect()
}

#[test]
fn scenario_5_telemetry_that_grew_beyond_a_thousand_lines_is_rotated() {
    let site = Site::new();
    for (name, count) in [("performance", 1001), ("batching", 999)] {
        site.file(&format!("{FOLDER}/{name}_telemetry.jsonl"), &lines(count));
    }
    let report = site.run(&["memory", "report", "--json"]).json();
    assert_eq!(
        (&report["folders"][0]["telemetry_lines"], &report["folders"][0]["sessions"]),
        (&2000.into(), &0.into())
    );
    let answer = site.run(&["memory", "clean"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.out.contains("Memory cleanup: 1 file rotated, 0 sessions pruned, "), "{answer:?}");
    let live = fs::read_to_string(site.project().join(FOLDER).join("performance_telemetry.jsonl")).expect("fresh");
    assert_eq!(live, "");
    let files = names(&site.project().join(FOLDER));
    assert!(files.iter().any(|name| name.starts_with("performance_telemetry.2") && name.ends_with(".jsonl.gz")));
    assert!(!files.iter().any(|name| name.starts_with("batching_telemetry.2")), "{files:?}");
    let again = site.run(&["memory", "clean", "--json"]).json();
    assert_eq!(again["folders"][0]["files_rotated"], 0);
}

#[test]
fn scenario_6_of_fifteen_sessions_ten_stay() {
    let site = Site::new();
    for number in 0..15 {
        site.file(&format!("{FOLDER}/session_s{number:02}_state.json"), "{\"turn\": 1}");
    }
    let mut command = site.command(&["memory", "clean", "--json"]);
    command.env("HALTLINE_SESSION", "s00");
    let output = command.output().expect("starts");
    let done: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(done["folders"][0]["sessions_pruned"], 5, "{done}");
    let states = names(&site.project().join(FOLDER));
    let states: Vec<&String> = states.iter().filter(|name| name.ends_with("_state.json")).collect();
    assert_eq!(states.len(), 10, "{states:?}");
    assert!(states.contains(&&"session_s00_state.json".to_owned()), "the active one is the oldest, and stays");
    let report = site.run(&["memory", "report"]);
    assert!(report.out.contains("Sessions: 10 active (at limit), 5 archived"), "{report:?}");
}

#[test]
fn the_folder_stays_below_five_megabytes_whatever_is_written() {
    let site = Site::new();
    let folder = site.project().join(FOLDER);
    // Text that hardly compresses, like packed logs of a long history.
    let mut seed = 1_u64;
    for round in 0..12 {
        let noise: String = (0..12_000)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                format!("{:016x}{}", seed ^ (seed >> 29), if seed.is_multiple_of(4) { "\n" } else { "" })
            })
            .collect();
        for name in ["performance", "batching", "fallacy", "background"] {
            site.file(&format!("{FOLDER}/{name}_telemetry.jsonl"), &noise.repeat(3));
        }
        site.file(
            &format!("{FOLDER}/session_r{round}_state.json"),
            &format!("{{\"notes\": \"{}\"}}", "n".repeat(9999)),
        );
        let done = site.run(&["memory", "clean", "--json"]);
        assert_eq!(done.code, Some(0), "{done:?}");
        let bytes = done.json()["folders"][0]["bytes_after"].as_u64().expect("a size");
        assert!(bytes < 5 * 1024 * 1024, "{bytes} after round {round}");
    }
    assert!(names(&folder).len() > 10, "{:?}", names(&folder));
}

#[test]
fn a_folder_can_be_named_and_one_that_is_not_there_is_an_error() {
    let site = Site::new();
    let own = site.state().join("memory").display().to_string();
    assert_eq!(site.run(&["memory", "report", "--json"]).json()["folders"][0]["folder"], own, "haltline's own");
    site.file("elsewhere/x_telemetry.jsonl", &lines(2000));
    let answer = site.run(&["memory", "clean", "--dir", "elsewhere"]);
    assert!(answer.out.contains("1 file rotated"), "{answer:?}");
    for folder in ["nowhere", "elsewhere/x_telemetry.jsonl"] {
        let answer = site.run(&["memory", "report", "--dir", folder]);
        assert!(answer.code == Some(1) && answer.err.starts_with("error: --memory "), "{answer:?}");
        assert_eq!(answer.err.trim_end().lines().count(), 1, "{answer:?}");
    }
}

#[test]
fn a_memory_folder_that_leads_out_of_the_project_is_not_touched() {
    let site = Site::new();
    let outside = tempfile::tempdir().expect("temp folder");
    fs::write(outside.path().join("x_telemetry.jsonl"), lines(2000)).expect("written");
    fs::create_dir_all(site.project().join(".claude")).expect("created");
    std::os::unix::fs::symlink(outside.path(), site.project().join(FOLDER)).expect("linked");
    let answer = site.run(&["memory", "clean", "--json"]);
    assert_eq!(answer.json()["folders"].as_array().map(Vec::len), Some(1), "only haltline's own: {answer:?}");
    assert_eq!(names(outside.path()), ["x_telemetry.jsonl"]);
}

#[test]
fn limits_come_from_the_configuration() {
    let site = Site::new();
    site.config("[memory]\ntelemetry_max_lines = 20\n");
    site.file(&format!("{FOLDER}/x_telemetry.jsonl"), &lines(21));
    site.file(&format!("{FOLDER}/circuit_breaker_config.json"), r#"{"memory_limits": {"session_max_active": 2}}"#);
    for number in 0..4 {
        site.file(&format!("{FOLDER}/session_{number}_state.json"), "{}");
    }
    let done = site.run(&["memory", "clean", "--json"]).json();
    assert_eq!((&done["folders"][0]["files_rotated"], &done["folders"][0]["sessions_pruned"]), (&1.into(), &2.into()));
}

#[test]
fn a_hook_leaves_a_large_folder_to_another_process() {
    let site = Site::new();
    let memory = site.project().join(".claude/memory");
    fs::create_dir_all(&memory).expect("made");
    let live = memory.join("performance_telemetry.jsonl");
    fs::write(&live, "{\"ts\": 1770892200, \"text\": \"a line of telemetry\"}\n".repeat(60_000)).expect("written");
    let client = Client { site: &site, session: "s" };
    let started = client.deliver("SessionStart", serde_json::json!({"source": "startup"}));
    let shown = started.to_person + &client.prompt("go on").to_person;
    assert!(shown.contains("in the background"), "{shown}");
    let is_rotated = || names(&memory).iter().any(|name| name.ends_with(".jsonl.gz"));
    let looks = (0..2000).find(|_| is_rotated() || site.run(&["memory", "report"]).code != Some(0));
    assert!(looks.is_some() && is_rotated(), "the other process cleans the folder");
}

#[test]
fn a_file_of_a_gigabyte_is_measured_at_once() {
    let site = Site::new();
    let path = site.file(".claude/memory/circuit_breaker_incidents.jsonl", "");
    fs::File::options().write(true).open(path).and_then(|file| file.set_len(1 << 30)).expect("a sparse file");
    let status = site.run(&["memory", "report", "--json"]).json();
    assert!(status.to_string().contains(&(1_u64 << 30).to_string()), "{status}");
}
