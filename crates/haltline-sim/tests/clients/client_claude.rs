//! haltline with a real Claude Code and a model that misbehaves by script: which messages the model gets, which calls run,
//! and how the run ends. `.ci/clients` installs the client and runs this.

use haltline_agents::Client;
use haltline_sim::clients::exchange::{Exchange, MESSAGE_PREFIX};
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::script::{Call, Script, ScriptStep, edit, read, shell, spawn};
use haltline_sim::clients::settings;

fn sandbox(config: &str) -> Sandbox {
    let sandbox = Sandbox::with_haltline(
        Client::Claude,
        env!("CARGO_BIN_EXE_client-run"),
        env!("CARGO_BIN_EXE_haltline-now"),
        config,
    );
    // Each program writes a line when it runs: a denied call leaves none.
    sandbox.write("project/fail", "#!/bin/sh\necho ran >> ran.txt\necho no such table: users\nexit 1\n");
    sandbox.write("project/oracle.py", "#!/bin/sh\necho \"$1\" >> asked.txt\necho \"the answer to $1\"\n");
    sandbox
}

fn calls(name: &str, commands: impl IntoIterator<Item = String>) -> Script {
    Script::new(name, commands.into_iter().map(|command| ScriptStep::Call(shell(&command))).collect())
}

fn one(call: Call) -> ScriptStep {
    ScriptStep::Call(call)
}

/// True if haltline denied the last call before this request.
fn is_denied(before: &Exchange, request: &Exchange) -> bool {
    before
        .calls()
        .iter()
        .any(|call| request.result_of(call).is_some_and(|(failed, text)| failed && text.contains(MESSAGE_PREFIX)))
}

/// The turns, counted from 1, whose call haltline denied with a message to the model.
fn denied_turns(outcome: &Outcome, script: &str) -> Vec<usize> {
    let requests = outcome.requests(script);
    let pairs = requests.windows(2).enumerate();
    pairs.filter(|(_, pair)| is_denied(pair[0], pair[1])).map(|(index, _)| index + 1).collect()
}

fn assert_untouched(outcome: &Outcome) {
    for exchange in &outcome.exchanges {
        assert_eq!(exchange.haltline_texts(), Vec::<String>::new(), "request {}", exchange.number);
    }
    for session in &outcome.sessions {
        assert_eq!(session.haltline_notices(), Vec::<&str>::new());
        assert_eq!(session.terminal_reason(), "completed");
    }
}

/// haltline never repeats a message to the agent word for word (E5).
fn assert_no_text_twice(outcome: &Outcome, script: &str) {
    let mut texts: Vec<String> = outcome.requests(script).into_iter().flat_map(Exchange::haltline_texts).collect();
    let all = texts.len();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), all, "{texts:#?}");
}

#[test]
fn a_command_that_keeps_failing_is_warned_then_denied_then_the_run_ends() {
    let sandbox = sandbox("");
    let outcome = sandbox.play(&[Script::repeating("again", vec![one(shell("./fail"))], 20)]);
    let requests = outcome.requests("again");
    assert_eq!(sandbox.lines("ran.txt").len(), 3);
    assert_eq!(requests[2].haltline_texts(), Vec::<String>::new(), "two times are not a loop");
    assert!(!requests[3].haltline_texts().is_empty(), "haltline warns at the third time");
    assert_eq!(denied_turns(&outcome, "again"), [4]);
    assert_eq!((requests.len(), outcome.session().terminal_reason()), (5, "hook_stopped"));
    assert_no_text_twice(&outcome, "again");
    assert_eq!(outcome.session().haltline_notices().len(), 1, "the person gets one notice");
    assert!(sandbox.transcript(outcome.session().id()).contains(MESSAGE_PREFIX), "and the reason is kept");
}

