//! `haltline budget`: what is used of each budget, and the operator actions that change one (L7).

use std::process::ExitCode;

use haltline_core::ledger::{BudgetScope, BudgetUnit, LedgerEvent};
use haltline_core::loop_::AgentTree;
use haltline_core::loop_::budget::budget_lines;
use haltline_core::{CircuitName, Event, State};
use haltline_engine::EngineError;
use haltline_engine::store::Store;

use super::config::set_value;
use crate::cli::{Budget, BudgetRaise, BudgetSet, BudgetVerb};
use crate::context::Context;
use crate::error::{Failure, describe_rejection};
use crate::front::text;
use crate::view::SCHEMA;
use crate::view::budget::{BudgetsView, RaiseView, RaisedView, SourceView, line_views};

/// Runs `haltline budget` and its verbs.
pub fn run(context: &Context, command: &Budget) -> Result<ExitCode, Failure> {
    match &command.verb {
        None => show(context),
        Some(BudgetVerb::Set(command)) => set(context, command),
        Some(BudgetVerb::Raise(command)) => raise(context, command),
    }
}

fn show(context: &Context) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let (store, now, key) = (engine.store(), engine.now(), engine.project().key);
    let limits = &engine.config().policy().loop_;
    let ledger = |name: CircuitName| store.circuit(key, &name).map(|row| row.and_then(into_ledger));
    let (machine, project) = (ledger(CircuitName::machine_ledger())?, ledger(CircuitName::project_ledger())?);
    let newest = newest_tree(context)?;
    let (session, tree) = newest.map_or((None, None), |(session, tree)| (Some(session), Some(tree)));
    let lines = budget_lines(tree.as_ref(), machine.as_ref(), project.as_ref(), limits, now);
    let unused = unused_scopes(context, &lines);
    let view = BudgetsView {
        schema: SCHEMA,
        session: session.filter(|_| limits.budget.is_set() || limits.budgets.prompt.is_set()),
        lines: line_views(&lines, tree.as_ref(), machine.as_ref(), project.as_ref(), now),
        unused,
        raised: [&machine, &project]
            .into_iter()
            .flatten()
            .flat_map(|ledger| &ledger.raises)
            .filter(|raise| raise.is_in_force(now))
            .map(|raise| RaisedView::new(raise, now.at))
            .collect(),
        sources: SourceView::all(machine.as_ref().filter(|ledger| !ledger.shares.is_empty()).or(project.as_ref())),
    };
    context.print(&view, text::budgets)
}

fn into_ledger(state: State) -> Option<haltline_core::ledger::Ledger> {
    if let State::Ledger(ledger) = state { Some(*ledger) } else { None }
}

/// The root session of this project that was active last.
fn newest_tree(context: &Context) -> Result<Option<(String, AgentTree)>, Failure> {
    let rows = context.engine.store().circuits(context.engine.project().key)?;
    let trees = rows.into_iter().filter_map(|(name, state)| match state {
        State::Tree(tree) => Some((name.scope().to_owned(), *tree)),
        _other => None,
    });
    Ok(trees.max_by_key(|(_, tree)| tree.last_seen.at))
}

/// The budgets that are set and of which nothing was used in the current period.
fn unused_scopes(context: &Context, lines: &[haltline_core::loop_::budget::BudgetLine]) -> Vec<&'static str> {
    let limits = &context.engine.config().policy().loop_;
    let budgets = &limits.budgets;
    let is_set = |scope: BudgetScope| match scope {
        BudgetScope::Session => limits.budget.is_set(),
        BudgetScope::Prompt => budgets.prompt.is_set(),
        BudgetScope::Day => budgets.day.is_set(),
        BudgetScope::Night => budgets.night.is_set(),
        BudgetScope::Week => budgets.week.is_set(),
        BudgetScope::Project => budgets.project.is_set(),
    };
    let unused = |scope: &BudgetScope| is_set(*scope) && !lines.iter().any(|line| line.scope == *scope);
    BudgetScope::ALL.into_iter().filter(unused).map(BudgetScope::as_str).collect()
}

fn set(context: &Context, command: &BudgetSet) -> Result<ExitCode, Failure> {
    let BudgetSet { scope, amount, is_soft, reason } = command;
    check_unit(*scope, amount.unit)?;
    let kind = if *is_soft { "soft" } else { "hard" };
    let key = match scope {
        BudgetScope::Session => format!("budget.{}_{kind}", amount.unit.as_str()),
        scope => format!("budget.{}.{}_{kind}", scope.as_str(), amount.unit.as_str()),
    };
    let value = match amount.unit {
        BudgetUnit::Usd => haltline_engine::config::show_dollars(amount.amount),
        _number => amount.amount.to_string(),
    };
    set_value(context, "budget set", &key, &value, *scope == BudgetScope::Project, reason.as_deref())
}

/// Only a session counts turns.
fn check_unit(scope: BudgetScope, unit: BudgetUnit) -> Result<(), Failure> {
    if unit == BudgetUnit::Turns && scope != BudgetScope::Session {
        return Err(Failure::Plain(format!(
            "turns: only a session counts them; expected usd, tokens, calls or minutes for {}",
            scope.as_str()
        )));
    }
    Ok(())
}

fn raise(context: &Context, command: &BudgetRaise) -> Result<ExitCode, Failure> {
    let BudgetRaise { scope, amount, lifetime_ms, reason } = command;
    check_unit(*scope, amount.unit)?;
    if amount.amount == 0 {
        return Err(Failure::Plain("0: expected an amount above 0; nothing was changed".to_owned()));
    }
    let (_, audit) = context.operate("budget raise", reason.as_deref(), |operator| {
        let (scope, unit, amount, lifetime_ms) = (*scope, amount.unit, amount.amount, *lifetime_ms);
        let event = LedgerEvent::Raise { scope, unit, amount, lifetime_ms, operator };
        context.engine.handle(Event::Ledger(event)).map_err(|error| match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(rejection) => Failure::Plain(describe_rejection(&rejection)),
        })
    })?;
    let now = context.engine.now();
    let row = context.engine.store().circuit(context.engine.project().key, &scope.ledger())?;
    let ledger = row.and_then(into_ledger).unwrap_or_default();
    let raised = ledger.raises.iter().rev().find(|raise| raise.scope == *scope);
    let raised = raised.map(|raise| RaisedView::new(raise, now.at));
    context.print(&RaiseView { schema: SCHEMA, raised, audit }, text::raise)
}
