//! A unified diff of two versions of a small file, with three lines of context.

use similar::algorithms::{Capture, Replace, lcs};
use similar::{ChangeTag, group_diff_ops};

/// Number of context lines around a change.
const CONTEXT_LINES: usize = 3;

/// Returns the changes from `before` to `after`, or an empty text if there are none. Each line ends with a newline.
pub fn unified(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let mut out = String::new();
    let mut operations = Replace::new(Capture::new());
    let Ok(()) = lcs::diff(&mut operations, &old, 0..old.len(), &new, 0..new.len());
    for hunk in group_diff_ops(operations.into_inner().into_ops(), CONTEXT_LINES) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let range = |start: usize, end: usize| format!("{},{}", start + 1, end - start);
        let old_range = range(first.old_range().start, last.old_range().end);
        let new_range = range(first.new_range().start, last.new_range().end);
        out.push_str(&format!("@@ -{old_range} +{new_range} @@\n"));
        for change in hunk.iter().flat_map(|operation| operation.iter_changes(&old, &new)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            out.push_str(&format!("{sign}{}\n", change.value()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_three_lines_of_context_and_line_numbers() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let after = "1\n2\nnew\n3\n4\n5\n6\n7\n8\n9\n10\n11\nlast\n";
        assert_eq!(
            unified(before, after),
            "@@ -1,5 +1,6 @@\n 1\n 2\n+new\n 3\n 4\n 5\n@@ -9,4 +10,4 @@\n 9\n 10\n 11\n-12\n+last\n"
        );
    }

    #[test]
    fn equal_texts_have_no_changes_and_new_ones_only_additions() {
        assert_eq!(unified("a\nb\n", "a\nb\n"), "");
        assert_eq!(unified("", "a\nb\n"), "@@ -1,0 +1,2 @@\n+a\n+b\n");
    }
}
