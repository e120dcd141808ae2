//! What haltline knows of one agent: its turn, its in-flight calls, its last completed calls and its circuits.
//!
//! This is one row of the store, read and written on every call. It must stay small, and holds digests, never texts.

mod circuit_facts;

use serde::{Deserialize, Serialize};

use super::circuits::{CircuitFact, Circuits, HalfOpenCause};
use super::completed_call::CallFlag;
use super::decide::futile_key;
use super::no_progress::{CountedResult, NoProgress};
use super::{
    AgentFact, Compaction, CompletedCall, CostGrowth, Ending, InFlightCall, Nature, Pattern, Progress, RepeatedText,
    UnidentifiedEvent,
};
use crate::circuit::{EscalationLevel, increment};
use crate::identity::{Action, Digest, Outcome};
use crate::{Elapsed, Moment};

/// One run of a hook: the digest of its name, and the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun(pub Digest, pub u64);

/// What the agent has been doing since it last wanted to end its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It works, or waits for its first prompt.
    #[default]
    Working,
    /// It wanted to end its turn, and nothing has happened since.
    #[serde(rename = "ended")]
    TurnEnded,
    /// A prompt set it going again that, as far as haltline knows, no person wrote.
    #[serde(rename = "kept")]
    KeptGoing,
}

/// Totals over the agent's lifetime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTotals {
    /// Calls that started.
    pub calls: u64,
    /// Calls that failed and whose failure the agent caused.
    pub failed: u64,
    /// Calls whose end haltline never saw.
    pub unended: u64,
    /// Prompts by a person.
    pub prompts: u64,
}

/// The state of one agent, folded from its facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentState {
    pub client: String,
    /// The root session of the agent's tree; `None` if that is the agent's own session.
    #[serde(rename = "root", default, skip_serializing_if = "Option::is_none")]
    pub root_session: Option<String>,
    /// True if an agent started the client itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_nested: bool,
    /// When the last event came.
    #[serde(rename = "seen")]
    pub last_seen: Moment,
    /// When the first event came.
    #[serde(rename = "began")]
    pub first_seen: Moment,
    /// Number of the current turn (L3).
    pub turn: u64,
    /// True while the current turn has no call.
    #[serde(rename = "is_unused")]
    pub is_turn_empty: bool,
    /// True if the client said that the current turn is over.
    #[serde(rename = "is_fresh", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_turn_over: bool,
    /// The response that the last call belonged to.
    #[serde(rename = "message", default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Digest>,
    /// True from a prompt, or the beginning, until the next call ends.
    #[serde(rename = "is_prompted", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_new_prompt: bool,
    /// True if haltline ended the turn and no person has intervened since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stopped: bool,
    #[serde(rename = "pause", default, skip_serializing_if = "is_default")]
    pub activity: Activity,
    /// Calls that have started and not ended, oldest first.
    #[serde(rename = "flights", default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<InFlightCall>,
    /// Calls of the current turn that were denied. The client reports their ends too, and may deliver both events
    /// twice.
    #[serde(rename = "refused", default, skip_serializing_if = "Vec::is_empty")]
    pub denied_calls: Vec<Digest>,
    /// Ids of the calls of the current turn that have ended, to recognise duplicates: a wide turn has more calls than
    /// `completed` keeps. If starts and ends have different ids, both are here.
    #[serde(rename = "closed", default, skip_serializing_if = "Vec::is_empty")]
    pub ended_ids: Vec<Digest>,
    /// The last calls that ended, oldest first.
    #[serde(rename = "past", default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<CompletedCall>,
    /// What the agent did since it last learned something new.
    #[serde(rename = "rut", default, skip_serializing_if = "is_default")]
    pub no_progress: NoProgress,
    /// What the agent did since the last compaction.
    #[serde(default, skip_serializing_if = "is_default")]
    pub compaction: Compaction,
    /// The model's last text, and how often it came.
    #[serde(rename = "chant", default, skip_serializing_if = "is_default")]
    pub repeated_text: RepeatedText,
    #[serde(rename = "growth", default, skip_serializing_if = "is_default")]
    pub cost_growth: CostGrowth,
    /// True from a compaction until the next call ends.
    #[serde(rename = "is_shortened", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_new_compaction: bool,
    /// True if nothing happened for `IDLE_MS` before the next call.
    #[serde(rename = "is_rested", default, skip_serializing_if = "std::ops::Not::not")]
    pub was_idle: bool,
    #[serde(rename = "hooks", default, skip_serializing_if = "Vec::is_empty")]
    pub hook_runs: Vec<HookRun>,
    /// Hook runs before the last prompt. They count again if that prompt turns out to come from a Stop hook.
    #[serde(rename = "hooks_before", default, skip_serializing_if = "Vec::is_empty")]
    pub hook_runs_before_prompt: Vec<HookRun>,
    /// True once the client has reported the end of a turn.
    #[serde(rename = "is_marked", default, skip_serializing_if = "std::ops::Not::not")]
    pub marks_turn_ends: bool,
    /// The one hook source that haltline listens to, if the client sends no call ids.
    #[serde(rename = "door", default, skip_serializing_if = "Option::is_none")]
    pub hook_source: Option<Digest>,
    /// For each kind of event without an id: the hook source that delivered the last one, and when. Cleared when a call
    /// starts.
    #[serde(rename = "told", default, skip_serializing_if = "Vec::is_empty")]
    pub recent_sources: Vec<(UnidentifiedEvent, Digest, Moment)>,
    /// The turns in which the agent started sub-agents, one entry per spawn.
    #[serde(rename = "spawned", default, skip_serializing_if = "Vec::is_empty")]
    pub spawn_turns: Vec<u64>,
    /// How many calls in a row were denied by permission rules.
    #[serde(default)]
    pub denied_in_a_row: u32,
    /// The tools that permission rules denied lately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied_tools: Vec<Digest>,
    /// Which of the last calls permission rules denied, one bit each; the newest call is the lowest bit.
    #[serde(default)]
    pub denied_recent: u64,
    /// How far haltline has read the client's transcript.
    #[serde(rename = "transcript", default)]
    pub transcript_offset: u64,
    /// The last model response in the transcript that was counted.
    #[serde(rename = "reported", default, skip_serializing_if = "Option::is_none")]
    pub last_response: Option<String>,
    /// Digest of the policy at the last event.
    #[serde(rename = "policy", default)]
    pub policy_digest: String,
    #[serde(rename = "board", default)]
    pub circuits: Circuits,
    #[serde(default)]
    pub totals: AgentTotals,
}

