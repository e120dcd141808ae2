//! Decides one event of an agent (L1–L10).
//!
//! A [`AgentDraft`] collects the facts of the decision and applies each fact at once, so that later steps see its effect. If
//! a row of the store is missing, the decision stops with the names of the rows it needs, and runs again from the
//! start.

mod budget;
mod circuit;
mod context;
mod continuation;
mod end;
mod hook;
mod hook_source;
mod limit;
mod model;
mod pattern_match;
mod provider;
mod spawn;
mod start;

pub(super) use pattern_match::futile_key;

use super::circuits::{ALERT_STREAK, CircuitFact, CircuitState, Circuits, HalfOpenCause, Probe, Trip, TrippedState};
use super::messages::{self, Explanation};
use super::{
    Activity, AgentFact, AgentRef, AgentState, AgentTree, AgentTreeFact, CallContext, CallIds, Gain, Limits, LoopEvent,
    Nature, Pattern, Preset, SubAgent, TranscriptRange, TurnEnd, Usage, WindowLimits, model_series, own_protection,
    pattern,
};
use crate::circuit::{EscalationLevel, cooldown_ms_in_streak, incident_id_for_key};
use crate::draft::Draft;
use crate::identity::{Digest, ModelText};
use crate::ledger::Calendar;
use crate::{CircuitName, Decision, Halt, Memory, Mode, Moment, Policy, Reason, Rejection, Retry, Texts, Verdict};

/// The name under which runs of Stop hooks are counted.
pub(super) const STOP_HOOK: &str = "Stop";
/// The name under which sessions that a hook started are counted.
const NESTED_SESSION: &str = "session inside a hook";

/// An event of an agent, with what the decision needs besides the memory and the policy.
#[derive(Clone, Debug)]
pub struct LoopRequest<'a> {
    pub agent_ref: &'a AgentRef,
    pub event: &'a LoopEvent,
    pub policy_digest: &'a str,
    /// The local day, night and week; `None` unless budgets need them.
    pub calendar: Option<&'a Calendar>,
}

/// The key of the circuit for denials by permission rules.
pub(super) fn denials_key() -> Digest {
    Digest::from_parts(&[b"denials"])
}

/// The key of the circuit for a hook that runs too often.
pub(super) fn hook_key(name: &str) -> Digest {
    Digest::from_parts(&[b"hook", name.as_bytes()])
}

pub(super) fn limit_key(name: &str) -> Digest {
    Digest::from_parts(&[b"limit", name.as_bytes()])
}

/// The key under which attempts to change or control haltline itself are counted.
pub(super) fn tampering_key() -> Digest {
    limit_key("tampering")
}

pub fn decide(memory: &Memory, policy: &Policy, request: &LoopRequest<'_>, now: Moment) -> Result<Decision, Halt> {
    if let LoopEvent::ToolStart { context: CallContext::Missing, .. } = request.event {
        return Err(Rejection::MissingContext.into());
    }
    AgentDraft::open(memory, policy, request, now)?.run()
}

/// A decision in the making: the rows as they would be after the facts so far, and the facts, effects and notices.
struct AgentDraft<'a> {
    memory: &'a Memory,
    policy: &'a Policy,
    limits: &'a Limits,
    request: &'a LoopRequest<'a>,
    now: Moment,
    agent_row: CircuitName,
    agent: AgentState,
    is_new: bool,
    tree_row: CircuitName,
    tree: Option<AgentTree>,
    ledgers: budget::Ledgers,
    provider: provider::ReadProvider,
    /// The call that waits for the verdict, if the event is a start.
    call: Option<Digest>,
    /// The id of the response that the call belongs to, if the client says it.
    response: Option<Digest>,
    /// The id of the call's end, if the client gives start and end different ids.
    end_id: Option<Digest>,
    /// True if this event was delivered before: the agent gets the same verdict, and nothing is recorded.
    is_duplicate: bool,
    /// True if a hard limit is reached and the call may run only because it saves work.
    is_saving: bool,
    /// True if a person exempted the call: it runs, and its result counts towards no pattern.
    is_exempt_call: bool,
    /// The verdict that the end of a call brings about.
    end_verdict: Option<Verdict>,
    /// What a person allowed in spite of a limit and the pending call would use.
    allowances: Vec<limit::UsedAllowance>,
    draft: Draft,
}

