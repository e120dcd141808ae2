//! Replays recorded sessions through the same decisions as live ones, in recorded time (X3).
//!
//! There is no second detector: each event goes to [`haltline_core::evaluate`] as a hook's does. A replay must never
//! touch a store: rows live in memory while their session is read. It continues as if haltline had stopped nobody, so
//! the mode is observe: denied calls run, and their results follow.
//!
//! What a hook looks up in the project is left out: guards of constraints, false positives, haltline's self-protection.

mod clock;
mod news;
mod recording_reader;
mod session;
mod trips_file;

use std::collections::BTreeMap;
use std::convert::Infallible;

use haltline_core::loop_::{AgentRef, CallContext, LoopEvent, Protections};
use haltline_core::{CircuitName, Decision, Event, Instant, Memory, Mode, Moment, Policy, decide_with_rows, evaluate};

use crate::calendar::calendar;
use clock::ReplayClock;
pub use news::Brought;
pub use recording_reader::{LINE_BYTES_MAX, Piece, RecordingReader};
use session::SessionReplay;
pub use session::{Evidence, ReplayedSession, SessionVerdicts, Severity, Trip};
pub use trips_file::{KeptTrip, TRIPS_KEPT_MAX, TripsFile};

/// How many session trees are kept at once. Beyond that, the one whose last event is oldest counts as finished; a later
/// event of it starts another session.
const SESSION_TREES_MAX: usize = 20_000;
/// Stands for the policy's digest, which has no effect in a replay.
const POLICY: &str = "replay";

#[derive(Clone, Debug)]
pub struct ReplayedEvent {
    /// When it happened, if the transcript says so.
    pub at: Option<Instant>,
    pub agent: AgentRef,
    pub event: LoopEvent,
    /// The transcript repeats an earlier event: it is decided but not counted.
    pub is_echo: bool,
}

/// Sessions being replayed, each under every policy.
#[derive(Debug)]
pub struct Replay {
    policies: Vec<Policy>,
    /// By the number of their first event.
    trees: BTreeMap<u64, SessionTree>,
    tree_of_session: BTreeMap<String, u64>,
    /// By the number of their last event: the number of their first event.
    trees_by_last_event: BTreeMap<u64, u64>,
    events: u64,
}

/// A session and the sessions it started, which share rows.
#[derive(Debug)]
struct SessionTree {
    /// One for each policy.
    memories: Vec<Memory>,
    clock: ReplayClock,
    sessions: Vec<SessionReplay>,
    last_event: u64,
}

impl Replay {
    /// A replay under these policies. Their modes are ignored.
    pub fn new(policies: &[Policy]) -> Self {
        let policies = policies.iter().map(|policy| Policy { mode: Mode::Observe, ..policy.clone() }).collect();
        let (trees, tree_of_session, trees_by_last_event) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { policies, trees, tree_of_session, trees_by_last_event, events: 0 }
    }

    /// Decides the next event of a transcript. Sessions that this finishes are added to `over`.
    pub fn add_event(&mut self, replayed: ReplayedEvent, over: &mut Vec<ReplayedSession>) {
        self.events += 1;
        let tree_id = self.tree_for(&replayed.agent, over);
        let Some(tree) = self.trees.get_mut(&tree_id) else { return };
        self.trees_by_last_event.remove(&tree.last_event);
        self.trees_by_last_event.insert(self.events, tree_id);
        tree.last_event = self.events;
        let ReplayedEvent { at, agent, event, is_echo } = replayed;
        let now = tree.clock.advance(at, matches!(event, LoopEvent::ToolStart { .. }));
        let session_name = &agent.session;
        let index = tree.sessions.iter().position(|session| session.is_for(session_name)).unwrap_or_else(|| {
            tree.sessions.push(SessionReplay::new(session_name, self.policies.len()));
            tree.sessions.len() - 1
        });
        let session = &mut tree.sessions[index];
        session.count_event(&agent, &event, at, is_echo);
        let mut event = Event::Loop { agent, event: unprotected(event), policy: POLICY.to_owned(), calendar: None };
        for (policy_index, (memory, policy)) in tree.memories.iter_mut().zip(&self.policies).enumerate() {
            if let Event::Loop { calendar: local, .. } = &mut event {
                *local = calendar(now.at, &policy.loop_.budgets);
            }
            if let Some(decision) = decide_event(memory, policy, &event, now) {
                memory.fold(&decision.facts);
                session.record_verdict(policy_index, &event, &decision, memory, now.at);
            }
        }
    }

    /// Finishes the remaining sessions at the end of a transcript, in the order they began.
    pub fn finish(self) -> Vec<ReplayedSession> {
        self.trees.into_values().flat_map(|tree| tree.sessions).map(SessionReplay::finish).collect()
    }

    /// The tree an agent's session belongs to: its own, its parent's, or a new one.
    fn tree_for(&mut self, agent: &AgentRef, over: &mut Vec<ReplayedSession>) -> u64 {
        if let Some(tree_id) = self.tree_of_session.get(&agent.session) {
            return *tree_id;
        }
        let tree_id = match agent.parent_session.as_ref().and_then(|root| self.tree_of_session.get(root)) {
            Some(tree_of_parent) => *tree_of_parent,
            None => {
                self.make_room(over);
                let memories = vec![Memory::default(); self.policies.len()];
                let (clock, last_event) = (ReplayClock::default(), self.events);
                self.trees.insert(self.events, SessionTree { memories, clock, sessions: Vec::new(), last_event });
                self.events
            }
        };
        self.tree_of_session.insert(agent.session.clone(), tree_id);
        tree_id
    }

    fn make_room(&mut self, over: &mut Vec<ReplayedSession>) {
        if self.trees.len() < SESSION_TREES_MAX {
            return;
        }
        let oldest = self.trees_by_last_event.pop_first().map(|(_, tree_id)| tree_id);
        if let Some(tree) = oldest.and_then(|tree_id| self.trees.remove(&tree_id)) {
            for session in tree.sessions {
                self.tree_of_session.remove(session.name());
                over.push(session.finish());
            }
        }
    }
}

/// A recorded call with an explicitly empty context: a replay knows neither the rules nor the scopes of that time.
fn unprotected(event: LoopEvent) -> LoopEvent {
    let LoopEvent::ToolStart { call, response, action, context: _ } = event else { return event };
    let protections = Protections { guarded: Vec::new(), touched: Vec::new(), tampering: None };
    LoopEvent::ToolStart { call, response, action, context: CallContext::Gathered(protections) }
}

/// Decides with empty rows for those that do not exist yet.
fn decide_event(memory: &mut Memory, policy: &Policy, event: &Event, now: Moment) -> Option<Decision> {
    let absent = |names: &[CircuitName]| Ok::<_, Infallible>(vec![None; names.len()]);
    let decided = decide_with_rows(memory, |memory| evaluate(memory, policy, event, now), absent);
    // Neither an endless decision nor a rejection is possible in a session.
    decided.ok()?.ok()
}
