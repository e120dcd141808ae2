//! Views of budgets.

use haltline_core::ledger::{BudgetScope, BudgetUnit, Ledger, Raise, Share};
use haltline_core::loop_::AgentTree;
use haltline_core::loop_::budget::{BudgetLine, show_amount};
use haltline_core::{Elapsed, Instant, Moment};
use serde::Serialize;

use super::AuditView;
use super::backtest::usd;
use crate::local_time;

/// The result of `haltline budget`.
#[derive(Debug, Serialize)]
pub struct BudgetsView {
    pub schema: u32,
    /// The session that the lines of `session` and `prompt` are about.
    pub session: Option<String>,
    /// What is used of each limit that is set.
    pub lines: Vec<LineView>,
    /// Budgets that are set and of which nothing is used now.
    pub unused: Vec<&'static str>,
    /// Limits that a person raised for a while.
    pub raised: Vec<RaisedView>,
    /// What used most.
    pub sources: Vec<SourceView>,
}

/// What is used of one limit. Dollars are numbers with decimals.
#[derive(Debug, Serialize)]
pub struct LineView {
    pub scope: &'static str,
    pub unit: &'static str,
    pub used: f64,
    /// True if some of what was used is not known.
    pub is_partial: bool,
    /// What responses in flight will probably use.
    pub reserved: f64,
    pub free: Option<f64>,
    pub warn: Option<f64>,
    pub limit: Option<f64>,
    /// By how much the limit is raised now.
    pub raised: f64,
    /// Use in the last hour.
    pub per_hour: f64,
    /// When it is used up at this pace, before it starts again.
    pub gone_at: Option<String>,
    /// When counting starts again.
    pub until: Option<String>,
    #[serde(skip)]
    pub shown: ShownLine,
}

/// The same as people read it.
#[derive(Debug)]
pub struct ShownLine {
    pub used: String,
    pub reserved: String,
    pub free: String,
    pub limit: String,
    pub pace: String,
    pub gone: String,
}

/// A raise in force.
#[derive(Debug, Serialize)]
pub struct RaisedView {
    pub scope: &'static str,
    pub unit: &'static str,
    pub amount: f64,
    pub until: String,
    pub who: String,
    #[serde(skip)]
    pub shown: String,
    #[serde(skip)]
    pub until_local: String,
}

/// The result of `haltline budget raise`.
#[derive(Debug, Serialize)]
pub struct RaiseView {
    pub schema: u32,
    pub raised: Option<RaisedView>,
    pub audit: AuditView,
}

/// What one source used.
#[derive(Debug, Serialize)]
pub struct SourceView {
    /// Such as `model claude-opus-5-5`, `tool Bash` or `sub-agents`.
    pub source: String,
    pub cost_usd: f64,
    pub tokens: u64,
    pub calls: u64,
}

impl RaisedView {
    pub fn new(raise: &Raise, now: Instant) -> Self {
        Self {
            scope: raise.scope.as_str(),
            unit: raise.unit.as_str(),
            amount: number(raise.unit, raise.amount),
            until: raise.until().to_seconds_text(),
            who: raise.who.clone(),
            shown: spoken(raise.unit, raise.amount),
            until_local: local_time::clock_time(raise.until(), now),
        }
    }
}

impl SourceView {
    /// All sources of a ledger, those that cost most first.
    pub fn all(ledger: Option<&Ledger>) -> Vec<Self> {
        let mut shares: Vec<(&String, &Share)> = ledger.iter().flat_map(|ledger| &ledger.shares).collect();
        shares.sort_by_key(|(name, share)| (std::cmp::Reverse((share.micros, share.tokens, share.calls)), *name));
        let view = |(source, share): (&String, &Share)| Self {
            source: source.clone(),
            cost_usd: usd(share.micros),
            tokens: share.tokens,
            calls: share.calls,
        };
        shares.into_iter().map(view).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn number(unit: BudgetUnit, amount: u64) -> f64 {
    if unit == BudgetUnit::Usd { usd(amount) } else { amount as f64 }
}

fn spoken(unit: BudgetUnit, amount: u64) -> String {
    let shown = show_amount(unit, amount);
    if unit == BudgetUnit::Usd { shown } else { format!("{shown} {}", unit.as_str()) }
}

/// The views of the lines.
pub fn line_views(
    lines: &[BudgetLine],
    tree: Option<&AgentTree>,
    machine: Option<&Ledger>,
    project: Option<&Ledger>,
    now: Moment,
) -> Vec<LineView> {
    lines.iter().map(|line| line_view(line, tree, machine, project, now)).collect()
}

fn line_view(
    line: &BudgetLine,
    tree: Option<&AgentTree>,
    machine: Option<&Ledger>,
    project: Option<&Ledger>,
    now: Moment,
) -> LineView {
    let per_hour = match line.scope {
        BudgetScope::Session => per_hour(line.used, tree.map(|tree| tree.first_seen), now),
        BudgetScope::Prompt => {
            per_hour(line.used, tree.and_then(|tree| tree.prompt_start).map(|start| start.since), now)
        }
        BudgetScope::Day | BudgetScope::Night | BudgetScope::Week => last_hour(machine, line.unit, now),
        BudgetScope::Project => last_hour(project, line.unit, now),
    };
    let gone = line.free().filter(|free| *free > 0 && per_hour > 0).map(|free| {
        let millis = u128::from(free) * 3_600_000 / u128::from(per_hour);
        now.at.plus_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    });
    let gone = gone.filter(|gone| line.until.is_none_or(|until| *gone < until));
    let shown_gone = match (line.is_exceeded(), gone) {
        (true, _) => "spent".to_owned(),
        (false, Some(gone)) => local_time::clock_time(gone, now.at),
        (false, None) => "-".to_owned(),
    };
    let optional = |amount: Option<u64>| amount.map_or_else(|| "-".to_owned(), |amount| line.show(amount));
    LineView {
        scope: line.scope.as_str(),
        unit: line.unit.as_str(),
        used: number(line.unit, line.used),
        is_partial: line.is_partial,
        reserved: number(line.unit, line.reserved),
        free: line.free().map(|free| number(line.unit, free)),
        warn: line.soft.map(|soft| number(line.unit, soft)),
        limit: line.hard.map(|hard| number(line.unit, hard)),
        raised: number(line.unit, line.raised),
        per_hour: number(line.unit, per_hour),
        gone_at: gone.map(Instant::to_seconds_text),
        until: line.until.map(Instant::to_seconds_text),
        shown: ShownLine {
            used: format!("{}{}", if line.is_partial { ">=" } else { "" }, line.show(line.used)),
            reserved: line.show(line.reserved),
            free: optional(line.free()),
            limit: optional(line.hard.or(line.soft)),
            pace: format!("{}/h", line.show(per_hour)),
            gone: shown_gone,
        },
    }
}

/// The mean use per hour since an instant.
fn per_hour(used: u64, since: Option<Moment>, now: Moment) -> u64 {
    let Some(Elapsed::Known(elapsed)) = since.map(|since| now.since(since)) else { return 0 };
    let rate = u128::from(used) * 3_600_000 / u128::from(elapsed.max(60_000));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

fn last_hour(ledger: Option<&Ledger>, unit: BudgetUnit, now: Moment) -> u64 {
    let hour = ledger.map(|ledger| ledger.last_hour(now)).unwrap_or_default();
    match unit {
        BudgetUnit::Usd => hour.micros,
        BudgetUnit::Tokens => hour.tokens,
        BudgetUnit::Calls => hour.calls,
        BudgetUnit::Turns | BudgetUnit::Minutes => 0,
    }
}
