//! Incidents last: they are listed for all breakers, found by a prefix, and explained after a person has acted on them.

use serde_json::{Value, json};

use crate::support::Site;
use crate::support::hooks::Client;

fn site() -> Site {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n[loop.tool_failure]\ncooldown_base_seconds = 3600\n");
    site
}

/// Trips the loop breaker by three failures of a command; returns the incident.
fn trip(site: &Site, session: &'static str, command: &str) -> String {
    let client = Client { site, session };
    client.prompt("go");
    for call in ["c1", "c2", "c3"] {
        client.shell(call, command, Err("boom"));
    }
    newest(site)
}

fn newest(site: &Site) -> String {
    site.run(&["why", "--json"]).json()["incident"].as_str().expect("an incident").to_owned()
}

/// Trips the breakers that have verbs of their own; returns the ids in this order: constraint, phase, attempt.
fn trip_others(site: &Site) -> [String; 3] {
    site.constraint("rule", "violation_threshold: 2\ndedup_seconds: 0");
    site.record("rule", "git push --force origin one");
    site.record("rule", "git push --force origin two");
    let constraint = newest(site);
    site.run(&["phase", "begin", "GREEN"]);
    for _ in 0..6 {
        site.run(&["phase", "report", "--error-type", "TypeError", "--error-message", "Cannot read property x"]);
    }
    let phase = newest(site);
    site.run(&["attempt", "begin", "--slice", "S-1", "--in-scope", "src/"]);
    for strategy in ["guess", "guess again", "give up"] {
        site.run(&[
            "attempt",
            "record",
            "--slice",
            "S-1",
            "--test",
            "adds",
            "--result",
            "fail",
            "--strategy",
            strategy,
        ]);
    }
    [constraint, phase, newest(site)]
}

fn listed(site: &Site, more: &[&str]) -> Vec<Value> {
    let mut args = vec!["incidents", "--json"];
    args.extend(more);
    site.run(&args).json()["incidents"].as_array().expect("a list").clone()
}

#[test]
fn an_id_lives_on_after_a_person_acted_on_it() {
    let site = site();
    let ids = trip_others(&site);
    assert_eq!(listed(&site, &[]).iter().filter(|one| one["is_open"] == json!(true)).count(), 3);
    for (id, args) in ids.iter().zip([
        vec!["resume", &ids[0], "--reason", "looked at it"],
        vec!["resume", &ids[1], "--hint", "mock x"],
        vec!["resume", &ids[2], "--hint", "read the spec"],
    ]) {
        let done = site.run_detached(&args, &[]);
        assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
        assert!(done.err.contains(id), "it says which one: {done:?}");
    }
    let expected = [
        ("constraint", "HL-CON-02", "reset", "git push --force origin two", "looked at it"),
        ("phase", "HL-PHASE-02", "resumed with guidance", "TypeError", "mock x"),
        ("attempt", "HL-ATTEMPT-01", "reset", "give up", "read the spec"),
    ];
    let list = listed(&site, &[]);
    for (id, (breaker, code, ended, evidence, reason)) in ids.iter().zip(expected) {
        let one = list.iter().find(|one| one["incident"] == json!(id)).expect("it is still listed");
        assert_eq!((&one["breaker"], &one["code"], &one["state"]), (&json!(breaker), &json!(code), &json!("CLOSED")));
        assert_eq!(one["ended"], json!(ended), "{one}");
        assert!(one["ended_by"].as_str().is_some_and(|who| who.starts_with("ana")), "{one}");
        let why = site.run(&["why", id]);
        for part in [evidence, reason, "by ana", code, breaker] {
            assert!(why.out.contains(part), "{part}: {}", why.out);
        }
        assert!(!why.out.contains("cooldown until") && !why.out.contains(", until"), "{}", why.out);
        let again = site.run_detached(&["resume", id], &[]);
        assert!(again.err.contains("has ended"), "{again:?}");
    }
    site.assert_verifies();
}