/// A denial before it is recorded and written as a message.
struct Denial {
    explanation: Explanation,
    key: Digest,
    /// The trip of the circuit that denies, if a circuit does.
    trip: Option<Trip>,
    retry: Retry,
}

impl Denial {
    /// The denial by a circuit that is not CLOSED.
    fn by_trip(explanation: Explanation, trip: &Trip) -> Self {
        Self { explanation, key: trip.key, retry: Retry::At(trip.until()), trip: Some(trip.clone()) }
    }
}

impl<'a> AgentDraft<'a> {
    fn open(memory: &'a Memory, policy: &'a Policy, request: &'a LoopRequest<'a>, now: Moment) -> Result<Self, Halt> {
        let agent_ref = request.agent_ref;
        let agent_row = CircuitName::agent(&agent_ref.session, agent_ref.sub_agent.as_deref());
        let known = memory.require(&agent_row)?.and_then(|state| state.as_agent());
        let root_session = match known {
            Some(agent) => agent.root_session.clone(),
            None => Self::root_session_of_new(memory, agent_ref)?,
        };
        let tree_row = CircuitName::tree(root_session.as_deref().unwrap_or(&agent_ref.session));
        let tree = memory.state(&tree_row).and_then(|state| state.as_tree()).cloned();
        let mut draft = Self {
            memory,
            policy,
            limits: &policy.loop_,
            request,
            now,
            agent_row,
            agent: known.cloned().unwrap_or_else(|| AgentState::new(now)),
            is_new: known.is_none(),
            tree_row,
            tree,
            ledgers: budget::Ledgers::default(),
            provider: None,
            call: None,
            response: None,
            end_id: None,
            is_duplicate: false,
            is_saving: false,
            is_exempt_call: false,
            end_verdict: None,
            allowances: Vec::new(),
            draft: Draft::default(),
        };
        draft.is_duplicate = draft.is_duplicate_delivery();
        draft.record_begin(root_session);
        Ok(draft)
    }

    /// The root session of a new agent: a sub-agent has that of its session, a nested session that of its parent.
    fn root_session_of_new(memory: &Memory, agent_ref: &AgentRef) -> Result<Option<String>, Halt> {
        let above = match (&agent_ref.parent_session, &agent_ref.sub_agent) {
            (Some(parent), _) => parent,
            (None, Some(_)) => &agent_ref.session,
            (None, None) => return Ok(None),
        };
        let row = memory.require(&CircuitName::agent(above, None))?;
        // The parent's root session, if the parent itself is nested.
        let root = row.and_then(|state| state.as_agent()).and_then(|agent| agent.root_session.clone());
        Ok(root.or_else(|| agent_ref.parent_session.clone()))
    }

