//! A stopped agent stays stopped: a prompt that the client sends by itself does not resume it; a person does (E5).

use haltline_core::identity::{Action, Digest, Looks, WordSet};
use haltline_core::loop_::{AgentRef, CallContext, LoopEvent, Protections, Verb, decide_verb};
use haltline_core::{
    CircuitName, Decision, Event, Halt, Instant, Memory, Mode, Moment, Operator, Policy, State, Verdict, apply, decide,
};

/// A session and its memory, as an engine would keep it.
struct World {
    memory: Memory,
    policy: Policy,
    agent: AgentRef,
    now: Moment,
}

impl World {
    fn new(mode: Mode) -> Self {
        let (client, session) = ("claude".to_owned(), "s1".to_owned());
        let agent = AgentRef { client, session, marks_batches: true, ..AgentRef::default() };
        let now = Moment::from_wall_clock(Instant::from_millis(1_770_000_000_000));
        let policy = Policy { mode, ..Policy::default() };
        let mut world = Self { memory: Memory::default(), policy, agent, now };
        world.report(&LoopEvent::SessionStart { model: None, resumed: false, is_nested: false });
        world
    }

    fn report(&mut self, event: &LoopEvent) -> Verdict {
        self.now = self.now.plus_millis(1_000);
        loop {
            let event =
                Event::Loop { agent: self.agent.clone(), event: event.clone(), policy: "p".to_owned(), calendar: None };
            match decide(&self.memory, &self.policy, &event, self.now) {
                Err(Halt::Needs(names)) => self.read(names),
                Ok(decision) => return self.commit(decision),
                Err(Halt::Rejected(rejection)) => panic!("{rejection:?}"),
            }
        }
    }

    fn read(&mut self, names: Vec<CircuitName>) {
        for name in names {
            self.memory.insert(name, None);
        }
    }

    fn commit(&mut self, decision: Decision) -> Verdict {
        for recorded in decision.facts {
            let state: Option<State> = self.memory.state(&recorded.circuit).cloned();
            let state = apply(state, &recorded.fact, recorded.at);
            self.memory.insert(recorded.circuit, Some(state));
        }
        decision.verdict
    }

    /// One turn in which the agent tries to control haltline itself: haltline denies it the first time, then ends the
    /// turn.
    fn tamper(&mut self, call: &str) -> Verdict {
        let action = Action {
            tool: "Bash".to_owned(),
            identity: Digest::from_parts(&[b"reset"]),
            command: Some("haltline reset".to_owned()),
            script: None,
            path: None,
            targets: Vec::new(),
            is_spawn: false,
            is_write: false,
            is_search: false,
            is_wait: false,
            looks: Looks::default(),
            printed: Vec::new(),
            is_saving: false,
            words: WordSet::from_text("haltline reset"),
            shown: "haltline reset".to_owned(),
        };
        let verdict = self.report(&LoopEvent::ToolStart {
            call: call.to_owned(),
            response: None,
            action: Box::new(action),
            context: CallContext::Gathered(Protections {
                guarded: Vec::new(),
                touched: Vec::new(),
                tampering: Some("run `haltline reset`".to_owned()),
            }),
        });
        self.report(&LoopEvent::Batch { ends: Vec::new() });
        verdict
    }

    fn resumes_on_notice(&mut self) -> bool {
        match self.report(&LoopEvent::Prompt { by_user: false, bypass: false }) {
            Verdict::Pass => true,
            Verdict::Stop(reason) => {
                assert_eq!(reason.code, "HL-STOP-01");
                false
            }
            Verdict::Warn(reason) | Verdict::Deny(reason) => panic!("{reason:?}"),
        }
    }
}

fn stopped(mode: Mode) -> World {
    let mut world = World::new(mode);
    world.tamper("t1");
    // After a denial the agent still works: its sub-agents may report.
    assert!(world.resumes_on_notice());
    world.tamper("t2");
    world
}

#[test]
fn a_prompt_from_the_client_leaves_a_stopped_agent_stopped() {
    let mut world = stopped(Mode::Enforce);
    assert!(!world.resumes_on_notice());
    assert!(!world.resumes_on_notice(), "each time");
}

#[test]
fn a_prompt_from_a_person_resumes_a_stopped_agent() {
    let mut world = stopped(Mode::Enforce);
    assert_eq!(world.report(&LoopEvent::Prompt { by_user: true, bypass: false }), Verdict::Pass);
    assert!(world.resumes_on_notice());
}

#[test]
fn resetting_its_circuits_resumes_a_stopped_agent() {
    let mut world = stopped(Mode::Enforce);
    let operator = Operator { who: "anna".to_owned(), reason: None };
    let row = CircuitName::agent("s1", None);
    let step = decide_verb(&world.memory, &row, &Verb::Reset { incident: None }, &operator, world.now);
    let step = match step {
        Err(Halt::Needs(names)) => {
            world.read(names.into_iter().filter(|name| *name != row).collect());
            decide_verb(&world.memory, &row, &Verb::Reset { incident: None }, &operator, world.now)
        }
        other => other,
    };
    let Ok(decision) = step else { panic!("{step:?}") };
    world.commit(decision);
    assert!(world.resumes_on_notice());
}

#[test]
fn observe_mode_never_keeps_an_agent_stopped() {
    assert!(stopped(Mode::Observe).resumes_on_notice());
}
