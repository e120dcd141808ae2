//! Runs `testdata/loop/*.txt`: the rules of SPEC.md on running sessions as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and lives in a world of its own. `testdata/loop/README.txt` explains the
//! language.

#[path = "support/clock.rs"]
mod clock;
#[path = "support/paragraph.rs"]
mod paragraph;
#[path = "support/session_script.rs"]
mod session_script;
#[path = "support/sessions.rs"]
mod sessions;
#[path = "support/words.rs"]
mod words;

use std::path::Path;

use paragraph::{Paragraph, compare};
use session_script::Play;

/// Every rule a paragraph may be filed under.
const RULES: [&str; 17] =
    ["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "L10", "E3", "E4", "E5", "E12", "E13", "E14", "E15", "X4"];

#[test]
fn every_paragraph_of_every_file_holds() {
    paragraph::play_all("loop", &RULES, play);
}

#[test]
fn every_rule_has_a_paragraph() {
    assert_eq!(paragraph::missing("loop", &RULES), Vec::<&str>::new(), "rules without a paragraph");
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    for (text, problem) in [
        ("run \"x\" -> warn", "-- is       pass"),
        ("run \"x\" ->", "an outcome is missing"),
        ("run \"x\"", "an event needs `->`"),
        ("run x -> pass", "expected a text in quotes"),
        ("run \"x\" twice -> pass", "unexpected \"twice\""),
        ("run \"x\" gives lost -> pass", "\"lost\" is no outcome"),
        ("rum \"x\" -> pass", "\"rum\" is no event"),
        ("run \"x\" -> pass | circuit none", "\"circuit none\" is nothing"),
        ("run \"x\" -> pass | says \"loop\"", "-- is       \"\""),
        ("set repeat.wran 2", "\"repeat.wran\" is no limit"),
        ("set repeat.warn two", "repeat.warn two"),
        ("client odd", "expected marks-batches, plain, names-starts or counted DOOR"),
        ("clock steps aside 1h", "expected `clock steps back`"),
        ("spent cost 1 -> pass", "expected dollars and cents"),
        ("resume -> pass", "-- is       rejected NoIncident"),
        ("", "no line"),
    ] {
        let failure = paragraph::failure_of(&format!("# L1: a title\n{text}\n"), &RULES, play);
        assert!(failure.contains(problem) && failure.contains("x.txt:"), "{text}\n{failure}");
    }
    for text in ["L1: no hash\nprompt -> pass", "# no rule\nprompt -> pass", "# L99: none such\nprompt"] {
        assert!(paragraph::split(text, &RULES).is_err(), "{text}");
    }
}

fn play(path: &Path, paragraph: &Paragraph<'_>) -> Result<(), String> {
    let mut play = Play::new();
    paragraph::play_lines(path, paragraph, |line| play.line(line, compare))
}
