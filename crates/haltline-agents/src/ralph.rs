//! The files that Ralph leaves in its folder for others: its analysis of an agent's output, its settings, its logs.
//!
//! The engine owns Ralph's state file. Nothing here ever runs a line of Ralph's shell files.

mod analysis;
mod error_lines;
mod settings;

pub use analysis::Analysis;
pub use error_lines::find_error;
pub use settings::assignments;
