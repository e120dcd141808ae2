//! What is told through several doors, in any order, is told once: the same answers, the same rows (L4, E5).

#[path = "support/clock.rs"]
mod clock;
#[path = "support/sessions.rs"]
mod sessions;

use haltline_core::identity::{Action, Answer, By, Outcome};
use haltline_core::loop_::{BatchEnd, Happening, Naming};
use haltline_core::{Decision, State};
use proptest::prelude::*;
use sessions::Sessions;

/// One thing that a client tells.
#[derive(Clone, Debug)]
enum Act {
    /// A response with these calls and what comes back, one after the other or all at once.
    Response(Vec<(Action, Answer)>, bool),
    Prompt(bool),
    Stop(bool),
    Compaction,
    Begins,
    Ends,
    Wait(u64),
}

/// How a client speaks of its calls.
#[derive(Clone, Copy, Debug)]
enum Manner {
    MarksBatches,
    NamesResponses,
    Plain,
    NamesStarts,
}

/// The same session, told through one door and through several.
struct Twins {
    one: Sessions,
    many: Sessions,
    manner: Manner,
    responses: u32,
    calls: u32,
}

impl Twins {
    fn new(manner: Manner) -> Self {
        let mut one = Sessions::new();
        one.stream.is_batched = matches!(manner, Manner::MarksBatches);
        one.stream.naming = if matches!(manner, Manner::NamesStarts) { Naming::Begun } else { Naming::Own };
        // Few acts reach every rung.
        one.policy.loop_.repeat.warn = 2;
        one.policy.loop_.repeat.deny = 3;
        one.policy.loop_.agents.concurrent_max = 2;
        Self { many: one.clone(), one, manner, responses: 0, calls: 0 }
    }

    /// Tells it through one door here and through all of them there.
    fn tell(&mut self, what: &Happening, doors: &[u8]) -> Decision {
        self.one.stream.door = Some("door 0".to_owned());
        let decision = self.one.tell(what.clone());
        let (mut verdicts, mut notices) = (Vec::new(), Vec::new());
        for door in doors {
            self.many.stream.door = Some(format!("door {door}"));
            let told = self.many.tell(what.clone());
            verdicts.push(told.verdict);
            notices.extend(told.notices);
        }
        assert_eq!(notices, decision.notices, "{what:?}");
        let strongest = verdicts.iter().max_by_key(|verdict| verdict.severity());
        assert_eq!(strongest, Some(&decision.verdict), "{what:?}");
        if what.nameless().is_none() && decision.verdict.refuses() {
            assert!(verdicts.iter().all(|verdict| *verdict == decision.verdict), "{what:?}: {verdicts:?}");
        }
        assert_eq!(rows(&self.many), rows(&self.one), "{what:?}");
        decision
    }

    fn start(&mut self, call: &str, action: &Action, doors: &[u8]) -> bool {
        let message = matches!(self.manner, Manner::NamesResponses).then(|| format!("m{}", self.responses));
        let what = Happening::ToolStart {
            call: call.to_owned(),
            message,
            action: Box::new(action.clone()),
            guarded: Vec::new(),
            touched: Vec::new(),
            tampering: None,
        };
        !self.tell(&what, doors).verdict.refuses()
    }

    fn end(&mut self, call: &str, action: &Action, answer: &Answer, doors: &[u8]) {
        let call = if matches!(self.manner, Manner::NamesStarts) { format!("{call} over") } else { call.to_owned() };
        let (action, answer) = (Some(Box::new(action.clone())), Box::new(answer.clone()));
        self.tell(&Happening::ToolEnd { call, action, answer }, doors);
    }

