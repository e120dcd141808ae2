//! Runs `testdata/constraint/*.txt`: the rules of SPEC.md and of seed 003 as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and has a separate world: New Year 2026, an active constraint file with the
//! default limits, no circuit. `testdata/constraint/README.txt` explains the language.

use crate::constraint::script::ConstraintRules;
use crate::language::interpreter;

#[test]
fn every_paragraph_of_every_file_holds() {
    interpreter::play_all::<ConstraintRules>();
}

#[test]
fn every_rule_has_a_paragraph() {
    interpreter::assert_every_rule_has_a_paragraph::<ConstraintRules>();
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    interpreter::assert_mistakes::<ConstraintRules>(&[
        ("violation \"x\" -> pass CLOSED 2/5", "-- is       pass CLOSED 1/5"),
        ("violation \"x\" -> pas CLOSED 1/5", "-- is       pass CLOSED 1/5"),
        ("violation \"x\" -> pass CLOSED 1/5 | fact violated", "\"fact violated\" is nothing"),
        ("violation \"x\" -> pass CLOSED 1/5 | totals violation 1", "\"totals violation 1\" is nothing"),
        ("violation x -> pass CLOSED 1/5", "expected a text in quotes"),
        ("violation \"x\" twice -> pass CLOSED 1/5", "unexpected \"twice\""),
        ("violaton \"x\" -> pass CLOSED 1/5", "\"violaton\" is no event"),
        ("file treshold 3", "unexpected \"treshold\""),
    ]);
}
