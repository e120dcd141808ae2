//! Views of `haltline status` and `haltline trust`.

use serde::Serialize;

use super::constraint::CircuitView;
use super::memory::MemoryView;
use super::overview::OverviewView;

/// The result of `haltline status`.
#[derive(Debug, Serialize)]
pub struct StatusView {
    pub schema: u32,
    pub version: &'static str,
    pub project: String,
    pub mode: haltline_core::Mode,
    /// The pauses in force for this project.
    pub paused: Vec<super::control::PausedView>,
    /// Number of running clients that a person started with `HALTLINE=off`.
    pub clients_off: usize,
    /// Sessions whose transcripts grow although no hook reports them.
    pub unwatched: Vec<UnwatchedView>,
    pub at: String,
    /// True if a client's settings contain haltline's hooks.
    pub is_installed: bool,
    #[serde(flatten)]
    pub overview: OverviewView,
    /// Constraints that are not CLOSED.
    pub attention: Vec<CircuitView>,
    /// What waits for the operator's trust.
    pub waiting: Vec<WaitingView>,
    pub store: StoreView,
    /// Phase runs: of phases, loops and Ralph.
    #[serde(rename = "courses")]
    pub phase_runs: Vec<super::phase::PhaseRunView>,
    /// Slices in progress.
    pub slices: Vec<super::attempt::SliceView>,
    /// Claims that are DISPUTED.
    pub disputes: Vec<super::claim::OpenDisputeView>,
    pub sessions: super::session::SessionsView,
    /// Memory folders of the project and of haltline.
    pub memory: Vec<MemoryView>,
    /// Damaged files that were set aside.
    pub set_aside: Vec<String>,
}

/// A session that no hook reports.
#[derive(Debug, Serialize)]
pub struct UnwatchedView {
    pub client: &'static str,
    pub session: String,
    pub transcript: String,
    /// When a hook reported it last.
    pub last_report: Option<String>,
}

/// A setting that waits for trust.
#[derive(Debug, Serialize)]
pub struct WaitingView {
    /// The file that requests it.
    pub file: String,
    pub key: String,
    pub from: String,
    pub to: String,
}

/// The result of `haltline trust`.
#[derive(Debug, Serialize)]
pub struct TrustView {
    pub schema: u32,
    pub waiting: Vec<WaitingView>,
    /// True if it was accepted just now.
    pub is_accepted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<super::AuditView>,
}

#[derive(Debug, Serialize)]
pub struct StoreView {
    pub path: String,
    pub bytes: u64,
    pub bytes_max: u64,
    pub schema: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer_schema: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<&'static str>,
    pub facts: u64,
    pub head: String,
}
