//! What agents say last, and what it is (`testdata/turn_ends.txt`).

use std::fs;
use std::path::Path;

use haltline_agents::headless::{Ending, Told};
use haltline_agents::turn_end::{TurnEnd, reading};

fn saying(message: &str) -> Told {
    Told { last_message: message.to_owned(), ending: Ending::Finished, ..Told::default() }
}

#[test]
fn every_message_is_what_the_table_says() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/turn_ends.txt");
    let table = fs::read_to_string(table).expect("the table is there");
    let (mut asked, mut others) = (0, 0);
    for case in table.split("\n=== ").skip(1) {
        let (title, message) = case.split_once('\n').unwrap_or((case, ""));
        let expected = match title.split_once(' ') {
            Some(("asks", question)) => TurnEnd::Asked { question: question.to_owned() },
            Some(_) => panic!("{title}"),
            None if title == "plans" => TurnEnd::PlanOnly,
            None => TurnEnd::Other,
        };
        assert_eq!(reading(&saying(message)), expected, "{title}\n{message}");
        asked += u32::from(matches!(expected, TurnEnd::Asked { .. }));
        others += u32::from(expected == TurnEnd::Other);
    }
    assert!(asked >= 12 && others >= 12, "{asked} questions, {others} others");
}

#[test]
fn a_question_by_tool_and_plan_mode_need_no_words() {
    let by_tool = Told { asked: Some("Which one?".to_owned()), ..saying("Let me ask.") };
    assert_eq!(reading(&by_tool), TurnEnd::Asked { question: "Which one?".to_owned() });
    let planning = Told { is_planning: true, ..saying("I looked around.") };
    assert_eq!(reading(&planning), TurnEnd::PlanOnly);
    assert_eq!(reading(&Told { writing_calls: 1, ..planning }), TurnEnd::Other);
}

#[test]
fn a_turn_that_was_ended_for_it_asked_nothing() {
    let limited = Ending::ApiLimit { resets: None, message: String::new() };
    for ending in [Ending::Turns, Ending::Hook { reason: None }, limited] {
        assert_eq!(reading(&Told { ending, ..saying("Should I go on?") }), TurnEnd::Other);
    }
    assert!(matches!(reading(&Told { ending: Ending::Silent, ..saying("Should I go on?") }), TurnEnd::Asked { .. }));
}
