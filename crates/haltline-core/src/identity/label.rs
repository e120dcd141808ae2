//! Volatile words that are recognised by what stands beside them: a counter after `attempt`, an id after `request id`, a
//! size after `memory:`, an age at the end of a table's line, a generated part of a pod's name.

use super::token::digits_at;

/// What a volatile word at this place is replaced with, and how many bytes of the line it takes.
pub(super) type Replaced = (&'static [u8], usize);

const TIME: &[u8] = b"<time>";
const ID: &[u8] = b"<id>";
const NUMBER: &[u8] = b"<number>";

/// The longest text between a label and its value.
const GAP_BYTES: usize = 16;

/// The volatile beginning of a line: `#8 1.234 `, as a build prints it, `[   12.345678] ` and `[1] 4711`.
pub(super) fn line_start(line: &[u8]) -> Option<Replaced> {
    match line.first()? {
        b'#' => {
            let step = digits_at(line, 1);
            let whole = digits_at(line, step + 2);
            let point = step + 2 + whole;
            let fraction = digits_at(line, point + 1);
            let is_time = step > 0 && line.get(step + 1) == Some(&b' ') && line.get(point) == Some(&b'.');
            (is_time && whole > 0 && fraction > 0).then_some((NUMBER, point + 1 + fraction))
        }
        b'[' => {
            let blanks = line[1..].iter().take_while(|byte| **byte == b' ').count();
            let whole = digits_at(line, 1 + blanks);
            let end = 1 + blanks + whole;
            let fraction = digits_at(line, end + 1);
            if whole > 0 && line.get(end) == Some(&b'.') && fraction >= 3 && line.get(end + 1 + fraction) == Some(&b']')
            {
                return Some((TIME, end + 2 + fraction));
            }
            // A job in the background: its number and its process.
            let process = digits_at(line, end + 2);
            let is_job = blanks == 0 && whole == 1 && line[end..].starts_with(b"] ") && process >= 2;
            (is_job && end + 2 + process == line.trim_ascii_end().len()).then_some((NUMBER, line.len()))
        }
        _other => None,
    }
}

/// A volatile word that begins with a digit, at `at`.
pub(super) fn number(line: &[u8], at: usize, length: usize, before: u8) -> Option<Replaced> {
    let (text, rest) = (&line[at..at + length], &line[at + length..]);
    let digits = digits_at(text, 0);
    // The id of a run or a job in an address.
    if before == b'/' && digits == length && length >= 8 {
        return Some((ID, length));
    }
    if digits + 1 == length {
        let unit = text[digits];
        if matches!(unit, b's' | b'm' | b'h' | b'd' | b'w' | b'y') && rest.starts_with(b" ago") {
            return Some((TIME, length));
        }
        // The last column of a table: `web-1   1/1   Running   0   5m`.
        let is_last =
            rest.trim_ascii().is_empty() && at >= 2 && line[at - 2..at].iter().all(|byte| matches!(byte, b' ' | b'\t'));
        if is_last && matches!(unit, b'm' | b'h' | b'd') {
            return Some((TIME, length));
        }
        // `1h 2m`
        let next = digits_at(rest, 1);
        if rest.first() == Some(&b' ')
            && next > 0
            && matches!((unit, rest.get(1 + next)), (b'h', Some(b'm')) | (b'm', Some(b's')))
        {
            return (!rest.get(2 + next).is_some_and(u8::is_ascii_alphanumeric)).then_some((TIME, length + 2 + next));
        }
    }
    let words: [&[u8]; 10] =
        [b" day", b" days", b" week", b" weeks", b" month", b" months", b" year", b" years", b" hour", b" hours"];
    let unit = words
        .iter()
        .filter(|unit| rest.starts_with(unit) && rest[unit.len()..].starts_with(b" ago"))
        .max_by_key(|unit| unit.len());
    if let Some(unit) = unit.filter(|_| digits == length) {
        return Some((TIME, length + unit.len()));
    }
    // `00:01.23`
    let minutes = length == 2 && digits == 2 && rest.first() == Some(&b':') && digits_at(rest, 1) == 2;
    let fraction = digits_at(rest, 4);
    if minutes && rest.get(3) == Some(&b'.') && fraction > 0 {
        return Some((TIME, length + 4 + fraction));
    }
    // A date at the start of a line is that of the line.
    let is_start = before == b'[' || line[..at].iter().all(|byte| matches!(byte, b' ' | b'\t'));
    let is_date = is_start
        && digits == 4
        && length == 4
        && rest.first() == Some(&b'-')
        && digits_at(rest, 1) == 2
        && rest.get(3) == Some(&b'-')
        && digits_at(rest, 4) == 2
        && rest.get(6).is_none_or(|byte| matches!(byte, b' ' | b']' | b':' | b'\t'));
    is_date.then_some((TIME, length + 6))
}

/// The generated end of a pod's name, after its first `-`: `7d9f8b6c5-x2x4z`.
pub(super) fn pod(rest: &[u8], length: usize) -> Option<Replaced> {
    let is_generated = |text: &[u8]| {
        text.iter().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(byte)) && text.iter().any(u8::is_ascii_digit)
    };
    let next = rest.get(length + 1..)?.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let end = length + 1 + next;
    let is_pod = (8..=10).contains(&length)
        && rest[length] == b'-'
        && next == 5
        && rest.get(end) != Some(&b'-')
        && is_generated(&rest[..length])
        && rest[length + 1..end].iter().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(byte));
    is_pod.then_some((ID, end))
}

