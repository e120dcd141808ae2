//! Views of prices.

use haltline_agents::price::{PRICES, PRICES_DATE, Price};
use serde::Serialize;

use super::backtest::usd;

/// Whose prices the list has.
pub const LIST: &str = "Anthropic's public list";

/// The result of `haltline prices`.
#[derive(Debug, Serialize)]
pub struct PricesView {
    pub schema: u32,
    /// The source of the built-in list.
    pub list: &'static str,
    /// The newest date that its source confirms.
    pub date: &'static str,
    /// Those of the configuration first.
    pub prices: Vec<PriceView>,
}

/// Dollars per million tokens.
#[derive(Debug, Serialize)]
pub struct PriceView {
    /// A model's name, or a pattern of names.
    pub model: String,
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    /// `config` or `list`.
    pub source: &'static str,
}

impl PriceView {
    /// The prices of the configuration, which win, and those of the list.
    pub fn all(configured: &[Price]) -> Vec<Self> {
        let view = |source| {
            move |price: &Price| Self {
                model: price.model.to_string(),
                input: usd(price.input),
                output: usd(price.output),
                cache_read: usd(price.cache_read),
                cache_write: usd(price.cache_write),
                source,
            }
        };
        configured.iter().map(view("config")).chain(PRICES.iter().map(view("list"))).collect()
    }
}

impl PricesView {
    pub fn new(schema: u32, configured: &[Price]) -> Self {
        Self { schema, list: LIST, date: PRICES_DATE, prices: PriceView::all(configured) }
    }
}
