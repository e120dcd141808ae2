//! What haltline knows of each agent client. Pure: no file, no environment, no process is touched here.
//!
//! A client's hooks are read into the words of the core and answered in the words of the client, each client in a file
//! of its own behind one door (`client`, `hook`); plain events are read the same way (`plain`), and so are recorded
//! sessions (`transcript`). No wire type of a client leaves this crate.
//!
//! For a program that is watched from outside: what it said of itself (`headless`), what its agent reports of its work
//! (`status_block`), what a turn was that changed nothing (`turn_end`), and how its tests stand (`test_results`).

mod bypass;
mod call;
pub mod claude;
mod client;
pub mod cline;
pub mod codex;
pub mod copilot;
pub mod cursor;
pub mod feed;
pub mod gemini;
pub mod headless;
pub mod hook;
pub mod install;
mod json;
pub mod opencode;
pub mod plain;
pub mod price;
mod process_marks;
pub mod qwen;
pub mod ralph;
pub mod rehearsal;
pub mod status_block;
mod terminal_text;
pub mod test_results;
pub mod transcript;
pub mod turn_end;

pub use client::Client;
pub use process_marks::{MARKS, Marks, RUN_MARKER, marker_in, of_program, session_in};
