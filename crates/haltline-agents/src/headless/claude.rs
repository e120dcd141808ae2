//! Claude Code's `--output-format stream-json` and `json`. Written against version 2.1.325.
//!
//! The last line, `result`, has the ending; before it come the messages of the agent and its sub-agents, the results
//! of tools, and notes of the client. A resumed session repeats its earlier cost in `total_cost_usd`, so haltline uses
//! the share of this result (`model_usage_since_last_result`) if the line has it.

use std::collections::{BTreeMap, BTreeSet};

use haltline_core::identity::Action;
use serde_json::value::RawValue;

use super::{Ending, HeadlessReport, OutputFormat, Reset, Spent, TextTail, error_excerpt, fault, plain, reset};
use crate::claude::transcript::{self, CountedResponses, Message};
use crate::json::{self, Unread};
use crate::price::{self, Price};
use crate::transcript::claude::Block;
use crate::transcript::record;
use crate::transcript_reader::TranscriptUsage;

/// How many responses are remembered to count each only once: lines of sub-agents may stand between those of a
/// response.
const RESPONSES_MAX: usize = 256;
/// How many ids of calls that a hook denied are remembered.
const HOOK_DENIALS_MAX: usize = 1024;

json::unread! {
    struct Line {
        r#type, subtype, session_id, parent_tool_use_id, message,
        // Of the first line.
        #[serde(rename = "permissionMode")] permission_mode,
        // Of notes of the client.
        rate_limit_info, prompt_submit_outcome, tool_result_meta, stdout, error, error_status, is_api_error_message,
        api_error_status,
        // Of the result.
        result, errors, is_error, terminal_reason, permission_denials, total_cost_usd, usage,
        model_usage_since_last_result,
    }

    /// What one model used, in a result.
    #[serde(rename_all = "camelCase")]
    struct ModelShare {
        input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens,
        #[serde(rename = "costUSD")] cost,
    }
}

impl ModelShare<'_> {
    fn tokens(&self) -> u64 {
        let input = [self.input_tokens, self.cache_read_input_tokens, self.cache_creation_input_tokens];
        input.into_iter().chain([self.output_tokens]).map(record::tokens).sum()
    }
}

