//! Removes volatile words from one line. Reads each byte a bounded number of times.

use super::{label, measure};

/// Whether figures that a program measured, and hashes that it computed, are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measures {
    Kept,
    Volatile,
}

/// Appends `line` without its volatile parts to `out`. A run of blanks counts as one; blanks at the ends are dropped.
pub(super) fn normalise(line: &[u8], measures: Measures, out: &mut Vec<u8>) {
    let mut at = shell_prefix(line, out);
    if let Some((replacement, taken)) = label::line_start(line) {
        out.extend_from_slice(replacement);
        at = taken;
    }
    let mut is_blank = false;
    while at < line.len() {
        let byte = line[at];
        if byte == b' ' || byte == b'\t' || byte == 0x0b || byte == 0x0c {
            is_blank = !out.is_empty();
            at += 1;
            continue;
        }
        if byte == 0x1b {
            at += escape_length(&line[at..]);
            continue;
        }
        if is_blank {
            out.push(b' ');
            is_blank = false;
        }
        let before = if at == 0 { b' ' } else { line[at - 1] };
        if byte.is_ascii_alphanumeric() {
            at += word(line, at, before, measures, out);
        } else if byte == b'/' && !before.is_ascii_alphanumeric() {
            at += path(&line[at..], out);
        } else if byte == b'(' {
            at += parenthesis(&line[at..], out);
        } else if matches!(byte, b'=' | b'-' | b'_' | b'*' | b'#' | b'~') {
            // Rules are drawn to fill the line, so their length depends on the time printed in the middle.
            let run = line[at..].iter().take_while(|next| **next == byte).count();
            out.extend(std::iter::repeat_n(byte, run.min(3)));
            at += run;
        } else {
            out.push(byte);
            at += 1;
        }
    }
}

/// The length of the terminal escape at the start.
pub(super) fn escape_length(bytes: &[u8]) -> usize {
    let length = match bytes.get(1) {
        Some(b'[') => {
            bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte)).map_or(bytes.len(), |index| index + 3)
        }
        Some(b']') => {
            let end = bytes.iter().skip(2).position(|byte| *byte == 0x07 || *byte == 0x1b);
            end.map_or(bytes.len(), |index| index + 3)
        }
        Some(_) => 2,
        None => 1,
    };
    length.min(bytes.len())
}

/// Strips `bash: line 3: ` and the like: the number is a line of the script that was given to the shell.
fn shell_prefix(line: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(colon) = line.iter().take(64).position(|byte| *byte == b':') else { return 0 };
    let program = line[..colon].rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let program = program.strip_prefix(b"-").unwrap_or(program);
    if ![&b"bash"[..], b"sh", b"dash", b"zsh", b"ksh", b"ash", b"(eval)"].contains(&program) {
        return 0;
    }
    let mut at = colon + 1;
    at += usize::from(line.get(at) == Some(&b' '));
    if line[at..].starts_with(b"line ") {
        at += 5;
    }
    let digits = digits_at(line, at);
    if digits == 0 || line.get(at + digits) != Some(&b':') {
        return 0;
    }
    out.extend_from_slice(program);
    out.push(b':');
    at + digits + 1
}

/// The placeholders that replace volatile words.
const TIME: &[u8] = b"<time>";
const ID: &[u8] = b"<id>";
const NUMBER: &[u8] = b"<number>";

