//! How each fact changes a phase run. Nothing is decided here.

use super::{
    ErrorFingerprint, Fact, Finish, ForeignRun, ForeignState, HistoryEvent, HistoryLine, Iterated, OverReason,
    PhaseName, PhaseRun, Precedence, RunState, Trip, TripCause, Underway, messages::AUTO_RESET, trip_text,
};
use crate::Moment;
use crate::circuit::{incident_id_of_state_file, increment, keep_newest};
use crate::counted;
use crate::identity::Digest;

/// Limit on the improvements that one history line names.
const GAINS_SHOWN_MAX: usize = 5;

pub fn apply(phase_run: Option<PhaseRun>, fact: &Fact, at: Moment) -> PhaseRun {
    let is_new = phase_run.is_none();
    let mut phase_run = phase_run.unwrap_or_else(|| PhaseRun::new(at));
    phase_run.last_seen = at;
    match fact {
        Fact::Began { phase, .. } => begin(&mut phase_run, phase, at),
        Fact::Entered { phase } => enter(&mut phase_run, phase, at, &format!("Phase {phase} entered")),
        Fact::Resumed { unfinished } => {
            phase_run.underway = None;
            phase_run.finish = None;
            if unfinished.is_some() {
                increment(&mut phase_run.totals.unfinished);
            }
        }
        Fact::Started { iteration, tree } => {
            if phase_run.underway.is_some() {
                increment(&mut phase_run.totals.unfinished);
            }
            phase_run.iteration = *iteration;
            phase_run.underway = Some(Underway { since: at, generation: phase_run.generation });
            remember_tree(&mut phase_run, *tree);
        }
        Fact::Iterated(iterated) => iterate(&mut phase_run, iterated, at),
        Fact::Warned { count } => {
            set_state(
                &mut phase_run,
                RunState::Warned,
                at,
                &format!("No progress for {}", counted(*count, "iteration")),
            );
        }
        Fact::Tripped { trip } => {
            increment(&mut phase_run.totals.trips);
            increment(&mut phase_run.open_count);
            set_state(&mut phase_run, RunState::Open(trip.clone()), at, &trip_text(trip));
        }
        Fact::Recovered => set_state(&mut phase_run, RunState::Closed, at, "Progress detected, circuit closing"),
        Fact::HalfOpened => set_state(&mut phase_run, RunState::Warned, at, "Cooldown over, monitoring"),
        Fact::Denied => increment(&mut phase_run.totals.denied),
        Fact::Ignored { spent } => {
            phase_run.underway = None;
            phase_run.spent = phase_run.spent.plus(*spent);
            increment(&mut phase_run.totals.denied);
        }
        Fact::Guided { .. } => phase_run.guidance = None,
        Fact::Reset { clears_open_count: opens_too, .. } => {
            close(&mut phase_run, at, if *opens_too { "Circuit reset by user" } else { AUTO_RESET });
            if *opens_too {
                phase_run.open_count = 0;
                phase_run.last_progress = 0;
            }
        }
        Fact::Modified { guidance, .. } => {
            close(&mut phase_run, at, "Circuit reset by user, with guidance");
            phase_run.guidance = Some(guidance.clone());
        }
        Fact::Skipped { to, .. } => skip(&mut phase_run, to.as_ref(), at),
        Fact::Aborted { .. } => {
            phase_run.underway = None;
            set_state(&mut phase_run, RunState::Over(OverReason::Aborted), at, "Aborted by user");
        }
        Fact::Finished { how } => {
            phase_run.underway = None;
            phase_run.finish = Some(*how);
            // The end of a run closes no circuit: an OPEN or aborted run stays as it is.
            let is_free = matches!(phase_run.state, RunState::Closed | RunState::Warned);
            if *how == Finish::Completed && is_free {
                set_state(&mut phase_run, RunState::Over(OverReason::Completed), at, "Completed");
            }
        }
        Fact::Adopted(foreign) => adopt(&mut phase_run, foreign, is_new, at),
    }
    phase_run
}

fn begin(phase_run: &mut PhaseRun, phase: &PhaseName, at: Moment) {
    let was_over = matches!(phase_run.state, RunState::Over(_));
    restart_counts(phase_run, phase, at, if was_over { "A new run" } else { "Run begun" });
    phase_run.baselines.clear();
    phase_run.known_failures.clear();
    phase_run.trees.clear();
    phase_run.last = None;
    phase_run.last_progress = 0;
    phase_run.spent = super::Spent::default();
}

