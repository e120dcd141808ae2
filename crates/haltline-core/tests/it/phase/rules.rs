//! Runs `testdata/phase/*.txt`: the rules of SPEC.md and of seed 001 as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and runs in its own world. `testdata/phase/README.txt` explains the
//! language.

use crate::language::interpreter;
use crate::phase::script::PhaseRules;

#[test]
fn every_paragraph_of_every_file_holds() {
    interpreter::play_all::<PhaseRules>();
}

#[test]
fn every_rule_has_a_paragraph() {
    interpreter::assert_every_rule_has_a_paragraph::<PhaseRules>();
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    interpreter::assert_mistakes::<PhaseRules>(&[
        ("begin RED -> pass OPEN", "-- is       pass CLOSED"),
        ("begin RED -> pass CLOSED 1/0", "-- is       pass CLOSED 0/0"),
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
        ("report -> pass CLOSED", "-- is       rejected no phase run"),
        ("set green.patience 3", "\"green.patience\" is no limit"),
    ]);
}
