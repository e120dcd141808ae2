//! Whether a slice that begins would work on files of another slice of its work tree, or on more than that one may (A5,
//! E6). A second slice has its own counts and its own scope, so an agent could free itself with one.

use super::{CaseSensitivity, Covered, Entry, Scope, Slice};
use crate::CircuitName;

/// Longest entry that is compared in full; a longer one overlaps with everything.
const NAMES_MAX: usize = 64;

/// The slice under way that a new slice with this scope would free an agent from.
pub fn conflicting_slice<'a>(
    others: impl Iterator<Item = (&'a CircuitName, &'a Slice)>,
    scope: &Scope,
    case_sensitivity: CaseSensitivity,
) -> Option<&'a CircuitName> {
    let mut begun = others.filter(|(_, slice)| slice.is_begun());
    begun.find(|(_, slice)| conflicts(slice, scope, case_sensitivity)).map(|(name, _)| name)
}

fn conflicts(other: &Slice, scope: &Scope, case_sensitivity: CaseSensitivity) -> bool {
    let covers = |path: &str| matches!(scope.covers(path, case_sensitivity), Covered::By(_));
    let is_open = other.trip().is_some();
    match (other.scope.is_lock_off(), scope.is_lock_off()) {
        // Neither has a scope: only what was stopped holds the new one.
        (true, true) => is_open,
        (true, false) => is_open && other.attempted_files().any(covers),
        // Without a scope the new slice may change everything.
        (false, true) => true,
        (false, false) => {
            let mut denied = other.denied_paths.iter().map(|denied| denied.path.as_str());
            overlap(&other.scope, scope, case_sensitivity) || denied.any(covers) || other.attempted_files().any(covers)
        }
    }
}

/// True if a path can be in both scopes.
fn overlap(one: &Scope, other: &Scope, case_sensitivity: CaseSensitivity) -> bool {
    let names = |scope: &Scope| -> Vec<Vec<String>> {
        scope.entries.iter().map(|entry| names(entry, case_sensitivity)).collect()
    };
    let (one, other) = (names(one), names(other));
    one.iter().any(|one| other.iter().any(|other| meet(one, other)))
}

/// The names of an entry's pattern; `**` at the end stands for everything below a folder.
fn names(entry: &Entry, case_sensitivity: CaseSensitivity) -> Vec<String> {
    let path = match case_sensitivity {
        CaseSensitivity::Sensitive => entry.bare_path().to_owned(),
        CaseSensitivity::Insensitive => entry.bare_path().to_lowercase(),
    };
    let mut names: Vec<String> = path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if !entry.is_file() {
        names.push("**".to_owned());
    }
    names
}

/// True if a path matches both patterns. The work is bounded by the product of both lengths.
fn meet(one: &[String], other: &[String]) -> bool {
    if one.len().max(other.len()) > NAMES_MAX {
        return true;
    }
    matches_both(
        one,
        other,
        |name| name == "**",
        |one, other| {
            let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
            matches_both(
                &one,
                &other,
                |letter| *letter == '*',
                |one, other| one == other || *one == '?' || *other == '?',
            )
        },
    )
}

/// True if a sequence matches both patterns, in which some parts stand for any number of others.
fn matches_both<T>(one: &[T], other: &[T], is_any: impl Fn(&T) -> bool, is_same: impl Fn(&T, &T) -> bool) -> bool {
    // `reached[n]`: what was read so far of `one` can be the first n parts of `other`.
    let step_over = |reached: &mut [bool]| {
        for (index, part) in other.iter().enumerate() {
            reached[index + 1] |= reached[index] && is_any(part);
        }
    };
    let mut reached = vec![false; other.len() + 1];
    reached[0] = true;
    step_over(&mut reached);
    for part in one {
        let mut next = vec![false; other.len() + 1];
        if is_any(part) {
            let first = reached.iter().position(|&is_reached| is_reached).unwrap_or(reached.len());
            next[first.min(other.len() + 1)..].fill(true);
        } else {
            for (index, of_other) in other.iter().enumerate() {
                next[index] |= reached[index] && is_any(of_other);
                next[index + 1] |= reached[index] && !is_any(of_other) && is_same(part, of_other);
            }
            step_over(&mut next);
        }
        reached = next;
    }
    reached[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Source;

    fn scope(text: &str) -> Scope {
        let entry = |text: &str| Entry::parse(text, Source::Given).expect("a valid entry");
        Scope::explicit(text.split_whitespace().map(entry).collect(), None)
    }

    #[test]
    fn scopes_overlap_if_a_path_can_be_in_both() {
        for (one, other, expected) in [
            ("src/", "src/a.ts", true),
            ("src/", "src/", true),
            (".", "lib/", true),
            ("src/", "lib/ src/deep/er/", true),
            ("src/a.ts", "src/a.ts", true),
            ("src/*.ts", "src/a.*", true),
            ("src/**/test.ts", "src/a/b/", true),
            ("**/a.ts", "lib/*/", true),
            ("src/a?.ts", "src/ab.ts", true),
            ("*", "lib/", true),
            ("src/", "lib/", false),
            ("src/", "src2/", false),
            ("src/a.ts", "src/a.ts/x", false),
            ("src/a.ts", "src/b.ts", false),
            ("src/*.ts", "src/*.rs", false),
            ("*.md", "docs/", false),
            ("docs/**/*.md", "src/**", false),
            ("", "src/", false),
        ] {
            let (one, other) = (scope(one), scope(other));
            for (one, other) in [(&one, &other), (&other, &one)] {
                assert_eq!(overlap(one, other, CaseSensitivity::Sensitive), expected, "{one:?} {other:?}");
            }
        }
        assert!(!overlap(&scope("Src/"), &scope("src/"), CaseSensitivity::Sensitive));
        assert!(overlap(&scope("Src/"), &scope("src/"), CaseSensitivity::Insensitive));
    }
}
