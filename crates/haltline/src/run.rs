//! Running a command under supervision: its processes, its output, its limits, its end (P8).
//!
//! What a run is good for, when a loop goes on and what git saw are decided elsewhere. Here a command is started in a
//! process group of its own, listened to, and ended with everything that it left behind.

mod inbox;
mod kept;
mod lease;
mod orphans;
mod processes;
mod running;
mod start;
mod stream;
mod supervise;
mod sweep;
mod terminal;

pub use inbox::Inbox;
pub use kept::{Keep, Kept, KeptStream, Shown};
pub use lease::{Former, Lease, Leftovers, Taken, Trace};
pub use processes::Identity;
pub(crate) use processes::Process;
pub use start::StartError;
pub use stream::Stream;
pub use supervise::{Cause, Ended, Go, How, Limits, Listener, Supervised, supervise};
pub use sweep::{LeftProcess, Outcome};
pub use terminal::Terminal;

/// The variable that marks every process of a run. A run inside a run has its own mark here.
pub use haltline_agents::RUN_MARKER as RUN_VARIABLE;
/// The marks of the runs around a run, outermost first, with colons between them.
pub const OUTER_RUNS_VARIABLE: &str = "HALTLINE_RUN_OUTER";
