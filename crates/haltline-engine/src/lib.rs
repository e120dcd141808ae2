//! The shell around haltline's core, for the binary and for programs that embed it.
//!
//! [`Engine`] takes an event, lets a [`store::Store`] commit what the core decides, and then carries out what
//! follows: mirror files, archives, notifications. Fronts read through the store and never decide.

mod archive;
pub mod changes;
pub mod checkpoint;
pub mod claims;
pub mod clock;
pub mod config;
pub mod constraint_file;
pub mod course;
mod engine;
mod file;
pub mod git;
mod guards;
mod incident;
pub mod journal;
pub mod memory_protection;
pub mod mirror;
mod network;
mod notify;
pub mod project;
mod queue;
pub mod ralph_file;
pub mod redact;
pub mod replay;
pub mod report_file;
pub mod scope_file;
pub mod scope_path;
pub mod session_file;
pub mod slice;
pub mod spool;
pub mod store;
mod strays;
mod trust_mark;

pub use archive::ARCHIVE_FILE;
pub use engine::{Engine, EngineError, INCIDENTS_FILE};
pub use file::set_aside_files;
pub use incident::{Incident, IncidentEvent};
pub use network::network_kind;
pub use notify::{DEFAULT_RUN, course_options, slice_options};
pub use trust_mark::trust_of;
