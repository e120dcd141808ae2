//! Prepares the texts of an event for the store: secrets are masked and lengths are capped (E10).
//!
//! Every text that a decision may write into a fact passes through here. What a test runner printed and what claims say
//! stays verbatim; it is masked where it is shown.

use std::borrow::Cow;

use haltline_core::attempt::{self, Justification};
use haltline_core::constraint::ConstraintEvent;
use haltline_core::loop_::{self, Verb};
use haltline_core::{Event, Operator, phase, trust};

use crate::redact::{mask, storable};

/// The event with its texts in the form that may be stored (E10).
pub(crate) fn storable_event(event: Event) -> Event {
    match event {
        Event::Constraint { id, session, file: seen, event } => Event::Constraint {
            id,
            session: session.map(|session| storable(&session)),
            file: seen,
            event: match event {
                ConstraintEvent::Violation { action } => ConstraintEvent::Violation { action: storable(&action) },
                ConstraintEvent::Clean { action, generation } => {
                    ConstraintEvent::Clean { action: action.map(|action| storable(&action)), generation }
                }
                ConstraintEvent::Enforce { action, violated } => {
                    ConstraintEvent::Enforce { action: storable(&action), violated }
                }
                ConstraintEvent::Reset(operator) => ConstraintEvent::Reset(storable_operator(operator)),
                ConstraintEvent::Retire(operator) => ConstraintEvent::Retire(storable_operator(operator)),
                ConstraintEvent::Override { lifetime_ms, operator } => {
                    ConstraintEvent::Override { lifetime_ms, operator: storable_operator(operator) }
                }
                ConstraintEvent::Revoke(operator) => ConstraintEvent::Revoke(storable_operator(operator)),
                ConstraintEvent::TrustRule(operator) => ConstraintEvent::TrustRule(storable_operator(operator)),
                // Redacted when it was read.
                ConstraintEvent::StateFileFound(foreign) => ConstraintEvent::StateFileFound(foreign),
            },
        },
        Event::Loop { agent, event, policy } => Event::Loop { agent, event: storable_loop_event(event), policy },
        Event::Circuits { row, verb, operator } => {
            let verb = match verb {
                Verb::Resume { incident, hint } => Verb::Resume { incident, hint: hint.map(|hint| storable(&hint)) },
                Verb::Reset { .. } | Verb::FalsePositive { .. } => verb,
            };
            Event::Circuits { row, verb, operator: storable_operator(operator) }
        }
        Event::Revoke { incident, operator } => Event::Revoke { incident, operator: storable_operator(operator) },
        Event::Attempt { slice, session, case_sensitivity, event } => Event::Attempt {
            slice,
            session: session.map(|session| storable(&session)),
            case_sensitivity,
            event: storable_attempt(event),
        },
        Event::Phase { phase_run, session, bounds, event } => Event::Phase {
            phase_run,
            session: session.map(|session| storable(&session)),
            bounds,
            event: storable_phase(event),
        },
        // Kept word for word; secrets are flagged when the text arrives and masked when it is shown (E10).
        Event::Claim { pipeline, session, event } => {
            Event::Claim { pipeline, session: session.map(|session| storable(&session)), event }
        }
        Event::Trust(event) => Event::Trust(match event {
            trust::TrustEvent::TrustContent { digest, operator } => {
                trust::TrustEvent::TrustContent { digest, operator: storable_operator(operator) }
            }
            trust::TrustEvent::TrustLimits { values, operator } => {
                trust::TrustEvent::TrustLimits { values, operator: storable_operator(operator) }
            }
            see @ trust::TrustEvent::LimitsSeen { .. } => see,
        }),
    }
}

fn storable_operator(operator: Operator) -> Operator {
    Operator { who: operator.who, reason: operator.reason.map(|reason| storable(&reason)) }
}

