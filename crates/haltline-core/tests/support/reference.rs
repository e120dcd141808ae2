//! The constraint family once more, naively, from SPEC.md: it keeps everything that ever happened and works out every
//! answer from the whole list. It shares nothing with the core but the moments and the words.

use haltline_core::Moment;
use haltline_core::constraint::{Condition, Limits, Totals, Weight};

use crate::acts::{Act, Answer};

const DAY_MS: u64 = 86_400_000;

/// Everything that was asked and not rejected, oldest first.
#[derive(Clone, Debug, Default)]
pub struct History {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    at: Moment,
    act: Act,
    /// What the constraint's file said then.
    shown: Limits,
}

/// What an entry amounted to, given everything before it.
#[derive(Clone, Debug)]
struct Meaning {
    at: Moment,
    act: Act,
    shown: Limits,
    /// The limits in force once it had happened.
    limits: Limits,
    found: Condition,
    weight: Option<Weight>,
    has_tripped: bool,
    has_closed: bool,
    is_override_spent: bool,
    word: &'static str,
}

/// What the circuit looks like at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub state: Condition,
    /// Counted violations in the window, no more than the threshold.
    pub count: u32,
    pub totals: Totals,
    pub limits: Limits,
    /// Milliseconds until the cooldown ends, where it runs and can be told.
    pub remaining_ms: Option<u64>,
    pub can_override: bool,
}

impl History {
    /// Something happens. What is rejected did not happen.
    pub fn happen(&mut self, act: Act, at: Moment, shown: Limits) -> Answer {
        let entry = Entry { at, act, shown };
        match judge(&self.meanings(), &entry) {
            Ok(meaning) => {
                self.entries.push(entry);
                let Meaning { word, weight, has_tripped, .. } = meaning;
                Answer { word, weight, has_tripped }
            }
            Err(word) => Answer { word, weight: None, has_tripped: false },
        }
    }

    /// `None` where nothing ever happened.
    pub fn outlook(&self, now: Moment) -> Option<Outlook> {
        let past = self.meanings();
        let limits = past.last()?.limits;
        Some(Outlook {
            state: state(&past, now),
            count: count(&past, now, limits),
            totals: totals(&past),
            limits,
            remaining_ms: remaining(&past, now),
            can_override: is_override_ready(&past, now),
        })
    }

    fn meanings(&self) -> Vec<Meaning> {
        let mut past = Vec::new();
        for entry in &self.entries {
            let meaning = judge(&past, entry).expect("what was not rejected then is not rejected now");
            past.push(meaning);
        }
        past
    }
}

/// Elapsed milliseconds; `None` where the clocks cannot tell (E3).
fn elapsed(now: Moment, then: Moment) -> Option<u64> {
    match (now.boot, then.boot) {
        (Some(now), Some(then)) if now.id == then.id => Some(now.uptime_ms - then.uptime_ms),
        (Some(_) | None, Some(_) | None) => u64::try_from(now.at.as_millis() - then.at.as_millis()).ok(),
    }
}

fn judge(past: &[Meaning], entry: &Entry) -> Result<Meaning, &'static str> {
    let Entry { at, act, shown } = *entry;
    let in_force = limits_in_force(past, shown);
    let found = state(past, at);
    let mut meaning = Meaning {
        at,
        act,
        shown,
        limits: in_force,
        found,
        weight: None,
        has_tripped: false,
        has_closed: false,
        is_override_spent: false,
        word: "pass",
    };
    if found == Condition::Retired {
        return Err("not found");
    }
    match act {
        Act::Violate => violate(past, &mut meaning),
        Act::Clean if found == Condition::Open => return Err("OPEN"),
        Act::Clean | Act::Enforce { violated: false } if found != Condition::Open => {
            meaning.has_closed = found == Condition::HalfOpen;
        }
        Act::Enforce { violated } => {
            if violated {
                violate(past, &mut meaning);
            }
            meaning.is_override_spent = found == Condition::Open && is_override_ready(past, at);
            // Whoever is allowed to act is not refused: the action that trips was allowed, and so is an overridden one.
            if meaning.has_tripped || meaning.is_override_spent {
                meaning.word = "warn";
            } else if found == Condition::Open {
                meaning.word = "deny";
            }
        }
        Act::Reset => meaning.has_closed = true,
        Act::Override { .. } if found == Condition::Closed => return Err("CLOSED"),
        Act::Override { .. } if found == Condition::HalfOpen => return Err("HALF-OPEN"),
        Act::Revoke if !is_override_ready(past, at) => return Err("no override"),
        Act::Trust if in_force == shown => return Err("nothing to trust"),
        Act::Trust => meaning.limits = shown,
        Act::Clean | Act::Retire | Act::Override { .. } | Act::Revoke => {}
        Act::Write(_) | Act::StepWall(_) | Act::Reboot | Act::Nothing => unreachable!("the circuit is not asked"),
    }
    Ok(meaning)
}

/// C2 to C4.
fn violate(past: &[Meaning], meaning: &mut Meaning) {
    let Limits { violation_threshold, dedup_seconds, .. } = meaning.limits;
    let is_repeat = counted(past).last().is_some_and(|last| {
        elapsed(meaning.at, last.at).is_some_and(|elapsed| elapsed < u64::from(dedup_seconds) * 1000)
    });
    let count_before = count(past, meaning.at, meaning.limits);
    meaning.weight = Some(match meaning.found {
        Condition::Closed if is_repeat => Weight::Deduplicated,
        Condition::Closed | Condition::HalfOpen => Weight::Counted,
        Condition::Open | Condition::Retired => Weight::WhileOpen,
    });
    let count_after = count_before + u32::from(meaning.weight == Some(Weight::Counted));
    meaning.has_tripped = match meaning.found {
        Condition::Closed => meaning.weight == Some(Weight::Counted) && count_after >= violation_threshold,
        Condition::HalfOpen => true,
        Condition::Open | Condition::Retired => false,
    };
    meaning.word = match meaning.found {
        Condition::Open | Condition::Retired => "deny",
        Condition::Closed | Condition::HalfOpen if meaning.has_tripped => "deny",
        Condition::Closed | Condition::HalfOpen if count_after + 1 >= violation_threshold => "warn",
        Condition::Closed | Condition::HalfOpen => "pass",
    };
}

