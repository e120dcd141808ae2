//! What only a client's chat file shows, through the real binary: calls that the client blocked, and who wrote a
//! prompt.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use crate::support::Site;
use crate::support::hooks::facts;
use haltline_agents::Client;
use haltline_agents::self_test::AnswerEffect;
use serde_json::{Value, json};

struct Chat<'a> {
    site: &'a Site,
    client: Client,
    file: PathBuf,
}

impl<'a> Chat<'a> {
    fn new(site: &'a Site, client: Client) -> Self {
        Self { site, client, file: site.file("chat.jsonl", "{\"sessionId\":\"s\"}\n") }
    }

    fn append(&self, line: &Value) {
        let mut file = OpenOptions::new().append(true).open(&self.file).expect("the chat file");
        writeln!(file, "{line}").expect("written");
    }

    fn deliver(&self, event: &str, more: Value) -> (AnswerEffect, String) {
        let mut payload = json!({ "session_id": "s", "hook_event_name": event, "cwd": self.site.project(),
            "transcript_path": self.file });
        if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
            payload.extend(more);
        }
        let mut command = self.site.command(&["hook", self.client.cli_name()]);
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
            self.client.protocol().self_test.effect_of_output(event, &out).expect("an answer the client understands");
        (answer, out.into_owned())
    }
}

/// A call that Gemini CLI's own rules block: no hook receives its end.
fn blocked_by_client(chat: &Chat<'_>, tool: &str, input: &Value) -> (AnswerEffect, String) {
    let answer = chat.deliver("BeforeTool", json!({ "tool_name": tool, "tool_input": input }));
    if answer.0 < AnswerEffect::Deny {
        let response = json!({ "error": "Tool execution denied by policy." });
        let result = json!([{ "functionResponse": { "id": "c", "name": tool, "response": response } }]);
        let call = json!({ "id": "c", "name": tool, "args": input, "result": result, "status": "error" });
        chat.append(&json!({ "id": "m", "type": "gemini", "content": "", "toolCalls": [call] }));
    }
    chat.deliver("BeforeModel", json!({ "llm_request": { "model": "m" } }));
    answer
}

#[test]
fn a_call_that_the_client_always_denies_is_denied_by_haltline_in_the_end() {
    let site = Site::new();
    let chat = Chat::new(&site, Client::Gemini);
    chat.deliver("BeforeAgent", json!({ "prompt": "go" }));
    let commands = ["npm test", "npm run build", "npm test", "npm run build"];
    let answers = commands.map(|line| blocked_by_client(&chat, "run_shell_command", &json!({ "command": line })).0);
    assert_eq!(answers, [AnswerEffect::Pass, AnswerEffect::Pass, AnswerEffect::Pass, AnswerEffect::Deny]);
    let denied = facts(&site).iter().filter(|fact| fact["word"] == "denied").count();
    assert_eq!(denied, 3, "each once");
}

#[test]
fn sub_agents_that_never_began_leave_room_for_others() {
    let site = Site::new();
    site.config("[loop.denials]\nenabled = false\n");
    let chat = Chat::new(&site, Client::Gemini);
    chat.deliver("BeforeAgent", json!({ "prompt": "go" }));
    for number in 1..=7 {
        let input = json!({ "agent_name": "helper", "prompt": format!("task {number}") });
        let (answer, out) = blocked_by_client(&chat, "invoke_agent", &input);
        assert!(answer < AnswerEffect::Deny, "{number}: {out}");
    }
}

