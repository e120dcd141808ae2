//! The decisions of haltline, as pure functions.
//!
//! `decide(memory, policy, event, now)` yields facts; `apply(state, fact)` folds them into state. Nothing here
//! reads a clock, a file or the environment, and nothing can fail: same inputs, same outputs. A store may
//! therefore run a decision twice, and a journal may be folded again years later.
//!
//! A family is a file here (`constraint`), a variant in [`Event`], [`Fact`] and [`State`], and test data.

// A new variant must break the build where a decision is owed.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod attempt;
pub mod claim;
pub mod constraint;
mod decide;
mod digest;
mod event;
mod fact;
mod glob;
pub mod identity;
pub mod loop_;
mod memory;
mod moment;
mod name;
pub mod phase;
mod policy;
pub mod shell;
pub mod trust;
mod verdict;

pub use decide::{Decision, Effect, Recorded, Rejection, Step, decide, judge};
pub use digest::{digest_hex, sha256};
pub use event::{Event, Operator};
pub use fact::{Fact, Texts};
pub use glob::glob_matches;
pub use memory::{Memory, State, apply};
pub use moment::{Boot, Elapsed, Instant, InstantError, Moment};
pub use name::{CircuitName, ConstraintId, IdError, shorten};
pub use policy::{Mode, Policy};
pub use verdict::{Reason, Retry, Verdict};
