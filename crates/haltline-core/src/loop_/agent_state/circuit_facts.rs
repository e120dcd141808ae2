//! What a fact about a circuit changes in the rest of an agent's state (L5).

use super::*;

impl AgentState {
    pub(super) fn apply_circuit_fact(&mut self, fact: &CircuitFact, at: Moment) {
        let mut closing = None;
        match fact {
            CircuitFact::Warned { key, pattern, .. } if pattern.nature() == Nature::Loop => {
                self.no_progress.last_warning = Some(*key);
                self.fruitless_searches.is_warned |= *pattern == Pattern::FruitlessSearches;
            }
            CircuitFact::Denied { level, call, response, turn, .. } => {
                self.is_stopped |= *level == EscalationLevel::Stop;
                if let Some(call) = call {
                    self.on_call_denied(*call, *response, *turn);
                }
            }
            CircuitFact::HalfOpened { cause, .. } => self.is_stopped &= *cause != HalfOpenCause::Person,
            CircuitFact::Allowed { .. } => self.is_stopped = false,
            CircuitFact::Reset { incident, .. } => {
                self.is_stopped = false;
                closing = incident.as_ref();
                if incident.is_none() {
                    self.forget_counts();
                }
            }
            CircuitFact::FalsePositive { incident, .. } => {
                self.is_stopped = false;
                closing = Some(incident);
            }
            CircuitFact::Recovered { incident } | CircuitFact::Lapsed { incident } => closing = Some(incident),
            CircuitFact::Warned { .. }
            | CircuitFact::Tripped { .. }
            | CircuitFact::Limited { .. }
            | CircuitFact::AllowanceUsed { .. }
            | CircuitFact::ProbeTaken { .. }
            | CircuitFact::ProbeAbandoned { .. } => {}
        }
        let closing = closing
            .and_then(|incident| self.circuits.tripped_by(incident))
            .map(|tripped| (tripped.trip.pattern, tripped.trip.key));
        self.circuits.apply(fact, at);
        if let Some((pattern, key)) = closing {
            self.on_circuit_closed(pattern, key);
        }
    }

    /// A turn whose only call was denied is a turn: the next attempt escalates (E5).
    fn on_call_denied(&mut self, call: Digest, response: Option<Digest>, turn: u64) {
        if turn != self.turn.number {
            self.deliveries.denied_calls.clear();
        }
        self.turn.add_call(turn, response);
        self.deliveries.recent_sources.clear();
        self.deliveries.remember_denied(call);
    }

    /// A person closed all circuits, so nothing counts any more.
    fn forget_counts(&mut self) {
        self.completed.iter_mut().for_each(|completed| completed.set(CallFlag::CircuitClosedSince));
        self.no_progress.clear(|_| false);
        self.compaction = Compaction::default();
        self.repeated_text = RepeatedText::default();
        self.cost_growth = CostGrowth::default();
        self.error_kinds.clear();
        self.fruitless_searches = FruitlessSearches::default();
        self.missing_programs.clear();
        self.continuation.clear_counts();
        self.hook_runs = HookRuns::default();
        self.spawn_turns.clear();
        self.permission_denials.clear_counts();
    }

    /// Makes everything that a circuit had counted no longer count, because the circuit closed (L5).
    fn on_circuit_closed(&mut self, pattern: Pattern, key: Digest) {
        self.hook_runs.forget(key);
        if pattern.nature() == Nature::Loop {
            self.clear_no_progress();
            self.error_kinds.forget(key);
            self.missing_programs.forget(key);
        }
        if pattern == Pattern::FruitlessSearches {
            self.fruitless_searches = FruitlessSearches::default();
        }
        if pattern == Pattern::AgentSpawn {
            self.spawn_turns.clear();
        }
        if pattern == Pattern::Denials {
            self.permission_denials.clear_counts();
        }
        if pattern == Pattern::Compaction {
            self.compaction = Compaction::default();
        }
        if pattern == Pattern::Chanting {
            self.repeated_text = RepeatedText::default();
        }
        if pattern == Pattern::IdleContinuation {
            self.continuation.clear_counts();
        }
        if pattern == Pattern::CostGrowth {
            self.cost_growth = CostGrowth::default();
        }
        for completed in &mut self.completed {
            // A cycle's key is not the key of any of its calls, so all calls start again from zero.
            let is_its_own =
                completed.identity == key || completed.tool == key || futile_key(completed.identity) == key;
            if pattern == Pattern::Cycle || is_its_own {
                completed.set(CallFlag::CircuitClosedSince);
            }
        }
    }
}
