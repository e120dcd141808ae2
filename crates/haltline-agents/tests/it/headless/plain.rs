//! Notices and quotations of them in plain text.

use haltline_agents::headless::{Ending, Reset};

fn ending(output: &str) -> Ending {
    super::report(output).ending
}

fn is_limit_ending(text: &str) -> bool {
    matches!(ending(text), Ending::ApiLimit { .. })
}

#[test]
fn a_notice_at_the_end_is_a_limit() {
    for text in [
        "Claude AI usage limit reached|1749924000",
        "Working on it.\n\nYou've hit your limit · resets 10pm (America/New_York)\n",
        "5-hour limit reached ∙ resets 3pm\n     /upgrade to increase your usage limit.\n",
        "■ You've hit your usage limit. Upgrade to Pro (https://openai.com) or try again in 5 days 22 hours 11\nminutes.\n",
        "[2026-02-12T10:00:00] ERROR: You've hit your usage limit. To get more access now, send a request to your admin.\nor try again at 3:04 PM.\ntokens used\n12,345\n",
        "You’re out of extra usage · resets 9pm",
        "API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}",
        "ERROR: exceeded retry limit, last status: 429 Too Many Requests",
        "You've hit your limit · resets 1am\nnpm ERR! code ELIFECYCLE\nloop.sh: claude exited with 1\n",
    ] {
        assert!(is_limit_ending(text), "{text}");
    }
    let two_lines = "You've hit your usage limit. Send a request to your admin.\nor try again at 3:04 PM.";
    let Ending::ApiLimit { resets, .. } = ending(two_lines) else { panic!("a limit") };
    assert_eq!(resets, Some(Reset::Clock { hour: 15, minute: 4, zone: None }));
}

#[test]
fn a_quoted_limit_is_not_a_limit() {
    for (case, text) in [
        ("a block of code", "Here is the notice:\n\n```\nYou've hit your limit · resets 3pm\n```\n"),
        ("an open block of code", "```text\nYou've hit your limit · resets 3pm\n"),
        ("an indented block", "The log has\n\n    You've hit your limit · resets 3pm\n"),
        ("a field of JSON", "  \"message\": \"You've hit your limit · resets 3pm\",\n"),
        ("a JSON line", "{\"result\":\"Claude AI usage limit reached|1749924000\"}\n"),
        ("an added line", "+You've hit your limit · resets 3pm\n"),
        ("a removed line", "-Claude AI usage limit reached|1749924000\n"),
        ("grep with a file", "src/limit.rs:12:You've hit your limit · resets 3pm\n"),
        ("grep with a number", "12:You've hit your limit · resets 3pm\n"),
        ("a numbered listing", "  12→You've hit your limit · resets 3pm\n"),
        ("a comment", "// You've hit your limit · resets 3pm\n"),
        ("a heading", "# 5-hour limit reached\n"),
        ("a quotation", "> You've hit your limit · resets 3pm\n"),
        ("a table", "| You've hit your limit | resets 3pm |\n"),
        ("a tool's answer", "⎿  You've hit your limit · resets 3pm\n"),
        ("inside a sentence", "The client says You've hit your limit when it does.\n"),
        ("in quotes", "\"You've hit your limit · resets 3pm\"\n"),
        ("introduced", "The file says:\nYou've hit your limit · resets 3pm\n"),
        (
            "followed by prose",
            "You've hit your limit · resets 3pm\nThat is the line we have to look for in the tail.\n",
        ),
        ("rate limits as a subject", "I added a rate limit to the API and handled 429 responses.\n"),
        ("usage limits as a subject", "The usage limit is now configurable.\n"),
        ("a test's name", "test tests::usage_limit_reached ... ok\n"),
    ] {
        assert_eq!(ending(text), Ending::Silent, "{case}");
    }
    let long_ago = format!("You've hit your limit · resets 3pm\n{}", "ok\n".repeat(30));
    assert_eq!(ending(&long_ago), Ending::Silent);
}

#[test]
fn text_about_errors_is_not_an_error() {
    for text in [
        "\"is_error\": false,\n\"error_count\": 0\n",
        "{\"is_error\": false, \"errors\": [], \"permission_denials\": []}\n",
        "All error handling is in place; timeouts and overloaded servers are retried.\n",
        "Fixed the network error in the client.\n",
        "error[E0308]: mismatched types\n",
    ] {
        assert_eq!(ending(text), Ending::Silent, "{text}");
    }
}

#[test]
fn a_client_that_announces_its_failure_is_believed() {
    for text in [
        "API Error: 529 Overloaded. This is a server-side issue.\n",
        "ERROR: stream disconnected before completion: error sending request\n",
        "Error: Unable to connect to API (ECONNREFUSED)\n",
    ] {
        assert!(matches!(ending(text), Ending::Infrastructure { .. }), "{text}");
    }
    assert_eq!(ending("API Error: 400 scripted bad request\n"), Ending::Silent);
}
