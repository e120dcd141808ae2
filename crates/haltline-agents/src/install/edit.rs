//! Changes to a text, made all at once.

use std::ops::Range;

/// One change.
#[derive(Debug)]
pub(super) struct Edit {
    /// What goes.
    pub(super) span: Range<usize>,
    /// What comes.
    pub(super) with: String,
}

/// The text with all changes; they do not overlap.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for Edit { span, with } in edits {
        out.push_str(&text[at..span.start]);
        out.push_str(&with);
        at = span.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The edits that take some of several siblings away, with one comma each. One at least stays.
pub(super) fn without(siblings: &[Range<usize>], gone: &[bool]) -> Vec<Edit> {
    let first_kept = gone.iter().position(|&is_gone| !is_gone).unwrap_or_default();
    let mut edits = Vec::new();
    if first_kept > 0 {
        edits.push(Edit { span: siblings[0].start..siblings[first_kept].start, with: String::new() });
    }
    for place in first_kept + 1..siblings.len() {
        if gone[place] {
            // The comma before it goes with it: that is how it came.
            edits.push(Edit { span: siblings[place - 1].end..siblings[place].end, with: String::new() });
        }
    }
    edits
}
