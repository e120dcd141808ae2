//! Runs `testdata/constraint/*.txt`: the rules of SPEC.md and of seed 003 as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and lives in a world of its own: New Year 2026, an active constraint file
//! with the default limits, no circuit. `testdata/constraint/README.txt` explains the language.

#[path = "support/paragraph.rs"]
mod paragraph;
#[path = "support/screen.rs"]
mod screen;
#[path = "support/script.rs"]
mod script;
mod support;
#[path = "support/words.rs"]
mod words;

use std::path::Path;

use haltline_core::constraint::Limits;
use paragraph::{Paragraph, compare};
use screen::Outcome;
use script::{Line, What};
use support::World;

/// Every rule a paragraph may be filed under: the ids of SPEC.md, and the seed where SPEC.md is silent.
const RULES: [&str; 16] =
    ["C2", "C3", "C4", "C5", "C6", "C7", "C8", "E1", "E3", "E4", "E9", "E12", "E13", "E15", "E16", "S3"];

#[test]
fn every_paragraph_of_every_file_holds() {
    paragraph::play_all("constraint", &RULES, play);
}

#[test]
fn every_rule_has_a_paragraph() {
    assert_eq!(paragraph::missing("constraint", &RULES), Vec::<&str>::new(), "rules without a paragraph");
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    for (text, problem) in [
        ("violation \"x\" -> pass CLOSED 2/5", "-- is       pass CLOSED 1/5"),
        ("violation \"x\" -> pas CLOSED 1/5", "-- is       pass CLOSED 1/5"),
        ("violation \"x\" -> pass CLOSED 1/5 | fact violated", "\"fact violated\" is nothing"),
        ("violation \"x\" -> pass CLOSED 1/5 | totals violation 1", "\"totals violation 1\" is nothing"),
        ("violation \"x\" ->", "an outcome is missing"),
        ("violation \"x\"", "an event needs `->`"),
        ("violation x -> pass CLOSED 1/5", "expected a text in quotes"),
        ("violation \"x -> pass CLOSED 1/5", "a quote is not closed"),
        ("violation \"x\" twice -> pass CLOSED 1/5", "unexpected \"twice\""),
        ("violaton \"x\" -> pass CLOSED 1/5", "\"violaton\" is no event"),
        ("after 6 violation \"x\" -> pass CLOSED 1/5", "expected a duration"),
        ("at 2025-12-31T23:59:59Z check -> pass CLOSED", "it is 2026-01-01T00:00:00.000Z already"),
        ("file treshold 3", "unexpected \"treshold\""),
        ("clock steps aside 1h", "expected `clock steps back`"),
        ("", "no line"),
    ] {
        let whole = format!("# C2: a title\n{text}\n");
        let failure = paragraph::failure_of(&whole, &RULES, play);
        assert!(failure.contains(problem) && failure.contains("x.txt:"), "{text}\n{failure}");
    }
    for text in ["C2: no hash\ncheck -> pass CLOSED", "# no rule\ncheck -> pass CLOSED", "# C99: none such\ncheck"] {
        assert!(paragraph::split(text, &RULES).is_err(), "{text}");
    }
}

fn play(path: &Path, paragraph: &Paragraph<'_>) -> Result<(), String> {
    let mut world = World::new(Limits::default());
    let mut outcome = Outcome::default();
    paragraph::play_lines(path, paragraph, |line| play_line(&mut world, &mut outcome, line))
}

fn play_line(world: &mut World, outcome: &mut Outcome, line: &str) -> Result<(), String> {
    match Line::parse(line)? {
        Line::Setting(setting) => setting.apply(world),
        Line::Event { times, wait, what, expected } => {
            for _ in 0..times {
                wait.apply(world)?;
                *outcome = match &what {
                    What::Check => Outcome::of_check(world),
                    What::Happening(happening) => Outcome::of_step(world.tell(happening.clone())),
                };
            }
            let (headline, parts) = expected.split_once(" | ").unwrap_or((&expected, ""));
            if headline.is_empty() {
                return Err("an outcome is missing after `->`".to_owned());
            }
            let actual = outcome.headline(world, headline);
            compare(headline, &actual)?;
            compare_parts(world, outcome, parts)
        }
        Line::Then(expected) => compare_parts(world, outcome, &expected),
    }
}

fn compare_parts(world: &World, outcome: &Outcome, expected: &str) -> Result<(), String> {
    for part in expected.split(" | ").filter(|part| !part.is_empty()) {
        let actual = outcome.part(world, part).ok_or_else(|| format!("{part:?} is nothing that can be compared"))?;
        compare(part, &actual)?;
    }
    Ok(())
}
