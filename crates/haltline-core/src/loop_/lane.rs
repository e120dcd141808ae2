//! One agent's own stream of work: its turns, the calls in flight, the last calls it made, its circuits.
//!
//! A row of the store per agent, read and written on every call: it is kept small, and holds digests, never texts.

use serde::{Deserialize, Serialize};

use super::board::{Board, BoardFact, Opening, Step};
use super::decide::futile_key;
use super::past::Mark;
use super::rut::{Landing, Rut};
use super::{Chant, Compaction, Ending, Flight, Growth, LaneFact, Nameless, Nature, Past, Pattern, Progress};
use crate::identity::{Action, Digest, Outcome};
use crate::memory::rise;
use crate::{Elapsed, Moment};

/// A hook that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun(
    /// Which.
    pub Digest,
    /// In which turn.
    pub u64,
);

/// Where an agent stands between the end of a turn and what sets it going again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// It works, or waits for its first prompt.
    #[default]
    Working,
    /// It wanted to end its turn, and nothing came since.
    Ended,
    /// Something other than a person's prompt, as far as anybody knows, set it going again.
    Kept,
}

/// What an agent has done in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneTotals {
    /// Calls that started.
    pub calls: u64,
    /// Calls that failed by the agent's doing.
    pub failed: u64,
    /// Calls whose end nobody saw.
    pub unended: u64,
    /// Questions of the user.
    pub prompts: u64,
}

/// One agent's stream of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The client.
    pub client: String,
    /// The session of the tree it belongs to; `None` is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The client was itself started by an agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_nested: bool,
    /// The last event.
    pub seen: Moment,
    /// The first event.
    pub began: Moment,
    /// The present turn (L3).
    pub turn: u64,
    /// The present turn has no call yet.
    pub is_unused: bool,
    /// The client said that the present turn is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fresh: bool,
    /// The response the last call belonged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Digest>,
    /// A prompt came since the last call ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_prompted: bool,
    /// Its turn was ended by haltline, and no person has spoken since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stopped: bool,
    /// Where it stands since its turn ended.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pause: Pause,
    /// Calls that have not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flights: Vec<Flight>,
    /// Calls of the present turn that were refused: the client reports their end as well, and may tell of all that again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Digest>,
    /// Calls of the present turn that ended: a wide one has more of them than the past keeps, and each may be told again. Also
    /// their ends, where those have names of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<Digest>,
    /// The last calls that ended, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Past>,
    /// What came since the last new answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rut: Rut,
    /// What came since the conversation was last shortened.
    #[serde(default, skip_serializing_if = "is_default")]
    pub compaction: Compaction,
    /// The last thing that the model said.
    #[serde(default, skip_serializing_if = "is_default")]
    pub chant: Chant,
    /// What its responses cost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub growth: Growth,
    /// It was shortened since the last call ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shortened: bool,
    /// Nothing happened for a good while before the next call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_rested: bool,
    /// Hooks that ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookRun>,
    /// The same before the last prompt, until it is known whether a person asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks_before: Vec<HookRun>,
    /// The client says where a turn ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_marked: bool,
    /// The door it is heard through, where its calls have no names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub door: Option<Digest>,
    /// Events without names since a call began: through which door the last of each kind was told, and when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<(Nameless, Digest, Moment)>,
    /// Turns in which a sub-agent was started, one entry each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spawned: Vec<u64>,
    /// Refusals by permission rules: how many in a row.
    #[serde(default)]
    pub denied_in_a_row: u32,
    /// The tools that were refused lately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied_tools: Vec<Digest>,
    /// Which of the last calls were refused: the newest is the lowest bit.
    #[serde(default)]
    pub denied_recent: u64,
    /// How far the client's transcript was read.
    #[serde(default)]
    pub transcript: u64,
    /// The last model responses that were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<String>,
    /// The policy of the last event.
    #[serde(default)]
    pub policy: String,
    /// Its circuits.
    #[serde(default)]
    pub board: Board,
    /// What it did in all.
    #[serde(default)]
    pub totals: LaneTotals,
}