/// If one of this many last calls failed, already the first repeat counts; otherwise only the second does.
const RECENT_FAILURE_CALLS: usize = 10;
/// After this long without an event, something outside may have changed.
const IDLE_MS: u64 = 30_000;
/// All hook sources deliver an event within this time. After it, a source that is gone no longer silences the others.
const DUPLICATE_WINDOW_MS: u64 = 60_000;
/// How many in-flight calls are kept; no model has more at once.
const IN_FLIGHT_MAX: usize = 64;
/// How many ids of ended calls are kept for one turn.
const ENDED_IDS_MAX: usize = 256;

impl AgentState {
    /// The state of an agent that haltline sees for the first time.
    pub fn new(at: Moment) -> Self {
        Self {
            client: String::new(),
            root_session: None,
            is_nested: false,
            last_seen: at,
            first_seen: at,
            turn: 1,
            is_turn_empty: true,
            is_turn_over: false,
            response: None,
            has_new_prompt: true,
            is_stopped: false,
            activity: Activity::Working,
            in_flight: Vec::new(),
            denied_calls: Vec::new(),
            ended_ids: Vec::new(),
            completed: Vec::new(),
            no_progress: NoProgress::default(),
            compaction: Compaction::default(),
            repeated_text: RepeatedText::default(),
            cost_growth: CostGrowth::default(),
            has_new_compaction: false,
            was_idle: false,
            hook_runs: Vec::new(),
            hook_runs_before_prompt: Vec::new(),
            hook_source: None,
            recent_sources: Vec::new(),
            marks_turn_ends: false,
            spawn_turns: Vec::new(),
            denied_in_a_row: 0,
            denied_tools: Vec::new(),
            denied_recent: 0,
            transcript_offset: 0,
            last_response: None,
            policy_digest: String::new(),
            circuits: Circuits::default(),
            totals: AgentTotals::default(),
        }
    }

    /// The in-flight call with this id.
    pub fn in_flight_call(&self, call: Digest) -> Option<&InFlightCall> {
        self.in_flight.iter().find(|in_flight| in_flight.id == call)
    }

    /// The oldest in-flight call that the client's transcript lists under this id.
    pub fn in_flight_by_transcript_id(&self, id: Digest) -> Option<&InFlightCall> {
        self.in_flight.iter().find(|in_flight| in_flight.transcript_id.unwrap_or(in_flight.id) == id)
    }

