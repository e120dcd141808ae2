//! How much patience the family has, and how large anything in it may become (D5, E10, E11).

use serde::{Deserialize, Serialize};

/// The limits of the family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// So many rounds on one objection without a change make a claim DISPUTED.
    pub circuit_breaker_rounds: u32,
    /// Why that is more than three: without a reason three apply.
    pub circuit_breaker_rounds_reason: String,
    /// The stage that does not close while a claim is DISPUTED.
    pub final_stage: String,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            circuit_breaker_rounds: Self::ROUNDS,
            circuit_breaker_rounds_reason: String::new(),
            final_stage: Self::FINAL_STAGE.to_owned(),
        }
    }
}

impl Limits {
    /// Seed 004's number of rounds.
    pub const ROUNDS: u32 = 3;
    /// Seed 004's final stage.
    pub const FINAL_STAGE: &'static str = "S5";
    /// The longest text, in bytes. A longer one is refused, never cut.
    pub const TEXT_BYTES_MAX: usize = 256 * 1024;
    /// The longest name of an objection, a reviewer or a round, and the longest kind of a claim, in bytes.
    pub const LABEL_BYTES_MAX: usize = 200;
    /// All texts of one claim together, in bytes.
    pub const CLAIM_BYTES_MAX: u64 = 4 * 1024 * 1024;
    /// All texts of one pipeline together, in bytes.
    pub const PIPELINE_BYTES_MAX: u64 = 16 * 1024 * 1024;
    /// Claims of one pipeline.
    pub const CLAIMS_MAX: usize = 2_000;
    /// Objections to one claim.
    pub const OBJECTIONS_MAX: usize = 256;
    /// Pieces of evidence, tests, assumptions or bases of one claim, each.
    pub const ITEMS_MAX: usize = 256;
    /// Stages of one pipeline that are closed.
    pub const STAGES_MAX: usize = 256;

    /// The rounds that apply: more than three only with a reason (D5).
    pub fn rounds(&self) -> u32 {
        if self.is_raised() && !self.has_reason() { Self::ROUNDS } else { self.circuit_breaker_rounds.max(1) }
    }

    /// Whether nobody changed anything. Asked on every hook, so nothing is put together for it.
    pub(crate) fn is_default(&self) -> bool {
        let Self { circuit_breaker_rounds, circuit_breaker_rounds_reason, final_stage } = self;
        *circuit_breaker_rounds == Self::ROUNDS
            && circuit_breaker_rounds_reason.is_empty()
            && final_stage == Self::FINAL_STAGE
    }

    /// Whether somebody asks for more patience than the seed has.
    pub fn is_raised(&self) -> bool {
        self.circuit_breaker_rounds > Self::ROUNDS
    }

    /// Whether they say why.
    pub fn has_reason(&self) -> bool {
        !self.circuit_breaker_rounds_reason.trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_other_value_is_no_default() {
        let plain = Limits::default();
        assert!(plain.is_default());
        for changed in [
            Limits { circuit_breaker_rounds: 4, ..plain.clone() },
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
