//! The constraint breaker: violations of a named rule, counted over weeks (seed 003; C1–C8).
//!
//! A circuit trips when the counted violations in its rolling window reach the threshold. It stays OPEN for its
//! cooldown and is then HALF_OPEN until a clean action closes it or one violation re-opens it. Time alone never
//! closes it.

mod apply;
mod circuit;
mod decide;
mod foreign;
mod limits;

pub use crate::circuit::{Cooldown, StateName};
pub use apply::apply;
pub use circuit::{Circuit, CircuitState, CircuitStateAt, Override, RequestedRule, Totals, Trip, TripRecord};
pub use decide::{Check, ConstraintRequest, check, decide};
pub use foreign::{ForeignCircuit, ForeignViolation, fingerprint};
pub use limits::{Guard, LimitError, Limits, Loosened, Rule, RuleFile, Source};

use serde::{Deserialize, Serialize};

use crate::fact::{FactKind, synced, unsynced};
use crate::{Instant, Operator, counted};

/// The code of a trip: the circuit is OPEN, and haltline denies the action.
pub const TRIP_CODE: &str = "HL-CON-02";

/// Why a circuit opened.
pub fn trip_text(violations: u32, window_days: u32) -> String {
    format!("{} counted within {}", counted(violations, "violation"), counted(window_days, "day"))
}

/// An event that concerns a constraint's circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstraintEvent {
    /// An action violated the rule.
    Violation { action: String },
    /// An action respected the rule under enforcement, which closes a HALF_OPEN circuit.
    Clean {
        /// The action, if the caller named it.
        action: Option<String>,
        /// The generation of the check that allowed the action, if known: an older generation changes no state (E12).
        generation: Option<u64>,
    },
    /// Check, act and report in one: denied while OPEN unless an override is ready (C8).
    Enforce { action: String, violated: bool },
    /// A person closes the circuit, or clears the window of a closed one.
    Reset(Operator),
    /// A person ends the circuit for good.
    Retire(Operator),
    /// A person allows one action that would be denied.
    Override {
        /// How long the override can be used.
        lifetime_ms: u64,
        operator: Operator,
    },
    /// A person revokes an unused override.
    Revoke(Operator),
    /// A person accepts limits that are looser than those in force.
    TrustRule(Operator),
    /// haltline found a state file that contains this constraint.
    StateFileFound(ForeignCircuit),
}

impl ConstraintEvent {
    /// The stable text that the journal keeps as the cause.
    pub fn cause(&self) -> &'static str {
        match self {
            ConstraintEvent::Violation { .. } => "violation",
            ConstraintEvent::Clean { .. } => "clean",
            ConstraintEvent::Enforce { .. } => "enforce",
            ConstraintEvent::Reset(_) => "reset",
            ConstraintEvent::Retire(_) => "retire",
            ConstraintEvent::Override { .. } => "override",
            ConstraintEvent::Revoke(_) => "revoke",
            ConstraintEvent::TrustRule(_) => "trust",
            ConstraintEvent::StateFileFound(_) => "state_file",
        }
    }
}

/// How a violation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It counts towards the threshold.
    Counted,
    /// It came within the dedup window of a counted violation, so it is only recorded as a repeat (C3).
    Deduplicated,
    /// It came while the circuit was OPEN, so it does not count towards the threshold (C2, E4).
    WhileOpen,
    /// It was imported and is older than the last close or than the window, so it no longer counts.
    #[serde(rename = "past")]
    Expired,
}

/// What became true of a constraint's circuit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// This rule is in force from now on.
    RuleSet {
        rule: Rule,
        /// The file that sets the rule.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Source>,
        /// The person who accepted the rule, if it loosened the previous one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trusted_by: Option<String>,
    },
    /// The file asks for a looser rule, which waits for the operator (E9).
    #[serde(rename = "rule_asked")]
    RuleRequested { rule: Rule, source: Source },
    /// haltline took over the state of a file that another program wrote.
    Adopted {
        state: StateName,
        /// The last trip according to that file.
        last_trip: Option<Instant>,
        /// The last reset according to that file.
        last_reset: Option<Instant>,
        /// The current trip, unless the state is CLOSED.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trip: Option<Trip>,
    },
    /// An action violated the rule.
    Violated {
        weight: Weight,
        /// Identifies the violation among those of a state file.
        fingerprint: String,
        /// True if the violation came from a state file.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        imported: bool,
    },
    /// The circuit went to OPEN.
    Tripped { trip: Trip },
    /// The cooldown ended and the circuit went to HALF_OPEN.
    HalfOpened,
    /// An action respected the rule.
    Passed,
    /// A clean action closed the HALF_OPEN circuit.
    Recovered,
    /// A person closed the circuit, or cleared its window.
    Reset { who: String },
    /// haltline denied an action.
    #[serde(rename = "refused")]
    Denied,
    /// A person allowed one action.
    OverrideGranted { granted: Override },
    /// The allowed action took place.
    OverrideSpent,
    /// A person revoked the override.
    OverrideRevoked { who: String },
    /// A person ended the circuit for good.
    Retired {
        who: String,
        /// When the constraint was created, according to its file.
        created: Option<Instant>,
    },
}

impl Fact {
    /// The fact's stable name in listings, and whether it is synced: trips and operator actions are.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            Fact::RuleSet { trusted_by, .. } => FactKind { name: "rule_set", needs_sync: trusted_by.is_some() },
            Fact::RuleRequested { .. } => unsynced("rule_asked"),
            Fact::Adopted { .. } => synced("adopted"),
            Fact::Violated { weight: Weight::Counted, .. } => unsynced("violated"),
            Fact::Violated { weight: Weight::Deduplicated, .. } => unsynced("violated_again"),
            Fact::Violated { weight: Weight::WhileOpen, .. } => unsynced("violated_while_open"),
            Fact::Violated { weight: Weight::Expired, .. } => unsynced("violated_before"),
            Fact::Tripped { .. } => synced("tripped"),
            Fact::HalfOpened => unsynced("half_opened"),
            Fact::Passed => unsynced("passed"),
            Fact::Recovered => synced("recovered"),
            Fact::Reset { .. } => synced("reset"),
            Fact::Denied => unsynced("refused"),
            Fact::OverrideGranted { .. } => synced("override_granted"),
            Fact::OverrideSpent => synced("override_spent"),
            Fact::OverrideRevoked { .. } => synced("override_revoked"),
            Fact::Retired { .. } => synced("retired"),
        }
    }
}
