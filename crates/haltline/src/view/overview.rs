//! Views of the circuits that are not CLOSED, for all breakers alike. `status` and the status line show these values.

use haltline_core::Instant;
use haltline_core::loop_::Pattern;
use haltline_engine::{
    BreakerName, CircuitCounts, Incident, IncidentBreaker, IncidentState, Overview, RecordedTrips, UnclosedCircuit,
};
use serde::Serialize;

/// A circuit that is OPEN or HALF_OPEN.
#[derive(Clone, Debug, Serialize)]
pub struct UnclosedView {
    pub breaker: BreakerName,
    pub circuit: String,
    /// `OPEN` or `HALF_OPEN`; `DISPUTED` for a claim.
    pub state: IncidentState,
    /// `None` for a phase run that haltline only warned.
    pub incident: Option<String>,
    pub pattern: Option<&'static str>,
    pub code: Option<&'static str>,
    pub reason: Option<String>,
    /// When it tripped.
    pub tripped: Option<String>,
    /// Since when it is in this state.
    pub since: Option<String>,
    /// When the cooldown ends; `None` if it is over, or only a person ends it.
    pub until: Option<String>,
    pub remaining_s: Option<u64>,
    /// What lets a HALF_OPEN circuit close.
    pub closes: Option<&'static str>,
    /// The command that lets the work go on, or shows what there is to decide.
    pub command: Option<String>,
}

impl UnclosedView {
    pub fn new(circuit: &UnclosedCircuit) -> Self {
        let incident = &circuit.incident;
        Self {
            breaker: circuit.breaker,
            circuit: incident.circuit().to_string(),
            state: incident.state,
            incident: Some(incident.id.clone()).filter(|id| !id.is_empty()),
            pattern: incident.pattern,
            code: incident.code,
            reason: incident.reason.clone(),
            tripped: incident.tripped.as_ref().map(Instant::to_string),
            since: incident.half_open_since().or(incident.tripped).as_ref().map(Instant::to_string),
            until: incident.until.filter(|_| circuit.remaining_ms.is_some()).as_ref().map(Instant::to_string),
            closes: (incident.state == IncidentState::HalfOpen).then(|| incident.closing_text()),
            remaining_s: circuit.remaining_ms.map(|left| left.div_ceil(1000)),
            command: command(incident),
        }
    }

    /// What the circuit is about, in a few words.
    pub fn subject(&self) -> String {
        let reason = self.reason.as_deref().unwrap_or("a person purged its texts");
        let scope = self.circuit.split_once('/').map_or(self.circuit.as_str(), |(_, scope)| scope);
        match self.breaker {
            BreakerName::Loop => reason.to_owned(),
            BreakerName::Constraint | BreakerName::Phase | BreakerName::Attempt | BreakerName::Claim => {
                format!("{scope}: {reason}")
            }
        }
    }
}

/// The one command to type.
fn command(incident: &Incident) -> Option<String> {
    let id = &incident.id;
    if id.is_empty() {
        return None;
    }
    if incident.state == IncidentState::HalfOpen {
        return Some(format!("haltline why {id}"));
    }
    match &incident.breaker {
        // There is no call to allow after an attempt to change haltline itself.
        IncidentBreaker::Loop { pattern: Pattern::Tampering, .. } => Some(format!("haltline reset {id}")),
        IncidentBreaker::Loop { .. } => Some(format!("haltline resume {id}")),
        IncidentBreaker::Constraint => Some(format!("haltline resume {id} --reason TEXT")),
        IncidentBreaker::Phase { .. } => Some(format!("haltline resume {id}")),
        // The next try needs guidance.
        IncidentBreaker::Attempt => Some(format!("haltline resume {id} --hint TEXT")),
        IncidentBreaker::Claim { .. } => Some(format!("haltline why {id}")),
    }
}

/// The circuits of one project, and how many incidents each breaker had.
#[derive(Debug, Serialize)]
pub struct OverviewView {
    /// Over all breakers.
    pub summary: CircuitCounts,
    /// The circuits that are OPEN: a person decides, or the cooldown ends.
    pub needs: Vec<UnclosedView>,
    /// The circuits that are HALF_OPEN: the next action decides.
    pub half_open: Vec<UnclosedView>,
    /// Incidents of the last 24 hours.
    pub incidents_24h: usize,
    pub breakers: Vec<BreakerCountView>,
    /// When an agent last did something here.
    pub last_report: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct BreakerCountView {
    pub breaker: BreakerName,
    pub open: usize,
    pub half_open: usize,
    pub incidents_24h: usize,
}

impl OverviewView {
    pub fn new(overview: &Overview, recorded: &RecordedTrips) -> Self {
        let views = |is_open: bool| {
            let chosen = overview.unclosed.iter().filter(move |circuit| circuit.is_open() == is_open);
            chosen.map(UnclosedView::new).collect::<Vec<_>>()
        };
        let (needs, half_open) = (views(true), views(false));
        let breakers = BreakerName::ALL.into_iter().map(|breaker| BreakerCountView {
            breaker,
            open: needs.iter().filter(|circuit| circuit.breaker == breaker).count(),
            half_open: half_open.iter().filter(|circuit| circuit.breaker == breaker).count(),
            incidents_24h: recorded.trips.iter().filter(|trip| trip.breaker == breaker).count(),
        });
        Self {
            summary: overview.counts,
            breakers: breakers.collect(),
            needs,
            half_open,
            incidents_24h: recorded.trips.len(),
            last_report: overview.last_report.as_ref().map(Instant::to_string),
        }
    }
}

/// One project of `haltline status --all`.
#[derive(Debug, Serialize)]
pub struct ProjectView {
    pub project: String,
    #[serde(flatten)]
    pub overview: OverviewView,
}

/// The result of `haltline status --all`.
#[derive(Debug, Serialize)]
pub struct ProjectsView {
    pub schema: u32,
    pub at: String,
    pub is_installed: bool,
    pub projects: Vec<ProjectView>,
}
