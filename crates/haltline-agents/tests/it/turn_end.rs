//! Last messages of agents, and how haltline classifies them (`testdata/turn_ends.txt`).

mod iteration_error;

use std::fs;
use std::path::Path;

use haltline_agents::headless::{Ending, HeadlessReport};
use haltline_agents::turn_end::{TurnEnd, turn_end_of};

fn report_with_message(message: &str) -> HeadlessReport {
    HeadlessReport { last_message: message.to_owned(), ending: Ending::Finished, ..HeadlessReport::default() }
}

#[test]
fn every_message_is_classified_as_in_the_table() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/turn_ends.txt");
    let table = fs::read_to_string(table).expect("the table is there");
    let (mut questions, mut others) = (0, 0);
    for case in table.split("\n=== ").skip(1) {
        let (title, message) = case.split_once('\n').unwrap_or((case, ""));
        let expected = match title.split_once(' ') {
            Some(("asks", question)) => TurnEnd::AskedUser { question: question.to_owned() },
            Some(_) => panic!("{title}"),
            None if title == "plans" => TurnEnd::PlanOnly,
            None => TurnEnd::Other,
        };
        assert_eq!(turn_end_of(&report_with_message(message)), expected, "{title}\n{message}");
        questions += u32::from(matches!(expected, TurnEnd::AskedUser { .. }));
        others += u32::from(expected == TurnEnd::Other);
    }
    assert!(questions >= 12 && others >= 12, "{questions} questions, {others} others");
}

#[test]
fn a_question_by_tool_and_plan_mode_need_no_text() {
    let by_tool = HeadlessReport { question: Some("Which one?".to_owned()), ..report_with_message("Let me ask.") };
    assert_eq!(turn_end_of(&by_tool), TurnEnd::AskedUser { question: "Which one?".to_owned() });
    let planning = HeadlessReport { is_planning: true, ..report_with_message("I looked around.") };
    assert_eq!(turn_end_of(&planning), TurnEnd::PlanOnly);
    assert_eq!(turn_end_of(&HeadlessReport { writing_calls: 1, ..planning }), TurnEnd::Other);
}

#[test]
fn a_turn_that_was_cut_short_asks_nothing() {
    let limited = Ending::ApiLimit { resets: None, message: String::new() };
    for ending in [Ending::Turns, Ending::Hook { reason: None }, limited] {
        assert_eq!(turn_end_of(&HeadlessReport { ending, ..report_with_message("Should I go on?") }), TurnEnd::Other);
    }
    assert!(matches!(
        turn_end_of(&HeadlessReport { ending: Ending::Silent, ..report_with_message("Should I go on?") }),
        TurnEnd::AskedUser { .. }
    ));
}