#[test]
fn two_commands_that_alternate_for_ever_are_stopped() {
    let sandbox = sandbox("");
    sandbox.write("project/a", "#!/bin/sh\necho a >> ran.txt\necho nothing new in a\n");
    sandbox.write("project/b", "#!/bin/sh\necho b >> ran.txt\necho nothing new in b\n");
    let outcome = sandbox.play(&[Script::repeating("alternate", vec![one(shell("./a")), one(shell("./b"))], 40)]);
    let requests = outcome.requests("alternate");
    let warned = requests.iter().position(|request| !request.haltline_texts().is_empty()).expect("a warning");
    let denied = denied_turns(&outcome, "alternate");
    assert!(!denied.is_empty() && warned < denied[0] + 1, "first a warning, then a denial: {warned}, {denied:?}");
    assert_eq!(outcome.session().terminal_reason(), "hook_stopped");
    // haltline denies the cycle at `./a`; `./b` alone is then a separate repeat.
    assert_eq!((requests.len(), outcome.session().haltline_notices().len()), (9, 2));
    assert!(sandbox.lines("ran.txt").len() < requests.len());
    assert_no_text_twice(&outcome, "alternate");
}

#[test]
fn of_six_sub_agents_in_one_message_the_sixth_is_denied() {
    let sandbox = sandbox("[agents]\nmax_concurrent = 5\n");
    // Each has another task: the same task twice is denied for another reason.
    let children = ["first", "second", "third", "fourth", "fifth", "sixth"];
    let parent = Script::new("parent", vec![ScriptStep::Calls(children.map(spawn).into())]);
    let work = children.map(|child| calls(child, ["sleep 1; echo child".to_owned()]));
    let outcome = sandbox.play(&[&[parent][..], &work].concat());
    let texts = outcome.requests("parent")[1].new_texts();
    let having = |phrase: &str| texts.iter().filter(|text| text.contains(phrase)).count();
    assert_eq!((having("Async agent launched"), having("hook error: HALTLINE HL-")), (5, 1), "{texts:#?}");
    let begun = |child: &&str| outcome.requests(child).iter().any(|request| request.turn == 0);
    assert_eq!(children.iter().filter(|child| begun(child)).count(), 5);
    assert_eq!(outcome.session().terminal_reason(), "completed", "five parts of the work go on");
    assert_eq!(outcome.session().haltline_notices().len(), 1);
}

#[test]
fn sub_agents_below_sub_agents_are_denied_at_the_depth_limit() {
    let sandbox = sandbox("");
    let depths = ["root", "first", "second", "third", "fourth"];
    let scripts: Vec<Script> = depths.windows(2).map(|pair| Script::new(pair[0], vec![one(spawn(pair[1]))])).collect();
    // By default the client has the same depth limit as haltline, and the test could not tell which of them denied.
    let session = Session::from_script(&scripts[0]).with_variable("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", "9");
    let outcome = sandbox.run(&scripts, &[Stage::Clients(vec![session])]);
    let requests = || depths.iter().flat_map(|depth| outcome.requests(depth));
    let begun = requests().filter(|request| request.turn == 0).count();
    assert_eq!(begun, 1 + 3, "the root and three below one another");
    let denied = requests()
        .filter(|request| request.haltline_texts().iter().any(|text| text.contains("PreToolUse:Agent hook error")));
    assert_eq!(denied.count(), 1);
    let shown = outcome.session().haltline_notices();
    assert_eq!(shown.len(), 1, "the person reads of it with the next event of the main agent: {shown:#?}");
    assert!(shown[0].contains("HL-SPAWN-05"), "{shown:#?}");
}

#[test]
fn sixty_turns_of_edits_and_tests_are_never_touched() {
    let sandbox = sandbox("");
    let count = sandbox.file("count.txt");
    let mut steps = vec![one(read(&count))];
    for number in 0..30 {
        steps.push(one(edit(&count, &format!("count = {number}"), &format!("count = {}", number + 1))));
        steps.push(one(shell("./check")));
    }
    let outcome = sandbox.with_seconds_max(120).play(&[Script::new("work", steps)]);
    assert_untouched(&outcome);
    assert_eq!(outcome.requests("work").len(), 62);
}

