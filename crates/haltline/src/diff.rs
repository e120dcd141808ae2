//! A unified diff of two versions of a small file, with three lines of context.

/// Number of context lines around a change.
const CONTEXT_LINES: usize = 3;
/// Above this number of comparisons, the differing middle is shown as replaced completely.
const COMPARISONS_MAX: usize = 4_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Same,
    Removed,
    Added,
}

/// Returns the changes from `before` to `after`, or an empty text if there are none. Each line ends with a newline.
pub fn unified(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let lines = compare(&old, &new);
    let mut shown = vec![false; lines.len()];
    for (index, (kind, _)) in lines.iter().enumerate() {
        if *kind != LineKind::Same {
            let end = (index + CONTEXT_LINES + 1).min(lines.len());
            shown[index.saturating_sub(CONTEXT_LINES)..end].fill(true);
        }
    }
    let mut out = String::new();
    let (mut old_line, mut new_line) = (1, 1);
    let mut index = 0;
    while index < lines.len() {
        let length = shown[index..].iter().take_while(|&&is_shown| is_shown).count();
        let hunk = &lines[index..index + length];
        let without = |excluded: LineKind| hunk.iter().filter(|(kind, _)| *kind != excluded).count();
        if length > 0 {
            let (old_count, new_count) = (without(LineKind::Added), without(LineKind::Removed));
            out.push_str(&format!("@@ -{old_line},{old_count} +{new_line},{new_count} @@\n"));
            (old_line, new_line) = (old_line + old_count, new_line + new_count);
        }
        for (kind, line) in hunk {
            let sign = match kind {
                LineKind::Same => ' ',
                LineKind::Removed => '-',
                LineKind::Added => '+',
            };
            out.push_str(&format!("{sign}{line}\n"));
        }
        index += length;
        let skipped = shown[index..].iter().take_while(|&&is_shown| !is_shown).count();
        (old_line, new_line, index) = (old_line + skipped, new_line + skipped, index + skipped);
    }
    out
}

/// Returns all lines of both versions in order, each marked as unchanged, removed or added.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(LineKind, &'a str)> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_middle, new_middle) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let same = |lines: &[&'a str]| lines.iter().map(|line| (LineKind::Same, *line)).collect::<Vec<_>>();
    let mut lines = same(&old[..head]);
    lines.extend(compare_middle(old_middle, new_middle));
    lines.extend(same(&old_rest[old_rest.len() - tail..]));
    lines
}

/// Compares by the longest common subsequence.
fn compare_middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(LineKind, &'a str)> {
    let width = new.len() + 1;
    let mut lines = Vec::with_capacity(old.len() + new.len());
    let (mut i, mut j) = (0, 0);
    if old.len().saturating_mul(new.len()) <= COMPARISONS_MAX {
        // common[i][j]: length of the longest common subsequence of old[i..] and new[j..].
        let mut common = vec![0_u32; (old.len() + 1) * width];
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                common[i * width + j] = if old[i] == new[j] {
                    common[(i + 1) * width + j + 1] + 1
                } else {
                    common[(i + 1) * width + j].max(common[i * width + j + 1])
                };
            }
        }
        while i < old.len() && j < new.len() {
            if old[i] == new[j] {
                lines.push((LineKind::Same, old[i]));
                (i, j) = (i + 1, j + 1);
            } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
                lines.push((LineKind::Removed, old[i]));
                i += 1;
            } else {
                lines.push((LineKind::Added, new[j]));
                j += 1;
            }
        }
    }
    lines.extend(old[i..].iter().map(|line| (LineKind::Removed, *line)));
    lines.extend(new[j..].iter().map(|line| (LineKind::Added, *line)));
    lines
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
