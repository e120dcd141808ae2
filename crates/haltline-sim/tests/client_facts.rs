//! What Claude Code itself does with a hook's answers, shown with a stand-in instead of haltline. haltline's adapter
//! rests on these facts; a newer client that breaks one is noticed here first.

use haltline_agents::Client;
use haltline_sim::clients::drivers;
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::script::{Script, Step, marker, shell, spawn};
use haltline_sim::clients::settings;
use haltline_sim::clients::stand_in::{Answer, Noted};
use serde_json::{Value, json};

fn place(answers: &[Answer]) -> Place {
    Place::with_stand_in(Client::Claude, env!("CARGO_BIN_EXE_client-run"), answers)
}

fn on(event: &str, answer: Value) -> Answer {
    Answer { event: event.to_owned(), answer: Some(answer), ..Answer::default() }
}

fn context(event: &str, text: &str) -> Answer {
    on(event, json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }))
}

fn refusal() -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": "REFUSED" } })
}

fn stop() -> Value {
    let mut stop = refusal();
    stop["continue"] = json!(false);
    stop["stopReason"] = json!("STOPPED");
    stop
}

fn block(reason: &str) -> Value {
    json!({ "decision": "block", "reason": reason })
}

/// One call that fails, then two in one message that do not.
fn plain() -> Script {
    let both = vec![shell("echo two"), shell("echo three")];
    Script::new("plain", vec![Step::Call(shell("echo one; false")), Step::Calls(both)])
}

fn calls(name: &str, commands: &[&str]) -> Script {
    Script::new(name, commands.iter().map(|command| Step::Call(shell(command))).collect())
}

/// A parent that starts a child in the background and works on, and the child.
fn family() -> [Script; 2] {
    let mut parent = calls("parent", &["echo parent two", "echo parent three"]);
    parent.steps.insert(0, Step::Call(spawn("child")));
    [parent, calls("child", &["echo child one", "sleep 1; echo child two", "echo child three"])]
}

fn of_event(noted: &[Noted], event: &str) -> Vec<Noted> {
    noted.iter().filter(|note| note.event() == event).cloned().collect()
}

fn ran(noted: &[Noted], command: &str) -> bool {
    of_event(noted, "PostToolUse").iter().any(|note| note.payload.to_string().contains(command))
}

#[test]
fn context_reaches_the_model_after_the_results_as_a_reminder_of_its_own() {
    let place = place(&[
        context("PreToolUse", "BEFORE"),
        context("PostToolUseFailure", "FAILED"),
        context("PostToolBatch", "BATCH"),
    ]);
    let outcome = place.play(&[plain()]);
    let texts = outcome.requests("plain")[1].new_texts();
    let place_of = |words: &str| texts.iter().position(|text| text.contains(words)).unwrap_or(usize::MAX);
    assert_eq!(place_of("Exit code 1\none"), 0);
    assert!(texts[1].contains("PreToolUse:Bash hook additional context: BEFORE"), "{texts:?}");
    assert!(texts[2].contains("PostToolUseFailure:Bash hook additional context: FAILED"), "{texts:?}");
    assert!(texts[3].contains("PostToolBatch hook additional context: BATCH"), "{texts:?}");
    // Two calls in one message: one reminder for each, one for the batch.
    let texts = outcome.requests("plain")[2].new_texts();
    let told = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!((told("BEFORE"), told("BATCH")), (2, 1));
}

