//! Text edits that are applied together.

use std::ops::Range;

use super::comments::comments;

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

/// The edits that remove some of several siblings, each with one comma. At least one sibling must stay. Comments that
/// somebody wrote between siblings stay as well.
pub(super) fn removal_edits(text: &str, siblings: &[Range<usize>], gone: &[bool]) -> Vec<Edit> {
    let first_kept = gone.iter().position(|&is_gone| !is_gone).unwrap_or_default();
    let mut edits = Vec::new();
    let mut remove = |span: Range<usize>, before: Range<usize>| {
        let kept = before.start..before.end;
        edits.push(Edit { span, replacement: comments_between(&text[kept]) });
    };
    for index in 0..first_kept {
        remove(siblings[index].start..siblings[index + 1].start, siblings[index].end..siblings[index + 1].start);
    }
    for index in first_kept + 1..siblings.len() {
        if gone[index] {
            // Remove the comma before it as well: haltline inserted both together.
            remove(siblings[index - 1].end..siblings[index].end, siblings[index - 1].end..siblings[index].start);
        }
    }
    edits
}

/// What stays of the text between two siblings when one of them is removed: everything up to the end of its last
/// comment, without the comma.
fn comments_between(text: &str) -> String {
    let comments = comments(text);
    let Some(last) = comments.last() else { return String::new() };
    let is_comma = |at: usize| !comments.iter().any(|comment| comment.contains(&at));
    let comma = text.match_indices(',').map(|(at, _)| at).find(|at| is_comma(*at));
    // A line comment needs its line end, or what follows would become part of it.
    let line_end =
        if text[last.clone()].starts_with("//") { text[last.end..].find('\n').map_or(0, |end| end + 1) } else { 0 };
    let kept = &text[..last.end + line_end];
    match comma.filter(|comma| *comma < kept.len()) {
        Some(comma) => format!("{}{}", &kept[..comma], &kept[comma + 1..]),
        None => kept.to_owned(),
    }
}
