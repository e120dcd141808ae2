//! How each fact changes a course. Nothing is decided here.

use super::{
    Course, ErrorMark, Fact, Finish, Foreign, ForeignStand, HistoryEvent, HistoryLine, Iterated, Over, Override,
    PhaseName, Stand, Trip, TripCause, Underway, trip_text, words::AUTO_RESET,
};
use crate::identity::Digest;
use crate::memory::rise;
use crate::{Moment, digest_hex};

/// How many of the things that got better a line of history names.
const GAINS_SHOWN_MAX: usize = 5;

/// The course after a fact.
pub fn apply(course: Option<Course>, fact: &Fact, at: Moment) -> Course {
    let is_new = course.is_none();
    let mut course = course.unwrap_or_else(|| Course::new(at));
    course.seen = at;
    match fact {
        Fact::Began { phase, .. } => begin(&mut course, phase, at),
        Fact::Entered { phase } => enter(&mut course, phase, at, &format!("Phase {phase} entered")),
        Fact::Resumed { unfinished } => {
            course.underway = None;
            course.finish = None;
            if unfinished.is_some() {
                rise(&mut course.totals.unfinished);
            }
        }
        Fact::Started { iteration, tree } => {
            if course.underway.is_some() {
                rise(&mut course.totals.unfinished);
            }
            course.iteration = *iteration;
            course.underway = Some(Underway { since: at, generation: course.generation });
            remember_tree(&mut course, *tree);
        }
        Fact::Iterated(iterated) => iterate(&mut course, iterated, at),
        Fact::Warned { count } => {
            change(&mut course, Stand::Warned, at, &format!("No progress for {count} iterations"));
        }
        Fact::Tripped { trip } => {
            rise(&mut course.totals.trips);
            rise(&mut course.opens);
            change(&mut course, Stand::Open(trip.clone()), at, &trip_text(trip));
        }
        Fact::Recovered => change(&mut course, Stand::Closed, at, "Progress detected, circuit closing"),
        Fact::HalfOpened => change(&mut course, Stand::Warned, at, "Cooldown over, monitoring"),
        Fact::Refused => rise(&mut course.totals.refused),
        Fact::Ignored { spent } => {
            course.underway = None;
            course.spent = course.spent.plus(*spent);
            rise(&mut course.totals.refused);
        }
        Fact::Guided { .. } => course.guidance = None,
        Fact::Reset { opens_too, .. } => {
            close(&mut course, at, if *opens_too { "Circuit reset by user" } else { AUTO_RESET });
            if *opens_too {
                course.opens = 0;
                course.last_progress = 0;
            }
        }
        Fact::Modified { guidance, .. } => {
            close(&mut course, at, "Circuit reset by user, with guidance");
            course.guidance = Some(guidance.clone());
        }
        Fact::Skipped { to, .. } => skip(&mut course, to.as_ref(), at),
        Fact::Aborted { .. } => {
            course.underway = None;
            change(&mut course, Stand::Over(Over::Aborted), at, "Aborted by user");
        }
        Fact::Finished { how } => {
            course.underway = None;
            course.finish = Some(*how);
            // The end of a run closes nothing: what is open, or was aborted, stays so.
            let is_free = matches!(course.stand, Stand::Closed | Stand::Warned);
            if *how == Finish::Completed && is_free {
                change(&mut course, Stand::Over(Over::Completed), at, "Completed");
            }
        }
        Fact::Adopted(foreign) => adopt(&mut course, foreign, is_new, at),
    }
    course
}

fn begin(course: &mut Course, phase: &PhaseName, at: Moment) {
    let was_over = matches!(course.stand, Stand::Over(_));
    count_anew(course, phase, at, if was_over { "A new run" } else { "Run begun" });
    course.baselines.clear();
    course.known_failures.clear();
    course.trees.clear();
    course.last = None;
    course.last_progress = 0;
    course.spent = super::Spent::default();
}

/// A state file has counts and no phase. Learning which one it is in is not entering another.
fn enter(course: &mut Course, phase: &PhaseName, at: Moment, reason: &str) {
    if course.phase.is_none() {
        course.phase = Some(phase.clone());
    } else {
        count_anew(course, phase, at, reason);
    }
}

/// Both counters begin anew, history stays (P4).
fn count_anew(course: &mut Course, phase: &PhaseName, at: Moment, reason: &str) {
    course.phase = Some(phase.clone());
    course.iteration = 0;
    course.underway = None;
    course.finish = None;
    forget_counts(course);
    if course.stand != Stand::Closed {
        change(course, Stand::Closed, at, reason);
    }
}

fn iterate(course: &mut Course, iterated: &Iterated, at: Moment) {
    let Iterated { iteration, progress, neutral, denied, metrics, tree, error, spent, .. } = iterated;
    course.iteration = *iteration;
    course.underway = None;
    course.spent = course.spent.plus(*spent);
    rise(&mut course.totals.iterations);
    course.last = Some(iterated.clone());
    if iterated.stale {
        return;
    }
    match (*denied, *neutral) {
        (true, _) => course.denials = course.denials.saturating_add(1),
        (false, true) => {}
        (false, false) => course.denials = 0,
    }
    if *neutral {
        rise(&mut course.totals.neutral);
        course.neutral = course.neutral.saturating_add(1);
        return;
    }
    course.neutral = 0;
    if let Some(phase) = course.phase.clone()
        && !metrics.is_empty()
    {
        // A course has a few phases; one that has ever new ones forgets what it compared with.
        if course.baselines.len() >= Course::BASELINES_MAX && !course.baselines.contains_key(&phase) {
            course.baselines.clear();
        }
        course.baselines.entry(phase).or_default().merge(metrics);
    }
    remember_tree(course, *tree);
    if *progress {
        rise(&mut course.totals.progress);
        course.no_progress = 0;
        course.last_progress = *iteration;
        let what = iterated.gains.iter().map(String::as_str);
        let what = what.chain(iterated.signs.iter().filter(|sign| sign.weight > 0).map(|sign| sign.source.word()));
        let what: Vec<&str> = what.take(GAINS_SHOWN_MAX).collect();
        let reason = format!("Progress: {}", what.join(", "));
        line(course, HistoryEvent::Progress, course.stand.file_word(), at, &reason);
    } else {
        course.no_progress = course.no_progress.saturating_add(1);
    }
    count_error(course, error.as_ref(), at);
}

