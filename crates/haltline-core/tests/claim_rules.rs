//! Runs `testdata/claim/*.txt`: the rules of SPEC.md and of seed 004 as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and lives in a world of its own. `testdata/claim/README.txt` explains the
//! language.

#[path = "support/claim_screen.rs"]
mod claim_screen;
#[path = "support/claim_script.rs"]
mod claim_script;
#[path = "support/paragraph.rs"]
mod paragraph;
#[path = "support/pipelines.rs"]
mod pipelines;
#[path = "support/words.rs"]
mod words;

use std::path::Path;

use claim_script::Play;
use paragraph::{Paragraph, compare};

/// Every rule a paragraph may be filed under: the ids of SPEC.md, and the seed where SPEC.md is silent.
const RULES: [&str; 13] = ["D1", "D2", "D3", "D4", "D5", "E1", "E4", "E8", "E10", "E12", "E15", "E16", "S4"];

#[test]
fn every_paragraph_of_every_file_holds() {
    paragraph::play_all("claim", &RULES, play);
}

#[test]
fn every_rule_has_a_paragraph() {
    assert_eq!(paragraph::missing("claim", &RULES), Vec::<&str>::new(), "rules without a paragraph");
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    for (text, problem) in [
        ("add C-1 \"a\" -> pass VERIFIED", "-- is       pass UNVERIFIED"),
        ("add C-1 \"a\" ->", "an outcome is missing"),
        ("add C-1 \"a\"", "an event needs `->`"),
        ("add C-1 \"a\" twice -> pass UNVERIFIED", "unexpected \"twice\""),
        ("ad C-1 \"a\" -> pass", "\"ad\" is no event"),
        ("kill C-1 \"a\" -> pass", "-- is       rejected claim C-1 is not there"),
        ("add C-1 \"a\" -> pass UNVERIFIED | colour red", "\"colour\" is nothing that can be shown"),
        ("add C-1 \"a\" -> pass UNVERIFIED | C-1 text \"b\"", "-- is       C-1 text \"a\""),
        ("add C-1 \"a\" -> pass UNVERIFIED | C-1 reason \"b\"", "C-1 is not DISPUTED"),
        ("add C-1 \"a\" confidence high -> pass", "expected a number from 0 to 1"),
        ("promote C-1 to DISPUTED -> pass", "\"DISPUTED\" is no status"),
        ("cycle pause -> pass", "expected begin or end"),
        ("", "no line"),
    ] {
        let failure = paragraph::failure_of(&format!("# D1: a title\n{text}\n"), &RULES, play);
        assert!(failure.contains(problem) && failure.contains("x.txt:"), "{text}\n{failure}");
    }
}

fn play(path: &Path, paragraph: &Paragraph<'_>) -> Result<(), String> {
    let mut play = Play::new();
    paragraph::play_lines(path, paragraph, |line| play.line(line, compare))
}
