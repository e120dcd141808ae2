//! Runs `testdata/phase/*.txt`: the rules of SPEC.md and of seed 001 as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and lives in a world of its own. `testdata/phase/README.txt` explains the
//! language.

#[path = "support/clock.rs"]
mod clock;
#[path = "support/courses.rs"]
mod courses;
#[path = "support/outcome.rs"]
mod outcome;
#[path = "support/paragraph.rs"]
mod paragraph;
#[path = "support/phase_screen.rs"]
mod phase_screen;
#[path = "support/phase_script.rs"]
mod phase_script;
#[path = "support/stage.rs"]
mod stage;
#[path = "support/words.rs"]
mod words;

use std::path::Path;

use paragraph::{Paragraph, compare};
use phase_script::Play;

/// Every rule a paragraph may be filed under: the ids of SPEC.md, and the seed where SPEC.md is silent.
const RULES: [&str; 15] = ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "E1", "E3", "E4", "E12", "E15", "E16", "S1"];

#[test]
fn every_paragraph_of_every_file_holds() {
    paragraph::play_all("phase", &RULES, play);
}

#[test]
fn every_rule_has_a_paragraph() {
    assert_eq!(paragraph::missing("phase", &RULES), Vec::<&str>::new(), "rules without a paragraph");
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    for (text, problem) in [
        ("begin RED -> pass OPEN", "-- is       pass CLOSED"),
        ("begin RED -> pass CLOSED 1/0", "-- is       pass CLOSED 0/0"),
        ("begin RED ->", "an outcome is missing"),
        ("begin RED", "an event needs `->`"),
        ("begin 2nd -> pass CLOSED", "phase \"2nd\""),
        ("begin RED twice -> pass CLOSED", "unexpected \"twice\""),
        ("began RED -> pass CLOSED", "\"began\" is no event"),
        ("begin RED -> pass CLOSED | fact began", "\"fact began\" is nothing"),
        ("begin RED -> pass CLOSED | totals iteration 0", "\"totals iteration 0\" is nothing"),
        ("begin RED -> pass CLOSED | says \"RED\"", "-- is       says \"\""),
        ("report a=b -> pass CLOSED", "metric a = \"b\""),
        ("report a!b=1 -> pass CLOSED", "metric \"a!b\": expected a name of letters, digits"),
        ("report m1..m65=1 -> pass CLOSED", "too many metrics: expected at most 64"),
        ("report saw stars 3 -> pass CLOSED", "\"stars\" is no sign"),
        ("report error E boom -> pass CLOSED", "expected a text in quotes"),
        ("decide retry -> pass CLOSED", "expected reset, skip, abort or modify"),
        ("finish early -> pass CLOSED", "\"early\" is no way to end"),
        ("found AJAR -> pass CLOSED", "\"AJAR\" is no state"),
        ("report -> pass CLOSED", "-- is       rejected no course"),
        ("set green.patience 3", "\"green.patience\" is no limit"),
        ("after 6 begin RED -> pass CLOSED", "expected a duration"),
        ("at 2025-12-31T23:59:59Z ask -> pass CLOSED", "it is 2026-01-01T00:00:00.000Z already"),
        ("clock steps aside 1h", "expected `clock steps back`"),
        ("", "no line"),
    ] {
        let failure = paragraph::failure_of(&format!("# P1: a title\n{text}\n"), &RULES, play);
        assert!(failure.contains(problem) && failure.contains("x.txt:"), "{text}\n{failure}");
    }
    for text in ["P1: no hash\nask -> pass", "# no rule\nask -> pass", "# P99: none such\nask"] {
        assert!(paragraph::split(text, &RULES).is_err(), "{text}");
    }
}

fn play(path: &Path, paragraph: &Paragraph<'_>) -> Result<(), String> {
    let mut play = Play::new();
    paragraph::play_lines(path, paragraph, |line| stage::play(&mut play, line, compare))
}