    /// Records the first event of an agent, and a change of the policy.
    fn record_begin(&mut self, root_session: Option<String>) {
        let agent_ref = self.request.agent_ref;
        let (starts, resumed, is_nested, model) =
            if let LoopEvent::SessionStart { resumed, is_nested, model } = self.request.event {
                (true, *resumed, *is_nested, model.as_deref())
            } else {
                (false, false, self.agent.is_nested, None)
            };
        if self.is_new || (starts && !self.is_duplicate) {
            let missed_start = self.is_new && agent_ref.marks_batches && agent_ref.sub_agent.is_none() && !starts;
            let client = agent_ref.client.clone();
            let (hook_source, delivered_by) = match agent_ref.call_ids {
                CallIds::Stable | CallIds::StartOnly => (None, self.hook_source()),
                CallIds::None => (self.hook_source(), None),
            };
            self.record(AgentFact::Began {
                client,
                root_session,
                is_nested,
                resumed,
                hook_source,
                delivered_by,
                missed_start,
                model_series: model.and_then(model_series).map(|series| short(&series)),
            });
            if missed_start {
                self.draft.notices.push(format!(
                    "haltline has no memory of this running session ({}): somebody installed it while the session ran, or removed its store. Counting starts now.",
                    agent_ref.session
                ));
            }
        }
        if self.agent.policy_digest != self.request.policy_digest {
            let is_first = self.agent.policy_digest.is_empty();
            let tripped = self.agent.circuits.tripped.len();
            self.record(AgentFact::PolicyChanged { policy: self.request.policy_digest.to_owned() });
            if !is_first {
                let open = if tripped > 0 { format!("; {tripped} open circuit(s) stay open") } else { String::new() };
                self.draft.notices.push(format!(
                    "haltline (HL-OWN-02): its configuration changed while this session ran{open}. See `haltline config show`."
                ));
            }
        }
    }

    fn run(mut self) -> Result<Decision, Halt> {
        if self.is_from_other_source() {
            return Ok(Draft::default().into_decision(Verdict::Pass));
        }
        let verdict = match self.request.event {
            LoopEvent::SessionStart { is_nested, .. } => self.session_start(*is_nested)?,
            LoopEvent::Prompt { by_user, bypass } => self.prompt(*by_user, *bypass)?,
            LoopEvent::Message { usage, cost, model, range, last_response, text } => {
                if let Some(range) = range
                    && !self.accept_range(range, last_response.as_deref())?
                {
                    return Ok(self.decided(Verdict::Pass));
                }
                if usage.is_some() || cost.is_some() {
                    self.count_spending(*usage, *cost, model.as_deref())?;
                }
                self.record_output(*usage, *cost, text.as_ref());
                let uncached = self.count_cache(*usage, *cost);
                let verdict = match (self.warn_of_budget()?, cost) {
                    (Verdict::Pass, Some(_)) => self.warn_of_spend_rate().unwrap_or(Verdict::Pass),
                    (verdict, _) => verdict,
                };
                verdict.or_stricter(uncached.unwrap_or(Verdict::Pass))
            }
            LoopEvent::ModelStart => self.model_start()?,
            LoopEvent::ToolStart { call, response, action, context: CallContext::Gathered(protections) } => {
                self.tool_start(&start::Start { call, response: response.as_deref(), action, protections })?
            }
            // Rejected before a draft is opened.
            LoopEvent::ToolStart { context: CallContext::Missing, .. } => Verdict::Pass,
            LoopEvent::ToolEnd { call, action, result } => {
                self.tool_end(call, action.as_deref(), result)?;
                self.end_verdict.take().unwrap_or(Verdict::Pass)
            }
            LoopEvent::Batch { ends } => self.batch(ends)?,
            LoopEvent::SpawnStart { sub_agent, depth } => self.spawn_start(sub_agent, *depth)?,
            LoopEvent::SpawnEnd { sub_agent } => {
                self.need_tree()?;
                if let Some(sub_agent) = sub_agent.clone().or_else(|| self.sub_agent_ids().into_iter().next()) {
                    self.record_sub_agent_end(&sub_agent);
                    let row = CircuitName::agent(&self.request.agent_ref.session, Some(&sub_agent));
                    self.release_reservation(&row)?;
                }
                if self.agent.continuation.idle_ends > 0 {
                    self.record(AgentFact::SubAgentReported);
                }
                Verdict::Pass
            }
            LoopEvent::Hook { name } => self.hook_run(name)?,
            LoopEvent::Stop { blocked, running, end } => self.stop(*blocked, running.as_deref(), *end)?,
            LoopEvent::ProviderFault(fault) => self.provider_fault(fault)?,
            LoopEvent::Compaction { .. } | LoopEvent::SessionEnd { .. } if self.is_duplicate => Verdict::Pass,
            LoopEvent::Compaction { trigger, has_shrunk } => self.compaction(trigger, *has_shrunk),
            LoopEvent::Cleanup { files_rotated, sessions_pruned, bytes_freed } => {
                self.record(AgentFact::MemoryCleaned {
                    files_rotated: *files_rotated,
                    sessions_pruned: *sessions_pruned,
                    bytes_freed: *bytes_freed,
                });
                Verdict::Pass
            }
            LoopEvent::HooksRemoved { file, what, is_preventable } => {
                self.record_at(self.now, AgentFact::HooksRemoved, Some(format!("{file}: {what}")));
                self.draft.notices.push(own_protection::hooks_removed_notice(file, what));
                if *is_preventable { own_protection::hooks_removed_denial(file, what) } else { Verdict::Pass }
            }
            LoopEvent::Forged { name } => {
                self.record_at(self.now, AgentFact::EventForged, Some(name.clone()));
                self.draft.notices.push(own_protection::forged_event_notice(name));
                Verdict::Pass
            }
            LoopEvent::SessionEnd { reason } => {
                self.close_in_flight()?;
                self.release_reservation(&self.agent_row.clone())?;
                if self.request.agent_ref.sub_agent.is_none() && self.agent.root_session.is_none() {
                    self.need_tree()?;
                    for id in self.sub_agent_ids() {
                        self.record_sub_agent_end(&id);
                    }
                }
                self.record(AgentFact::SessionEnded { reason: reason.clone(), hook_source: self.hook_source() });
                Verdict::Pass
            }
        };
        Ok(self.decided(verdict))
    }

