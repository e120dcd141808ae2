//! The page of one code, and how pages are found.

use super::CODE_PAGES;

/// The page of one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePage {
    pub code: &'static str,
    pub breaker: &'static str,
    /// The pattern that the code stands for; empty if it stands for none.
    pub pattern: &'static str,
    /// What happened, in one or two sentences.
    pub meaning: &'static str,
    /// What to do, for the agent and then for the person.
    pub advice: &'static str,
    /// The configuration keys, or tables of keys, that set its limits.
    pub keys: &'static [&'static str],
}

impl CodePage {
    /// True if the configuration key sets one of its limits.
    pub fn is_limited_by(&self, key: &str) -> bool {
        self.keys.iter().any(|own| key.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    }
}

/// The page of a code; `None` for a text that is not one.
pub fn code_page(code: &str) -> Option<&'static CodePage> {
    CODE_PAGES.iter().find(|page| page.code.eq_ignore_ascii_case(code))
}

/// The pages of a pattern, by its name.
pub fn code_pages_of_pattern(pattern: &str) -> Vec<&'static CodePage> {
    CODE_PAGES.iter().filter(|page| !pattern.is_empty() && page.pattern == pattern).collect()
}

/// A row of the table.
pub(super) const fn page(
    code: &'static str,
    breaker: &'static str,
    pattern: &'static str,
    keys: &'static [&'static str],
    meaning: &'static str,
    advice: &'static str,
) -> CodePage {
    CodePage { code, breaker, pattern, meaning, advice, keys }
}
