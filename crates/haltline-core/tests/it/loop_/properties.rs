//! Properties of the loop breaker under any history: rows are the fold of facts, no input panics, denials are readable
//! and no two in a row have the same text, limits admit exactly as many as they say, and an OPEN circuit denies.

use haltline_core::loop_::{CircuitState, Preset};
use haltline_core::{Decision, Fact, Mode, State, apply};
use proptest::prelude::*;

use crate::loop_::acts::{Act, Call, Returned, perform};
use crate::loop_::world::Sessions;

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => prop_oneof![Just("make"), Just("python oracle.py"), Just("grep x y")].prop_map(Call::Shell),
        4 => prop_oneof![Just("a"), Just("b"), Just("c")].prop_map(Call::Read),
        1 => (0..3_u8).prop_map(Call::Write),
        2 => (0..3_u8).prop_map(Call::Spawn),
        1 => (".{0,300}", ".{0,300}").prop_map(|(tool, input)| Call::Odd(tool, input)),
        1 => ("[A-Z]{1,9}", "[\u{0}-\u{ff}€😀]{200,400}")
            .prop_map(|(tool, text)| Call::Odd(tool, serde_json::json!({"command": text}).to_string())),
    ]
}

fn returned() -> impl Strategy<Value = Returned> {
    prop_oneof![
        6 => Just(Returned::Ok("same")),
        1 => Just(Returned::Ok("other")),
        6 => Just(Returned::Failed("boom")),
        1 => Just(Returned::Failed("another")),
        1 => Just(Returned::Denied),
        1 => Just(Returned::Rejected),
        1 => Just(Returned::Cancelled),
        1 => Just(Returned::RateLimited),
        1 => Just(Returned::Unknown),
        1 => (1..4_u8).prop_map(Returned::SubAgent),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => prop_oneof![Just(1), Just(1_000), Just(10_000), Just(600_000), Just(86_400_000)].prop_map(Act::Wait),
        1 => prop_oneof![Just(-3_600_000_i64), Just(3_600_000)].prop_map(Act::StepWall),
        1 => Just(Act::Reboot),
        1 => (0..3_u8).prop_map(Act::Agent),
        16 => (call(), returned()).prop_map(|(call, returned)| Act::Run(call, returned)),
        6 => (0..4_u8, call()).prop_map(|(name, call)| Act::Start(name, call)),
        6 => (0..4_u8, returned()).prop_map(|(name, returned)| Act::End(name, returned)),
        2 => prop::collection::vec(0..4_u8, 0..3).prop_map(Act::Batch),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(by_user, bypass)| Act::Prompt { by_user, bypass }),
        2 => Just(Act::Hook),
        1 => any::<bool>().prop_map(|blocked| Act::Stop { blocked }),
        1 => (1..4_u8).prop_map(Act::SubAgentBegins),
        1 => (1..4_u8).prop_map(Act::SubAgentEnds),
        1 => (0..200_u64, prop::option::of(0..500_000_u64)).prop_map(|(tokens, cost)| Act::Spent { tokens, cost }),
        1 => Just(Act::SessionEnds),
        1 => prop_oneof![Just(Act::Reset), Just(Act::ResetAll), Just(Act::Resume), Just(Act::FalsePositive), Just(Act::Revoke)],
    ]
}