#[test]
fn a_message_for_the_person_is_a_line_of_the_stream_for_some_events_only() {
    let message = |event: &str| on(event, json!({ "systemMessage": format!("AT {event}") }));
    let events = || Client::Claude.protocol().layout.events();
    let place = place(&events().map(message).collect::<Vec<_>>());
    let mut script = plain();
    script.steps.push(Step::Call(spawn("child")));
    let outcome = place.play(&[script, calls("child", &["echo child"])]);
    let notices = outcome.session().notices();
    let shown = |event: &str| notices.iter().any(|notice| notice.ends_with(&format!("AT {event}")));
    let shown: Vec<&str> = events().filter(|event| shown(event)).collect();
    assert_eq!(shown, ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop"]);
    let before: Vec<&&str> = notices.iter().filter(|notice| notice.ends_with("AT PreToolUse")).collect();
    assert_eq!(before.len(), 4, "the sub-agent's own call is not among them: {before:?}");
    assert_eq!(outcome.session().lines_saying("AT SessionStart").len(), 1, "only as the output of the hook");
    assert!(outcome.exchanges.iter().all(|exchange| exchange.saying("AT ").is_empty()), "the model is not told");
}

#[test]
fn refused_and_stopped_ends_the_run_and_the_reason_is_in_the_transcript_only() {
    let place = place(&[Answer { containing: "echo two".to_owned(), ..on("PreToolUse", stop()) }]);
    let outcome = place.play(&[calls("three", &["echo one", "echo two", "echo three"])]);
    let session = outcome.session();
    assert_eq!((outcome.exchanges.len(), session.terminal_reason(), session.exit), (2, "hook_stopped", Some(0)));
    assert!(session.lines_saying("STOPPED").is_empty());
    assert!(place.transcript(session.id()).contains("STOPPED"));
    assert!(!ran(&place.noted(), "echo two"));
    let noted = place.noted();
    assert_eq!((of_event(&noted, "Stop").len(), of_event(&noted, "SessionEnd").len()), (0, 1));
}

/// A Stop hook of someone else that never lets the agent end, beside the stand-in that stops at the third time.
fn stop_against_block(foreign_is_first: bool) -> (Place, Outcome) {
    let place = place(&[Answer { from: 3, ..on("Stop", json!({ "continue": false, "stopReason": "STOPPED" })) }]);
    let settings = place.stand_in_settings();
    let settings = settings::with_foreign(&settings, "Stop", &format!("echo '{}'", block("GO ON")), foreign_is_first);
    place.settings(&settings);
    let script = calls("nothing", &[]);
    let session = Session::of(&script).setting("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0");
    let outcome = place.run(&[script], &[Stage::Clients(vec![session])]);
    (place, outcome)
}

#[test]
fn a_second_stop_hook_can_end_what_the_first_blocks_in_either_order() {
    for foreign_is_first in [true, false] {
        let (place, outcome) = stop_against_block(foreign_is_first);
        let session = outcome.session();
        assert_eq!((outcome.exchanges.len(), session.terminal_reason()), (3, "stop_hook_prevented"));
        let active: Vec<Value> =
            of_event(&place.noted(), "Stop").iter().map(|note| note.payload["stop_hook_active"].clone()).collect();
        assert_eq!(active, [false, true, true]);
    }
}

#[test]
fn the_client_itself_ends_a_stop_loop_after_eight_blocks() {
    let place = place(&[on("Stop", block("GO ON"))]);
    let outcome = place.play(&[calls("nothing", &[])]);
    assert_eq!((outcome.exchanges.len(), outcome.session().terminal_reason()), (9, "completed"));
}

#[test]
fn stopping_a_sub_agent_leaves_its_parent_running_and_no_event_says_so() {
    let before = Answer { containing: "child two".to_owned(), ..on("PreToolUse", stop()) };
    let after = Answer {
        containing: "child two".to_owned(),
        ..on("PostToolBatch", json!({ "continue": false, "stopReason": "STOPPED" }))
    };
    for answer in [before, after] {
        let place = place(&[answer]);
        let outcome = place.play(&family());
        assert_eq!(outcome.requests("child").len(), 2);
        assert!(ran(&place.noted(), "parent three"));
        assert_eq!(outcome.session().terminal_reason(), "completed");
        assert_eq!(of_event(&place.noted(), "SubagentStop").len(), 0);
        // The parent is told that the agent finished, not why.
        let reports = outcome.last_request("parent").saying("<status>completed</status>");
        assert_eq!(reports.len(), 1);
        assert!(outcome.last_request("parent").saying("STOPPED").is_empty());
    }
}

#[test]
fn a_stopped_parent_is_woken_by_its_sub_agent_unless_that_prompt_is_stopped_too() {
    let stopped = Answer { containing: "parent two".to_owned(), ..on("PreToolUse", stop()) };
    let awake = place(std::slice::from_ref(&stopped));
    let outcome = awake.play(&family());
    assert!(ran(&awake.noted(), "parent three"));
    assert_eq!(outcome.session().terminal_reasons(), ["hook_stopped", "completed"]);
    assert!(!outcome.last_request("parent").saying("STOPPED").is_empty(), "now the model learns the reason");

    let prompt = Answer {
        containing: "<task-notification>".to_owned(),
        ..on("UserPromptSubmit", json!({ "continue": false, "stopReason": "STILL STOPPED" }))
    };
    let asleep = place(&[stopped, prompt]);
    let outcome = asleep.play(&family());
    assert!(!ran(&asleep.noted(), "parent three"));
    assert_eq!(outcome.requests("parent").len(), 2);
    assert_eq!(outcome.session().notices(), ["Operation stopped by hook: STILL STOPPED"]);
}

#[test]
fn sub_agents_may_spawn_and_their_events_carry_their_own_id() {
    let deep =
        |name: &str, below: &str| Script::new(name, vec![Step::Call(shell("echo here")), Step::Call(spawn(below))]);
    let scripts =
        [deep("root", "one"), deep("one", "two"), deep("two", "three"), deep("three", "four"), calls("four", &[])];
    let place = place(&[]);
    let outcome = place.play(&scripts);
    let offered = |name: &str| outcome.last_request(name).tools.iter().any(|tool| tool == "Agent");
    assert_eq!(["root", "one", "two", "three"].map(offered), [true, true, true, false]);
    assert!(outcome.requests("four").is_empty());
    // SubagentStart does not say who the parent is: only the spawning call does, by the id it carries.
    let noted = place.noted();
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
    let script = Script::new("deep", vec![Step::Call(spawn("deep"))]);
    let place = place(&[]);
    let session = Session::of(&script).setting("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", "5");
    place.run(&[script], &[Stage::Clients(vec![session])]);
    assert_eq!(of_event(&place.noted(), "SubagentStart").len(), 5);
}

#[test]
fn one_refused_spawn_of_six_leaves_the_other_five() {
    let sixth = Answer { containing: "\"Agent\"".to_owned(), from: 6, ..on("PreToolUse", refusal()) };
    let place = place(&[sixth]);
    let parent = Script::new("parent", vec![Step::Calls(vec![spawn("child"); 6])]);
    let outcome = place.play(&[parent, calls("child", &["echo child"])]);
    let texts = outcome.requests("parent")[1].new_texts();
    let told = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!((told("REFUSED"), told("Async agent launched")), (1, 5));
    assert_eq!(of_event(&place.noted(), "SubagentStop").len(), 5);
}

/// Unhooks the client by a script, which its own permission rules do not see through.
fn unhook(command: &str, answers: &[Answer]) -> (Place, Outcome) {
    let place = place(answers);
    place.write("project/.claude/settings.json", "{\"env\":{\"SOME\":\"1\"}}");
    place.write("project/unhook", &format!("#!/bin/sh\n{command}\n"));
    let outcome = place.play(&[calls("unhook", &[command, "./unhook", "sleep 2; echo waited", "echo later"])]);
    assert!(outcome.requests("unhook")[1].new_texts()[0].contains("requested permissions"), "typed, it is refused");
    assert!(outcome.requests("unhook")[4].new_texts()[0].contains("later"));
    (place, outcome)
}

#[test]
fn a_changed_settings_file_unhooks_the_client_within_a_second_or_two() {
    for (command, source) in [
        ("echo '{\"disableAllHooks\":true}' > .claude/settings.json", "project_settings"),
        ("echo '{\"disableAllHooks\":true}' > .claude/settings.local.json", "local_settings"),
        ("echo '{}' > ~/.claude/settings.json", "user_settings"),
    ] {
        let (place, _) = unhook(command, &[]);
        let noted = place.noted();
        let changes = of_event(&noted, "ConfigChange");
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].payload["source"], source);
        assert_eq!(noted.last().map(Noted::event), Some("ConfigChange"), "and nothing more was ever asked");
    }
}

