//! Text of `haltline status` and `haltline trust`.

use haltline_core::Mode;
use haltline_core::constraint::StateName;

use super::{count, fit, wrap};
use crate::view::status::{StatusView, TrustView, WaitingView};

/// `haltline status`.
pub fn status(view: &StatusView) -> String {
    let mode = match view.mode {
        Mode::Enforce => "enforce",
        Mode::Observe => "observe (nothing is refused)",
    };
    let mut out = format!("haltline {}   mode {mode}\n", view.version);
    let mut line = |label: &str, text: String| out.push_str(&format!("{label:<11}{text}\n"));
    line("Project", fit(&view.project, 68));
    let summary = &view.summary;
    let total = summary.closed + summary.open + summary.half_open;
    line(
        "Circuits",
        format!("{} ({} closed, {} open, {} half-open)", total, summary.closed, summary.open, summary.half_open),
    );
    line("Incidents", format!("{} in the last 24 h", view.incidents_24h));
    let store = &view.store;
    line("Store", fit(&store.path, 68));
    line("", format!("{} KB of {} MB, schema {}", store.bytes.div_ceil(1024), store.bytes_max >> 20, store.schema));
    line("Journal", format!("{}, head {}", count(store.facts, "fact"), store.head));
    if let Some(newer) = store.newer_schema {
        line("", format!("written by a newer haltline (schema {newer}): it is only read"));
    }
    if let Some(network) = store.network {
        line("", format!("on a network file system ({network}): counts can be lost there"));
    }
    if !view.attention.is_empty() {
        out.push_str("\nNot closed:\n");
    }
    for circuit in &view.attention {
        let trip = circuit.trip.as_ref();
        let (since, until) = trip.map_or(("", ""), |trip| (trip.since.as_str(), trip.until.as_str()));
        let detail = match circuit.state {
            StateName::Open if trip.is_some_and(|trip| trip.is_clock_behind) => {
                format!("tripped {since}, in the future of this clock")
            }
            StateName::Open => format!("until {until}, or a person resets it"),
            StateName::Closed | StateName::HalfOpen | StateName::Retired => {
                "on trial: one violation re-opens it".to_owned()
            }
        };
        out.push_str(&format!(
            "  {:<10}constraint/{}\n            {detail}\n",
            circuit.state.dashed(),
            fit(&circuit.id, 55)
        ));
    }
    if !view.phase_runs.is_empty() {
        out.push_str("\nPhases and loops:\n");
    }
    for phase_run in &view.phase_runs {
        let phase = phase_run.phase.as_deref().unwrap_or("no phase yet");
        let detail = match &phase_run.trip {
            Some(trip) => format!("{phase}, {}: {}", count(phase_run.iteration, "iteration"), trip.reason),
            None => format!("{phase}, {}", count(phase_run.iteration, "iteration")),
        };
        out.push_str(&format!("  {:<10}{}\n", phase_run.state, fit(&phase_run.circuit, 66)));
        out.push_str(&wrap("            ", &detail));
    }
    if !view.slices.is_empty() {
        out.push_str("\nSlices:\n");
    }
    for slice in &view.slices {
        let failed = &slice.total_failed_attempts;
        let counted = format!("{} of {} failures, scope lock {}", failed.count, failed.threshold, slice.scope.lock);
        let detail = match &slice.trip {
            Some(trip) => format!("{counted}: {}", trip.reason),
            None => counted,
        };
        out.push_str(&format!("  {:<10}{}\n", slice.state, fit(&slice.circuit, 66)));
        out.push_str(&wrap("            ", &detail));
    }
    if !view.disputes.is_empty() {
        out.push_str("\nDisputed claims:\n");
    }
    for dispute in &view.disputes {
        out.push_str(&format!("  {:<10}{}\n", dispute.state, fit(&dispute.circuit, 66)));
        let detail = format!("since {}, incident {}: {}", dispute.since, dispute.incident, fit(&dispute.reason, 200));
        out.push_str(&wrap("            ", &detail));
    }
    out.push_str(&super::sessions(&view.sessions, &view.store, &view.memory));
    if !view.waiting.is_empty() {
        out.push_str("\nWaiting for `haltline trust`:\n");
        out.push_str(&waiting(&view.waiting));
    }
    for file in &view.set_aside {
        out.push_str(&wrap("\nSet aside: ", file));
    }
    out
}

fn waiting(waiting: &[WaitingView]) -> String {
    waiting
        .iter()
        .map(|WaitingView { file, key, from, to }| format!("  {}: {key} {from} → {to}\n", fit(file, 44)))
        .collect()
}

/// `haltline trust`.
pub fn trust(view: &TrustView) -> String {
    if view.waiting.is_empty() {
        return "Nothing waits for trust.\n".to_owned();
    }
    let title = if view.is_accepted { "Trusted:\n" } else { "Waiting for `haltline trust`:\n" };
    let mut out = title.to_owned() + &waiting(&view.waiting);
    if let Some(audit) = &view.audit {
        out.push_str(&format!("Journal: fact {}, head {}\n", audit.journal_seq, audit.journal_head));
    }
    out
}
