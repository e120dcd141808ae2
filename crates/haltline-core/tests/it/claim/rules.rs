//! Runs `testdata/claim/*.txt`: the rules of SPEC.md and of seed 004 as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and runs in its own world. `testdata/claim/README.txt` explains the
//! language.

use crate::claim::script::ClaimRules;
use crate::language::interpreter;

#[test]
fn every_paragraph_of_every_file_holds() {
    interpreter::play_all::<ClaimRules>();
}

#[test]
fn every_rule_has_a_paragraph() {
    interpreter::assert_every_rule_has_a_paragraph::<ClaimRules>();
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    interpreter::assert_mistakes::<ClaimRules>(&[
        ("add C-1 \"a\" -> pass VERIFIED", "-- is       pass UNVERIFIED"),
        ("add C-1 \"a\" twice -> pass UNVERIFIED", "unexpected \"twice\""),
        ("ad C-1 \"a\" -> pass", "\"ad\" is no event"),
        ("kill C-1 \"a\" -> pass", "-- is       rejected claim C-1 does not exist"),
        ("add C-1 \"a\" -> pass UNVERIFIED | colour red", "\"colour red\" is nothing that can be compared"),
        ("add C-1 \"a\" -> pass UNVERIFIED | C-1 text \"b\"", "-- is       C-1 text \"a\""),
        ("add C-1 \"a\" -> pass UNVERIFIED | C-1 reason \"b\"", "C-1 is not DISPUTED"),
        ("add C-1 \"a\" confidence high -> pass", "expected a number from 0 to 1"),
        ("promote C-1 to DISPUTED -> pass", "\"DISPUTED\" is no status"),
        ("cycle pause -> pass", "expected begin or end"),
    ]);
}
