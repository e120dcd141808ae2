//! Budgets: what they cover, their limits, and what is used of each (L7). Fronts and decisions read the same lines.

use serde::{Deserialize, Serialize};

use super::{AgentTree, Bound, Limits, messages};
use crate::ledger::{BudgetScope, BudgetUnit, Ledger, Used};
use crate::{Elapsed, Instant, Moment};

/// The limits of one budget. Off unless set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetLimits {
    /// Cost in millionths of a dollar.
    pub micros: Bound,
    pub tokens: Bound,
    pub calls: Bound,
    pub minutes: Bound,
}

impl BudgetLimits {
    /// True if any limit is set.
    pub fn is_set(&self) -> bool {
        *self != Self::default()
    }
}

/// The budgets beside that of a session. Off unless set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgets {
    pub prompt: BudgetLimits,
    pub day: BudgetLimits,
    pub night: BudgetLimits,
    pub week: BudgetLimits,
    pub project: BudgetLimits,
    /// What sub-agents that run together may cost, in millionths of a dollar.
    #[serde(default)]
    pub fan_out_micros: Option<u64>,
    /// The hour at which the night begins, local time.
    pub night_from_hour: u32,
    /// The hour at which the night ends.
    pub night_to_hour: u32,
}

impl Default for Budgets {
    fn default() -> Self {
        let unset = BudgetLimits::default();
        Self {
            prompt: unset,
            day: unset,
            night: unset,
            week: unset,
            project: unset,
            fan_out_micros: None,
            night_from_hour: 22,
            night_to_hour: 8,
        }
    }
}

impl Budgets {
    /// True if a budget of the whole machine is set.
    pub fn is_machine_set(&self) -> bool {
        self.day.is_set() || self.night.is_set() || self.week.is_set()
    }

    /// True if a budget is set that many sessions share.
    pub fn is_shared_set(&self) -> bool {
        self.is_machine_set() || self.project.is_set()
    }

    /// True if any budget is set.
    pub fn is_set(&self) -> bool {
        self.prompt.is_set() || self.is_shared_set() || self.fan_out_micros.is_some()
    }
}

/// How fast a session may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendRateLimits {
    /// haltline warns when a minute costs this many times the session's median minute; 0 switches the warning off.
    pub warn_times: u32,
    /// haltline denies calls for the rest of a minute that has cost this much, in millionths of a dollar.
    pub hard_micros: Option<u64>,
}

impl Default for SpendRateLimits {
    fn default() -> Self {
        Self { warn_times: 5, hard_micros: None }
    }
}

/// haltline compares the spend of a minute with the median only if it has seen this many.
const RATES_MIN: usize = 10;
/// How many minutes are kept.
const RATES_MAX: usize = 30;
/// A minute that costs less than this is never too fast: a dollar.
const RATE_FLOOR_MICROS: u64 = 1_000_000;
const MINUTE_MS: u64 = 60_000;

/// How fast a session has spent, in minutes that begin with a report of the client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendRate {
    /// When the current minute began.
    pub since: Moment,
    /// When the client last reported spending.
    pub last: Moment,
    /// What was spent since then, in millionths of a dollar.
    pub pending: u64,
    /// What earlier minutes cost, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<u64>,
}

impl SpendRate {
    /// Adds what a report says was spent.
    pub(super) fn add(&mut self, micros: u64, at: Moment) {
        if self.pending > 0 && self.is_minute_over(at) {
            self.rates.push(self.current());
            crate::circuit::keep_newest(&mut self.rates, RATES_MAX);
            self.pending = 0;
        }
        if self.pending == 0 {
            self.since = at;
        }
        self.last = at;
        self.pending = self.pending.saturating_add(micros);
    }

    fn is_minute_over(&self, now: Moment) -> bool {
        matches!(now.since(self.since), Elapsed::Known(elapsed) if elapsed >= MINUTE_MS)
    }

