//! Seed 002's scenarios and what it calls success, by hooks of Claude Code through the real binary (L12).
//!
//! Scenario 1 is played twice: by Stop hooks, the form in which a live client shows a hook that starts itself, and by
//! plain events of another program. Scenarios 5 and 6 are in `memory.rs`.

mod support;

use std::io::Write;
use std::process::Stdio;

use haltline_agents::rehearsal::Answer;
use serde_json::json;
use support::Site;
use support::hooks::{Client, facts};

#[test]
fn scenario_1_a_hook_that_starts_itself_six_times_trips_the_circuit() {
    let site = Site::new();
    let client = Client { site: &site, session: "seed-1" };
    client.prompt("go on");
    for _ in 0..5 {
        assert_eq!(client.tell("Stop", json!({"stop_hook_active": true})).answer, Answer::Pass);
    }
    let said = client.tell("Stop", json!({"stop_hook_active": true}));
    assert_eq!(said.answer, Answer::Stop, "{said:?}");
    assert!(said.to_person.contains("HL-HOOK-02"), "{said:?}");
    site.assert_verifies();
}

#[test]
fn scenario_1_the_sixth_run_of_a_hook_that_a_program_reports_is_refused() {
    let site = Site::new();
    let codes = (0..6).map(|_| {
        let mut command = site.command(&["event"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
        let line = json!({"v": 1, "type": "hook", "session": "seed-1", "name": "pre-commit"}).to_string();
        child.stdin.take().expect("piped").write_all(line.as_bytes()).expect("read");
        let output = child.wait_with_output().expect("waited for");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).contains("HL-HOOK-01"))
    });
    let pass = (Some(0), false);
    assert_eq!(codes.collect::<Vec<_>>(), [pass, pass, pass, pass, pass, (Some(75), true)]);
}

#[test]
fn a_constraint_in_front_of_an_action_counts_it_and_refuses_it_once_open() {
    let site = Site::new();
    let folder = site.project().join("docs/constraints/active");
    std::fs::create_dir_all(&folder).expect("folder");
    let rule = "---\nid: no-force\ncircuit_breaker:\n  violation_threshold: 2\n  dedup_seconds: 0\nguards:\n  - tool: Bash\n    command: \"git push*--force*\"\n---\n";
    std::fs::write(folder.join("no-force.md"), rule).expect("written");
    let client = Client { site: &site, session: "guarded" };
    client.prompt("push it");
    for call in ["p1", "p2"] {
        assert_eq!(client.shell(call, &format!("git push --force # {call}"), Ok(call)).answer, Answer::Pass);
    }
    let refused = client.shell("p3", "git push origin --force", Ok("pushed"));
    assert_eq!(refused.answer, Answer::Deny, "{refused:?}");
    assert!(refused.to_agent.contains("`constraint/no-force` guards this action"), "{refused:?}");
    assert_eq!(client.shell("p4", "git push origin --force", Ok("pushed")).answer, Answer::Stop);
    assert_eq!(client.shell("p5", "git status", Ok("clean")).answer, Answer::Pass, "other work goes on");
    let status = site.run(&["constraint", "status", "no-force", "--json"]).json();
    assert_eq!(status["state"], json!("OPEN"), "{status}");
    site.assert_verifies();
}

#[test]
fn a_session_whose_folder_is_gone_is_watched_all_the_same() {
    let site = Site::new();
    let client = Client { site: &site, session: "gone" };
    let ask = |call: &str| {
        let input = json!({"command": "make"});
        let of_call = json!({"cwd": "/nowhere/at/all", "tool_name": "Bash", "tool_input": input, "tool_use_id": call});
        let said = client.tell("PreToolUse", of_call.clone());
        let mut failed = of_call;
        failed["error"] = json!("Exit code 2\nmake: *** No targets.");
        client.tell("PostToolUseFailure", failed);
        client.tell("PostToolBatch", json!({"cwd": "/nowhere/at/all", "tool_calls": []}));
        said.answer
    };
    assert_eq!(["1", "2", "3", "4"].map(ask), [Answer::Pass, Answer::Pass, Answer::Warn, Answer::Deny]);
}

#[test]
fn scenario_2_a_tool_that_fails_again_and_again_is_refused_for_longer_each_time() {
    let site = Site::new();
    site.config("[loop.tool_failure]\ncooldown_base_seconds = 1\n");
    let client = Client { site: &site, session: "seed-2" };
    client.prompt("fix the test");
    let fail = |call: &str| client.shell(call, "pytest", Err("Exit code 1\nE assert 1 == 2"));
    assert_eq!(fail("t1").answer, Answer::Pass);
    assert_eq!(fail("t2").answer, Answer::Pass);
    assert_eq!(fail("t3").answer, Answer::Warn, "the third time is worth a word");
    let refused = fail("t4");
    assert_eq!(refused.answer, Answer::Deny, "{refused:?}");
    let expected = "Circuit breaker tripped: `pytest` failed 3 times in 5 turns. Cooldown: 1s";
    assert!(refused.to_agent.contains(expected), "{}", refused.to_agent);
    // The cooldown ends by itself, and one probe goes.
    let attempts = (0..).map(|attempt| fail(&format!("wait {attempt}")).answer);
    let waited = attempts.take(10_000).position(|answer| answer == Answer::Pass);
    assert!(waited.is_some(), "the cooldown never ended");
    let again = fail("t5");
    assert_eq!(again.answer, Answer::Stop, "{again:?}");
    assert!(again.to_agent.contains("Cooldown: 2s"), "{}", again.to_agent);
    site.assert_verifies();
}

