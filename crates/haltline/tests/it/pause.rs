//! `haltline pause` and `unpause`: a person switches haltline off for a while, an agent never does (E6).

use haltline_agents::self_test::AnswerEffect;
use serde_json::json;

use crate::support::Site;
use crate::support::hooks::{Client, HookResult, facts};

/// A site with a session whose `npm test` is denied.
fn tripped(site: &Site) -> Client<'_> {
    site.config(
        "[operator]\nunattended = true\n[loop.tool_failure]\ncooldown_base_seconds = 3600\n[loop]\ninterrupt = false\n",
    );
    let client = Client { site, session: "s1" };
    client.prompt("make the tests pass");
    for call in ["a", "b", "c"] {
        client.shell(call, "npm test", Err("Exit code 1\n1 failing"));
    }
    assert!(ask(&client, "d").answer >= AnswerEffect::Deny);
    client
}

fn ask(client: &Client<'_>, call: &str) -> HookResult {
    client.ask(call, "Bash", &json!({"command": "npm test"}))
}

fn person(site: &Site, arguments: &[&str]) -> String {
    let answer = site.run_detached(arguments, &[]);
    assert_eq!(answer.code, Some(0), "{arguments:?} {answer:?}");
    answer.out
}

#[test]
fn while_paused_every_call_passes_nothing_is_counted_and_circuits_stay_open() {
    let site = Site::new();
    let client = tripped(&site);
    let before = facts(&site).len();
    let text = person(&site, &["pause", "30m", "--reason", "demo"]);
    assert!(text.starts_with("haltline is paused everywhere until ") && text.contains("haltline unpause"), "{text}");
    let first = ask(&client, "e");
    assert_eq!(first.answer, AnswerEffect::Pass, "{first:?}");
    assert!(first.to_person.contains("paused until"), "{first:?}");
    for call in ["f", "g", "h"] {
        let result = client.shell(call, "npm test", Err("Exit code 1\n1 failing"));
        assert_eq!((result.answer, result.to_person.as_str()), (AnswerEffect::Pass, ""), "{result:?}");
    }
    assert_eq!(facts(&site).len(), before, "a pause counts nothing");
    let status = site.run(&["status"]).out;
    assert!(status.contains("haltline is paused everywhere until ") && status.contains("OPEN"), "{status}");
    assert!(site.run(&["statusline"]).out.starts_with("haltline paused until "));
    assert_eq!(site.run(&["status", "--json"]).json()["paused"][0]["scope"], "everywhere");
    assert_eq!(person(&site, &["unpause"]), "haltline watches again.\n");
    assert_eq!(person(&site, &["unpause"]), "Nothing is paused.\n");
    assert!(ask(&client, "i").answer >= AnswerEffect::Deny, "the circuit is still OPEN");
    assert!(!site.run(&["statusline"]).out.contains("paused"));
    let journal = site.run(&["journal", "show", "--everywhere", "--json"]).json();
    let words: Vec<_> = journal["facts"].as_array().expect("a list").iter().map(|fact| &fact["word"]).collect();
    assert_eq!(words, ["unpaused", "paused", "trusted"]);
    assert_eq!(journal["facts"][1]["text"], "demo");
}

#[test]
fn a_pause_of_a_project_or_of_a_session_concerns_nothing_else() {
    let site = Site::new();
    let client = tripped(&site);
    person(&site, &["pause", "2h", "--project"]);
    assert_eq!(ask(&client, "e").answer, AnswerEffect::Pass);
    let other = site.home().join("other");
    std::fs::create_dir_all(other.join(".git")).expect("created");
    let elsewhere = site.run(&["-C", other.to_str().expect("text"), "status", "--json"]).json();
    assert_eq!(elsewhere["paused"], json!([]), "{elsewhere}");
    person(&site, &["unpause"]);
    let text = person(&site, &["pause", "session"]);
    assert!(text.contains("until session s1 ends"), "{text}");
    assert_eq!(ask(&client, "f").answer, AnswerEffect::Pass);
    let second = Client { site: &site, session: "s2" };
    for call in ["a", "b", "c"] {
        second.shell(call, "npm test", Err("Exit code 1\n1 failing"));
    }
    assert!(ask(&second, "d").answer >= AnswerEffect::Deny, "another session is watched");
    client.deliver("SessionEnd", json!({"reason": "exit"}));
    assert!(ask(&client, "g").answer >= AnswerEffect::Deny, "the pause ended with the session");
    assert_eq!(site.run(&["status", "--json"]).json()["paused"], json!([]));
    site.assert_verifies();
}

