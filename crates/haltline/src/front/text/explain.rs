//! Text of `haltline explain`.

use super::Page;
use crate::view::config::ValueView;
use crate::view::explain::ExplainView;

/// `haltline explain`.
pub fn explain(view: &ExplainView) -> String {
    let mut page = Page::new(10);
    for (index, code) in view.codes.iter().enumerate() {
        if index > 0 {
            page.blank();
        }
        let pattern = if code.pattern.is_empty() { String::new() } else { format!(", pattern {}", code.pattern) };
        page.heading(format_args!("{} ({} breaker{pattern})", code.code, code.breaker));
        page.field("Meaning", code.meaning);
        page.field("Do", code.advice);
        page.fields("Limits", code.limits.iter().map(limit));
    }
    page.finish()
}

/// A limit with its value and where the value comes from.
pub fn limit(limit: &ValueView) -> String {
    let from = limit.file.as_deref().unwrap_or(limit.origin);
    format!("{} = {} ({from})", limit.key, limit.value)
}
