//! Lists of numbers with a word each, which is how runners sum up: `1 failed, 2 passed`.

/// The pairs of a list. `None` where a part of it is no number with words behind it.
pub(super) fn counted(list: &str, separator: char) -> Option<Vec<(u64, &str)>> {
    let pair = |part: &str| -> Option<(u64, usize)> {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        Some((part[..digits].parse().ok()?, digits))
    };
    let parts = list.split(separator).map(str::trim);
    parts.map(|part| pair(part).map(|(number, digits)| (number, part[digits..].trim()))).collect()
}

/// The number with this word; 0 where the list does not have it.
pub(super) fn of(pairs: &[(u64, &str)], word: &str) -> u64 {
    pairs.iter().filter(|(_, other)| *other == word).map(|(number, _)| *number).fold(0, u64::saturating_add)
}

/// The number that a text begins with.
pub(super) fn leading(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_pairs_or_nothing() {
        let pairs = counted("1 failed, 20 passed,3 timed out", ',').expect("a list");
        assert_eq!(pairs, [(1, "failed"), (20, "passed"), (3, "timed out")]);
        assert_eq!((of(&pairs, "passed"), of(&pairs, "skipped")), (20, 0));
        for odd in ["", "passed 1", "1 failed, and more", "99999999999999999999 passed"] {
            assert_eq!(counted(odd, ','), None, "{odd}");
        }
    }
}
