//! The verdict as views show it: only its name, the reason is a field of its own.

use haltline_core::Verdict;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictName {
    Pass,
    Warn,
    Deny,
    Stop,
}

impl VerdictName {
    pub fn denies(self) -> bool {
        match self {
            VerdictName::Pass | VerdictName::Warn => false,
            VerdictName::Deny | VerdictName::Stop => true,
        }
    }
}

impl From<&Verdict> for VerdictName {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Pass => VerdictName::Pass,
            Verdict::Warn(_) => VerdictName::Warn,
            Verdict::Deny(_) => VerdictName::Deny,
            Verdict::Stop(_) => VerdictName::Stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_name_that_the_core_gives() {
        let json = serde_json::to_value(VerdictName::from(&Verdict::Pass)).expect("a word");
        assert_eq!(json, Verdict::Pass.as_str());
    }
}
