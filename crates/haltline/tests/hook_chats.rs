//! What only a client's chat file tells, through the real binary: calls that were kept from running.

mod support;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use haltline_agents::Client;
use haltline_agents::rehearsal::Answer;
use serde_json::{Value, json};
use support::Site;
use support::hooks::facts;

/// A session with a chat file.
struct Chat<'a> {
    site: &'a Site,
    client: Client,
    file: PathBuf,
}

impl<'a> Chat<'a> {
    fn new(site: &'a Site, client: Client) -> Self {
        Self { site, client, file: site.file("chat.jsonl", "{\"sessionId\":\"s\"}\n") }
    }

    fn writes(&self, line: &Value) {
        let mut file = OpenOptions::new().append(true).open(&self.file).expect("the chat file");
        writeln!(file, "{line}").expect("written");
    }

    fn tells(&self, event: &str, more: Value) -> (Answer, String) {
        let mut payload = json!({ "session_id": "s", "hook_event_name": event, "cwd": self.site.project(),
            "transcript_path": self.file });
        if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
            payload.extend(more);
        }
        let mut command = self.site.command(&["hook", self.client.word()]);
        command.env("XDG_RUNTIME_DIR", self.site.home());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(payload.to_string().as_bytes()).expect("the hook reads its event");
        drop(stdin);
        let output = child.wait_with_output().expect("waited for");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!((output.status.code(), err.as_ref()), (Some(0), ""), "{out}");
        let answer =
            self.client.protocol().rehearsal.read_answer(event, &out).expect("an answer the client understands");
        (answer, out.into_owned())
    }
}

/// A call of Gemini CLI that its own rules keep from running: no hook is told of its end.
fn kept_from_running(chat: &Chat<'_>, tool: &str, input: &Value) -> (Answer, String) {
    let said = chat.tells("BeforeTool", json!({ "tool_name": tool, "tool_input": input }));
    if said.0 < Answer::Deny {
        let response = json!({ "error": "Tool execution denied by policy." });
        let result = json!([{ "functionResponse": { "id": "c", "name": tool, "response": response } }]);
        let call = json!({ "id": "c", "name": tool, "args": input, "result": result, "status": "error" });
        chat.writes(&json!({ "id": "m", "type": "gemini", "content": "", "toolCalls": [call] }));
    }
    chat.tells("BeforeModel", json!({ "llm_request": { "model": "m" } }));
    said
}

#[test]
fn a_call_that_the_client_always_denies_is_refused_in_the_end() {
    let site = Site::new();
    let chat = Chat::new(&site, Client::Gemini);
    chat.tells("BeforeAgent", json!({ "prompt": "go" }));
    let commands = ["npm test", "npm run build", "npm test", "npm run build"];
    let said = commands.map(|line| kept_from_running(&chat, "run_shell_command", &json!({ "command": line })).0);
    assert_eq!(said, [Answer::Pass, Answer::Pass, Answer::Pass, Answer::Deny]);
    let denied = facts(&site).iter().filter(|fact| fact["word"] == "denied").count();
    assert_eq!(denied, 3, "each is told once");
}

#[test]
fn sub_agents_that_never_began_leave_room_for_others() {
    let site = Site::new();
    site.config("[loop.denials]\nenabled = false\n");
    let chat = Chat::new(&site, Client::Gemini);
    chat.tells("BeforeAgent", json!({ "prompt": "go" }));
    for number in 1..=7 {
        let input = json!({ "agent_name": "helper", "prompt": format!("task {number}") });
        let (answer, out) = kept_from_running(&chat, "invoke_agent", &input);
        assert!(answer < Answer::Deny, "{number}: {out}");
    }
}
