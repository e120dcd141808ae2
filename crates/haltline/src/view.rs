//! The values that commands show. Text and JSON are rendered from the same values.
//!
//! Their JSON fields are a promise (`docs/concepts/formats.md`): fields may be added, but never change their meaning.

mod answer;
pub mod attempt;
pub mod backtest;
pub mod budget;
pub mod claim;
pub mod config;
pub mod constraint;
pub mod control;
pub mod demo;
pub mod doctor;
pub mod explain;
pub mod incident;
pub mod incidents;
pub mod install;
pub mod journal;
pub mod memory;
pub mod overview;
pub mod phase;
pub mod prices;
pub mod ralph;
pub mod session;
pub mod status;
pub mod statusline;
pub mod update;

pub use answer::{AnswerView, AuditView, CountView, VerdictName};

/// Version of the JSON output.
pub const SCHEMA: u32 = 1;
