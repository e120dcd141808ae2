//! Renders actual results in the language of `testdata/loop/*.txt`, so that they can be compared as text.

use haltline_core::Moment;
use haltline_core::loop_::{CircuitState, Circuits, HalfOpenCause, TrippedState};

use crate::language::interpreter::Screen;
use crate::language::outcome::{Outcome, contains, or_none};
use crate::loop_::script::LoopRules;

impl Screen for LoopRules {
    fn last(&self) -> &Outcome {
        &self.last
    }

    fn headline(&self, _expected: &str) -> String {
        self.last.verdict_and_code().unwrap_or_else(|rejected| rejected)
    }

    fn part(&self, key: &str, expected: &str) -> Option<String> {
        let (agent_state, tree, now) = (self.world.agent_state(), self.world.tree(), self.world.clock.now());
        let number = match key {
            "circuits" => return Some(circuits(agent_state.map(|agent_state| &agent_state.circuits), now)),
            "shared" => return Some(circuits(tree.map(|tree| &tree.circuits), now)),
            "provider" => {
                return Some(circuits(self.world.provider().map(|provider| &provider.circuits), now));
            }
            "notifies" => return Some(self.notifies(expected)),
            "turn" => agent_state.map(|agent_state| agent_state.turn.number),
            "calls" => agent_state.map(|agent_state| agent_state.totals.calls),
            "failed" => agent_state.map(|agent_state| agent_state.totals.failed),
            "unended" => agent_state.map(|agent_state| agent_state.totals.unended),
            "denied" => agent_state.map(|agent_state| agent_state.circuits.denied),
            "trips" => agent_state.map(|agent_state| agent_state.circuits.trips),
            "live" => tree.map(|tree| tree.live() as u64),
            "spawns" => tree.map(|tree| tree.spawns),
            "api-calls" => tree.map(|tree| tree.api.count),
            "turns-used" => tree.map(|tree| tree.spent.turns),
            "tokens" => tree.map(|tree| tree.spent.tokens),
            "saved" => tree.map(|tree| tree.saving_calls_used.into()),
            _unknown => return None,
        };
        Some(number.map_or("none".to_owned(), |number| number.to_string()))
    }
}

impl LoopRules {
    fn notifies(&self, expected: &str) -> String {
        match self.last.notices() {
            [] => "nobody".to_owned(),
            notices => contains(expected, &notices.join("\n")),
        }
    }
}

/// Every circuit that is not CLOSED, by pattern, with the rest of its cooldown.
fn circuits(circuits: Option<&Circuits>, now: Moment) -> String {
    let tripped = circuits.map(|circuits| circuits.tripped.as_slice()).unwrap_or_default();
    let shown = tripped.iter().filter_map(|tripped| {
        let state = match circuits?.state_at(tripped.trip.key, now) {
            CircuitState::Open(trip) => {
                let left = trip.remaining_ms(now).unwrap_or_default();
                format!("OPEN {}s", left.div_ceil(1000))
            }
            CircuitState::HalfOpen(..) => "HALF_OPEN".to_owned(),
            CircuitState::Probing(_) => "PROBING".to_owned(),
            CircuitState::Closed => return None,
        };
        let suffix = match &tripped.state {
            TrippedState::HalfOpen(HalfOpenCause::Write) => " by a write",
            TrippedState::HalfOpen(HalfOpenCause::Person) => " by a person",
            TrippedState::HalfOpen(HalfOpenCause::NewResult) => " by a new result",
            TrippedState::HalfOpen(HalfOpenCause::Cooldown) | TrippedState::Open | TrippedState::Probing(_) => "",
        };
        Some(format!("{} {state}{suffix}", tripped.trip.pattern.as_str()))
    });
    or_none(shown.collect())
}
