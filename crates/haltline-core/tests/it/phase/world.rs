//! A phase run in a test world: its row, the journal, the limits and the clocks.

use haltline_core::phase::{Bounds, PhaseEvent, PhaseRun};
use haltline_core::{CircuitName, Decision, Event, Policy, Recorded, Rejection, State};

use crate::clock::Clock;
use crate::engine::{self, Rows};

/// Everything that a decision sees, and everything that the decisions so far produced.
#[derive(Clone, Debug)]
pub struct World {
    pub clock: Clock,
    pub policy: Policy,
    pub name: CircuitName,
    pub session: Option<String>,
    /// Limits that replace the policy's.
    pub bounds: Option<Bounds>,
    pub rows: Rows,
    pub journal: Vec<Recorded>,
}

impl World {
    /// 1 January 2026, a machine that was just started, the default limits, and no phase run.
    pub fn new() -> Self {
        Self {
            clock: Clock::new_year(),
            policy: Policy::default(),
            name: CircuitName::phase_run("session", ".prp-session", None),
            session: None,
            bounds: None,
            rows: Rows::new(),
            journal: Vec::new(),
        }
    }

    pub fn event(&self, event: PhaseEvent) -> Event {
        Event::Phase { phase_run: self.name.clone(), session: self.session.clone(), bounds: self.bounds, event }
    }

    /// Decides an event now and commits the decision.
    pub fn handle(&mut self, event: PhaseEvent) -> Result<Decision, Rejection> {
        let event = self.event(event);
        let now = self.clock.now();
        engine::handle_alone(&self.name, &mut self.rows, &mut self.journal, &self.policy, &event, now)
    }

    pub fn phase_run(&self) -> Option<&PhaseRun> {
        self.rows.get(&self.name).and_then(State::as_phase_run)
    }
}