#[test]
fn scenario_3_of_six_agents_at_once_the_sixth_is_refused() {
    let site = Site::new();
    let client = Client { site: &site, session: "seed-3" };
    client.prompt("look into it");
    let children: Vec<_> = (0..6)
        .map(|agent| {
            let input = json!({"description": format!("part {agent}"), "prompt": "look", "subagent_type": "Explore"});
            let call = format!("agent {agent}");
            client.begin("PreToolUse", json!({"tool_name": "Task", "tool_input": input, "tool_use_id": call}))
        })
        .collect();
    let said: Vec<_> = children.into_iter().map(|child| Client::finish("PreToolUse", child)).collect();
    let refused: Vec<_> = said.iter().filter(|said| said.answer == Answer::Deny).collect();
    assert_eq!(refused.len(), 1, "{said:?}");
    assert!(refused[0].to_agent.contains("5 agents run at once, the limit"), "{refused:?}");
    assert!(refused[0].to_person.contains("Resource limit reached. Pausing to prevent exhaustion."), "{refused:?}");
    assert!(refused[0].to_person.contains("SUDO PARALLEL"), "{refused:?}");
    site.assert_verifies();
}

#[test]
fn scenario_3_with_sudo_parallel_all_six_start() {
    let site = Site::new();
    let client = Client { site: &site, session: "seed-3" };
    client.prompt("look into it\nSUDO PARALLEL\n");
    for agent in 0..6 {
        let input = json!({"description": format!("part {agent}"), "prompt": "look", "subagent_type": "Explore"});
        assert_eq!(client.ask(&format!("agent {agent}"), "Task", &input).answer, Answer::Pass);
    }
}

#[test]
fn scenario_4_the_eleventh_call_of_oracle_py_is_refused_with_its_cooldown() {
    let site = Site::new();
    let client = Client { site: &site, session: "seed-4" };
    client.prompt("ask the oracle");
    for call in 1..=10 {
        let said = client.shell(&format!("c{call}"), &format!("python oracle.py --ask {call}"), Ok(&call.to_string()));
        assert_eq!(said.answer, Answer::Pass, "call {call}: {said:?}");
    }
    let said = client.shell("c11", "python oracle.py --ask 11", Ok("11"));
    assert_eq!(said.answer, Answer::Deny, "{said:?}");
    assert!(said.to_agent.contains("Circuit breaker tripped: external services were called 10 times"), "{said:?}");
    assert!(said.to_agent.contains("Cooldown: "), "{said:?}");
    assert_eq!(client.shell("c12", "python train.py", Ok("fine")).answer, Answer::Pass, "other work goes on");
}

#[test]
fn success_means_that_legitimate_work_is_not_blocked() {
    let site = Site::new();
    let client = Client { site: &site, session: "seed-5" };
    client.prompt("make the parser faster");
    for step in 0..12 {
        let file = site.project().join(format!("src/part_{step}.rs"));
        let read = client.call(&format!("r{step}"), "Read", &json!({"file_path": file}), Ok(json!("fn part() {}")));
        let edit = json!({"file_path": file, "old_string": "fn part", "new_string": format!("fn part_{step}")});
        let edit = client.call(&format!("e{step}"), "Edit", &edit, Ok(json!({"filePath": file})));
        let test =
            client.shell(&format!("t{step}"), "cargo test", Err(&format!("Exit code 101\n{} tests failed", 12 - step)));
        let search = client.shell(&format!("s{step}"), "grep -rn 'fn part' src", Err("Exit code 1"));
        for said in [read, edit, test, search] {
            assert_eq!(said.answer, Answer::Pass, "step {step}: {said:?}");
        }
    }
    assert!(facts(&site).iter().all(|fact| fact["word"] != "tripped"));
}

#[test]
fn success_means_that_a_circuit_closes_by_itself_after_its_cooldown() {
    let site = Site::new();
    site.config("[loop.tool_failure]\ncooldown_base_seconds = 1\n");
    let client = Client { site: &site, session: "seed-6" };
    client.prompt("build it");
    for call in ["b1", "b2", "b3"] {
        client.shell(call, "make", Err("Exit code 2\nno compiler"));
    }
    assert_eq!(client.shell("b4", "make", Ok("built")).answer, Answer::Deny);
    let attempts = (0..).map(|attempt| client.shell(&format!("w{attempt}"), "make", Ok("built")).answer);
    assert!(attempts.take(10_000).any(|answer| answer == Answer::Pass), "the cooldown never ended");
    assert_eq!(client.shell("b5", "make", Ok("built")).answer, Answer::Pass, "closed");
    let words: Vec<String> = facts(&site).iter().filter_map(|fact| fact["word"].as_str().map(str::to_owned)).collect();
    for word in ["tripped", "half_opened", "probe_taken", "recovered"] {
        assert_eq!(words.iter().filter(|known| *known == word).count(), 1, "{word}");
    }
}

#[test]
fn success_means_that_the_person_reads_why_and_how_to_go_on() {
    let site = Site::new();
    let client = Client { site: &site, session: "seed-7" };
    client.prompt("build it");
    let told: Vec<String> = ["b1", "b2", "b3"]
        .map(|call| {
            client.ask(call, "Bash", &json!({"command": "make"}));
            let failed = json!({
                "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": call, "error": "Exit code 2\nno",
            });
            let said = client.tell("PostToolUseFailure", failed);
            client.tell("PostToolBatch", json!({"tool_calls": []}));
            said.to_person
        })
        .to_vec();
    assert!(!told[..2].join("").contains("HL-FAIL-01"), "{told:?}");
    for part in ["HL-FAIL-01", "`make` failed 3 times in 5 turns", "Cooldown: 10s", "haltline resume", "haltline why"] {
        assert!(told[2].contains(part), "{part}: {told:?}");
    }
}