/// Among so many of the last calls a failure is trouble.
const TROUBLE_CALLS: usize = 10;
/// After so long without an event the world may have changed by itself.
const REST_MS: u64 = 30_000;
/// All doors tell of an event within this time; a door that is gone silences the others no longer.
const TOLD_MS: u64 = 60_000;
/// How many calls in flight are remembered: more are not of one model.
const FLIGHTS_MAX: usize = 64;
/// How many calls of one turn that ended are known by name.
const CLOSED_MAX: usize = 256;

impl Lane {
    /// A stream nobody has seen yet.
    pub fn new(at: Moment) -> Self {
        Self {
            client: String::new(),
            root: None,
            is_nested: false,
            seen: at,
            began: at,
            turn: 1,
            is_unused: true,
            is_fresh: false,
            message: None,
            is_prompted: true,
            is_stopped: false,
            pause: Pause::Working,
            flights: Vec::new(),
            refused: Vec::new(),
            closed: Vec::new(),
            past: Vec::new(),
            rut: Rut::default(),
            compaction: Compaction::default(),
            chant: Chant::default(),
            growth: Growth::default(),
            is_shortened: false,
            is_rested: false,
            hooks: Vec::new(),
            hooks_before: Vec::new(),
            door: None,
            told: Vec::new(),
            is_marked: false,
            spawned: Vec::new(),
            denied_in_a_row: 0,
            denied_tools: Vec::new(),
            denied_recent: 0,
            transcript: 0,
            reported: None,
            policy: String::new(),
            board: Board::default(),
            totals: LaneTotals::default(),
        }
    }

    /// The call in flight with this name.
    pub fn flight(&self, call: Digest) -> Option<&Flight> {
        self.flights.iter().find(|flight| flight.call == call)
    }

    /// The call in flight that the client's transcript knows by this name, the one that began first.
    pub fn flight_named(&self, name: Digest) -> Option<&Flight> {
        self.flights.iter().find(|flight| flight.name.unwrap_or(flight.call) == name)
    }

    /// The call in flight that does this, the one that began first.
    pub(super) fn oldest_flight(&self, action: &Action) -> Option<&Flight> {
        self.flights.iter().find(|flight| flight.identity == action.identity && flight.tool == action.tool)
    }

    /// The call in flight of this tool, where there is no other.
    pub(super) fn only_flight(&self, tool: &str) -> Option<&Flight> {
        let mut flights = self.flights.iter().filter(|flight| flight.tool == tool);
        flights.next().filter(|_| flights.next().is_none())
    }

    /// Whether a call of this name ended since the last prompt. Names may come again after it.
    pub fn has_ended(&self, call: Digest) -> bool {
        self.since_prompt().iter().any(|past| past.call == call) || self.closed.contains(&call)
    }

    /// The past calls since the last prompt.
    pub fn since_prompt(&self) -> &[Past] {
        if self.is_prompted {
            return &[];
        }
        let start = self.past.iter().rposition(Past::is_boundary).unwrap_or(0);
        &self.past[start..]
    }

    /// The past calls since the last prompt, without the one that ended last.
    pub(super) fn before_last(&self) -> &[Past] {
        self.since_prompt().split_last().map_or(&[], |(_, before)| before)
    }

