//! `haltline prices`: what tokens cost, and prices from a file (L7).

use std::fs;
use std::process::ExitCode;

use haltline_agents::price::{Price, parse};

use super::config::set_value;
use crate::cli::{Prices, PricesUpdate, PricesVerb};
use crate::context::Context;
use crate::error::Failure;
use crate::front::text;
use crate::hook::transcript::to_agents_price;
use crate::view::SCHEMA;
use crate::view::prices::PricesView;

/// Runs `haltline prices` and its verb.
pub fn run(context: &Context, command: &Prices) -> Result<ExitCode, Failure> {
    match &command.verb {
        None => {
            let configured: Vec<Price> = context.engine.config().prices().iter().map(to_agents_price).collect();
            context.print(&PricesView::new(SCHEMA, &configured), text::prices)
        }
        Some(PricesVerb::Update(command)) => update(context, command),
    }
}

/// Takes over the prices of a file into the person's configuration: a price of the same model is replaced, all others
/// stay.
fn update(context: &Context, command: &PricesUpdate) -> Result<ExitCode, Failure> {
    let shown = command.file.display();
    let content = fs::read_to_string(&command.file).map_err(|error| Failure::Plain(format!("{shown}: {error}")))?;
    let mut lines: Vec<String> = Vec::new();
    for (number, line) in content.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        parse(line).map_err(|problem| {
            Failure::Plain(format!("{shown}, line {}: {problem}; nothing was changed", number + 1))
        })?;
        lines.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if lines.is_empty() {
        return Err(Failure::Plain(format!("{shown}: expected at least one price; nothing was changed")));
    }
    let model = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let configured = context.engine.config().price_lines();
    let kept = configured.into_iter().filter(|known| !lines.iter().any(|line| model(line) == model(known)));
    let all: Vec<&str> = kept.chain(lines.iter().map(String::as_str)).collect();
    let value = serde_json::to_string(&all).map_err(|error| Failure::Plain(error.to_string()))?;
    set_value(context, "prices update", "prices", &value, false, command.reason.as_deref())
}
