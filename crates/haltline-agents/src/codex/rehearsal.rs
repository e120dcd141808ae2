//! A loop in Codex's words, for `haltline doctor`. No answer ends this client: the last round is a refusal too, and a
//! rehearsal interrupts nobody.

use serde_json::{Value, json};

use crate::rehearsal::{Answer, Beat, Rehearsal, Told, is_said};

/// How the loop is played.
pub const REHEARSAL: Rehearsal = Rehearsal {
    opening: "SessionStart",
    round: &[
        Beat { event: "PreToolUse", comes_when_denied: true },
        Beat { event: "PostToolUse", comes_when_denied: false },
    ],
    expected: [Answer::Pass, Answer::Pass, Answer::Warn, Answer::Deny, Answer::Deny],
    says,
    takes,
};

fn says(told: &Told<'_>) -> Vec<Value> {
    let Told { event, session, folder, round, .. } = *told;
    let always = json!({
        "session_id": session,
        "transcript_path": null,
        "cwd": folder,
        "hook_event_name": event,
        "model": "rehearsal",
        "permission_mode": "default",
    });
    let input = json!({ "command": "haltline-rehearsal --fail" });
    let call = format!("call_{session}_{round}");
    let more = match event {
        "SessionStart" => json!({ "source": "startup" }),
        "PreToolUse" => json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": call }),
        "PostToolUse" => json!({
            "tool_name": "Bash", "tool_input": input, "tool_use_id": call,
            "tool_response": "haltline-rehearsal: failed as it should\n",
        }),
        _other => json!({}),
    };
    vec![always, more]
}

/// What an answer does, as the client takes it; an error where the client would throw it away.
fn takes(event: &str, answer: &Value) -> Result<Answer, String> {
    let special = &answer["hookSpecificOutput"];
    if !special.is_null() && special["hookEventName"] != event {
        return Err(format!("{event} was answered for {}", special["hookEventName"]));
    }
    if event == "PreToolUse" {
        for field in ["continue", "stopReason", "suppressOutput"] {
            if !answer[field].is_null() {
                return Err(format!("PreToolUse was answered with {field}, which voids the answer"));
            }
        }
    }
    if special["permissionDecision"] == "deny" {
        let is_given = is_said(&special["permissionDecisionReason"]);
        return if is_given { Ok(Answer::Deny) } else { Err("a refusal without a reason counts as none".to_owned()) };
    }
    let is_stopped = answer["continue"] == false && event != "PostToolUse";
    Ok(match event {
        _any if is_stopped => Answer::Stop,
        "UserPromptSubmit" if answer["decision"] == "block" => Answer::Deny,
        _other if is_said(&special["additionalContext"]) => Answer::Warn,
        _other => Answer::Pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_with_a_field_too_many_is_an_error() {
        let denial = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"x"}}"#;
        assert_eq!(REHEARSAL.read_answer("PreToolUse", denial), Ok(Answer::Deny));
        assert!(REHEARSAL.read_answer("PreToolUse", &denial.replacen('{', r#"{"continue":false,"#, 1)).is_err());
        assert!(REHEARSAL.read_answer("PreToolUse", &denial.replace(r#""x""#, r#""""#)).is_err());
        assert!(REHEARSAL.read_answer("PreToolUse", "panicked").is_err());
        assert_eq!(REHEARSAL.read_answer("Stop", r#"{"continue":false}"#), Ok(Answer::Stop));
        assert_eq!(REHEARSAL.read_answer("PostToolUse", r#"{"continue":false}"#), Ok(Answer::Pass));
    }
}