/// True when a program that prints this object is Claude Code.
pub(super) fn recognises(object: &RawValue) -> bool {
    let Some(line) = json::object::<Line<'_>>(object) else { return false };
    let kinds = ["system", "assistant", "user", "result", "rate_limit_event", "stream_event"];
    line.session_id.and_then(json::text).is_some() && kinds.iter().any(|kind| record::is_text(line.r#type, kind))
}

/// What the output has said so far.
#[derive(Debug)]
pub(super) struct Claude {
    text: TextTail,
    report: HeadlessReport,
    counted: CountedResponses,
    used: TranscriptUsage,
    /// The sum that the results so far report.
    reported: Option<Spent>,
    /// Ids of calls that a hook denied.
    denied_by_hook: BTreeSet<String>,
    /// The client's last error: its message, the HTTP status, and the client's name for it.
    fault: Option<(String, Option<u16>, Option<String>)>,
    /// The service rejected a request; the inner value says until when.
    rejected: Option<Option<Reset>>,
    /// The reason a hook gave when it stopped the agent.
    stop_reason: Option<String>,
    has_result: bool,
}

impl Default for Claude {
    fn default() -> Self {
        Self {
            text: TextTail::default(),
            report: HeadlessReport { format: OutputFormat::ClaudeCode, ..HeadlessReport::default() },
            counted: CountedResponses::new(RESPONSES_MAX),
            used: TranscriptUsage::default(),
            reported: None,
            denied_by_hook: BTreeSet::new(),
            fault: None,
            rejected: None,
            stop_reason: None,
            has_result: false,
        }
    }
}

impl Claude {
    pub fn parse_object(&mut self, object: &RawValue) {
        let Some(line) = json::object::<Line<'_>>(object) else { return };
        let Some(kind) = line.r#type.and_then(json::text) else { return };
        match kind.as_ref() {
            "assistant" => self.read_message(&line),
            "user" => self.read_tool_results(&line),
            "system" => self.read_note(&line),
            "rate_limit_event" => self.read_limit(&line),
            "result" => self.read_result(&line),
            _ => {}
        }
        self.report.session = self.report.session.take().or_else(|| json::non_empty_text(line.session_id));
    }

    /// The client's own numbers if it gave them; else what the responses so far used, at list prices.
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
        self.report.session.as_deref()
    }

    pub fn finish(mut self) -> HeadlessReport {
        if !self.has_result {
            self.report.ending = self.ending_without_result();
        }
        HeadlessReport { text: self.text.finish(), ..self.report }
    }

    /// A line of a response: a part of its text, or a call.
    fn read_message(&mut self, line: &Line<'_>) {
        let Some(message) = line.message.and_then(json::object::<Message<'_>>) else { return };
        let blocks: Vec<Block<'_>> = message.content.and_then(json::list).unwrap_or_default();
        if json::is_true(line.is_api_error_message) || (line.error.is_some() && message.is_synthetic()) {
            let texts: Vec<_> = blocks.iter().filter_map(|block| json::owned_text(block.text)).collect();
            self.fault =
                Some((texts.join("\n"), json::number(line.api_error_status), json::non_empty_text(line.error)));
            return;
        }
        self.fault = None;
        if let Some(part) = transcript::response_part(&message, None)
            && let Some((usage, hour, is_new)) = self.counted.count_part(&part)
        {
            self.used.messages = self.used.messages.saturating_add(u32::from(is_new));
            self.used.add_response(&part.model, &usage, hour);
        }
        // The text of a sub-agent is not the agent's, but its calls are made on the agent's behalf.
        let is_own = line.parent_tool_use_id.is_none_or(|id| id.get() == "null");
        for block in &blocks {
            if record::is_text(block.r#type, "tool_use") {
                self.count_call(block, is_own);
            } else if is_own && record::is_text(block.r#type, "text") {
                self.report.add_message(&json::owned_text(block.text).unwrap_or_default(), &mut self.text);
            }
        }
    }

    fn count_call(&mut self, block: &Block<'_>, is_own: bool) {
        let name = json::owned_text(block.name).unwrap_or_default();
        let input = block.input.map_or("{}", RawValue::get);
        self.report.tool_calls += 1;
        self.report.writing_calls += u64::from(Action::new(&name, input, None).is_write);
        if is_own {
            self.report.is_planning |= name == "ExitPlanMode";
            self.report.question = if name == "AskUserQuestion" { first_question(block.input) } else { None };
        }
    }

    /// Of tool results, only the calls that a hook denied are of interest.
    fn read_tool_results(&mut self, line: &Line<'_>) {
        let results: Vec<&RawValue> = line.tool_result_meta.and_then(json::list).unwrap_or_default();
        for result in results.into_iter().map(Some) {
            let decision = json::member(result, "permission_decision");
            let is_denied = record::is_text(json::member(decision, "decision"), "reject")
                && record::is_text(json::member(decision, "source"), "hook");
            if is_denied && self.denied_by_hook.len() < HOOK_DENIALS_MAX {
                self.denied_by_hook.extend(json::member_text(result, "id"));
            }
        }
    }

    fn read_note(&mut self, line: &Line<'_>) {
        let Some(subtype) = line.subtype.and_then(json::text) else { return };
        match subtype.as_ref() {
            "init" => self.report.is_planning |= record::is_text(line.permission_mode, "plan"),
            "api_retry" => {
                let error_name = json::non_empty_text(line.error);
                let error = error_name.clone().unwrap_or_else(|| "error".to_owned());
                let status: Option<u16> = json::number(line.error_status);
                let number = status.map(|status| format!(" ({status})")).unwrap_or_default();
                self.fault = Some((format!("still retrying after {error}{number}"), status, error_name));
            }
            "informational" => {
                let outcome = line.prompt_submit_outcome;
                if json::member_text(outcome, "kind").is_some_and(|kind| kind.ends_with("_by_hook")) {
                    let reason = json::member_text(outcome, "reason").map(|reason| error_excerpt(&reason));
                    self.report.ending = Ending::Hook { reason };
                }
            }
            "hook_response" => {
                let output = json::owned_text(line.stdout).unwrap_or_default();
                let output: Unread<'_> = serde_json::from_str(&output).ok();
                if json::member(output, "continue").is_some_and(|go_on| go_on.get() == "false") {
                    self.stop_reason = json::member_text(output, "stopReason").map(|reason| error_excerpt(&reason));
                }
            }
            _ => {}
        }
    }

    fn read_limit(&mut self, line: &Line<'_>) {
        // An allowance beside the plan may be used up while the plan still has room; only the status decides.
        self.rejected = record::is_text(json::member(line.rate_limit_info, "status"), "rejected").then(|| {
            let seconds: Option<f64> = json::number(json::member(line.rate_limit_info, "resetsAt"));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "what is out of range saturates"
            )]
            seconds.and_then(|seconds| reset::instant_from_epoch(seconds as u64)).map(Reset::At)
        });
    }

    fn read_result(&mut self, line: &Line<'_>) {
        self.has_result = true;
        let denied: Vec<&RawValue> = line.permission_denials.and_then(json::list).unwrap_or_default();
        let ids = denied.iter().filter_map(|denied| json::member_text(Some(denied), "tool_use_id"));
        let by_hook = ids.filter(|id| self.denied_by_hook.contains(id)).count();
        self.report.hook_denials = u32::try_from(by_hook).unwrap_or(u32::MAX);
        self.report.denials = u32::try_from(denied.len()).unwrap_or(u32::MAX);
        self.add_reported_usage(line);
        self.report.ending = self.ending_from_result(line);
        // The result repeats the last message if the output has the messages.
        let text = json::owned_text(line.result).unwrap_or_default();
        let is_repeated = text.trim().is_empty() || text.trim() == self.report.last_message.trim();
        if self.report.ending == Ending::Finished && !is_repeated && !self.report.last_message.ends_with(text.trim()) {
            self.report.add_message(&text, &mut self.text);
        }
    }

    /// Adds the usage of this result to that of the results before it.
    fn add_reported_usage(&mut self, line: &Line<'_>) {
        let shares = line.model_usage_since_last_result.and_then(json::object::<BTreeMap<String, ModelShare<'_>>>);
        let share = match shares {
            Some(shares) => {
                let tokens = shares.values().map(ModelShare::tokens).sum();
                let cost_micros = shares.values().map(|share| parse_dollars(share.cost)).sum();
                Spent { tokens: Some(tokens), cost_micros, ..Spent::default() }
            }
            // An older client. Its cost includes the runs that this one continues, and nothing distinguishes them.
            None => {
                let usage = line.usage.and_then(transcript::usage_of);
                let tokens = if self.used.messages > 0 { Some(self.used.usage) } else { usage };
                let cost_micros = parse_dollars(line.total_cost_usd);
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

    fn ending_from_result(&mut self, line: &Line<'_>) -> Ending {
        let reason = json::owned_text(line.terminal_reason).unwrap_or_default();
        if let Ending::Hook { .. } = &self.report.ending {
            return std::mem::take(&mut self.report.ending);
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
        let message = if result.is_empty() { errors.join("\n") } else { result };
        let status = json::number(line.api_error_status);
        let is_error = json::is_true(line.is_error) || subtype.starts_with("error") || status.is_some();
        if !is_error {
            // Older clients end such a run as a success whose result is the notice.
            let notice = plain::is_notice(&message).then(|| fault::ending(&message, None, None)).flatten();
            return self.with_reset(notice.unwrap_or(Ending::Finished));
        }
        let (fault_message, fault_status, error_name) = self.fault.take().unwrap_or_default();
        let message = if message.is_empty() { fault_message } else { message };
        let recognised = fault::ending(&message, status.or(fault_status), error_name.as_deref());
        self.with_reset(recognised.unwrap_or_else(|| {
            let kind = [reason, subtype.replacen("error_", "", 1)].into_iter().find(|kind| !kind.is_empty());
            Ending::Failed { kind: kind.unwrap_or_else(|| "error".to_owned()), message: error_excerpt(&message) }
        }))
    }

    /// `rate_limit_event` gives the end of a limit to the second, where the message only names an hour.
    fn with_reset(&self, ending: Ending) -> Ending {
        match ending {
            Ending::ApiLimit { resets, message } => {
                let exact = self.rejected.clone().flatten();
                Ending::ApiLimit { resets: exact.or(resets), message }
            }
            other => other,
        }
    }

    /// The run was killed or died. What it was doing at that time is all there is.
    fn ending_without_result(&mut self) -> Ending {
        if let Ending::Hook { .. } = &self.report.ending {
            return std::mem::take(&mut self.report.ending);
        }
        if let Some((message, status, error_name)) = self.fault.take() {
            let recognised = fault::ending(&message, status, error_name.as_deref());
            return recognised.map_or(Ending::Silent, |ending| self.with_reset(ending));
        }
        match self.rejected.take() {
            Some(resets) => Ending::ApiLimit { resets, message: "the service rejected a request".to_owned() },
            None => Ending::Silent,
        }
    }
}

fn total(usage: &haltline_core::loop_::Usage) -> u64 {
    [usage.input, usage.output, usage.cache_read, usage.cache_write]
        .iter()
        .fold(0, |sum: u64, part| sum.saturating_add(*part))
}

fn parse_dollars(value: Unread<'_>) -> Option<u64> {
    json::number(value).and_then(price::millionths)
}

fn first_question(input: Unread<'_>) -> Option<String> {
    let questions: Vec<&RawValue> = json::list(json::member(input, "questions")?)?;
    let first = questions.into_iter().find_map(|question| json::member_text(Some(question), "question"));
    first.map(|question| error_excerpt(&question))
}