    /// The oldest in-flight call with this tool and identity.
    pub(super) fn oldest_in_flight(&self, action: &Action) -> Option<&InFlightCall> {
        self.in_flight.iter().find(|in_flight| in_flight.identity == action.identity && in_flight.tool == action.tool)
    }

    /// The in-flight call of this tool, if there is exactly one.
    pub(super) fn only_in_flight(&self, tool: &str) -> Option<&InFlightCall> {
        let mut in_flight = self.in_flight.iter().filter(|in_flight| in_flight.tool == tool);
        in_flight.next().filter(|_| in_flight.next().is_none())
    }

    /// True if a call with this id has ended since the last prompt. After a prompt a client may use ids again.
    pub fn has_ended(&self, call: Digest) -> bool {
        self.since_prompt().iter().any(|completed| completed.id == call) || self.ended_ids.contains(&call)
    }

    /// The completed calls since the last prompt.
    pub fn since_prompt(&self) -> &[CompletedCall] {
        if self.has_new_prompt {
            return &[];
        }
        let start = self.completed.iter().rposition(CompletedCall::is_after_prompt).unwrap_or(0);
        &self.completed[start..]
    }

    /// The completed calls since the last prompt, without the newest.
    pub(super) fn before_last(&self) -> &[CompletedCall] {
        self.since_prompt().split_last().map_or(&[], |(_, before)| before)
    }

    /// The state after a fact.
    pub(super) fn apply(agent: Option<AgentState>, fact: &AgentFact, at: Moment) -> AgentState {
        let mut agent = agent.unwrap_or_else(|| AgentState::new(at));
        agent.was_idle = agent.was_idle_at(at);
        agent.last_seen = at;
        match fact {
            AgentFact::Began { client, root_session: root, is_nested, hook_source, delivered_by, .. } => {
                agent.client.clone_from(client);
                agent.root_session.clone_from(root);
                agent.is_nested = *is_nested;
                agent.hook_source = *hook_source;
                agent.recent_sources.clear();
                agent.remember_source(UnidentifiedEvent::Begin, *delivered_by, at);
            }
            AgentFact::PolicyChanged { policy } => agent.policy_digest.clone_from(policy),
            AgentFact::Prompted { by_user, hook_source, .. } => {
                agent.remember_source(
                    if *by_user { UnidentifiedEvent::Prompt } else { UnidentifiedEvent::Notice },
                    *hook_source,
                    at,
                );
                agent.on_prompt(*by_user);
            }
            AgentFact::Started { call, response } => {
                if call.turn != agent.turn {
                    agent.ended_ids.clear();
                    agent.denied_calls.clear();
                }
                agent.turn = call.turn;
                agent.recent_sources.clear();
                agent.is_turn_empty = false;
                agent.is_turn_over = false;
                agent.was_idle = false;
                if agent.activity == Activity::TurnEnded {
                    agent.activity = Activity::Working;
                }
                agent.response = response.or(agent.response);
                increment(&mut agent.totals.calls);
                if agent.in_flight.len() >= IN_FLIGHT_MAX {
                    agent.in_flight.remove(0);
                    increment(&mut agent.totals.unended);
                }
                agent.in_flight.push(call.clone());
            }
            AgentFact::Ended(ending) => agent.on_call_end(ending),
            AgentFact::Unended { call } => {
                agent.in_flight.retain(|in_flight| in_flight.id != *call);
                increment(&mut agent.totals.unended);
            }
            AgentFact::EndWithoutStart { .. } => {}
            AgentFact::PermissionDenied { call, tool, end_id } => {
                agent.remember_ended(*end_id);
                agent.in_flight.retain(|in_flight| in_flight.id != *call);
                if !agent.denied_tools.contains(tool) && agent.denied_tools.len() < IN_FLIGHT_MAX {
                    agent.denied_tools.push(*tool);
                }
                agent.denied_in_a_row = agent.denied_in_a_row.saturating_add(1);
                agent.denied_recent = agent.denied_recent << 1 | 1;
                // The client reports this call again with the batch.
                agent.remember_denied(*call);
            }
            AgentFact::TurnEnded => {
                agent.is_turn_over = true;
                agent.marks_turn_ends = true;
            }
            AgentFact::HookRan { name, keep } => {
                agent.hook_runs.push(HookRun(*name, agent.turn));
                let excess = agent.hook_runs.len().saturating_sub(*keep as usize);
                agent.hook_runs.drain(..excess);
            }
            AgentFact::Spawned { keep } => {
                agent.spawn_turns.push(agent.turn);
                let excess = agent.spawn_turns.len().saturating_sub(*keep as usize);
                agent.spawn_turns.drain(..excess);
            }
            AgentFact::Stopped { blocked, hook_source } => {
                agent.remember_source(UnidentifiedEvent::Stop, *hook_source, at);
                agent.on_stop(*blocked);
            }
            AgentFact::Compacted { hook_source, .. } => {
                agent.remember_source(UnidentifiedEvent::Compaction, *hook_source, at);
                agent.compaction.compacted();
                agent.has_new_compaction = true;
                agent.clear_no_progress();
            }
            AgentFact::MemoryCleaned { .. } | AgentFact::HooksRemoved => {}
            AgentFact::TranscriptRead { offset, last_response } => {
                agent.transcript_offset = *offset;
                agent.last_response.clone_from(last_response);
            }
            AgentFact::Responded { spent } => agent.cost_growth.add_response(*spent),
            AgentFact::Spoke { text } => agent.repeated_text.observe(text),
            AgentFact::SessionEnded { hook_source, .. } => {
                agent.remember_source(UnidentifiedEvent::End, *hook_source, at);
                agent.is_turn_over = true;
            }
            AgentFact::Circuit(fact) => agent.apply_circuit_fact(fact, at),
        }
        agent
    }

