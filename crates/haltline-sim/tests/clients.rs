//! haltline with a real Claude Code and a model that misbehaves by script: what the model is told, what really runs,
//! and how the run ends. `.ci/clients` installs the client and runs this.

use haltline_agents::Client;
use haltline_sim::clients::exchange::{Exchange, VOICE};
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::script::{Call, Script, Step, edit, read, shell, spawn};
use haltline_sim::clients::settings;

fn place(config: &str) -> Place {
    let place = Place::with_haltline(
        Client::Claude,
        env!("CARGO_BIN_EXE_client-run"),
        env!("CARGO_BIN_EXE_haltline-now"),
        config,
    );
    // Each writes down that it ran: what was refused left no line.
    place.write("project/fail", "#!/bin/sh\necho ran >> ran.txt\necho no such table: users\nexit 1\n");
    place.write("project/oracle.py", "#!/bin/sh\necho \"$1\" >> asked.txt\necho \"the answer to $1\"\n");
    place
}

fn calls(name: &str, commands: impl IntoIterator<Item = String>) -> Script {
    Script::new(name, commands.into_iter().map(|command| Step::Call(shell(&command))).collect())
}

fn one(call: Call) -> Step {
    Step::Call(call)
}

/// Whether the last call before this request was refused by haltline.
fn is_refused(before: &Exchange, request: &Exchange) -> bool {
    before
        .calls()
        .iter()
        .any(|call| request.result_of(call).is_some_and(|(failed, text)| failed && text.contains(VOICE)))
}

/// The turns, counted from 1, whose call haltline refused and the model learnt of it.
fn refused_turns(outcome: &Outcome, script: &str) -> Vec<usize> {
    let requests = outcome.requests(script);
    let pairs = requests.windows(2).enumerate();
    pairs.filter(|(_, pair)| is_refused(pair[0], pair[1])).map(|(place, _)| place + 1).collect()
}

fn assert_untouched(outcome: &Outcome) {
    for exchange in &outcome.exchanges {
        assert_eq!(exchange.told(), Vec::<String>::new(), "request {}", exchange.number);
    }
    for session in &outcome.sessions {
        assert_eq!(session.shown(), Vec::<&str>::new());
        assert_eq!(session.terminal_reason(), "completed");
    }
}

/// A refusal is never repeated word for word (E5).
fn assert_no_text_twice(outcome: &Outcome, script: &str) {
    let mut texts: Vec<String> = outcome.requests(script).into_iter().flat_map(Exchange::told).collect();
    let all = texts.len();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), all, "{texts:#?}");
}

#[test]
fn a_failing_command_again_and_again_is_warned_of_then_refused_then_the_run_ends() {
    let place = place("");
    let outcome = place.play(&[Script::repeating("again", vec![one(shell("./fail"))], 20)]);
    let requests = outcome.requests("again");
    assert_eq!(place.lines("ran.txt").len(), 3);
    assert_eq!(requests[2].told(), Vec::<String>::new(), "twice is no loop");
    assert!(!requests[3].told().is_empty(), "the third time is warned of");
    assert_eq!(refused_turns(&outcome, "again"), [4]);
    assert_eq!((requests.len(), outcome.session().terminal_reason()), (5, "hook_stopped"));
    assert_no_text_twice(&outcome, "again");
    assert_eq!(outcome.session().shown().len(), 1, "the person is told once");
    assert!(place.transcript(outcome.session().id()).contains(VOICE), "and the reason is kept");
}

#[test]
fn two_commands_in_turn_for_ever_are_ended() {
    let place = place("");
    place.write("project/a", "#!/bin/sh\necho a >> ran.txt\necho nothing new in a\n");
    place.write("project/b", "#!/bin/sh\necho b >> ran.txt\necho nothing new in b\n");
    let outcome = place.play(&[Script::repeating("alternate", vec![one(shell("./a")), one(shell("./b"))], 40)]);
    let requests = outcome.requests("alternate");
    let warned = requests.iter().position(|request| !request.told().is_empty()).expect("it is warned of");
    let refused = refused_turns(&outcome, "alternate");
    assert!(!refused.is_empty() && warned < refused[0] + 1, "first warned, then refused: {warned}, {refused:?}");
    assert_eq!(outcome.session().terminal_reason(), "hook_stopped");
    // The circle is refused at `./a`; that `./b` goes on without it is a repeat of its own.
    assert_eq!((requests.len(), outcome.session().shown().len()), (9, 2));
    assert!(place.lines("ran.txt").len() < requests.len());
    assert_no_text_twice(&outcome, "alternate");
}