/// What follows a label at the end of `rest[..length]`: what is to be written, and how many bytes it takes.
pub(super) fn value_after(rest: &[u8], length: usize) -> Option<Replaced> {
    let (text, tail) = (&rest[..length], &rest[length..]);
    match text {
        b"attempt" | b"Attempt" | b"ATTEMPT" | b"try" | b"Try" | b"retry" | b"Retry" | b"retrying" | b"Retrying"
        | b"retries" | b"attempts" => {
            let gap = tail.iter().take(3).take_while(|byte| b" :=#[(".contains(byte)).count();
            let digits = digits_at(tail, gap);
            (gap > 0 && digits > 0).then_some((NUMBER, gap + digits))
        }
        b"Thread" | b"Task" | b"Process" | b"ForkPoolWorker" | b"SpawnPoolWorker" | b"ThreadPoolExecutor" => {
            let digits = digits_at(tail, 1);
            let more = usize::from(digits > 0 && tail.get(1 + digits) == Some(&b'_'));
            let more = more + if more > 0 { digits_at(tail, 2 + digits) } else { 0 };
            (tail.first() == Some(&b'-') && digits > 0).then_some((NUMBER, 1 + digits + more))
        }
        b"load" if tail.starts_with(b" average") => {
            let end = tail[8..].iter().take_while(|byte| b" :,.0123456789s".contains(byte)).count();
            (end > 2).then_some((NUMBER, 8 + end))
        }
        b"memory" | b"Memory" | b"mem" | b"heap" | b"Heap" | b"RSS" | b"rss" | b"MEM" => size(tail),
        b"req" | b"trace" | b"corr" if tail.first() == Some(&b'_') => id(tail, 1),
        b"requestId" | b"RequestId" | b"requestID" | b"RequestID" | b"traceId" | b"TraceId" | b"traceID"
        | b"spanId" | b"correlationId" | b"CorrelationId" | b"transactionId" | b"invocationId" | b"operationId"
        | b"eventId" => separated_id(tail, 0),
        b"request" | b"Request" | b"REQUEST" | b"trace" | b"Trace" | b"span" | b"Span" | b"correlation"
        | b"Correlation" | b"transaction" | b"Transaction" | b"invocation" | b"Invocation" | b"operation"
        | b"Operation" | b"event" | b"Event" | b"req" | b"Req" => {
            let is_id =
                tail.len() > 3 && matches!(tail[0], b'-' | b'_' | b' ') && tail[1..3].eq_ignore_ascii_case(b"id");
            is_id.then(|| separated_id(tail, 3)).flatten()
        }
        b"Mon" | b"Tue" | b"Wed" | b"Thu" | b"Fri" | b"Sat" | b"Sun" => {
            let months: [&[u8]; 12] =
                [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
            let is_date = tail.starts_with(b", ")
                || tail.get(1..4).is_some_and(|month| tail[0] == b' ' && months.contains(&month));
            is_date.then_some((TIME, 0))
        }
        _other => None,
    }
}

/// A size after a word for memory in use: `: 8.00 MB`, ` usage: 120M`, but no limit.
fn size(tail: &[u8]) -> Option<Replaced> {
    let gap =
        tail.iter().take(GAP_BYTES).take_while(|byte| byte.is_ascii_alphabetic() || b" :=(".contains(byte)).count();
    let between = &tail[..gap];
    let says = |word: &[u8]| between.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    let is_use = between.iter().any(|byte| matches!(byte, b':' | b'=')) || says(b"us");
    if !is_use || says(b"limit") || says(b"total") || says(b"max") || says(b"request") {
        return None;
    }
    let number = tail[gap..].iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')).count();
    let mut end = gap + number;
    let blank = usize::from(tail.get(end) == Some(&b' '));
    let unit = tail[(end + blank).min(tail.len())..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let unit_text = &tail[(end + blank).min(tail.len())..][..unit];
    let is_unit = matches!(
        unit_text,
        b"B" | b"K"
            | b"M"
            | b"G"
            | b"KB"
            | b"kB"
            | b"MB"
            | b"GB"
            | b"KiB"
            | b"MiB"
            | b"GiB"
            | b"Mi"
            | b"Gi"
            | b"bytes"
            | b"mb"
            | b"kb"
    );
    if is_unit {
        end += blank + unit;
    }
    (number > 0).then_some((NUMBER, end))
}

/// An id after its separator.
fn separated_id(tail: &[u8], from: usize) -> Option<Replaced> {
    let gap = tail[from..].iter().take(3).take_while(|byte| b" :=\"'".contains(byte)).count();
    (gap > 0).then(|| id(tail, from + gap)).flatten()
}

/// An id at `from`: long, or with a digit.
fn id(tail: &[u8], from: usize) -> Option<Replaced> {
    let text = &tail[from.min(tail.len())..];
    let length = text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')).count();
    let has_digit = text[..length].iter().any(u8::is_ascii_digit);
    (length >= 2 && (has_digit || length >= 12)).then_some((ID, from + length))
}