    fn response(&mut self, calls: &[(Action, Answer)], is_parallel: bool, doors: &[u8]) {
        self.responses += 1;
        let mut running = Vec::new();
        for (call, came) in calls {
            self.calls += 1;
            let name = format!("c{}", self.calls);
            if !self.start(&name, call, doors) {
                continue;
            }
            if !is_parallel {
                self.end(&name, call, came, doors);
            }
            running.push((name, call, came));
        }
        for (name, call, came) in running.iter().filter(|_| is_parallel) {
            self.end(name, call, came, doors);
        }
        if matches!(self.manner, Manner::MarksBatches) {
            let ends = running.iter().map(|(name, action, answer)| BatchEnd {
                call: name.clone(),
                action: (*action).clone(),
                answer: (*answer).clone(),
            });
            let ends = ends.collect();
            self.tell(&Happening::Batch { ends }, doors);
        }
    }

    fn perform(&mut self, act: &Act, doors: &[u8]) {
        let what = match act {
            Act::Response(calls, is_parallel) => return self.response(calls, *is_parallel, doors),
            Act::Wait(millis) => {
                self.one.clock.advance(*millis);
                return self.many.clock.advance(*millis);
            }
            Act::Prompt(by_user) => Happening::Prompt { by_user: *by_user, bypass: false },
            Act::Stop(blocked) => Happening::Stop { blocked: *blocked, running: None },
            Act::Compaction => Happening::Compaction { trigger: "auto".to_owned() },
            Act::Begins => Happening::SessionStart { model: None, resumed: false, is_nested: false },
            Act::Ends => Happening::SessionEnd { reason: "exit".to_owned() },
        };
        self.tell(&what, doors);
    }
}

/// The rows without a word of who told.
fn rows(world: &Sessions) -> Vec<State> {
    let mut rows: Vec<State> = world.rows.values().cloned().collect();
    for row in &mut rows {
        if let State::Lane(lane) = row {
            lane.door = None;
            lane.told.clear();
        }
    }
    rows
}

fn action(tool: &str, input: &str) -> Action {
    Action::new(tool, input, Some("/project"))
}

fn act() -> impl Strategy<Value = Act> {
    let call = prop_oneof![
        4 => Just(action("Bash", r#"{"command": "make"}"#)),
        2 => Just(action("Read", r#"{"file_path": "a"}"#)),
        1 => Just(action("Edit", r#"{"file_path": "a", "old_string": "x", "new_string": "y"}"#)),
        1 => Just(action("Task", r#"{"prompt": "look"}"#)),
    ];
    let came = prop_oneof![
        4 => Just(Answer::new(Outcome::Failed, Some(2), "boom")),
        2 => Just(Answer::new(Outcome::Ok, None, "same")),
        1 => Just(Answer::new(Outcome::Ok, None, "other")),
        1 => Just(Answer { by: Some(By::Permission), ..Answer::new(Outcome::Denied, None, "") }),
        1 => Just(Answer { child: Some("a1".to_owned()), is_running: true, ..Answer::new(Outcome::Ok, None, "on") }),
    ];
    prop_oneof![
        12 => (prop::collection::vec((call, came), 1..4), any::<bool>())
            .prop_map(|(calls, is_parallel)| Act::Response(calls, is_parallel)),
        1 => any::<bool>().prop_map(Act::Prompt),
        3 => any::<bool>().prop_map(Act::Stop),
        1 => Just(Act::Compaction),
        1 => Just(Act::Begins),
        1 => Just(Act::Ends),
        2 => prop_oneof![Just(1_u64), Just(5_000), Just(40_000)].prop_map(Act::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn through_any_number_of_doors_a_session_is_the_one_it_is_through_one(
        manner in prop_oneof![
            Just(Manner::MarksBatches), Just(Manner::NamesResponses), Just(Manner::Plain), Just(Manner::NamesStarts),
        ],
        acts in prop::collection::vec((act(), Just(vec![0_u8, 1, 2]).prop_shuffle()), 0..40),
    ) {
        let mut twins = Twins::new(manner);
        for (act, doors) in &acts {
            twins.perform(act, doors);
        }
    }
}