    /// True if another hook source just delivered an event of this kind: then it is the same event.
    pub(super) fn is_duplicate(&self, kind: UnidentifiedEvent, hook_source: Digest, now: Moment) -> bool {
        let is_recent = |at: Moment| matches!(now.since(at), Elapsed::Known(elapsed) if elapsed < DUPLICATE_WINDOW_MS);
        self.recent_sources
            .iter()
            .any(|(known_kind, source, at)| *known_kind == kind && *source != hook_source && is_recent(*at))
    }

    fn remember_source(&mut self, kind: UnidentifiedEvent, hook_source: Option<Digest>, at: Moment) {
        self.recent_sources.retain(|(known_kind, ..)| *known_kind != kind);
        self.recent_sources.extend(hook_source.map(|hook_source| (kind, hook_source, at)));
    }

    fn on_prompt(&mut self, by_user: bool) {
        if !by_user {
            if self.activity == Activity::TurnEnded {
                self.activity = Activity::KeptGoing;
            }
            return;
        }
        self.activity = Activity::Working;
        increment(&mut self.totals.prompts);
        self.turn = self.turn.saturating_add(1);
        self.is_turn_empty = true;
        self.is_turn_over = false;
        self.has_new_prompt = true;
        self.is_stopped = false;
        self.denied_in_a_row = 0;
        self.denied_tools.clear();
        self.hook_runs_before_prompt = std::mem::take(&mut self.hook_runs);
        self.denied_calls.clear();
        self.ended_ids.clear();
        self.compaction = Compaction::default();
        self.repeated_text = RepeatedText::default();
        self.clear_no_progress();
        self.circuits.escalations.forget_levels();
    }

    /// The agent wants to end its turn. A Stop hook may keep it going with a text that looks like a person's prompt;
    /// then the hook runs counted before that prompt count again.
    fn on_stop(&mut self, blocked: bool) {
        self.is_turn_over = true;
        self.activity = Activity::TurnEnded;
        let before = std::mem::take(&mut self.hook_runs_before_prompt);
        if blocked {
            self.hook_runs.splice(..0, before);
        }
    }

    /// True if nothing has happened for so long that repeating an earlier call is reasonable.
    pub(super) fn was_idle_at(&self, now: Moment) -> bool {
        let is_idle = matches!(now.since(self.last_seen), Elapsed::Known(idle) if idle >= IDLE_MS);
        self.was_idle || (is_idle && self.in_flight.is_empty())
    }

    fn clear_no_progress(&mut self) {
        let circuits = &self.circuits;
        self.no_progress.clear(|key| circuits.is_tripped(key));
    }

