//! How a command ended, as Gemini CLI and Qwen Code put it into the text for the model: the output between a head and a
//! tail of labelled lines. What changes with every run, the process group's number, is no part of an answer.

use haltline_core::identity::{Answer, Outcome};

/// What the text is wrapped in where the client does not trust it.
const WRAPPING: (&str, &str) = ("<untrusted_context>\n", "\n</untrusted_context>");

/// The answer of a command.
pub fn answer(text: &str) -> Answer {
    let text = text.strip_prefix(WRAPPING.0).unwrap_or(text);
    // Something may follow what was wrapped, such as the word of another hook.
    let text = text.rsplit_once(WRAPPING.1).map_or(text, |(inside, _)| inside);
    if text.starts_with("Command was cancelled by user") {
        return Answer::new(Outcome::Cancelled, None, text);
    }
    if text.starts_with("Command was automatically cancelled") || text.starts_with("Command timed out") {
        return Answer::new(Outcome::Failed, None, text);
    }
    if text.starts_with("Command moved to background") || text.starts_with("Background command started") {
        return Answer::new(Outcome::Ok, None, "in the background");
    }
    // Qwen Code writes every line of the tail. Gemini CLI leaves out what is not so, and a line of the output that looks
    // alike stands there instead: only a number is believed, and no error, which the client tells apart from the text.
    let is_complete = text.starts_with("Command: ");
    let mut rest = if is_complete { without_notes(text) } else { text };
    // From the end, each once and in this order: a line of the output that looks alike stands before them.
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
        (None | Some(0), false) => Answer::new(Outcome::Ok, Some(0), &shown),
        (code, _) => Answer::new(Outcome::Failed, code.filter(|&code| code != 0), &shown),
    }
}

/// The text up to its last label: a client that writes them all may add notes, such as how long the command ran.
fn without_notes(text: &str) -> &str {
    let last = text.rfind("\nProcess Group PGID: ");
    let end = last.and_then(|start| Some(start + 1 + text[start + 1..].find('\n')?));
    end.map_or(text, |end| &text[..end])
}

fn is_numbers(value: &str) -> bool {
    value.split(", ").all(|number| number.parse::<i64>().is_ok())
}

/// What the command printed: after a head that may repeat the command and its folder.
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
    fn an_exit_code_stands_in_the_tail_and_not_in_the_output() {
        let wrapped = |inner: &str| format!("<untrusted_context>\n{inner}\n</untrusted_context>");
        let failed = wrapped("Output: one\nExit Code: 1\nProcess Group PGID: 128");
        assert_eq!(answer(&failed), Answer::new(Outcome::Failed, Some(1), "one"));
        let fine = wrapped("Output: Exit Code: 1\nof something else\nProcess Group PGID: 9");
        assert_eq!(answer(&fine), Answer::new(Outcome::Ok, Some(0), "Exit Code: 1\nof something else"));
        assert_eq!(answer(&(failed + "\n\n<hook_context>Exit Code: 7</hook_context>")).exit, Some(1));
    }

    #[test]
    fn a_last_line_of_the_output_is_no_label() {
        for line in ["Error: seen in the log", "Error: 404", "Signal: lost", "Exit Code: see above"] {
            let text = format!("Output: all good\n{line}\nProcess Group PGID: 128");
            assert_eq!(answer(&text), Answer::new(Outcome::Ok, Some(0), &format!("all good\n{line}")), "{line}");
            let failed = format!("Output: {line}\nExit Code: 1\nBackground PIDs: 7, 8\nProcess Group PGID: 128");
            assert_eq!(answer(&failed), Answer::new(Outcome::Failed, Some(1), line));
        }
        let killed = "Output: half\nSignal: 9\nProcess Group PGID: 128";
        assert_eq!(answer(killed), Answer::new(Outcome::Failed, None, "half"));
    }

    #[test]
    fn the_head_of_the_other_dialect_is_left_out() {
        let text = "Command: make\nDirectory: (root)\nOutput: no rule\nError: (none)\nExit Code: 2\nSignal: 0\n\
            Process Group PGID: 150";
        assert_eq!(answer(text), Answer::new(Outcome::Failed, Some(2), "no rule"));
        let fine = text.replace("Exit Code: 2", "Exit Code: 0");
        assert_eq!(answer(&fine), Answer::new(Outcome::Ok, Some(0), "no rule"));
        assert_eq!(answer(&fine.replace("Signal: 0", "Signal: 9")).outcome, Outcome::Failed);
        let broken = fine.replace("Error: (none)", "Error: spawn failed");
        assert_eq!(answer(&broken), Answer::new(Outcome::Failed, None, "no rule\nspawn failed"));
    }

    #[test]
    fn what_the_client_notes_after_the_tail_is_no_part_of_the_answer() {
        let text = "Command: make\nDirectory: (root)\nOutput: no rule\nError: (none)\nExit Code: 2\nSignal: (none)\n\
            Process Group PGID: (none)";
        for note in
            ["\n\nNote: this foreground command ran for 61s.", "\n\nNote: one.\n\nNote: two.", "\n[Note: three]"]
        {
            assert_eq!(answer(&format!("{text}{note}")), Answer::new(Outcome::Failed, Some(2), "no rule"), "{note}");
        }
    }

    #[test]
    fn two_runs_of_one_command_have_one_answer() {
        let text = |group: u32| format!("Output: same\nProcess Group PGID: {group}");
        assert_eq!(answer(&text(1)).raw, answer(&text(2)).raw);
    }

    #[test]
    fn any_text_is_an_answer() {
        for text in ["", "\n", "Output: ", "Exit Code: 1", "Exit Code: x\nSignal: ", "</untrusted_context>"] {
            answer(text);
        }
        assert_eq!(answer("Command was cancelled by user before it could complete.").outcome, Outcome::Cancelled);
    }
}
