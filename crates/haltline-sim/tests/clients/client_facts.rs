//! What Claude Code itself does with a hook's output, shown with a stand-in instead of haltline. haltline's adapter
//! relies on these facts; a newer client that breaks one fails here first.

use haltline_agents::Client;
use haltline_sim::clients::drivers;
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::script::{Script, ScriptStep, marker, shell, spawn};
use haltline_sim::clients::settings;
use haltline_sim::clients::stand_in::{CannedAnswer, HookNote};
use serde_json::{Value, json};

fn sandbox(answers: &[CannedAnswer]) -> Sandbox {
    Sandbox::with_stand_in(Client::Claude, env!("CARGO_BIN_EXE_client-run"), answers)
}

fn on(event: &str, answer: Value) -> CannedAnswer {
    CannedAnswer { event: event.to_owned(), answer: Some(answer), ..CannedAnswer::default() }
}

fn context(event: &str, text: &str) -> CannedAnswer {
    on(event, json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }))
}

fn denial() -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": "REFUSED" } })
}

fn stop() -> Value {
    let mut stop = denial();
    stop["continue"] = json!(false);
    stop["stopReason"] = json!("STOPPED");
    stop
}

fn block(reason: &str) -> Value {
    json!({ "decision": "block", "reason": reason })
}

/// One call that fails, then two in one message that succeed.
fn plain() -> Script {
    let both = vec![shell("echo two"), shell("echo three")];
    Script::new("plain", vec![ScriptStep::Call(shell("echo one; false")), ScriptStep::Calls(both)])
}

fn calls(name: &str, commands: &[&str]) -> Script {
    Script::new(name, commands.iter().map(|command| ScriptStep::Call(shell(command))).collect())
}

/// A parent that starts a sub-agent in the background and continues, and the sub-agent.
fn parent_and_sub_agent() -> [Script; 2] {
    let mut parent = calls("parent", &["echo parent two", "echo parent three"]);
    parent.steps.insert(0, ScriptStep::Call(spawn("child")));
    [parent, calls("child", &["echo child one", "sleep 1; echo child two", "echo child three"])]
}

fn of_event(noted: &[HookNote], event: &str) -> Vec<HookNote> {
    noted.iter().filter(|note| note.event() == event).cloned().collect()
}

fn ran(noted: &[HookNote], command: &str) -> bool {
    of_event(noted, "PostToolUse").iter().any(|note| note.payload.to_string().contains(command))
}

#[test]
fn context_reaches_the_model_after_the_results_as_a_reminder_of_its_own() {
    let sandbox = sandbox(&[
        context("PreToolUse", "BEFORE"),
        context("PostToolUseFailure", "FAILED"),
        context("PostToolBatch", "BATCH"),
    ]);
    let outcome = sandbox.play(&[plain()]);
    let texts = outcome.requests("plain")[1].new_texts();
    let position_of = |phrase: &str| texts.iter().position(|text| text.contains(phrase)).unwrap_or(usize::MAX);
    assert_eq!(position_of("Exit code 1\none"), 0);
    assert!(texts[1].contains("PreToolUse:Bash hook additional context: BEFORE"), "{texts:?}");
    assert!(texts[2].contains("PostToolUseFailure:Bash hook additional context: FAILED"), "{texts:?}");
    assert!(texts[3].contains("PostToolBatch hook additional context: BATCH"), "{texts:?}");
    // Two calls in one message: one reminder for each, one for the batch.
    let texts = outcome.requests("plain")[2].new_texts();
    let count = |phrase: &str| texts.iter().filter(|text| text.contains(phrase)).count();
    assert_eq!((count("BEFORE"), count("BATCH")), (2, 1));
}