/// The newest stands last; the content an iteration began with is among them.
fn remember_tree(course: &mut Course, tree: Option<Digest>) {
    let Some(tree) = tree else { return };
    course.trees.retain(|known| *known != tree);
    course.trees.push(tree);
    let excess = course.trees.len().saturating_sub(Course::TREES_MAX);
    course.trees.drain(..excess);
}

/// First sight counts 1, another error begins anew at 1, an iteration without error at 0 (P3).
fn count_error(course: &mut Course, error: Option<&ErrorMark>, at: Moment) {
    let Some(error) = error else {
        course.same_error = 0;
        course.error = None;
        return;
    };
    rise(&mut course.totals.errors);
    // A count somebody wrote into a state file, without the error it is about, goes on.
    let is_same = course.error.as_ref().map_or(course.same_error > 0, |known| known.is_same(error));
    course.same_error = if is_same { course.same_error.saturating_add(1) } else { 1 };
    course.error = Some(error.clone());
    let short = error.raw.get(..12).unwrap_or(&error.raw);
    let reason = format!("Error {short}, {} in a row", course.same_error);
    line(course, HistoryEvent::Error, course.stand.file_word(), at, &reason);
}

fn close(course: &mut Course, at: Moment, reason: &str) {
    forget_counts(course);
    course.closed = Some(at.at);
    change(course, Stand::Closed, at, reason);
}

fn skip(course: &mut Course, to: Option<&PhaseName>, at: Moment) {
    if let Some(left) = course.phase.clone()
        && !course.known_failures.contains(&left)
    {
        course.known_failures.push(left);
    }
    course.closed = Some(at.at);
    match to {
        Some(phase) => {
            // An iteration of the phase that was left may still end, and moves nothing in this one (E12).
            let (underway, generation) = (course.underway, course.generation);
            let reason = format!("Phase skipped by user, {phase} entered");
            count_anew(course, phase, at, &reason);
            if course.generation == generation {
                rise(&mut course.generation);
            }
            course.underway = underway;
        }
        None => {
            forget_counts(course);
            change(course, Stand::Over(Over::Skipped), at, "Last phase skipped by user");
        }
    }
}

fn adopt(course: &mut Course, foreign: &Foreign, is_new: bool, at: Moment) {
    let (stand, reason) = match &foreign.stand {
        ForeignStand::Closed => (Stand::Closed, "Taken over from a state file".to_owned()),
        ForeignStand::Warned => (Stand::Warned, "Taken over from a state file".to_owned()),
        ForeignStand::Open { since, reason, cooldown_ms } => {
            let since = since.map_or(at, Moment::recorded);
            let stamp = since.at.as_millis().to_be_bytes();
            let incident = digest_hex(&[b"found", reason.as_bytes(), &stamp], 4);
            let count = foreign.no_progress.max(foreign.same_error);
            let cause = TripCause::Found { reason: reason.clone() };
            (Stand::Open(Trip { incident, since, cause, count, cooldown_ms: *cooldown_ms }), reason.clone())
        }
    };
    if matches!(stand, Stand::Open(_)) && !matches!(course.stand, Stand::Open(_)) {
        rise(&mut course.totals.trips);
        rise(&mut course.opens);
    }
    if is_new || foreign.wins == Override::File {
        course.no_progress = foreign.no_progress;
        course.same_error = foreign.same_error;
        course.denials = foreign.denials;
        course.error = foreign.error.clone().map(|raw| ErrorMark { raw, normal: None });
        course.baselines.extend(foreign.baselines.clone());
        course.phase = foreign.phase.clone().or_else(|| course.phase.clone());
        course.iteration = foreign.iteration;
        course.last_progress = foreign.last_progress;
        course.opens = foreign.opens;
        if course.history.is_empty() {
            course.history.clone_from(&foreign.history);
        }
    }
    change(course, stand, at, &reason);
}

fn forget_counts(course: &mut Course) {
    course.no_progress = 0;
    course.same_error = 0;
    course.error = None;
    course.denials = 0;
    course.neutral = 0;
}

fn change(course: &mut Course, to: Stand, at: Moment, reason: &str) {
    let from = course.stand.file_word();
    course.stand = to;
    course.changed = at;
    rise(&mut course.generation);
    line(course, HistoryEvent::StateChange, from, at, reason);
}

fn line(course: &mut Course, event: HistoryEvent, from: &str, at: Moment, reason: &str) {
    course.history.push(HistoryLine {
        at: at.at,
        event,
        from: from.to_owned(),
        to: course.stand.file_word().to_owned(),
        reason: reason.to_owned(),
        is_trip: event == HistoryEvent::StateChange && matches!(course.stand, Stand::Open(_)),
        iteration: course.iteration,
    });
    let excess = course.history.len().saturating_sub(Course::HISTORY_MAX);
    course.history.drain(..excess);
}
