//! What each call of a replayed session brought. A denial of a call that brought something new is regretted.

use std::collections::BTreeSet;

use haltline_core::identity::{CallResult, Digest, Outcome};

/// How many different results of one session are remembered. Beyond that, nobody can say whether a result is new.
const RESULTS_MAX: usize = 20_000;

/// What a call brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    /// A result that the agent did not have before, and no failure.
    New,
    /// A result that the agent had before.
    Known,
    Failure,
}

impl Brought {
    pub fn as_str(self) -> &'static str {
        match self {
            Brought::New => "new",
            Brought::Known => "known",
            Brought::Failure => "failure",
        }
    }
}

/// The results that the agents of a session have seen.
#[derive(Debug, Default)]
pub(super) struct News {
    seen: BTreeSet<(Option<String>, Digest)>,
}

impl News {
    /// What a call of this agent brought; `None` if it has no result, or if too many are remembered already.
    pub fn of(&mut self, sub_agent: Option<&str>, is_search: bool, result: &CallResult) -> Option<Brought> {
        let finds_nothing = is_search && result.exit == Some(1);
        let is_failure = match result.outcome {
            Outcome::Ok => false,
            Outcome::Failed => !finds_nothing,
            Outcome::Rejected | Outcome::Denied | Outcome::Cancelled | Outcome::RateLimited | Outcome::Unknown => {
                return None;
            }
        };
        let one = (sub_agent.map(str::to_owned), result.normal);
        if self.seen.len() >= RESULTS_MAX && !self.seen.contains(&one) {
            return None;
        }
        let is_new = self.seen.insert(one);
        Some(match (is_failure, is_new) {
            (true, _) => Brought::Failure,
            (false, true) => Brought::New,
            (false, false) => Brought::Known,
        })
    }
}
