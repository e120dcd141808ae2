//! The price of tokens: the public list prices of models, and those that the configuration adds.
//!
//! An unknown price stays unknown; haltline never treats tokens as free because their price is unknown (L7). A model
//! whose price depends on more than the kind of token (such as the length of the prompt) is unknown here too.

use std::borrow::Cow;

use haltline_core::loop_::Usage;
use haltline_core::{glob_matches, shorten};

/// The newest date that a source of [`PRICES`] confirms.
pub const PRICES_DATE: &str = "2026-10-10";

/// The price of a million tokens of each kind, in millionths of a dollar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// The model's name, or a prefix of it.
    pub model: Cow<'static, str>,
    /// Input tokens that are not cached.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Tokens written to the cache for an hour.
    pub cache_write_hour: u64,
}

/// Anthropic's list prices on its own API.
pub const PRICES: &[Price] = &[
    list_price("claude-fable-5-1", [10_000, 50_000, 250, 12_500, 20_000]),
    list_price("claude-fable-5", [10_000, 50_000, 1_000, 12_500, 20_000]),
    list_price("claude-opus-5-5", [4_000, 20_000, 200, 5_000, 8_000]),
    list_price("claude-opus-5", [5_000, 25_000, 500, 6_250, 10_000]),
    list_price("claude-opus-4-8", [5_000, 25_000, 500, 6_250, 10_000]),
    list_price("claude-opus-4-7", [5_000, 25_000, 500, 6_250, 10_000]),
    list_price("claude-opus-4-6", [5_000, 25_000, 500, 6_250, 10_000]),
    list_price("claude-opus-4-5", [5_000, 25_000, 500, 6_250, 10_000]),
    list_price("claude-opus-4-1", [15_000, 75_000, 1_500, 18_750, 30_000]),
    list_price("claude-opus-4-0", [15_000, 75_000, 1_500, 18_750, 30_000]),
    list_price("claude-opus-4", [15_000, 75_000, 1_500, 18_750, 30_000]),
    list_price("claude-3-opus", [15_000, 75_000, 1_500, 18_750, 30_000]),
    list_price("claude-sonnet-5-5", [2_000, 10_000, 200, 2_500, 4_000]),
    list_price("claude-sonnet-5", [2_000, 10_000, 200, 2_500, 4_000]),
    list_price("claude-sonnet-4-6", [3_000, 15_000, 300, 3_750, 6_000]),
    list_price("claude-sonnet-4-5", [3_000, 15_000, 300, 3_750, 6_000]),
    list_price("claude-sonnet-4-0", [3_000, 15_000, 300, 3_750, 6_000]),
    list_price("claude-sonnet-4", [3_000, 15_000, 300, 3_750, 6_000]),
    list_price("claude-3-7-sonnet", [3_000, 15_000, 300, 3_750, 6_000]),
    list_price("claude-3-5-sonnet", [3_000, 15_000, 300, 3_750, 6_000]),
    list_price("claude-haiku-4-5", [1_000, 5_000, 100, 1_250, 2_000]),
    list_price("claude-3-5-haiku", [800, 4_000, 80, 1_000, 1_600]),
    list_price("claude-3-haiku", [250, 1_250, 30, 300, 500]),
];

/// One entry of the list: thousandths of a dollar for input, output, cache read, cache write, cache write for an hour.
const fn list_price(model: &'static str, [input, output, cache_read, cache_write, hour]: [u64; 5]) -> Price {
    Price {
        model: Cow::Borrowed(model),
        input: input * 1000,
        output: output * 1000,
        cache_read: cache_read * 1000,
        cache_write: cache_write * 1000,
        cache_write_hour: hour * 1000,
    }
}

/// Parses a price of the configuration: `MODEL INPUT OUTPUT CACHE_READ CACHE_WRITE`, dollars per million tokens.
pub fn parse(line: &str) -> Result<Price, String> {
    let expected = "expected MODEL INPUT OUTPUT CACHE_READ CACHE_WRITE, in dollars per million tokens";
    let words: Vec<&str> = line.split_whitespace().collect();
    let [model, input, output, cache_read, cache_write] = words[..] else {
        return Err(format!("price {}: {expected}", shorten(line)));
    };
    let dollars = |field: &str, word: &str| {
        let value = word.parse::<f64>().ok().and_then(millionths);
        value.ok_or_else(|| {
            format!("price of {}: {field} {}: expected dollars, 0 or more", shorten(model), shorten(word))
        })
    };
    let cache_write = dollars("CACHE_WRITE", cache_write)?;
    Ok(Price {
        model: Cow::Owned(model.to_owned()),
        input: dollars("INPUT", input)?,
        output: dollars("OUTPUT", output)?,
        cache_read: dollars("CACHE_READ", cache_read)?,
        cache_write,
        cache_write_hour: cache_write,
    })
}

/// The cost of the tokens in millionths of a dollar, if the model's price is known. `extra` wins over the list.
pub fn cost(model: &str, usage: &Usage, extra: &[Price]) -> Option<u64> {
    cost_with_hour(model, usage, 0, extra)
}

/// Like [`cost`], when this many tokens of `usage.cache_write` are cached for an hour.
pub fn cost_with_hour(model: &str, usage: &Usage, cache_write_hour: u64, extra: &[Price]) -> Option<u64> {
    let price = price_of(model, extra)?;
    let hour = cache_write_hour.min(usage.cache_write);
    let parts = [
        (usage.input, price.input),
        (usage.output, price.output),
        (usage.cache_read, price.cache_read),
        (usage.cache_write - hour, price.cache_write),
        (hour, price.cache_write_hour),
    ];
    let sum: u128 = parts.iter().map(|&(tokens, each)| u128::from(tokens) * u128::from(each)).sum();
    Some(u64::try_from((sum + 500_000) / 1_000_000).unwrap_or(u64::MAX))
}

/// Dollars as millionths of a dollar; `None` for anything that is not an amount.
pub fn millionths(dollars: f64) -> Option<u64> {
    const DOLLARS_MAX: f64 = 1e9;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked before")]
    (0.0..=DOLLARS_MAX).contains(&dollars).then(|| (dollars * 1e6).round() as u64)
}

/// The configuration may name several models by a common prefix or a pattern, and the longest name wins. The list means exactly
/// the models it names, or a dated release of one: a model whose name only begins like another may have another price.
fn price_of<'a>(model: &str, extra: &'a [Price]) -> Option<&'a Price> {
    let configured =
        extra.iter().filter(|price| model.starts_with(price.model.as_ref()) || glob_matches(&price.model, model));
    configured.max_by_key(|price| price.model.len()).or_else(|| {
        let is_dated_release = |rest: &str| rest.strip_prefix('-').is_some_and(is_date);
        PRICES.iter().find(|price| {
            model.strip_prefix(price.model.as_ref()).is_some_and(|rest| rest.is_empty() || is_dated_release(rest))
        })
    })
}

fn is_date(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit())
}