/// Writes the word at `at` and returns how many bytes of the line it consumed.
fn word(line: &[u8], at: usize, before: u8, measures: Measures, out: &mut Vec<u8>) -> usize {
    let rest = &line[at..];
    let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let text = &rest[..length];
    let after = rest.get(length).copied().unwrap_or(b' ');
    let is_bounded = before != b'_' && after != b'_';
    if text[0].is_ascii_digit() {
        if let Some(taken) = timestamp(rest).filter(|_| !before.is_ascii_alphanumeric()) {
            out.extend_from_slice(TIME);
            return taken;
        }
        if let Some(taken) = duration(rest).filter(|_| before != b'.' && before != b'_') {
            let is_kept = measures == Measures::Kept && measure::is_measured(line, at, taken);
            out.extend_from_slice(if is_kept { &rest[..taken] } else { TIME });
            return taken;
        }
        if let Some((replacement, taken)) = label::number(line, at, length, before) {
            out.extend_from_slice(replacement);
            return taken;
        }
        if let Some(taken) = address(text) {
            out.extend_from_slice(ID);
            return taken;
        }
    }
    if let Some(taken) = uuid(rest) {
        out.extend_from_slice(ID);
        return taken;
    }
    if let Some((replacement, taken)) = (before == b'-').then(|| label::pod(rest, length)).flatten() {
        out.extend_from_slice(replacement);
        return taken;
    }
    if is_epoch(text) {
        out.extend_from_slice(ID);
        let fraction = if after == b'.' { digits_at(rest, length + 1) } else { 0 };
        return length + if fraction > 0 { 1 + fraction } else { 0 };
    }
    if is_random(text) || (is_bounded && is_hash(text)) {
        let is_kept = measures == Measures::Kept && measure::is_answer(line, at, length);
        out.extend_from_slice(if is_kept { text } else { ID });
        return length;
    }
    if before == b'[' && text.starts_with(b"gw") && length > 2 && digits_at(text, 2) == length - 2 {
        out.extend_from_slice(NUMBER);
        return length;
    }
    out.extend_from_slice(text);
    if let Some((replacement, taken)) = label::value_after(rest, length) {
        if taken == 0 {
            out.truncate(out.len() - length);
        }
        out.extend_from_slice(replacement);
        return length + taken;
    }
    length + normalise_following(text, rest, length, out)
}

/// Handles numbers that are volatile because of the word before them, and dates that begin with a month.
fn normalise_following(text: &[u8], rest: &[u8], length: usize, out: &mut Vec<u8>) -> usize {
    let gap = rest[length..].iter().take(3).take_while(|byte| b" :=#[(".contains(byte)).count();
    if gap == 0 {
        return 0;
    }
    let from = length + gap;
    let digits = digits_at(rest, from);
    let is_number =
        digits > 0 && !rest.get(from + digits).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'.');
    let is_process = is_number
        && ([&b"pid"[..], b"PID", b"Pid", b"PGID", b"tid", b"seed", b"SEED", b"node", b"goroutine", b"shellId"]
            .contains(&text)
            // A small number may be one of several: `process 1 of 4`.
            || (digits >= 3 && [&b"process"[..], b"Process"].contains(&text))
            // `sshd[1234]: `, as programs prefix their lines.
            || (rest[length..from] == *b"[" && rest[from + digits..].starts_with(b"]:")));
    let is_port = is_number
        && digits == 5
        && [&b"port"[..], b"Port", b"localhost", b"1"].contains(&text)
        && rest[from..from + digits] >= b"32768"[..];
    if is_process || is_port {
        out.push(b' ');
        out.extend_from_slice(NUMBER);
        return gap + digits;
    }
    let months: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    if is_number && digits <= 2 && months.contains(&text) {
        let day_end = from + digits;
        let blanks = rest[day_end..].iter().take_while(|byte| **byte == b' ').count();
        let hour = day_end + blanks;
        if blanks > 0
            && digits_at(rest, hour) == 2
            && rest.get(hour + 2) == Some(&b':')
            && digits_at(rest, hour + 3) == 2
        {
            let mut end = hour + 5;
            if rest.get(end) == Some(&b':') && digits_at(rest, end + 1) == 2 {
                end += 3;
            }
            out.truncate(out.len() - text.len());
            out.extend_from_slice(TIME);
            return end - length;
        }
    }
    0
}

