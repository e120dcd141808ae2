//! Text of `haltline demo`.

use haltline_core::loop_::dollars;

use super::Page;
use crate::view::demo::{DemoCallView, DemoView, LeftAloneView};

/// The parts of the screen, in order; a terminal shows them one after the other.
pub fn demo(view: &DemoView) -> Vec<String> {
    let mut page = Page::new(0);
    page.sentence(format_args!(
        "An agent in {} should make the tests pass. It runs the same command again and again. Its calls are scripted, \
         haltline's answers are real, and nothing is installed.",
        view.client
    ));
    page.blank();
    let mut parts = vec![page.finish()];
    parts.extend(view.calls.iter().map(call));
    parts.push(why(&view.why_text));
    parts.push(left_alone(&view.left_alone));
    parts.push(format!("\nInstall haltline for your agents:\n\n  {}\n", view.install));
    parts
}

fn call(call: &DemoCallView) -> String {
    let mut page = Page::new(10);
    page.row(&format!("call {}", call.number), format_args!("$ {}", call.command));
    let reaction = match call.verdict {
        "warn" => Some("haltline warns the agent:"),
        "deny" => Some("haltline denies the call. The agent reads:"),
        "stop" => Some("haltline ends the turn. The agent reads:"),
        _pass => None,
    };
    if let (Some(reaction), Some(text)) = (reaction, &call.to_agent) {
        page.row("", reaction);
        text.lines().for_each(|line| page.wrapped("            ", line));
    }
    page.rows("", call.result);
    page.finish()
}

fn why(text: &str) -> String {
    let mut page = Page::new(0);
    page.line("\nYou type `haltline why` to see what happened:\n");
    page.block(text);
    page.finish()
}

fn left_alone(view: &LeftAloneView) -> String {
    let LeftAloneView { hours, calls, conversation_tokens, cost_micros, model, prices_date, tokens } = view;
    let mut page = Page::new(0);
    page.blank();
    page.sentence(format_args!(
        "Left alone until morning: one call a minute for {hours} hours is {calls} calls and {} million tokens, about {}. \
         This estimate assumes a conversation of {} thousand tokens, read from the cache, and the list prices of \
         {model} ({prices_date}).",
        tokens / 1_000_000,
        dollars(*cost_micros),
        conversation_tokens / 1000
    ));
    page.finish()
}