    /// What the current minute costs, in millionths of a dollar per minute.
    pub fn current(&self) -> u64 {
        let length = match self.last.since(self.since) {
            Elapsed::Known(elapsed) => elapsed.max(MINUTE_MS),
            Elapsed::Unknown => MINUTE_MS,
        };
        let rate = u128::from(self.pending) * u128::from(MINUTE_MS) / u128::from(length);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// What an ordinary minute of this session costs; `None` while too few are known.
    pub fn median(&self) -> Option<u64> {
        let mut rates = self.rates.clone();
        rates.sort_unstable();
        (rates.len() >= RATES_MIN).then(|| rates[rates.len() / 2])
    }

    /// The current rate and the median if the session spends many times as fast as usual.
    pub fn unusual(&self, limits: &SpendRateLimits) -> Option<(u64, u64)> {
        let (current, median) = (self.current(), self.median()?);
        let limit = median.saturating_mul(limits.warn_times.into()).max(RATE_FLOOR_MICROS);
        (limits.warn_times > 0 && current >= limit).then_some((current, median))
    }

    /// What the current minute has cost and when it ends, if that is too much.
    pub fn too_fast(&self, limits: &SpendRateLimits, now: Moment) -> Option<(u64, Instant)> {
        let hard = limits.hard_micros?;
        let is_now = !self.is_minute_over(now);
        (is_now && self.pending >= hard).then(|| (self.pending, self.since.plus_millis(MINUTE_MS).at))
    }
}

/// What was used when the person wrote the last prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptStart {
    pub since: Moment,
    pub micros: u64,
    pub tokens: u64,
    pub calls: u64,
}

/// What is used of one limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetLine {
    pub scope: BudgetScope,
    pub unit: BudgetUnit,
    pub used: u64,
    /// What responses in flight will probably use.
    pub reserved: u64,
    /// True if some of what was used is not known.
    pub is_partial: bool,
    pub soft: Option<u64>,
    /// The hard limit, with what a person added to it for a while.
    pub hard: Option<u64>,
    /// What a person added to the hard limit for a while.
    pub raised: u64,
    /// When counting starts again; `None` if that is not a matter of time.
    pub until: Option<Instant>,
    /// The used amount as text.
    pub shown: String,
}

impl BudgetLine {
    /// The configuration key of its soft or hard limit, without that ending.
    pub fn key(&self) -> String {
        match self.scope {
            BudgetScope::Session => format!("budget.{}", self.unit.as_str()),
            BudgetScope::Prompt | BudgetScope::Day | BudgetScope::Night | BudgetScope::Week | BudgetScope::Project => {
                format!("budget.{}.{}", self.scope.as_str(), self.unit.as_str())
            }
        }
    }

    /// What remains below the hard limit, as far as nothing is reserved.
    pub fn free(&self) -> Option<u64> {
        self.hard.map(|hard| hard.saturating_sub(self.used.saturating_add(self.reserved)))
    }

    pub fn is_exceeded(&self) -> bool {
        self.hard.is_some_and(|hard| self.used >= hard)
    }

    /// True if the responses in flight will probably use up the rest.
    pub fn is_reserved_up(&self) -> bool {
        self.reserved > 0 && self.hard.is_some_and(|hard| self.used.saturating_add(self.reserved) >= hard)
    }

    /// An amount of this line's unit as text.
    pub fn show(&self, amount: u64) -> String {
        show_amount(self.unit, amount)
    }

    /// What the line is about, such as `the day's budget`.
    pub fn subject(&self) -> &'static str {
        match self.scope {
            BudgetScope::Session => "the session's budget",
            BudgetScope::Prompt => "the budget of this prompt",
            BudgetScope::Day => "the day's budget of this machine",
            BudgetScope::Night => "the night's budget of this machine",
            BudgetScope::Week => "the week's budget of this machine",
            BudgetScope::Project => "the project's budget",
        }
    }
}

/// An amount as text: dollars, or a plain number.
pub fn show_amount(unit: BudgetUnit, amount: u64) -> String {
    match unit {
        BudgetUnit::Usd => messages::dollars(amount),
        BudgetUnit::Tokens | BudgetUnit::Turns | BudgetUnit::Calls | BudgetUnit::Minutes => amount.to_string(),
    }
}

