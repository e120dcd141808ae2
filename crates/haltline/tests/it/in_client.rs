//! What a person and a parent agent read in the client: answers to `/haltline`, the stop, and stopped sub-agents.

use haltline_agents::self_test::AnswerEffect;
use serde_json::json;

use crate::support::hooks::{Client, facts};
use crate::support::{HALTLINE, Site};

/// Fails the same call until haltline ends the turn, and returns that answer.
fn stopped(client: &Client<'_>) -> crate::support::hooks::HookResult {
    client.prompt("make the tests pass");
    for number in 0..8 {
        let result = client.shell(&format!("c{number}"), "npm test", Err("Exit code 1\nnope"));
        if result.answer == AnswerEffect::Stop {
            return result;
        }
    }
    panic!("never stopped");
}

#[test]
fn a_stop_names_the_command_the_incident_and_what_to_do() {
    let site = Site::new();
    let stop = stopped(&Client { site: &site, session: "s" });
    let incident = site.run(&["why", "--json"]).json()["incident"].as_str().expect("an id").to_owned();
    assert!(stop.to_person.starts_with("haltline: `npm test` failed"), "{stop:?}");
    assert!(stop.to_person.contains(&format!("`haltline why {incident}` shows the calls")), "{stop:?}");
    assert!(stop.to_person.contains("the agent continues when you write to it"), "{stop:?}");
    assert_eq!(stop.to_person.lines().count(), 1, "told once: {stop:?}");
}

#[test]
fn prompts_to_haltline_are_answered_by_the_hook_and_count_for_nothing() {
    let site = Site::new();
    let client = Client { site: &site, session: "s" };
    stopped(&client);
    let before = facts(&site).len();
    for (prompt, part) in [
        ("/circuit-status", "npm test"),
        ("/haltline status", "npm test"),
        ("/haltline why", "npm test"),
        ("/haltline resume 12ab --hint mock the jwt", "haltline resume 12ab --hint 'mock the jwt'"),
        ("/haltline false-positive 12ab", "haltline cannot prove here that you typed this"),
        ("/haltline pause 30m", "Type in your own terminal:\n  haltline pause 30m"),
        ("/haltline", "/haltline why [INCIDENT]"),
        ("haltline status", "npm test"),
    ] {
        let result = client.prompt(prompt);
        assert!(result.to_agent.contains(part), "{prompt}: {result:?}");
        assert_eq!(result.answer, AnswerEffect::Deny, "the model is not asked: {prompt}: {result:?}");
    }
    assert_eq!(facts(&site).len(), before, "nothing was counted, and no circuit changed");
    assert_eq!(client.prompt("explain haltline status to me").to_agent, "");
    assert!(facts(&site).len() > before, "any other prompt counts");
}

#[test]
fn a_parent_agent_learns_that_its_sub_agent_was_stopped_and_why() {
    let site = Site::new();
    let client = Client { site: &site, session: "s" };
    client.prompt("fix it");
    let task = json!({"tool_name": "Agent", "tool_input": {"prompt": "test it"}, "tool_use_id": "a1"});
    client.deliver("PreToolUse", task.clone());
    client.deliver("SubagentStart", json!({"agent_id": "sub1", "agent_type": "general-purpose"}));
    let call = |number: usize, event: &str| {
        let mut fields = json!({"agent_id": "sub1", "agent_type": "general-purpose", "tool_name": "Bash",
            "tool_input": {"command": "npm test"}, "tool_use_id": format!("c{number}")});
        if event == "PostToolUseFailure" {
            fields["error"] = json!("Exit code 1\nnope");
        }
        client.deliver(event, fields)
    };
    let is_stopped = (0..8).any(|number| {
        let start = call(number, "PreToolUse");
        if start.answer < AnswerEffect::Deny {
            call(number, "PostToolUseFailure");
        }
        let batch = json!({"agent_id": "sub1", "agent_type": "general-purpose", "tool_calls": [{"tool_name": "Bash",
            "tool_input": {"command": "npm test"}, "tool_use_id": format!("c{number}"), "tool_response": "nope"}]});
        client.deliver("PostToolBatch", batch);
        start.answer == AnswerEffect::Stop
    });
    assert!(is_stopped);
    client.deliver("SubagentStop", json!({"agent_id": "sub1", "agent_type": "general-purpose"}));
    let mut end = task;
    end["tool_response"] = json!({"status": "completed", "content": []});
    let delivered = client.deliver("PostToolUse", end);
    assert!(
        delivered.to_agent.contains("haltline stopped your sub-agent sub1, so its work is not done"),
        "{delivered:?}"
    );
    assert!(delivered.to_agent.contains("`npm test` failed"), "{delivered:?}");
    let later = client.shell("c90", "ls", Ok("a"));
    assert_eq!(later.to_agent, "", "told once");
}

#[test]
fn two_stores_share_no_marks() {
    let site = Site::new();
    site.config("mode = 7\n");
    let complaint = |state: &str| {
        let mut command = site.command(&["hook", "claude", "--state"]);
        command.arg(site.home().join(state)).env("XDG_RUNTIME_DIR", site.home());
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{HALTLINE}: {error}"));
        let payload =
            json!({"session_id": "s", "cwd": site.project(), "hook_event_name": "UserPromptSubmit", "prompt": "go"});
        std::io::Write::write_all(&mut child.stdin.take().expect("piped"), payload.to_string().as_bytes())
            .expect("read");
        String::from_utf8_lossy(&child.wait_with_output().expect("ended").stdout).into_owned()
    };
    assert!(complaint("one").contains("mode"), "told once in this store");
    assert_eq!(complaint("one"), "");
    assert!(complaint("two").contains("mode"), "and once in the other");
    assert!(site.home().join("one/told").is_dir());
}

#[test]
fn a_notice_that_waited_does_not_call_an_incident_current_that_has_ended() {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n");
    site.constraint("rule", "violation_threshold: 1\ndedup_seconds: 0");
    let client = Client { site: &site, session: "s" };
    client.prompt("go");
    site.record("rule", "git push --force");
    let id = site.run(&["why", "--json"]).json()["incident"].as_str().expect("an id").to_owned();
    let reset = site.run_detached(&["resume", &id, "--reason", "looked at it"], &[]);
    assert_eq!(reset.code, Some(0), "{reset:?}");
    site.record("rule", "git push --force again");
    let newer = site.run(&["why", "--json"]).json()["incident"].as_str().expect("an id").to_owned();
    let reset = site.run_detached(&["resume", &newer, "--reason", "looked at it"], &[]);
    assert_eq!(reset.code, Some(0), "{reset:?}");
    let shown = client.prompt("go on").to_person;
    assert!(shown.contains(&format!("incident {newer}")) && shown.contains("is over: reset by ana"), "{shown}");
    assert!(!shown.contains("tripped") && !shown.contains("haltline why"), "{shown}");
}

#[test]
fn times_in_the_client_are_local() {
    let site = Site::new();
    let stop = stopped(&Client { site: &site, session: "s" });
    for text in [&stop.to_agent, &stop.to_person] {
        assert!(!text.contains("UTC") && !text.contains('Z'), "{text}");
    }
    let line = stop.to_agent.lines().find(|line| line.contains("Cooldown: ")).expect("a cooldown").to_owned();
    let (_, until) = line.split_once("(until ").expect("its end");
    assert_eq!(until.find(')'), Some(8), "a time of day: {line}");
}