#[test]
fn a_message_for_the_person_is_printed_for_some_events_only() {
    let message = |event: &str| on(event, json!({ "systemMessage": format!("AT {event}") }));
    let events = || Client::Claude.protocol().layout.events();
    let sandbox = sandbox(&events().map(message).collect::<Vec<_>>());
    let mut script = plain();
    script.steps.push(ScriptStep::Call(spawn("child")));
    let outcome = sandbox.play(&[script, calls("child", &["echo child"])]);
    let notices = outcome.session().notices();
    let shown = |event: &str| notices.iter().any(|notice| notice.ends_with(&format!("AT {event}")));
    let shown: Vec<&str> = events().filter(|event| shown(event)).collect();
    assert_eq!(shown, ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop"]);
    let before: Vec<&&str> = notices.iter().filter(|notice| notice.ends_with("AT PreToolUse")).collect();
    assert_eq!(before.len(), 4, "the sub-agent's own call is not among them: {before:?}");
    assert_eq!(outcome.session().lines_containing("AT SessionStart").len(), 1, "only as the output of the hook");
    assert!(
        outcome.exchanges.iter().all(|exchange| exchange.texts_containing("AT ").is_empty()),
        "the model does not get it"
    );
}

#[test]
fn a_denial_with_a_stop_ends_the_run_and_its_reason_is_in_the_transcript_only() {
    let sandbox = sandbox(&[CannedAnswer { containing: "echo two".to_owned(), ..on("PreToolUse", stop()) }]);
    let outcome = sandbox.play(&[calls("three", &["echo one", "echo two", "echo three"])]);
    let session = outcome.session();
    assert_eq!((outcome.exchanges.len(), session.terminal_reason(), session.exit), (2, "hook_stopped", Some(0)));
    assert!(session.lines_containing("STOPPED").is_empty());
    assert!(sandbox.transcript(session.id()).contains("STOPPED"));
    assert!(!ran(&sandbox.hook_notes(), "echo two"));
    let noted = sandbox.hook_notes();
    assert_eq!((of_event(&noted, "Stop").len(), of_event(&noted, "SessionEnd").len()), (0, 1));
}

/// A foreign Stop hook that never lets the agent end, and the stand-in, which stops at the third time.
fn stop_against_block(foreign_is_first: bool) -> (Sandbox, Outcome) {
    let sandbox =
        sandbox(&[CannedAnswer { from: 3, ..on("Stop", json!({ "continue": false, "stopReason": "STOPPED" })) }]);
    let settings = sandbox.stand_in_settings();
    let settings = settings::with_foreign(&settings, "Stop", &format!("echo '{}'", block("GO ON")), foreign_is_first);
    sandbox.settings(&settings);
    let script = calls("nothing", &[]);
    let session = Session::from_script(&script).with_variable("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0");
    let outcome = sandbox.run(&[script], &[Stage::Clients(vec![session])]);
    (sandbox, outcome)
}

#[test]
fn a_second_stop_hook_can_end_what_the_first_blocks_in_either_order() {
    for foreign_is_first in [true, false] {
        let (sandbox, outcome) = stop_against_block(foreign_is_first);
        let session = outcome.session();
        assert_eq!((outcome.exchanges.len(), session.terminal_reason()), (3, "stop_hook_prevented"));
        let active: Vec<Value> = of_event(&sandbox.hook_notes(), "Stop")
            .iter()
            .map(|note| note.payload["stop_hook_active"].clone())
            .collect();
        assert_eq!(active, [false, true, true]);
    }
}

#[test]
fn the_client_itself_ends_a_stop_loop_after_eight_blocks() {
    let sandbox = sandbox(&[on("Stop", block("GO ON"))]);
    let outcome = sandbox.play(&[calls("nothing", &[])]);
    assert_eq!((outcome.exchanges.len(), outcome.session().terminal_reason()), (9, "completed"));
}

#[test]
fn stopping_a_sub_agent_leaves_its_parent_running_and_no_event_says_so() {
    let before = CannedAnswer { containing: "child two".to_owned(), ..on("PreToolUse", stop()) };
    let after = CannedAnswer {
        containing: "child two".to_owned(),
        ..on("PostToolBatch", json!({ "continue": false, "stopReason": "STOPPED" }))
    };
    for answer in [before, after] {
        let sandbox = sandbox(&[answer]);
        let outcome = sandbox.play(&parent_and_sub_agent());
        assert_eq!(outcome.requests("child").len(), 2);
        assert!(ran(&sandbox.hook_notes(), "parent three"));
        assert_eq!(outcome.session().terminal_reason(), "completed");
        assert_eq!(of_event(&sandbox.hook_notes(), "SubagentStop").len(), 0);
        // The client tells the parent that the sub-agent finished, not why.
        let reports = outcome.last_request("parent").texts_containing("<status>completed</status>");
        assert_eq!(reports.len(), 1);
        assert!(outcome.last_request("parent").texts_containing("STOPPED").is_empty());
    }
}

#[test]
fn a_stopped_parent_is_woken_by_its_sub_agent_unless_that_prompt_is_stopped_too() {
    let stopped = CannedAnswer { containing: "parent two".to_owned(), ..on("PreToolUse", stop()) };
    let awake = sandbox(std::slice::from_ref(&stopped));
    let outcome = awake.play(&parent_and_sub_agent());
    assert!(ran(&awake.hook_notes(), "parent three"));
    assert_eq!(outcome.session().terminal_reasons(), ["hook_stopped", "completed"]);
    assert!(!outcome.last_request("parent").texts_containing("STOPPED").is_empty(), "now the model learns the reason");

    let prompt = CannedAnswer {
        containing: "<task-notification>".to_owned(),
        ..on("UserPromptSubmit", json!({ "continue": false, "stopReason": "STILL STOPPED" }))
    };
    let asleep = sandbox(&[stopped, prompt]);
    let outcome = asleep.play(&parent_and_sub_agent());
    assert!(!ran(&asleep.hook_notes(), "parent three"));
    assert_eq!(outcome.requests("parent").len(), 2);
    assert_eq!(outcome.session().notices(), ["Operation stopped by hook: STILL STOPPED"]);
}

#[test]
fn sub_agents_may_spawn_and_their_events_carry_their_own_id() {
    let deep = |name: &str, below: &str| {
        Script::new(name, vec![ScriptStep::Call(shell("echo here")), ScriptStep::Call(spawn(below))])
    };
    let scripts =
        [deep("root", "one"), deep("one", "two"), deep("two", "three"), deep("three", "four"), calls("four", &[])];
    let sandbox = sandbox(&[]);
    let outcome = sandbox.play(&scripts);
    let offered = |name: &str| outcome.last_request(name).tools.iter().any(|tool| tool == "Agent");
    assert_eq!(["root", "one", "two", "three"].map(offered), [true, true, true, false]);
    assert!(outcome.requests("four").is_empty());
    // SubagentStart does not name the parent; only the id of the spawning call does.
    let noted = sandbox.hook_notes();
    let started: Vec<Value> =
        of_event(&noted, "SubagentStart").iter().map(|note| note.payload["agent_id"].clone()).collect();
    let spawning: Vec<Value> = of_event(&noted, "PreToolUse")
        .iter()
        .filter(|note| note.payload["tool_name"] == "Agent")
        .map(|note| note.payload["agent_id"].clone())
        .collect();
    assert_eq!(spawning, [Value::Null, started[0].clone(), started[1].clone()]);
    let sessions: std::collections::BTreeSet<String> =
        noted.iter().map(|note| note.payload["session_id"].to_string()).collect();
    assert_eq!(sessions.len(), 1, "all share the session");
}

#[test]
fn the_depth_of_sub_agents_can_be_raised_in_the_client() {
    let script = Script::new("deep", vec![ScriptStep::Call(spawn("deep"))]);
    let sandbox = sandbox(&[]);
    let session = Session::from_script(&script).with_variable("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", "5");
    sandbox.run(&[script], &[Stage::Clients(vec![session])]);
    assert_eq!(of_event(&sandbox.hook_notes(), "SubagentStart").len(), 5);
}

#[test]
fn one_denied_spawn_of_six_leaves_the_other_five() {
    let sixth = CannedAnswer { containing: "\"Agent\"".to_owned(), from: 6, ..on("PreToolUse", denial()) };
    let sandbox = sandbox(&[sixth]);
    let parent = Script::new("parent", vec![ScriptStep::Calls(vec![spawn("child"); 6])]);
    let outcome = sandbox.play(&[parent, calls("child", &["echo child"])]);
    let texts = outcome.requests("parent")[1].new_texts();
    let count = |phrase: &str| texts.iter().filter(|text| text.contains(phrase)).count();
    assert_eq!((count("REFUSED"), count("Async agent launched")), (1, 5));
    assert_eq!(of_event(&sandbox.hook_notes(), "SubagentStop").len(), 5);
}

/// Removes the client's hooks by a script, which its own permission rules cannot detect.
fn unhook(command: &str, answers: &[CannedAnswer]) -> (Sandbox, Outcome) {
    let sandbox = sandbox(answers);
    sandbox.write("project/.claude/settings.json", "{\"env\":{\"SOME\":\"1\"}}");
    sandbox.write("project/unhook", &format!("#!/bin/sh\n{command}\n"));
    let outcome = sandbox.play(&[calls("unhook", &[command, "./unhook", "sleep 2; echo waited", "echo later"])]);
    assert!(outcome.requests("unhook")[1].new_texts()[0].contains("requested permissions"), "typed, it is refused");
    assert!(outcome.requests("unhook")[4].new_texts()[0].contains("later"));
    (sandbox, outcome)
}

#[test]
fn a_changed_settings_file_unhooks_the_client_within_a_second_or_two() {
    for (command, source) in [
        ("echo '{\"disableAllHooks\":true}' > .claude/settings.json", "project_settings"),
        ("echo '{\"disableAllHooks\":true}' > .claude/settings.local.json", "local_settings"),
        ("echo '{}' > ~/.claude/settings.json", "user_settings"),
    ] {
        let (sandbox, _) = unhook(command, &[]);
        let noted = sandbox.hook_notes();
        let changes = of_event(&noted, "ConfigChange");
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].payload["source"], source);
        assert_eq!(noted.last().map(HookNote::event), Some("ConfigChange"), "and nothing more was ever asked");
    }
}

