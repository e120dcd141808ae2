//! The difference between two versions of a small file, as people read it: a unified diff with three lines around.

/// How many lines around a change are shown.
const AROUND: usize = 3;
/// Beyond this many comparisons the middle is shown as replaced as a whole.
const COMPARISONS_MAX: usize = 4_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Same,
    Gone,
    New,
}

/// The changes from `before` to `after`; empty where there are none. Each line ends with a newline.
pub fn unified(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let lines = compare(&old, &new);
    let mut shown = vec![false; lines.len()];
    for (place, (mark, _)) in lines.iter().enumerate() {
        if *mark != Mark::Same {
            let end = (place + AROUND + 1).min(lines.len());
            shown[place.saturating_sub(AROUND)..end].fill(true);
        }
    }
    let mut out = String::new();
    let (mut old_line, mut new_line) = (1, 1);
    let mut place = 0;
    while place < lines.len() {
        let length = shown[place..].iter().take_while(|&&is_shown| is_shown).count();
        let hunk = &lines[place..place + length];
        let without = |mark: Mark| hunk.iter().filter(|(of, _)| *of != mark).count();
        if length > 0 {
            let (old_count, new_count) = (without(Mark::New), without(Mark::Gone));
            out.push_str(&format!("@@ -{old_line},{old_count} +{new_line},{new_count} @@\n"));
            (old_line, new_line) = (old_line + old_count, new_line + new_count);
        }
        for (mark, line) in hunk {
            let sign = match mark {
                Mark::Same => ' ',
                Mark::Gone => '-',
                Mark::New => '+',
            };
            out.push_str(&format!("{sign}{line}\n"));
        }
        place += length;
        let skipped = shown[place..].iter().take_while(|&&is_shown| !is_shown).count();
        (old_line, new_line, place) = (old_line + skipped, new_line + skipped, place + skipped);
    }
    out
}

/// All lines of both, each with what became of it.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Mark, &'a str)> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_middle, new_middle) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let same = |lines: &[&'a str]| lines.iter().map(|line| (Mark::Same, *line)).collect::<Vec<_>>();
    let mut lines = same(&old[..head]);
    lines.extend(compare_middle(old_middle, new_middle));
    lines.extend(same(&old_rest[old_rest.len() - tail..]));
    lines
}

/// By the longest common subsequence.
fn compare_middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Mark, &'a str)> {
    let width = new.len() + 1;
    let mut lines = Vec::with_capacity(old.len() + new.len());
    let (mut i, mut j) = (0, 0);
    if old.len().saturating_mul(new.len()) <= COMPARISONS_MAX {
        // common[i][j]: how many lines the rests from i and j share.
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
                lines.push((Mark::Same, old[i]));
                (i, j) = (i + 1, j + 1);
            } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
                lines.push((Mark::Gone, old[i]));
                i += 1;
            } else {
                lines.push((Mark::New, new[j]));
                j += 1;
            }
        }
    }
    lines.extend(old[i..].iter().map(|line| (Mark::Gone, *line)));
    lines.extend(new[j..].iter().map(|line| (Mark::New, *line)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_three_lines_around_and_their_places() {
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
