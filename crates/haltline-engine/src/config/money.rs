//! Dollars, stored as whole millionths so that sums are exact.

/// The largest allowed amount: a million dollars.
pub const MICROS_MAX: u64 = 1_000_000_000_000;

/// Converts a number from a file into millionths.
pub fn from_number(dollars: f64) -> Option<u64> {
    let micros = (dollars * 1e6).round();
    // Within this range a double represents every whole number, so the cast is exact.
    (dollars.is_finite() && (0.0..=MICROS_MAX as f64).contains(&micros)).then_some(micros as u64)
}

/// Parses `12` or `0.35`: digits with at most six decimals, and nothing else.
pub fn parse(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || fraction.len() > 6 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    if text.ends_with('.') {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let fraction: u64 = format!("{fraction:0<6}").parse().ok()?;
    Some(whole * 1_000_000 + fraction)
}

/// Formats an amount with at least two decimals and no more than needed.
pub fn show(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let keep = text.trim_end_matches('0').len().max(text.len() - 4);
    text[..keep].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_read_back() {
        for (text, micros) in [("0", 0), ("5", 5_000_000), ("0.1", 100_000), ("1.25", 1_250_000), ("0.000001", 1)] {
            assert_eq!(parse(text), Some(micros), "{text}");
            assert_eq!(parse(&show(micros)), Some(micros), "{text}");
            assert_eq!(from_number(text.parse().expect("a number")), Some(micros), "{text}");
        }
        assert_eq!((show(5_000_000), show(123_450)), ("5.00".to_owned(), "0.12345".to_owned()));
        for text in ["", ".5", "1.", "1.0000001", "-1", "1e3", "1,5", "0x1", "99999999999999"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        for number in [f64::NAN, f64::INFINITY, -0.01, 1e7] {
            assert_eq!(from_number(number), None, "{number}");
        }
    }
}
