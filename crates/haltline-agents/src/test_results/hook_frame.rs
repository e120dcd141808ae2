//! Whether the place that a JavaScript runner shows of a failure is in a hook.
//!
//! Jest and Vitest say of a test whose `beforeAll` or `beforeEach` raised that it failed, although it never ran. What
//! tells the two apart is the piece of source they print: the line with the caret below it, and the lines before. A hook
//! that is longer than the piece is not seen.

const HOOKS: [&str; 6] = ["beforeAll(", "beforeEach(", "before(", "afterAll(", "afterEach(", "after("];
const TESTS: [&str; 4] = ["it(", "test(", "it.", "test."];

/// Reads the first piece of source after a failure's heading.
#[derive(Default)]
pub(super) struct HookFrame {
    is_reading: bool,
    is_hook: bool,
}

impl HookFrame {
    /// A report of a failure begins.
    pub fn begins(&mut self) {
        *self = Self { is_reading: true, is_hook: false };
    }

    /// Takes a line. True where the caret has shown a hook.
    pub fn take(&mut self, line: &str) -> bool {
        if !self.is_reading {
            return false;
        }
        let Some((number, source)) = line.split_once('|') else {
            return false;
        };
        let number = number.trim().trim_start_matches('>').trim();
        let source = source.trim();
        if number.is_empty() && source == "^" {
            self.is_reading = false;
            return self.is_hook;
        }
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            if HOOKS.iter().any(|hook| source.starts_with(hook)) {
                self.is_hook = true;
            } else if TESTS.iter().any(|test| source.starts_with(test)) {
                self.is_hook = false;
            }
        }
        false
    }
}
