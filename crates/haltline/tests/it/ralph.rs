//! The Ralph bridge with the real binary: nothing is lost, the file is the interface, bad input changes nothing (P8).
//!
//! haltline-sim runs Ralph's own scripts against it, with the shell library and a test clock.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::hooks::{Client, facts};
use crate::support::{Answer, Site, names};
use serde_json::{Value, json};

const STATE: &str = ".ralph/.circuit_breaker_state";
const HISTORY: &str = ".ralph/.circuit_breaker_history";

fn ralph(site: &Site, arguments: &[&str]) -> Answer {
    site.run(&[&["ralph"], arguments].concat())
}

/// Records a loop that changed this many files.
fn record(site: &Site, number: u32, files: u32) -> Answer {
    ralph(site, &["record", &number.to_string(), &files.to_string(), "false", "100"])
}

fn status(site: &Site) -> Value {
    ralph(site, &["status", "--json"]).json()
}

fn state_file(site: &Site) -> Value {
    let content = fs::read(site.project().join(STATE)).expect("the state file is there");
    serde_json::from_slice(&content).expect("JSON")
}

/// A site whose circuit is open.
fn opened() -> Site {
    let site = Site::new();
    for number in 1..=3 {
        assert_eq!(record(&site, number, 0).code, Some(i32::from(number == 3)));
    }
    site
}

/// Runs twenty processes at once, each with one loop; returns how many saw the circuit open, and how many opened it.
fn race(site: &Site, variables: &[(&str, &str)]) -> (u32, u32) {
    let (open, trips) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for number in 1..=20 {
            let (open, trips) = (&open, &trips);
            scope.spawn(move || {
                let number = number.to_string();
                let mut command = site.command(&["ralph", "record", &number, "0", "false", "10"]);
                let output = command.envs(variables.iter().copied()).output().expect("the binary starts");
                let err = String::from_utf8_lossy(&output.stderr);
                assert!(!err.contains("warning") && !err.contains("error"), "{err}");
                open.fetch_add(u32::from(output.status.code() == Some(1)), Ordering::Relaxed);
                trips.fetch_add(u32::from(err.contains("CIRCUIT BREAKER OPENED")), Ordering::Relaxed);
            });
        }
    });
    (open.into_inner(), trips.into_inner())
}

#[test]
fn twenty_loops_recorded_at_once_are_twenty() {
    let site = Site::new();
    assert_eq!(race(&site, &[("CB_NO_PROGRESS_THRESHOLD", "20")]), (1, 1));
    let seen = status(&site);
    assert_eq!(seen["totals"]["iterations"], 20);
    assert_eq!(
        (&seen["state"], &seen["totals"]["trips"], &seen["totals"]["refused"]),
        (&json!("OPEN"), &json!(1), &json!(0))
    );
    assert_eq!(state_file(&site)["consecutive_no_progress"], 20);
    site.assert_verifies();
}

#[test]
fn twenty_loops_at_once_open_a_circuit_of_three_once_and_all_are_in_the_totals() {
    let site = Site::new();
    assert_eq!(race(&site, &[]), (18, 1), "the third opens it, the others find it open");
    let seen = status(&site);
    assert_eq!((&seen["totals"]["iterations"], &seen["totals"]["refused"]), (&json!(3), &json!(17)));
    assert_eq!((&seen["totals"]["trips"], &seen["total_opens"]), (&json!(1), &json!(1)));
    assert_eq!(state_file(&site)["state"], "OPEN");
    site.assert_verifies();
}

#[test]
fn an_edit_of_the_state_file_wins_is_reported_once_and_journalled() {
    let site = opened();
    let mut edited = state_file(&site);
    edited["state"] = "CLOSED".into();
    edited["consecutive_no_progress"] = 1.into();
    site.file(STATE, &edited.to_string());
    let answer = ralph(&site, &["halt"]);
    assert_eq!((answer.code, answer.out.as_str()), (Some(1), ""), "{answer:?}");
    assert!(answer.err.contains("another program wrote it, and haltline imported it: OPEN → CLOSED"), "{answer:?}");
    assert_eq!(ralph(&site, &["halt"]).err, "", "one notice");
    let adopted = facts(&site).iter().filter(|fact| fact["fact"]["phase"]["adopted"].is_object()).count();
    assert_eq!(adopted, 1);
    assert_eq!(record(&site, 4, 0).code, Some(0));
    assert_eq!(
        (state_file(&site)["state"].as_str(), status(&site)["no_progress"]["count"].as_u64()),
        (Some("HALF_OPEN"), Some(2))
    );
    site.assert_verifies();
}

