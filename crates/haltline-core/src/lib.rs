//! The decisions of haltline, as pure functions.
//!
//! `decide(memory, policy, event, now)` returns facts; `apply(state, fact)` folds them into state. Nothing here
//! reads a clock, a file or the environment, and nothing can fail: the same inputs give the same outputs. A store may
//! therefore run a decision twice, and a journal may be folded again years later.
//!
//! Each breaker has a module here (such as `constraint`), a variant in [`Event`], [`Fact`] and [`State`], and test
//! data.

// A new variant must break the build wherever it needs a decision.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod attempt;
pub mod circuit;
pub mod claim;
mod code;
pub mod constraint;
pub mod control;
mod decide;
mod digest;
mod draft;
mod event;
mod fact;
mod glob;
mod halt;
pub mod identity;
mod incident;
pub mod ledger;
pub mod loop_;
mod memory;
mod moment;
mod name;
pub mod phase;
mod policy;
pub mod shell;
pub mod trust;
mod verdict;

pub use code::{CODE_PAGES, CodePage, code_page, code_pages_of_pattern};
pub use decide::{Decision, Effect, Recorded, Rejection, decide, evaluate};
pub use digest::{digest_hex, sha256};
pub use event::{Event, Operator};
pub use fact::{Fact, Texts};
pub use glob::glob_matches;
pub use halt::{Halt, ROW_REQUESTS_MAX, RowsError, decide_with_rows};
pub use incident::{IncidentEnd, IncidentStart, IncidentTexts, incident_end, incident_start};
pub use memory::{Memory, State, apply};
pub use moment::{Boot, ClockDoubt, Elapsed, Instant, InstantError, Moment};
pub use name::{CircuitName, ConstraintId, IdError, counted, shorten};
pub use policy::{Mode, Policy};
pub use verdict::{Reason, Retry, Verdict};
