//! Plain events, version 1 (docs/reference/events.md): what `haltline event` accepts from any program, and what importers write.
//!
//! Unlike a hook's payload this format is ours, so anything that does not fit is an error: one line that names the
//! field, its value and what was expected (E8). Unknown fields are ignored.

mod request;

use std::borrow::Cow;

use haltline_core::attempt::{Attempt, Output, SliceId, TestName, TestResult};
use haltline_core::claim::{Changes, ClaimId, Confidence, NameError, ObjectionText, PipelineName, Round};
use haltline_core::identity::{Action, CallResult, DeniedBy, ModelText, Outcome};
use haltline_core::loop_::{
    AgentRef, CallContext, FaultKind, LoopEvent, ProviderAccount, ProviderFault, TurnEnd, Usage,
};
use haltline_core::phase::{Metrics, PhaseName, Report, ReportedError};
use haltline_core::{ConstraintId, Instant, shorten};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

pub use request::Request;

use crate::{bypass, json, price, provider};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainEvent {
    /// The time of the event, if the line has it.
    pub at: Option<Instant>,
    pub agent_ref: AgentRef,
    /// The folder that a session works in, if its start names it.
    pub project: Option<String>,
    pub kind: PlainEventKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlainEventKind {
    /// An event of an agent's work.
    Loop(LoopEvent),
    /// A named constraint was violated or respected.
    Constraint {
        id: ConstraintId,
        /// True: violated; false: respected.
        is_violation: bool,
        /// The action that violated or respected it.
        action: Option<String>,
    },
    /// An iteration of a phase ended.
    Iteration(Box<Report>),
    /// A test of a slice was run.
    Attempt { slice: SliceId, attempt: Box<Attempt> },
    /// A review round on a claim was closed.
    Round { pipeline: PipelineName, round: Box<Round> },
}

/// The types of version 1, in the order of docs/reference/events.md.
pub const TYPES: [&str; 16] = [
    "session_start",
    "prompt",
    "message",
    "tool_start",
    "tool_end",
    "spawn_start",
    "spawn_end",
    "hook",
    "stop",
    "compaction",
    "session_end",
    "violation",
    "clean",
    "iteration",
    "attempt",
    "round",
];

/// Why a line is not a plain event, in one line for the person or program that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct PlainError {
    text: String,
}

impl PlainError {
    fn wrong(field: &str, value: &str, expected: &str) -> Self {
        Self { text: format!("{field} {value}: expected {expected}") }
    }

    fn missing(field: &str, expected: &str) -> Self {
        Self { text: format!("{field} is missing: expected {expected}") }
    }
}

pub fn read(line: &str) -> Result<PlainEvent, PlainError> {
    let fields = Fields::read("event", line)?;
    fields.check_version()?;
    let kind = fields.required_text("type", "the kind of event, such as tool_start")?;
    event_from_fields(&kind, &fields)
}

fn event_from_fields(kind: &str, fields: &Fields<'_>) -> Result<PlainEvent, PlainError> {
    let at = match fields.text("ts")? {
        Some(ts) => Some(Instant::parse(&ts).map_err(|error| PlainError { text: format!("ts: {error}") })?),
        None => None,
    };
    let agent_ref = AgentRef {
        session: fields.required_text("session", "the session's name")?,
        sub_agent: fields.text("agent")?,
        parent_session: fields.text("root")?,
        client: fields.text("client")?.unwrap_or_default(),
        account: fields.account()?,
        ..AgentRef::default()
    };
    let project = if kind == "session_start" { fields.text("project")? } else { None };
    Ok(PlainEvent { at, agent_ref, project, kind: read_kind(kind, fields)? })
}