#[test]
fn of_six_sub_agents_in_one_message_the_sixth_is_refused() {
    let place = place("");
    let parent = Script::new("parent", vec![Step::Calls(vec![spawn("child"); 6])]);
    let outcome = place.play(&[parent, calls("child", ["sleep 1; echo child".to_owned()])]);
    let texts = outcome.requests("parent")[1].new_texts();
    let having = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!((having("Async agent launched"), having("hook error: HALTLINE HL-")), (5, 1), "{texts:#?}");
    assert_eq!(outcome.requests("child").iter().filter(|request| request.turn == 0).count(), 5);
    assert_eq!(outcome.session().terminal_reason(), "completed", "five parts of the work go on");
    assert_eq!(outcome.session().shown().len(), 1);
}

#[test]
fn sub_agents_below_sub_agents_are_refused_at_the_depth_limit() {
    let place = place("");
    let script = Script::new("deep", vec![one(spawn("deep"))]);
    // The client's own limit is as deep as haltline's; without it one would not know who refused.
    let session = Session::of(&script).setting("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", "9");
    let outcome = place.run(&[script], &[Stage::Clients(vec![session])]);
    let begun = outcome.requests("deep").iter().filter(|request| request.turn == 0).count();
    assert_eq!(begun, 1 + 3, "the root and three below one another");
    let refused = outcome
        .requests("deep")
        .into_iter()
        .filter(|request| request.told().iter().any(|text| text.contains("PreToolUse:Agent hook error")));
    assert_eq!(refused.count(), 1);
    let shown = outcome.session().shown();
    assert_eq!(shown.len(), 1, "the person hears of it with the next event of the main agent: {shown:#?}");
    assert!(shown[0].contains("HL-SPAWN-05"), "{shown:#?}");
}

#[test]
fn sixty_turns_of_edits_and_tests_are_never_touched() {
    let place = place("");
    let count = place.file("count.txt");
    let mut steps = vec![one(read(&count))];
    for number in 0..30 {
        steps.push(one(edit(&count, &format!("count = {number}"), &format!("count = {}", number + 1))));
        steps.push(one(shell("./check")));
    }
    let outcome = place.lasting(120).play(&[Script::new("work", steps)]);
    assert_untouched(&outcome);
    assert_eq!(outcome.requests("work").len(), 62);
}

#[test]
fn a_test_that_fails_until_the_fix_is_right_is_never_touched() {
    let place = place("");
    let count = place.file("count.txt");
    // The check says how far it came, as a real one does.
    place.write(
        "project/check",
        "#!/bin/sh\necho \"expected 6, found $(cat count.txt)\"\ngrep -q 'count = 6' count.txt\n",
    );
    let mut steps = vec![one(read(&count))];
    for number in 0..6 {
        steps.push(one(shell("./check")));
        steps.push(one(edit(&count, &format!("count = {number}"), &format!("count = {}", number + 1))));
    }
    steps.push(one(shell("./check")));
    assert_untouched(&place.play(&[Script::new("fix", steps)]));
    assert_eq!(place.lines("count.txt"), ["count = 6"]);
}

#[test]
fn a_stop_hook_of_someone_else_that_always_blocks_is_ended() {
    for foreign_is_first in [true, false] {
        let place = place("");
        let settings = place.haltline_settings();
        let blocking = r#"echo '{"decision":"block","reason":"not yet"}'"#;
        let settings = settings::with_foreign(&settings, "Stop", blocking, foreign_is_first);
        place.settings(&settings);
        let script = Script::new("nothing", vec![]);
        // The client's own cap of eight blocks is off: haltline alone can end this.
        let session = Session::of(&script).setting("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0");
        let outcome = place.run(&[script], &[Stage::Clients(vec![session])]);
        assert_eq!(outcome.session().terminal_reason(), "stop_hook_prevented");
        assert_eq!((outcome.requests("nothing").len(), outcome.session().shown().len()), (7, 1));
    }
}

#[test]
fn a_storm_of_api_calls_is_ended_at_the_eleventh() {
    let place = place("");
    let outcome = place.play(&[calls("storm", (1..=20).map(|number| format!("./oracle.py question-{number}")))]);
    assert_eq!(place.lines("asked.txt").len(), 10);
    assert_eq!(refused_turns(&outcome, "storm"), [11]);
    assert_eq!((outcome.requests("storm").len(), outcome.session().terminal_reason()), (12, "hook_stopped"));
    assert_eq!(outcome.session().shown().len(), 1);
}

