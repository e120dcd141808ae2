//! The phrase with which a person lifts the spawn limits until the next prompt (L8).

use haltline_core::loop_::LoopEvent;

use crate::json;
use crate::json::Unread;

/// The event for a prompt. Only a prompt that a person wrote can lift the limits.
pub fn prompt_event(text: Unread<'_>, by_user: bool) -> LoopEvent {
    let lifts_limits = || text.and_then(json::text).is_some_and(|text| is_requested(&text));
    LoopEvent::Prompt { by_user, bypass: by_user && lifts_limits() }
}

/// True if a line of the prompt is the phrase and nothing else. The caller must know that a person wrote the prompt.
pub fn is_requested(prompt: &str) -> bool {
    prompt.lines().any(|line| line.trim() == "SUDO PARALLEL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_with_nothing_else_requests_it() {
        assert!(is_requested("do it\n  SUDO PARALLEL \r\nnow"));
        assert!(!is_requested("please SUDO PARALLEL"));
        assert!(!is_requested("sudo parallel"));
        assert!(!is_requested(""));
    }
}
