//! What the model says and what its responses cost, where the owner wants these watched (L6: chanting, cost growth; both
//! off by default).

use serde::{Deserialize, Serialize};

use crate::identity::{Digest, Said};

/// So many responses make a mean.
const RESPONSES_MIN: u32 = 5;

/// The last thing that was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chant {
    /// What.
    #[serde(default)]
    pub text: Digest,
    /// How often in a row.
    #[serde(default)]
    pub row: u32,
    /// How often the same sentence came in a row in it.
    #[serde(default)]
    pub repeats: u32,
}

impl Chant {
    pub(super) fn hear(&mut self, said: &Said) {
        let is_again = self.row > 0 && self.text == said.text;
        let row = if is_again { self.row.saturating_add(1) } else { 1 };
        *self = Self { text: said.text, row, repeats: said.repeats };
    }

    /// How often the same was said again.
    pub(super) fn times(&self) -> u32 {
        self.row.max(self.repeats).saturating_sub(1)
    }
}

/// What responses cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// How many there were before the last one.
    #[serde(default)]
    pub responses: u32,
    /// What these cost together.
    #[serde(default)]
    pub sum: u64,
    /// What the last one cost.
    #[serde(default)]
    pub last: u64,
}

impl Growth {
    pub(super) fn pay(&mut self, spent: u64) {
        if self.last > 0 {
            self.responses = self.responses.saturating_add(1);
            self.sum = self.sum.saturating_add(self.last);
        }
        self.last = spent;
    }

    /// How many times the usual the last one cost, beyond once.
    pub(super) fn times(&self) -> u32 {
        if self.responses < RESPONSES_MIN {
            return 0;
        }
        let usual = (self.sum / u64::from(self.responses)).max(1);
        u32::try_from(self.last / usual).unwrap_or(u32::MAX).saturating_sub(1)
    }
}
