//! How a command ended, as Gemini CLI and Qwen Code write it into the text for the model: the output between a head and
//! a tail of labelled lines. The process group's number changes with every run and is not part of the result.

use haltline_core::identity::{CallResult, Outcome};

/// Surrounds the text if the client does not trust it.
const WRAPPING: (&str, &str) = ("<untrusted_context>\n", "\n</untrusted_context>");

/// Parses the result of a command.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_is_read_from_the_tail_and_not_from_the_output() {
        let wrapped = |inner: &str| format!("<untrusted_context>\n{inner}\n</untrusted_context>");
        let failed = wrapped("Output: one\nExit Code: 1\nProcess Group PGID: 128");
        assert_eq!(parse_result(&failed), CallResult::new(Outcome::Failed, Some(1), "one"));
        let fine = wrapped("Output: Exit Code: 1\nof something else\nProcess Group PGID: 9");
        assert_eq!(parse_result(&fine), CallResult::new(Outcome::Ok, Some(0), "Exit Code: 1\nof something else"));
        assert_eq!(parse_result(&(failed + "\n\n<hook_context>Exit Code: 7</hook_context>")).exit, Some(1));
    }

    #[test]
    fn a_last_line_of_the_output_is_no_label() {
        for line in ["Error: seen in the log", "Error: 404", "Signal: lost", "Exit Code: see above"] {
            let text = format!("Output: all good\n{line}\nProcess Group PGID: 128");
            assert_eq!(
                parse_result(&text),
                CallResult::new(Outcome::Ok, Some(0), &format!("all good\n{line}")),
                "{line}"
            );
            let failed = format!("Output: {line}\nExit Code: 1\nBackground PIDs: 7, 8\nProcess Group PGID: 128");
            assert_eq!(parse_result(&failed), CallResult::new(Outcome::Failed, Some(1), line));
        }
        let killed = "Output: half\nSignal: 9\nProcess Group PGID: 128";
        assert_eq!(parse_result(killed), CallResult::new(Outcome::Failed, None, "half"));
    }

    #[test]
    fn the_head_that_qwen_code_writes_is_left_out() {
        let text = "Command: make\nDirectory: (root)\nOutput: no rule\nError: (none)\nExit Code: 2\nSignal: 0\n\
            Process Group PGID: 150";
        assert_eq!(parse_result(text), CallResult::new(Outcome::Failed, Some(2), "no rule"));
        let fine = text.replace("Exit Code: 2", "Exit Code: 0");
        assert_eq!(parse_result(&fine), CallResult::new(Outcome::Ok, Some(0), "no rule"));
        assert_eq!(parse_result(&fine.replace("Signal: 0", "Signal: 9")).outcome, Outcome::Failed);
        let broken = fine.replace("Error: (none)", "Error: spawn failed");
        assert_eq!(parse_result(&broken), CallResult::new(Outcome::Failed, None, "no rule\nspawn failed"));
    }

    #[test]
    fn notes_after_the_tail_are_not_part_of_the_result() {
        let text = "Command: make\nDirectory: (root)\nOutput: no rule\nError: (none)\nExit Code: 2\nSignal: (none)\n\
            Process Group PGID: (none)";
        for note in
            ["\n\nNote: this foreground command ran for 61s.", "\n\nNote: one.\n\nNote: two.", "\n[Note: three]"]
        {
            assert_eq!(
                parse_result(&format!("{text}{note}")),
                CallResult::new(Outcome::Failed, Some(2), "no rule"),
                "{note}"
            );
        }
    }

    #[test]
    fn two_runs_of_one_command_have_the_same_result() {
        let text = |group: u32| format!("Output: same\nProcess Group PGID: {group}");
        assert_eq!(parse_result(&text(1)).raw, parse_result(&text(2)).raw);
    }

    #[test]
    fn any_text_is_a_result() {
        for text in ["", "\n", "Output: ", "Exit Code: 1", "Exit Code: x\nSignal: ", "</untrusted_context>"] {
            parse_result(text);
        }
        assert_eq!(parse_result("Command was cancelled by user before it could complete.").outcome, Outcome::Cancelled);
    }
}
