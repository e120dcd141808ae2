//! What the hooks of all clients share: the parsed event, and the protocol that each client supplies.
//!
//! A client's wire format never leaves its own file: the client reads its payload into a [`ParsedHook`] and writes its
//! answer from a [`HookCall`] and a verdict. Both functions are pure, accept any bytes, and never panic.

use haltline_core::Verdict;
use haltline_core::identity::{CallResult, Outcome};
use haltline_core::loop_::{AgentRef, LoopEvent};
use serde_json::{Map, Value, json};

use crate::install::Layout;
use crate::provider::StatedFault;
use crate::self_test::SelfTest;
use crate::transcript_reader::TranscriptReader;
use crate::{Client, PromptCommand};

/// Everything that is specific to one client.
#[derive(Debug)]
pub struct Protocol {
    /// The client's name on the command line.
    pub cli_name: &'static str,
    /// The client's name in plain events.
    pub name: &'static str,
    /// The client's product name, for people.
    pub title: &'static str,
    /// Parses the hook's standard input.
    pub read: fn(&[u8]) -> Result<ParsedHook, ReadError>,
    /// Returns what the hook prints; `None` prints nothing. The third argument is a notice for the person.
    pub answer: fn(&HookCall, &Verdict, Option<&str>) -> Option<String>,
    /// The answers with which the client shows the person a notice.
    pub notices: NoticeEvents,
    pub warning_delivery: WarningDelivery,
    /// Returns what a hook prints when it could not read its event. The argument is a notice for the person, or `None`
    /// if the person has already seen it. The event is unknown, so the answer must suit nearly every event of the
    /// client.
    pub answer_unreadable: fn(Option<&str>) -> Option<String>,
    /// Reads what the client's transcript holds and its payloads do not.
    pub transcript: Option<TranscriptReader>,
    pub stop: StopMethod,
    /// The environment variables that the client sets for its hooks.
    pub variables: HookVariables,
    /// Where the client keeps its hooks, and in which format.
    pub layout: Layout,
    /// The loop that `doctor` plays through the client's hooks.
    pub self_test: SelfTest,
}

impl Protocol {
    /// True if the client shows the person a notice that comes with the answer to this verdict.
    pub fn shows_notice(&self, hook: &HookCall, verdict: &Verdict) -> bool {
        let events = if verdict.denies() { self.notices.denied } else { self.notices.passed };
        events.contains(hook.event)
    }
}

/// The events with whose answer the client shows the person a notice.
#[derive(Clone, Copy, Debug)]
pub struct NoticeEvents {
    /// Those for which the answer may pass or warn.
    pub passed: EventSet,
    /// Those for which the answer may deny or stop.
    pub denied: EventSet,
}

impl NoticeEvents {
    /// For a client that never shows a notice.
    pub(crate) const NONE: Self = Self::with_any_answer(EventSet::of(&[]));

    /// For a client to which the verdict makes no difference.
    pub(crate) const fn with_any_answer(events: EventSet) -> Self {
        Self { passed: events, denied: events }
    }
}

/// When the model receives a warning.
#[derive(Clone, Copy, Debug)]
pub enum WarningDelivery {
    /// With the answer to the call that the warning is about, or never.
    Immediate,
    /// Only with the answers to these events. haltline keeps the warning until then.
    OnlyWith(EventSet),
}

/// How a `stop` verdict ends the agent.
#[derive(Clone, Copy, Debug)]
pub enum StopMethod {
    /// The answer says so, and the client obeys.
    Answer,
    /// No answer ends a turn: haltline denies the call and interrupts the client's process as Ctrl-C would.
    Interrupt {
        /// True if a process with these arguments works on one task, without a person at its terminal, and then exits.
        /// Any other process may serve several people or sessions, or own a terminal, so haltline must not interrupt
        /// it.
        is_unattended: fn(&[String]) -> bool,
    },
    /// haltline can do nothing stronger than deny every call.
    DenyOnly,
}

/// The names of environment variables that a client sets for its hooks; `None` where it sets none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookVariables {
    /// Holds the process id of the client.
    pub process: Option<&'static str>,
    /// Holds the session id.
    pub session: Option<&'static str>,
    /// Set in everything the client starts. If the client's own environment has it, an agent started the client.
    pub marker: Option<&'static str>,
    /// Holds the folder in which the client was started, which does not follow the agent's `cd`.
    pub project: Option<&'static str>,
}

