//! Delivers events to hooks through the real binary, as Claude Code does.

use std::io::Write;
use std::process::{Child, Stdio};

use haltline_agents::claude;
use haltline_agents::self_test::AnswerEffect;
use serde_json::{Value, json};

use crate::support::{Site, names};

/// One client's session at a site.
pub struct Client<'a> {
    pub site: &'a Site,
    pub session: &'static str,
}

/// What a hook printed, and what its client does with it.
#[derive(Debug)]
pub struct HookResult {
    pub answer: AnswerEffect,
    /// What the model reads.
    pub to_agent: String,
    /// What the person reads.
    pub to_person: String,
}

impl Client<'_> {
    /// Starts the hook of an event. `more` has the event's own fields.
    pub fn begin(&self, event: &str, more: Value) -> Child {
        let mut payload = json!({
            "session_id": self.session,
            "cwd": self.site.project(),
            "permission_mode": "default",
            "hook_event_name": event,
        });
        if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
            payload.extend(more);
        }
        let mut command = self.site.command(&["hook", "claude"]);
        // The once-per-session markers belong to this site.
        command.env("XDG_RUNTIME_DIR", self.site.home());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(payload.to_string().as_bytes()).expect("the hook reads its event");
        child
    }

    /// Waits for a hook. It always ends with 0 and never writes to standard error.
    pub fn finish(event: &str, child: Child) -> HookResult {
        let output = child.wait_with_output().expect("waited for");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!((output.status.code(), err.as_ref()), (Some(0), ""), "{out}");
        let answer = claude::SELF_TEST.effect_of_output(event, &out).expect("an answer the client understands");
        let json: Value = serde_json::from_str(&out).unwrap_or_default();
        let special = &json["hookSpecificOutput"];
        let texts = [&special["permissionDecisionReason"], &special["additionalContext"], &json["reason"]];
        let to_agent = texts.iter().find_map(|text| text.as_str()).unwrap_or_default().to_owned();
        let to_person = [&json["systemMessage"], &json["stopReason"]];
        let to_person = to_person.iter().filter_map(|text| text.as_str()).collect::<Vec<_>>().join("\n");
        HookResult { answer, to_agent, to_person }
    }

    pub fn deliver(&self, event: &str, more: Value) -> HookResult {
        Self::finish(event, self.begin(event, more))
    }

    pub fn prompt(&self, text: &str) -> HookResult {
        self.deliver("UserPromptSubmit", json!({"prompt": text}))
    }

    pub fn ask(&self, call: &str, tool: &str, input: &Value) -> HookResult {
        self.deliver("PreToolUse", json!({"tool_name": tool, "tool_input": input, "tool_use_id": call}))
    }

    /// A whole call, alone in its response: its start, its end if it was allowed to run, and the end of its batch.
    pub fn call(&self, call: &str, tool: &str, input: &Value, came_back: Result<Value, &str>) -> HookResult {
        let result = self.ask(call, tool, input);
        let of_call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": call});
        let with = |key: &str, value: Value| {
            let mut whole = of_call.clone();
            whole[key] = value;
            whole
        };
        let response = if result.answer >= AnswerEffect::Deny {
            json!("Denied by a hook")
        } else {
            match &came_back {
                Ok(response) => self.deliver("PostToolUse", with("tool_response", response.clone())),
                Err(error) => self.deliver("PostToolUseFailure", with("error", json!(error))),
            };
            came_back.unwrap_or_else(|error| json!(error))
        };
        self.deliver("PostToolBatch", json!({"tool_calls": [with("tool_response", response)]}));
        result
    }

    pub fn shell(&self, call: &str, command: &str, came_back: Result<&str, &str>) -> HookResult {
        let came_back = came_back.map(|out| json!({"stdout": out, "stderr": "", "interrupted": false}));
        self.call(call, "Bash", &json!({"command": command}), came_back)
    }
}

/// All facts of the project, from `journal export`.
pub fn facts(site: &Site) -> Vec<Value> {
    let export = site.run(&["journal", "export"]);
    assert_eq!(export.code, Some(0), "{}", export.err);
    export.out.lines().map(|line| serde_json::from_str(line).expect("JSON lines")).collect()
}

/// How many events wait in the spool.
pub fn waiting(site: &Site) -> usize {
    let spool = site.state().join("spool");
    names(&spool).iter().map(|project| names(&spool.join(project)).len()).sum()
}