#[test]
fn opened_at_keeps_its_spelling_while_the_circuit_stays_open() {
    let site = opened();
    let path = site.project().join(".ralph/.circuit_breaker_state");
    let mut file = state_file(&site);
    let spelling = file["opened_at"].as_str().expect("OPEN").replace('Z', "+00:00");
    file["opened_at"] = spelling.clone().into();
    std::fs::write(&path, file.to_string()).expect("written");
    record(&site, 8, 0);
    record(&site, 9, 0);
    assert_eq!(state_file(&site)["opened_at"], spelling.as_str());
}

#[test]
fn a_file_restored_to_an_earlier_content_is_an_edit_too() {
    let site = Site::new();
    assert_eq!(record(&site, 1, 1).code, Some(0));
    let before = fs::read_to_string(site.project().join(STATE)).expect("there");
    for number in 2..=4 {
        record(&site, number, 0);
    }
    assert_eq!(ralph(&site, &["halt"]).code, Some(0));
    site.file(STATE, &before);
    assert_eq!(ralph(&site, &["halt"]).code, Some(1));
    assert_eq!(status(&site)["current_loop"], 1);
}

#[test]
fn haltlines_own_writes_are_never_taken_for_an_edit() {
    let site = Site::new();
    for number in 1..=12 {
        let answer = record(&site, number, u32::from(number % 3 == 0));
        assert!(!answer.err.contains("warning"), "{answer:?}");
        for verb in ["init", "status", "halt"] {
            assert_eq!(ralph(&site, &[verb]).err, "", "{verb}");
        }
    }
    // A crash between the state file and its stamp: the stamp names both.
    let stamps = site.state().join("courses");
    let stamp = names(&stamps).into_iter().find(|name| name.ends_with(".stamp")).expect("a stamp");
    let known = fs::read_to_string(stamps.join(&stamp)).expect("read");
    fs::write(stamps.join(&stamp), format!("0123456789abcdef\n{known}")).expect("written");
    assert_eq!(ralph(&site, &["halt"]).err, "");
    assert!(!facts(&site).iter().any(|fact| fact["fact"]["phase"]["adopted"].is_object()));
}

#[test]
fn a_missing_or_damaged_file_is_rebuilt_and_an_open_circuit_stays_open() {
    let site = opened();
    let whole = fs::read_to_string(site.project().join(STATE)).expect("there");
    fs::remove_file(site.project().join(STATE)).expect("removed");
    let answer = ralph(&site, &["halt"]);
    assert_eq!(answer.code, Some(0));
    assert!(answer.err.contains("it was missing; haltline wrote it again from the store: OPEN"), "{answer:?}");
    assert_eq!(fs::read_to_string(site.project().join(STATE)).expect("made anew"), whole);
    for damage in ["", "{", "[]", "null", "{\"state\": \"AJAR\"}", "{\"state\": 1}", "\u{0}\u{0}"] {
        site.file(STATE, damage);
        let answer = ralph(&site, &["halt"]);
        assert_eq!(answer.code, Some(0), "{damage:?} {answer:?}");
        assert!(answer.err.contains("kept it as") && answer.err.contains("rebuilt it from the store"), "{answer:?}");
        assert_eq!(fs::read_to_string(site.project().join(STATE)).expect("made anew"), whole);
    }
    let kept = names(&site.project().join(".ralph"));
    assert_eq!(kept.iter().filter(|name| name.contains(".corrupt-")).count(), 3, "{kept:?}");
}

#[test]
fn an_existing_history_is_kept_and_continued() {
    let site = Site::new();
    let old = json!([{"timestamp": "2026-01-01T00:00:00+00:00", "loop": 9, "from_state": "CLOSED", "to_state": "HALF_OPEN", "reason": "x"}]);
    site.file(HISTORY, &old.to_string());
    for number in 1..=4 {
        record(&site, number, u32::from(number == 4));
    }
    let history: Value = serde_json::from_slice(&fs::read(site.project().join(HISTORY)).expect("there")).expect("JSON");
    let steps: Vec<&str> =
        history.as_array().expect("a list").iter().filter_map(|line| line["to_state"].as_str()).collect();
    assert_eq!(steps, ["HALF_OPEN", "HALF_OPEN", "OPEN"], "{history}");
    assert_eq!(history[0], old[0]);
    site.file(HISTORY, "damaged");
    let answer = ralph(&site, &["init"]);
    assert!(answer.code == Some(0) && answer.err.contains("not a JSON list"), "{answer:?}");
}