/// One round of Qwen Code: a prompt, a failing call, and the attempt to end the turn.
fn round(chat: &Chat<'_>, number: usize, prompt: &str, is_person: bool) -> Vec<AnswerEffect> {
    let mut answers = vec![chat.deliver("UserPromptSubmit", json!({ "prompt": prompt })).0];
    if answers[0] >= AnswerEffect::Deny {
        return answers;
    }
    if is_person {
        chat.append(&json!({ "type": "user", "message": { "parts": [{ "text": prompt }] } }));
    }
    chat.append(&json!({ "uuid": number.to_string(), "type": "assistant", "message": { "parts": [] } }));
    let call = format!("c{number}");
    let call_fields =
        json!({ "tool_name": "run_shell_command", "tool_input": { "command": "make" }, "tool_use_id": call });
    answers.push(chat.deliver("PreToolUse", call_fields.clone()).0);
    if answers[1] < AnswerEffect::Deny {
        let text = "Command: make\nDirectory: (root)\nOutput: boom\nError: (none)\nExit Code: 2\nSignal: 0\n\
            Process Group PGID: 7";
        let mut ended = call_fields;
        ended["tool_response"] = json!({ "llmContent": text });
        answers.push(chat.deliver("PostToolUse", ended).0);
    }
    answers.push(chat.deliver("UserPromptSubmit", json!({ "prompt": "" })).0);
    if answers.last() < Some(&AnswerEffect::Deny) {
        chat.deliver("Stop", json!({ "stop_hook_active": true }));
    }
    answers
}

#[test]
fn the_text_of_a_stop_hook_that_keeps_the_agent_going_is_not_a_persons_prompt() {
    let site = Site::new();
    let chat = Chat::new(&site, Client::Qwen);
    let rounds: Vec<Vec<AnswerEffect>> =
        (1..=5).map(|number| round(&chat, number, if number == 1 { "go" } else { "not yet" }, number == 1)).collect();
    assert!(rounds[2].contains(&AnswerEffect::Warn), "the loop goes on over the hook's words: {rounds:?}");
    assert!(rounds[3].contains(&AnswerEffect::Deny), "{rounds:?}");
}

#[test]
fn a_person_who_prompts_again_after_each_turn_resets_the_counts() {
    let site = Site::new();
    let chat = Chat::new(&site, Client::Qwen);
    for number in 1..=9 {
        let answers = round(&chat, number, "once more", true);
        assert!(answers.iter().all(|answer| *answer == AnswerEffect::Pass), "{number}: {answers:?}");
    }
}

#[test]
fn a_prompt_in_the_chat_file_before_its_hooks_run_is_a_persons_too() {
    let site = Site::new();
    let chat = Chat::new(&site, Client::Qwen);
    for number in 1..=9 {
        chat.append(&json!({ "type": "user", "message": { "parts": [{ "text": "once more" }] } }));
        let answers = round(&chat, number, "once more", false);
        assert!(answers.iter().all(|answer| *answer == AnswerEffect::Pass), "{number}: {answers:?}");
    }
}

#[test]
fn a_hook_that_never_lets_the_agent_end_is_stopped_and_a_person_can_continue() {
    let site = Site::new();
    site.config("[loop.idle_continuation]\nenabled = false\n");
    let chat = Chat::new(&site, Client::Qwen);
    chat.deliver("UserPromptSubmit", json!({ "prompt": "go" }));
    chat.append(&json!({ "type": "user", "message": { "parts": [{ "text": "go" }] } }));
    let mut answers = Vec::new();
    for number in 1..=6 {
        chat.append(&json!({ "uuid": number.to_string(), "type": "assistant", "message": { "parts": [] } }));
        chat.deliver("Stop", json!({ "stop_hook_active": true }));
        answers.push(chat.deliver("UserPromptSubmit", json!({ "prompt": "not yet" })));
    }
    let (last, before) = answers.split_last().expect("six prompts");
    assert!(before.iter().all(|(answer, _)| *answer < AnswerEffect::Deny), "{answers:#?}");
    assert!(last.0 >= AnswerEffect::Deny && last.1.contains("HL-HOOK-02"), "{answers:#?}");
    assert_eq!(chat.deliver("UserPromptSubmit", json!({ "prompt": "go on" })).0, AnswerEffect::Pass);
}
