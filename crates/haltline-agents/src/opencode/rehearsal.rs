//! A loop in the words of OpenCode's plugin, for `haltline doctor`.

use serde_json::{Value, json};

use crate::rehearsal::{Answer, Beat, Rehearsal, Told, is_said};

/// How the loop is played.
pub const REHEARSAL: Rehearsal = Rehearsal {
    opening: "session.created",
    round: &[
        Beat { event: "tool.execute.before", comes_when_denied: true },
        Beat { event: "tool.execute.after", comes_when_denied: false },
    ],
    expected: [Answer::Pass, Answer::Pass, Answer::Warn, Answer::Deny, Answer::Stop],
    says,
    takes,
};

fn says(told: &Told<'_>) -> Vec<Value> {
    let Told { event, session, folder, round, .. } = *told;
    let always = json!({ "event": event, "session": session, "folder": folder });
    let call = json!({
        "tool": "bash", "call": format!("call_{round}"), "message": format!("msg_{session}_{round}"),
        "input": { "command": "haltline-rehearsal --fail", "description": "A command that always fails" },
    });
    let end = json!({ "output": "haltline-rehearsal: failed as it should\n", "metadata": { "exit": 1 } });
    match event {
        "tool.execute.before" => vec![always, call],
        "tool.execute.after" => vec![always, call, end],
        _other => vec![always],
    }
}

/// What an answer does, as the plugin takes it; an error where the plugin would ignore it.
fn takes(event: &str, answer: &Value) -> Result<Answer, String> {
    let says = |key: &str| is_said(&answer[key]);
    let is_before = event == "tool.execute.before";
    if says("deny") && !is_before {
        return Err(format!("{event} was answered with deny, which nobody hears there"));
    }
    Ok(match (answer["stop"] == true, says("deny"), says("tell")) {
        (true, false, _) if is_before => return Err("a stop without a refusal would let the call run".to_owned()),
        (true, _, _) => Answer::Stop,
        (false, true, _) => Answer::Deny,
        (false, false, true) => Answer::Warn,
        (false, false, false) => Answer::Pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_as_the_plugin_takes_it() {
        let before = |out: &str| REHEARSAL.read_answer("tool.execute.before", out);
        assert_eq!(before(""), Ok(Answer::Pass));
        assert_eq!(before(r#"{"notice":"x"}"#), Ok(Answer::Pass));
        assert_eq!(before(r#"{"tell":"x"}"#), Ok(Answer::Warn));
        assert_eq!(before(r#"{"deny":"x"}"#), Ok(Answer::Deny));
        assert_eq!(before(r#"{"deny":"x","stop":true}"#), Ok(Answer::Stop));
        assert!(before(r#"{"stop":true}"#).is_err());
        assert!(before("panicked").is_err());
        assert!(REHEARSAL.read_answer("tool.execute.after", r#"{"deny":"x"}"#).is_err());
    }
}
