//! Decides whether a test that a runner names is the wanted test, and reads names from the lists that runners print.
//!
//! The wanted name must be the whole name, or its end from the beginning of one of its parts: `adds` is `tests::adds`,
//! and never `tests::adds_all` or `tests::never_adds`.

use super::run_record::TestOutcome;

/// How well a name matches, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameMatch {
    /// The wanted name is the end of the runner's longer name.
    Longer,
    /// The runner's name is an instance of the wanted test, with a parameter.
    Instance,
    /// The wanted name is the whole name.
    Whole,
}

/// Separators between the parts of a name, longest first.
const SEPARATORS: [&str; 8] = [" > ", " › ", "::", "$", ".", "/", " ", ":"];

/// How the path that a runner gives matches the wanted name.
pub(super) fn match_name(wanted: &str, path: &[String]) -> Option<NameMatch> {
    let wanted = wanted.trim();
    if wanted.is_empty() {
        return None;
    }
    let whole = |is_whole| if is_whole { NameMatch::Whole } else { NameMatch::Longer };
    if let Some(count) = matching_parts(wanted, path, false) {
        return Some(whole(count == path.len()));
    }
    matching_parts(wanted, path, true).map(|_| NameMatch::Instance)
}

/// The number of parts of the path, from its end, that make up the wanted name.
fn matching_parts(wanted: &str, path: &[String], is_instance: bool) -> Option<usize> {
    let mut rest = wanted;
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

/// The groups around the next line of an indented list of tests.
#[derive(Default)]
pub(super) struct Groups {
    /// Each group's indentation and name, outermost first.
    open: Vec<(usize, String)>,
}

impl Groups {
    pub fn begin(&mut self, indent: usize, name: &str) {
        self.leave(indent);
        self.open.push((indent, name.to_owned()));
    }

    /// Leaves the groups that a line with this indentation is not in.
    pub fn leave(&mut self, indent: usize) {
        self.open.retain(|(other, _)| *other < indent);
    }

    /// True if the innermost group has this indentation and name.
    pub fn is_last(&self, indent: usize, name: &str) -> bool {
        self.open.last().is_some_and(|(other, group)| *other == indent && group == name)
    }

    pub fn path_of(&self, name: &str) -> Vec<String> {
        self.open.iter().map(|(_, group)| group.clone()).chain([name.to_owned()]).collect()
    }
}

/// The text after one of these symbols, and the outcome that the symbol means.
pub(super) fn strip_symbol<'a>(text: &'a str, symbols: &[(&str, TestOutcome)]) -> Option<(&'a str, TestOutcome)> {
    symbols.iter().find_map(|(symbol, outcome)| Some((text.strip_prefix(symbol)?, *outcome)))
}

/// `adds` of `adds (12 ms)`, `adds (1.5 s)`.
pub(super) fn without_time(name: &str) -> &str {
    let is_time = |text: &str| {
        let number = text.strip_suffix("ms)").or_else(|| text.strip_suffix("s)"));
        number.is_some_and(|number| number.trim().parse::<f64>().is_ok())
    };
    name.rsplit_once(" (").filter(|(_, time)| is_time(time)).map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_parts_from_the_end_and_nothing_less() {
        let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        for (wanted, parts, expected) in [
            ("tests::adds", &["tests", "adds"][..], Some(NameMatch::Whole)),
            ("adds", &["tests", "adds"], Some(NameMatch::Longer)),
            ("adds", &["tests", "adds_all"], None),
            ("adds", &["tests", "never_adds"], None),
            ("adds", &["tests", "never adds"], None),
            ("ests::adds", &["tests", "adds"], None),
            ("lab::tests::adds", &["tests", "adds"], None),
            ("test_calc.py::TestA::test_b", &["pkg", "test_calc.py", "TestA", "test_b"], Some(NameMatch::Longer)),
            ("test_a", &["test_calc.py", "test_a[1]"], Some(NameMatch::Instance)),
            ("test_a[1]", &["test_calc.py", "test_a[1]"], Some(NameMatch::Longer)),
            ("test_a[2]", &["test_calc.py", "test_a[1]"], None),
            ("test_", &["test_calc.py", "test_a[1]"], None),
            ("TestX/sub", &["TestX", "sub"], Some(NameMatch::Whole)),
            ("calc adds", &["calc.test.js", "calc", "adds"], Some(NameMatch::Longer)),
            ("calc > adds", &["calc.test.js", "calc", "adds"], Some(NameMatch::Longer)),
            ("", &["tests", "adds"], None),
            ("adds", &["adds", ""], None),
        ] {
            assert_eq!(match_name(wanted, &path(parts)), expected, "{wanted} {parts:?}");
        }
    }
}
