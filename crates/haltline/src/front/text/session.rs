//! Text of running sessions: the part of `haltline status` that seed 002's dashboard shows.

use super::memory::memory_health;
use super::{count, fit};
use crate::view::memory::MemoryView;
use crate::view::session::SessionsView;
use crate::view::status::StoreView;

/// How many open circuits are shown; the others are only counted.
const BREAKERS_MAX: usize = 5;

pub fn sessions(view: &SessionsView, store: &StoreView, memory: &[MemoryView]) -> String {
    let mut out = String::from("\nActive breakers (sessions of the last 24 h):\n");
    for breaker in view.breakers.iter().take(BREAKERS_MAX) {
        let left = match breaker.remaining_s {
            Some(left) => format!("OPEN (cooldown: {left}s remaining)"),
            None if breaker.state == "HALF_OPEN" => "HALF_OPEN (one probe is allowed)".to_owned(),
            None => breaker.state.to_owned(),
        };
        out.push_str(&format!("  {}: {left}\n", breaker.pattern));
        let turn = breaker.turn.map(|turn| format!("turn {turn} ")).unwrap_or_default();
        let why = breaker.why.as_deref().unwrap_or("texts purged");
        out.push_str(&format!("    last trip: {turn}({})\n", fit(why, 50)));
        if breaker.remaining_s.is_some() {
            out.push_str(&format!("    next attempt allowed: {}\n", breaker.until));
        }
        out.push_str(&format!("    haltline why {}\n", breaker.incident));
    }
    if let Some(more) = view.breakers.len().checked_sub(BREAKERS_MAX).filter(|more| *more > 0) {
        out.push_str(&format!("  {more} more (haltline status --json lists them)\n"));
    }
    let others = if view.breakers.is_empty() { "All" } else { "All others" };
    out.push_str(&format!("  {others}: CLOSED (normal operation)\n"));
    out.push_str("\nMemory health:\n");
    let share = |part: u64, whole: u64| part.saturating_mul(1000).checked_div(whole).unwrap_or_default();
    let used = share(store.bytes, store.bytes_max);
    out.push_str(&format!(
        "  store: {} KB / {} MB limit ({}.{}% used)\n",
        store.bytes.div_ceil(1024),
        store.bytes_max >> 20,
        used / 10,
        used % 10
    ));
    out.push_str(&format!("  streams: {} seen in 24 h\n", view.agents_24h));
    for folder in memory {
        out.push_str(&format!("  {}\n", fit(&folder.folder, 76)));
        out.push_str(&memory_health(folder));
    }
    out.push_str("\nResource usage:\n");
    match &view.resources {
        Some(one) => {
            out.push_str(&format!("  session {}\n", fit(&one.session, 68)));
            let percent = |part: u32, whole: u32| share(part.into(), whole.into()) / 10;
            let agents = percent(one.agents, one.agents_max);
            out.push_str(&format!(
                "  agents: {}/{} concurrent ({agents}% capacity), {}/{} in all\n",
                one.agents, one.agents_max, one.spawns, one.spawns_max
            ));
            let rate = percent(one.api_calls, one.api_calls_max);
            out.push_str(&format!(
                "  API calls: {}/{} in the last {} s ({rate}% rate)\n",
                one.api_calls, one.api_calls_max, one.api_window_s
            ));
            out.push_str(&format!("  API cost: {} / {} warn threshold\n", one.api_cost, one.api_cost_warn));
            out.push_str(&format!("  session cost: {}\n", one.session_cost));
        }
        None => out.push_str("  no session in the last 24 h\n"),
    }
    out.push_str("\nIncidents of the last 24 h:\n");
    let incidents_of = |is_resource: bool| {
        let chosen = view.incidents_24h.iter().filter(move |one| one.is_resource == is_resource);
        let names: Vec<String> = chosen.clone().map(|one| format!("{} x{}", one.pattern, one.incidents)).collect();
        let sum: usize = chosen.map(|one| one.incidents).sum();
        (sum as u64, if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) })
    };
    let ((trips, trip_names), (limits, limit_names)) = (incidents_of(false), incidents_of(true));
    out.push_str(&format!("  {}{trip_names}\n", count(trips, "circuit trip")));
    out.push_str(&format!("  {}{limit_names}\n", count(limits, "resource exhaustion")));
    out
}
