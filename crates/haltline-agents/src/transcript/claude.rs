//! Claude Code's session files: one JSON record a line, sub-agents in files of their own.
//!
//! What came back from a call stands there twice, as the tool's own object and as the text for the model; the first is
//! what the live hook is told of a success, the second what it is told of a failure, and both are read by its code.
//! What a sub-agent does is also told in the main file while it works (`agent_progress`): an echo.

mod prompt;

use std::borrow::Cow;

use haltline_core::Instant;
use haltline_core::identity::{Action, Answer, Said};
use haltline_core::loop_::{Happening, Stream};
use serde::Deserialize;

use super::record::{self, Calls, Unread};
use super::{Damaged, Entry};
use crate::claude::response;
use crate::claude::transcript::{Counted, Message, part_of};
use crate::json;
use crate::price::{self, Price};

/// How many responses are remembered so that none is counted twice.
const RESPONSES_MAX: usize = 1024;
/// More sub-agents than this never run in the background at once.
const CHILDREN_MAX: usize = 256;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    subtype: Unread<'a>,
    session_id: Unread<'a>,
    agent_id: Unread<'a>,
    is_sidechain: Unread<'a>,
    is_meta: Unread<'a>,
    is_compact_summary: Unread<'a>,
    timestamp: Unread<'a>,
    cwd: Unread<'a>,
    request_id: Unread<'a>,
    message: Unread<'a>,
    tool_use_result: Unread<'a>,
    data: Unread<'a>,
    attachment: Unread<'a>,
    compact_metadata: Unread<'a>,
    prompt_source: Unread<'a>,
    origin: Unread<'a>,
}

/// What a sub-agent does, as the main file tells it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Progress<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    agent_id: Unread<'a>,
    message: Unread<'a>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    id: Unread<'a>,
    name: Unread<'a>,
    input: Unread<'a>,
    text: Unread<'a>,
    tool_use_id: Unread<'a>,
    content: Unread<'a>,
    is_error: Unread<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attachment<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    prompt: Unread<'a>,
    command_mode: Unread<'a>,
}

#[derive(Deserialize)]
struct Origin<'a> {
    #[serde(borrow)]
    kind: Unread<'a>,
}

#[derive(Deserialize)]
struct Compaction<'a> {
    #[serde(borrow)]
    trigger: Unread<'a>,
}

/// Reads the lines of one file.
#[derive(Debug)]
pub struct ClaudeReader {
    /// The session, where a line does not say.
    session: String,
    prices: Vec<Price>,
    calls: Calls,
    counted: Counted,
    /// Sub-agents that go on in the background.
    children: Vec<String>,
    /// A hook kept the agent from ending its turn since the last prompt.
    is_kept_going: bool,
}

/// Where and when a line was written, and by whom.
struct Place {
    at: Option<Instant>,
    stream: Stream,
    folder: Option<String>,
    is_echo: bool,
}

impl Place {
    fn entry(&self, what: Happening) -> Entry {
        Entry { at: self.at, stream: self.stream.clone(), what, is_echo: self.is_echo }
    }
}

