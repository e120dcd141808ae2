//! Tests of `price.rs`.

use haltline_agents::price::{cost, cost_with_hour, parse};
use haltline_core::loop_::Usage;

const MILLION: Usage = Usage { input: 1_000_000, output: 1_000_000, cache_read: 1_000_000, cache_write: 1_000_000 };

#[test]
fn a_listed_model_and_its_dated_releases_cost_the_list_price() {
    assert_eq!(cost("claude-opus-4-5", &MILLION, &[]), Some(36_750_000));
    assert_eq!(cost("claude-opus-4-5-20251101", &MILLION, &[]), Some(36_750_000));
    assert_eq!(cost("claude-opus-4-20250514", &MILLION, &[]), Some(110_250_000));
    assert_eq!(cost("claude-haiku-4-5", &Usage { input: 1, ..Usage::default() }, &[]), Some(1));
    assert_eq!(cost("claude-haiku-4-5", &Usage::default(), &[]), Some(0));
}

#[test]
fn an_unknown_model_has_no_price() {
    for model in ["", "claude-opus-4-9", "claude-opus-4-5-fast", "claude-haiku-5-5", "gpt", "claude-opus"] {
        assert_eq!(cost(model, &MILLION, &[]), None, "{model}");
    }
}

#[test]
fn an_hour_in_the_cache_costs_more_and_never_covers_more_than_was_written() {
    let usage = Usage { cache_write: 1_000_000, ..Usage::default() };
    assert_eq!(cost_with_hour("claude-sonnet-4-5", &usage, 400_000, &[]), Some(2_250_000 + 2_400_000));
    assert_eq!(cost_with_hour("claude-sonnet-4-5", &usage, u64::MAX, &[]), Some(6_000_000));
    let most = Usage { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX };
    assert_eq!(cost("claude-opus-4", &most, &[]), Some(u64::MAX));
}

#[test]
fn a_configured_price_wins_and_the_longest_name_first() {
    let extra =
        ["claude-opus-4 1 1 1 1", "local 0 0 0 0", "claude-opus-4-5 2 2 2 2"].map(|line| parse(line).expect(line));
    assert_eq!(cost("claude-opus-4-5-20251101", &MILLION, &extra), Some(8_000_000));
    assert_eq!(cost("claude-opus-4-9", &MILLION, &extra), Some(4_000_000));
    assert_eq!(cost("local-model", &MILLION, &extra), Some(0));
    assert_eq!(cost("remote-model", &MILLION, &extra), None);
}

#[test]
fn a_configured_price_may_be_for_a_pattern_of_names() {
    let extra = ["our-*-large 3 3 3 3", "* 1 1 1 1"].map(|line| parse(line).expect(line));
    assert_eq!(cost("our-2-large", &MILLION, &extra), Some(12_000_000));
    assert_eq!(cost("our-2-small", &MILLION, &extra), Some(4_000_000));
}

#[test]
fn a_bad_price_is_named_with_what_was_expected() {
    let expected = "expected MODEL INPUT OUTPUT CACHE_READ CACHE_WRITE, in dollars per million tokens";
    assert_eq!(parse("m 1 2 3"), Err(format!(r#"price "m 1 2 3": {expected}"#)));
    for bad in ["-1", "NaN", "inf", "x", "1e300"] {
        let problem = format!(r#"price of "m": OUTPUT {bad:?}: expected dollars, 0 or more"#);
        assert_eq!(parse(&format!("m 1 {bad} 3 4")), Err(problem));
    }
    assert_eq!(parse(" m 0.000001 6.25 0 1 ").expect("good").output, 6_250_000);
}