/// The hook events that haltline tells apart, by meaning rather than by the client's spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// A session begins or is resumed.
    SessionStart,
    /// The client is about to accept a prompt.
    Prompt,
    /// The client is about to send a request to the model.
    ModelStart,
    /// A call is about to run.
    ToolStart,
    /// A call ended. For a client that reports failures separately, it succeeded.
    ToolEnd,
    ToolFailed,
    /// All calls of one response have ended.
    Batch,
    SpawnStart,
    SpawnEnd,
    /// The agent wants to end its turn.
    Stop,
    /// An error of the model service ended the turn.
    StopFailed,
    /// A person or the client aborted the turn.
    Interrupted,
    /// The client is about to compact the conversation.
    Compaction,
    SessionEnd,
    SettingsChanged,
    /// An event that haltline does not answer.
    Other,
}

/// A set of hook events, built at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSet(u32);

impl EventSet {
    pub const fn of(events: &[HookEvent]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        // A `for` loop cannot run at compile time.
        while index < events.len() {
            bits |= Self::bit(events[index]);
            index += 1;
        }
        Self(bits)
    }

    /// Every other event.
    pub const fn complement(self) -> Self {
        Self(!self.0)
    }

    pub const fn without(self, event: HookEvent) -> Self {
        Self(self.0 & !Self::bit(event))
    }

    pub const fn contains(self, event: HookEvent) -> bool {
        self.0 & Self::bit(event) != 0
    }

    const fn bit(event: HookEvent) -> u32 {
        1 << event as u32
    }
}

/// One run of a hook that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    pub client: Client,
    pub event: HookEvent,
    /// The event's name, as the client spells it.
    pub name: String,
    pub agent: AgentRef,
}

/// What haltline read from a hook's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedHook {
    pub hook: HookCall,
    /// The event for the loop breaker, if there is something to decide.
    pub loop_event: Option<LoopEvent>,
    /// The folder the agent works in now; it follows the agent's `cd`.
    pub folder: Option<String>,
    /// The current model, if the client names it.
    pub model: Option<String>,
    /// The transcript to read now, if this event is a good moment for it.
    pub transcript_path: Option<String>,
    /// The end of a call whose outcome only the transcript knows.
    pub pending_outcome: Option<PendingOutcome>,
    pub config_file: Option<String>,
    /// Why the model service ended the turn, if it did.
    pub stated_fault: Option<StatedFault>,
    /// The prompt, if it is a command to haltline.
    pub prompt_command: Option<PromptCommand>,
}

/// The end of a call whose payload does not say how the call went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingOutcome {
    /// The id by which [`crate::transcript_reader::TranscriptReader::outcome`] finds the call.
    pub call: String,
    /// The text of the call's result.
    pub text: String,
}

impl ParsedHook {
    /// What every client's payload contains. The rest stays unknown.
    pub(crate) fn new(hook: HookCall, folder: Option<String>, loop_event: Option<LoopEvent>) -> Self {
        Self {
            hook,
            loop_event,
            folder,
            model: None,
            transcript_path: None,
            pending_outcome: None,
            config_file: None,
            stated_fault: None,
            prompt_command: None,
        }
    }

    /// Fills in the outcome that the transcript reports for the pending call. Does nothing if no outcome is pending.
    pub fn complete(&mut self, outcome: Outcome, exit: Option<i32>) {
        let Some(pending_outcome) = self.pending_outcome.take() else { return };
        if let Some(LoopEvent::ToolEnd { result, .. }) = &mut self.loop_event {
            **result = CallResult::new(outcome, exit, &pending_outcome.text);
        }
    }
}

/// No client cuts a text that is shorter than this.
const TEXT_BYTES_MAX: usize = 8_000;

/// The text as an answer carries it: never empty, because some clients ignore a denial without a reason, and never too
/// long.
pub(crate) fn capped(text: &str) -> String {
    if text.trim().is_empty() {
        return "denied by haltline".to_owned();
    }
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(TEXT_BYTES_MAX - '…'.len_utf8())])
}

/// A notice for the person in the member that most clients show, for an event that could not be read.
pub(crate) fn system_message(text: Option<&str>) -> Option<String> {
    Some(json!({ "systemMessage": capped(text?) }).to_string())
}

/// The answer on one line, with a notice for the person in the member `notice_key`; `None` if it says nothing.
pub(crate) fn answer_line(mut answer: Map<String, Value>, notice_key: &str, notice: Option<&str>) -> Option<String> {
    if let Some(notice) = notice.filter(|text| !text.is_empty()) {
        answer.insert(notice_key.to_owned(), json!(capped(notice)));
    }
    (!answer.is_empty()).then(|| Value::Object(answer).to_string())
}

/// The payload contains nothing that haltline can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("hook input: expected a JSON object")]
    NotAnObject,
    /// The JSON is truncated or malformed.
    #[error("hook input: malformed at line {line} column {column}, expected a JSON object")]
    Malformed {
        /// Counted from 1.
        column: usize,
        /// Counted from 1.
        line: usize,
    },
    #[error("hook input: session_id: expected the session's name")]
    NoSession,
}
