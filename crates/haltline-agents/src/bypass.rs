//! The words by which a person lifts the spawn limits until the next prompt (L8).

use haltline_core::loop_::Happening;

use crate::call::Unread;
use crate::json;

/// A prompt with what it asks for. Only a person's own words lift anything.
pub fn prompt(text: Unread<'_>, by_user: bool) -> Happening {
    let is_bypass = || text.and_then(json::text).is_some_and(|text| is_asked_for(&text));
    Happening::Prompt { by_user, bypass: by_user && is_bypass() }
}

/// Whether a line of the prompt is the bypass and nothing else. Who wrote the prompt is the caller's to know.
pub fn is_asked_for(prompt: &str) -> bool {
    prompt.lines().any(|line| line.trim() == "SUDO PARALLEL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_of_its_own_asks() {
        assert!(is_asked_for("do it\n  SUDO PARALLEL \r\nnow"));
        assert!(!is_asked_for("please SUDO PARALLEL"));
        assert!(!is_asked_for("sudo parallel"));
        assert!(!is_asked_for(""));
    }
}
