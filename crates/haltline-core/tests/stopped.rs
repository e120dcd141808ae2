//! A stop holds: what the client sends by itself does not set a stopped agent going again; a person's word does (E5).

use haltline_core::identity::{Action, Digest, Words};
use haltline_core::loop_::{Happening, Stream, Verb, decide_verb};
use haltline_core::{
    CircuitName, Decision, Event, Instant, Memory, Mode, Moment, Operator, Policy, State, Step, Verdict, apply, decide,
};

/// A session and its memory, as an engine would keep it.
struct Watched {
    memory: Memory,
    policy: Policy,
    stream: Stream,
    now: Moment,
}

impl Watched {
    fn new(mode: Mode) -> Self {
        let (client, session) = ("claude".to_owned(), "s1".to_owned());
        let stream = Stream { client, session, is_batched: true, ..Stream::default() };
        let now = Moment::recorded(Instant::from_millis(1_770_000_000_000));
        let policy = Policy { mode, ..Policy::default() };
        let mut watched = Self { memory: Memory::default(), policy, stream, now };
        watched.happens(&Happening::SessionStart { model: None, resumed: false, is_nested: false });
        watched
    }

    fn happens(&mut self, what: &Happening) -> Verdict {
        self.now = self.now.plus_millis(1_000);
        loop {
            let event = Event::Loop { stream: self.stream.clone(), what: what.clone(), policy: "p".to_owned() };
            match decide(&self.memory, &self.policy, &event, self.now) {
                Step::Needs(names) => self.read(names),
                Step::Decided(decision) => return self.keep(decision),
                Step::Rejected(rejection) => panic!("{rejection:?}"),
            }
        }
    }

    fn read(&mut self, names: Vec<CircuitName>) {
        for name in names {
            self.memory.insert(name, None);
        }
    }

    fn keep(&mut self, decision: Decision) -> Verdict {
        for recorded in decision.facts {
            let state: Option<State> = self.memory.state(&recorded.circuit).cloned();
            let state = apply(state, &recorded.fact, recorded.at);
            self.memory.insert(recorded.circuit, Some(state));
        }
        decision.verdict
    }

    /// One turn of an agent that reaches for haltline itself, which is refused the first time and then ends the turn.
    fn reaches(&mut self, call: &str) -> Verdict {
        let action = Action {
            tool: "Bash".to_owned(),
            identity: Digest::of(&[b"reset"]),
            command: Some("haltline reset".to_owned()),
            path: None,
            targets: Vec::new(),
            is_spawn: false,
            is_write: false,
            is_search: false,
            is_wait: false,
            is_saving: false,
            words: Words::of("haltline reset"),
            shown: "haltline reset".to_owned(),
        };
        let verdict = self.happens(&Happening::ToolStart {
            call: call.to_owned(),
            message: None,
            action: Box::new(action),
            guarded: Vec::new(),
            touched: Vec::new(),
            tampering: Some("run `haltline reset`".to_owned()),
        });
        self.happens(&Happening::Batch { ends: Vec::new() });
        verdict
    }

    fn is_woken(&mut self) -> bool {
        match self.happens(&Happening::Prompt { by_user: false, bypass: false }) {
            Verdict::Pass => true,
            Verdict::Stop(reason) => {
                assert_eq!(reason.code, "HL-STOP-01");
                false
            }
            Verdict::Warn(reason) | Verdict::Deny(reason) => panic!("{reason:?}"),
        }
    }
}

fn stopped(mode: Mode) -> Watched {
    let mut watched = Watched::new(mode);
    watched.reaches("t1");
    // A refusal leaves the agent at work: its sub-agents may report.
    assert!(watched.is_woken());
    watched.reaches("t2");
    watched
}

#[test]
fn what_the_client_sends_by_itself_leaves_a_stopped_agent_stopped() {
    let mut watched = stopped(Mode::Enforce);
    assert!(!watched.is_woken());
    assert!(!watched.is_woken(), "each time");
}

#[test]
fn a_person_who_writes_sets_it_going_again() {
    let mut watched = stopped(Mode::Enforce);
    assert_eq!(watched.happens(&Happening::Prompt { by_user: true, bypass: false }), Verdict::Pass);
    assert!(watched.is_woken());
}

#[test]
fn a_person_who_resets_its_circuits_sets_it_going_again() {
    let mut watched = stopped(Mode::Enforce);
    let operator = Operator { who: "anna".to_owned(), reason: None };
    let row = CircuitName::lane("s1", None);
    let step = decide_verb(&watched.memory, &row, &Verb::Reset { incident: None }, &operator, watched.now);
    let step = match step {
        Step::Needs(names) => {
            watched.read(names.into_iter().filter(|name| *name != row).collect());
            decide_verb(&watched.memory, &row, &Verb::Reset { incident: None }, &operator, watched.now)
        }
        other => other,
    };
    let Step::Decided(decision) = step else { panic!("{step:?}") };
    watched.keep(decision);
    assert!(watched.is_woken());
}

#[test]
fn nobody_is_kept_stopped_who_is_only_observed() {
    assert!(stopped(Mode::Observe).is_woken());
}