pub(super) fn digits_at(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Matches `2026-01-02T03:04:05.6Z`, also with other separators, and `03:04:05`. A date alone and `12:34` stay: a date
/// rarely changes, and `12:34` is a line and a column.
fn timestamp(rest: &[u8]) -> Option<usize> {
    let is = |at: usize, set: &[u8]| rest.get(at).is_some_and(|byte| set.contains(byte));
    let mut at = 0;
    let dated =
        digits_at(rest, 0) == 4 && is(4, b"-/") && digits_at(rest, 5) == 2 && is(7, b"-/") && digits_at(rest, 8) == 2;
    if dated {
        if !is(10, b"T _-") {
            return None;
        }
        at = 11;
    }
    if !dated && digits_at(rest, 0) == 1 {
        // `0:01:50`
        return timestamp_of_one_digit(rest);
    }
    let clock = digits_at(rest, at) == 2 && is(at + 2, b":_-.") && digits_at(rest, at + 3) == 2;
    let seconds = clock && is(at + 5, b":_-.") && digits_at(rest, at + 6) == 2;
    let is_whole = dated || (seconds && is(at + 2, b":") && is(at + 5, b":"));
    if !clock || !is_whole {
        return None;
    }
    at += if seconds { 8 } else { 5 };
    if is(at, b".,_") && digits_at(rest, at + 1) >= 3 {
        at += 1 + digits_at(rest, at + 1);
    }
    if is(at, b"Z") {
        at += 1;
    } else if is(at, b"+-") && digits_at(rest, at + 1) >= 2 {
        at += 1 + digits_at(rest, at + 1);
        if is(at, b":") && digits_at(rest, at + 1) == 2 {
            at += 3;
        }
    }
    Some(at)
}

fn timestamp_of_one_digit(rest: &[u8]) -> Option<usize> {
    let is_clock =
        rest.get(1) == Some(&b':') && digits_at(rest, 2) == 2 && rest.get(4) == Some(&b':') && digits_at(rest, 5) == 2;
    is_clock.then_some(7)
}

/// Matches `0.42s`, `12 ms`, `1m11s`, `3 seconds`, `1.2 MiB/s`.
fn duration(rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut parts = 0;
    loop {
        let whole = digits_at(rest, at);
        if whole == 0 {
            break;
        }
        let mut end = at + whole;
        if rest.get(end) == Some(&b'.') && digits_at(rest, end + 1) > 0 {
            end += 1 + digits_at(rest, end + 1);
        }
        let spaced = parts == 0 && rest.get(end) == Some(&b' ');
        end += usize::from(spaced);
        let unit_length =
            rest[end..].iter().take(12).take_while(|byte| byte.is_ascii_alphabetic() || **byte >= 0x80).count();
        let unit = &rest[end..end + unit_length];
        let unit_end = end + unit_length;
        if rest.get(unit_end..unit_end + 2) == Some(b"/s") && unit_length > 0 {
            return Some(unit_end + 2);
        }
        let seconds: [&[u8]; 9] =
            [b"s", b"ms", b"us", b"ns", "µs".as_bytes(), "μs".as_bytes(), b"sec", b"secs", b"msec"];
        let words: [&[u8]; 11] = [
            b"hours",
            b"second",
            b"seconds",
            b"milliseconds",
            b"minute",
            b"minutes",
            b"mins",
            b"min",
            b"hour",
            b"hours",
            b"msecs",
        ];
        if seconds.contains(&unit) || words.contains(&unit) {
            return Some(unit_end);
        }
        // `1m11s`: a letter directly followed by digits.
        let compound = unit_length == 1 || (unit_length == 0 && parts > 0);
        let goes_on = !spaced
            && compound
            && matches!(unit, b"h" | b"m" | b"d")
            && rest.get(unit_end).is_some_and(u8::is_ascii_digit);
        if !goes_on {
            // `2h5m` ends here; a lone `5m` may be metres or megabytes.
            return (parts > 0 && matches!(unit, b"m" | b"h")).then_some(unit_end);
        }
        parts += 1;
        at = unit_end;
    }
    None
}

/// Matches `0x7ffd…`. Eight digits are more often a status code, fewer than six a number.
fn address(text: &[u8]) -> Option<usize> {
    let digits = text.strip_prefix(b"0x")?;
    (digits.len() >= 6 && digits.len() != 8 && digits.iter().all(u8::is_ascii_hexdigit)).then_some(text.len())
}

fn uuid(rest: &[u8]) -> Option<usize> {
    let groups = [8, 4, 4, 4, 12];
    let mut at = 0;
    for (number, length) in groups.into_iter().enumerate() {
        if number > 0 {
            if rest.get(at) != Some(&b'-') {
                return None;
            }
            at += 1;
        }
        if !rest.get(at..at + length)?.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        at += length;
    }
    (!rest.get(at).is_some_and(u8::is_ascii_alphanumeric)).then_some(at)
}

/// Matches seven or more hexadecimal digits, as git shortens its hashes. It must have a letter, or it could be a count,
/// and a digit, or it could be a word.
fn is_hash(text: &[u8]) -> bool {
    if text.len() < 7 || !text.iter().all(u8::is_ascii_hexdigit) {
        return false;
    }
    let has_upper = text.iter().any(u8::is_ascii_uppercase);
    let has_lower = text.iter().any(u8::is_ascii_lowercase);
    text.iter().any(u8::is_ascii_digit) && has_upper != has_lower
}

/// Matches a long name of letters and digits that no person chose.
fn is_random(text: &[u8]) -> bool {
    text.len() >= 20
        && text.iter().filter(|byte| byte.is_ascii_digit()).count() >= 3
        && text.iter().any(u8::is_ascii_alphabetic)
}

/// Matches current times in seconds, or in thousandths, millionths or billionths of one, since 1970.
fn is_epoch(text: &[u8]) -> bool {
    matches!(text.len(), 10 | 13 | 16 | 19)
        && text[0] == b'1'
        && (b'5'..=b'9').contains(&text[1])
        && text.iter().all(u8::is_ascii_digit)
}

/// `(cached)` is printed in place of a run's time; `(123)` before "panicked" is a thread number.
fn parenthesis(rest: &[u8], out: &mut Vec<u8>) -> usize {
    if rest.starts_with(b"(cached)") {
        out.extend_from_slice(TIME);
        return 8;
    }
    let digits = digits_at(rest, 1);
    if digits >= 4 && rest[1 + digits..].starts_with(b") panicked") {
        out.push(b'(');
        out.extend_from_slice(NUMBER);
        return 1 + digits;
    }
    out.push(b'(');
    1
}

/// Temporary files: the generated parts of their names are removed, the rest of the path stays.
fn path(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let roots: [&[u8]; 6] =
        [b"/tmp/", b"/private/tmp/", b"/var/tmp/", b"/dev/shm/", b"/var/folders/", b"/private/var/folders/"];
    let Some(root) = roots.iter().find(|root| rest.starts_with(root)) else {
        out.push(b'/');
        return 1;
    };
    out.extend_from_slice(b"/tmp/");
    let length =
        rest[root.len()..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"/._-+@~".contains(byte)).count();
    let inside = &rest[root.len()..root.len() + length];
    let is_folders = root.ends_with(b"folders/");
    for (number, component) in inside.split(|byte| *byte == b'/').enumerate() {
        if is_folders && number < 3 {
            continue;
        }
        if number > 0 {
            out.push(b'/');
        }
        if is_made_up(component) {
            out.push(b'*');
            // The file extension was not generated.
            if let Some(dot) = component.iter().rposition(|byte| *byte == b'.') {
                let kind = &component[dot..];
                if kind.len() <= 5 && kind[1..].iter().all(u8::is_ascii_lowercase) {
                    out.extend_from_slice(kind);
                }
            }
        } else {
            out.extend_from_slice(component);
        }
    }
    root.len() + length
}

fn is_made_up(component: &[u8]) -> bool {
    let is_mixed = component.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    component.starts_with(b"tmp")
        || component.starts_with(b".tmp")
        || is_mixed
        || component.iter().any(u8::is_ascii_digit)
}
