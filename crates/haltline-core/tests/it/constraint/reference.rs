//! A naive second implementation of the constraint breaker, from SPEC.md: it keeps everything that ever happened and
//! computes every answer from the whole list. It shares only the moments and the names of states with the core.

use haltline_core::Moment;
use haltline_core::constraint::{Limits, StateName, Totals, Weight};

use crate::constraint::acts::{Act, ActResult};

const DAY_MS: u64 = 86_400_000;

/// Every act that was not rejected, oldest first.
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

/// What an entry means, given everything before it.
#[derive(Clone, Debug)]
struct Meaning {
    at: Moment,
    act: Act,
    shown: Limits,
    /// The limits in force after the entry.
    limits: Limits,
    found: StateName,
    weight: Option<Weight>,
    has_tripped: bool,
    has_closed: bool,
    is_override_spent: bool,
    word: &'static str,
}

/// The circuit at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub state: StateName,
    /// Counted violations in the window, capped at the threshold.
    pub count: u32,
    pub totals: Totals,
    pub limits: Limits,
    /// Milliseconds until the cooldown ends, if it is running and the time is known.
    pub remaining_ms: Option<u64>,
    pub can_override: bool,
}

impl History {
    /// Records an act. A rejected act leaves no entry.
    pub fn record(&mut self, act: Act, at: Moment, shown: Limits) -> ActResult {
        let entry = Entry { at, act, shown };
        match evaluate(&self.meanings(), &entry) {
            Ok(meaning) => {
                self.entries.push(entry);
                let Meaning { word, weight, has_tripped, .. } = meaning;
                ActResult { word, weight, has_tripped }
            }
            Err(word) => ActResult { word, weight: None, has_tripped: false },
        }
    }

    /// Returns `None` if nothing ever happened.
    pub fn outlook(&self, now: Moment) -> Option<Outlook> {
        let earlier = self.meanings();
        let limits = earlier.last()?.limits;
        Some(Outlook {
            state: state(&earlier, now),
            count: count(&earlier, now, limits),
            totals: totals(&earlier),
            limits,
            remaining_ms: remaining(&earlier, now),
            can_override: is_override_ready(&earlier, now),
        })
    }

    fn meanings(&self) -> Vec<Meaning> {
        let mut earlier = Vec::new();
        for entry in &self.entries {
            let meaning = evaluate(&earlier, entry).expect("what was not rejected then is not rejected now");
            earlier.push(meaning);
        }
        earlier
    }
}

/// Elapsed milliseconds; `None` if the clocks cannot tell (E3).
fn elapsed(now: Moment, then: Moment) -> Option<u64> {
    match (now.boot, then.boot) {
        (Some(now), Some(then)) if now.id == then.id => Some(now.uptime_ms - then.uptime_ms),
        (Some(_) | None, Some(_) | None) => u64::try_from(now.at.as_millis() - then.at.as_millis()).ok(),
    }
}

fn evaluate(earlier: &[Meaning], entry: &Entry) -> Result<Meaning, &'static str> {
    let Entry { at, act, shown } = *entry;
    let in_force = limits_in_force(earlier, shown);
    let found = state(earlier, at);
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
    if found == StateName::Retired {
        return Err("not found");
    }
    match act {
        Act::Violate => violate(earlier, &mut meaning),
        Act::Clean if found == StateName::Open => return Err("OPEN"),
        Act::Clean | Act::Enforce { violated: false } if found != StateName::Open => {
            meaning.has_closed = found == StateName::HalfOpen;
        }
        Act::Enforce { violated } => {
            if violated {
                violate(earlier, &mut meaning);
            }
            meaning.is_override_spent = found == StateName::Open && is_override_ready(earlier, at);
            // An allowed action is not denied: the action that trips was allowed, and so is an overridden one.
            if meaning.has_tripped || meaning.is_override_spent {
                meaning.word = "warn";
            } else if found == StateName::Open {
                meaning.word = "deny";
            }
        }
        Act::Reset => meaning.has_closed = true,
        Act::Override { .. } if found == StateName::Closed => return Err("CLOSED"),
        Act::Override { .. } if found == StateName::HalfOpen => return Err("HALF-OPEN"),
        Act::Revoke if !is_override_ready(earlier, at) => return Err("no override"),
        Act::Trust if in_force == shown => return Err("nothing to trust"),
        Act::Trust => meaning.limits = shown,
        Act::Clean | Act::Retire | Act::Override { .. } | Act::Revoke => {}
        Act::Write(_) | Act::StepWall(_) | Act::Reboot | Act::Nothing => unreachable!("the circuit is not asked"),
    }
    Ok(meaning)
}

/// Implements C2 to C4.
fn violate(earlier: &[Meaning], meaning: &mut Meaning) {
    let Limits { violation_threshold, dedup_seconds, .. } = meaning.limits;
    let is_repeat = counted(earlier).last().is_some_and(|last| {
        elapsed(meaning.at, last.at).is_some_and(|elapsed| elapsed < u64::from(dedup_seconds) * 1000)
    });
    let count_before = count(earlier, meaning.at, meaning.limits);
    meaning.weight = Some(match meaning.found {
        StateName::Closed if is_repeat => Weight::Deduplicated,
        StateName::Closed | StateName::HalfOpen => Weight::Counted,
        StateName::Open | StateName::Retired => Weight::WhileOpen,
    });
    let count_after = count_before + u32::from(meaning.weight == Some(Weight::Counted));
    meaning.has_tripped = match meaning.found {
        StateName::Closed => meaning.weight == Some(Weight::Counted) && count_after >= violation_threshold,
        StateName::HalfOpen => true,
        StateName::Open | StateName::Retired => false,
    };
    meaning.word = match meaning.found {
        StateName::Open | StateName::Retired => "deny",
        StateName::Closed | StateName::HalfOpen if meaning.has_tripped => "deny",
        StateName::Closed | StateName::HalfOpen if count_after + 1 >= violation_threshold => "warn",
        StateName::Closed | StateName::HalfOpen => "pass",
    };
}

