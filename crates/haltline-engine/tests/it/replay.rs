//! Replays through the engine: what is listed, what is counted separately, and how much is kept at once.

mod recording_reader;
mod trips_file;

use haltline_core::identity::{Action, CallResult, Outcome};
use haltline_core::loop_::{AgentRef, CallContext, Limits, LoopEvent, Preset};
use haltline_core::{Instant, Policy};
use haltline_engine::replay::{Replay, ReplayedEvent, ReplayedSession, Severity};

/// Replays sessions with one event per second.
struct Tape {
    replay: Replay,
    over: Vec<ReplayedSession>,
    second: i64,
    calls: u32,
}

impl Tape {
    fn new(policies: &[Policy]) -> Self {
        Self { replay: Replay::new(policies), over: Vec::new(), second: 1_000_000, calls: 0 }
    }

    fn replay_event(&mut self, session: &str, event: LoopEvent) {
        self.second += 1;
        let at = Some(Instant::from_millis(self.second * 1000));
        let agent = AgentRef { session: session.to_owned(), ..AgentRef::default() };
        self.replay.add_event(ReplayedEvent { at, agent, event, is_echo: false }, &mut self.over);
    }

    fn start(&mut self, session: &str, tool: &str, input: &str) -> String {
        self.calls += 1;
        let call = format!("c{}", self.calls);
        let action = Box::new(Action::new(tool, input, None));
        let message = Some(format!("m{}", self.calls));
        self.replay_event(
            session,
            LoopEvent::ToolStart { call: call.clone(), response: message, action, context: CallContext::Missing },
        );
        call
    }

    fn call(&mut self, session: &str, command: &str, output: &str) {
        let call = self.start(session, "Bash", command);
        let result = Box::new(CallResult::new(Outcome::Ok, Some(0), output));
        self.replay_event(session, LoopEvent::ToolEnd { call, action: None, result });
    }

    fn end(mut self) -> Vec<ReplayedSession> {
        self.over.extend(self.replay.finish());
        self.over
    }
}

/// The verdicts, each with the number of its call.
fn verdicts(session: &ReplayedSession, policy_index: usize) -> Vec<(u64, Severity)> {
    session.verdicts[policy_index].trips.iter().map(|trip| (trip.call, trip.severity)).collect()
}

#[test]
fn each_trip_is_listed_once_for_each_verdict_however_often_the_agent_continues() {
    let mut tape = Tape::new(&[Policy::default()]);
    (0..20).for_each(|_| tape.call("s", "cat notes.md", "the same"));
    let sessions = tape.end();
    let listed = verdicts(&sessions[0], 0);
    assert_eq!(listed[..3], [(3, Severity::Warn), (4, Severity::Deny), (5, Severity::Stop)]);
    assert!(listed.len() < 10, "{listed:?}");
    let after: Vec<u64> = sessions[0].verdicts[0].trips.iter().map(|trip| trip.calls_after).collect();
    assert_eq!(after[..3], [17, 16, 15]);
}

#[test]
fn a_warning_whose_count_started_again_is_listed_again() {
    let mut tape = Tape::new(&[Policy::default()]);
    for _ in 0..2 {
        (0..3).for_each(|_| tape.call("s", "cat notes.md", "the same"));
        tape.replay_event("s", LoopEvent::Prompt { by_user: true, bypass: false });
    }
    assert_eq!(verdicts(&tape.end()[0], 0), [(3, Severity::Warn), (6, Severity::Warn)]);
}

#[test]
fn capacity_denials_are_counted_separately() {
    let mut policy = Policy::default();
    policy.loop_.agents.concurrent_max = 5;
    let mut tape = Tape::new(&[policy]);
    for number in 0..7 {
        tape.second += 60;
        let input = format!("{{\"description\":\"part {number}\",\"prompt\":\"look at {number}\"}}");
        tape.start("s", "Task", &input);
        tape.replay_event("s", LoopEvent::SpawnStart { sub_agent: format!("a{number}"), depth: None });
    }
    let sessions = tape.end();
    assert!(sessions[0].verdicts[0].capacity_denials > 0, "{sessions:?}");
    assert!(sessions[0].verdicts[0].first_denial().is_none(), "{sessions:?}");
}

#[test]
fn several_policies_decide_the_same_events() {
    let literal = Policy { loop_: Limits { preset: Preset::Literal, ..Limits::default() }, ..Policy::default() };
    let mut tape = Tape::new(&[Policy::default(), literal]);
    (0..15).for_each(|number| tape.call("s", &format!("cat {number}"), &number.to_string()));
    let sessions = tape.end();
    assert_eq!(verdicts(&sessions[0], 0), []);
    assert_eq!(
        sessions[0].verdicts[1].first(Severity::Deny).map(|trip| (trip.call, trip.code)),
        Some((11, "HL-LOOP-03"))
    );
}

#[test]
fn sessions_that_alternate_in_one_file_stay_whole_however_many_they_are() {
    let mut tape = Tape::new(&[Policy::default()]);
    for _turn in 0..4 {
        (0..300).for_each(|number| tape.call(&format!("s{number}"), "cat notes.md", "the same"));
    }
    assert!(tape.over.is_empty());
    let sessions = tape.end();
    assert_eq!(sessions.len(), 300);
    assert!(sessions.iter().all(|session| session.calls == 4));
}

#[test]
fn of_very_many_sessions_the_longest_idle_are_finished_first_and_none_is_lost() {
    let mut tape = Tape::new(&[Policy::default()]);
    for number in 0..20_100 {
        tape.replay_event(&format!("s{number}"), LoopEvent::Prompt { by_user: true, bypass: false });
        // One session continues all the time.
        if number % 100 == 0 {
            tape.call("main", &format!("cat {number}"), "b");
        }
    }
    let over: Vec<String> = tape.over.iter().map(|session| session.session.clone()).collect();
    assert_eq!(over, (0..101).map(|number| format!("s{number}")).collect::<Vec<_>>());
    let sessions = tape.end();
    assert_eq!(sessions.len(), 20_101);
    let main = sessions.iter().find(|session| session.session == "main").expect("it is reported");
    assert_eq!(main.calls, 201);
}
