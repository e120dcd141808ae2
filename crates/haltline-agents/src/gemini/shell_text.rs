//! How a command ended, as Gemini CLI and Qwen Code write it into the text for the model: the output between a head and
//! a tail of labelled lines. The process group's number changes with every run and is not part of the result.

use haltline_core::identity::{CallResult, Outcome};

/// Surrounds the text if the client does not trust it.
const WRAPPING: (&str, &str) = ("<untrusted_context>\n", "\n</untrusted_context>");

pub fn parse_result(text: &str) -> CallResult {
    let text = text.strip_prefix(WRAPPING.0).unwrap_or(text);
    // Something may follow the wrapped text, such as the output of another hook.
    let text = text.rsplit_once(WRAPPING.1).map_or(text, |(inside, _)| inside);
    if text.starts_with("Command was cancelled by user") {
        return CallResult::new(Outcome::Cancelled, None, text);
    }
    if text.starts_with("Command was automatically cancelled") || text.starts_with("Command timed out") {
        return CallResult::new(Outcome::Failed, None, text);
    }
    if text.starts_with("Command moved to background") || text.starts_with("Background command started") {
        return CallResult::new(Outcome::Ok, None, "in the background");
    }
    // Qwen Code writes every line of the tail. Gemini CLI omits lines that do not apply, and then a line of the output
    // that looks like one takes its position: so only numbers are accepted, and no error, which Gemini CLI reports
    // separately.
    let is_complete = text.starts_with("Command: ");
    let mut rest = if is_complete { without_notes(text) } else { text };
    // Read from the end, each label once and in this order: lines of the output that look like labels come before them.
    let mut tail = |label: &str| {
        let (before, line) = rest.rsplit_once('\n')?;
        let value = line.strip_prefix(label)?.strip_prefix(": ")?.trim();
        if !is_complete && !is_numbers(value) {
            return None;
        }
        rest = before;
        Some(value)
    };
    let [_group, _background, signal, exit] =
        ["Process Group PGID", "Background PIDs", "Signal", "Exit Code"].map(&mut tail);
    let error = if is_complete { tail("Error") } else { None };
    let code = exit.and_then(|exit| exit.parse::<i32>().ok());
    let is_signalled = signal.is_some_and(|signal| !matches!(signal, "0" | "(none)"));
    let is_broken = error.is_some_and(|error| error != "(none)");
    let output = output_of(rest);
    let shown = match error.filter(|_| is_broken) {
        Some(error) => format!("{output}\n{error}"),
        None => output.to_owned(),
    };
    match (code, is_signalled || is_broken) {
        (None | Some(0), false) => CallResult::new(Outcome::Ok, Some(0), &shown),
        (code, _) => CallResult::new(Outcome::Failed, code.filter(|&code| code != 0), &shown),
    }
}

/// The text up to its last label. A client that writes all labels may add notes, such as how long the command ran.
fn without_notes(text: &str) -> &str {
    let last = text.rfind("\nProcess Group PGID: ");
    let end = last.and_then(|start| Some(start + 1 + text[start + 1..].find('\n')?));
    end.map_or(text, |end| &text[..end])
}

fn is_numbers(value: &str) -> bool {
    value.split(", ").all(|number| number.parse::<i64>().is_ok())
}

/// What the command printed, without a head that may repeat the command and its folder.
fn output_of(text: &str) -> &str {
    let after_head = || {
        let (_, after) = text.strip_prefix("Command: ")?.split_once("\nDirectory: ")?;
        after.split_once("\nOutput: ").map(|(_, output)| output)
    };
    text.strip_prefix("Output: ").or_else(after_head).unwrap_or(text)
}
