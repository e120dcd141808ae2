//! Runs `testdata/loop/*.txt`: the rules of SPEC.md on running sessions, written as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and has a world to itself. `testdata/loop/README.txt` explains the language.

use crate::language::interpreter;
use crate::loop_::script::LoopRules;

#[test]
fn every_paragraph_of_every_file_holds() {
    interpreter::play_all::<LoopRules>();
}

#[test]
fn every_rule_has_a_paragraph() {
    interpreter::assert_every_rule_has_a_paragraph::<LoopRules>();
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    interpreter::assert_mistakes::<LoopRules>(&[
        ("run \"x\" -> warn", "-- is       pass"),
        ("run x -> pass", "expected a text in quotes"),
        ("run \"x\" twice -> pass", "unexpected \"twice\""),
        ("run \"x\" gives lost -> pass", "\"lost\" is no outcome"),
        ("rum \"x\" -> pass", "\"rum\" is no event"),
        ("run \"x\" -> pass | circuit none", "\"circuit none\" is nothing"),
        ("run \"x\" -> pass | says \"loop\"", "-- is       says \"\""),
        ("set repeat.wran 2", "\"repeat.wran\" is no limit"),
        ("set repeat.warn two", "repeat.warn two"),
        ("client odd", "expected marks-batches, plain, names-starts or no-call-ids HOOK-SOURCE"),
        ("spent cost 1 -> pass", "expected dollars and cents"),
        ("resume -> pass", "-- is       rejected no incident"),
    ]);
}
