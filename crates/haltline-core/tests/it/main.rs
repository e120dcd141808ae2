//! The tests of the core in one binary: the rules as text and the properties of each breaker, and the facts, identities,
//! rows and messages that they share.

mod attempt;
mod circuit;
mod claim;
mod clock;
mod constraint;
mod control;
mod digest;
mod engine;
mod facts;
mod glob;
mod halt;
mod identity;
mod language;
mod loop_;
mod memory;
mod messages;
mod moment;
mod name;
mod phase;
mod policy;
mod verdict;