/// A state file may have counts but no phase. Learning the phase keeps the counts; entering another one restarts them.
fn enter(phase_run: &mut PhaseRun, phase: &PhaseName, at: Moment, reason: &str) {
    if phase_run.phase.is_none() {
        phase_run.phase = Some(phase.clone());
    } else {
        restart_counts(phase_run, phase, at, reason);
    }
}

/// Restarts all counts and keeps the history (P4).
fn restart_counts(phase_run: &mut PhaseRun, phase: &PhaseName, at: Moment, reason: &str) {
    phase_run.phase = Some(phase.clone());
    phase_run.iteration = 0;
    phase_run.underway = None;
    phase_run.finish = None;
    forget_counts(phase_run);
    if phase_run.state != RunState::Closed {
        set_state(phase_run, RunState::Closed, at, reason);
    }
}

fn iterate(phase_run: &mut PhaseRun, iterated: &Iterated, at: Moment) {
    let Iterated { iteration, progress, neutral, permission_denied: denied, metrics, tree, error, spent, .. } =
        iterated;
    phase_run.iteration = *iteration;
    phase_run.underway = None;
    phase_run.spent = phase_run.spent.plus(*spent);
    increment(&mut phase_run.totals.iterations);
    phase_run.last = Some(iterated.clone());
    if iterated.stale {
        return;
    }
    match (*denied, *neutral) {
        (true, _) => phase_run.permission_denials = phase_run.permission_denials.saturating_add(1),
        (false, true) => {}
        (false, false) => phase_run.permission_denials = 0,
    }
    if *neutral {
        increment(&mut phase_run.totals.neutral);
        phase_run.neutral = phase_run.neutral.saturating_add(1);
        return;
    }
    phase_run.neutral = 0;
    if let Some(phase) = phase_run.phase.clone()
        && !metrics.is_empty()
    {
        // A run has few phases. One that keeps entering new ones loses its baselines.
        if phase_run.baselines.len() >= PhaseRun::BASELINES_MAX && !phase_run.baselines.contains_key(&phase) {
            phase_run.baselines.clear();
        }
        phase_run.baselines.entry(phase).or_default().merge(metrics);
    }
    remember_tree(phase_run, *tree);
    if *progress {
        increment(&mut phase_run.totals.progress);
        phase_run.no_progress = 0;
        phase_run.last_progress = *iteration;
        let improvements = iterated.gains.iter().map(String::as_str);
        let improvements = improvements
            .chain(iterated.signals.iter().filter(|signal| signal.weight > 0).map(|signal| signal.source.as_str()));
        let improvements: Vec<&str> = improvements.take(GAINS_SHOWN_MAX).collect();
        let reason = format!("Progress: {}", improvements.join(", "));
        add_history_line(phase_run, HistoryEvent::Progress, phase_run.state.as_file_str(), at, &reason);
    } else {
        phase_run.no_progress = phase_run.no_progress.saturating_add(1);
    }
    count_error(phase_run, error.as_ref(), at);
}

/// Keeps the newest content last. The content at an iteration's start is among them.
fn remember_tree(phase_run: &mut PhaseRun, tree: Option<Digest>) {
    let Some(tree) = tree else { return };
    phase_run.trees.retain(|known| *known != tree);
    phase_run.trees.push(tree);
    keep_newest(&mut phase_run.trees, PhaseRun::TREES_MAX);
}

/// A first or a different error counts 1; an iteration without an error sets the count to 0 (P3).
fn count_error(phase_run: &mut PhaseRun, error: Option<&ErrorFingerprint>, at: Moment) {
    let Some(error) = error else {
        phase_run.same_error = 0;
        phase_run.error = None;
        return;
    };
    increment(&mut phase_run.totals.errors);
    // A state file may have a count without its error: that count continues with the next error.
    let is_same = phase_run.error.as_ref().map_or(phase_run.same_error > 0, |known| known.is_same(error));
    phase_run.same_error = if is_same { phase_run.same_error.saturating_add(1) } else { 1 };
    phase_run.error = Some(error.clone());
    let short = error.raw.get(..12).unwrap_or(&error.raw);
    let reason = format!("Error {short}, {} in a row", phase_run.same_error);
    add_history_line(phase_run, HistoryEvent::Error, phase_run.state.as_file_str(), at, &reason);
}

