//! Keeps secrets out of stored texts, and stored texts short (E10).

use std::borrow::Cow;
use std::sync::LazyLock;

use haltline_core::digest_hex;
use regex_lite::Regex;

/// The longest text that is stored.
pub const TEXT_BYTES_MAX: usize = 4096;

/// A kind of secret: a cheap needle to search first, and the pattern whose first group is masked.
struct SecretPattern {
    needles: &'static [&'static str],
    /// Compiled when its first needle is found: most processes find none.
    pattern: LazyLock<Regex>,
}

impl SecretPattern {
    const fn new(needles: &'static [&'static str], compile: fn() -> Regex) -> Self {
        Self { needles, pattern: LazyLock::new(compile) }
    }
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are constants, tested below")
}

/// Needles are lower case and searched in the lower-cased text.
static SECRETS: [SecretPattern; 7] = [
    SecretPattern::new(&["private key-----"], || {
        compile(r"(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$))")
    }),
    SecretPattern::new(&["bearer ", "basic "], || compile(r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})")),
    SecretPattern::new(
        &[
            "sk-",
            "sk_",
            "pk_",
            "rk_",
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "xox",
            "npm_",
            "pypi-",
            "hf_",
            "aiza",
            "akia",
            "asia",
            "dop_v1_",
            "sg.",
        ],
        || {
            compile(
                r"\b((?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeprs]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{30,}|A[KS]IA[A-Z0-9]{16}|dop_v1_[a-f0-9]{32,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})",
            )
        },
    ),
    SecretPattern::new(&["eyj"], || compile(r"\b(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*)")),
    SecretPattern::new(&["://"], || compile(r"://[^\s/:@]*:([^\s/@]+)@")),
    SecretPattern::new(
        &[
            "passw",
            "passphrase",
            "pwd",
            "secret",
            "token",
            "api_key",
            "api-key",
            "apikey",
            "access_key",
            "access-key",
            "private_key",
            "client_key",
        ],
        || {
            compile(
                r#"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|client[-_]?key)["']?\s*[=:]\s*["']?([^\s"',;&]{4,})"#,
            )
        },
    ),
    SecretPattern::new(
        &["--passw", "--passphrase", "--pwd", "--secret", "--token", "--api-key", "--access-key"],
        || compile(r#"(?i)--(?:passw(?:or)?d|passphrase|pwd|secret|token|api-key|access-key)\s+["']?([^\s"']{4,})"#),
    ),
];

/// Replaces a secret.
const MASK: &str = "[redacted]";

/// The text as it may be stored: secrets masked, and at most [`TEXT_BYTES_MAX`] bytes, with a hash of the whole text if
/// it was cut. Idempotent, because haltline compares the texts of a state file with those in the journal.
pub fn storable(text: &str) -> String {
    let masked = mask_all(text);
    if masked.len() <= TEXT_BYTES_MAX {
        return masked;
    }
    // The space separates the note from a word that the cut goes through.
    let note = format!(" … [{} bytes, sha256 {}]", text.len(), digest_hex(&[text.as_bytes()], 8));
    let mut end = TEXT_BYTES_MAX - note.len() - CUT_BYTES_SPARE;
    while !masked.is_char_boundary(end) {
        end -= 1;
    }
    mask_all(&masked[..end]) + &note
}

/// A word that was cut may look like a secret that it was not before; masking it can make the text longer.
const CUT_BYTES_SPARE: usize = 64;
/// How often a text is masked again because what is left next to a mask looks like a secret.
const PASSES_MAX: usize = 16;

fn mask_all(text: &str) -> String {
    let mut masked = match mask(text) {
        // Nothing was masked, so another pass would find nothing either.
        Cow::Borrowed(text) => return text.to_owned(),
        Cow::Owned(masked) => masked,
    };
    for _pass in 1..PASSES_MAX {
        let again = mask(&masked);
        if again == masked {
            break;
        }
        masked = again.into_owned();
    }
    masked
}

/// The text with its secrets masked.
pub fn mask(text: &str) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    let mut masked = Cow::Borrowed(text);
    for secret in &SECRETS {
        if !secret.needles.iter().any(|needle| lower.contains(needle)) {
            continue;
        }
        let mut result = String::with_capacity(masked.len());
        let mut copied = 0;
        for groups in secret.pattern.captures_iter(&masked) {
            let Some(found) = groups.get(1) else { continue };
            if found.as_str() == MASK {
                continue;
            }
            result.push_str(&masked[copied..found.start()]);
            result.push_str(MASK);
            copied = found.end();
        }
        if copied > 0 {
            result.push_str(&masked[copied..]);
            masked = Cow::Owned(result);
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_the_rest_stays() {
        for (text, expected) in [
            ("git push --force origin main", "git push --force origin main"),
            ("curl -H 'Authorization: Bearer abcdef0123456789' x", "curl -H 'Authorization: Bearer [redacted]' x"),
            ("export OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuv", "export OPENAI_API_KEY=[redacted]"),
            ("mysql -u root password=hunter2 db", "mysql -u root password=[redacted] db"),
            ("clone https://ana:s3cr3t@host/x.git", "clone https://ana:[redacted]@host/x.git"),
            ("token: ghp_0123456789abcdefghijABCDEFGHIJ", "token: [redacted]"),
            ("AKIAIOSFODNN7EXAMPLE in log", "[redacted] in log"),
            ("{\"password\": \"hunter22\"}", "{\"password\": \"[redacted]\"}"),
            ("gh auth login --token abcd1234 now", "gh auth login --token [redacted] now"),
            ("cookie eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.c2ln end", "cookie [redacted] end"),
            ("the token expired", "the token expired"),
            ("the tokenizer passed 12 tests", "the tokenizer passed 12 tests"),
        ] {
            assert_eq!(mask(text), expected);
        }
        let key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- tail";
        assert_eq!(mask(key), "[redacted] tail");
    }

    #[test]
    fn long_texts_are_cut_at_a_character_with_a_hash_of_the_whole() {
        let text = "é".repeat(4000);
        let stored = storable(&text);
        assert!(stored.len() <= TEXT_BYTES_MAX && stored.contains("8000 bytes, sha256 "), "{}", stored.len());
        assert_eq!(storable("short"), "short");
        let exact = "a".repeat(TEXT_BYTES_MAX);
        assert_eq!(storable(&exact), exact);
    }
}