    /// The stream after a fact.
    pub(super) fn apply(lane: Option<Lane>, fact: &LaneFact, at: Moment) -> Lane {
        let mut lane = lane.unwrap_or_else(|| Lane::new(at));
        lane.is_rested = lane.has_rested(at);
        lane.seen = at;
        match fact {
            LaneFact::Began { client, root, is_nested, door, told_by, .. } => {
                lane.client.clone_from(client);
                lane.root.clone_from(root);
                lane.is_nested = *is_nested;
                lane.door = *door;
                lane.told.clear();
                lane.hear(Nameless::Begin, *told_by, at);
            }
            LaneFact::PolicyChanged { policy } => lane.policy.clone_from(policy),
            LaneFact::Prompted { by_user, door, .. } => {
                lane.hear(if *by_user { Nameless::Prompt } else { Nameless::Notice }, *door, at);
                lane.prompted(*by_user);
            }
            LaneFact::Started { flight, message } => {
                if flight.turn != lane.turn {
                    lane.closed.clear();
                    lane.refused.clear();
                }
                lane.turn = flight.turn;
                lane.told.clear();
                lane.is_unused = false;
                lane.is_fresh = false;
                lane.is_rested = false;
                if lane.pause == Pause::Ended {
                    lane.pause = Pause::Working;
                }
                lane.message = message.or(lane.message);
                rise(&mut lane.totals.calls);
                if lane.flights.len() >= FLIGHTS_MAX {
                    lane.flights.remove(0);
                    rise(&mut lane.totals.unended);
                }
                lane.flights.push(flight.clone());
            }
            LaneFact::Ended(ending) => lane.ended(ending),
            LaneFact::Unended { call } => {
                lane.flights.retain(|flight| flight.call != *call);
                rise(&mut lane.totals.unended);
            }
            LaneFact::Stray { .. } => {}
            LaneFact::Denied { call, tool, end } => {
                lane.close(*end);
                lane.flights.retain(|flight| flight.call != *call);
                if !lane.denied_tools.contains(tool) && lane.denied_tools.len() < FLIGHTS_MAX {
                    lane.denied_tools.push(*tool);
                }
                lane.denied_in_a_row = lane.denied_in_a_row.saturating_add(1);
                lane.denied_recent = lane.denied_recent << 1 | 1;
                // The client tells of it again with the batch.
                lane.turned_down(*call);
            }
            LaneFact::TurnEnded => {
                lane.is_fresh = true;
                lane.is_marked = true;
            }
            LaneFact::HookRan { name, keep } => {
                lane.hooks.push(HookRun(*name, lane.turn));
                let excess = lane.hooks.len().saturating_sub(*keep as usize);
                lane.hooks.drain(..excess);
            }
            LaneFact::Spawned { keep } => {
                lane.spawned.push(lane.turn);
                let excess = lane.spawned.len().saturating_sub(*keep as usize);
                lane.spawned.drain(..excess);
            }
            LaneFact::Stopped { blocked, door } => {
                lane.hear(Nameless::Stop, *door, at);
                lane.stopped(*blocked);
            }
            LaneFact::Compacted { door, .. } => {
                lane.hear(Nameless::Compaction, *door, at);
                lane.compaction.shortened();
                lane.is_shortened = true;
                lane.end_rut();
            }
            LaneFact::MemoryCleaned { .. } => {}
            LaneFact::Reported { offset, last } => {
                lane.transcript = *offset;
                lane.reported.clone_from(last);
            }
            LaneFact::Responded { spent } => lane.growth.pay(*spent),
            LaneFact::Spoke { said } => lane.chant.hear(said),
            LaneFact::Over { door, .. } => {
                lane.hear(Nameless::End, *door, at);
                lane.is_fresh = true;
            }
            LaneFact::Board(fact) => lane.on_board(fact, at),
        }
        lane
    }

    /// Whether an event of this kind was just told through another door: it is the same one.
    pub(super) fn is_told(&self, kind: Nameless, door: Digest, now: Moment) -> bool {
        let is_recent = |at: Moment| matches!(now.since(at), Elapsed::Known(elapsed) if elapsed < TOLD_MS);
        self.told.iter().any(|(told, by, at)| *told == kind && *by != door && is_recent(*at))
    }

    fn hear(&mut self, kind: Nameless, door: Option<Digest>, at: Moment) {
        self.told.retain(|(told, ..)| *told != kind);
        self.told.extend(door.map(|door| (kind, door, at)));
    }

    fn prompted(&mut self, by_user: bool) {
        if !by_user {
            if self.pause == Pause::Ended {
                self.pause = Pause::Kept;
            }
            return;
        }
        self.pause = Pause::Working;
        rise(&mut self.totals.prompts);
        self.turn = self.turn.saturating_add(1);
        self.is_unused = true;
        self.is_fresh = false;
        self.is_prompted = true;
        self.is_stopped = false;
        self.denied_in_a_row = 0;
        self.denied_tools.clear();
        self.hooks_before = std::mem::take(&mut self.hooks);
        self.refused.clear();
        self.closed.clear();
        self.compaction = Compaction::default();
        self.chant = Chant::default();
        self.end_rut();
        self.board.forget_steps();
    }

    /// It wanted to end its turn. A hook may keep it going by words that look like a person's prompt: what was counted
    /// before them counts on then.
    fn stopped(&mut self, blocked: bool) {
        self.is_fresh = true;
        self.pause = Pause::Ended;
        let before = std::mem::take(&mut self.hooks_before);
        if blocked {
            self.hooks.splice(..0, before);
        }
    }