fn read_kind(kind: &str, fields: &Fields<'_>) -> Result<PlainEventKind, PlainError> {
    Ok(PlainEventKind::Loop(match kind {
        "session_start" => {
            LoopEvent::SessionStart { model: fields.text("model")?, resumed: fields.flag("resumed")?, is_nested: false }
        }
        "prompt" => {
            let by_user = fields.named_value("source", &[("user", true), ("system", false)])?;
            let by_user = by_user.ok_or_else(|| PlainError::missing("source", "one of user, system"))?;
            let text = fields.text("text")?.unwrap_or_default();
            LoopEvent::Prompt { by_user, bypass: by_user && bypass::is_requested(&text) }
        }
        "message" => LoopEvent::Message {
            usage: fields.usage()?,
            cost: fields.dollars("cost_usd")?,
            model: fields.text("model")?,
            range: None,
            last_response: fields.text("message")?,
            text: fields.text("text")?.as_deref().and_then(ModelText::from_text),
        },
        "tool_start" => {
            let call = fields.required_text("call", "the call's name")?;
            let tool = fields.required_text("tool", "the tool's name")?;
            let action = Box::new(Action::new(&tool, &fields.input()?, None));
            LoopEvent::ToolStart { call, response: fields.text("message")?, action, context: CallContext::Missing }
        }
        "tool_end" => LoopEvent::ToolEnd {
            call: fields.required_text("call", "the call's name")?,
            // A client that repeats what it called lets haltline name the command when the circuit trips here.
            action: {
                let input = fields.input()?;
                fields.text("tool")?.map(|tool| Box::new(Action::new(&tool, &input, None)))
            },
            result: Box::new(fields.call_result()?),
        },
        "spawn_start" => LoopEvent::SpawnStart {
            sub_agent: fields.required_text("child", "the sub-agent's name")?,
            depth: fields.number("depth", "a whole number, 0 or more")?,
        },
        "spawn_end" => LoopEvent::SpawnEnd { sub_agent: Some(fields.required_text("child", "the sub-agent's name")?) },
        "hook" => LoopEvent::Hook { name: fields.required_text("name", "the hook's name")? },
        "stop" => {
            let end = if fields.flag("waiting")? { TurnEnd::Waiting } else { TurnEnd::Idle };
            let stop = LoopEvent::Stop { blocked: fields.flag("blocked")?, running: None, end };
            fields.provider_fault()?.map_or(stop, LoopEvent::ProviderFault)
        }
        "compaction" => {
            let expected = "a whole number, 0 or more";
            let before: Option<u64> = fields.number("tokens_before", expected)?;
            let after: Option<u64> = fields.number("tokens_after", expected)?;
            let has_shrunk = before.zip(after).map(|(before, after)| after < before - before / 20);
            LoopEvent::Compaction { trigger: fields.text("trigger")?.unwrap_or_default(), has_shrunk }
        }
        "session_end" => LoopEvent::SessionEnd { reason: fields.text("reason")?.unwrap_or_default() },
        "violation" => return fields.constraint(true),
        "clean" => return fields.constraint(false),
        "iteration" => return fields.iteration(),
        "attempt" => return fields.attempt(),
        "round" => return fields.round(),
        unknown => {
            let expected = format!("one of {} (docs/reference/events.md)", TYPES.join(", "));
            return Err(PlainError::wrong("type", &shorten(unknown), &expected));
        }
    }))
}

/// The fields of an event, or of an object within it.
struct Fields<'a> {
    values: json::Members<'a>,
    /// The prefix of the fields' names in an error message.
    within: &'static str,
}

impl<'a> Fields<'a> {
    /// Splits the JSON object on a line; `what` names it in an error message.
    fn read(what: &str, line: &'a str) -> Result<Self, PlainError> {
        let expected = "a JSON object on one line";
        if !line.trim_start().starts_with('{') {
            return Err(PlainError::wrong(what, &shorten(line.trim()), expected));
        }
        let values = serde_json::from_str(line).map_err(|error| {
            let expected = format!("{expected}; it breaks at column {}", error.column());
            PlainError::wrong(what, &shorten(line.trim()), &expected)
        })?;
        Ok(Self { values, within: "" })
    }

    fn check_version(&self) -> Result<(), PlainError> {
        match self.get("v") {
            Some(version) if version.get() == "1" => Ok(()),
            Some(version) => Err(PlainError::wrong("v", &value_text(version), "1, the only version there is")),
            None => Err(PlainError::missing("v", "1")),
        }
    }

