//! The number of rounds that make a dispute, and the limits on sizes (D5, E10, E11).

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Rounds on one objection without a change that make a claim DISPUTED.
    pub circuit_breaker_rounds: u32,
    /// Why the number of rounds is above three; without a reason three apply.
    pub circuit_breaker_rounds_reason: String,
    /// Rounds on one claim, whatever the objections, that make it DISPUTED; 0 means no ceiling.
    #[serde(default = "rounds_max")]
    pub rounds_max: u32,
    /// The stage that cannot close while a claim is DISPUTED.
    pub final_stage: String,
}

fn rounds_max() -> u32 {
    Limits::ROUNDS_MAX
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            circuit_breaker_rounds: Self::ROUNDS,
            circuit_breaker_rounds_reason: String::new(),
            rounds_max: Self::ROUNDS_MAX,
            final_stage: Self::FINAL_STAGE.to_owned(),
        }
    }
}

impl Limits {
    /// Seed 004's number of rounds.
    pub const ROUNDS: u32 = 3;
    /// A review that has not ended after so many rounds ends no other way.
    pub const ROUNDS_MAX: u32 = 8;
    /// Seed 004's final stage.
    pub const FINAL_STAGE: &'static str = "S5";
    /// Limit on one text in bytes. A longer text is an error; haltline never cuts it.
    pub const TEXT_BYTES_MAX: usize = 256 * 1024;
    /// Limit in bytes on the name of an objection, a reviewer or a round, and on the kind of a claim.
    pub const LABEL_BYTES_MAX: usize = 200;
    /// Limit on all texts of one claim together, in bytes.
    pub const CLAIM_BYTES_MAX: u64 = 4 * 1024 * 1024;
    /// Limit on all texts of one pipeline together, in bytes.
    pub const PIPELINE_BYTES_MAX: u64 = 16 * 1024 * 1024;
    pub const CLAIMS_MAX: usize = 2_000;
    pub const OBJECTIONS_MAX: usize = 256;
    /// Limit on the pieces of evidence, tests, assumptions and dependencies of one claim, each.
    pub const ITEMS_MAX: usize = 256;
    /// Limit on the closed stages of one pipeline.
    pub const STAGES_MAX: usize = 256;

    /// The number of rounds that applies: more than three only with a reason (D5).
    pub fn rounds(&self) -> u32 {
        if self.is_raised() && !self.has_reason() { Self::ROUNDS } else { self.circuit_breaker_rounds.max(1) }
    }

    /// The rounds on one claim after which it is DISPUTED: never fewer than those on one objection.
    pub fn ceiling(&self) -> Option<u32> {
        (self.rounds_max > 0).then(|| self.rounds_max.max(self.rounds()))
    }

    /// True if all values are the defaults. Every hook calls this, so it allocates nothing.
    pub(crate) fn is_default(&self) -> bool {
        let Self { circuit_breaker_rounds, circuit_breaker_rounds_reason, rounds_max, final_stage } = self;
        *circuit_breaker_rounds == Self::ROUNDS
            && *rounds_max == Self::ROUNDS_MAX
            && circuit_breaker_rounds_reason.is_empty()
            && final_stage == Self::FINAL_STAGE
    }

    /// True if the configured number of rounds is above the seed's.
    pub fn is_raised(&self) -> bool {
        self.circuit_breaker_rounds > Self::ROUNDS
    }

    /// True if the configuration gives a reason for that.
    pub fn has_reason(&self) -> bool {
        !self.circuit_breaker_rounds_reason.trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_value_is_not_the_default() {
        let plain = Limits::default();
        assert!(plain.is_default());
        for changed in [
            Limits { circuit_breaker_rounds: 4, ..plain.clone() },
            Limits { rounds_max: 9, ..plain.clone() },
            Limits { circuit_breaker_rounds_reason: "x".to_owned(), ..plain.clone() },
            Limits { final_stage: "S6".to_owned(), ..plain },
        ] {
            assert!(!changed.is_default(), "{changed:?}");
        }
    }

    #[test]
    fn more_than_three_rounds_need_a_reason() {
        let with = |rounds, reason: &str| Limits {
            circuit_breaker_rounds: rounds,
            circuit_breaker_rounds_reason: reason.to_owned(),
            ..Limits::default()
        };
        let rounds = [with(5, " "), with(5, "slow lab"), with(2, ""), with(3, "")].map(|limits| limits.rounds());
        assert_eq!(rounds, [3, 5, 2, 3]);
    }
}
