//! What a model's tokens cost, as the person configured it. A model without a price has an unknown cost, not zero (L7).

use haltline_core::glob_matches;
use serde::{Deserialize, Serialize};

use super::money;

/// What a million tokens of a model cost, in millionths of a dollar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// The model's name, as a glob.
    pub model: String,
    /// Input tokens that are not in the cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Price {
    /// Parses `MODEL INPUT OUTPUT CACHE_READ CACHE_WRITE`, in dollars per million tokens.
    pub fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [model, input, output, cache_read, cache_write] = fields.as_slice() else { return None };
        let dollars = |field: &str| money::parse(field).filter(|micros| *micros <= money::MICROS_MAX);
        Some(Self {
            model: (*model).to_owned(),
            input: dollars(input)?,
            output: dollars(output)?,
            cache_read: dollars(cache_read)?,
            cache_write: dollars(cache_write)?,
        })
    }

    pub fn matches(&self, model: &str) -> bool {
        glob_matches(&self.model, model)
    }

    /// What these tokens cost, in millionths of a dollar, rounded up.
    pub fn micros(&self, input: u64, output: u64, cache_read: u64, cache_write: u64) -> u64 {
        let parts = [
            (input, self.input),
            (output, self.output),
            (cache_read, self.cache_read),
            (cache_write, self.cache_write),
        ];
        let total: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
        u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_a_model_and_four_amounts() {
        let price = Price::parse("big-model-* 3 15 0.30 3.75").expect("a price");
        assert!(price.matches("big-model-4") && !price.matches("small-model"));
        assert_eq!((price.input, price.cache_read), (3_000_000, 300_000));
        assert_eq!(price.micros(1_000_000, 100_000, 0, 0), 3_000_000 + 1_500_000);
        assert_eq!(price.micros(1, 0, 0, 0), 3);
        for text in
            ["", "model", "model 1 2 3", "model 1 2 3 4 5", "model 1 2 3 -4", "model 1 2 3 x", "model 1 2 3 1e9"]
        {
            assert_eq!(Price::parse(text), None, "{text:?}");
        }
    }
}
