//! Bytes that a supervised program wrote: the output of a client, status blocks, the output of test runners.

use haltline_agents::headless::{Ending, HeadlessParser, HeadlessReport};
use haltline_agents::status_block::{last_block, parse_phase_status};
use haltline_agents::test_results::{Exit, TestRun, classify, from_junit, from_output};
use haltline_agents::turn_end::{iteration_error, turn_end_of};
use haltline_core::Instant;
use jiff::tz::TimeZone;

use super::assert_one_line;

/// The size of the pieces in the second run.
const PIECE_BYTES: usize = 7;

fn parse(content: &[u8], piece_bytes: usize) -> HeadlessReport {
    let mut parser = HeadlessParser::default();
    content.chunks(piece_bytes).for_each(|piece| parser.push(piece));
    parser.finish()
}

/// Any bytes as the output of a program.
pub fn output(content: &[u8]) {
    let whole = parse(content, usize::MAX);
    assert_eq!(parse(content, PIECE_BYTES), whole, "it matters how the bytes come");
    assert!(whole.text.len() <= 64 << 10 && whole.last_message.len() <= 16 << 10);
    assert!(whole.writing_calls <= whole.tool_calls && whole.hook_denials <= whole.denials);
    let now = Instant::from_millis(1_800_000_000_000);
    if let Ending::ApiLimit { resets: Some(reset), .. } = &whole.ending {
        let westernmost = TimeZone::fixed(jiff::tz::offset(-12));
        assert!(reset.moment(now, &TimeZone::UTC, |_name| None) >= now, "{reset:?}");
        assert!(reset.moment(now, &TimeZone::UTC, |_name| Some(westernmost.clone())) >= now, "{reset:?}");
    }
    drop(turn_end_of(&whole));
    let text = String::from_utf8_lossy(content);
    for exit in [None, Some(0), Some(1), Some(i32::MIN)] {
        let found = iteration_error(&whole, &text, exit);
        assert!(found.is_none_or(|error| error.message.len() <= 2048 && !error.kind.is_empty()));
    }
    if let Some(block) = last_block(&text) {
        let printed = block.to_string();
        let again = last_block(&printed).expect("what is printed is a block");
        assert_eq!(again.to_string(), printed);
    }
    if let Err(error) = parse_phase_status(&text) {
        assert_one_line(&error.to_string());
    }
    let counts = match from_junit(content) {
        Ok(counts) => Some(counts),
        Err(error) => {
            assert_one_line(&error.to_string());
            from_output(&text)
        }
    };
    for test in ["adds", text.lines().next().unwrap_or_default()] {
        let run = TestRun { output: &text, junit: &[&text], exit: Exit::Code(1), test, files: &["src/lib.rs"] };
        assert!(classify(&run).excerpt.len() <= 8 << 10);
    }
    if let Some(counts) = counts {
        let parts = [counts.passing, counts.failing, counts.skipped];
        assert_eq!(parts.into_iter().fold(0, u64::saturating_add), counts.total);
    }
}
