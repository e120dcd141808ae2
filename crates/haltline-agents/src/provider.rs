//! The model services behind the clients: whose allowance a client's requests use, and what a service's answer means that
//! is no response.

use haltline_core::Instant;
use haltline_core::loop_::{FaultKind, ProviderAccount, ProviderFault};

use crate::headless::{Ending, Reset, ending_of_message};

/// A client, the service that it uses unless a person set it up otherwise, and the environment variables that choose the
/// account.
type ClientProvider = (&'static str, &'static str, &'static [&'static str]);

/// Clients that can use any service are not in the table.
const PROVIDERS: &[ClientProvider] = &[
    (
        "claude-code",
        "anthropic",
        &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
            "CLAUDE_CONFIG_DIR",
        ],
    ),
    ("codex", "openai", &["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME"]),
    ("gemini", "google", &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT"]),
    ("qwen", "qwen", &["OPENAI_API_KEY", "OPENAI_BASE_URL", "DASHSCOPE_API_KEY"]),
    ("copilot", "github", &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"]),
    ("cursor", "cursor", &["CURSOR_API_KEY"]),
];

/// The account of a client that uses no variable: the one that a person logged in with.
pub(crate) const LOGIN: &str = "login";

/// The service that a client uses, if that is known.
pub(crate) fn provider_of(client: &str) -> Option<&'static str> {
    PROVIDERS.iter().find(|(name, ..)| *name == client).map(|(_, service, _)| *service)
}

/// The account whose allowance a client's requests use. Keys appear in it only as a digest.
pub fn account_of(client: &str, variable: impl Fn(&str) -> Option<String>) -> Option<ProviderAccount> {
    let (_, service, names) = PROVIDERS.iter().find(|(name, ..)| *name == client)?;
    let set: Vec<(&str, String)> = names.iter().filter_map(|name| Some((*name, variable(name)?))).collect();
    let parts: Vec<&[u8]> = set.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]).collect();
    let account = if set.is_empty() { LOGIN.to_owned() } else { haltline_core::digest_hex(&parts, 4) };
    Some(ProviderAccount { provider: (*service).to_owned(), account })
}

/// What a service answered instead of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedFault {
    pub kind: FaultKind,
    /// When it answers again, as it says.
    pub reset: Option<Reset>,
    pub is_account_wide: bool,
}

/// Limits that count all models of an account.
const ACCOUNT_WIDE: [&str; 6] =
    ["session limit", "usage limit", "weekly limit", "hit your limit", "5-hour limit", "extra usage"];

const OVERLOADS: [&str; 5] = ["overloaded", "529", "503", "service unavailable", "temporarily limiting requests"];

impl StatedFault {
    /// The fault that a client's message about itself means, with the client's name for the error if it has one.
    pub fn from_message(message: &str, error_name: Option<&str>) -> Option<Self> {
        Self::from_ending(&ending_of_message(message, error_name)?)
    }

    /// The fault that ended a run.
    pub fn from_ending(ending: &Ending) -> Option<Self> {
        let is_any = |message: &str, phrases: &[&str]| {
            let lower = message.to_lowercase();
            phrases.iter().any(|phrase| lower.contains(phrase))
        };
        match ending {
            Ending::ApiLimit { resets, message } => {
                let is_account_wide = is_any(message, &ACCOUNT_WIDE);
                Some(Self { kind: FaultKind::Limit, reset: resets.clone(), is_account_wide })
            }
            Ending::Infrastructure { message } if is_any(message, &OVERLOADS) => {
                Some(Self { kind: FaultKind::Overload, reset: None, is_account_wide: false })
            }
            Ending::Infrastructure { .. }
            | Ending::Silent
            | Ending::Finished
            | Ending::Hook { .. }
            | Ending::Turns
            | Ending::Failed { .. } => None,
        }
    }

    /// The fault in the core's terms, once the caller knows the instant that is meant.
    pub fn until(&self, until: Option<Instant>) -> ProviderFault {
        ProviderFault { kind: self.kind, until, is_account_wide: self.is_account_wide }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_an_account_of_its_own_and_shows_in_no_name() {
        let login = account_of("claude-code", |_| None).expect("known");
        assert_eq!((login.provider.as_str(), login.account.as_str()), ("anthropic", "login"));
        let key = |value: &'static str| {
            let read = move |name: &str| (name == "ANTHROPIC_API_KEY").then(|| value.to_owned());
            account_of("claude-code", read).expect("known").account
        };
        assert_eq!(key("sk-ant-1"), key("sk-ant-1"));
        assert_ne!(key("sk-ant-1"), key("sk-ant-2"));
        assert!(!key("sk-ant-1").contains("sk"));
        assert_eq!(account_of("opencode", |_| None), None);
    }

    #[test]
    fn limits_and_overloads_are_distinguished_from_other_errors() {
        let kind = |message: &str, name: Option<&str>| {
            StatedFault::from_message(message, name).map(|fault| (fault.kind, fault.is_account_wide))
        };
        for (message, name, expected) in [
            ("You've hit your limit · resets 3pm", None, Some((FaultKind::Limit, true))),
            ("You've hit your session limit · resets 12:50am", None, Some((FaultKind::Limit, true))),
            ("You've hit your Opus limit · resets 3pm", Some("rate_limit"), Some((FaultKind::Limit, false))),
            ("API Error: 429", Some("rate_limit"), Some((FaultKind::Limit, false))),
            ("API Error: 529 Overloaded", Some("overloaded"), Some((FaultKind::Overload, false))),
            ("unexpected status 503 Service Unavailable", None, Some((FaultKind::Overload, false))),
            ("API Error: 500 Internal server error.", Some("server_error"), None),
            ("Invalid API key · Please run /login", Some("authentication_failed"), None),
            ("Prompt is too long", None, None),
        ] {
            assert_eq!(kind(message, name), expected, "{message}");
        }
    }
}
