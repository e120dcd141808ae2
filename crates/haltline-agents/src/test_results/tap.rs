//! TAP, the Test Anything Protocol: one line a test. Tests within tests are indented and not counted.

use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Tap {
    run: TestCounts,
    /// A version or a plan was seen: it is TAP, and not somebody who says ok.
    is_tap: bool,
}

impl Reader for Tap {
    fn take(&mut self, line: &str) -> Option<TestCounts> {
        if line.starts_with("TAP version ") {
            *self = Self { is_tap: true, ..Self::default() };
            return None;
        }
        if let Some(last) = line.strip_prefix("1..") {
            pairs::leading(last)?;
            self.is_tap = true;
            return Some(self.run);
        }
        let (rest, is_ok) = match line.strip_prefix("not ok ") {
            Some(rest) => (rest, false),
            None => (line.strip_prefix("ok ")?, true),
        };
        let number = pairs::leading(rest)?;
        if number == 1 && self.run.total > 0 {
            self.run = TestCounts::default();
        }
        let directive =
            rest.rsplit_once(" # ").map(|(_, directive)| directive.to_ascii_lowercase()).unwrap_or_default();
        let is_aside = directive.starts_with("skip") || directive.starts_with("todo");
        self.run = self.run.plus(TestCounts::of(
            u64::from(is_ok && !is_aside),
            u64::from(!is_ok && !is_aside),
            u64::from(is_aside),
        ));
        self.is_tap.then_some(self.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(lines: &[&str]) -> Option<TestCounts> {
        let mut reader = Tap::default();
        lines.iter().filter_map(|line| reader.take(line)).last()
    }

    #[test]
    fn a_plan_may_come_first_or_last_and_is_needed() {
        let tests =
            ["ok 1 - a", "not ok 2 - b", "    ok 1 - inside", "ok 3 # SKIP no", "not ok 4 - later # TODO write"];
        assert_eq!(last(&tests), None);
        let counts = Some(TestCounts::of(1, 1, 2));
        assert_eq!(last(&[&["1..4"][..], &tests].concat()), counts);
        assert_eq!(last(&[&tests[..], &["1..4"]].concat()), counts);
        assert_eq!(last(&[&["TAP version 14"][..], &tests].concat()), counts);
    }

    #[test]
    fn test_number_1_begins_again() {
        assert_eq!(last(&["1..2", "not ok 1", "ok 2", "1..2", "ok 1", "ok 2"]), Some(TestCounts::of(2, 0, 0)));
    }
}