/// E9: the limits as first seen; after that, or after a person accepted others, only stricter ones.
fn limits_in_force(earlier: &[Meaning], shown: Limits) -> Limits {
    let accepted = earlier.iter().rposition(|meaning| meaning.act == Act::Trust).unwrap_or(0);
    let all = || earlier[accepted..].iter().map(|meaning| meaning.shown).chain([shown]);
    Limits {
        violation_threshold: all().map(|limits| limits.violation_threshold).min().unwrap_or_default(),
        window_days: all().map(|limits| limits.window_days).max().unwrap_or_default(),
        cooldown_hours: all().map(|limits| limits.cooldown_hours).max().unwrap_or_default(),
        dedup_seconds: all().map(|limits| limits.dedup_seconds).min().unwrap_or_default(),
    }
}

/// The trip that has not been closed since, and everything after it.
fn current_trip(earlier: &[Meaning]) -> Option<(&Meaning, &[Meaning])> {
    let tripped = earlier.iter().rposition(|meaning| meaning.has_tripped)?;
    let after = &earlier[tripped + 1..];
    if after.iter().any(|meaning| meaning.has_closed) { None } else { Some((&earlier[tripped], after)) }
}

fn remaining(earlier: &[Meaning], now: Moment) -> Option<u64> {
    let (trip, _after) = current_trip(earlier)?;
    let elapsed = elapsed(now, trip.at)?;
    (u64::from(trip.limits.cooldown_hours) * 3_600_000).checked_sub(elapsed).filter(|&remaining| remaining > 0)
}

fn state(earlier: &[Meaning], now: Moment) -> StateName {
    if earlier.iter().any(|meaning| meaning.act == Act::Retire) {
        return StateName::Retired;
    }
    let Some((trip, after)) = current_trip(earlier) else { return StateName::Closed };
    let was_seen_half_open = after.iter().any(|meaning| meaning.found == StateName::HalfOpen);
    let is_over = elapsed(now, trip.at).is_some_and(|_| remaining(earlier, now).is_none());
    if was_seen_half_open || is_over { StateName::HalfOpen } else { StateName::Open }
}

/// The violations that counted since the last close.
fn counted(earlier: &[Meaning]) -> impl DoubleEndedIterator<Item = &Meaning> {
    let start = earlier.iter().rposition(|meaning| meaning.has_closed).map_or(0, |closed| closed + 1);
    earlier[start..].iter().filter(|meaning| meaning.weight == Some(Weight::Counted))
}

fn count(earlier: &[Meaning], now: Moment, limits: Limits) -> u32 {
    let window_ms = u64::from(limits.window_days) * DAY_MS;
    let is_inside = |meaning: &&Meaning| elapsed(now, meaning.at).is_none_or(|age| age < window_ms);
    let inside = u32::try_from(counted(earlier).filter(is_inside).count()).expect("short histories");
    inside.min(limits.violation_threshold)
}

/// C8: the newest override, unless it was used, revoked, or ended by a close or the next trip.
fn is_override_ready(earlier: &[Meaning], now: Moment) -> bool {
    let is_end = |meaning: &Meaning| {
        meaning.is_override_spent
            || meaning.has_tripped
            || meaning.has_closed
            || matches!(meaning.act, Act::Revoke | Act::Retire)
    };
    let newest = earlier.iter().enumerate().rev().find_map(|(index, meaning)| match meaning.act {
        Act::Override { lifetime_ms } => Some((index, lifetime_ms.min(DAY_MS))),
        Act::Violate | Act::Clean | Act::Enforce { .. } | Act::Reset | Act::Retire | Act::Revoke | Act::Trust => None,
        Act::Write(_) | Act::StepWall(_) | Act::Reboot | Act::Nothing => None,
    });
    newest.is_some_and(|(index, lifetime_ms)| {
        let is_young = elapsed(now, earlier[index].at).is_some_and(|elapsed| elapsed < lifetime_ms);
        is_young && !earlier[index..].iter().any(is_end)
    })
}

fn totals(earlier: &[Meaning]) -> Totals {
    let number = |is_one: &dyn Fn(&&Meaning) -> bool| earlier.iter().filter(is_one).count() as u64;
    let weighing = |weight| number(&|meaning| meaning.weight == Some(weight));
    let is_enforced = |meaning: &&Meaning| matches!(meaning.act, Act::Enforce { .. });
    Totals {
        violations: weighing(Weight::Counted) + weighing(Weight::WhileOpen),
        counted: weighing(Weight::Counted),
        deduplicated: weighing(Weight::Deduplicated),
        while_open: weighing(Weight::WhileOpen),
        passes: number(&|meaning| {
            let is_clean = matches!(meaning.act, Act::Clean | Act::Enforce { violated: false });
            is_clean && meaning.found != StateName::Open
        }),
        denied: number(&|meaning| is_enforced(meaning) && meaning.word == "deny"),
        trips: number(&|meaning| meaning.has_tripped),
        overrides: number(&|meaning| meaning.is_override_spent),
    }
}

/// The number of counted violations, capped at the threshold: the reference does not distinguish numbers beyond it.
pub fn capped_count(circuit: &haltline_core::constraint::Circuit, now: haltline_core::Moment) -> u32 {
    circuit.in_window(now).min(circuit.limits().violation_threshold)
}
