//! Runs `testdata/control/*.txt`: the rules of pauses as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and runs in its own world. `testdata/control/README.txt` explains the
//! language.

use crate::control::script::ControlRules;
use crate::language::interpreter;

#[test]
fn every_paragraph_of_every_file_holds() {
    interpreter::play_all::<ControlRules>();
}

#[test]
fn every_rule_has_a_paragraph() {
    interpreter::assert_every_rule_has_a_paragraph::<ControlRules>();
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    interpreter::assert_mistakes::<ControlRules>(&[
        ("pause 30m -> watching", "-- is       paused"),
        ("pause 30m twice -> paused", "unexpected \"twice\""),
        ("pause soon -> paused", "expected a duration"),
        ("paws 30m -> paused", "\"paws\" is no event"),
        ("pause 30m -> paused | until 2026-01-01T00:00:00Z", "-- is       until 2026-01-01T00:30:00Z"),
        ("session s1\nthen until 2026-01-01T00:00:00Z", "-- is       until nothing is paused"),
    ]);
}