#[test]
fn a_blocked_settings_change_keeps_the_hooks_for_this_session() {
    for command in [
        "echo '{\"disableAllHooks\":true}' > .claude/settings.json",
        "echo '{\"disableAllHooks\":true}' > .claude/settings.local.json",
        "echo '{}' > ~/.claude/settings.json",
    ] {
        let (sandbox, outcome) = unhook(command, &[on("ConfigChange", block("KEPT"))]);
        assert!(ran(&sandbox.hook_notes(), "echo later"));
        assert_eq!(sandbox.hook_notes().last().map(|note| note.event().to_owned()).as_deref(), Some("SessionEnd"));
        assert!(outcome.exchanges.iter().all(|exchange| exchange.texts_containing("KEPT").is_empty()));
        assert!(outcome.session().lines_containing("KEPT").is_empty(), "the client does not show the reason");
    }
}

#[test]
fn a_nested_client_inherits_its_parents_session_and_its_hooks_find_it_in_the_clients_environment() {
    let nested = format!(
        "{} --print 'nested {}' --model claude-sonnet-4-5 --allowedTools Bash < /dev/null",
        drivers::installed(Client::Claude).path().display(),
        marker("inner")
    );
    let sandbox = sandbox(&[]);
    let outcome = sandbox.play(&[calls("outer", &[&nested]), calls("inner", &["echo inner"])]);
    let outer = outcome.session().id().to_owned();
    let noted = sandbox.hook_notes();
    let inner =
        noted.iter().find(|note| note.payload["session_id"] != outer.as_str()).expect("the nested one is hooked");
    assert_eq!(
        inner.environment["CLAUDE_CODE_SESSION_ID"], inner.payload["session_id"],
        "the hook sees its own session"
    );
    assert_eq!(inner.client_environment["CLAUDE_CODE_SESSION_ID"], outer, "the client was started with its parent's");
    assert_eq!(inner.client_environment["CLAUDECODE"], "1");
    let first = noted.first().expect("the outer one is hooked");
    assert_eq!(first.environment["CLAUDECODE"], "1", "every hook sees this, nested or not");
    assert!(!first.client_environment.contains_key("CLAUDECODE"));
}

