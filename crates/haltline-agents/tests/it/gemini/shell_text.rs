//! Tests of `gemini/shell_text.rs`.

use haltline_agents::gemini::shell_text::parse_result;
use haltline_core::identity::{CallResult, Outcome};

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
        assert_eq!(parse_result(&text), CallResult::new(Outcome::Ok, Some(0), &format!("all good\n{line}")), "{line}");
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
    for note in ["\n\nNote: this foreground command ran for 61s.", "\n\nNote: one.\n\nNote: two.", "\n[Note: three]"] {
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