/// What is used of every limit that is set, in the order in which haltline compares them.
pub fn budget_lines(
    tree: Option<&AgentTree>,
    machine: Option<&Ledger>,
    project: Option<&Ledger>,
    limits: &Limits,
    now: Moment,
) -> Vec<BudgetLine> {
    let mut lines = Vec::new();
    let minutes = |since: Moment| match now.since(since) {
        Elapsed::Known(elapsed) => elapsed / MINUTE_MS,
        Elapsed::Unknown => 0,
    };
    let mut add = |scope, unit, amount: u64, reserved, bound: Bound, (until, known): (_, Known)| {
        if bound == Bound::default() {
            return;
        }
        let raised = machine.or(project).map_or(0, |_| {
            let ledger = if scope == BudgetScope::Project { project } else { machine };
            ledger.map_or(0, |ledger| ledger.raised(scope, unit, now))
        });
        let shown = match unit {
            BudgetUnit::Usd => messages::cost(amount, known.is_priced, known.is_partial),
            BudgetUnit::Tokens | BudgetUnit::Turns | BudgetUnit::Calls | BudgetUnit::Minutes => {
                format!("{amount} {}", unit.as_str())
            }
        };
        let hard = bound.hard.map(|hard| hard.saturating_add(raised));
        let is_partial = known.is_partial && unit == BudgetUnit::Usd;
        let (used, soft) = (amount, bound.soft);
        lines.push(BudgetLine { scope, unit, used, reserved, is_partial, soft, hard, raised, until, shown });
    };
    if let Some(tree) = tree {
        let (spent, session) = (&tree.spent, &limits.budget);
        let known = Known { is_priced: spent.is_priced, is_partial: spent.is_partial };
        let scope = BudgetScope::Session;
        add(scope, BudgetUnit::Usd, spent.micros, 0, session.micros, (None, known));
        add(scope, BudgetUnit::Tokens, spent.tokens, 0, session.tokens, (None, known));
        add(scope, BudgetUnit::Turns, spent.turns, 0, session.turns, (None, known));
        add(scope, BudgetUnit::Calls, spent.calls, 0, session.calls, (None, known));
        add(scope, BudgetUnit::Minutes, minutes(tree.first_seen), 0, session.minutes, (None, known));
        let start = tree.prompt_start.unwrap_or(PromptStart { since: tree.first_seen, micros: 0, tokens: 0, calls: 0 });
        let (scope, prompt) = (BudgetScope::Prompt, &limits.budgets.prompt);
        add(scope, BudgetUnit::Usd, spent.micros.saturating_sub(start.micros), 0, prompt.micros, (None, known));
        add(scope, BudgetUnit::Tokens, spent.tokens.saturating_sub(start.tokens), 0, prompt.tokens, (None, known));
        add(scope, BudgetUnit::Calls, spent.calls.saturating_sub(start.calls), 0, prompt.calls, (None, known));
        add(scope, BudgetUnit::Minutes, minutes(start.since), 0, prompt.minutes, (None, known));
    }
    let budgets = &limits.budgets;
    for (scope, ledger, bounds) in [
        (BudgetScope::Day, machine, &budgets.day),
        (BudgetScope::Night, machine, &budgets.night),
        (BudgetScope::Week, machine, &budgets.week),
        (BudgetScope::Project, project, &budgets.project),
    ] {
        let Some(period) = ledger.and_then(|ledger| ledger.period(scope, now)) else { continue };
        let Used { micros, is_partial, tokens, calls, minutes, .. } = period.used;
        let known = Known { is_priced: micros > 0 || !is_partial, is_partial };
        let (until, in_flight) = (period.window.map(|window| window.end), ledger.map(|ledger| ledger.reserved(now)));
        let in_flight = in_flight.unwrap_or_default();
        add(scope, BudgetUnit::Usd, micros, in_flight.micros, bounds.micros, (until, known));
        add(scope, BudgetUnit::Tokens, tokens, in_flight.tokens, bounds.tokens, (until, known));
        add(scope, BudgetUnit::Calls, calls, 0, bounds.calls, (until, known));
        add(scope, BudgetUnit::Minutes, minutes, 0, bounds.minutes, (until, known));
    }
    lines
}

/// How much of the cost is known.
#[derive(Clone, Copy)]
struct Known {
    is_priced: bool,
    is_partial: bool,
}