#[test]
fn a_session_that_nobody_knows_cannot_be_paused_and_no_pause_is_longer_than_a_day() {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n");
    let unknown = site.run_detached(&["pause", "session"], &[]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    for length in ["0m", "25h", "forever", "-5m"] {
        assert_eq!(site.run_detached(&["pause", length], &[]).code, Some(2), "{length}");
    }
    person(&site, &["pause", "today"]);
    assert!(site.run(&["status"]).out.contains("haltline is paused everywhere until "));
}

#[test]
fn an_agent_can_neither_pause_nor_extend_a_pause() {
    let site = Site::new();
    let client = tripped(&site);
    let attempts = [
        "haltline pause 24h",
        "env -u CLAUDECODE setsid haltline pause today --project",
        "haltline config set mode observe",
        "HALTLINE=off claude -p 'go on'",
        "env -i HALTLINE=off setsid nohup claude -p x",
    ];
    for command in attempts {
        let denied = client.ask(command, "Bash", &json!({"command": command}));
        assert!(denied.answer >= AnswerEffect::Deny, "{command}: {denied:?}");
        assert!(denied.to_agent.contains("HL-OWN-01"), "{command}: {denied:?}");
    }
    assert_eq!(site.run_detached(&["pause"], &[("CLAUDECODE", "1")]).code, Some(77));
    assert_eq!(site.run(&["status", "--json"]).json()["paused"], json!([]));
    person(&site, &["pause", "30m"]);
    for command in attempts {
        let denied = client.ask(command, "Bash", &json!({"command": command}));
        assert!(denied.answer >= AnswerEffect::Deny, "during a pause: {command}: {denied:?}");
    }
    assert_eq!(site.run_detached(&["unpause"], &[("CLAUDECODE", "1")]).code, Some(77));
}

#[test]
fn a_pause_without_its_marker_or_with_a_forged_one_has_ended() {
    let site = Site::new();
    let client = tripped(&site);
    let folder = site.state().join("paused");
    person(&site, &["pause", "30m"]);
    person(&site, &["pause", "30m", "--project"]);
    let markers = crate::support::names(&folder);
    assert_eq!(markers.len(), 2, "{markers:?}");
    person(&site, &["unpause"]);
    assert_eq!(crate::support::names(&folder), Vec::<String>::new());
    for marker in markers {
        std::fs::write(folder.join(marker), "9999999999999").expect("written");
    }
    assert!(ask(&client, "e").answer >= AnswerEffect::Deny, "a marker alone pauses nothing");
    person(&site, &["pause", "30m"]);
    assert_eq!(ask(&client, "f").answer, AnswerEffect::Pass);
    std::fs::remove_dir_all(&folder).expect("removed");
    assert!(ask(&client, "g").answer >= AnswerEffect::Deny);
}

#[test]
fn the_self_test_runs_during_a_pause() {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n");
    std::fs::create_dir_all(site.home().join(".claude")).expect("created");
    person(&site, &["init", "--yes"]);
    person(&site, &["pause", "30m"]);
    let doctor = site.run(&["doctor"]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
}

#[test]
fn doctor_names_a_pause_and_observe_mode_and_takes_neither_for_a_fault() {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n");
    assert_eq!(site.run(&["init", "--yes"]).code, Some(0));
    assert_eq!(site.run_detached(&["pause", "30m"], &[]).code, Some(0));
    let paused = site.run(&["doctor"]);
    assert_eq!(paused.code, Some(0), "{paused:?}");
    assert!(paused.out.contains("warning: haltline is paused everywhere until "), "{paused:?}");
    assert_eq!(site.run_detached(&["unpause"], &[]).code, Some(0));
    site.config("mode = \"observe\"\n[operator]\nunattended = true\n");
    let observing = site.run(&["doctor"]);
    assert_eq!(observing.code, Some(0), "{observing:?}");
    for part in ["warning: observe mode", "noticed the loop and let it run (observe mode)", "Everything works."] {
        let text = observing.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "{part}: {}", observing.out);
    }
    assert_eq!(site.run(&["statusline"]).out, "haltline observing\n");
    assert!(site.run(&["status"]).out.starts_with("Observe mode: haltline records"), "{:?}", site.run(&["status"]));
}
