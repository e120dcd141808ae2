//! Classifies an error by the message that a client prints about it.
//!
//! Only for messages of a client about itself: they are few and short, so a phrase anywhere in them is significant. In
//! an agent's text, or in the output of tools, the same phrases mean nothing.

use super::{Ending, error_excerpt, first_bytes, reset};

const SEARCHED_BYTES_MAX: usize = 4096;

/// The service is overloaded, but the user's allowance is not used up.
const NOT_A_LIMIT: [&str; 2] = ["not your usage limit", "temporarily limiting requests"];

const LIMITS: [&str; 14] = [
    "usage limit",
    "usage_limit",
    "limit reached",
    "hit your limit",
    "session limit",
    "weekly limit",
    "out of extra usage",
    "rate limit",
    "rate_limit",
    "rate-limit",
    "too many requests",
    "request rejected (429)",
    "exhausted your",
    "quota will reset",
];

const INFRASTRUCTURE: [&str; 33] = [
    "overloaded",
    "internal server error",
    "server error",
    "server_error",
    "bad gateway",
    "service unavailable",
    "temporarily limiting requests",
    "temporarily unavailable",
    "timed out",
    "timeout",
    "unable to connect",
    "connection error",
    "connection refused",
    "connection reset",
    "could not connect",
    "error sending request",
    "stream disconnected",
    "fetch failed",
    "socket hang up",
    "network error",
    "econnreset",
    "econnrefused",
    "enotfound",
    "etimedout",
    "eai_again",
    "certificate",
    "invalid api key",
    "not logged in",
    "run /login",
    "unauthorized",
    "oauth token",
    "credit balance",
    "organization has been disabled",
];

/// The client's names for kinds of errors.
const INFRASTRUCTURE_ERROR_NAMES: [&str; 7] = [
    "overloaded",
    "server_error",
    "billing_error",
    "authentication_failed",
    "authentication_error",
    "oauth_org_not_allowed",
    "overloaded_error",
];

/// The ending that an error message means; the client may give `status` and `error_name` in addition to the message.
pub(super) fn ending(message: &str, status: Option<u16>, error_name: Option<&str>) -> Option<Ending> {
    let lower = first_bytes(message, SEARCHED_BYTES_MAX).to_lowercase().replace('’', "'");
    let status = status.or_else(|| status_in(&lower));
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    let is_limit = status == Some(429) || error_name == Some("rate_limit") || has(&LIMITS);
    if is_limit && !has(&NOT_A_LIMIT) {
        return Some(Ending::ApiLimit { resets: reset::find_in(message), message: error_excerpt(message) });
    }
    let is_bad_status = matches!(status, Some(401 | 402 | 403 | 408 | 500..=599));
    let is_infrastructure = is_bad_status
        || error_name.is_some_and(|error_name| INFRASTRUCTURE_ERROR_NAMES.contains(&error_name))
        || has(&INFRASTRUCTURE);
    is_infrastructure.then(|| Ending::Infrastructure { message: error_excerpt(message) })
}

/// The HTTP status that the message names.
fn status_in(lower: &str) -> Option<u16> {
    let prefixes = ["api error: ", "api error (", "status: ", "status "];
    prefixes.iter().find_map(|prefix| {
        let rest = &lower[lower.find(prefix)? + prefix.len()..];
        let digits = rest.get(..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        let is_whole = !rest[3..].starts_with(|letter: char| letter.is_ascii_digit());
        digits.parse().ok().filter(|_| is_whole)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(message: &str) -> &'static str {
        match ending(message, None, None) {
            Some(Ending::ApiLimit { .. }) => "limit",
            Some(Ending::Infrastructure { .. }) => "infrastructure",
            Some(_) => "another",
            None => "unknown",
        }
    }

    #[test]
    fn a_clients_complaint_is_a_limit_or_infrastructure_or_something_else() {
        for (message, expected) in [
            ("Claude AI usage limit reached|1749924000", "limit"),
            ("You’ve hit your weekly limit · resets Oct 9, 5pm", "limit"),
            ("exceeded retry limit, last status: 429 Too Many Requests", "limit"),
            ("API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}", "limit"),
            ("API Error: Request rejected (429) · this may be a temporary capacity issue", "limit"),
            ("stream disconnected before completion: Rate limit is exceeded. Try again in 11 seconds.", "limit"),
            ("API Error: Server is temporarily limiting requests (not your usage limit)", "infrastructure"),
            ("unexpected status 529 <unknown status code>: Overloaded, url: http://localhost", "infrastructure"),
            ("unexpected status 401 Unauthorized: no key", "infrastructure"),
            ("API Error: 500 Internal server error.", "infrastructure"),
            ("API Error: Connection error.", "infrastructure"),
            ("stream disconnected before completion: stream closed before response.completed", "infrastructure"),
            ("Invalid API key · Please run /login", "infrastructure"),
            ("Credit balance is too low", "infrastructure"),
            ("API Error: 400 messages.5: `tool_use` ids were found", "unknown"),
            ("Prompt is too long", "unknown"),
            ("Reached maximum number of turns (2)", "unknown"),
        ] {
            assert_eq!(kind(message), expected, "{message}");
        }
    }

    #[test]
    fn the_status_and_error_name_count_as_much_as_the_message() {
        assert!(matches!(ending("try later", Some(429), None), Some(Ending::ApiLimit { .. })));
        assert!(matches!(ending("try later", Some(529), None), Some(Ending::Infrastructure { .. })));
        assert!(matches!(ending("no", None, Some("rate_limit")), Some(Ending::ApiLimit { .. })));
        assert!(matches!(ending("no", None, Some("billing_error")), Some(Ending::Infrastructure { .. })));
        assert_eq!(ending("no", Some(400), Some("unknown")), None);
    }
}
