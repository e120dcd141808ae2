//! `haltline explain`: the page of a code, or of every code of a pattern.

use std::process::ExitCode;

use haltline_core::{CODE_PAGES, code_page, code_pages_of_pattern, shorten};

use crate::context::Context;
use crate::error::Failure;
use crate::front::text;
use crate::view::explain::ExplainView;

pub fn run(context: &Context, what: &str) -> Result<ExitCode, Failure> {
    let pages = match code_page(what) {
        Some(page) => vec![page],
        None => code_pages_of_pattern(what),
    };
    if pages.is_empty() {
        let mut patterns: Vec<&str> = CODE_PAGES.iter().map(|page| page.pattern).collect();
        patterns.retain(|pattern| !pattern.is_empty());
        patterns.dedup();
        return Err(Failure::Plain(format!(
            "{}: expected a code such as HL-FAIL-01, or one of the patterns {}",
            shorten(what),
            patterns.join(", ")
        )));
    }
    context.print(&ExplainView::new(&pages, context.engine.config()), text::explain)
}
