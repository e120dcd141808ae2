//! What a fact about a circuit changes in the rest of an agent's state (L5).

use super::*;

impl AgentState {
    pub(super) fn apply_circuit_fact(&mut self, fact: &CircuitFact, at: Moment) {
        match fact {
            CircuitFact::Warned { key, pattern, .. } => match pattern.nature() {
                Nature::Loop => self.no_progress.last_warning = Some(*key),
                Nature::Resource | Nature::Rule => {}
            },
            CircuitFact::Denied { level: EscalationLevel::Stop, .. } => self.is_stopped = true,
            CircuitFact::Reset { .. }
            | CircuitFact::FalsePositive { .. }
            | CircuitFact::HalfOpened { cause: HalfOpenCause::Person, .. } => self.is_stopped = false,
            CircuitFact::Tripped { .. }
            | CircuitFact::Limited { .. }
            | CircuitFact::HalfOpened {
                cause: HalfOpenCause::Cooldown | HalfOpenCause::Write | HalfOpenCause::NewResult,
                ..
            }
            | CircuitFact::ProbeTaken { .. }
            | CircuitFact::ProbeAbandoned { .. }
            | CircuitFact::Recovered { .. }
            | CircuitFact::Lapsed { .. }
            | CircuitFact::Denied { level: EscalationLevel::Deny, .. } => {}
        }
        // A circuit that closes empties its window (L5).
        let closing = match fact {
            CircuitFact::Recovered { incident }
            | CircuitFact::Lapsed { incident }
            | CircuitFact::FalsePositive { incident, .. }
            | CircuitFact::Reset { incident: Some(incident), .. } => {
                self.circuits.tripped_by(incident).map(|tripped| (tripped.trip.pattern, tripped.trip.key))
            }
            CircuitFact::Reset { incident: None, .. } => {
                self.completed.iter_mut().for_each(|completed| completed.set(CallFlag::CircuitClosedSince));
                self.no_progress.clear(|_| false);
                self.compaction = Compaction::default();
                self.repeated_text = RepeatedText::default();
                self.cost_growth = CostGrowth::default();
                self.hook_runs = HookRuns::default();
                self.spawn_turns.clear();
                self.permission_denials.clear_counts();
                None
            }
            CircuitFact::Warned { .. }
            | CircuitFact::Tripped { .. }
            | CircuitFact::Limited { .. }
            | CircuitFact::HalfOpened { .. }
            | CircuitFact::ProbeTaken { .. }
            | CircuitFact::ProbeAbandoned { .. } => None,
            CircuitFact::Denied { call, response, turn, .. } => {
                if let Some(call) = call {
                    // A turn whose only call was denied is a turn: the next attempt escalates (E5).
                    if *turn != self.turn.number {
                        self.deliveries.denied_calls.clear();
                    }
                    self.turn.add_call(*turn, *response);
                    self.deliveries.recent_sources.clear();
                    self.deliveries.remember_denied(*call);
                }
                None
            }
        };
        self.circuits.apply(fact, at);
        if let Some((pattern, key)) = closing {
            self.on_circuit_closed(pattern, key);
        }
    }

    /// Makes everything that a circuit had counted no longer count, because the circuit closed (L5).
    fn on_circuit_closed(&mut self, pattern: Pattern, key: Digest) {
        self.hook_runs.forget(key);
        match pattern.nature() {
            Nature::Loop => self.clear_no_progress(),
            Nature::Resource | Nature::Rule => {}
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