    /// The value, unless it is `null`.
    fn get(&self, field: &str) -> Option<&'a RawValue> {
        self.values.get(field).copied().filter(|value| value.get() != "null")
    }

    fn wrong(&self, field: &str, value: &RawValue, expected: &str) -> PlainError {
        PlainError::wrong(&format!("{}{field}", self.within), &value_text(value), expected)
    }

    fn text(&self, field: &str) -> Result<Option<String>, PlainError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        match json::text(value) {
            Some(text) => Ok(Some(text.into_owned())),
            None => Err(self.wrong(field, value, "a string")),
        }
    }

    /// A text that must be kept byte for byte: a text that cannot be is rejected, not repaired.
    fn verbatim(&self, field: &str) -> Result<Option<String>, PlainError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let expected = "a string of valid Unicode";
        serde_json::from_str(value.get()).map(Some).map_err(|_error| self.wrong(field, value, expected))
    }

    fn required_text(&self, field: &str, expected: &str) -> Result<String, PlainError> {
        match self.text(field)? {
            Some(text) if !text.is_empty() => Ok(text),
            Some(empty) => Err(PlainError::wrong(field, &shorten(&empty), expected)),
            None => Err(PlainError::missing(field, expected)),
        }
    }

    fn flag(&self, field: &str) -> Result<bool, PlainError> {
        match self.get(field).map(|value| (value.get(), value)) {
            None | Some(("false", _)) => Ok(false),
            Some(("true", _)) => Ok(true),
            Some((_, value)) => Err(self.wrong(field, value, "true or false")),
        }
    }

    fn number<T: DeserializeOwned>(&self, field: &str, expected: &str) -> Result<Option<T>, PlainError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        serde_json::from_str(value.get()).map(Some).map_err(|_other| self.wrong(field, value, expected))
    }

    /// One of several allowed names.
    fn named_value<T: Copy>(&self, field: &str, names: &[(&str, T)]) -> Result<Option<T>, PlainError> {
        let Some(text) = self.text(field)? else { return Ok(None) };
        match names.iter().find(|(name, _)| *name == text) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => Err(PlainError::wrong(field, &shorten(&text), &format!("one of {}", listed(names)))),
        }
    }

    /// The account whose allowance the agent uses: as the line says, or as its client is known for.
    fn account(&self) -> Result<Option<ProviderAccount>, PlainError> {
        let client = self.text("client")?.unwrap_or_default();
        let provider = self.text("provider")?.or_else(|| provider::provider_of(&client).map(str::to_owned));
        let account = self.text("account")?.unwrap_or_else(|| provider::LOGIN.to_owned());
        Ok(provider.map(|provider| ProviderAccount { provider, account }))
    }

    /// Why the model service ended the turn, if it did.
    fn provider_fault(&self) -> Result<Option<ProviderFault>, PlainError> {
        let kinds = [("limit", FaultKind::Limit), ("overloaded", FaultKind::Overload)];
        let kind = self.named_value("error", &kinds)?;
        let until = match self.text("resets_at")? {
            Some(at) => Some(Instant::parse(&at).map_err(|error| PlainError { text: format!("resets_at: {error}") })?),
            None => None,
        };
        let is_account_wide = self.flag("all_models")?;
        Ok(kind.map(|kind| ProviderFault { kind, until, is_account_wide }))
    }

    fn dollars(&self, field: &str) -> Result<Option<u64>, PlainError> {
        let expected = "dollars, 0 or more";
        let Some(dollars) = self.number::<f64>(field, expected)? else { return Ok(None) };
        match (price::millionths(dollars), self.get(field)) {
            (None, Some(value)) => Err(self.wrong(field, value, expected)),
            (cost, _) => Ok(cost),
        }
    }

    fn usage(&self) -> Result<Option<Usage>, PlainError> {
        let Some(value) = self.get("usage") else { return Ok(None) };
        let expected = "an object with input, output, cache_read, cache_write";
        let values = json::object(value).ok_or_else(|| self.wrong("usage", value, expected))?;
        let fields = Fields { values, within: "usage." };
        let tokens = |field| fields.number(field, "a whole number of tokens, 0 or more");
        Ok(Some(Usage {
            input: tokens("input")?.unwrap_or_default(),
            output: tokens("output")?.unwrap_or_default(),
            cache_read: tokens("cache_read")?.unwrap_or_default(),
            cache_write: tokens("cache_write")?.unwrap_or_default(),
        }))
    }

    /// The arguments of a call: the object as it is written, or the text.
    fn input(&self) -> Result<Cow<'a, str>, PlainError> {
        let Some(value) = self.get("input") else { return Ok(Cow::Borrowed("{}")) };
        if value.get().starts_with('{') {
            return Ok(Cow::Borrowed(value.get()));
        }
        json::text(value).ok_or_else(|| self.wrong("input", value, "an object or a string"))
    }

    fn call_result(&self) -> Result<CallResult, PlainError> {
        let outcome = self.named_value("outcome", OUTCOMES)?;
        let outcome = outcome.ok_or_else(|| PlainError::missing("outcome", &format!("one of {}", listed(OUTCOMES))))?;
        let by = self.named_value(
            "by",
            &[("haltline", DeniedBy::Haltline), ("permission", DeniedBy::Permission), ("hook", DeniedBy::Hook)],
        )?;
        let exit = self.number("exit", "an exit code, a whole number")?;
        let output = self.text("output")?.unwrap_or_default();
        let mut result = CallResult::new(outcome, exit, &output);
        result.denied_by = by.or(result.denied_by);
        result.cost = self.dollars("cost_usd")?;
        Ok(result)
    }

    fn iteration(&self) -> Result<PlainEventKind, PlainError> {
        let phase = self.text("phase")?.map(|phase| PhaseName::parse(&phase)).transpose();
        let phase = phase.map_err(|error| PlainError { text: error.to_string() })?;
        let mut metrics = Metrics::default();
        if let Some(value) = self.get("metrics") {
            let wrong = || self.wrong("metrics", value, "an object of numbers");
            let numbers: json::Members<'_> = json::object(value).ok_or_else(wrong)?;
            for (name, number) in numbers {
                metrics.set(&name, number.get()).map_err(|error| PlainError { text: error.to_string() })?;
            }
        }
        let error = match self.get("error") {
            None => None,
            Some(value) => {
                let values = json::object(value);
                let values = values.ok_or_else(|| self.wrong("error", value, "an object with type and message"))?;
                let fields = Fields { values, within: "error." };
                let (kind, message) = (fields.text("type")?.unwrap_or_default(), fields.text("message")?);
                Some(ReportedError::new(&kind, &message.unwrap_or_default()))
            }
        };
        let neutral = self.text("neutral")?.filter(|reason| !reason.trim().is_empty());
        Ok(PlainEventKind::Iteration(Box::new(Report { phase, metrics, error, neutral, ..Report::default() })))
    }

    fn attempt(&self) -> Result<PlainEventKind, PlainError> {
        let slice = self.required_text("slice", "the slice's name")?;
        let slice = SliceId::parse(&slice).map_err(|error| PlainError { text: error.to_string() })?;
        let test = self.required_text("test", "the exact name of the test")?;
        let test = TestName::parse(&test).map_err(|error| PlainError { text: error.to_string() })?;
        let result = self.named_value("result", RESULTS)?;
        let result = result.ok_or_else(|| PlainError::missing("result", &format!("one of {}", listed(RESULTS))))?;
        let files: Vec<String> = match self.get("files") {
            None => Vec::new(),
            Some(value) => json::list::<Cow<'_, str>>(value)
                .ok_or_else(|| self.wrong("files", value, "a list of paths"))?
                .into_iter()
                .map(Cow::into_owned)
                .collect(),
        };
        let error = self.text("error")?.map(|text| {
            let bytes = text.len() as u64;
            Output { excerpt: text.clone(), text, bytes, has_secrets: false, exit: None }
        });
        let attempt = Attempt {
            test,
            strategy: self.text("strategy")?.unwrap_or_default(),
            files,
            files_more: 0,
            result,
            is_declared: true,
            summary: String::new(),
            error,
            checkpoint: None,
            generation: None,
        };
        Ok(PlainEventKind::Attempt { slice, attempt: Box::new(attempt) })
    }

    fn round(&self) -> Result<PlainEventKind, PlainError> {
        let name_error = |error: NameError| PlainError { text: error.to_string() };
        let pipeline = self.text("pipeline")?.map(|name| PipelineName::parse(&name)).transpose().map_err(name_error)?;
        let claim = ClaimId::parse(&self.required_text("claim", "the claim's name")?).map_err(name_error)?;
        let changes = match self.get("changes") {
            None => Changes::default(),
            Some(value) => {
                let expected = "an object with new_evidence, test_run, confidence, claim_text";
                let values = json::object(value).ok_or_else(|| self.wrong("changes", value, expected))?;
                Fields { values, within: "changes." }.changes()?
            }
        };
        let objection = ObjectionText {
            id: self.text("objection_id")?,
            text: self.verbatim("objection")?,
            same_as: self.text("same_as")?,
        };
        let round = Round {
            claim,
            objection,
            reviewer: self.text("reviewer")?,
            answer: self.verbatim("answer")?,
            changes,
            round: self.text("round")?,
            generation: self.number("generation", "a whole number, 0 or more")?,
        };
        Ok(PlainEventKind::Round { pipeline: pipeline.unwrap_or_default(), round: Box::new(round) })
    }

    fn changes(&self) -> Result<Changes, PlainError> {
        // A change under an unknown name would be lost, and the round counted as one without changes.
        const KNOWN: [&str; 4] = ["new_evidence", "test_run", "confidence", "claim_text"];
        if let Some(unknown) = self.values.keys().find(|name| !KNOWN.contains(&&***name)) {
            let expected = format!("one of {}", KNOWN.join(", "));
            return Err(PlainError::wrong("changes", &shorten(unknown), &expected));
        }
        let confidence = match self.get("confidence") {
            None => None,
            Some(value) => {
                let parsed = Confidence::parse(value.get());
                Some(parsed.map_err(|_bad| self.wrong("confidence", value, "a number from 0 to 1"))?)
            }
        };
        Ok(Changes {
            new_evidence: self.verbatim("new_evidence")?,
            test_run: self.verbatim("test_run")?,
            confidence,
            claim_text: self.verbatim("claim_text")?,
        })
    }

    fn constraint(&self, is_violation: bool) -> Result<PlainEventKind, PlainError> {
        let id = self.required_text("constraint", "the constraint's id")?;
        let id = ConstraintId::parse(&id).map_err(|error| PlainError { text: format!("constraint: {error}") })?;
        Ok(PlainEventKind::Constraint { id, is_violation, action: self.text("action")? })
    }
}

const RESULTS: &[(&str, TestResult)] =
    &[("pass", TestResult::Pass), ("fail", TestResult::Fail), ("infra", TestResult::Infra)];

const OUTCOMES: &[(&str, Outcome)] = &[
    ("ok", Outcome::Ok),
    ("failed", Outcome::Failed),
    ("rejected", Outcome::Rejected),
    ("denied", Outcome::Denied),
    ("cancelled", Outcome::Cancelled),
    ("rate_limited", Outcome::RateLimited),
    ("unknown", Outcome::Unknown),
];

fn listed<T>(names: &[(&str, T)]) -> String {
    let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// A value for an error message: a text is quoted, a number or boolean is shown as it is, and all of them are
/// shortened.
fn value_text(value: &RawValue) -> String {
    let source = value.get();
    match json::text(value) {
        Some(text) => shorten(&text),
        None if source.len() <= 20 && !source.starts_with(['[', '{']) => source.to_owned(),
        None => shorten(source),
    }
}
