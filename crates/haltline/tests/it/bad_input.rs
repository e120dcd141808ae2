//! Bad input of all kinds: one line names the value and what to do, nothing is changed, nothing is lost (E7, E8).

use std::fs::File;

use crate::support::{Site, in_mount_namespace, names};

/// Asserts that standard error is one error line that contains all of these parts.
fn assert_one_line(err: &str, parts: &[&str]) {
    assert!(err.starts_with("error: ") && err.trim_end().lines().count() == 1, "{err:?}");
    for part in parts {
        assert!(err.contains(part), "{part:?} is not in {err:?}");
    }
}

#[test]
fn an_unknown_constraint_is_named_with_the_next_step() {
    let site = Site::new();
    for verb in ["check", "pass", "history", "config", "status"] {
        let answer = site.run(&["constraint", verb, "nowhere"]);
        assert_eq!(answer.code, Some(1));
        assert_one_line(&answer.err, &["Constraint not found: nowhere", "haltline constraint status --all"]);
    }
    assert_eq!(site.record("nowhere", "x").code, Some(1));
    assert_eq!(site.run(&["constraint", "status"]).code, Some(0));
}

#[test]
fn an_id_that_could_be_a_path_or_fill_the_screen_is_rejected() {
    let site = Site::new();
    site.constraint("rule", "");
    let long = "a".repeat(10_000);
    for id in ["a/b", "..", "../../etc/passwd", "a\nb", "", " ", "a b", long.as_str()] {
        let answer = site.record(id, "x");
        assert_eq!(answer.code, Some(1), "{id:?}");
        assert_one_line(&answer.err, &["constraint id", "expected letters"]);
        assert!(answer.err.len() < 400, "{} bytes", answer.err.len());
    }
    assert_eq!(site.record("rule", "  ").code, Some(1));
    assert!(!site.state().exists(), "nothing was written");
}

#[test]
fn malformed_front_matter_means_defaults_and_a_warning() {
    let site = Site::new();
    site.file("docs/constraints/rule.md", "---\ncircuit_breaker: [oops\n---\n");
    let answer = site.run(&["constraint", "check", "rule"]);
    assert_eq!(answer.code, Some(0));
    assert!(answer.out.contains("If violated: 1/5"), "{answer:?}");
    assert!(answer.err.starts_with("warning: docs/constraints/rule.md: the front matter cannot be read"), "{answer:?}");
    assert_eq!(answer.err.lines().count(), 1, "{answer:?}");
}

#[test]
fn a_truncated_state_file_is_set_aside_and_rebuilt_and_open_circuits_stay_open() {
    let site = Site::new();
    site.constraint("rule", "violation_threshold: 1");
    site.record("rule", "x");
    let mirror = site.project().join("docs/constraints/.circuit-state.json");
    let whole = std::fs::read_to_string(&mirror).expect("written");
    std::fs::write(&mirror, &whole[..whole.len() / 2]).expect("truncated");
    let answer = site.run(&["constraint", "check", "rule"]);
    assert_eq!(answer.code, Some(77), "{answer:?}");
    assert!(answer.err.contains("kept it as") && answer.err.contains("rebuilt it from the store"), "{answer:?}");
    assert_eq!(std::fs::read_to_string(&mirror).expect("rebuilt"), whole);
    let folder = names(mirror.parent().expect("a folder"));
    assert!(folder.iter().any(|name| name.starts_with(".circuit-state.json.corrupt-")), "{folder:?}");
    assert_eq!(site.run(&["constraint", "check", "rule"]).err, "", "one notice");
}

