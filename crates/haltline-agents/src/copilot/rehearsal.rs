//! A loop in Copilot CLI's words, for `haltline doctor`. No answer ends this client: the last round is a refusal too, and a
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
        "hook_event_name": event,
        "session_id": session,
        // By its moment a call is told from the one before.
        "timestamp": format!("2026-01-01T00:00:{round:02}.000Z"),
        "cwd": folder,
    });
    let input = json!({ "command": "haltline-rehearsal --fail", "description": "rehearse" });
    let text = "haltline-rehearsal: failed as it should\n<shellId: 0 completed with exit code 1>";
    let more = match event {
        "SessionStart" => json!({ "source": "new" }),
        "PreToolUse" => json!({ "tool_name": "Bash", "tool_input": input }),
        "PostToolUse" => json!({
            "tool_name": "Bash", "tool_input": input,
            "tool_result": { "result_type": "success", "text_result_for_llm": text },
        }),
        _other => json!({}),
    };
    vec![always, more]
}

/// What an answer does, as the client takes it.
fn takes(event: &str, answer: &Value) -> Result<Answer, String> {
    let (flat, nested) = (&answer["additionalContext"], &answer["hookSpecificOutput"]["additionalContext"]);
    Ok(match event {
        "PreToolUse" if answer["permissionDecision"] == "deny" => {
            let is_given = is_said(&answer["permissionDecisionReason"]);
            return if is_given { Ok(Answer::Deny) } else { Err("a refusal without a reason".to_owned()) };
        }
        "PreToolUse" if is_said(flat) => {
            return Err("PreToolUse was answered where the client does not look".to_owned());
        }
        "PreToolUse" if is_said(nested) => Answer::Warn,
        "UserPromptSubmit" if answer["decision"] == "block" => Answer::Deny,
        "PreToolUse" => Answer::Pass,
        _other if is_said(flat) => Answer::Warn,
        _other => Answer::Pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_counts_only_where_the_client_looks_for_it() {
        let nested = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"x"}}"#;
        let flat = r#"{"additionalContext":"x"}"#;
        assert_eq!(REHEARSAL.read_answer("PreToolUse", nested), Ok(Answer::Warn));
        assert!(REHEARSAL.read_answer("PreToolUse", flat).is_err());
        assert_eq!(REHEARSAL.read_answer("PostToolUse", flat), Ok(Answer::Warn));
        assert_eq!(REHEARSAL.read_answer("PostToolUse", nested), Ok(Answer::Pass));
        let denial = r#"{"permissionDecision":"deny","permissionDecisionReason":"x"}"#;
        assert_eq!(REHEARSAL.read_answer("PreToolUse", denial), Ok(Answer::Deny));
        assert!(REHEARSAL.read_answer("PreToolUse", &denial.replace(r#""x""#, r#""""#)).is_err());
        assert!(REHEARSAL.read_answer("PreToolUse", "panicked").is_err());
    }
}
