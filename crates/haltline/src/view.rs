//! What there is to see, as values: text and JSON are made of the same ones.
//!
//! A field of these is a promise (`docs/concepts/formats.md`): it may be joined by others, never change its meaning.

pub mod attempt;
pub mod backtest;
pub mod claim;
pub mod config;
pub mod constraint;
pub mod doctor;
pub mod incident;
pub mod install;
pub mod journal;
pub mod memory;
pub mod phase;
pub mod ralph;
pub mod session;
pub mod status;

/// The version of the JSON answers.
pub const SCHEMA: u32 = 1;