/// The error's identity was computed from its whole text before; the displayed part is stored like any other text.
fn storable_phase(event: phase::PhaseEvent) -> phase::PhaseEvent {
    use phase::{Choice, PhaseEvent};
    match event {
        PhaseEvent::Begin { phase, joining, operator } => {
            PhaseEvent::Begin { phase, joining, operator: operator.map(storable_operator) }
        }
        PhaseEvent::Report(mut report) => {
            if let Some(error) = &mut report.error {
                error.shown = storable(&error.shown);
                error.kind = storable(&error.kind);
            }
            report.neutral = report.neutral.map(|reason| storable(&reason));
            PhaseEvent::Report(report)
        }
        PhaseEvent::Decide { choice, operator } => {
            let choice = match choice {
                Choice::Modify { guidance } => Choice::Modify { guidance: storable(&guidance) },
                choice @ (Choice::Reset | Choice::Skip | Choice::Abort) => choice,
            };
            PhaseEvent::Decide { choice, operator: storable_operator(operator) }
        }
        // Redacted when it was read.
        other @ (PhaseEvent::StateFileFound(_)
        | PhaseEvent::Ask { .. }
        | PhaseEvent::AutoReset
        | PhaseEvent::Finish(_)) => other,
    }
}

/// What a test runner printed is kept unchanged and masked only when shown; other texts are stored as usual (E10).
fn storable_attempt(event: attempt::AttemptEvent) -> attempt::AttemptEvent {
    use attempt::AttemptEvent;
    match event {
        AttemptEvent::Begin { scope, checkpoint, operator } => {
            AttemptEvent::Begin { scope, checkpoint, operator: operator.map(storable_operator) }
        }
        AttemptEvent::Ask { test, strategy } => {
            AttemptEvent::Ask { test, strategy: strategy.map(|strategy| storable(&strategy)) }
        }
        AttemptEvent::Attempt(mut attempt) => {
            attempt.strategy = storable(&attempt.strategy);
            attempt.summary = storable(&attempt.summary);
            if let Some(error) = &mut attempt.error {
                // The caller need not know how much is kept, or what looks like a secret.
                let from = error.text.ceil_char_boundary(error.text.len().saturating_sub(attempt::Printed::BYTES_MAX));
                error.text.drain(..from);
                error.has_secrets = matches!(mask(&error.text), Cow::Owned(_));
            }
            AttemptEvent::Attempt(attempt)
        }
        AttemptEvent::Touch(mut touch) => {
            if let Some(justification) = &mut touch.justification {
                let Justification { failing_test, reason, relationship, .. } = justification;
                for text in [failing_test, reason, relationship] {
                    *text = storable(text);
                }
            }
            AttemptEvent::Touch(touch)
        }
        AttemptEvent::Deviate { rule, description, file } => {
            AttemptEvent::Deviate { rule, description: storable(&description), file }
        }
        AttemptEvent::RollBack { rollback, operator } => {
            AttemptEvent::RollBack { rollback, operator: storable_operator(operator) }
        }
        AttemptEvent::Reset { guidance, rollback, operator } => {
            AttemptEvent::Reset { guidance: storable(&guidance), rollback, operator: storable_operator(operator) }
        }
        AttemptEvent::End { operator } => AttemptEvent::End { operator: operator.map(storable_operator) },
        // A report was masked when it was read.
        other @ (AttemptEvent::OutOfScopeChange { .. } | AttemptEvent::File { .. } | AttemptEvent::HandOut) => other,
    }
}

/// Of calls and results only the displayed text is ever stored.
fn storable_loop_event(event: loop_::LoopEvent) -> loop_::LoopEvent {
    use loop_::LoopEvent::{Batch, ToolEnd, ToolStart};
    match event {
        ToolStart { call, response, mut action, context } => {
            action.shown = storable(&action.shown);
            ToolStart { call, response, action, context }
        }
        ToolEnd { call, mut action, mut result } => {
            if let Some(action) = &mut action {
                action.shown = storable(&action.shown);
            }
            result.shown = storable(&result.shown);
            ToolEnd { call, action, result }
        }
        Batch { mut ends } => {
            for end in &mut ends {
                end.action.shown = storable(&end.action.shown);
                end.result.shown = storable(&end.result.shown);
            }
            Batch { ends }
        }
        other => other,
    }
}
