//! Recognises that the source a JavaScript runner shows for a failure is a hook.
//!
//! Jest and Vitest report a test as failed when its `beforeAll` or `beforeEach` threw, although the test never ran. The
//! source excerpt that they print tells the two apart: the line with the caret below it, and the lines before. A hook
//! that is longer than the excerpt is not recognised.

const HOOKS: [&str; 6] = ["beforeAll(", "beforeEach(", "before(", "afterAll(", "afterEach(", "after("];
const TESTS: [&str; 4] = ["it(", "test(", "it.", "test."];

/// Reads the first source excerpt after the heading of a failure.
#[derive(Default)]
pub(super) struct HookFrame {
    is_reading: bool,
    is_hook: bool,
}

impl HookFrame {
    /// Starts over at the heading of a failure.
    pub fn begin(&mut self) {
        *self = Self { is_reading: true, is_hook: false };
    }

    /// Reads a line; returns true when it is the caret and points into a hook.
    pub fn is_hook_shown_by(&mut self, line: &str) -> bool {
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