    fn decided(self, verdict: Verdict) -> Decision {
        self.draft.into_decision(verdict)
    }

    /// Accepts a range of the client's transcript. If another hook has read further since, the whole range is dropped.
    fn accept_range(&mut self, range: &TranscriptRange, last_response: Option<&str>) -> Result<bool, Halt> {
        if range.from != self.agent.transcript_offset || range.last_response != self.agent.last_response {
            return Ok(false);
        }
        if let Some(bypass) = range.prompt
            && self.agent.activity == Activity::KeptGoing
        {
            // It was a person's prompt after all. It is too late to deny anything at that prompt.
            self.prompt(true, bypass)?;
        }
        for (call, result) in &range.ended {
            if self.agent.in_flight_by_transcript_id(end::call_digest(call)).is_some() {
                self.tool_end(call, None, result)?;
            }
        }
        self.record(AgentFact::TranscriptRead { offset: range.to, last_response: last_response.map(str::to_owned) });
        Ok(true)
    }

    /// Records the model's text and what it cost, only if a pattern that needs them is enabled.
    fn record_output(&mut self, usage: Option<Usage>, cost: Option<u64>, text: Option<&ModelText>) {
        let spent = cost.or(usage.map(|usage| usage.tokens()));
        if let Some(spent) = spent.filter(|_| self.limits.cost_growth.enabled) {
            self.record(AgentFact::Responded { spent });
        }
        if let Some(text) = text.filter(|_| self.limits.chanting.enabled) {
            self.record(AgentFact::Spoke { text: *text });
        }
    }

    fn session_start(&mut self, is_nested: bool) -> Result<Verdict, Halt> {
        let is_new = is_nested && !self.is_duplicate;
        let Some(root) = self.request.agent_ref.parent_session.as_deref().filter(|_| is_new) else {
            return Ok(Verdict::Pass);
        };
        // A client inside a client: a shell call that starts one is a normal spawn; without any call, a hook started
        // it.
        let row = self.memory.require(&CircuitName::agent(root, None))?;
        // This is certain only if no call ran since the prompt: a call may have left the client behind in the
        // background.
        let is_from_call = row
            .and_then(|state| state.as_agent())
            .is_some_and(|agent| !agent.in_flight.is_empty() || !agent.has_new_prompt);
        if row.is_some() && !is_from_call {
            self.at_root(|draft| draft.hook_run(NESTED_SESSION))?;
        }
        Ok(Verdict::Pass)
    }

