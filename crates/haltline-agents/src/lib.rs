//! What haltline knows about each agent client. Everything here is pure: it touches no file, environment or process.
//!
//! - `client`, `hook`: each client's file translates its hook payloads into events of the core, and haltline's verdicts
//!   into the client's own answer format. No wire type of a client leaves this crate.
//! - `plain`, `transcript`: the same for plain events and for recorded sessions.
//! - For a program that haltline supervises: what the program reports about itself (`headless`), what its agent reports
//!   about its work (`status_block`), why a turn ended without a change (`turn_end`), and how its tests went
//!   (`test_results`).

mod bypass;
mod call;
pub mod claude;
mod client;
pub mod cline;
pub mod codex;
pub mod copilot;
pub mod cursor;
pub mod gemini;
pub mod headless;
pub mod hook;
pub mod install;
mod json;
pub mod opencode;
mod payload;
pub mod plain;
pub mod price;
mod process_markers;
mod prompt_command;
pub mod provider;
pub mod qwen;
pub mod ralph;
pub mod self_test;
pub mod status_block;
mod terminal_text;
pub mod test_results;
pub mod transcript;
pub mod transcript_reader;
pub mod turn_end;

pub use client::Client;
pub use process_markers::{PROCESS_MARKERS, ProcessMarkers, RUN_MARKER, marker_in, markers_of_program, session_in};
pub use prompt_command::{OperatorCommand, PromptCommand};
