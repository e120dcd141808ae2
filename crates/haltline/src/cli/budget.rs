//! The arguments of `haltline budget` and `haltline prices`. Doc comments in here are help texts.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use haltline_core::ledger::{BudgetScope, BudgetUnit};

use super::value::lifetime;

#[derive(Debug, Args)]
#[command(
    subcommand_help_heading = "Verbs",
    after_help = "Examples:\n  haltline budget\n  haltline budget set day 15usd\n  haltline budget raise day 5usd --for 2h --reason \"release\"\n\nWithout a verb, haltline shows what is used of each budget."
)]
pub struct Budget {
    #[command(subcommand)]
    pub verb: Option<BudgetVerb>,
}

#[derive(Debug, Subcommand)]
pub enum BudgetVerb {
    /// Set a limit in your configuration file (people only)
    #[command(
        after_help = "Examples:\n  haltline budget set day 15usd\n  haltline budget set night 2Mtokens --soft\n  haltline budget set session 300calls\n  haltline budget set day 0usd\n\nA limit of 0 switches it off. The budget of a project goes into the project's file."
    )]
    Set(BudgetSet),
    /// Raise a hard limit for a while (people only)
    #[command(after_help = "Example:\n  haltline budget raise day 5usd --for 2h --reason \"release\"")]
    Raise(BudgetRaise),
}

#[derive(Debug, Args)]
pub struct BudgetSet {
    /// session, prompt, day, night, week or project
    #[arg(value_name = "SCOPE", value_parser = scope)]
    pub scope: BudgetScope,
    /// The amount with its unit: 15usd, 2Mtokens, 300calls, 90minutes or 40turns
    #[arg(value_name = "AMOUNT", value_parser = amount)]
    pub amount: Amount,
    /// Set the soft limit, at which haltline warns
    #[arg(long = "soft")]
    pub is_soft: bool,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct BudgetRaise {
    /// session, prompt, day, night, week or project
    #[arg(value_name = "SCOPE", value_parser = scope)]
    pub scope: BudgetScope,
    /// How much more: 5usd, 500ktokens, 100calls, 30minutes or 10turns
    #[arg(value_name = "AMOUNT", value_parser = amount)]
    pub amount: Amount,
    /// How long: 30m or 2h, at most a day
    #[arg(long = "for", value_name = "TIME", default_value = "2h", value_parser = lifetime)]
    pub lifetime_ms: u64,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  haltline prices\n  haltline prices update prices.txt\n\nA line of the file is MODEL INPUT OUTPUT CACHE_READ CACHE_WRITE, in dollars per million\ntokens; text behind # is ignored."
)]
pub struct Prices {
    #[command(subcommand)]
    pub verb: Option<PricesVerb>,
}

#[derive(Debug, Subcommand)]
pub enum PricesVerb {
    /// Take over the prices in a file (people only)
    #[command(after_help = "Example:\n  haltline prices update prices.txt --reason \"list of November\"")]
    Update(PricesUpdate),
}

#[derive(Debug, Args)]
pub struct PricesUpdate {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// An amount with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    pub unit: BudgetUnit,
    /// In millionths of a dollar, or the number.
    pub amount: u64,
}

fn scope(text: &str) -> Result<BudgetScope, String> {
    let known = BudgetScope::ALL.into_iter().find(|scope| scope.as_str() == text);
    known.ok_or_else(|| format!("{text:?}: expected session, prompt, day, night, week or project"))
}

/// The spellings of each unit.
const UNITS: [(BudgetUnit, &[&str]); 5] = [
    (BudgetUnit::Usd, &["usd", "dollars", "dollar", "$"]),
    (BudgetUnit::Tokens, &["tokens", "token"]),
    (BudgetUnit::Turns, &["turns", "turn"]),
    (BudgetUnit::Calls, &["calls", "call"]),
    (BudgetUnit::Minutes, &["minutes", "minute", "min"]),
];

/// `15usd`, `$15`, `2Mtokens`, `500ktokens`, `300calls`.
fn amount(text: &str) -> Result<Amount, String> {
    let expected =
        || format!("{text:?}: expected an amount with its unit, such as 15usd, 2Mtokens, 300calls or 90minutes");
    let lower = text.trim().to_lowercase();
    let spelled = match lower.strip_prefix('$') {
        Some(number) => format!("{number}usd"),
        None => lower,
    };
    let spellings = UNITS.iter().flat_map(|(unit, words)| words.iter().map(move |word| (*unit, *word)));
    let found = spellings.filter_map(|(unit, word)| Some((unit, spelled.strip_suffix(word)?.trim())));
    let (unit, number) = found.min_by_key(|(_, number)| number.len()).ok_or_else(expected)?;
    let amount = match unit {
        BudgetUnit::Usd => haltline_engine::config::parse_dollars(number),
        BudgetUnit::Tokens | BudgetUnit::Turns | BudgetUnit::Calls | BudgetUnit::Minutes => whole(number),
    };
    Ok(Amount { unit, amount: amount.ok_or_else(expected)? })
}

/// `500`, `500k` or `2m`.
fn whole(text: &str) -> Option<u64> {
    let (digits, factor) = match text.strip_suffix(['k', 'm']) {
        Some(digits) if text.ends_with('k') => (digits, 1000),
        Some(digits) => (digits, 1_000_000),
        None => (text, 1),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_need_a_unit_and_are_exact() {
        for (text, unit, expected) in [
            ("15usd", BudgetUnit::Usd, 15_000_000),
            ("$0.50", BudgetUnit::Usd, 500_000),
            ("2.25 USD", BudgetUnit::Usd, 2_250_000),
            ("2Mtokens", BudgetUnit::Tokens, 2_000_000),
            ("500k tokens", BudgetUnit::Tokens, 500_000),
            ("300calls", BudgetUnit::Calls, 300),
            ("90min", BudgetUnit::Minutes, 90),
            ("40turns", BudgetUnit::Turns, 40),
        ] {
            assert_eq!(amount(text), Ok(Amount { unit, amount: expected }), "{text}");
        }
        for text in ["", "15", "usd", "-3usd", "1e3usd", "0.1calls", "5euro", "99999999999999999999calls"] {
            assert!(amount(text).is_err(), "{text}");
        }
    }
}
