//! What haltline knows of one agent: its turn, its in-flight calls, its last completed calls and its circuits.
//!
//! This is one row of the store, read and written on every call. It must stay small, and holds digests, never texts.

mod circuit_facts;
mod deliveries;
mod hook_runs;
mod permission_denials;
mod stored;
mod turn;

pub use deliveries::Deliveries;
pub use hook_runs::{HookRun, HookRuns};
pub use permission_denials::PermissionDenials;
pub use turn::Turn;

use serde::{Deserialize, Serialize};

use super::circuits::{CircuitFact, Circuits, HalfOpenCause};
use super::completed_call::CallFlag;
use super::decide::futile_key;
use super::no_progress::{self, CountedResult, NoProgress};
use super::{
    AgentFact, CacheMisses, Compaction, CompletedCall, Continuation, CostGrowth, Ending, ErrorKinds, FruitlessSearches,
    Gain, InFlightCall, MissingPrograms, Nature, Pattern, Progress, RepeatedText, UnidentifiedEvent,
};
use crate::circuit::{EscalationLevel, increment, keep_newest};
use crate::identity::{Action, Digest, Outcome};
use crate::{Elapsed, Moment};

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTotals {
    /// Calls that started.
    pub calls: u64,
    /// Calls that failed and whose failure the agent caused.
    pub failed: u64,
    /// Calls whose end haltline never saw.
    pub unended: u64,
    pub prompts: u64,
}

/// The state of one agent, folded from its facts.
///
/// Each switch can be on without the others. An agent that haltline stopped still ends its turn, and a prompt that no
/// person wrote may set it going again before haltline denies that prompt; so `is_stopped` is not an [`Activity`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentState {
    pub client: String,
    /// The root session of the agent's tree; `None` if that is the agent's own session.
    pub root_session: Option<String>,
    /// The series of its model, if the client said it.
    pub model_series: Option<String>,
    /// True if an agent started the client itself.
    pub is_nested: bool,
    /// When the last event came.
    pub last_seen: Moment,
    /// When the first event came.
    pub first_seen: Moment,
    pub turn: Turn,
    /// True from a prompt, or the beginning, until the next call ends.
    pub has_new_prompt: bool,
    /// True from a compaction until the next call ends.
    pub has_new_compaction: bool,
    /// True if nothing happened for `IDLE_MS` before the next call.
    pub was_idle: bool,
    /// True if haltline ended the turn and no person has intervened since.
    pub is_stopped: bool,
    pub activity: Activity,
    /// Calls that have started and not ended, oldest first.
    pub in_flight: Vec<InFlightCall>,
    /// The last calls that ended, oldest first.
    pub completed: Vec<CompletedCall>,
    pub deliveries: Deliveries,
    /// What the agent did since it last learned something new.
    pub no_progress: NoProgress,
    /// What the agent did since the last compaction.
    pub compaction: Compaction,
    /// The model's last text, and how often it came.
    pub repeated_text: RepeatedText,
    /// The kinds of errors that each tool got lately.
    pub error_kinds: ErrorKinds,
    pub fruitless_searches: FruitlessSearches,
    /// Programs that a shell did not find.
    pub missing_programs: MissingPrograms,
    pub cost_growth: CostGrowth,
    pub cache_misses: CacheMisses,
    /// What came of turns that no person began.
    pub continuation: Continuation,
    pub hook_runs: HookRuns,
    /// The turns in which the agent started sub-agents, one entry per spawn.
    pub spawn_turns: Vec<u64>,
    pub permission_denials: PermissionDenials,
    /// How far haltline has read the client's transcript.
    pub transcript_offset: u64,
    /// The last model response in the transcript that was counted.
    pub last_response: Option<String>,
    /// Digest of the policy at the last event.
    pub policy_digest: String,
    pub circuits: Circuits,
    pub totals: AgentTotals,
}

/// If one of this many last calls failed, already the first repeat counts; otherwise only the second does.
const RECENT_FAILURE_CALLS: usize = 10;
/// After this long without an event, something outside may have changed.
const IDLE_MS: u64 = 30_000;
/// How many in-flight calls are kept; no model has more at once.
const IN_FLIGHT_MAX: usize = 64;

