//! Text of `haltline budget` and `haltline prices`.

use super::Page;
use crate::view::budget::{BudgetsView, LineView, RaiseView};
use crate::view::prices::PricesView;

/// How many sources are listed.
const SOURCES_SHOWN: usize = 8;

/// `haltline budget`.
pub fn budgets(view: &BudgetsView) -> String {
    let mut page = Page::new(0);
    if view.lines.is_empty() && view.unused.is_empty() {
        page.line("No budget is set.");
        page.line("\nSet one:  haltline budget set day 15usd");
        return page.finish();
    }
    if !view.lines.is_empty() {
        page.line(row(["budget", "unit", "used", "reserved", "free", "limit", "pace", "gone"]));
        for line in &view.lines {
            page.line(row(cells(line)));
        }
    }
    if !view.unused.is_empty() {
        page.line(format!("nothing used yet: {}", view.unused.join(", ")));
    }
    if let Some(session) = &view.session {
        page.wrapped("", format!("session and prompt: those of the newest session, {session}"));
    }
    for raised in &view.raised {
        page.wrapped(
            "",
            format!("{} raised by {} until {} ({})", raised.scope, raised.shown, raised.until_local, raised.who),
        );
    }
    if !view.sources.is_empty() {
        page.line("\nused by");
        for source in view.sources.iter().take(SOURCES_SHOWN) {
            let (cost, tokens, calls) = (source.cost_usd, source.tokens, source.calls);
            page.line(format!("  {:<32} ${cost:<9.2} {tokens:>10} tokens {calls:>6} calls", source.source));
        }
    }
    page.finish()
}

fn cells(line: &LineView) -> [&str; 8] {
    let shown = &line.shown;
    [line.scope, line.unit, &shown.used, &shown.reserved, &shown.free, &shown.limit, &shown.pace, &shown.gone]
}

fn row([scope, unit, used, reserved, free, limit, pace, gone]: [&str; 8]) -> String {
    let text = format!("{scope:<8} {unit:<8} {used:>10} {reserved:>9} {free:>10} {limit:>10} {pace:>12}  {gone}");
    text.trim_end().to_owned()
}

/// `haltline budget raise`.
pub fn raise(view: &RaiseView) -> String {
    let mut page = Page::new(0);
    if let Some(raised) = &view.raised {
        page.wrapped(
            "",
            format!("The limit of the {} is raised by {} until {}.", raised.scope, raised.shown, raised.until_local),
        );
    }
    page.finish()
}

/// `haltline prices`.
pub fn prices(view: &PricesView) -> String {
    let mut page = Page::new(0);
    page.line("dollars per million tokens");
    page.line(format!(
        "{:<24} {:>8} {:>8} {:>10} {:>11}  source",
        "model", "input", "output", "cache read", "cache write"
    ));
    for price in &view.prices {
        let (input, output, read, write) = (price.input, price.output, price.cache_read, price.cache_write);
        page.line(format!(
            "{:<24} {input:>8.2} {output:>8.2} {read:>10.2} {write:>11.2}  {}",
            price.model, price.source
        ));
    }
    page.line(format!("\nThe list is {}, as of {}.", view.list, view.date));
    page.line("The cost of any other model is unknown, and haltline says so: it never counts as free.");
    page.finish()
}
