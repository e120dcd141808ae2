//! Runs `testdata/attempt/*.txt`: the rules of SPEC.md and of seed 000 as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and runs in its own world. `testdata/attempt/README.txt` explains the
//! language.

use crate::attempt::script::AttemptRules;
use crate::language::interpreter;

#[test]
fn every_paragraph_of_every_file_holds() {
    interpreter::play_all::<AttemptRules>();
}

#[test]
fn every_rule_has_a_paragraph() {
    interpreter::assert_every_rule_has_a_paragraph::<AttemptRules>();
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    interpreter::assert_mistakes::<AttemptRules>(&[
        ("begin -> pass OPEN", "-- is       pass CLOSED"),
        ("begin -> pass CLOSED 1/0", "-- is       pass CLOSED 0/0"),
        ("began -> pass CLOSED", "\"began\" is no event"),
        ("begin src/ -> pass CLOSED", "unexpected \"src/\""),
        ("begin in-scope ../x -> pass CLOSED", "\"../x\" contains `..`"),
        ("begin in-scope nothing src/ -> pass CLOSED", "unexpected \"src/\""),
        ("begin -> pass CLOSED | fact began", "\"fact began\" is nothing"),
        ("begin -> pass CLOSED | facts none", "-- is       facts began"),
        ("begin -> pass CLOSED | totals failures 0", "\"totals failures 0\" is nothing"),
        ("begin -> pass CLOSED | kept login 0", "-- is       kept login unknown"),
        ("begin -> pass CLOSED | says \"x\"", "-- is       says \"\""),
        ("run login failed -> pass CLOSED", "expected passes, fails, infra or unclear"),
        ("run login fails twice -> pass CLOSED", "unexpected \"twice\""),
        ("run login fails summary boom -> pass CLOSED", "expected a text in quotes"),
        ("touch a justified \"t\" \"r\" -> pass CLOSED", "the line ends too early"),
        ("deviate 5 \"x\" -> pass CLOSED", "\"5\" is no rule"),
        ("rollback -> pass CLOSED", "expected `to` a checkpoint"),
        ("reset \"x\" to c1 -> pass CLOSED", "expected `kept` and where"),
        ("ask -> pass CLOSED", "-- is       rejected no slice"),
        ("snapshot a1..b9 -> pass CLOSED", "expected the same name on both sides"),
        ("slice S/1", "slice \"S/1\": expected a name such as S-12"),
        ("case big", "expected sensitive or insensitive"),
    ]);
}