#[test]
fn a_test_that_fails_until_the_fix_is_right_is_never_touched() {
    let sandbox = sandbox("");
    let count = sandbox.file("count.txt");
    // The check prints its progress, as a real one does.
    sandbox.write(
        "project/check",
        "#!/bin/sh\necho \"expected 6, found $(cat count.txt)\"\ngrep -q 'count = 6' count.txt\n",
    );
    let mut steps = vec![one(read(&count))];
    for number in 0..6 {
        steps.push(one(shell("./check")));
        steps.push(one(edit(&count, &format!("count = {number}"), &format!("count = {}", number + 1))));
    }
    steps.push(one(shell("./check")));
    assert_untouched(&sandbox.play(&[Script::new("fix", steps)]));
    assert_eq!(sandbox.lines("count.txt"), ["count = 6"]);
}

#[test]
fn a_foreign_stop_hook_that_always_blocks_is_stopped() {
    for foreign_is_first in [true, false] {
        let sandbox = sandbox("");
        let settings = sandbox.haltline_settings();
        let blocking = r#"echo '{"decision":"block","reason":"not yet"}'"#;
        let settings = settings::with_foreign(&settings, "Stop", blocking, foreign_is_first);
        sandbox.settings(&settings);
        let script = Script::new("nothing", vec![]);
        // The client's own limit of eight blocks is off, so only haltline can end this.
        let session = Session::from_script(&script).with_variable("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0");
        let outcome = sandbox.run(&[script], &[Stage::Clients(vec![session])]);
        assert_eq!(outcome.session().terminal_reason(), "stop_hook_prevented");
        assert_eq!((outcome.requests("nothing").len(), outcome.session().haltline_notices().len()), (5, 1));
    }
}

#[test]
fn a_storm_of_api_calls_is_ended_at_the_eleventh() {
    let sandbox = sandbox("");
    let outcome = sandbox.play(&[calls("storm", (1..=20).map(|number| format!("./oracle.py question-{number}")))]);
    assert_eq!(sandbox.lines("asked.txt").len(), 10);
    assert_eq!(denied_turns(&outcome, "storm"), [11]);
    assert_eq!((outcome.requests("storm").len(), outcome.session().terminal_reason()), (12, "hook_stopped"));
    assert_eq!(outcome.session().haltline_notices().len(), 1);
}

#[test]
fn after_the_budget_work_can_still_be_saved_and_then_the_run_ends() {
    let sandbox = sandbox("[budget]\nturns_hard = 5\n");
    let count = sandbox.file("count.txt");
    let mut steps = vec![one(read(&count))];
    steps.extend((1..=5).map(|number| one(shell(&format!("echo {number} >> ran.txt")))));
    steps.push(one(edit(&count, "count = 0", "count = 1")));
    steps.push(one(shell("git add count.txt && git commit --quiet --message='save the work'")));
    steps.extend((6..=12).map(|number| one(shell(&format!("echo {number} >> ran.txt")))));
    let outcome = sandbox.play(&[Script::new("spend", steps)]);
    assert_eq!(denied_turns(&outcome, "spend"), [6], "five turns were paid for");
    assert_eq!(sandbox.lines("ran.txt"), ["1", "2", "3", "4"]);
    assert!(sandbox.git(&["log", "--format=%s"]).starts_with("save the work"));
    assert_eq!(outcome.session().terminal_reason(), "hook_stopped");
    assert_eq!(outcome.requests("spend").len(), 9, "the first call after the saving ends the run");
    assert_eq!(outcome.session().haltline_notices().len(), 1);
}

