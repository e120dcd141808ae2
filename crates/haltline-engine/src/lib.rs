//! Everything around haltline's pure core that touches the outside world, for the binary and for programs that embed
//! haltline.
//!
//! [`Breaker`] is the interface for programs that run agents themselves. Below it, [`Engine`] takes an event, lets a [`store::Store`] commit what the core decides, and then runs the effects of the
//! decision: mirror files, archives, notifications. User interfaces read through the store and never decide.

mod agent_event;
mod archive;
mod breaker;
pub mod calendar;
pub mod changes;
pub mod checkpoint;
pub mod claims;
pub mod clock;
pub mod config;
pub mod constraint_file;
pub mod control;
mod engine;
pub mod file;
pub mod git;
mod guards;
mod incident;
pub mod journal;
pub mod memory_protection;
pub mod mirror;
mod mirror_exchange;
mod network;
mod notify;
mod notify_target;
mod out_of_scope;
mod overview;
pub mod phase_run;
pub mod project;
mod project_mark;
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
mod storable_event;
pub mod store;
mod trip_notice;
mod trust_marker;

pub use agent_event::{AgentAnswer, CallSite};
pub use archive::ARCHIVE_FILE;
pub use breaker::{Admission, Breaker, BreakerFiles, Permit, Session};
pub use engine::{ConfigReading, Engine, EngineError, OwnFiles};
pub use file::set_aside_files;
pub use incident::{
    Evidence, INCIDENTS_FILE, Incident, IncidentBreaker, IncidentEvent, IncidentLookup, IncidentRecord, IncidentState,
    one_per_cause, session_state,
};
pub use network::network_kind;
pub use notify::{DEFAULT_RUN, DeliveryAttempt, phase_run_options, slice_options};
pub use out_of_scope::is_written_by_haltline;
pub use overview::{
    BreakerName, CircuitCounts, Overview, RecordedTrip, RecordedTrips, SESSION_MS, UnclosedCircuit, agent_tree_row,
};
pub use project_mark::settled_project;
pub use trust_marker::load_trust;
