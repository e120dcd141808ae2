//! Events that several hook sources deliver, in any order, count once: the same verdicts and the same rows (L4, E5).

use haltline_core::identity::{Action, CallResult, DeniedBy, Outcome};
use haltline_core::loop_::{BatchEnd, CallContext, CallIds, LoopEvent, Protections, TurnEnd};
use haltline_core::{Decision, State};
use proptest::prelude::*;

use crate::loop_::world::Sessions;

/// One thing that a client reports.
#[derive(Clone, Debug)]
enum Act {
    /// A response with these calls and their results, one after another or in parallel.
    Response(Vec<(Action, CallResult)>, bool),
    Prompt(bool),
    Stop(bool),
    Compaction,
    SessionStarts,
    SessionEnds,
    Wait(u64),
}

/// How a client reports its calls.
#[derive(Clone, Copy, Debug)]
enum ClientKind {
    MarksBatches,
    GivesResponseIds,
    Plain,
    GivesStartIds,
}

/// The same session, delivered by one hook source and by several.
struct Twins {
    one: Sessions,
    many: Sessions,
    client_kind: ClientKind,
    responses: u32,
    calls: u32,
}

impl Twins {
    fn new(client_kind: ClientKind) -> Self {
        let mut one = Sessions::new();
        one.agent.marks_batches = matches!(client_kind, ClientKind::MarksBatches);
        one.agent.call_ids =
            if matches!(client_kind, ClientKind::GivesStartIds) { CallIds::StartOnly } else { CallIds::Stable };
        // With these limits, few acts reach every escalation level.
        one.policy.loop_.repeat.warn = 2;
        one.policy.loop_.repeat.deny = 3;
        one.policy.loop_.agents.concurrent_max = 2;
        Self { many: one.clone(), one, client_kind, responses: 0, calls: 0 }
    }

    /// Reports the event from one hook source to `one`, and from all sources to `many`.
    fn report(&mut self, event: &LoopEvent, sources: &[u8]) -> Decision {
        self.one.agent.hook_source = Some("source 0".to_owned());
        let decision = self.one.report(event.clone());
        let (mut verdicts, mut notices) = (Vec::new(), Vec::new());
        for source in sources {
            self.many.agent.hook_source = Some(format!("source {source}"));
            let delivered = self.many.report(event.clone());
            verdicts.push(delivered.verdict);
            notices.extend(delivered.notices);
        }
        assert_eq!(notices, decision.notices, "{event:?}");
        let strongest = verdicts.iter().max_by_key(|verdict| verdict.severity());
        assert_eq!(strongest, Some(&decision.verdict), "{event:?}");
        if event.unidentified().is_none() && decision.verdict.denies() {
            assert!(verdicts.iter().all(|verdict| *verdict == decision.verdict), "{event:?}: {verdicts:?}");
        }
        assert_eq!(rows(&self.many), rows(&self.one), "{event:?}");
        decision
    }

    fn start(&mut self, call: &str, action: &Action, sources: &[u8]) -> bool {
        let response = matches!(self.client_kind, ClientKind::GivesResponseIds).then(|| format!("m{}", self.responses));
        let event = LoopEvent::ToolStart {
            call: call.to_owned(),
            response,
            action: Box::new(action.clone()),
            context: CallContext::Gathered(Protections { guarded: Vec::new(), touched: Vec::new(), tampering: None }),
        };
        !self.report(&event, sources).verdict.denies()
    }

    fn end(&mut self, call: &str, action: &Action, result: &CallResult, sources: &[u8]) {
        let call = if matches!(self.client_kind, ClientKind::GivesStartIds) {
            format!("{call} over")
        } else {
            call.to_owned()
        };
        let (action, result) = (Some(Box::new(action.clone())), Box::new(result.clone()));
        self.report(&LoopEvent::ToolEnd { call, action, result }, sources);
    }

    fn response(&mut self, calls: &[(Action, CallResult)], is_parallel: bool, sources: &[u8]) {
        self.responses += 1;
        let mut running = Vec::new();
        for (call, result) in calls {
            self.calls += 1;
            let name = format!("c{}", self.calls);
            if !self.start(&name, call, sources) {
                continue;
            }
            if !is_parallel {
                self.end(&name, call, result, sources);
            }
            running.push((name, call, result));
        }
        for (name, call, result) in running.iter().filter(|_| is_parallel) {
            self.end(name, call, result, sources);
        }
        if matches!(self.client_kind, ClientKind::MarksBatches) {
            let ends = running.iter().map(|(name, action, result)| BatchEnd {
                call: name.clone(),
                action: (*action).clone(),
                result: (*result).clone(),
            });
            let ends = ends.collect();
            self.report(&LoopEvent::Batch { ends }, sources);
        }
    }

    fn perform(&mut self, act: &Act, sources: &[u8]) {
        let event = match act {
            Act::Response(calls, is_parallel) => return self.response(calls, *is_parallel, sources),
            Act::Wait(millis) => {
                self.one.clock.advance(*millis);
                return self.many.clock.advance(*millis);
            }
            Act::Prompt(by_user) => LoopEvent::Prompt { by_user: *by_user, bypass: false },
            Act::Stop(blocked) => LoopEvent::Stop { blocked: *blocked, running: None, end: TurnEnd::Idle },
            Act::Compaction => LoopEvent::Compaction { trigger: "auto".to_owned(), has_shrunk: None },
            Act::SessionStarts => LoopEvent::SessionStart { model: None, resumed: false, is_nested: false },
            Act::SessionEnds => LoopEvent::SessionEnd { reason: "exit".to_owned() },
        };
        self.report(&event, sources);
    }
}

/// The rows without the hook sources in them.
fn rows(world: &Sessions) -> Vec<State> {
    let mut rows: Vec<State> = world.rows.values().cloned().collect();
    for row in &mut rows {
        if let State::Agent(agent) = row {
            agent.deliveries.hook_source = None;
            agent.deliveries.recent_sources.clear();
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
    let result = prop_oneof![
        4 => Just(CallResult::new(Outcome::Failed, Some(2), "boom")),
        2 => Just(CallResult::new(Outcome::Ok, None, "same")),
        1 => Just(CallResult::new(Outcome::Ok, None, "other")),
        1 => Just(CallResult { denied_by: Some(DeniedBy::Permission), ..CallResult::new(Outcome::Denied, None, "") }),
        1 => Just(CallResult { sub_agent: Some("a1".to_owned()), is_sub_agent_running: true, ..CallResult::new(Outcome::Ok, None, "on") }),
    ];
    prop_oneof![
        12 => (prop::collection::vec((call, result), 1..4), any::<bool>())
            .prop_map(|(calls, is_parallel)| Act::Response(calls, is_parallel)),
        1 => any::<bool>().prop_map(Act::Prompt),
        3 => any::<bool>().prop_map(Act::Stop),
        1 => Just(Act::Compaction),
        1 => Just(Act::SessionStarts),
        1 => Just(Act::SessionEnds),
        2 => prop_oneof![Just(1_u64), Just(5_000), Just(40_000)].prop_map(Act::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_session_delivered_by_several_hook_sources_equals_the_same_session_delivered_by_one(
        client_kind in prop_oneof![
            Just(ClientKind::MarksBatches), Just(ClientKind::GivesResponseIds), Just(ClientKind::Plain), Just(ClientKind::GivesStartIds),
        ],
        acts in prop::collection::vec((act(), Just(vec![0_u8, 1, 2]).prop_shuffle()), 0..40),
    ) {
        let mut twins = Twins::new(client_kind);
        for (act, sources) in &acts {
            twins.perform(act, sources);
        }
    }
}