/// E9: as first seen; from then on, or from what a person accepted, only what is stricter.
fn limits_in_force(past: &[Meaning], shown: Limits) -> Limits {
    let accepted = past.iter().rposition(|meaning| meaning.act == Act::Trust).unwrap_or(0);
    let all = || past[accepted..].iter().map(|meaning| meaning.shown).chain([shown]);
    Limits {
        violation_threshold: all().map(|limits| limits.violation_threshold).min().unwrap_or_default(),
        window_days: all().map(|limits| limits.window_days).max().unwrap_or_default(),
        cooldown_hours: all().map(|limits| limits.cooldown_hours).max().unwrap_or_default(),
        dedup_seconds: all().map(|limits| limits.dedup_seconds).min().unwrap_or_default(),
    }
}

/// The trip that has not been closed since, and everything after it.
fn standing_trip(past: &[Meaning]) -> Option<(&Meaning, &[Meaning])> {
    let tripped = past.iter().rposition(|meaning| meaning.has_tripped)?;
    let after = &past[tripped + 1..];
    if after.iter().any(|meaning| meaning.has_closed) { None } else { Some((&past[tripped], after)) }
}

fn remaining(past: &[Meaning], now: Moment) -> Option<u64> {
    let (trip, _after) = standing_trip(past)?;
    let elapsed = elapsed(now, trip.at)?;
    (u64::from(trip.limits.cooldown_hours) * 3_600_000).checked_sub(elapsed).filter(|&remaining| remaining > 0)
}

fn state(past: &[Meaning], now: Moment) -> Condition {
    if past.iter().any(|meaning| meaning.act == Act::Retire) {
        return Condition::Retired;
    }
    let Some((trip, after)) = standing_trip(past) else { return Condition::Closed };
    let was_seen_on_trial = after.iter().any(|meaning| meaning.found == Condition::HalfOpen);
    let is_over = elapsed(now, trip.at).is_some_and(|_| remaining(past, now).is_none());
    if was_seen_on_trial || is_over { Condition::HalfOpen } else { Condition::Open }
}

/// The violations that counted since the last close.
fn counted(past: &[Meaning]) -> impl DoubleEndedIterator<Item = &Meaning> {
    let start = past.iter().rposition(|meaning| meaning.has_closed).map_or(0, |closed| closed + 1);
    past[start..].iter().filter(|meaning| meaning.weight == Some(Weight::Counted))
}

fn count(past: &[Meaning], now: Moment, limits: Limits) -> u32 {
    let window_ms = u64::from(limits.window_days) * DAY_MS;
    let is_inside = |meaning: &&Meaning| elapsed(now, meaning.at).is_none_or(|age| age < window_ms);
    let inside = u32::try_from(counted(past).filter(is_inside).count()).expect("short histories");
    inside.min(limits.violation_threshold)
}

/// C8: the newest override, unless it was used, taken back, or went with a close or the next trip.
fn is_override_ready(past: &[Meaning], now: Moment) -> bool {
    let is_end = |meaning: &Meaning| {
        meaning.is_override_spent
            || meaning.has_tripped
            || meaning.has_closed
            || matches!(meaning.act, Act::Revoke | Act::Retire)
    };
    let newest = past.iter().enumerate().rev().find_map(|(place, meaning)| match meaning.act {
        Act::Override { lifetime_ms } => Some((place, lifetime_ms.min(DAY_MS))),
        Act::Violate | Act::Clean | Act::Enforce { .. } | Act::Reset | Act::Retire | Act::Revoke | Act::Trust => None,
        Act::Write(_) | Act::StepWall(_) | Act::Reboot | Act::Nothing => None,
    });
    newest.is_some_and(|(place, lifetime_ms)| {
        let is_young = elapsed(now, past[place].at).is_some_and(|elapsed| elapsed < lifetime_ms);
        is_young && !past[place..].iter().any(is_end)
    })
}

fn totals(past: &[Meaning]) -> Totals {
    let number = |is_one: &dyn Fn(&&Meaning) -> bool| past.iter().filter(is_one).count() as u64;
    let weighing = |weight| number(&|meaning| meaning.weight == Some(weight));
    let is_enforced = |meaning: &&Meaning| matches!(meaning.act, Act::Enforce { .. });
    Totals {
        violations: weighing(Weight::Counted) + weighing(Weight::WhileOpen),
        counted: weighing(Weight::Counted),
        deduplicated: weighing(Weight::Deduplicated),
        while_open: weighing(Weight::WhileOpen),
        passes: number(&|meaning| {
            let is_clean = matches!(meaning.act, Act::Clean | Act::Enforce { violated: false });
            is_clean && meaning.found != Condition::Open
        }),
        refused: number(&|meaning| is_enforced(meaning) && meaning.word == "deny"),
        trips: number(&|meaning| meaning.has_tripped),
        overrides: number(&|meaning| meaning.is_override_spent),
    }
}

/// As many counted violations as can matter: beyond the threshold the reference does not tell them apart.
pub fn capped_count(circuit: &haltline_core::constraint::Circuit, now: haltline_core::Moment) -> u32 {
    circuit.in_window(now).min(circuit.limits().violation_threshold)
}
