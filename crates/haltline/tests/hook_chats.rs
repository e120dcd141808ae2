//! What only a client's chat file tells, through the real binary: calls that were kept from running, and who asked.

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

/// One round of Qwen Code: a prompt, a failing call, and the wish to end.
fn round(chat: &Chat<'_>, number: usize, prompt: &str, is_person: bool) -> Vec<Answer> {
    let mut said = vec![chat.tells("UserPromptSubmit", json!({ "prompt": prompt })).0];
    if said[0] >= Answer::Deny {
        return said;
    }
    if is_person {
        chat.writes(&json!({ "type": "user", "message": { "parts": [{ "text": prompt }] } }));
    }
    chat.writes(&json!({ "uuid": number.to_string(), "type": "assistant", "message": { "parts": [] } }));
    let call = format!("c{number}");
    let asked = json!({ "tool_name": "run_shell_command", "tool_input": { "command": "make" }, "tool_use_id": call });
    said.push(chat.tells("PreToolUse", asked.clone()).0);
    if said[1] < Answer::Deny {
        let text = "Command: make\nDirectory: (root)\nOutput: boom\nError: (none)\nExit Code: 2\nSignal: 0\n\
            Process Group PGID: 7";
        let mut ended = asked;
        ended["tool_response"] = json!({ "llmContent": text });
        said.push(chat.tells("PostToolUse", ended).0);
    }
    said.push(chat.tells("UserPromptSubmit", json!({ "prompt": "" })).0);
    if said.last() < Some(&Answer::Deny) {
        chat.tells("Stop", json!({ "stop_hook_active": true }));
    }
    said
}

#[test]
fn the_words_of_a_hook_that_keeps_the_agent_going_are_no_persons() {
    let site = Site::new();
    let chat = Chat::new(&site, Client::Qwen);
    let rounds: Vec<Vec<Answer>> =
        (1..=5).map(|number| round(&chat, number, if number == 1 { "go" } else { "not yet" }, number == 1)).collect();
    assert!(rounds[2].contains(&Answer::Warn), "the loop goes on over the hook's words: {rounds:?}");
    assert!(rounds[3].contains(&Answer::Deny), "{rounds:?}");
}

#[test]
fn a_person_who_asks_again_after_each_turn_begins_anew() {
    let site = Site::new();
    let chat = Chat::new(&site, Client::Qwen);
    for number in 1..=9 {
        let said = round(&chat, number, "once more", true);
        assert!(said.iter().all(|answer| *answer == Answer::Pass), "{number}: {said:?}");
    }
}

#[test]
fn a_prompt_that_is_written_down_before_its_hooks_run_is_a_persons_too() {
    let site = Site::new();
    let chat = Chat::new(&site, Client::Qwen);
    for number in 1..=9 {
        chat.writes(&json!({ "type": "user", "message": { "parts": [{ "text": "once more" }] } }));
        let said = round(&chat, number, "once more", false);
        assert!(said.iter().all(|answer| *answer == Answer::Pass), "{number}: {said:?}");
    }
}

#[test]
fn a_hook_that_never_lets_the_agent_end_is_ended_and_a_person_goes_on() {
    let site = Site::new();
    let chat = Chat::new(&site, Client::Qwen);
    chat.tells("UserPromptSubmit", json!({ "prompt": "go" }));
    chat.writes(&json!({ "type": "user", "message": { "parts": [{ "text": "go" }] } }));
    let mut said = Vec::new();
    for number in 1..=6 {
        chat.writes(&json!({ "uuid": number.to_string(), "type": "assistant", "message": { "parts": [] } }));
        chat.tells("Stop", json!({ "stop_hook_active": true }));
        said.push(chat.tells("UserPromptSubmit", json!({ "prompt": "not yet" })));
    }
    let (last, before) = said.split_last().expect("six prompts");
    assert!(before.iter().all(|(answer, _)| *answer < Answer::Deny), "{said:#?}");
    assert!(last.0 >= Answer::Deny && last.1.contains("HL-HOOK-02"), "{said:#?}");
    assert_eq!(chat.tells("UserPromptSubmit", json!({ "prompt": "go on" })).0, Answer::Pass);
}