#[test]
fn hooks_of_calls_end_before_the_hook_of_their_batch_starts() {
    let slow = |event: &str| CannedAnswer {
        event: event.to_owned(),
        run: Some("sleep 0.5".to_owned()),
        ..CannedAnswer::default()
    };
    let sandbox = sandbox(&[slow("PostToolUse"), slow("PostToolUseFailure")]);
    sandbox.play(&[plain()]);
    let noted = sandbox.hook_notes();
    let batches = of_event(&noted, "PostToolBatch");
    assert_eq!(batches.len(), 2);
    for batch in &batches {
        for call in batch.payload["tool_calls"].as_array().expect("calls") {
            let id = &call["tool_use_id"];
            let end = noted.iter().find(|note| note.event() != "PreToolUse" && note.payload["tool_use_id"] == *id);
            assert!(end.expect("each call has its end").ended < batch.started);
        }
    }
}

#[test]
fn the_usage_of_a_response_may_come_into_the_transcript_after_the_batch() {
    let sandbox = sandbox(&[]);
    let commands: Vec<String> = (0..40).map(|number| format!("echo {number}")).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let outcome = sandbox.play(&[calls("many", &commands)]);
    let noted = sandbox.hook_notes();
    for event in ["PreToolUse", "PostToolUse", "PostToolBatch"] {
        let notes = of_event(&noted, event);
        let there = notes.iter().filter(|note| note.calls_with_usage > 0).count();
        println!("{event}: {there} of {} found their response's usage", notes.len());
    }
    // The transcript is complete at the end, but no event says when: a later event reads what is missing now.
    let transcript = sandbox.transcript(outcome.session().id());
    let with_usage = transcript.lines().filter(|line| line.contains("toolu_") && line.contains("\"output_tokens\""));
    assert_eq!(with_usage.count(), 40);
}