impl ClaudeReader {
    /// A reader of a file of this name.
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self {
            session: name.to_owned(),
            prices: prices.to_vec(),
            calls: Calls::default(),
            counted: Counted::new(RESPONSES_MAX),
            children: Vec::new(),
            is_kept_going: false,
        }
    }

    /// Reads one line.
    pub fn take(&mut self, line: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        record::each(line, |line: Line<'_>| self.line(&line, entries))
    }

    fn line(&mut self, line: &Line<'_>, entries: &mut Vec<Entry>) {
        if record::is_word(line.r#type, "assistant") {
            self.response(line, &self.place(line), entries);
        } else if record::is_word(line.r#type, "user") {
            self.results_and_prompt(line, &self.place(line), entries);
        } else if record::is_word(line.r#type, "system") {
            self.note(line, entries);
        } else if record::is_word(line.r#type, "progress") {
            self.progress(line, entries);
        } else if record::is_word(line.r#type, "attachment") {
            self.queued(line, entries);
        }
    }

    fn place(&self, line: &Line<'_>) -> Place {
        let agent = json::name(line.agent_id);
        // Old files have the sub-agents' lines among the others, without a name.
        let agent = agent.or_else(|| json::is_true(line.is_sidechain).then(|| "sidechain".to_owned()));
        Place {
            at: record::time(line.timestamp),
            stream: Stream {
                session: json::name(line.session_id).unwrap_or_else(|| self.session.clone()),
                agent,
                client: "claude-code".to_owned(),
                // Calls carry the name of their response instead of the ends of batches.
                ..Stream::default()
            },
            folder: json::name(line.cwd),
            is_echo: false,
        }
    }

    fn response(&mut self, line: &Line<'_>, place: &Place, entries: &mut Vec<Entry>) {
        let Some(message) = line.message.and_then(json::object::<Message<'_>>) else { return };
        let part = part_of(&message, line.request_id);
        // What an echo took stands in the sub-agent's own file.
        if !place.is_echo
            && let Some(part) = &part
            && let Some((usage, hour, _)) = self.counted.take(part)
        {
            let cost = price::cost_with_hour(&part.model, &usage, hour, &self.prices);
            let last = Some(part.id.clone().into_owned());
            entries.push(place.entry(Happening::Message { usage: Some(usage), cost, offset: None, last, said: None }));
        }
        let blocks: Vec<Block<'_>> = message.content.map(record::elements).unwrap_or_default();
        for block in blocks.iter().filter(|block| record::is_word(block.r#type, "text")) {
            let said = block.text.and_then(json::text).and_then(|text| Said::of(&text));
            if said.is_some() {
                let what = Happening::Message { usage: None, cost: None, offset: None, last: None, said };
                entries.push(place.entry(what));
            }
        }
        let agent = place.stream.agent.as_deref();
        for block in blocks.iter().filter(|block| record::is_word(block.r#type, "tool_use")) {
            let (Some(id), Some(tool)) = (json::name(block.id), json::name(block.name)) else { continue };
            let input = block.input.map_or("{}", |input| input.get());
            let Some(call) = self.calls.begin(agent, &id, &tool, place.at, input) else { continue };
            let action = Box::new(Action::new(&tool, input, place.folder.as_deref()));
            let message = part.as_ref().map(|part| part.id.clone().into_owned());
            entries.push(place.entry(Happening::ToolStart {
                call,
                message,
                action,
                guarded: Vec::new(),
                touched: Vec::new(),
                tampering: None,
            }));
        }
    }

    fn results_and_prompt(&mut self, line: &Line<'_>, place: &Place, entries: &mut Vec<Entry>) {
        let Some(message) = line.message.and_then(json::object::<Message<'_>>) else { return };
        let Some(content) = message.content else { return };
        let blocks: Vec<Block<'_>> = record::elements(content);
        let is_result = |block: &&Block<'_>| record::is_word(block.r#type, "tool_result");
        let is_single = blocks.iter().filter(is_result).count() == 1;
        for block in blocks.iter().filter(is_result) {
            let Some(id) = json::name(block.tool_use_id) else { continue };
            let Some((call, tool)) = self.calls.end(place.stream.agent.as_deref(), &id) else { continue };
            // The object belongs to the line: with two results nobody knows whose it is.
            let object = line.tool_use_result.filter(|_| is_single);
            let answer = answer(&tool, block, object);
            if let Some(child) = answer.child.clone().filter(|_| answer.is_running)
                && self.children.len() < CHILDREN_MAX
            {
                self.children.push(child);
            }
            entries.push(place.entry(Happening::ToolEnd { call, action: None, answer: Box::new(answer) }));
        }
        // A sub-agent is asked by the agent above it.
        if place.stream.agent.is_some() || json::is_true(line.is_compact_summary) {
            return;
        }
        let texts: Vec<_> = match json::text(content) {
            Some(text) => vec![text],
            None => blocks.iter().filter_map(|block| block.text.and_then(json::text)).collect(),
        };
        let is_picture = blocks.iter().any(|block| record::is_word(block.r#type, "image"));
        let from = if json::is_true(line.is_meta) {
            prompt::of_meta(&texts)
        } else if is_by_client(line) {
            Some(prompt::From::Client)
        } else {
            prompt::of(&texts).or((is_picture && texts.is_empty()).then_some(prompt::From::Person))
        };
        self.asked(from, &texts, place, entries);
    }

    /// A prompt that came while the agent worked.
    fn queued(&mut self, line: &Line<'_>, entries: &mut Vec<Entry>) {
        let Some(queued) = line.attachment.and_then(json::object::<Attachment<'_>>) else { return };
        if !record::is_word(queued.r#type, "queued_command") {
            return;
        }
        let place = self.place(line);
        if place.stream.agent.is_some() {
            return;
        }
        let text = queued.prompt.map(json::shown).unwrap_or_default();
        let is_by_client =
            is_by_client(line) || queued.command_mode.is_some() && !record::is_word(queued.command_mode, "prompt");
        let texts = [text];
        let from = if is_by_client { Some(prompt::From::Client) } else { prompt::of(&texts) };
        self.asked(from, &texts, &place, entries);
    }

    fn asked(&mut self, from: Option<prompt::From>, texts: &[Cow<'_, str>], place: &Place, entries: &mut Vec<Entry>) {
        let Some(from) = from else { return };
        for id in texts.iter().filter_map(|text| prompt::finished_task(text)) {
            if let Some(child) = self.children.iter().position(|child| child == id) {
                let child = self.children.swap_remove(child);
                entries.push(place.entry(Happening::SpawnEnd { child: Some(child) }));
            }
        }
        let by_user = match from {
            prompt::From::Person => true,
            prompt::From::Client => false,
            prompt::From::StopHook => {
                self.is_kept_going = true;
                false
            }
        };
        self.is_kept_going &= !by_user;
        let bypass = by_user && texts.iter().any(|text| crate::bypass::is_asked_for(text));
        entries.push(place.entry(Happening::Prompt { by_user, bypass }));
    }

    /// The client's own notes.
    fn note(&mut self, line: &Line<'_>, entries: &mut Vec<Entry>) {
        if record::is_word(line.subtype, "compact_boundary") {
            let metadata = line.compact_metadata.and_then(json::object::<Compaction<'_>>);
            let trigger = metadata.and_then(|metadata| json::name(metadata.trigger)).unwrap_or_default();
            entries.push(self.place(line).entry(Happening::Compaction { trigger }));
        } else if record::is_word(line.subtype, "stop_hook_summary") {
            let stop = Happening::Stop { blocked: self.is_kept_going, running: None };
            entries.push(self.place(line).entry(stop));
        }
    }

    fn progress(&mut self, line: &Line<'_>, entries: &mut Vec<Entry>) {
        let Some(progress) = line.data.and_then(json::object::<Progress<'_>>) else { return };
        if !record::is_word(progress.r#type, "agent_progress") {
            return;
        }
        let Some(told) = progress.message.and_then(json::object::<Line<'_>>) else { return };
        let Some(agent) = json::name(progress.agent_id) else { return };
        let mut place = self.place(line);
        place.stream.agent = Some(agent);
        place.is_echo = true;
        place.at = record::time(told.timestamp).or(place.at);
        if record::is_word(told.r#type, "assistant") {
            self.response(&told, &place, entries);
        } else if record::is_word(told.r#type, "user") {
            self.results_and_prompt(&told, &place, entries);
        }
    }
}

/// The client says that nobody typed it.
fn is_by_client(line: &Line<'_>) -> bool {
    let origin = line.origin.and_then(json::object::<Origin<'_>>).and_then(|origin| json::name(origin.kind));
    origin.is_some_and(|kind| kind != "human" && kind != "user")
        || ["system", "loop_wakeup", "schedule_wakeup", "poll_event"]
            .iter()
            .any(|source| record::is_word(line.prompt_source, source))
}

/// The answer, read as the live hook reads it.
fn answer(tool: &str, block: &Block<'_>, object: Unread<'_>) -> Answer {
    if json::is_true(block.is_error) {
        let text = block.content.map(json::shown).unwrap_or_default();
        return response::of_failure(&text, false);
    }
    match object {
        Some(object) => response::of_success(tool, Some(object)),
        None => response::of_batch(block.content),
    }
}