    fn on_call_end(&mut self, ending: &Ending) {
        let Some(index) = self.in_flight.iter().position(|call| call.id == ending.call) else { return };
        let call = self.in_flight.remove(index);
        self.remember_ended([Some(ending.call), ending.end_id].into_iter().flatten());
        let is_answered = match ending.outcome {
            Outcome::Ok | Outcome::Failed => true,
            Outcome::Rejected | Outcome::Denied | Outcome::Cancelled | Outcome::RateLimited | Outcome::Unknown => false,
        };
        let has_result = is_answered && !call.traits.is_poller && call.generation >= self.circuits.closed_generation;
        if is_answered {
            self.denied_in_a_row = 0;
            self.denied_recent <<= 1;
            if self.denied_recent == 0 {
                self.denied_tools.clear();
            }
        }
        if ending.is_failed {
            increment(&mut self.totals.failed);
        }
        let tool = Digest::from_parts(&[call.tool.as_bytes()]);
        match ending.progress {
            Progress::None if has_result => self.count_result(&call, tool, ending),
            Progress::None => {}
            Progress::Written => {
                self.completed.iter_mut().for_each(|completed| completed.set(CallFlag::WrittenSince));
                self.compaction = Compaction::default();
                self.repeated_text = RepeatedText::default();
                self.clear_no_progress();
            }
        }
        let mut completed = CompletedCall::new(ending.call, tool, call.identity, ending.normal, call.turn);
        let flags = [
            (CallFlag::HasResult, has_result),
            (CallFlag::Failed, has_result && ending.is_failed),
            (CallFlag::AfterPrompt, std::mem::take(&mut self.has_new_prompt)),
            (CallFlag::AfterCompaction, std::mem::take(&mut self.has_new_compaction)),
            (CallFlag::Waited, call.traits.is_wait),
            (CallFlag::AfterIdle, call.traits.is_after_idle),
        ];
        flags.into_iter().filter(|(_, is_so)| *is_so).for_each(|(flag, _)| completed.set(flag));
        self.completed.push(completed);
        let excess = self.completed.len().saturating_sub(ending.keep as usize);
        self.completed.drain(..excess);
    }

    /// Counts a result towards the no-progress and compaction patterns.
    fn count_result(&mut self, call: &InFlightCall, tool: Digest, ending: &Ending) {
        let is_same_call = |completed: &&CompletedCall| completed.identity == call.identity;
        let is_same = |completed: &&CompletedCall| {
            completed.has_result() && completed.is_counted() && completed.normal == ending.normal
        };
        self.compaction
            .count_call(self.since_prompt().iter().filter(is_same).any(|completed| is_same_call(&completed)));
        let remembered = if self.has_new_compaction { &[] } else { self.since_prompt() };
        let start = remembered.iter().rposition(CompletedCall::is_after_context_loss).unwrap_or(0);
        let remembered = &remembered[start..];
        let same_results: Vec<&CompletedCall> = remembered.iter().filter(is_same).collect();
        // Without a recent failure the agent may go through everything a second time: re-reading while things work is
        // normal.
        let is_recent_failure = |completed: &CompletedCall| completed.is_failed() && completed.is_counted();
        let has_recent_failure =
            ending.is_failed || remembered.iter().rev().take(RECENT_FAILURE_CALLS).any(is_recent_failure);
        let repeats = same_results.iter().filter(|completed| is_same_call(completed)).count();
        let result = CountedResult {
            tool,
            identity: call.identity,
            normal: ending.normal,
            words: call.words,
            turn: call.turn,
            is_write: call.traits.is_write,
            is_failed: ending.is_failed,
            is_terse: ending.is_terse,
            is_known: !same_results.is_empty(),
            is_first_call: !remembered.iter().any(|completed| is_same_call(&completed)),
            is_repeat: repeats >= if has_recent_failure { 1 } else { 2 },
            shared_words: &ending.shared_words,
            quotes_call: ending.quotes_call,
        };
        let circuits = &self.circuits;
        self.no_progress.count_result(&result, |key| circuits.is_tripped(key));
    }

    /// Remembers these ids as ended, so that a duplicate delivery counts nothing.
    fn remember_ended(&mut self, ids: impl IntoIterator<Item = Digest>) {
        self.ended_ids.extend(ids);
        let excess = self.ended_ids.len().saturating_sub(ENDED_IDS_MAX);
        self.ended_ids.drain(..excess);
    }

    /// Remembers that the call was denied, so that later events about it count nothing.
    fn remember_denied(&mut self, call: Digest) {
        self.denied_calls.push(call);
        let excess = self.denied_calls.len().saturating_sub(IN_FLIGHT_MAX);
        self.denied_calls.drain(..excess);
    }
}

/// True for a field that need not be written.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