    /// Runs `decide` on the agent of the root session: what nested sessions do adds up there.
    fn at_root<T>(&mut self, decide: impl FnOnce(&mut Self) -> Result<T, Halt>) -> Result<Option<T>, Halt> {
        let Some(root) = self.agent.root_session.clone() else { return Ok(None) };
        let name = CircuitName::agent(&root, None);
        let Some(agent) = self.memory.require(&name)?.and_then(|state| state.as_agent()).cloned() else {
            return Ok(None);
        };
        let own = (std::mem::replace(&mut self.agent_row, name), std::mem::replace(&mut self.agent, agent));
        let decided = decide(self);
        (self.agent_row, self.agent) = own;
        decided.map(Some)
    }

    /// Denies the prompt of a nested session if hooks have started too many such sessions.
    fn deny_hook_started_session(&mut self) -> Result<Option<Verdict>, Halt> {
        if !self.agent.is_nested {
            return Ok(None);
        }
        let key = hook_key(NESTED_SESSION);
        let open = self.at_root(|draft| Ok(draft.agent.circuits.state_at(key, draft.now).denying_trip().cloned()))?;
        let Some(trip) = open.flatten() else { return Ok(None) };
        let explanation = self.hook_explanation(NESTED_SESSION, trip.count);
        Ok(Some(self.deny(Denial::by_trip(explanation, &trip), None)))
    }

    fn prompt(&mut self, by_user: bool, bypass: bool) -> Result<Verdict, Halt> {
        // A prompt from the client itself, such as a sub-agent's result, would resume a stopped agent.
        let is_denied = !by_user && self.is_stopped();
        if !self.is_duplicate {
            let clears_spawns = by_user && !self.is_literal() && !self.agent.spawn_turns.is_empty();
            let hook_source = self.hook_source();
            self.record(AgentFact::Prompted { by_user, is_denied, clears_spawns, hook_source });
        }
        if is_denied {
            return Ok(self.still_stopped());
        }
        if !by_user {
            return Ok(Verdict::Pass);
        }
        if self.is_duplicate {
            return Ok(self.deny_hook_started_session()?.unwrap_or(Verdict::Pass));
        }
        if !self.request.agent_ref.marks_batches {
            // The person no longer waits for these calls: a call whose end was lost must not keep the turn open (L3).
            self.close_in_flight()?;
        }
        if let Some(denied) = self.deny_hook_started_session()? {
            return Ok(denied);
        }
        if let Some(denied) = self.begin_session()? {
            return Ok(denied);
        }
        // A new prompt is a new task: HALF_OPEN circuits of the last one close, unless a person resumed them.
        self.lapse(|pattern, cause| pattern.nature() == Nature::Loop && cause != HalfOpenCause::Person);
        self.lapse_idle_continuation();
        self.need_tree()?;
        let is_main =
            self.request.agent_ref.sub_agent.is_none() && self.agent.root_session.is_none() && !self.agent.is_nested;
        // Only the main agent's prompts come from the person; those of sub-agents and nested sessions do not.
        if is_main && self.tree.as_ref().is_some_and(|tree| tree.is_bypassed != bypass) {
            self.record_in_tree(AgentTreeFact::Bypass { on: bypass });
        }
        if is_main && self.tree.as_ref().is_some_and(|tree| tree.spawns_since_prompt > 0) {
            self.record_in_tree(AgentTreeFact::Prompted);
        }
        if is_main {
            self.begin_prompt_budget()?;
        }
        self.lapse_limits_at_prompt();
        self.warn_of_budget()
    }

    /// Ends the incidents of limits that a prompt lifts, or that were about one attempt only.
    fn lapse_limits_at_prompt(&mut self) {
        if self.agent.circuits.escalations.is_empty() {
            return;
        }
        self.lapse_limits(&["concurrent", "depth", "spacing", "same_task", "tampering"]);
        let session_max = self.limits.agents.session_spawns_max(self.limits.preset);
        let spawns = self.tree.as_ref().map_or(0, |tree| tree.spawns);
        if session_max.is_none_or(|max| spawns < u64::from(max)) {
            self.lapse_limits(&["spawns"]);
        }
    }