#[test]
fn a_budget_in_dollars_counts_what_the_client_reports() {
    let sandbox = sandbox("[budget]\nusd_hard = 0.10\n");
    let script = calls("spend", (1..=30).map(|number| format!("echo {number}"))).using(1_000, 1_000);
    let outcome = sandbox.play(&[script]);
    // 1,000 tokens read at 3 dollars and 1,000 written at 15 dollars a million: 1.8 cents a response.
    let requests = outcome.requests("spend").len();
    // On a loaded machine the client writes its transcript, from which the cost is read, a few responses late.
    assert!((6..=12).contains(&requests), "{requests} requests");
    assert_eq!(outcome.session().terminal_reason(), "hook_stopped");
}

#[test]
fn two_sessions_in_one_project_do_not_see_each_others_counts() {
    let sandbox = sandbox("");
    let scripts = ["left", "right"].map(|name| calls(name, ["./fail".to_owned(), "./fail".to_owned()]));
    let outcome = sandbox.run(&scripts, &[Stage::Clients(scripts.iter().map(Session::from_script).collect())]);
    assert_ne!(outcome.sessions[0].id(), outcome.sessions[1].id());
    assert_eq!(sandbox.lines("ran.txt").len(), 4);
    assert_untouched(&outcome);
}

#[test]
fn a_resumed_session_goes_on_with_its_counts() {
    let sandbox = sandbox("");
    let oracle_calls = |name: &str, numbers: std::ops::RangeInclusive<u32>| {
        calls(name, numbers.map(|number| format!("./oracle.py question-{number}")))
    };
    let scripts = [oracle_calls("before", 1..=6), oracle_calls("after", 7..=12)];
    let stages = [
        Stage::Clients(vec![Session::from_script(&scripts[0])]),
        Stage::Clients(vec![Session::from_script(&scripts[1]).with_arguments(&["--continue"])]),
    ];
    let outcome = sandbox.run(&scripts, &stages);
    assert_eq!(outcome.sessions[0].id(), outcome.sessions[1].id());
    assert_eq!(outcome.sessions[0].terminal_reason(), "completed");
    assert_eq!(sandbox.lines("asked.txt").len(), 10);
    assert_eq!(denied_turns(&outcome, "after"), [5], "the eleventh of both");
    assert_eq!(outcome.sessions[1].terminal_reason(), "hook_stopped");
}

#[test]
fn a_stop_lasts_when_a_sub_agent_reports_later_and_ends_when_a_person_writes() {
    let sandbox = sandbox("");
    sandbox.write("project/ran.txt", "");
    let mut parent = Script::repeating("parent", vec![one(shell("./fail"))], 12);
    // The parent starts its sub-agent once and repeats one command afterwards.
    parent.steps = std::iter::once(one(spawn("child"))).chain(vec![one(shell("./fail")); 11]).collect();
    let waiting = "until [ $(wc -l < ran.txt) = 3 ]; do sleep 0.2; done; sleep 4; echo child";
    let sub_agent = calls("child", [waiting.to_owned()]);
    let again = calls("again", ["echo and on".to_owned()]);
    let stages = [
        Stage::Clients(vec![Session::from_script(&parent)]),
        Stage::Clients(vec![Session::from_script(&again).with_arguments(&["--continue"])]),
    ];
    let outcome = sandbox.run(&[parent, sub_agent, again], &stages);
    assert_eq!(outcome.requests("child").len(), 2, "the sub-agent did its work");
    assert_eq!(outcome.requests("parent").len(), 6, "one that started it, five that failed");
    assert_eq!(sandbox.lines("ran.txt").len(), 3);
    let stop_notices: Vec<&str> =
        outcome.sessions[0].haltline_notices().into_iter().filter(|text| text.contains("HL-STOP-01")).collect();
    assert_eq!(stop_notices.len(), 1, "{stop_notices:?}");
    assert_eq!(outcome.requests("again").len(), 2, "a prompt of a person starts it again");
    assert_eq!(outcome.sessions[1].terminal_reason(), "completed");
}