#[test]
fn a_continued_session_keeps_its_id() {
    let sandbox = sandbox(&[]);
    let (first, second) = (plain(), calls("second", &["echo again"]));
    let again = Session::from_script(&second).with_arguments(&["--continue"]);
    let stages = [Stage::Clients(vec![Session::from_script(&first)]), Stage::Clients(vec![again])];
    let outcome = sandbox.run(&[first, second], &stages);
    let id = outcome.sessions[0].id();
    assert_eq!(outcome.sessions[1].id(), id);
    let starts = of_event(&sandbox.hook_notes(), "SessionStart");
    assert_eq!(starts.iter().map(|note| note.payload["source"].clone()).collect::<Vec<_>>(), ["startup", "resume"]);
    assert!(sandbox.hook_notes().iter().all(|note| note.payload["session_id"] == id));
    let resume = Session::from_script(&calls("third", &["echo third"])).with_arguments(&["--resume", id]);
    let outcome = sandbox.run(&[calls("third", &["echo third"])], &[Stage::Clients(vec![resume])]);
    assert_eq!(outcome.session().id(), sandbox.hook_notes()[0].payload["session_id"]);
}

#[test]
fn a_missing_or_dying_hook_blocks_nothing_and_the_client_reports_it_once() {
    for program in ["missing", "dying"] {
        let sandbox = sandbox(&[]);
        sandbox.write("programs/dying", "#!/bin/sh\nkill -9 $$\n");
        sandbox.settings(&settings::hooks(Client::Claude, &sandbox.root().join("programs").join(program), &[]));
        let outcome = sandbox.play(&[plain()]);
        assert_eq!((outcome.exchanges.len(), outcome.session().terminal_reason()), (3, "completed"));
        let notices = outcome.session().notices();
        assert_eq!(notices, ["A hook gave no usable answer, so it didn't check this action."], "once");
    }
}