#[test]
fn an_incident_is_found_by_its_prefix_and_the_newest_without_one() {
    let site = site();
    let first = trip(&site, "one", "npm test");
    let second = trip(&site, "two", "cargo test");
    assert_ne!(first, second);
    let by_prefix = site.run(&["why", &second[..5], "--json"]).json();
    assert_eq!((&by_prefix["incident"], &by_prefix["about"]), (&json!(second), &json!("cargo test")));
    let unknown = site.run(&["why", "ffffffff"]);
    assert!(unknown.code == Some(1) && unknown.err.contains("haltline incidents --all"), "{unknown:?}");
    let ambiguous = site.run_detached(&["resume", ""], &[]);
    assert_eq!(ambiguous.code, Some(1), "{ambiguous:?}");
    let resumed = site.run_detached(&["resume", "--hint", "start the server first"], &[]);
    assert!(resumed.out.contains(&format!("Resumed incident {second} (`cargo test`)")), "{resumed:?}");
    let again = site.run_detached(&["resume", &second], &[]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let probe = Client { site: &site, session: "two" }.shell("c4", "cargo test", Ok("fine"));
    assert!(probe.to_agent.contains("They say: start the server first"), "{probe:?}");
    let why = site.run(&["why", &second]);
    for part in ["resumed by ana", "start the server first", "recovered"] {
        let text = why.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "{part}: {}", why.out);
    }
    let elsewhere = Site::new();
    let empty = elsewhere.run(&["incidents"]);
    assert_eq!((empty.code, empty.out.contains("No incidents")), (Some(0), true), "{empty:?}");
    let circuit = site.run(&["why", &first, "--json"]).json()["circuit"].as_str().expect("a name").to_owned();
    let journal = site.run(&["journal", "show", "--circuit", &circuit]);
    assert_eq!(journal.code, Some(0), "{journal:?}");
}

#[test]
fn a_false_positive_holds_for_every_pattern_and_is_listed_by_its_command() {
    let site = site();
    let id = trip(&site, "one", "npm test");
    let declared = site.run_detached(&["false-positive"], &[]);
    assert!(declared.out.contains("`npm test` never trips the loop breaker again in this project"), "{declared:?}");
    let other = Client { site: &site, session: "two" };
    other.prompt("go");
    for number in 0..14 {
        let result = other.shell(&format!("d{number}"), "npm test", Err("boom"));
        assert_eq!(result.to_agent, "", "call {number}: {result:?}");
    }
    let list = site.run(&["false-positive", "--list"]);
    for part in ["npm test", "tool_failure", "ana", id.as_str()] {
        assert!(list.out.contains(part), "{part}: {}", list.out);
    }
    let revoked = site.run_detached(&["false-positive", "--revoke", &id[..6]], &[]);
    assert!(revoked.out.contains("`npm test` may trip the loop breaker again"), "{revoked:?}");
    let denied = other.shell("e1", "npm test", Err("boom"));
    assert!(denied.to_agent.contains("HL-LOOP-01"), "{denied:?}");
}

#[test]
fn a_false_positive_of_an_incident_that_ended_still_exempts_its_call() {
    let site = site();
    let id = trip(&site, "one", "npm test");
    assert_eq!(site.run_detached(&["reset", &id], &[]).code, Some(0));
    let declared = site.run_detached(&["false-positive", &id], &[]);
    assert_eq!(declared.code, Some(0), "{declared:?}");
    assert!(site.run(&["false-positive", "--list"]).out.contains("npm test"));
}

#[test]
fn observe_mode_says_what_it_would_have_done() {
    let site = Site::new();
    site.config("mode = \"observe\"\n");
    let id = trip(&site, "one", "npm test");
    let client = Client { site: &site, session: "one" };
    for call in ["d1", "d2"] {
        client.shell(call, "npm test", Err("boom"));
    }
    let why = site.run(&["why", &id]);
    assert!(why.out.contains("nothing: observe mode would have denied"), "{}", why.out);
}

#[test]
fn a_purged_session_leaves_its_incident_without_texts() {
    let site = site();
    let id = trip(&site, "one", "npm test --token abc");
    assert_eq!(site.run_detached(&["purge", "one", "--yes"], &[]).code, Some(0));
    let line = listed(&site, &[]).pop().expect("it is listed");
    assert_eq!((&line["incident"], &line["about"], &line["why"]), (&json!(id), &Value::Null, &Value::Null));
    let store = std::fs::read(site.state().join("state.db")).expect("read");
    assert!(!String::from_utf8_lossy(&store).contains("npm test"), "no text is left in the file");
}