#[test]
fn after_the_budget_work_can_still_be_saved_and_then_the_run_ends() {
    let place = place("[budget]\nturns_hard = 5\n");
    let count = place.file("count.txt");
    let mut steps = vec![one(read(&count))];
    steps.extend((1..=5).map(|number| one(shell(&format!("echo {number} >> ran.txt")))));
    steps.push(one(edit(&count, "count = 0", "count = 1")));
    steps.push(one(shell("git add count.txt && git commit --quiet --message='save the work'")));
    steps.extend((6..=12).map(|number| one(shell(&format!("echo {number} >> ran.txt")))));
    let outcome = place.play(&[Script::new("spend", steps)]);
    assert_eq!(refused_turns(&outcome, "spend"), [6], "five turns were paid for");
    assert_eq!(place.lines("ran.txt"), ["1", "2", "3", "4"]);
    assert!(place.git(&["log", "--format=%s"]).starts_with("save the work"));
    assert_eq!(outcome.session().terminal_reason(), "hook_stopped");
    assert_eq!(outcome.requests("spend").len(), 9, "the first call after the saving ends the run");
    assert_eq!(outcome.session().shown().len(), 1);
}

#[test]
fn a_budget_in_dollars_counts_what_the_client_reports() {
    let place = place("[budget]\nusd_hard = 0.10\n");
    let script = calls("spend", (1..=30).map(|number| format!("echo {number}"))).using(1_000, 1_000);
    let outcome = place.play(&[script]);
    // 1,000 tokens read at 3 dollars and 1,000 written at 15 dollars a million: 1.8 cents a response.
    let requests = outcome.requests("spend").len();
    assert!((6..=9).contains(&requests), "{requests} requests");
    assert_eq!(outcome.session().terminal_reason(), "hook_stopped");
}

#[test]
fn two_sessions_in_one_project_do_not_see_each_others_counts() {
    let place = place("");
    let scripts = ["left", "right"].map(|name| calls(name, ["./fail".to_owned(), "./fail".to_owned()]));
    let outcome = place.run(&scripts, &[Stage::Clients(scripts.iter().map(Session::of).collect())]);
    assert_ne!(outcome.sessions[0].id(), outcome.sessions[1].id());
    assert_eq!(place.lines("ran.txt").len(), 4);
    assert_untouched(&outcome);
}

#[test]
fn a_resumed_session_goes_on_with_its_counts() {
    let place = place("");
    let asking = |name: &str, numbers: std::ops::RangeInclusive<u32>| {
        calls(name, numbers.map(|number| format!("./oracle.py question-{number}")))
    };
    let scripts = [asking("before", 1..=6), asking("after", 7..=12)];
    let stages = [
        Stage::Clients(vec![Session::of(&scripts[0])]),
        Stage::Clients(vec![Session::of(&scripts[1]).with(&["--continue"])]),
    ];
    let outcome = place.run(&scripts, &stages);
    assert_eq!(outcome.sessions[0].id(), outcome.sessions[1].id());
    assert_eq!(outcome.sessions[0].terminal_reason(), "completed");
    assert_eq!(place.lines("asked.txt").len(), 10);
    assert_eq!(refused_turns(&outcome, "after"), [5], "the eleventh of both");
    assert_eq!(outcome.sessions[1].terminal_reason(), "hook_stopped");
}

#[test]
fn a_stop_holds_when_a_sub_agent_reports_later_and_ends_when_a_person_writes() {
    let place = place("");
    place.write("project/ran.txt", "");
    let mut parent = Script::repeating("parent", vec![one(shell("./fail"))], 12);
    // Only once: afterwards the parent knows but one thing.
    parent.steps = std::iter::once(one(spawn("child"))).chain(vec![one(shell("./fail")); 11]).collect();
    let waiting = "until [ $(wc -l < ran.txt) = 3 ]; do sleep 0.2; done; sleep 4; echo child";
    let child = calls("child", [waiting.to_owned()]);
    let again = calls("again", ["echo and on".to_owned()]);
    let stages =
        [Stage::Clients(vec![Session::of(&parent)]), Stage::Clients(vec![Session::of(&again).with(&["--continue"])])];
    let outcome = place.run(&[parent, child, again], &stages);
    assert_eq!(outcome.requests("child").len(), 2, "the sub-agent did its work");
    assert_eq!(outcome.requests("parent").len(), 6, "one that started it, five that failed");
    assert_eq!(place.lines("ran.txt").len(), 3);
    let held: Vec<&str> = outcome.sessions[0].shown().into_iter().filter(|text| text.contains("HL-STOP-01")).collect();
    assert_eq!(held.len(), 1, "{held:?}");
    assert_eq!(outcome.requests("again").len(), 2, "a person's word sets it going");
    assert_eq!(outcome.sessions[1].terminal_reason(), "completed");
}
