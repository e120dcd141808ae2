//! `node --test`: eight lines sum up a run, as comments of TAP or with an `ℹ` before each.

use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct NodeTest {
    run: Option<TestCounts>,
}

impl Reader for NodeTest {
    /// `# tests 6`, `# suites 1`, `# pass 3`, `# fail 1`, `# cancelled 0`, `# skipped 1`, `# todo 1`
    fn take(&mut self, line: &str) -> Option<TestCounts> {
        let text = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ "))?;
        let (word, number) = text.split_once(' ')?;
        let number = pairs::leading(number).filter(|_| number.bytes().all(|byte| byte.is_ascii_digit()))?;
        if word == "tests" {
            self.run = Some(TestCounts::default());
            return None;
        }
        let run = self.run?;
        let more = match word {
            "pass" => TestCounts::of(number, 0, 0),
            "fail" | "cancelled" => TestCounts::of(0, number, 0),
            "skipped" | "todo" => TestCounts::of(0, 0, number),
            _ => return None,
        };
        self.run = Some(run.plus(more));
        self.run
    }
}