fn world() -> impl Strategy<Value = Sessions> {
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(batched, literal, observes, budgeted)| {
        let mut world = Sessions::new();
        world.agent.marks_batches = batched;
        world.policy.loop_.choose(if literal { Preset::Literal } else { Preset::Default });
        world.policy.mode = if observes { Mode::Observe } else { Mode::Enforce };
        if budgeted {
            world.policy.loop_.budget.tokens.soft = Some(300);
            world.policy.loop_.budget.tokens.hard = Some(600);
            world.policy.loop_.agents.on_full = haltline_core::loop_::OnFull::StopOldest;
        }
        world
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// `perform` itself checks that each fact fits the circuit it changes, and that rows are what the facts made them.
    #[test]
    fn rows_are_the_fold_of_facts_that_were_written_and_read_again(
        mut world in world(),
        acts in prop::collection::vec(act(), 0..60),
    ) {
        for act in &acts {
            let observes = world.policy.mode == Mode::Observe;
            if let Some(decision) = perform(&mut world, act) {
                prop_assert!(!observes || decision.verdict == haltline_core::Verdict::Pass, "observing refuses nobody");
            }
        }
        let mut rows = std::collections::BTreeMap::new();
        for recorded in &world.journal {
            let written = serde_json::to_string(&recorded.fact).expect("a fact can be written");
            let fact: Fact = serde_json::from_str(&written).expect("and read");
            prop_assert_eq!(&fact, &recorded.fact);
            let row = apply(rows.remove(&recorded.circuit), &fact, recorded.at);
            rows.insert(recorded.circuit.clone(), row);
        }
        prop_assert_eq!(&rows, &world.rows);
        for row in world.rows.values() {
            let written = serde_json::to_string(row).expect("a row can be written");
            prop_assert!(written.len() < 32_768, "a row of {} bytes", written.len());
            let read: State = serde_json::from_str(&written).expect("and read");
            prop_assert_eq!(&read, row);
        }
    }

    #[test]
    fn two_denials_in_a_row_never_read_the_same(
        mut world in world(),
        acts in prop::collection::vec(act(), 0..40),
        repeated in call(),
    ) {
        // The agent makes the same call over and over, whatever else happens in between.
        let mut last = None;
        for act in &acts {
            perform(&mut world, act);
            for _ in 0..2 {
                let decision = perform(&mut world, &Act::Run(repeated.clone(), Returned::Ok("same")));
                let text = decision.filter(|decision| decision.verdict.denies()).and_then(text);
                let is_closing = matches!(act, Act::Reset | Act::ResetAll | Act::FalsePositive | Act::Resume | Act::Agent(_));
                if !is_closing && let (Some(last), Some(text)) = (&last, &text) {
                    prop_assert_ne!(last, text);
                }
                last = text;
            }
        }
    }

    #[test]
    fn concurrent_spawn_requests_start_exactly_as_many_agents_as_the_limit(
        spawners in prop::collection::vec(0..4_u8, 0..30),
        limit in 1..9_u32,
        on_batches in any::<bool>(),
    ) {
        let mut world = Sessions::new();
        world.agent.marks_batches = on_batches;
        world.policy.loop_.agents.concurrent_max = limit;
        world.policy.loop_.agents.spawns_max = 99;
        let mut admitted = 0;
        for (place, spawner) in spawners.iter().enumerate() {
            world.agent.sub_agent = (*spawner > 0).then(|| format!("a{spawner}"));
            // Each gets another task: the same task twice is denied for another reason.
            let task = Call::Spawn(u8::try_from(place).expect("few"));
            let decision = world.start(&format!("call {place}"), task.action());
            admitted += u32::from(!decision.verdict.denies());
        }
        prop_assert_eq!(admitted, limit.min(u32::try_from(spawners.len()).expect("few")));
    }
}

fn text(decision: Decision) -> Option<String> {
    decision.verdict.reason().map(|reason| reason.text.clone())
}

/// One command, and everything that can happen to it.
fn alphabet() -> Vec<Act> {
    let make = || Call::Shell("make");
    vec![
        Act::Run(make(), Returned::Failed("boom")),
        Act::Run(make(), Returned::Ok("same")),
        Act::Run(Call::Write(1), Returned::Ok("done")),
        Act::Start(1, make()),
        Act::End(1, Returned::Failed("boom")),
        Act::End(1, Returned::Ok("fine")),
        Act::Wait(10_000),
        Act::Prompt { by_user: true, bypass: false },
        Act::Resume,
    ]
}

#[test]
fn in_every_history_of_five_acts_an_open_circuit_passes_no_call_and_has_at_most_one_probe() {
    let alphabet = alphabet();
    let width = alphabet.len();
    for (is_batched, deep) in [(true, 5), (false, 4)] {
        let mut world = Sessions::new();
        world.agent.marks_batches = is_batched;
        // Two failures trip, and the third call of a series is denied: five acts reach every state.
        world.policy.loop_.tool_failure.threshold = 2;
        world.policy.loop_.repeat.warn = 2;
        world.policy.loop_.repeat.deny = 3;
        let steps: usize = (1..=deep).map(|depth| width.pow(depth)).sum();
        assert_eq!(explore(&world, &alphabet, deep), steps);
    }
}

/// Plays every continuation, and returns how many steps were checked.
fn explore(world: &Sessions, alphabet: &[Act], depth: u32) -> usize {
    if depth == 0 {
        return 0;
    }
    let continued = alphabet.iter().map(|act| {
        let mut world = world.clone();
        let make = Call::Shell("make").action().identity;
        let now = world.clock.now();
        let is_open = world.agent_state().is_some_and(|agent_state| {
            matches!(agent_state.circuits.state_at(make, now), CircuitState::Open(_) | CircuitState::Probing(_))
        });
        let is_known = |name: &str, world: &Sessions| world.calls.contains_key(name);
        let starts_call = match act {
            Act::Run(Call::Shell(_), _) => true,
            // An id that was used before is the same call, delivered again.
            Act::Start(name, _) => !is_known(&format!("n{name}"), &world),
            _other => false,
        };
        let decision = perform(&mut world, act);
        if starts_call {
            let decision = decision.expect("a call is decided");
            assert!(!is_open || decision.verdict.denies(), "{act:?} got through\n{:#?}", world.journal);
        }
        1 + explore(&world, alphabet, depth - 1)
    });
    continued.sum()
}
