//! Bytes that a program wrote while it was watched: an agent client's stream, status blocks, what test runners print.

use haltline_agents::headless::{Ending, Headless, Told};
use haltline_agents::status_block::{last_block, parse_phase_status};
use haltline_agents::test_results::{Exit, TestRun, from_junit, from_output, judge};
use haltline_agents::turn_end::{complaint, reading};
use haltline_core::Instant;

use super::assert_one_line;

/// How many bytes come at once, the second time.
const PIECE_BYTES: usize = 7;

fn heard(content: &[u8], piece_bytes: usize) -> Told {
    let mut headless = Headless::default();
    content.chunks(piece_bytes).for_each(|piece| headless.push(piece));
    headless.finish()
}

/// Any bytes as the output of a program.
pub fn output(content: &[u8]) {
    let whole = heard(content, usize::MAX);
    assert_eq!(heard(content, PIECE_BYTES), whole, "it matters how the bytes come");
    assert!(whole.words.len() <= 64 << 10 && whole.last_message.len() <= 16 << 10);
    assert!(whole.writing_calls <= whole.tool_calls && whole.hook_denials <= whole.denials);
    let now = Instant::from_millis(1_800_000_000_000);
    if let Ending::ApiLimit { resets: Some(reset), .. } = &whole.ending {
        assert!(reset.moment(now) >= now && reset.moment_locally(now, -43_200) >= now, "{reset:?}");
    }
    drop(reading(&whole));
    let text = String::from_utf8_lossy(content);
    for exit in [None, Some(0), Some(1), Some(i32::MIN)] {
        let found = complaint(&whole, &text, exit);
        assert!(found.is_none_or(|complaint| complaint.message.len() <= 2048 && !complaint.kind.is_empty()));
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
        assert!(judge(&run).excerpt.len() <= 8 << 10);
    }
    if let Some(counts) = counts {
        let parts = [counts.passing, counts.failing, counts.skipped];
        assert_eq!(parts.into_iter().fold(0, u64::saturating_add), counts.total);
    }
}
