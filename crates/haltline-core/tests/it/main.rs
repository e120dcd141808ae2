//! The tests of the core in one binary: the rules as text and the properties of each breaker, and the facts, identities,
//! rows and messages that they share.

mod attempt;
mod claim;
mod clock;
mod constraint;
mod engine;
mod facts;
mod identity;
mod language;
mod loop_;
mod memory;
mod messages;
mod phase;
