//! Lists of numbers with a label each, which is how runners print their counts: `1 failed, 2 passed`.

use super::TestCounts;

/// Parses a list into pairs. `None` if any part of it is not a number followed by a label.
pub(super) fn parse(list: &str, separator: char) -> Option<Vec<(u64, &str)>> {
    let parts = list.split(separator).map(str::trim);
    parts.map(|part| Some((leading_number(part)?, without_number(part).trim()))).collect()
}

/// The counts in the labels of Jest and Vitest, and this many files that could not be run.
pub(super) fn counts_with_broken(pairs: &[(u64, &str)], broken: u64) -> TestCounts {
    let [passed, failed, skipped, todo] = ["passed", "failed", "skipped", "todo"].map(|label| count_of(pairs, label));
    TestCounts::new(passed, failed.saturating_add(broken), skipped.saturating_add(todo))
}

/// The number with this label; 0 when the list does not have it.
pub(super) fn count_of(pairs: &[(u64, &str)], label: &str) -> u64 {
    pairs.iter().filter(|(_, pair_label)| *pair_label == label).map(|(number, _)| *number).fold(0, u64::saturating_add)
}

pub(super) fn leading_number(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

/// The rest of the text after the number at its start.
pub(super) fn without_number(text: &str) -> &str {
    text.trim_start_matches(|letter: char| letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_pairs_or_nothing() {
        let pairs = parse("1 failed, 20 passed,3 timed out", ',').expect("a list");
        assert_eq!(pairs, [(1, "failed"), (20, "passed"), (3, "timed out")]);
        assert_eq!((count_of(&pairs, "passed"), count_of(&pairs, "skipped")), (20, 0));
        for odd in ["", "passed 1", "1 failed, and more", "99999999999999999999 passed"] {
            assert_eq!(parse(odd, ','), None, "{odd}");
        }
    }
}