#[test]
fn a_state_folder_that_cannot_be_made_is_named() {
    let site = Site::new();
    site.constraint("rule", "");
    let mut command = site.command(&["constraint", "record", "rule", "--action", "x"]);
    let output = command.env("HALTLINE_STATE_DIR", "/proc/haltline").output().expect("starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert_one_line(&err, &["/proc/haltline", "HALTLINE_STATE_DIR"]);
}

#[test]
fn a_locked_store_is_waited_for_and_then_reported_as_busy() {
    let site = Site::new();
    site.constraint("rule", "violation_threshold: 1");
    site.record("rule", "x");
    let lock = File::options().write(true).open(site.state().join("state.lock")).expect("there");
    lock.lock().expect("locked");
    let answer = site.record("rule", "y");
    assert_eq!(answer.code, Some(1));
    assert_one_line(&answer.err, &["busy for", "haltline wrote nothing, try again"]);
    assert_eq!(site.run(&["constraint", "check", "rule"]).code, Some(77), "reading needs no turn");
    drop(lock);
    assert_eq!(site.record("rule", "y").code, Some(0));
    assert_eq!(site.status("rule")["totals"]["violations"], 2);
}

#[test]
fn a_newer_store_is_read_and_never_written() {
    let site = Site::new();
    site.constraint("rule", "violation_threshold: 1");
    site.record("rule", "x");
    let store = rusqlite::Connection::open(site.state().join("state.db")).expect("opened");
    store.pragma_update(None, "user_version", 99).expect("set");
    drop(store);
    assert_eq!(site.run(&["constraint", "check", "rule"]).code, Some(77));
    let answer = site.record("rule", "y");
    assert_eq!(answer.code, Some(1));
    assert_one_line(&answer.err, &["schema 99", "upgrade haltline"]);
    assert!(site.run(&["status"]).out.contains("written by a newer haltline (schema 99)"));
}

#[test]
fn a_broken_configuration_is_reported_and_ignored_and_open_circuits_still_block() {
    let site = Site::new();
    site.constraint("rule", "violation_threshold: 1");
    site.record("rule", "x");
    site.config("mode = \"observe\"\n[constraint]\nviolation_treshold = 3\n");
    let answer = site.run(&["constraint", "check", "rule"]);
    assert_eq!(answer.code, Some(77), "{answer:?}");
    assert!(answer.err.contains("did you mean `constraint.violation_threshold`?"), "{answer:?}");
    assert_eq!(site.run(&["config", "check"]).code, Some(1));
    site.config("mode = \"observe\"\n");
    let observed = site.run(&["constraint", "check", "rule"]);
    assert_eq!(observed.code, Some(0));
    assert!(observed.out.contains("observe mode: it would be BLOCKED"), "{observed:?}");
}

#[test]
fn a_failing_store_denies_only_where_the_user_set_fail_closed() {
    let site = Site::new();
    site.constraint("rule", "");
    std::fs::write(site.state(), "a file where the folder should be").expect("written");
    site.config("fail = \"closed\"\n");
    let enforce = ["constraint", "enforce", "rule", "--action", "x", "--clean"];
    assert_eq!(site.run(&enforce).code, Some(77));
    site.config("");
    assert_eq!(site.run(&enforce).code, Some(1));
}

#[test]
fn a_full_disk_is_named_loses_nothing_and_closes_nothing() {
    let site = Site::new();
    site.constraint("rule", "violation_threshold: 3\ndedup_seconds: 0");
    std::fs::create_dir_all(site.state()).expect("created");
    let script = r#"
        mount -t tmpfs -o size=512k tmpfs "$HALTLINE_STATE_DIR"
        record() { "$HALTLINE" constraint record rule --action "$1"; }
        for action in 1 2 3; do record $action >&2; done
        dd if=/dev/zero of="$HALTLINE_STATE_DIR/filler" bs=1k 2>/dev/null || true
        # Until the log has no room left, records may still fit into what it has.
        code=0; tries=0
        while [ $code = 0 ] && [ $tries -lt 200 ]; do tries=$((tries + 1)); record full >&2 || code=$?; done
        echo "code $code"
        "$HALTLINE" constraint check rule >/dev/null && echo "check 0" || echo "check $?"
        rm "$HALTLINE_STATE_DIR/filler"
        record after >/dev/null
        "$HALTLINE" journal verify >/dev/null && echo "verify 0"
        echo "tries $tries"
        "$HALTLINE" constraint status rule --json | grep '"violations": [0-9]*' | tail -n 1
    "#;
    let Some(answer) = in_mount_namespace(&site, script) else { return };
    assert!(answer.out.starts_with("code 1\ncheck 77\nverify 0\n"), "{answer:?}");
    assert!(answer.err.contains("free some space"), "{answer:?}");
    let tries: u64 =
        answer.out.split("tries ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok()).expect("printed");
    // Three before, those that still fitted, and one after; the one that failed is not there.
    assert!(answer.out.contains(&format!("\"violations\": {}", 3 + (tries - 1) + 1)), "{answer:?}");
}

#[test]
fn a_read_only_state_folder_still_allows_check_and_record_says_why_it_fails() {
    let site = Site::new();
    site.constraint("rule", "violation_threshold: 1");
    site.record("rule", "x");
    let script = r#"
        mount --bind "$HALTLINE_STATE_DIR" "$HALTLINE_STATE_DIR"
        mount -o remount,bind,ro "$HALTLINE_STATE_DIR"
        "$HALTLINE" constraint check rule >/dev/null && echo "check 0" || echo "check $?"
        "$HALTLINE" constraint record rule --action y && echo "record 0" || echo "record $?"
    "#;
    let Some(answer) = in_mount_namespace(&site, script) else { return };
    assert_eq!(answer.out, "check 77\nrecord 1\n", "{answer:?}");
    assert!(answer.err.contains("HALTLINE_STATE_DIR") && answer.err.contains("error: "), "{answer:?}");
}

#[test]
fn output_into_a_closed_pipe_is_no_error() {
    let site = Site::new();
    let mut command = std::process::Command::new("sh");
    site.configure(&mut command);
    let piped = command
        .args(["-c", "\"$0\" config show | head -n 1; \"$0\" journal export | true"])
        .arg(crate::support::HALTLINE);
    let output = piped.output().expect("starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
