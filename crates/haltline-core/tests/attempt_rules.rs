//! Runs `testdata/attempt/*.txt`: the rules of SPEC.md and of seed 000 as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and lives in a world of its own. `testdata/attempt/README.txt` explains the
//! language.

#[path = "support/attempt_screen.rs"]
mod attempt_screen;
#[path = "support/attempt_script.rs"]
mod attempt_script;
#[path = "support/clock.rs"]
mod clock;
#[path = "support/outcome.rs"]
mod outcome;
#[path = "support/paragraph.rs"]
mod paragraph;
#[path = "support/sessions.rs"]
mod sessions;
#[path = "support/slices.rs"]
mod slices;
#[path = "support/stage.rs"]
mod stage;
#[path = "support/words.rs"]
mod words;

use std::path::Path;

use attempt_script::Play;
use paragraph::{Paragraph, compare};

/// Every rule a paragraph may be filed under: the ids of SPEC.md, and the sections of seed 000.
const RULES: [&str; 22] = [
    "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "E3", "E4", "E5", "E6", "E12", "E14", "E15", "S1", "S2", "S3",
    "S4", "S5", "S6", "S7",
];

#[test]
fn every_paragraph_of_every_file_holds() {
    paragraph::play_all("attempt", &RULES, play);
}

#[test]
fn every_rule_has_a_paragraph() {
    assert_eq!(paragraph::missing("attempt", &RULES), Vec::<&str>::new(), "rules without a paragraph");
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    for (text, problem) in [
        ("begin -> pass OPEN", "-- is       pass CLOSED"),
        ("begin -> pass CLOSED 1/0", "-- is       pass CLOSED 0/0"),
        ("begin ->", "an outcome is missing"),
        ("begin", "an event needs `->`"),
        ("began -> pass CLOSED", "\"began\" is no event"),
        ("begin src/ -> pass CLOSED", "unexpected \"src/\""),
        ("begin in-scope ../x -> pass CLOSED", "\"../x\" has `..` in it"),
        ("begin in-scope nothing src/ -> pass CLOSED", "unexpected \"src/\""),
        ("begin -> pass CLOSED | fact began", "\"fact began\" is nothing"),
        ("begin -> pass CLOSED | facts none", "-- is       facts began"),
        ("begin -> pass CLOSED | totals failures 0", "\"totals failures 0\" is nothing"),
        ("begin -> pass CLOSED | kept login 0", "-- is       kept login unknown"),
        ("begin -> pass CLOSED | says \"x\"", "-- is       says \"\""),
        ("run login failed -> pass CLOSED", "expected passes, fails, infra or unclear"),
        ("run login fails twice -> pass CLOSED", "unexpected \"twice\""),
        ("run login fails said boom -> pass CLOSED", "expected a text in quotes"),
        ("touch a justified \"t\" \"r\" -> pass CLOSED", "the line ends too early"),
        ("deviate 5 \"x\" -> pass CLOSED", "\"5\" is no rule"),
        ("rollback -> pass CLOSED", "expected `to` a checkpoint"),
        ("reset \"x\" to c1 -> pass CLOSED", "expected `kept` and where"),
        ("ask -> pass CLOSED", "-- is       rejected no slice"),
        ("look a1..b9 -> pass CLOSED", "expected the same name on both sides"),
        ("slice S/1", "slice \"S/1\": expected a name such as S-12"),
        ("letters big", "expected alike or distinct"),
        ("after 6 ask -> pass CLOSED", "expected a duration"),
        ("", "no line"),
    ] {
        let failure = paragraph::failure_of(&format!("# A1: a title\n{text}\n"), &RULES, play);
        assert!(failure.contains(problem) && failure.contains("x.txt:"), "{text}\n{failure}");
    }
}

fn play(path: &Path, paragraph: &Paragraph<'_>) -> Result<(), String> {
    let mut play = Play::new();
    paragraph::play_lines(path, paragraph, |line| stage::play(&mut play, line, compare))
}
