//! Text of running sessions, and seed 002's dashboard in `haltline status --verbose` (L11).

use super::memory::push_memory_health;
use super::{Page, count, cut, fit, join, when};
use crate::view::memory::MemoryView;
use crate::view::session::{BudgetView, ResourceView, SessionView, SessionsView};
use crate::view::status::{StatusView, StoreView};

/// How many sessions and open circuits are shown; the others are only counted.
const SHOWN_MAX: usize = 5;
/// Columns of a session's name.
const NAME_WIDTH: usize = 38;

/// Adds the sessions of the last 24 hours with what they cost and what their budgets leave.
pub fn push_sessions(page: &mut Page, view: &SessionsView) {
    page.section("Sessions of the last 24 h");
    if view.list.is_empty() {
        return page.line("  none");
    }
    for session in view.list.iter().take(SHOWN_MAX) {
        let width = NAME_WIDTH.min(view.list.iter().map(|one| one.session.chars().count()).max().unwrap_or_default());
        let agents = count(session.agents, "agent");
        let cost = cost(session);
        page.line(format_args!(
            "  {:<width$}  {:<9}  {cost:<14}  {}",
            cut(&session.session, NAME_WIDTH),
            agents,
            when(&session.at)
        ));
        if !session.budget.is_empty() {
            page.wrapped("    budget: ", join(&session.budget.iter().map(budget).collect::<Vec<_>>()));
        }
    }
    push_more(page, view.list.len());
}

fn push_more(page: &mut Page, length: usize) {
    if let Some(more) = length.checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        page.line(format_args!("  {more} more: haltline status --json lists them"));
    }
}

fn cost(session: &SessionView) -> String {
    match (session.cost_usd, session.is_cost_partial) {
        (Some(cost), true) => format!("over ${cost:.2}"),
        (Some(cost), false) => format!("${cost:.2}"),
        (None, _) => "cost unknown".to_owned(),
    }
}

fn budget(budget: &BudgetView) -> String {
    let number = |value: f64| if budget.unit == "cost_usd" { format!("${value:.2}") } else { format!("{value}") };
    let unit = if budget.unit == "cost_usd" { String::new() } else { format!(" {}", budget.unit) };
    let of = match (budget.limit, budget.warn) {
        (Some(limit), _) => format!(" of {}", number(limit)),
        (None, Some(warn)) => format!(", warning at {}", number(warn)),
        (None, None) => String::new(),
    };
    format!("{}{of}{unit}", number(budget.used))
}

/// Adds seed 002's dashboard: breakers, memory health, resource use and incidents.
pub fn push_dashboard(page: &mut Page, view: &StatusView) {
    push_breakers(page, view);
    push_memory(page, &view.sessions, &view.store, &view.memory);
    page.section("Resource usage:");
    match &view.sessions.resources {
        Some(one) => push_resources(page, one),
        None => page.line("  no session in the last 24 h"),
    }
    page.section("Incidents of the last 24 h:");
    let sessions = &view.sessions;
    for (is_resource, noun) in [(false, "circuit trip"), (true, "resource exhaustion")] {
        let patterns = sessions.incidents_24h.iter().filter(|one| one.is_resource == is_resource);
        let mut names: Vec<(&str, usize)> = patterns.map(|one| (one.pattern, one.incidents)).collect();
        if !is_resource {
            let others =
                view.overview.breakers.iter().filter(|breaker| breaker.breaker != haltline_engine::BreakerName::Loop);
            names.extend(others.map(|one| (one.breaker.as_str(), one.incidents_24h)).filter(|(_, number)| *number > 0));
        }
        let total: usize = names.iter().map(|(_, number)| number).sum();
        let names: Vec<String> = names.iter().map(|(name, number)| format!("{name} x{number}")).collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", join(&names)) };
        page.line(format_args!("  {}{names}", count(total, noun)));
    }
    page.line(format_args!("  {}", count(sessions.memory_cleanups_24h, "memory cleanup")));
}

fn push_breakers(page: &mut Page, view: &StatusView) {
    page.section("Active breakers:");
    let breakers = &view.sessions.breakers;
    for breaker in breakers.iter().take(SHOWN_MAX) {
        let left = match breaker.remaining_s {
            Some(left) => format!("OPEN (cooldown: {left}s remaining)"),
            None if breaker.state == "HALF_OPEN" => "HALF_OPEN (one probe is allowed)".to_owned(),
            None => breaker.state.to_owned(),
        };
        page.line(format_args!("  {}: {left}", breaker.pattern));
        let turn = breaker.turn.map(|turn| format!("turn {turn} ")).unwrap_or_default();
        let why = breaker.why.as_deref().unwrap_or("texts purged");
        page.line(format_args!("    last trip: {turn}({})", fit(why, 50)));
        if let Some(until) = breaker.until.as_deref().filter(|_| breaker.remaining_s.is_some()) {
            page.line(format_args!("    next attempt allowed: {}", when(until)));
        }
        page.line(format_args!("    haltline why {}", breaker.incident));
    }
    push_more(page, breakers.len());
    let overview = &view.overview;
    let others = overview.needs.iter().chain(&overview.half_open);
    let others = others.filter(|circuit| circuit.breaker != haltline_engine::BreakerName::Loop);
    let mut is_any = !breakers.is_empty();
    for circuit in others {
        is_any = true;
        page.line(format_args!("  {}: {}", fit(&circuit.circuit, 60), circuit.state.as_str()));
    }
    page.line(format_args!("  {}: CLOSED (normal operation)", if is_any { "All others" } else { "All" }));
}

fn push_memory(page: &mut Page, view: &SessionsView, store: &StoreView, memory: &[MemoryView]) {
    page.section("Memory health:");
    let used = thousandths(store.bytes, store.bytes_max);
    let (used, fraction) = (used / 10, used % 10);
    let (kb, mb) = (store.bytes.div_ceil(1024), store.bytes_max >> 20);
    page.line(format_args!("  store: {kb} KB / {mb} MB limit ({used}.{fraction}% used)"));
    page.line(format_args!("  agents: {} seen in 24 h", view.agents_24h));
    for folder in memory {
        page.line(format_args!("  {}", fit(&folder.folder, 76)));
        push_memory_health(page, &folder.content);
    }
    if !memory.is_empty() {
        page.line("  Next auto-cleanup: SessionStart");
    }
}

fn push_resources(page: &mut Page, one: &ResourceView) {
    let percent = |part: u32, whole: u32| thousandths(part.into(), whole.into()) / 10;
    page.line(format_args!("  session {}", fit(&one.session, 68)));
    let agents = percent(one.agents, one.agents_max);
    let total = match (one.spawns_per_prompt_max, one.spawns_max) {
        (0, 0) => format!("{} in all", one.spawns),
        (0, session) => format!("{}/{session} in all", one.spawns),
        (prompt, _) => format!("{}/{prompt} since the last prompt", one.spawns_since_prompt),
    };
    page.line(format_args!("  agents: {}/{} concurrent ({agents}% capacity), {total}", one.agents, one.agents_max));
    let rate = percent(one.api_calls, one.api_calls_max);
    page.line(format_args!(
        "  API calls: {}/{} in the last {} s ({rate}% rate)",
        one.api_calls, one.api_calls_max, one.api_window_s
    ));
    page.line(format_args!("  API cost: {} / {} warn threshold", one.api_cost, one.api_cost_warn));
    page.line(format_args!("  session cost: {}", one.session_cost));
}

fn thousandths(part: u64, whole: u64) -> u64 {
    part.saturating_mul(1000).checked_div(whole).unwrap_or_default()
}
