//! Counts the lines of recorded sessions that the redactor masks, for `bench/secrets`.
//!
//! Reads JSON lines from standard input: every text in them is masked line by line, as one line of it would be stored, and
//! whole, as a long one is. Prints the masked lines with `--show`, so that a person can judge them.

use std::borrow::Cow;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use haltline_engine::redact::mask;
use serde_json::Value;

#[derive(Default)]
struct Count {
    lines: u64,
    masked: u64,
    bytes: u64,
    slowest: Duration,
    slowest_bytes: usize,
}

fn main() -> std::io::Result<()> {
    let is_shown = std::env::args().any(|argument| argument == "--show");
    let mut count = Count::default();
    let mut shown = std::io::BufWriter::new(std::io::stdout().lock());
    let begun = Instant::now();
    for line in std::io::stdin().lock().lines() {
        let Ok(value) = serde_json::from_str::<Value>(&line?) else { continue };
        count_texts(&value, &mut count, &mut |masked| if is_shown { writeln!(shown, "{masked}") } else { Ok(()) })?;
    }
    let rate = count.masked as f64 * 10_000.0 / count.lines.max(1) as f64;
    writeln!(shown, "{} of {} lines masked: {rate:.3} of 10,000", count.masked, count.lines)?;
    let seconds = begun.elapsed().as_secs_f64();
    writeln!(shown, "{} MB twice in {seconds:.1} s, with parsing", count.bytes / 1_000_000)?;
    writeln!(shown, "slowest text: {} bytes in {:?}", count.slowest_bytes, count.slowest)?;
    shown.flush()?;
    std::process::exit(i32::from(rate > 1.0));
}

fn count_texts(
    value: &Value,
    count: &mut Count,
    show: &mut impl FnMut(&str) -> std::io::Result<()>,
) -> std::io::Result<()> {
    match value {
        Value::String(text) => {
            let begun = Instant::now();
            mask(text);
            let elapsed = begun.elapsed();
            if elapsed > count.slowest {
                (count.slowest, count.slowest_bytes) = (elapsed, text.len());
            }
            for line in text.split('\n') {
                count.lines += 1;
                count.bytes += line.len() as u64;
                if let Cow::Owned(masked) = mask(line) {
                    count.masked += 1;
                    show(&masked)?;
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| count_texts(item, count, show)),
        Value::Object(members) => members.values().try_for_each(|item| count_texts(item, count, show)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}
