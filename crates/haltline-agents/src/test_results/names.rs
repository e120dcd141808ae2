//! Whether a test that a runner names is the test that was asked for.
//!
//! The whole name, or the end of it from the beginning of one of its parts: `adds` is `tests::adds`, and never
//! `tests::adds_all` or `tests::never_adds`.

/// How well a name fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// The end of the runner's longer name.
    Longer,
    /// An instance of it with a parameter.
    Instance,
    /// All of it.
    Whole,
}

/// What may stand between the parts of a name, longest first.
const SEPARATORS: [&str; 8] = [" > ", " › ", "::", "$", ".", "/", " ", ":"];

/// How the path a runner gives fits the name that was asked for.
pub(super) fn fit(asked: &str, path: &[String]) -> Option<Fit> {
    let asked = asked.trim();
    if asked.is_empty() {
        return None;
    }
    let whole = |is_whole| if is_whole { Fit::Whole } else { Fit::Longer };
    if let Some(count) = parts(asked, path, false) {
        return Some(whole(count == path.len()));
    }
    parts(asked, path, true).map(|_| Fit::Instance)
}

/// How many parts of the path, from its end, the name consists of.
fn parts(asked: &str, path: &[String], is_instance: bool) -> Option<usize> {
    let mut rest = asked;
    for (count, part) in (1..).zip(path.iter().rev()) {
        let part = if is_instance && count == 1 { without_parameter(part)? } else { part.as_str() };
        if part.is_empty() {
            return None;
        }
        if rest == part {
            return Some(count);
        }
        rest = rest.strip_suffix(part)?;
        rest = SEPARATORS.iter().find_map(|separator| rest.strip_suffix(separator))?;
    }
    None
}

/// `test_a` of `test_a[1]`.
fn without_parameter(name: &str) -> Option<&str> {
    let (bare, _) = name.strip_suffix(']')?.split_once('[')?;
    (!bare.is_empty()).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_parts_from_the_end_and_nothing_less() {
        let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        for (asked, parts, expected) in [
            ("tests::adds", &["tests", "adds"][..], Some(Fit::Whole)),
            ("adds", &["tests", "adds"], Some(Fit::Longer)),
            ("adds", &["tests", "adds_all"], None),
            ("adds", &["tests", "never_adds"], None),
            ("adds", &["tests", "never adds"], None),
            ("ests::adds", &["tests", "adds"], None),
            ("lab::tests::adds", &["tests", "adds"], None),
            ("test_calc.py::TestA::test_b", &["pkg", "test_calc.py", "TestA", "test_b"], Some(Fit::Longer)),
            ("test_a", &["test_calc.py", "test_a[1]"], Some(Fit::Instance)),
            ("test_a[1]", &["test_calc.py", "test_a[1]"], Some(Fit::Longer)),
            ("test_a[2]", &["test_calc.py", "test_a[1]"], None),
            ("test_", &["test_calc.py", "test_a[1]"], None),
            ("TestX/sub", &["TestX", "sub"], Some(Fit::Whole)),
            ("calc adds", &["calc.test.js", "calc", "adds"], Some(Fit::Longer)),
            ("calc > adds", &["calc.test.js", "calc", "adds"], Some(Fit::Longer)),
            ("", &["tests", "adds"], None),
            ("adds", &["adds", ""], None),
        ] {
            assert_eq!(fit(asked, &path(parts)), expected, "{asked} {parts:?}");
        }
    }
}