#[test]
fn a_code_and_a_pattern_have_a_page_with_the_limits_in_force() {
    let site = site();
    site.config("[loop.tool_failure]\nthreshold = 5\n");
    let page = site.run(&["explain", "hl-fail-01"]);
    for part in [
        "HL-FAIL-01 (loop breaker, pattern tool_failure)",
        "Meaning",
        "loop.tool_failure.threshold = 5 (",
        "config.toml",
    ] {
        assert!(page.out.contains(part), "{part}: {}", page.out);
    }
    assert_eq!(site.run(&["why", "HL-FAIL-01"]).out, page.out);
    let pattern = site.run(&["explain", "agent_spawn"]);
    assert!(
        pattern.out.contains("HL-SPAWN-04") && pattern.out.contains("agents.max_per_prompt = 20"),
        "{}",
        pattern.out
    );
    let unknown = site.run(&["explain", "nonsense"]);
    assert!(unknown.code == Some(1) && unknown.err.contains("tool_failure"), "{unknown:?}");
}

#[test]
fn one_cause_is_one_incident_however_often_it_opens_again() {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n[loop.tool_failure]\ncooldown_base_seconds = 1\n");
    let client = Client { site: &site, session: "one" };
    client.prompt("go");
    for call in ["c1", "c2", "c3"] {
        client.shell(call, "npm test", Err("boom"));
    }
    let first = newest(&site);
    for call in ["c4", "c5"] {
        let resumed = site.run_detached(&["resume", "--hint", "once more"], &[]);
        assert_eq!(resumed.code, Some(0), "{resumed:?}");
        client.shell(call, "npm test", Err("boom"));
    }
    let list = listed(&site, &[]);
    assert_eq!(list.len(), 1, "{list:?}");
    assert_eq!(list[0]["earlier"].as_array().map(Vec::len), Some(2), "{list:?}");
    assert_eq!(list[0]["earlier"][1], json!(first), "{list:?}");
    let status = site.run(&["status", "--json"]).json();
    assert_eq!(status["incidents_24h"], json!(1), "{status}");
    assert_eq!(status["needs"][0]["incident"], list[0]["incident"]);
    assert!(site.run(&["incidents"]).out.contains(", trip 3"), "{:?}", site.run(&["incidents"]));
    let why = site.run(&["why"]).out;
    assert!(why.contains("Earlier") && why.contains(&first), "{why}");
    let old = site.run(&["why", &first]);
    assert_eq!(old.code, Some(0), "the earlier ids stay: {old:?}");
}

#[test]
fn why_of_a_loop_that_run_repeats_has_evidence_its_own_limit_and_what_was_done_since() {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n[run]\nno_progress_threshold = 2\n");
    let run = site.run(&["run", "--loop", "--max-iterations", "5", "--", "sh", "-c", "echo 'Error: boom'; exit 1"]);
    assert_eq!(run.code, Some(77), "{run:?}");
    let why = site.run(&["why", "--json"]).json();
    assert_eq!((&why["code"], &why["breaker"]), (&json!("HL-PHASE-02"), &json!("phase")), "{why}");
    let limits = why["limits"].as_array().expect("a list");
    assert_eq!(limits.len(), 1, "{limits:?}");
    assert_eq!((&limits[0]["key"], &limits[0]["value"]), (&json!("run.no_progress_threshold"), &json!(2)));
    assert!(limits[0]["file"].as_str().is_some_and(|file| file.ends_with("config.toml")), "{limits:?}");
    let evidence = why["evidence"].as_array().expect("a list");
    assert_eq!(evidence.len(), 2, "{evidence:?}");
    assert!(evidence.iter().all(|one| one["text"].as_str().is_some_and(|text| text.contains("Error: boom"))));
    let again = site.run(&["run", "--loop", "--", "true"]);
    assert_eq!(again.code, Some(77), "{again:?}");
    let id = newest(&site);
    let text = site.run(&["why"]).out;
    assert!(text.contains("Denied    1 attempt\n") && text.contains("OPEN until a person decides"), "{text}");
    assert!(site.run(&["status"]).out.contains(&format!("haltline resume {id}")));
    let resumed = site.run_detached(&["resume", &id, "--hint", "mock it"], &[]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let text = site.run(&["why", &id]).out;
    assert!(text.contains("resumed with guidance by ana") && text.contains("mock it"), "{text}");
}