fn close(phase_run: &mut PhaseRun, at: Moment, reason: &str) {
    forget_counts(phase_run);
    phase_run.closed = Some(at.at);
    set_state(phase_run, RunState::Closed, at, reason);
}

fn skip(phase_run: &mut PhaseRun, to: Option<&PhaseName>, at: Moment) {
    if let Some(left) = phase_run.phase.clone()
        && !phase_run.known_failures.contains(&left)
    {
        phase_run.known_failures.push(left);
    }
    phase_run.closed = Some(at.at);
    match to {
        Some(phase) => {
            // An iteration of the skipped phase may still end; it must not affect this phase (E12).
            let (underway, generation) = (phase_run.underway, phase_run.generation);
            let reason = format!("Phase skipped by user, {phase} entered");
            restart_counts(phase_run, phase, at, &reason);
            if phase_run.generation == generation {
                increment(&mut phase_run.generation);
            }
            phase_run.underway = underway;
        }
        None => {
            forget_counts(phase_run);
            set_state(phase_run, RunState::Over(OverReason::Skipped), at, "Last phase skipped by user");
        }
    }
}

fn adopt(phase_run: &mut PhaseRun, foreign: &ForeignRun, is_new: bool, at: Moment) {
    let (state, reason) = match &foreign.state {
        ForeignState::Closed => (RunState::Closed, "Imported from a state file".to_owned()),
        ForeignState::Warned => (RunState::Warned, "Imported from a state file".to_owned()),
        ForeignState::Open { since, reason, cooldown_ms } => {
            let since = since.map_or(at, Moment::from_wall_clock);
            let incident = incident_id_of_state_file(reason, since);
            let count = foreign.no_progress.max(foreign.same_error);
            let cause = TripCause::StateFile { reason: reason.clone() };
            (RunState::Open(Trip { incident, since, cause, count, cooldown_ms: *cooldown_ms }), reason.clone())
        }
    };
    if matches!(state, RunState::Open(_)) && !matches!(phase_run.state, RunState::Open(_)) {
        increment(&mut phase_run.totals.trips);
        increment(&mut phase_run.open_count);
    }
    if is_new || foreign.precedence == Precedence::File {
        phase_run.no_progress = foreign.no_progress;
        phase_run.same_error = foreign.same_error;
        phase_run.permission_denials = foreign.permission_denials;
        phase_run.error = foreign.error.clone().map(|raw| ErrorFingerprint { raw, normal: None });
        phase_run.baselines.extend(foreign.baselines.clone());
        phase_run.phase = foreign.phase.clone().or_else(|| phase_run.phase.clone());
        phase_run.iteration = foreign.iteration;
        phase_run.last_progress = foreign.last_progress;
        phase_run.open_count = foreign.open_count;
        if phase_run.history.is_empty() {
            phase_run.history.clone_from(&foreign.history);
        }
    }
    set_state(phase_run, state, at, &reason);
}

fn forget_counts(phase_run: &mut PhaseRun) {
    phase_run.no_progress = 0;
    phase_run.same_error = 0;
    phase_run.error = None;
    phase_run.permission_denials = 0;
    phase_run.neutral = 0;
}

fn set_state(phase_run: &mut PhaseRun, to: RunState, at: Moment, reason: &str) {
    let from = phase_run.state.as_file_str();
    phase_run.state = to;
    phase_run.changed = at;
    increment(&mut phase_run.generation);
    add_history_line(phase_run, HistoryEvent::StateChange, from, at, reason);
}

fn add_history_line(phase_run: &mut PhaseRun, event: HistoryEvent, from: &str, at: Moment, reason: &str) {
    phase_run.history.push(HistoryLine {
        at: at.at,
        event,
        from: from.to_owned(),
        to: phase_run.state.as_file_str().to_owned(),
        reason: reason.to_owned(),
        is_trip: event == HistoryEvent::StateChange && matches!(phase_run.state, RunState::Open(_)),
        iteration: phase_run.iteration,
    });
    keep_newest(&mut phase_run.history, PhaseRun::HISTORY_MAX);
}
