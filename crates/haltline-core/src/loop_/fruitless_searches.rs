//! Searches that find nothing (L6). Each is another question, so a few of them are ordinary work; an agent that finds
//! nothing many times in a row, and learns nothing else, looks in the wrong place.

use serde::{Deserialize, Serialize};

/// Among how many of the last searches those are counted that haltline warns of.
const RECENT: u32 = 10;

/// The last searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FruitlessSearches {
    /// A bit for each of the last searches, the newest lowest: 1 if it found nothing.
    #[serde(rename = "recent", default)]
    recent: u64,
    /// How many found nothing in a row, with nothing new in between.
    #[serde(rename = "row", default)]
    pub in_a_row: u32,
    /// The turn of the last one.
    #[serde(rename = "turn", default)]
    turn: u64,
    /// True if haltline has warned of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_warned: bool,
}

impl FruitlessSearches {
    /// Counts a search that found nothing. The searches of one turn count once.
    pub(super) fn add_fruitless(&mut self, turn: u64) {
        if self.turn == turn && self.in_a_row > 0 {
            return;
        }
        self.turn = turn;
        self.recent = self.recent << 1 | 1;
        self.in_a_row = self.in_a_row.saturating_add(1);
    }

    /// The agent learned something: a search that found something is one of the last searches as well.
    pub(super) fn on_new_result(&mut self, is_search: bool) {
        self.in_a_row = 0;
        self.is_warned &= !is_search;
        if is_search {
            self.recent <<= 1;
        }
    }

    /// How many of the last ten searches found nothing; all of them if nothing else was learned since.
    pub fn count(&self) -> u32 {
        (self.recent & ((1 << RECENT) - 1)).count_ones().max(self.in_a_row)
    }
}