#[test]
fn bad_arguments_are_named_in_one_line_and_nothing_is_counted() {
    let site = Site::new();
    for (arguments, parts) in [
        (["x", "0", "false", "1"], ["LOOP \"x\"", "a whole number"]),
        (["-1", "0", "false", "1"], ["LOOP \"-1\"", "a whole number"]),
        (["1", "many", "false", "1"], ["FILES_CHANGED \"many\"", "a whole number"]),
        (["1", "0", "maybe", "1"], ["HAS_ERRORS \"maybe\"", "true or false"]),
        (["1", "0", "false", "1.5"], ["OUTPUT_LENGTH \"1.5\"", "a whole number"]),
        (["99999999999999999999", "0", "false", "1"], ["LOOP", "a whole number"]),
    ] {
        let answer = ralph(&site, &[&["record"], &arguments[..]].concat());
        assert_eq!((answer.code, answer.err.lines().count()), (Some(2), 1), "{answer:?}");
        assert!(answer.err.starts_with("error: ") && parts.iter().all(|part| answer.err.contains(part)), "{answer:?}");
    }
    let file = ralph(&site, &["record", "1", "0", "true", "1", "--error-file", "nowhere.log"]);
    assert_eq!(file.code, Some(2));
    assert!(file.err.contains("--error-file nowhere.log"), "{file:?}");
    assert_eq!(site.run(&["-C", "nowhere", "ralph", "record", "1", "0", "false", "1"]).code, Some(2));
    assert!(!site.state().exists() && !site.project().join(".ralph").exists(), "nothing was written");
    assert_eq!(ralph(&site, &["record", " 4", "  2", "0", "   10"]).code, Some(0), "as wc prints it");
    assert_eq!(status(&site)["last_progress_loop"], 4);
}

