//! Claude Code's `--output-format stream-json` and `json`. Written against version 2.1.325.
//!
//! The last line, `result`, tells the ending; before it come the messages of the agent and its sub-agents, the answers
//! of tools, and notes of the client. A session that goes on repeats what it cost before in `total_cost_usd`, so the
//! result's own share of it (`model_usage_since_last_result`) is taken where it is there.

use std::collections::{BTreeMap, BTreeSet};

use haltline_core::identity::Action;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Dialect, Ending, MESSAGE_BYTES_MAX, Reset, Spent, Tail, Told, WORDS_BYTES_MAX, complaint, fault, last_bytes, plain,
    reset,
};
use crate::claude::transcript::{self, Counted, Message};
use crate::feed::TranscriptUse;
use crate::json;
use crate::price::{self, Price};
use crate::transcript::record::{self, Unread};

/// How many responses are remembered so that none is counted twice: sub-agents' lines stand between the others.
const RESPONSES_MAX: usize = 256;
/// How many refused calls are remembered by name.
const REFUSED_MAX: usize = 1024;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    subtype: Unread<'a>,
    session_id: Unread<'a>,
    parent_tool_use_id: Unread<'a>,
    message: Unread<'a>,
    // The beginning.
    #[serde(rename = "permissionMode")]
    permission_mode: Unread<'a>,
    // Notes of the client.
    rate_limit_info: Unread<'a>,
    prompt_submit_outcome: Unread<'a>,
    tool_result_meta: Unread<'a>,
    stdout: Unread<'a>,
    error: Unread<'a>,
    error_status: Unread<'a>,
    is_api_error_message: Unread<'a>,
    api_error_status: Unread<'a>,
    // The result.
    result: Unread<'a>,
    errors: Unread<'a>,
    is_error: Unread<'a>,
    terminal_reason: Unread<'a>,
    permission_denials: Unread<'a>,
    total_cost_usd: Unread<'a>,
    usage: Unread<'a>,
    model_usage_since_last_result: Unread<'a>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    text: Unread<'a>,
    name: Unread<'a>,
    input: Unread<'a>,
}

#[derive(Deserialize)]
struct Limit<'a> {
    #[serde(borrow)]
    status: Unread<'a>,
    #[serde(rename = "resetsAt")]
    resets_at: Unread<'a>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(borrow)]
    kind: Unread<'a>,
    reason: Unread<'a>,
}

#[derive(Deserialize)]
struct ResultMeta<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    permission_decision: Unread<'a>,
}

#[derive(Deserialize)]
struct Decision<'a> {
    #[serde(borrow)]
    decision: Unread<'a>,
    source: Unread<'a>,
}

#[derive(Deserialize)]
struct Denied<'a> {
    #[serde(borrow)]
    tool_use_id: Unread<'a>,
}

#[derive(Deserialize)]
struct HookAnswer<'a> {
    #[serde(borrow)]
    r#continue: Unread<'a>,
    #[serde(rename = "stopReason")]
    stop_reason: Unread<'a>,
}

/// What one model took, in a result.
#[derive(Deserialize)]
struct ModelShare<'a> {
    #[serde(borrow, rename = "inputTokens")]
    input: Unread<'a>,
    #[serde(rename = "outputTokens")]
    output: Unread<'a>,
    #[serde(rename = "cacheReadInputTokens")]
    cache_read: Unread<'a>,
    #[serde(rename = "cacheCreationInputTokens")]
    cache_write: Unread<'a>,
    #[serde(rename = "costUSD")]
    cost: Unread<'a>,
}

#[derive(Deserialize)]
struct Questions<'a> {
    #[serde(borrow)]
    questions: Unread<'a>,
}

#[derive(Deserialize)]
struct Question<'a> {
    #[serde(borrow)]
    question: Unread<'a>,
}