    /// Whether so long nothing happened that what was asked before may be asked again.
    pub(super) fn has_rested(&self, now: Moment) -> bool {
        let is_idle = matches!(now.since(self.seen), Elapsed::Known(idle) if idle >= REST_MS);
        self.is_rested || (is_idle && self.flights.is_empty())
    }

    fn end_rut(&mut self) {
        let board = &self.board;
        self.rut.end(|key| board.holds(key));
    }

    fn ended(&mut self, ending: &Ending) {
        let Some(place) = self.flights.iter().position(|flight| flight.call == ending.call) else { return };
        let flight = self.flights.remove(place);
        self.close([Some(ending.call), ending.end].into_iter().flatten());
        let is_answered = match ending.outcome {
            Outcome::Ok | Outcome::Failed => true,
            Outcome::Rejected | Outcome::Denied | Outcome::Cancelled | Outcome::RateLimited | Outcome::Unknown => false,
        };
        let is_known = is_answered && !flight.traits.is_poller && flight.generation >= self.board.closed_at;
        if is_answered {
            self.denied_in_a_row = 0;
            self.denied_recent <<= 1;
            if self.denied_recent == 0 {
                self.denied_tools.clear();
            }
        }
        if ending.is_failed {
            rise(&mut self.totals.failed);
        }
        let tool = Digest::of(&[flight.tool.as_bytes()]);
        match ending.progress {
            Progress::None if is_known => self.land(&flight, tool, ending),
            Progress::None => {}
            Progress::Written => {
                self.past.iter_mut().for_each(|past| past.mark(Mark::Spent));
                self.compaction = Compaction::default();
                self.chant = Chant::default();
                self.end_rut();
            }
        }
        let mut past = Past::new(ending.call, tool, flight.identity, ending.normal, flight.turn);
        let marks = [
            (Mark::Known, is_known),
            (Mark::Failed, is_known && ending.is_failed),
            (Mark::Prompted, std::mem::take(&mut self.is_prompted)),
            (Mark::Shortened, std::mem::take(&mut self.is_shortened)),
            (Mark::Waited, flight.traits.is_wait),
            (Mark::Rested, flight.traits.is_rested),
        ];
        marks.into_iter().filter(|(_, is_so)| *is_so).for_each(|(mark, _)| past.mark(mark));
        self.past.push(past);
        let excess = self.past.len().saturating_sub(ending.keep as usize);
        self.past.drain(..excess);
    }

    /// Counts a known answer towards the rut.
    fn land(&mut self, flight: &Flight, tool: Digest, ending: &Ending) {
        let is_again = |past: &&Past| past.identity == flight.identity;
        let is_same = |past: &&Past| past.is_known() && past.is_counted() && past.normal == ending.normal;
        self.compaction.land(self.since_prompt().iter().filter(is_same).any(|past| is_again(&past)));
        let remembered = if self.is_shortened { &[] } else { self.since_prompt() };
        let start = remembered.iter().rposition(Past::is_afresh).unwrap_or(0);
        let remembered = &remembered[start..];
        let known: Vec<&Past> = remembered.iter().filter(is_same).collect();
        // Whoever had no trouble may go over everything a second time.
        let is_trouble = |past: &Past| past.is_failed() && past.is_counted();
        let has_trouble = ending.is_failed || remembered.iter().rev().take(TROUBLE_CALLS).any(is_trouble);
        let again = known.iter().filter(|past| is_again(past)).count();
        let landing = Landing {
            tool,
            identity: flight.identity,
            normal: ending.normal,
            words: flight.words,
            turn: flight.turn,
            is_write: flight.traits.is_write,
            is_failed: ending.is_failed,
            is_terse: ending.is_terse,
            is_heard: !known.is_empty(),
            is_first: !remembered.iter().any(|past| is_again(&past)),
            is_again: again >= if has_trouble { 1 } else { 2 },
            shared: &ending.shared,
            is_named: ending.is_named,
        };
        let board = &self.board;
        self.rut.land(&landing, |key| board.holds(key));
    }

