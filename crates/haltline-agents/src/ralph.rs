//! What Ralph leaves in its folder for others to read: what it found in an agent's output, its settings, its logs.
//!
//! Ralph's own state file is the engine's. Nothing here runs a line of Ralph's shell files.

mod analysis;
mod error_lines;
mod settings;

pub use analysis::Analysis;
pub use error_lines::error_of;
pub use settings::assignments;