/// Whether a program that writes this line speaks it.
pub(super) fn is_spoken(object: &RawValue) -> bool {
    let Some(line) = json::object::<Line<'_>>(object) else { return false };
    let kinds = ["system", "assistant", "user", "result", "rate_limit_event", "stream_event"];
    line.session_id.and_then(json::text).is_some() && kinds.iter().any(|kind| record::is_word(line.r#type, kind))
}

/// What was heard so far.
#[derive(Debug)]
pub(super) struct Claude {
    words: Tail,
    told: Told,
    counted: Counted,
    used: TranscriptUse,
    /// What the results so far say was taken.
    reported: Option<Spent>,
    /// Calls that a hook refused.
    refused: BTreeSet<String>,
    /// What the client said of its last error: its words, the status, its name for it.
    fault: Option<(String, Option<u16>, Option<String>)>,
    /// The service refused a request for this long.
    rejected: Option<Option<Reset>>,
    /// What a hook said when it stopped the agent.
    stop_reason: Option<String>,
    has_result: bool,
}

impl Default for Claude {
    fn default() -> Self {
        Self {
            words: Tail::new(WORDS_BYTES_MAX),
            told: Told { dialect: Dialect::ClaudeCode, ..Told::default() },
            counted: Counted::new(RESPONSES_MAX),
            used: TranscriptUse::default(),
            reported: None,
            refused: BTreeSet::new(),
            fault: None,
            rejected: None,
            stop_reason: None,
            has_result: false,
        }
    }
}

impl Claude {
    pub fn take(&mut self, object: &RawValue) {
        let Some(line) = json::object::<Line<'_>>(object) else { return };
        let Some(kind) = line.r#type.and_then(json::text) else { return };
        match kind.as_ref() {
            "assistant" => self.message(&line),
            "user" => self.answers(&line),
            "system" => self.note(&line),
            "rate_limit_event" => self.limit(&line),
            "result" => self.result(&line),
            _ => {}
        }
        self.told.session = self.told.session.take().or_else(|| json::name(line.session_id));
    }

    /// The client's own figures where it gave them; else what the responses so far took, at list prices.
    pub fn spent(&self, prices: &[Price]) -> Spent {
        if let Some(reported) = self.reported {
            return reported;
        }
        if self.used.messages == 0 {
            return Spent::default();
        }
        let cost_micros = self.used.cost(prices);
        Spent { tokens: Some(total(&self.used.usage)), cost_micros, estimated: true, whole_session: false }
    }

    pub fn session(&self) -> Option<&str> {
        self.told.session.as_deref()
    }

    pub fn finish(mut self) -> Told {
        if !self.has_result {
            self.told.ending = self.ending_without_result();
        }
        Told { words: self.words.finish(), ..self.told }
    }

    /// A line of a response: a part of what was said, or a call.
    fn message(&mut self, line: &Line<'_>) {
        let Some(message) = line.message.and_then(json::object::<Message<'_>>) else { return };
        let blocks: Vec<Block<'_>> = message.content.and_then(json::list).unwrap_or_default();
        if json::is_true(line.is_api_error_message) || (line.error.is_some() && message.is_synthetic()) {
            let texts: Vec<_> = blocks.iter().filter_map(|block| json::owned_text(block.text)).collect();
            self.fault = Some((texts.join("\n"), status(line.api_error_status), json::name(line.error)));
            return;
        }
        self.fault = None;
        if let Some(part) = transcript::part_of(&message, None)
            && let Some((usage, hour, is_new)) = self.counted.take(&part)
        {
            self.used.messages = self.used.messages.saturating_add(u32::from(is_new));
            self.used.take(&part.model, &usage, hour);
        }
        // A sub-agent's words are not the agent's, but its calls are made on its behalf.
        let is_own = line.parent_tool_use_id.is_none_or(|id| id.get() == "null");
        for block in &blocks {
            if record::is_word(block.r#type, "tool_use") {
                self.call(block, is_own);
            } else if is_own && record::is_word(block.r#type, "text") {
                self.say(&json::owned_text(block.text).unwrap_or_default());
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.words.push(text);
        self.words.push("\n");
        self.told.last_message = last_bytes(text, MESSAGE_BYTES_MAX).to_owned();
    }

    fn call(&mut self, block: &Block<'_>, is_own: bool) {
        let name = json::owned_text(block.name).unwrap_or_default();
        let input = block.input.map_or("{}", RawValue::get);
        self.told.tool_calls += 1;
        self.told.writing_calls += u64::from(Action::new(&name, input, None).is_write);
        if is_own {
            self.told.is_planning |= name == "ExitPlanMode";
            self.told.asked = if name == "AskUserQuestion" { question(block.input) } else { None };
        }
    }

    /// The answers of tools: only whether a hook refused a call is heard.
    fn answers(&mut self, line: &Line<'_>) {
        let metas: Vec<ResultMeta<'_>> = line.tool_result_meta.and_then(json::list).unwrap_or_default();
        for meta in metas {
            let Some(decision) = meta.permission_decision.and_then(json::object::<Decision<'_>>) else { continue };
            let is_refused = record::is_word(decision.decision, "reject") && record::is_word(decision.source, "hook");
            if let Some(id) = json::name(meta.id).filter(|_| is_refused && self.refused.len() < REFUSED_MAX) {
                self.refused.insert(id);
            }
        }
    }

    fn note(&mut self, line: &Line<'_>) {
        let Some(subtype) = line.subtype.and_then(json::text) else { return };
        match subtype.as_ref() {
            "init" => self.told.is_planning |= record::is_word(line.permission_mode, "plan"),
            "api_retry" => {
                let word = json::name(line.error);
                let said = word.clone().unwrap_or_else(|| "error".to_owned());
                let status = status(line.error_status);
                let number = status.map(|status| format!(" ({status})")).unwrap_or_default();
                self.fault = Some((format!("still retrying after {said}{number}"), status, word));
            }
            "informational" => {
                let Some(outcome) = line.prompt_submit_outcome.and_then(json::object::<Outcome<'_>>) else { return };
                if json::owned_text(outcome.kind).is_some_and(|kind| kind.ends_with("_by_hook")) {
                    let reason = json::name(outcome.reason).map(|reason| complaint(&reason));
                    self.told.ending = Ending::Hook { reason };
                }
            }
            "hook_response" => {
                let answer = json::owned_text(line.stdout).unwrap_or_default();
                let answer: Option<HookAnswer<'_>> = serde_json::from_str(&answer).ok();
                if let Some(answer) = answer.filter(|answer| answer.r#continue.is_some_and(|go| go.get() == "false")) {
                    self.stop_reason = json::name(answer.stop_reason).map(|reason| complaint(&reason));
                }
            }
            _ => {}
        }
    }

    fn limit(&mut self, line: &Line<'_>) {
        let Some(limit) = line.rate_limit_info.and_then(json::object::<Limit<'_>>) else { return };
        // An allowance beside the plan may be refused while the plan still has room; only the status says no.
        self.rejected = record::is_word(limit.status, "rejected").then(|| {
            let seconds = limit.resets_at.and_then(|value| value.get().parse::<f64>().ok());
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "what is out of range saturates"
            )]
            seconds.and_then(|seconds| reset::instant_of(seconds as u64)).map(Reset::At)
        });
    }

    fn result(&mut self, line: &Line<'_>) {
        self.has_result = true;
        let denied: Vec<Denied<'_>> = line.permission_denials.and_then(json::list).unwrap_or_default();
        let by_hook =
            denied.iter().filter(|denied| json::name(denied.tool_use_id).is_some_and(|id| self.refused.contains(&id)));
        self.told.hook_denials = u32::try_from(by_hook.count()).unwrap_or(u32::MAX);
        self.told.denials = u32::try_from(denied.len()).unwrap_or(u32::MAX);
        self.report(line);
        self.told.ending = self.ending(line);
        // The result repeats the last message, where the messages are told.
        let text = json::owned_text(line.result).unwrap_or_default();
        let is_said = text.trim().is_empty() || text.trim() == self.told.last_message.trim();
        if self.told.ending == Ending::Finished && !is_said && !self.told.last_message.ends_with(text.trim()) {
            self.say(&text);
        }
    }

    /// Adds what the result says was taken to the results before it.
    fn report(&mut self, line: &Line<'_>) {
        let shares = line.model_usage_since_last_result.and_then(json::object::<BTreeMap<String, ModelShare<'_>>>);
        let share = match shares {
            Some(shares) => {
                let number = |value: Unread<'_>| value.and_then(|value| value.get().parse::<u64>().ok()).unwrap_or(0);
                let tokens = shares.values().map(|share| {
                    [share.input, share.output, share.cache_read, share.cache_write].map(number).iter().sum::<u64>()
                });
                let cost: Option<u64> = shares.values().map(|share| dollars(share.cost)).sum();
                Spent { tokens: Some(tokens.sum()), cost_micros: cost, ..Spent::default() }
            }
            // An older client. Its cost includes that of the runs this one goes on from, which nothing tells apart.
            None => {
                let usage = line.usage.and_then(transcript::usage_of);
                let tokens = if self.used.messages > 0 { Some(self.used.usage) } else { usage };
                let cost_micros = dollars(line.total_cost_usd);
                self.reported = None;
                Spent { tokens: tokens.as_ref().map(total), cost_micros, ..Spent::default() }
            }
        };
        let before = self.reported.unwrap_or(Spent { tokens: Some(0), cost_micros: Some(0), ..Spent::default() });
        let add = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        self.reported = Some(Spent {
            tokens: add(before.tokens, share.tokens),
            cost_micros: add(before.cost_micros, share.cost_micros),
            ..Spent::default()
        });
    }

    fn ending(&mut self, line: &Line<'_>) -> Ending {
        let reason = json::owned_text(line.terminal_reason).unwrap_or_default();
        if let Ending::Hook { .. } = &self.told.ending {
            return std::mem::take(&mut self.told.ending);
        }
        if reason.contains("hook") {
            return Ending::Hook { reason: self.stop_reason.take() };
        }
        let subtype = json::owned_text(line.subtype).unwrap_or_default();
        if reason == "max_turns" || subtype == "error_max_turns" {
            return Ending::Turns;
        }
        let errors: Vec<String> = line.errors.and_then(json::list).unwrap_or_default();
        let result = json::owned_text(line.result).unwrap_or_default();
        let said = if result.is_empty() { errors.join("\n") } else { result };
        let status = status(line.api_error_status);
        let is_error = json::is_true(line.is_error) || subtype.starts_with("error") || status.is_some();
        if !is_error {
            // Older clients end such a run as a success whose result is the notice.
            let notice = plain::is_notice(&said).then(|| fault::ending(&said, None, None)).flatten();
            return self.with_reset(notice.unwrap_or(Ending::Finished));
        }
        let (fault_said, fault_status, word) = self.fault.take().unwrap_or_default();
        let said = if said.is_empty() { fault_said } else { said };
        let known = fault::ending(&said, status.or(fault_status), word.as_deref());
        self.with_reset(known.unwrap_or_else(|| {
            let kind = [reason, subtype.replacen("error_", "", 1)].into_iter().find(|kind| !kind.is_empty());
            Ending::Failed { kind: kind.unwrap_or_else(|| "error".to_owned()), message: complaint(&said) }
        }))
    }

    /// The stream knows the end of a limit to the second, where the message only names an hour.
    fn with_reset(&self, ending: Ending) -> Ending {
        match ending {
            Ending::ApiLimit { resets, message } => {
                let known = self.rejected.clone().flatten();
                Ending::ApiLimit { resets: known.or(resets), message }
            }
            other => other,
        }
    }

    /// It was ended from outside, or died. What it was doing then is all there is.
    fn ending_without_result(&mut self) -> Ending {
        if let Ending::Hook { .. } = &self.told.ending {
            return std::mem::take(&mut self.told.ending);
        }
        if let Some((said, status, word)) = self.fault.take() {
            let known = fault::ending(&said, status, word.as_deref());
            return known.map_or(Ending::Silent, |ending| self.with_reset(ending));
        }
        match self.rejected.take() {
            Some(resets) => Ending::ApiLimit { resets, message: "the service refused a request".to_owned() },
            None => Ending::Silent,
        }
    }
}

fn total(usage: &haltline_core::loop_::Usage) -> u64 {
    [usage.input, usage.output, usage.cache_read, usage.cache_write]
        .iter()
        .fold(0, |sum: u64, part| sum.saturating_add(*part))
}

fn status(value: Unread<'_>) -> Option<u16> {
    value.and_then(|value| value.get().parse().ok())
}

fn dollars(value: Unread<'_>) -> Option<u64> {
    value.and_then(|value| value.get().parse::<f64>().ok()).and_then(price::millionths)
}

fn question(input: Unread<'_>) -> Option<String> {
    let questions: Questions<'_> = json::object(input?)?;
    let list: Vec<Question<'_>> = json::list(questions.questions?)?;
    list.iter().find_map(|question| json::name(question.question)).map(|question| complaint(&question))
}
