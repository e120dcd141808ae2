//! Text edits that are applied together.

use std::ops::Range;

/// One replacement.
#[derive(Debug)]
pub(super) struct Edit {
    /// The bytes to replace.
    pub(super) span: Range<usize>,
    /// The new text.
    pub(super) replacement: String,
}

/// Applies the edits, which must not overlap.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for Edit { span, replacement } in edits {
        out.push_str(&text[at..span.start]);
        out.push_str(&replacement);
        at = span.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The edits that remove some of several siblings, each with one comma. At least one sibling must stay.
pub(super) fn removal_edits(siblings: &[Range<usize>], gone: &[bool]) -> Vec<Edit> {
    let first_kept = gone.iter().position(|&is_gone| !is_gone).unwrap_or_default();
    let mut edits = Vec::new();
    if first_kept > 0 {
        edits.push(Edit { span: siblings[0].start..siblings[first_kept].start, replacement: String::new() });
    }
    for index in first_kept + 1..siblings.len() {
        if gone[index] {
            // Remove the comma before it as well: haltline inserted both together.
            edits.push(Edit { span: siblings[index - 1].end..siblings[index].end, replacement: String::new() });
        }
    }
    edits
}
