//! A loop in Cline's words, for `haltline doctor`.

use serde_json::{Value, json};

use crate::rehearsal::{Answer, Beat, Rehearsal, Told, is_said};

/// How the loop is played.
pub const REHEARSAL: Rehearsal = Rehearsal {
    opening: "TaskStart",
    round: &[
        Beat { event: "PreToolUse", comes_when_denied: true },
        // A refused call ends with an error, and that is told.
        Beat { event: "PostToolUse", comes_when_denied: true },
    ],
    expected: [Answer::Pass, Answer::Pass, Answer::Warn, Answer::Deny, Answer::Stop],
    says,
    takes,
};

const COMMAND: &str = "haltline-rehearsal --fail";

fn says(told: &Told<'_>) -> Vec<Value> {
    let Told { event, session, folder, round, is_denied } = *told;
    let always = json!({
        "clineVersion": "",
        "taskId": format!("conv_{session}"),
        "sessionContext": { "rootSessionId": session },
        "workspaceRoots": [folder],
        "agent_id": format!("agent_{session}"),
        "parent_agent_id": null,
    });
    let input = json!({ "commands": [COMMAND] });
    let call = format!("call_{round}");
    let more = match event {
        "TaskStart" => json!({ "hookName": "agent_start" }),
        "PreToolUse" => json!({ "hookName": "tool_call", "iteration": round,
            "tool_call": { "id": call, "name": "run_commands", "input": input } }),
        "PostToolUse" if is_denied => json!({ "hookName": "tool_result", "iteration": round,
            "tool_result": { "id": call, "name": "run_commands", "input": null, "error": "[object Object]",
                "output": { "error": "Invalid input" } } }),
        "PostToolUse" => json!({ "hookName": "tool_result", "iteration": round,
            "tool_result": { "id": call, "name": "run_commands", "input": input, "output": [{ "query": COMMAND,
                "result": "[Command exited with code 1]\nhaltline-rehearsal: failed as it should\n",
                "error": "Command exited with code 1", "success": false }] } }),
        _other => json!({}),
    };
    vec![always, more]
}

/// What an answer does, as the client takes it; an error where the client would throw it away.
fn takes(event: &str, answer: &Value) -> Result<Answer, String> {
    let is_read = matches!(event, "PreToolUse" | "PostToolUse");
    if !is_read && !answer.is_null() {
        return Err(format!("{event} was answered, which nobody reads"));
    }
    if answer["cancel"] == true {
        return Ok(Answer::Stop);
    }
    let takes_away = event == "PreToolUse" && answer.get("overrideInput") == Some(&Value::Null);
    match (takes_away, is_said(&answer["contextModification"])) {
        (true, true) => Ok(Answer::Deny),
        (true, false) => Err("a refusal without a reason".to_owned()),
        (false, true) => Ok(Answer::Warn),
        (false, false) => Ok(Answer::Pass),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_nobody_reads_is_an_error() {
        let denial = r#"{"overrideInput":null,"contextModification":"x"}"#;
        assert_eq!(REHEARSAL.read_answer("PreToolUse", denial), Ok(Answer::Deny));
        assert_eq!(REHEARSAL.read_answer("PostToolUse", denial), Ok(Answer::Warn));
        assert!(REHEARSAL.read_answer("PreToolUse", r#"{"overrideInput":null}"#).is_err());
        assert!(REHEARSAL.read_answer("TaskStart", denial).is_err());
        assert!(REHEARSAL.read_answer("PreToolUse", "panicked").is_err());
        assert_eq!(REHEARSAL.read_answer("PreToolUse", r#"{"cancel":true}"#), Ok(Answer::Stop));
        assert_eq!(REHEARSAL.read_answer("PreToolUse", "{}"), Ok(Answer::Pass));
    }
}