#[test]
fn the_error_is_the_one_that_is_given_or_the_one_in_the_output() {
    let site = Site::new();
    let count = |site: &Site| status(site)["same_error"]["count"].clone();
    let given =
        |number: &str, message: &str| ralph(&site, &["record", number, "1", "true", "9", "--error-message", message]);
    given("1", "timeout after 3.2s");
    given("2", "timeout after 7.9s");
    assert_eq!(count(&site), 2);
    given("3", "disk full");
    assert_eq!(count(&site), 1);
    let file = site.file("error.log", "disk full");
    ralph(&site, &["record", "4", "1", "1", "9", "--error-file", &file.display().to_string()]);
    assert_eq!(count(&site), 2);
    // The output that this loop's analysis names comes before the newest one.
    site.file("out/five.log", "Error: linking failed\n\"is_error\": true\n");
    site.file(".ralph/logs/claude_output_5.log", "Error: quite another\n");
    site.file(".ralph/.response_analysis", r#"{"loop_number": 5, "output_file": "out/five.log", "analysis": {}}"#);
    record_error(&site, "5");
    assert_eq!(count(&site), 1);
    // That analysis is not about loop 6, so its output is not either.
    record_error(&site, "6");
    assert_eq!(count(&site), 1);
    record_error(&site, "7");
    assert_eq!(count(&site), 2);
    fs::remove_dir_all(site.project().join(".ralph/logs")).expect("removed");
    record_error(&site, "8");
    assert_eq!(count(&site), 3, "an unreported error counts as the one before");
    assert_eq!(record(&site, 9, 1).code, Some(0));
    assert_eq!(count(&site), 0);
}

fn record_error(site: &Site, number: &str) {
    ralph(site, &["record", number, "1", "true", "9"]);
}

#[test]
fn settings_come_from_the_environment_then_the_file_then_ralphs_defaults() {
    let site = Site::new();
    site.file(
        ".ralphrc",
        "# settings\nCB_NO_PROGRESS_THRESHOLD=7\nexport CB_SAME_ERROR_THRESHOLD=\"8\"\nCB_COOLDOWN_MINUTES=soon\n\
         CB_PERMISSION_DENIAL_THRESHOLD=0\ntouch ran\nCB_AUTO_RESET=$(touch ran)\n",
    );
    let mut command = site.command(&["ralph", "status", "--json"]);
    let output = command.env("CB_SAME_ERROR_THRESHOLD", "9").output().expect("starts");
    let seen: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let limits =
        [&seen["no_progress"], &seen["same_error"], &seen["permission_denials"]].map(|count| &count["threshold"]);
    assert_eq!(limits, [&json!(7), &json!(9), &json!(2)]);
    let err = String::from_utf8_lossy(&output.stderr);
    for part in [
        "CB_COOLDOWN_MINUTES \"soon\" in .ralphrc: expected a whole number of at least 0; haltline uses 30",
        "CB_PERMISSION_DENIAL_THRESHOLD \"0\" in .ralphrc",
        "CB_AUTO_RESET",
    ] {
        assert!(err.contains(part), "{part:?} is not in {err}");
    }
    assert_eq!(err.lines().count(), 3, "{err}");
    assert!(!site.project().join("ran").exists(), "the file is read, not run");
}

#[test]
fn every_folder_has_its_own_circuit() {
    let site = opened();
    for (variable, folder) in [("RALPH_DIR", "loops/a"), ("RALPH_DIR", "./loops/../loops/a")] {
        let mut command = site.command(&["ralph", "record", "1", "0", "false", "1"]);
        assert_eq!(command.env(variable, folder).status().expect("starts").code(), Some(0));
    }
    let sub = site.project().join("sub");
    fs::create_dir(&sub).expect("created");
    assert_eq!(site.run(&["-C", "sub", "ralph", "record", "1", "0", "false", "1"]).code, Some(0));
    assert!(sub.join(STATE).exists() && site.project().join("loops/a/.circuit_breaker_state").exists());
    let mut command = site.command(&["-C", &sub.display().to_string(), "ralph", "status", "--json"]);
    let seen: Value = serde_json::from_slice(&command.output().expect("starts").stdout).expect("JSON");
    assert_eq!((&seen["no_progress"]["count"], &seen["circuit"]), (&json!(1), &json!("phase/ralph/sub%2F.ralph")));
    assert_eq!(ralph(&site, &["halt"]).code, Some(0), "the first one is still open");
}

#[test]
fn a_failing_store_does_not_halt_the_loop_unless_the_user_set_fail_closed() {
    let site = Site::new();
    fs::create_dir_all(site.state().join("state.db")).expect("a folder where the store should be");
    for (config, record, halt) in [("", 0, 1), ("fail = \"closed\"\n", 1, 0)] {
        site.config(config);
        for (verb, code) in [(&["record", "1", "0", "false", "1"][..], record), (&["halt"], halt)] {
            let answer = ralph(&site, verb);
            assert_eq!(answer.code, Some(code), "{verb:?} {answer:?}");
            assert!(answer.err.starts_with("error: the store "), "{answer:?}");
        }
    }
}

#[test]
fn in_observe_mode_an_open_circuit_is_only_reported() {
    let site = Site::new();
    site.config("mode = \"observe\"\n");
    for number in 1..=4 {
        assert_eq!(record(&site, number, 0).code, Some(0));
    }
    let answer = ralph(&site, &["halt"]);
    assert_eq!((answer.code, answer.out.as_str()), (Some(1), ""));
    assert!(answer.err.contains("mode = \"observe\": the loop continues"), "{answer:?}");
    assert_eq!((status(&site)["state"].as_str(), state_file(&site)["state"].as_str()), (Some("OPEN"), Some("OPEN")));
    site.config("");
    assert_eq!(ralph(&site, &["halt"]).code, Some(0));
}

#[test]
fn a_reset_needs_no_terminal_but_no_agent_either() {
    let site = opened();
    for marker in ["CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "AI_AGENT"] {
        let answer = site.run_detached(&["ralph", "reset"], &[(marker, "1")]);
        assert_eq!(answer.code, Some(77), "{answer:?}");
        assert!(answer.err.starts_with("denied: ") && answer.err.contains(marker), "{answer:?}");
        let init = site.run_detached(&["ralph", "init"], &[(marker, "1"), ("CB_AUTO_RESET", "true")]);
        assert!(init.code == Some(0) && init.err.contains("CB_AUTO_RESET is for people"), "{init:?}");
    }
    assert_eq!(status(&site)["state"], "OPEN");
    let answer = site.run_detached(&["ralph", "reset", "cause found", "--json"], &[]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let seen = answer.json();
    assert_eq!((&seen["state"], &seen["audit"]["reason"]), (&json!("CLOSED"), &json!("cause found")));
    assert!(seen["audit"]["who"].as_str().is_some_and(|who| who.starts_with("ana")), "{seen}");
}

#[test]
fn the_clients_hook_denies_a_shell_command_that_would_reset() {
    let site = opened();
    let client = Client { site: &site, session: "s" };
    client.prompt("go on");
    let denied = client.ask("1", "Bash", &json!({"command": "cd sub && haltline ralph reset \"go on\""}));
    assert!(denied.to_agent.contains("HL-OWN-01"), "{denied:?}");
    let allowed = client.ask("2", "Bash", &json!({"command": "haltline ralph status"}));
    assert_eq!(allowed.to_agent, "", "{allowed:?}");
    assert_eq!(status(&site)["state"], "OPEN");
}
