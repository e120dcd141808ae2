//! Placeholders in a repeated line: its number, one of several options, a volatile part.

/// The numbers that a line is expanded with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    /// The number of the line's own repeat, or of the block's if the line has none; starting at 1.
    pub line: u64,
    /// The number of the surrounding block's repeat; starting at 1.
    pub block: u64,
}

/// Expands a line. `drawn` counts the drawn values so far, so that volatile parts never repeat.
///
/// `{n}`, `{n+5}`, `{n*100}` and `{n*100+1}` are the line's number, `{m…}` the block's; `[[a|b|c]]` is one of several
/// options by the line's number, from the start again after the last, `[[m:a|b]]` by the block's; `{uuid}`, `{hex}`,
/// `{pid}`, `{ms}` and `{secs}` are new every time. Any other brace is kept as it is.
pub(super) fn write_out(text: &str, numbers: Numbers, drawn: &mut u64) -> Result<String, String> {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['{', '[']) {
        written.push_str(&rest[..start]);
        rest = &rest[start..];
        if let Some(choice) = rest.strip_prefix("[[") {
            let end = choice.find("]]").ok_or("`[[` without its `]]`")?;
            written.push_str(&choose(&choice[..end], numbers)?);
            rest = &choice[end + 2..];
            continue;
        }
        let inner = rest.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        if let Some((name, after)) = inner
            && let Some(value) = value(name, numbers, drawn)
        {
            written.push_str(&value);
            rest = after;
            continue;
        }
        written.push_str(&rest[..1]);
        rest = &rest[1..];
    }
    written.push_str(rest);
    Ok(written)
}

fn choose(choice: &str, numbers: Numbers) -> Result<String, String> {
    let (number, choice) = match choice.strip_prefix("m:") {
        Some(choice) => (numbers.block, choice),
        None => (numbers.line, choice),
    };
    let options: Vec<&str> = choice.split('|').collect();
    if options.len() < 2 {
        return Err(format!("`[[{choice}]]` has nothing to choose from: expected `[[one|other]]`"));
    }
    let index = usize::try_from(number.max(1) - 1).unwrap_or_default() % options.len();
    Ok(options[index].to_owned())
}

fn value(name: &str, numbers: Numbers, drawn: &mut u64) -> Option<String> {
    let mut draw = || {
        *drawn += 1;
        scattered(*drawn)
    };
    Some(match name {
        "uuid" => {
            let (high, low) = (draw(), draw());
            format!(
                "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
                high >> 32,
                high & 0xffff,
                (high >> 16) & 0xfff,
                low & 0xfff,
                low >> 16
            )
        }
        "hex" => format!("{:012x}", draw() >> 16),
        "pid" => format!("{}", 1000 + draw() % 60_000),
        "ms" => format!("{}", 1 + draw() % 900),
        "secs" => format!("{}.{:02}", draw() % 9, draw() % 100),
        _ => {
            let (number, sum) = match name.as_bytes().first()? {
                b'n' => (numbers.line, &name[1..]),
                b'm' => (numbers.block, &name[1..]),
                _ => return None,
            };
            let (factor, added) = match sum.strip_prefix('*') {
                Some(product) => product.split_once('+').unwrap_or((product, "0")),
                None if sum.is_empty() => ("1", "0"),
                None => ("1", sum.strip_prefix('+')?),
            };
            (number * factor.parse::<u64>().ok()? + added.parse::<u64>().ok()?).to_string()
        }
    })
}

/// Numbers that look random and are the same in every run.
fn scattered(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, line: u64, block: u64) -> String {
        write_out(text, Numbers { line, block }, &mut 0).expect("it is well formed")
    }

    #[test]
    fn numbers_are_counted_scaled_and_shifted() {
        assert_eq!(written("a{n} {n+5} {n*100} {n*100+1} {m}", 3, 2), "a3 8 300 301 2");
    }

    #[test]
    fn options_are_chosen_in_turn() {
        assert_eq!(written("[[red|green]] [[m:one|two]]", 3, 2), "red two");
        assert!(write_out("[[red]]", Numbers::default(), &mut 0).is_err());
        assert!(write_out("[[red|", Numbers::default(), &mut 0).is_err());
    }

    #[test]
    fn other_braces_are_kept_as_they_are() {
        let text = r#"{"a":{"b":[1]}} awk '{print $1}' ${name} {}"#;
        assert_eq!(written(text, 1, 1), text);
    }

    #[test]
    fn volatile_parts_never_come_twice_and_are_the_same_in_every_run() {
        let mut drawn = 0;
        let first = write_out("{uuid} {hex} {pid}", Numbers::default(), &mut drawn).expect("well formed");
        let second = write_out("{uuid} {hex} {pid}", Numbers::default(), &mut drawn).expect("well formed");
        assert_ne!(first, second);
        assert_eq!(first, written("{uuid} {hex} {pid}", 1, 1));
    }
}