#[test]
fn a_blocked_settings_change_keeps_the_hooks_for_this_session() {
    for command in [
        "echo '{\"disableAllHooks\":true}' > .claude/settings.json",
        "echo '{\"disableAllHooks\":true}' > .claude/settings.local.json",
        "echo '{}' > ~/.claude/settings.json",
    ] {
        let (place, outcome) = unhook(command, &[on("ConfigChange", block("KEPT"))]);
        assert!(ran(&place.noted(), "echo later"));
        assert_eq!(place.noted().last().map(|note| note.event().to_owned()).as_deref(), Some("SessionEnd"));
        assert!(outcome.exchanges.iter().all(|exchange| exchange.saying("KEPT").is_empty()));
        assert!(outcome.session().lines_saying("KEPT").is_empty(), "nobody is told the reason");
    }
}

#[test]
fn a_nested_client_inherits_its_parents_session_and_its_hooks_find_it_in_the_clients_environment() {
    let nested = format!(
        "{} --print 'nested {}' --model claude-sonnet-4-5 --allowedTools Bash < /dev/null",
        drivers::installed(Client::Claude).path().display(),
        marker("inner")
    );
    let place = place(&[]);
    let outcome = place.play(&[calls("outer", &[&nested]), calls("inner", &["echo inner"])]);
    let outer = outcome.session().id().to_owned();
    let noted = place.noted();
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
fn hooks_of_calls_end_before_the_batch_is_told() {
    let slow = |event: &str| Answer { event: event.to_owned(), run: Some("sleep 0.5".to_owned()), ..Answer::default() };
    let place = place(&[slow("PostToolUse"), slow("PostToolUseFailure")]);
    place.play(&[plain()]);
    let noted = place.noted();
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
    let place = place(&[]);
    let commands: Vec<String> = (0..40).map(|number| format!("echo {number}")).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let outcome = place.play(&[calls("many", &commands)]);
    let noted = place.noted();
    for event in ["PreToolUse", "PostToolUse", "PostToolBatch"] {
        let notes = of_event(&noted, event);
        let there = notes.iter().filter(|note| note.calls_with_usage > 0).count();
        println!("{event}: {there} of {} found their response's usage", notes.len());
    }
    // It is complete in the end, and no event says when: what is missing now belongs to a later event.
    let transcript = place.transcript(outcome.session().id());
    let with_usage = transcript.lines().filter(|line| line.contains("toolu_") && line.contains("\"output_tokens\""));
    assert_eq!(with_usage.count(), 40);
}

#[test]
fn a_continued_session_keeps_its_id() {
    let place = place(&[]);
    let (first, second) = (plain(), calls("second", &["echo again"]));
    let again = Session::of(&second).with(&["--continue"]);
    let stages = [Stage::Clients(vec![Session::of(&first)]), Stage::Clients(vec![again])];
    let outcome = place.run(&[first, second], &stages);
    let id = outcome.sessions[0].id();
    assert_eq!(outcome.sessions[1].id(), id);
    let starts = of_event(&place.noted(), "SessionStart");
    assert_eq!(starts.iter().map(|note| note.payload["source"].clone()).collect::<Vec<_>>(), ["startup", "resume"]);
    assert!(place.noted().iter().all(|note| note.payload["session_id"] == id));
    let resume = Session::of(&calls("third", &["echo third"])).with(&["--resume", id]);
    let outcome = place.run(&[calls("third", &["echo third"])], &[Stage::Clients(vec![resume])]);
    assert_eq!(outcome.session().id(), place.noted()[0].payload["session_id"]);
}

#[test]
fn a_hook_that_is_missing_or_dies_is_in_nobodys_way_and_told_once_by_the_client() {
    for program in ["missing", "dying"] {
        let place = place(&[]);
        place.write("programs/dying", "#!/bin/sh\nkill -9 $$\n");
        place.settings(&settings::hooks(Client::Claude, &place.root().join("programs").join(program), &[]));
        let outcome = place.play(&[plain()]);
        assert_eq!((outcome.exchanges.len(), outcome.session().terminal_reason()), (3, "completed"));
        let notices = outcome.session().notices();
        assert_eq!(notices, ["A hook gave no usable answer, so it didn't check this action."], "said once");
    }
}