impl AgentState {
    /// The state of an agent that haltline sees for the first time.
    pub fn new(at: Moment) -> Self {
        Self { last_seen: at, first_seen: at, has_new_prompt: true, ..Self::default() }
    }

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
        self.since_prompt().iter().any(|completed| completed.id == call) || self.deliveries.ended_ids.contains(&call)
    }

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
    pub(crate) fn apply(agent: Option<AgentState>, fact: &AgentFact, at: Moment) -> AgentState {
        let mut agent = agent.unwrap_or_else(|| AgentState::new(at));
        let has_rested = agent.has_rested_at(at);
        agent.was_idle = agent.was_idle_at(at);
        agent.last_seen = at;
        match fact {
            AgentFact::Began {
                client, root_session: root, is_nested, hook_source, delivered_by, model_series, ..
            } => {
                agent.client.clone_from(client);
                if model_series.is_some() {
                    agent.model_series.clone_from(model_series);
                }
                agent.root_session.clone_from(root);
                agent.is_nested = *is_nested;
                agent.deliveries.hook_source = *hook_source;
                agent.deliveries.recent_sources.clear();
                agent.deliveries.remember_source(UnidentifiedEvent::Begin, *delivered_by, at);
            }
            AgentFact::PolicyChanged { policy } => agent.policy_digest.clone_from(policy),
            AgentFact::Prompted { by_user, clears_spawns, hook_source, .. } => {
                if *clears_spawns {
                    agent.spawn_turns.clear();
                }
                let kind = if *by_user { UnidentifiedEvent::Prompt } else { UnidentifiedEvent::Notice };
                agent.deliveries.remember_source(kind, *hook_source, at);
                agent.on_prompt(*by_user, has_rested);
            }
            AgentFact::Started { call, response } => {
                if call.turn != agent.turn.number {
                    agent.deliveries.forget_calls();
                }
                agent.turn.add_call(call.turn, *response);
                agent.deliveries.recent_sources.clear();
                agent.was_idle = false;
                if agent.activity == Activity::TurnEnded {
                    agent.activity = Activity::Working;
                }
                increment(&mut agent.totals.calls);
                if agent.in_flight.len() >= IN_FLIGHT_MAX {
                    agent.in_flight.remove(0);
                    increment(&mut agent.totals.unended);
                }
                agent.in_flight.push(call.clone());
            }
            AgentFact::Ended(ending) => agent.on_call_end(ending),
            AgentFact::Unended { call } => {
                // A call whose end is unknown may have done something.
                let is_statement = agent.in_flight_call(*call).is_none_or(|call| call.traits.is_statement);
                agent.continuation.add(if is_statement { Gain::Nothing } else { Gain::New });
                agent.in_flight.retain(|in_flight| in_flight.id != *call);
                increment(&mut agent.totals.unended);
            }
            AgentFact::EndWithoutStart { .. } => {}
            AgentFact::PermissionDenied { call, tool, end_id } => {
                agent.deliveries.remember_ended(*end_id);
                agent.in_flight.retain(|in_flight| in_flight.id != *call);
                agent.permission_denials.add(*tool);
                // The client reports this call again with the batch.
                agent.deliveries.remember_denied(*call);
            }
            AgentFact::TurnEnded => {
                agent.turn.is_over = true;
                agent.turn.marks_ends = true;
            }
            AgentFact::HookRan { name, keep } => agent.hook_runs.add(HookRun(*name, agent.turn.number), *keep),
            AgentFact::Spawned { keep } => {
                agent.spawn_turns.push(agent.turn.number);
                keep_newest(&mut agent.spawn_turns, *keep as usize);
            }
            AgentFact::Stopped { blocked, end, hook_source } => {
                let is_unprompted = *blocked || agent.activity == Activity::KeptGoing || agent.totals.prompts > 0;
                agent.continuation.on_stop(*end, is_unprompted);
                agent.deliveries.remember_source(UnidentifiedEvent::Stop, *hook_source, at);
                agent.turn.is_over = true;
                agent.activity = Activity::TurnEnded;
                agent.hook_runs.on_stop(*blocked);
            }
            AgentFact::PromptUncached { micros } => agent.cache_misses.add(*micros),
            AgentFact::PromptCached => agent.cache_misses = CacheMisses::default(),
            AgentFact::Compacted { hook_source, is_useless, .. } => {
                agent.deliveries.remember_source(UnidentifiedEvent::Compaction, *hook_source, at);
                agent.compaction.compacted(*is_useless);
                agent.has_new_compaction = true;
                agent.clear_no_progress();
                agent.error_kinds.clear();
            }
            AgentFact::MemoryCleaned { .. } | AgentFact::HooksRemoved | AgentFact::EventForged => {}
            AgentFact::SubAgentReported => agent.continuation.add(Gain::New),
            AgentFact::TranscriptRead { offset, last_response } => {
                agent.transcript_offset = *offset;
                agent.last_response.clone_from(last_response);
            }
            AgentFact::Responded { spent } => agent.cost_growth.add_response(*spent),
            AgentFact::Spoke { text } => agent.repeated_text.observe(text),
            AgentFact::SessionEnded { hook_source, .. } => {
                agent.deliveries.remember_source(UnidentifiedEvent::End, *hook_source, at);
                agent.turn.is_over = true;
            }
            AgentFact::Circuit(fact) => agent.apply_circuit_fact(fact, at),
        }
        agent
    }

    fn on_prompt(&mut self, by_user: bool, has_rested: bool) {
        if !by_user {
            self.continuation.on_notice(has_rested);
            if self.activity == Activity::TurnEnded {
                self.activity = Activity::KeptGoing;
            }
            return;
        }
        self.activity = Activity::Working;
        self.continuation.on_prompt();
        increment(&mut self.totals.prompts);
        self.turn.begin_next();
        self.has_new_prompt = true;
        self.is_stopped = false;
        self.permission_denials.on_prompt();
        self.hook_runs.on_prompt();
        self.deliveries.forget_calls();
        self.compaction = Compaction::default();
        self.repeated_text = RepeatedText::default();
        self.clear_no_progress();
        self.error_kinds.clear();
        self.fruitless_searches = FruitlessSearches::default();
        self.missing_programs.clear();
        self.circuits.escalations.forget_levels();
    }

    /// True if nothing has happened for so long that repeating an earlier call is reasonable.
    pub(super) fn was_idle_at(&self, now: Moment) -> bool {
        self.was_idle || (self.has_rested_at(now) && self.in_flight.is_empty())
    }

    /// True if the last event was long ago.
    fn has_rested_at(&self, now: Moment) -> bool {
        matches!(now.since(self.last_seen), Elapsed::Known(idle) if idle >= IDLE_MS)
    }

    fn clear_no_progress(&mut self) {
        let circuits = &self.circuits;
        self.no_progress.clear(|key| circuits.is_tripped(key));
    }

    fn on_call_end(&mut self, ending: &Ending) {
        let Some(index) = self.in_flight.iter().position(|call| call.id == ending.call) else { return };
        let call = self.in_flight.remove(index);
        self.deliveries.remember_ended([Some(ending.call), ending.end_id].into_iter().flatten());
        let is_answered = ending.outcome.has_result();
        let has_result = is_answered && !call.traits.is_poller && call.generation >= self.circuits.closed_generation;
        if is_answered {
            self.permission_denials.end_row();
        }
        if ending.is_failed {
            increment(&mut self.totals.failed);
        }
        let tool = Digest::from_parts(&[call.tool.as_bytes()]);
        let gain = match ending.progress {
            // Each start of a sub-agent is work of its own; its result comes later.
            Progress::None if has_result && call.traits.is_spawn && !ending.is_failed => Gain::New,
            Progress::None if has_result => self.count_result(&call, tool, ending),
            // A call that polls by nature, and one whose outcome nobody reports, may have learned something.
            Progress::None if is_answered || ending.outcome == Outcome::Unknown => Gain::New,
            Progress::None => Gain::Nothing,
            Progress::Written => {
                self.completed.iter_mut().for_each(|completed| completed.set(CallFlag::WrittenSince));
                self.compaction = Compaction::default();
                self.repeated_text = RepeatedText::default();
                self.clear_no_progress();
                self.error_kinds.clear();
                self.fruitless_searches = FruitlessSearches::default();
                Gain::New
            }
        };
        if has_result && !call.traits.is_statement {
            self.error_kinds.add(tool, ending.error_kind.filter(|_| ending.is_failed), call.turn, call.words);
        }
        if let Some(program) = ending.missing_program {
            self.missing_programs.add(program, call.turn);
        } else if call.traits.is_setup && ending.outcome == Outcome::Ok {
            self.missing_programs.clear();
        }
        self.count_gain(&call, ending, gain);
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
        keep_newest(&mut self.completed, ending.keep as usize);
    }

    fn count_gain(&mut self, call: &InFlightCall, ending: &Ending, gain: Gain) {
        self.continuation.has_waited |= call.traits.is_wait;
        if ending.ends_turn {
            self.continuation.on_closing_call();
        } else {
            self.continuation.add(if call.traits.is_statement { Gain::Nothing } else { gain });
        }
    }

    /// Counts a result towards the no-progress and compaction patterns, and says what the agent gained by it.
    fn count_result(&mut self, call: &InFlightCall, tool: Digest, ending: &Ending) -> Gain {
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
            // What the agent says itself is no news.
            is_known: !same_results.is_empty() || call.traits.is_statement,
            is_search: call.traits.is_search,
            finds_nothing: ending.finds_nothing,
            is_reading: call.traits.is_reading,
            same_results: u32::try_from(same_results.len()).unwrap_or(u32::MAX),
            is_first_call: !remembered.iter().any(|completed| is_same_call(&completed)),
            is_repeat: repeats >= if has_recent_failure { 1 } else { 2 },
            shared_words: &ending.shared_words,
            quotes_call: ending.quotes_call,
        };
        let last_words = self.no_progress.last_words;
        let is_variation = result.is_first_call
            && result.words.similarity(last_words) >= no_progress::REPHRASED_PERCENT
            && !result.words.names_other_files(last_words);
        let is_silent_success = result.is_terse && result.is_first_call && !result.is_failed;
        let gain = match (result.is_known && !is_silent_success, is_variation) {
            (true, _) => Gain::Nothing,
            (false, true) => Gain::Variation,
            (false, false) => Gain::New,
        };
        if ending.finds_nothing {
            self.fruitless_searches.add_fruitless(call.turn);
        } else if !result.is_failed && !result.is_known {
            self.fruitless_searches.on_new_result(result.is_search);
        }
        let circuits = &self.circuits;
        self.no_progress.count_result(&result, |key| circuits.is_tripped(key));
        gain
    }
}

/// True for a field that need not be written.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
