//! Runs a command under supervision: its processes, its output, its limits, its end (P8).
//!
//! A command is started in its own process group, its output is forwarded, and it is ended with every process it left
//! behind. What a run is for, whether a loop continues and what changed in git are decided elsewhere.

mod inbox;
mod kept;
mod lease;
mod orphans;
mod output_stream;
mod processes;
mod running;
mod start;
mod supervise;
mod sweep;
mod terminal;

pub use inbox::Inbox;
pub use kept::{Forwarded, KeepLimits, KeptOutput, KeptStream};
pub use lease::{Lease, LeaseAttempt, LeaseRecord, Leftovers, RunTrace};
pub use output_stream::OutputStream;
pub use processes::ProcessIdentity;
pub(crate) use processes::{Process, all_pids};
pub use start::StartError;
pub use supervise::{CommandExit, EndCause, EndedRun, Limits, Listener, RunControl, SupervisedCommand, supervise};
pub use sweep::{LeftProcess, ProcessOutcome};
pub use terminal::Terminal;

/// The variable that marks every process of a run. A run inside another run sets its own value.
pub use haltline_agents::RUN_MARKER as RUN_VARIABLE;
/// The ids of the runs around a run, outermost first, separated by colons.
pub const OUTER_RUNS_VARIABLE: &str = "HALTLINE_RUN_OUTER";
