//! Seed 002's scenarios and its criteria of success, by hooks of Claude Code through the real binary (L12).
//!
//! Scenario 1 is played twice: by Stop hooks, which is how a live client shows a hook that starts itself, and by plain
//! events of another program. Scenarios 5 and 6 are in `memory.rs`.

use std::io::Write;
use std::process::Stdio;

use crate::support::Site;
use crate::support::hooks::{Client, facts};
use haltline_agents::self_test::AnswerEffect;
use serde_json::json;

#[test]
fn scenario_1_a_hook_that_starts_itself_six_times_trips_the_circuit() {
    let site = Site::new();
    site.config("[loop]\npreset = \"literal\"\n");
    let client = Client { site: &site, session: "seed-1" };
    client.prompt("go on");
    for _ in 0..5 {
        assert_eq!(client.deliver("Stop", json!({"stop_hook_active": true})).answer, AnswerEffect::Pass);
    }
    let result = client.deliver("Stop", json!({"stop_hook_active": true}));
    assert_eq!(result.answer, AnswerEffect::Stop, "{result:?}");
    assert!(result.to_person.contains("HL-HOOK-02"), "{result:?}");
    site.assert_verifies();
}

#[test]
fn scenario_1_the_sixth_run_of_a_hook_that_a_program_reports_is_denied() {
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
fn a_constraint_that_guards_an_action_counts_it_and_denies_it_once_open() {
    let site = Site::new();
    let folder = site.project().join("docs/constraints/active");
    std::fs::create_dir_all(&folder).expect("folder");
    let rule = "---\nid: no-force\ncircuit_breaker:\n  violation_threshold: 2\n  dedup_seconds: 0\nguards:\n  - tool: Bash\n    command: \"git push*--force*\"\n---\n";
    std::fs::write(folder.join("no-force.md"), rule).expect("written");
    let client = Client { site: &site, session: "guarded" };
    client.prompt("push it");
    for call in ["p1", "p2"] {
        // The agent reads that one more violation trips it, and then that this one did; both calls run.
        assert_eq!(client.shell(call, &format!("git push --force # {call}"), Ok(call)).answer, AnswerEffect::Warn);
    }
    let denied = client.shell("p3", "git push origin --force", Ok("pushed"));
    assert_eq!(denied.answer, AnswerEffect::Deny, "{denied:?}");
    assert!(denied.to_agent.contains("`constraint/no-force` guards this action"), "{denied:?}");
    assert_eq!(client.shell("p4", "git push origin --force", Ok("pushed")).answer, AnswerEffect::Stop);
    assert_eq!(client.shell("p5", "git status", Ok("clean")).answer, AnswerEffect::Pass, "other work goes on");
    let status = site.run(&["constraint", "status", "no-force", "--json"]).json();
    assert_eq!(status["state"], json!("OPEN"), "{status}");
    site.assert_verifies();
}

#[test]
fn a_session_whose_folder_is_gone_is_still_protected() {
    let site = Site::new();
    let client = Client { site: &site, session: "gone" };
    let ask = |call: &str| {
        let input = json!({"command": "make"});
        let of_call = json!({"cwd": "/nowhere/at/all", "tool_name": "Bash", "tool_input": input, "tool_use_id": call});
        let result = client.deliver("PreToolUse", of_call.clone());
        let mut failed = of_call;
        failed["error"] = json!("Exit code 2\nmake: *** No targets.");
        client.deliver("PostToolUseFailure", failed);
        client.deliver("PostToolBatch", json!({"cwd": "/nowhere/at/all", "tool_calls": []}));
        result.answer
    };
    assert_eq!(
        ["1", "2", "3", "4"].map(ask),
        [AnswerEffect::Pass, AnswerEffect::Pass, AnswerEffect::Warn, AnswerEffect::Deny]
    );
}

#[test]
fn scenario_2_a_tool_that_keeps_failing_is_denied_for_longer_each_time() {
    let site = Site::new();
    site.config("[loop.tool_failure]\ncooldown_base_seconds = 1\n");
    let client = Client { site: &site, session: "seed-2" };
    client.prompt("fix the test");
    let fail = |call: &str| client.shell(call, "pytest", Err("Exit code 1\nE assert 1 == 2"));
    assert_eq!(fail("t1").answer, AnswerEffect::Pass);
    assert_eq!(fail("t2").answer, AnswerEffect::Pass);
    assert_eq!(fail("t3").answer, AnswerEffect::Warn, "the third time is worth a word");
    let denied = fail("t4");
    assert_eq!(denied.answer, AnswerEffect::Deny, "{denied:?}");
    let expected = "Circuit breaker tripped: `pytest` failed 3 times in 5 turns. Cooldown: 1s";
    assert!(denied.to_agent.contains(expected), "{}", denied.to_agent);
    // The cooldown ends by itself, and one probe is let through.
    let attempts = (0..).map(|attempt| fail(&format!("wait {attempt}")).answer);
    let waited = attempts.take(10_000).position(|answer| answer == AnswerEffect::Pass);
    assert!(waited.is_some(), "the cooldown never ended");
    let again = fail("t5");
    assert_eq!(again.answer, AnswerEffect::Stop, "{again:?}");
    assert!(again.to_agent.contains("Cooldown: 2s"), "{}", again.to_agent);
    site.assert_verifies();
}

#[test]
fn scenario_3_of_six_agents_at_once_the_sixth_is_denied() {
    let site = Site::new();
    site.config("[agents]\nmax_concurrent = 5\n");
    let client = Client { site: &site, session: "seed-3" };
    client.prompt("look into it");
    let children: Vec<_> = (0..6)
        .map(|agent| {
            let prompt = ["the parser", "the store", "the hook", "the journal", "the clock", "the screen"][agent];
            let input = json!({"description": "look", "prompt": prompt, "subagent_type": "Explore"});
            let call = format!("agent {agent}");
            client.begin("PreToolUse", json!({"tool_name": "Task", "tool_input": input, "tool_use_id": call}))
        })
        .collect();
    let results: Vec<_> = children.into_iter().map(|child| Client::finish("PreToolUse", child)).collect();
    let denied: Vec<_> = results.iter().filter(|result| result.answer == AnswerEffect::Deny).collect();
    assert_eq!(denied.len(), 1, "{results:?}");
    assert!(denied[0].to_agent.contains("5 sub-agents are running, which is the limit"), "{denied:?}");
    assert!(denied[0].to_person.contains("Resource limit reached. Pausing to prevent exhaustion."), "{denied:?}");
    assert!(denied[0].to_person.contains("SUDO PARALLEL"), "{denied:?}");
    site.assert_verifies();
}

#[test]
fn scenario_3_with_sudo_parallel_all_six_start() {
    let site = Site::new();
    let client = Client { site: &site, session: "seed-3" };
    client.prompt("look into it\nSUDO PARALLEL\n");
    for agent in 0..6 {
        let input = json!({"description": format!("part {agent}"), "prompt": "look", "subagent_type": "Explore"});
        assert_eq!(client.ask(&format!("agent {agent}"), "Task", &input).answer, AnswerEffect::Pass);
    }
}

#[test]
fn scenario_4_the_eleventh_call_of_oracle_py_is_denied_with_its_cooldown() {
    let site = Site::new();
    let client = Client { site: &site, session: "seed-4" };
    client.prompt("ask the oracle");
    for call in 1..=10 {
        let result =
            client.shell(&format!("c{call}"), &format!("python oracle.py --ask {call}"), Ok(&call.to_string()));
        assert_eq!(result.answer, AnswerEffect::Pass, "call {call}: {result:?}");
    }
    let result = client.shell("c11", "python oracle.py --ask 11", Ok("11"));
    assert_eq!(result.answer, AnswerEffect::Deny, "{result:?}");
    assert!(
        result.to_agent.contains("Circuit breaker tripped: the agent called external services 10 times"),
        "{result:?}"
    );
    assert!(result.to_agent.contains("Cooldown: "), "{result:?}");
    assert_eq!(client.shell("c12", "python train.py", Ok("fine")).answer, AnswerEffect::Pass, "other work goes on");
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
        for result in [read, edit, test, search] {
            assert_eq!(result.answer, AnswerEffect::Pass, "step {step}: {result:?}");
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
    assert_eq!(client.shell("b4", "make", Ok("built")).answer, AnswerEffect::Deny);
    let attempts = (0..).map(|attempt| client.shell(&format!("w{attempt}"), "make", Ok("built")).answer);
    assert!(attempts.take(10_000).any(|answer| answer == AnswerEffect::Pass), "the cooldown never ended");
    assert_eq!(client.shell("b5", "make", Ok("built")).answer, AnswerEffect::Pass, "closed");
    let names: Vec<String> = facts(&site).iter().filter_map(|fact| fact["word"].as_str().map(str::to_owned)).collect();
    for word in ["tripped", "half_opened", "probe_taken", "recovered"] {
        assert_eq!(names.iter().filter(|known| *known == word).count(), 1, "{word}");
    }
}

#[test]
fn success_means_that_the_person_reads_why_and_how_to_go_on() {
    let site = Site::new();
    let client = Client { site: &site, session: "seed-7" };
    client.prompt("build it");
    let messages: Vec<String> = ["b1", "b2", "b3"]
        .map(|call| {
            client.ask(call, "Bash", &json!({"command": "make"}));
            let failed = json!({
                "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": call, "error": "Exit code 2\nno",
            });
            let result = client.deliver("PostToolUseFailure", failed);
            client.deliver("PostToolBatch", json!({"tool_calls": []}));
            result.to_person
        })
        .to_vec();
    assert!(!messages[..2].join("").contains("HL-FAIL-01"), "{messages:?}");
    for part in ["HL-FAIL-01", "`make` failed 3 times in 5 turns", "Cooldown: 10s", "haltline resume", "haltline why"] {
        assert!(messages[2].contains(part), "{part}: {messages:?}");
    }
}