    /// True if a person declared this circuit a false positive.
    fn is_exempt(&self, pattern: Pattern, key: Digest) -> Result<bool, Halt> {
        let row = self.memory.require(&CircuitName::exemptions())?;
        Ok(row.and_then(|state| state.as_exemptions()).is_some_and(|exemptions| exemptions.covers(pattern, key)))
    }

    /// True if a person declared this circuit a false positive, or exempted the call from every pattern.
    fn is_call_exempt(&self, pattern: Pattern, key: Digest, identity: Digest) -> Result<bool, Halt> {
        let row = self.memory.require(&CircuitName::exemptions())?;
        let Some(exemptions) = row.and_then(|state| state.as_exemptions()) else { return Ok(false) };
        Ok(exemptions.covers(pattern, key) || [key, identity].iter().any(|call| exemptions.covers_call(*call)))
    }

    fn need_tree(&mut self) -> Result<(), Halt> {
        if self.tree.is_none() {
            self.memory.require(&self.tree_row)?;
            self.tree = Some(AgentTree::new(self.now));
        }
        Ok(())
    }

    fn record(&mut self, fact: AgentFact) {
        self.record_at(self.now, fact, None);
    }

    fn record_at(&mut self, at: Moment, fact: AgentFact, text: Option<String>) {
        let agent = std::mem::replace(&mut self.agent, AgentState::new(at));
        self.agent = self.draft.record(&self.agent_row, Some(agent), at, fact, Texts { text, ..Texts::default() });
    }

    fn record_in_tree(&mut self, fact: AgentTreeFact) {
        self.record_in_tree_at(self.now, fact, None);
    }

    fn record_in_tree_at(&mut self, at: Moment, fact: AgentTreeFact, text: Option<String>) {
        let texts = Texts { text, ..Texts::default() };
        self.tree = Some(self.draft.record(&self.tree_row, self.tree.take(), at, fact, texts));
    }

    fn circuit_name(&self, pattern: Pattern) -> CircuitName {
        self.agent_row.below(pattern.as_str())
    }

    fn sub_agent_ids(&self) -> Vec<String> {
        self.tree.iter().flat_map(|tree| tree.sub_agents.iter().map(|sub_agent| sub_agent.id.clone())).collect()
    }

    /// The sub-agents that have ended, according to the main agent's list of running ones. The list has only the direct
    /// sub-agents; deeper ones go on as long as any listed one runs.
    fn ended_sub_agents(&self, running: &[String]) -> Vec<String> {
        let agents = || self.tree.iter().flat_map(|tree| &tree.sub_agents);
        let any_runs = agents().any(|sub_agent| running.contains(&sub_agent.id));
        let is_over = |sub_agent: &&SubAgent| !running.contains(&sub_agent.id) && (sub_agent.depth <= 1 || !any_runs);
        agents().filter(is_over).map(|sub_agent| sub_agent.id.clone()).collect()
    }

    fn record_sub_agent_end(&mut self, id: &str) {
        if self.tree.as_ref().is_some_and(|tree| tree.sub_agents.iter().any(|sub_agent| sub_agent.id == id)) {
            self.record_in_tree(AgentTreeFact::SubAgentEnded { id: id.to_owned() });
        }
    }

    fn is_literal(&self) -> bool {
        self.limits.preset == Preset::Literal
    }

    /// True if haltline ended the turn. In observe mode nobody was stopped.
    fn is_stopped(&self) -> bool {
        self.policy.mode == Mode::Enforce && self.agent.is_stopped
    }
}

/// A name on one short line, cut to 80 characters.
fn short(name: &str) -> String {
    let line: String = name.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(81).collect();
    if line.chars().count() > 80 { line.chars().take(79).chain(['…']).collect() } else { line }
}
