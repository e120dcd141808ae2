//! The texts of an event that a decision may write into a fact (E10).

use super::{Event, Operator};
use crate::attempt::AttemptEvent;
use crate::constraint::ConstraintEvent;
use crate::control::ControlEvent;
use crate::ledger::LedgerEvent;
use crate::loop_::{LoopEvent, Verb};
use crate::phase::{Choice, PhaseEvent};
use crate::trust::TrustEvent;

impl Event {
    /// The texts that may be masked and shortened before they are stored. What a test runner printed and what claims say
    /// stays verbatim and is not among them.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            Event::Constraint { session, event, .. } => of_constraint(event).into_iter().chain(session).collect(),
            Event::Loop { event, .. } => of_loop(event),
            Event::Circuits { verb: Verb::Resume { hint, .. }, operator, .. } => {
                hint.iter_mut().chain(&mut operator.reason).collect()
            }
            Event::Circuits { verb: Verb::Reset { .. } | Verb::FalsePositive { .. }, operator, .. }
            | Event::Revoke { operator, .. }
            | Event::Trust(TrustEvent::TrustContent { operator, .. } | TrustEvent::TrustLimits { operator, .. }) => {
                operator.reason.iter_mut().collect()
            }
            Event::Attempt { session, event, .. } => of_attempt(event).into_iter().chain(session).collect(),
            Event::Phase { session, event, .. } => of_phase(event).into_iter().chain(session).collect(),
            Event::Claim { session, .. } => session.iter_mut().collect(),
            Event::Trust(TrustEvent::LimitsSeen { .. }) => Vec::new(),
            Event::Control(event) => of_control(event),
            Event::Ledger(LedgerEvent::Raise { operator, .. }) => operator.reason.iter_mut().collect(),
            Event::Provider(_) => Vec::new(),
        }
    }
}

fn of_control(event: &mut ControlEvent) -> Vec<&mut String> {
    match event {
        ControlEvent::Pause { operator, .. } | ControlEvent::Unpause(operator) => operator.reason.iter_mut().collect(),
        ControlEvent::ConfigChanged { change, operator, .. } => {
            [change].into_iter().chain(&mut operator.reason).collect()
        }
        // A pause is limited to a session by its exact name.
        ControlEvent::SessionEnded { .. } | ControlEvent::SwitchedOff { .. } => Vec::new(),
    }
}

fn of_constraint(event: &mut ConstraintEvent) -> Vec<&mut String> {
    match event {
        ConstraintEvent::Violation { action } | ConstraintEvent::Enforce { action, .. } => vec![action],
        ConstraintEvent::Clean { action, .. } => action.iter_mut().collect(),
        ConstraintEvent::Reset(operator)
        | ConstraintEvent::Retire(operator)
        | ConstraintEvent::Override { operator, .. }
        | ConstraintEvent::Revoke(operator)
        | ConstraintEvent::TrustRule(operator) => operator.reason.iter_mut().collect(),
        // Masked when it was read.
        ConstraintEvent::StateFileFound(_) => Vec::new(),
    }
}

/// Of calls and results only the displayed text is ever stored.
fn of_loop(event: &mut LoopEvent) -> Vec<&mut String> {
    match event {
        LoopEvent::ToolStart { action, .. } => vec![&mut action.shown],
        LoopEvent::ToolEnd { action, result, .. } => {
            action.iter_mut().map(|action| &mut action.shown).chain([&mut result.shown]).collect()
        }
        LoopEvent::Batch { ends } => {
            ends.iter_mut().flat_map(|end| [&mut end.action.shown, &mut end.result.shown]).collect()
        }
        LoopEvent::SessionStart { .. }
        | LoopEvent::Prompt { .. }
        | LoopEvent::Message { .. }
        | LoopEvent::ModelStart
        | LoopEvent::SpawnStart { .. }
        | LoopEvent::SpawnEnd { .. }
        | LoopEvent::Hook { .. }
        | LoopEvent::Stop { .. }
        | LoopEvent::Compaction { .. }
        | LoopEvent::Cleanup { .. }
        | LoopEvent::HooksRemoved { .. }
        | LoopEvent::Forged { .. }
        | LoopEvent::ProviderFault(_)
        | LoopEvent::SessionEnd { .. } => Vec::new(),
    }
}

fn of_attempt(event: &mut AttemptEvent) -> Vec<&mut String> {
    match event {
        AttemptEvent::Begin { operator, .. } | AttemptEvent::End { operator } => reason(operator),
        AttemptEvent::Ask { strategy, .. } => strategy.iter_mut().collect(),
        AttemptEvent::Attempt(attempt) => vec![&mut attempt.strategy, &mut attempt.summary],
        AttemptEvent::Touch(touch) => {
            let forms = touch.justification.iter_mut();
            forms.flat_map(|form| [&mut form.failing_test, &mut form.reason, &mut form.relationship]).collect()
        }
        AttemptEvent::Deviate { description, .. } => vec![description],
        AttemptEvent::RollBack { operator, .. } => operator.reason.iter_mut().collect(),
        AttemptEvent::Reset { guidance, operator, .. } => [guidance].into_iter().chain(&mut operator.reason).collect(),
        // A report was masked when it was read.
        AttemptEvent::OutOfScopeChange { .. } | AttemptEvent::File { .. } | AttemptEvent::HandOut => Vec::new(),
    }
}

/// The error's identity was computed from its whole text before; only the displayed part is stored.
fn of_phase(event: &mut PhaseEvent) -> Vec<&mut String> {
    match event {
        PhaseEvent::Begin { operator, .. } => reason(operator),
        PhaseEvent::Report(report) => {
            let error = report.error.iter_mut().flat_map(|error| [&mut error.shown, &mut error.kind]);
            error.chain(&mut report.neutral).collect()
        }
        PhaseEvent::Decide { choice: Choice::Modify { guidance }, operator } => {
            [guidance].into_iter().chain(&mut operator.reason).collect()
        }
        PhaseEvent::Decide { choice: Choice::Reset | Choice::Skip | Choice::Abort, operator } => {
            operator.reason.iter_mut().collect()
        }
        // A state file was masked when it was read.
        PhaseEvent::StateFileFound(_)
        | PhaseEvent::Ask { .. }
        | PhaseEvent::Look
        | PhaseEvent::AutoReset
        | PhaseEvent::Finish(_) => Vec::new(),
    }
}

fn reason(operator: &mut Option<Operator>) -> Vec<&mut String> {
    operator.iter_mut().flat_map(|operator| &mut operator.reason).collect()
}