    fn on_board(&mut self, fact: &BoardFact, at: Moment) {
        match fact {
            BoardFact::Warned { key, pattern, .. } => match pattern.nature() {
                Nature::Loop => self.rut.warned = Some(*key),
                Nature::Resource | Nature::Rule => {}
            },
            BoardFact::Refused { step: Step::Stop, .. } => self.is_stopped = true,
            BoardFact::Reset { .. }
            | BoardFact::FalseAlarm { .. }
            | BoardFact::HalfOpened { by: Opening::Person, .. } => self.is_stopped = false,
            BoardFact::Tripped { .. }
            | BoardFact::Limited { .. }
            | BoardFact::HalfOpened { by: Opening::Cooldown | Opening::Write | Opening::Answer, .. }
            | BoardFact::ProbeTaken { .. }
            | BoardFact::ProbeAbandoned { .. }
            | BoardFact::Recovered { .. }
            | BoardFact::Lapsed { .. }
            | BoardFact::Refused { step: Step::Deny, .. } => {}
        }
        // A circuit that closes empties its window (L5).
        let closing = match fact {
            BoardFact::Recovered { incident }
            | BoardFact::Lapsed { incident }
            | BoardFact::FalseAlarm { incident, .. }
            | BoardFact::Reset { incident: Some(incident), .. } => {
                self.board.held(incident).map(|held| (held.trip.pattern, held.trip.key))
            }
            BoardFact::Reset { incident: None, .. } => {
                self.past.iter_mut().for_each(|past| past.mark(Mark::Closed));
                self.rut.end(|_| false);
                self.compaction = Compaction::default();
                self.chant = Chant::default();
                self.growth = Growth::default();
                self.hooks.clear();
                self.hooks_before.clear();
                self.spawned.clear();
                self.denied_in_a_row = 0;
                self.denied_recent = 0;
                None
            }
            BoardFact::Warned { .. }
            | BoardFact::Tripped { .. }
            | BoardFact::Limited { .. }
            | BoardFact::HalfOpened { .. }
            | BoardFact::ProbeTaken { .. }
            | BoardFact::ProbeAbandoned { .. } => None,
            BoardFact::Refused { call, message, turn, .. } => {
                if let Some(call) = call {
                    // A turn whose only call was refused is a turn: the next attempt is a rung higher (E5).
                    if *turn != self.turn {
                        self.refused.clear();
                    }
                    self.turn = *turn;
                    self.told.clear();
                    self.is_unused = false;
                    self.is_fresh = false;
                    self.message = message.or(self.message);
                    self.turned_down(*call);
                }
                None
            }
        };
        self.board.apply(fact, at);
        if let Some((pattern, key)) = closing {
            self.closed(pattern, key);
        }
    }

    /// What a circuit had counted counts no more once it is closed (L5).
    fn closed(&mut self, pattern: Pattern, key: Digest) {
        self.hooks.retain(|run| run.0 != key);
        self.hooks_before.retain(|run| run.0 != key);
        match pattern.nature() {
            Nature::Loop => self.end_rut(),
            Nature::Resource | Nature::Rule => {}
        }
        if pattern == Pattern::Denials {
            self.denied_in_a_row = 0;
            self.denied_recent = 0;
        }
        if pattern == Pattern::Compaction {
            self.compaction = Compaction::default();
        }
        if pattern == Pattern::Chanting {
            self.chant = Chant::default();
        }
        if pattern == Pattern::CostGrowth {
            self.growth = Growth::default();
        }
        for past in &mut self.past {
            // A cycle's key is none of its calls': all of them start anew.
            let is_its_own = past.identity == key || past.tool == key || futile_key(past.identity) == key;
            if pattern == Pattern::Cycle || is_its_own {
                past.mark(Mark::Closed);
            }
        }
    }

    /// What is told again under these names is known.
    fn close(&mut self, names: impl IntoIterator<Item = Digest>) {
        self.closed.extend(names);
        let excess = self.closed.len().saturating_sub(CLOSED_MAX);
        self.closed.drain(..excess);
    }

    /// Whatever is told of this call later is not counted again.
    fn turned_down(&mut self, call: Digest) {
        self.refused.push(call);
        let excess = self.refused.len().saturating_sub(FLIGHTS_MAX);
        self.refused.drain(..excess);
    }
}

/// What is as it is at first need not be written.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
