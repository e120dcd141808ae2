//! The constraint family: violations of a named rule, counted over weeks (seed 003; C1–C8).
//!
//! A circuit trips when the counted violations in its rolling window reach the threshold, stays OPEN for its
//! cooldown, is then on trial (HALF_OPEN) until a clean action closes it or one violation re-opens it. Time alone
//! never closes it.

mod apply;
mod circuit;
mod decide;
mod foreign;
mod limits;

pub use apply::apply;
pub use circuit::{Circuit, Condition, Cooldown, Override, RuleAsked, Standing, StandingAt, Totals, Trip, TripRecord};
pub use decide::{Question, check, decide};
pub use foreign::{Foreign, ForeignViolation, fingerprint};
pub use limits::{Guard, LimitError, Limits, Loosened, Rule, Seen, Source};

use serde::{Deserialize, Serialize};

use crate::{Instant, Operator};

/// What can happen to a constraint's circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The rule was violated.
    Violation {
        /// By what.
        action: String,
    },
    /// The rule was respected under enforcement: what closes a circuit that is on trial.
    Clean {
        /// By what, if said.
        action: Option<String>,
        /// The generation of the check that allowed it, if known: an older one moves no state (E12).
        generation: Option<u64>,
    },
    /// Check, act and report in one: refused while OPEN unless an override is ready (C8).
    Enforce {
        /// The action in question.
        action: String,
        /// Whether it violates the rule.
        violated: bool,
    },
    /// A person closes the circuit, or clears the window of a closed one.
    Reset(Operator),
    /// A person ends the circuit for good.
    Retire(Operator),
    /// A person allows one refused action.
    Override {
        /// For how long it may be used.
        lifetime_ms: u64,
        /// Who allows it.
        operator: Operator,
    },
    /// A person takes an unused override back.
    Revoke(Operator),
    /// A person accepts limits that are looser than those in force.
    TrustRule(Operator),
    /// A state file of this constraint was found.
    Found(Foreign),
}

impl Happening {
    /// The word the journal keeps.
    pub fn cause(&self) -> &'static str {
        match self {
            Happening::Violation { .. } => "violation",
            Happening::Clean { .. } => "clean",
            Happening::Enforce { .. } => "enforce",
            Happening::Reset(_) => "reset",
            Happening::Retire(_) => "retire",
            Happening::Override { .. } => "override",
            Happening::Revoke(_) => "revoke",
            Happening::TrustRule(_) => "trust",
            Happening::Found(_) => "state_file",
        }
    }
}

/// How much a violation weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It counts towards the threshold.
    Counted,
    /// It came within the dedup window of a counted one (C3).
    Deduplicated,
    /// It came while the circuit was OPEN (C2, E4).
    WhileOpen,
    /// It was imported and lies before the last close, or before the window.
    Past,
}

/// What became true of a constraint's circuit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// This rule is in force from now on.
    RuleSet {
        /// The limits and guards.
        rule: Rule,
        /// The file it was read from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Source>,
        /// The person who accepted it, where it loosened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trusted_by: Option<String>,
    },
    /// The file asks for a looser rule, which waits for the operator (E9).
    RuleAsked {
        /// What the file says.
        rule: Rule,
        /// The file.
        source: Source,
    },
    /// A state file written elsewhere was taken over.
    Adopted {
        /// In this state.
        state: Condition,
        /// When it last tripped, by that file.
        last_trip: Option<Instant>,
        /// When it was last reset, by that file.
        last_reset: Option<Instant>,
        /// The trip it is in, unless CLOSED.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trip: Option<Trip>,
    },
    /// The rule was violated.
    Violated {
        /// How much it weighs.
        weight: Weight,
        /// What tells it from others in a state file.
        fingerprint: String,
        /// It came from a state file.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        imported: bool,
    },
    /// The circuit opened.
    Tripped {
        /// Until when, and under which incident.
        trip: Trip,
    },
    /// The cooldown ended; the circuit is on trial.
    HalfOpened,
    /// A clean action.
    Passed,
    /// A clean action on trial closed the circuit.
    Recovered,
    /// A person closed it, or cleared its window.
    Reset {
        /// Who.
        who: String,
    },
    /// An action was refused.
    Refused,
    /// A person allowed one action.
    OverrideGranted {
        /// What may be used.
        granted: Override,
    },
    /// The allowed action took place.
    OverrideSpent,
    /// A person took the override back.
    OverrideRevoked {
        /// Who.
        who: String,
    },
    /// A person ended the circuit for good.
    Retired {
        /// Who.
        who: String,
        /// When the constraint was made, by its file.
        created: Option<Instant>,
    },
}

impl Fact {
    /// Trips and what people do must survive a power cut.
    pub fn is_momentous(&self) -> bool {
        match self {
            Fact::Tripped { .. }
            | Fact::Adopted { .. }
            | Fact::Recovered
            | Fact::Reset { .. }
            | Fact::OverrideGranted { .. }
            | Fact::OverrideSpent
            | Fact::OverrideRevoked { .. }
            | Fact::Retired { .. } => true,
            Fact::RuleSet { trusted_by, .. } => trusted_by.is_some(),
            Fact::RuleAsked { .. } | Fact::Violated { .. } | Fact::HalfOpened | Fact::Passed | Fact::Refused => false,
        }
    }

    /// The word for it in listings.
    pub fn word(&self) -> &'static str {
        match self {
            Fact::RuleSet { .. } => "rule_set",
            Fact::RuleAsked { .. } => "rule_asked",
            Fact::Adopted { .. } => "adopted",
            Fact::Violated { weight: Weight::Counted, .. } => "violated",
            Fact::Violated { weight: Weight::Deduplicated, .. } => "violated_again",
            Fact::Violated { weight: Weight::WhileOpen, .. } => "violated_while_open",
            Fact::Violated { weight: Weight::Past, .. } => "violated_before",
            Fact::Tripped { .. } => "tripped",
            Fact::HalfOpened => "half_opened",
            Fact::Passed => "passed",
            Fact::Recovered => "recovered",
            Fact::Reset { .. } => "reset",
            Fact::Refused => "refused",
            Fact::OverrideGranted { .. } => "override_granted",
            Fact::OverrideSpent => "override_spent",
            Fact::OverrideRevoked { .. } => "override_revoked",
            Fact::Retired { .. } => "retired",
        }
    }
}
