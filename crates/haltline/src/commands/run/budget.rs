//! The budget of a run, and when it is used up.

use haltline_agents::headless;
use haltline_core::phase::Spent;

use crate::cli::Run;

/// Limits on what a client reports about itself.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    tokens: Option<u64>,
    micros: Option<u64>,
}

impl Budget {
    pub fn new(command: &Run) -> Self {
        Self { tokens: command.max_tokens, micros: command.max_cost }
    }

    /// Describes the limit that is used up, if any.
    pub fn exceeded(&self, spent: Spent) -> Option<String> {
        match (self.tokens, spent.tokens, self.micros, spent.micros) {
            (Some(limit), Some(tokens), _, _) if tokens >= limit => {
                Some(format!("reached --max-tokens {limit} ({tokens} used)"))
            }
            (_, _, Some(limit), Some(micros)) if micros >= limit => {
                Some(format!("reached --max-cost {:.2} (${:.2} spent)", limit as f64 / 1e6, micros as f64 / 1e6))
            }
            _within => None,
        }
    }

    /// Warns about a limit on something that the client does not report: the user must not believe to be protected.
    pub fn unknown(&self, spent: Spent) -> Option<&'static str> {
        match (self.tokens, spent.tokens, self.micros, spent.micros) {
            (Some(_), None, _, _) => Some("--max-tokens: the command reports no tokens, so they cannot be limited"),
            (_, _, Some(_), None) => Some("--max-cost: the command reports no cost, so it cannot be limited"),
            _known => None,
        }
    }
}

/// Converts what a client reports as spent into the form a phase run keeps.
pub fn to_phase_spent(spent: headless::Spent, wall_ms: u64) -> Spent {
    Spent { wall_ms, tokens: spent.tokens, micros: spent.cost_micros }
}

/// What a client that reports totals of the whole session has spent since its previous report.
pub fn spent_since(now: Spent, before: Spent) -> Spent {
    let rest = |now: Option<u64>, before: Option<u64>| now.map(|now| now.saturating_sub(before.unwrap_or(0)));
    Spent { wall_ms: now.wall_ms, tokens: rest(now.tokens, before.tokens), micros: rest(now.micros, before.micros) }
}
