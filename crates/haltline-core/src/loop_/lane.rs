//! One agent's own stream of work: its turns, the calls in flight, the last calls it made, its circuits.
//!
//! A row of the store per agent, read and written on every call: it is kept small, and holds digests, never texts.

use serde::{Deserialize, Serialize};

use super::Pattern;
use super::board::{Board, BoardFact, Opening, Step, rise};
use crate::Moment;
use crate::identity::{Digest, Outcome};

/// A call that has started and not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flight {
    /// Its name.
    pub call: Digest,
    /// The tool's name.
    pub tool: String,
    /// What it does.
    pub identity: Digest,
    /// The turn it started in.
    pub turn: u64,
    /// The board's generation then (E12).
    pub generation: u64,
    /// What is known of it.
    pub traits: Traits,
}

/// What is known of a call before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u8", into = "u8")]
pub struct Traits {
    /// It writes if it succeeds.
    pub is_write: bool,
    /// It searches.
    pub is_search: bool,
    /// It starts a sub-agent.
    pub is_spawn: bool,
    /// It calls an external service.
    pub is_api: bool,
    /// It asks again by nature, and is not counted as a repeat.
    pub is_poller: bool,
}

impl From<u8> for Traits {
    fn from(bits: u8) -> Self {
        Self {
            is_write: bits & 1 != 0,
            is_search: bits & 2 != 0,
            is_spawn: bits & 4 != 0,
            is_api: bits & 8 != 0,
            is_poller: bits & 16 != 0,
        }
    }
}

impl From<Traits> for u8 {
    fn from(traits: Traits) -> Self {
        u8::from(traits.is_write)
            | u8::from(traits.is_search) << 1
            | u8::from(traits.is_spawn) << 2
            | u8::from(traits.is_api) << 3
            | u8::from(traits.is_poller) << 4
    }
}

/// A call that ended. Written as a short list of numbers: there are fifty of them in each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Numbers", into = "Numbers")]
pub struct Past {
    /// Its name.
    pub call: Digest,
    /// Its tool.
    pub tool: Digest,
    /// What it did.
    pub identity: Digest,
    /// What came back, without its volatile parts.
    pub normal: Digest,
    /// The turn it started in.
    pub turn: u64,
    flags: u32,
}

/// How a past call is written.
type Numbers = (u64, u64, u64, u64, u64, u32);

const KNOWN: u32 = 1;
const FAILED: u32 = 2;
const BOUNDARY: u32 = 4;
const SPENT: u32 = 8;

impl From<Numbers> for Past {
    fn from((call, tool, identity, normal, turn, flags): Numbers) -> Self {
        let [call, tool, identity, normal] = [call, tool, identity, normal].map(Digest);
        Self { call, tool, identity, normal, turn, flags }
    }
}

impl From<Past> for Numbers {
    fn from(past: Past) -> Self {
        (past.call.0, past.tool.0, past.identity.0, past.normal.0, past.turn, past.flags)
    }
}

impl Past {
    /// Its answer is known.
    pub fn is_known(&self) -> bool {
        self.flags & KNOWN != 0
    }

    /// It failed, and that was the agent's doing.
    pub fn is_failed(&self) -> bool {
        self.flags & FAILED != 0
    }

    /// Counting starts anew with it: a prompt came before it.
    pub fn is_boundary(&self) -> bool {
        self.flags & BOUNDARY != 0
    }

    /// It still counts: no circuit was closed and no new file written since.
    pub fn is_counted(&self) -> bool {
        self.flags & SPENT == 0
    }

    /// A call for tests of the counting.
    #[cfg(test)]
    pub(super) fn known(identity: Digest, normal: Digest, is_failed: bool) -> Self {
        let flags = if is_failed { KNOWN | FAILED } else { KNOWN };
        Self { call: Digest(0), tool: Digest(0), identity, normal, turn: 0, flags }
    }
}

/// How a call bore on what came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// It did not.
    None,
    /// It wrote something new: what was counted before counts no more (L4).
    Written,
}

/// A hook that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun(
    /// Which.
    pub Digest,
    /// In which turn.
    pub u64,
);

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
    /// Calls that have not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flights: Vec<Flight>,
    /// Calls of the present turn that were refused: the client reports their end as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Digest>,
    /// The last calls that ended, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Past>,
    /// Hooks that ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookRun>,
    /// Turns in which a sub-agent was started, one entry each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spawned: Vec<u64>,
    /// Refusals by permission rules: how many in a row.
    #[serde(default)]
    pub denied_in_a_row: u32,
    /// The tools of that row.
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

/// What became true of an agent's stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneFact {
    /// The stream was seen for the first time, or its session began again.
    Began {
        /// The client.
        client: String,
        /// The tree it belongs to, where that is not its own session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// The client was itself started by an agent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_nested: bool,
        /// It goes on from before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumed: bool,
        /// Nobody saw it begin: haltline was installed while it ran, or its memory was taken away.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unseen: bool,
    },
    /// The policy is another one than at the last event.
    PolicyChanged {
        /// Its digest.
        policy: String,
    },
    /// A prompt.
    Prompted {
        /// By a person.
        by_user: bool,
        /// It was turned away: the turn had been ended, and only a person takes it up again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_refused: bool,
    },
    /// A call started.
    Started {
        /// The call.
        flight: Flight,
        /// The response it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Digest>,
    },
    /// A call ended.
    Ended {
        /// Which.
        call: Digest,
        /// How.
        outcome: Outcome,
        /// What came back, without its volatile parts.
        normal: Digest,
        /// What came back, as it is.
        raw: Digest,
        /// It failed, and that was the agent's doing.
        is_failed: bool,
        /// What it changed.
        progress: Progress,
        /// How many past calls are kept.
        keep: u32,
    },
    /// A call's end was never seen.
    Unended {
        /// Which.
        call: Digest,
    },
    /// The end of a call that nobody saw start.
    Stray {
        /// Which.
        call: Digest,
        /// How it ended.
        outcome: Outcome,
    },
    /// A permission rule, or somebody else's hook, refused a call.
    Denied {
        /// Which.
        call: Digest,
        /// Its tool.
        tool: Digest,
    },
    /// All calls of one response have ended.
    TurnEnded,
    /// A hook ran.
    HookRan {
        /// Which.
        name: Digest,
        /// How many are kept.
        keep: u32,
    },
    /// A sub-agent was started from here.
    Spawned {
        /// How many are kept.
        keep: u32,
    },
    /// The agent wanted to end its turn.
    Stopped {
        /// A hook had kept it going.
        blocked: bool,
    },
    /// The conversation was shortened.
    Compacted {
        /// By whom.
        trigger: String,
    },
    /// The client's transcript was read up to here.
    Reported {
        /// How far.
        offset: u64,
        /// The last responses that were counted.
        last: Option<String>,
    },
    /// Old files of the memory folder were put away (L9).
    MemoryCleaned {
        /// Telemetry files rotated.
        files_rotated: u64,
        /// Session states archived.
        sessions_pruned: u64,
        /// Bytes freed.
        bytes_freed: u64,
    },
    /// The session is over.
    Over {
        /// Why.
        reason: String,
    },
    /// Of one of its circuits.
    Board(BoardFact),
}

impl LaneFact {
    /// Whether it must be on disk before it is answered.
    pub fn is_momentous(&self) -> bool {
        match self {
            LaneFact::Board(fact) => fact.is_momentous(),
            LaneFact::Began { .. }
            | LaneFact::PolicyChanged { .. }
            | LaneFact::Prompted { .. }
            | LaneFact::Started { .. }
            | LaneFact::Ended { .. }
            | LaneFact::Unended { .. }
            | LaneFact::Stray { .. }
            | LaneFact::Denied { .. }
            | LaneFact::TurnEnded
            | LaneFact::HookRan { .. }
            | LaneFact::Spawned { .. }
            | LaneFact::Stopped { .. }
            | LaneFact::Compacted { .. }
            | LaneFact::Reported { .. }
            | LaneFact::MemoryCleaned { .. }
            | LaneFact::Over { .. } => false,
        }
    }

    /// The word for it in listings.
    pub fn word(&self) -> &'static str {
        match self {
            LaneFact::Began { .. } => "began",
            LaneFact::PolicyChanged { .. } => "policy_changed",
            LaneFact::Prompted { by_user: true, .. } => "prompted",
            LaneFact::Prompted { by_user: false, is_refused: false } => "notified",
            LaneFact::Prompted { by_user: false, is_refused: true } => "kept_stopped",
            LaneFact::Started { .. } => "started",
            LaneFact::Ended { is_failed: false, .. } => "ended",
            LaneFact::Ended { is_failed: true, .. } => "failed",
            LaneFact::Unended { .. } => "unended",
            LaneFact::Stray { .. } => "stray_end",
            LaneFact::Denied { .. } => "denied",
            LaneFact::TurnEnded => "turn_ended",
            LaneFact::HookRan { .. } => "hook_ran",
            LaneFact::Spawned { .. } => "spawned",
            LaneFact::Stopped { blocked: false } => "stopping",
            LaneFact::Stopped { blocked: true } => "kept_going",
            LaneFact::Compacted { .. } => "compacted",
            LaneFact::Reported { .. } => "reported",
            LaneFact::MemoryCleaned { .. } => "memory_cleaned",
            LaneFact::Over { .. } => "over",
            LaneFact::Board(fact) => fact.word(),
        }
    }
}

/// How many calls in flight are remembered: more are not of one model.
const FLIGHTS_MAX: usize = 64;

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
            flights: Vec::new(),
            refused: Vec::new(),
            past: Vec::new(),
            hooks: Vec::new(),
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

    /// Whether a call of this name ended since the last prompt. Names may come again after it.
    pub fn has_ended(&self, call: Digest) -> bool {
        !self.is_prompted && self.since_prompt().iter().any(|past| past.call == call)
    }

    /// The past calls since the last prompt.
    pub fn since_prompt(&self) -> &[Past] {
        if self.is_prompted {
            return &[];
        }
        let start = self.past.iter().rposition(Past::is_boundary).unwrap_or(0);
        &self.past[start..]
    }

    /// The stream after a fact.
    pub(super) fn apply(lane: Option<Lane>, fact: &LaneFact, at: Moment) -> Lane {
        let mut lane = lane.unwrap_or_else(|| Lane::new(at));
        lane.seen = at;
        match fact {
            LaneFact::Began { client, root, is_nested, .. } => {
                lane.client.clone_from(client);
                lane.root.clone_from(root);
                lane.is_nested = *is_nested;
            }
            LaneFact::PolicyChanged { policy } => lane.policy.clone_from(policy),
            LaneFact::Prompted { by_user, .. } => lane.prompted(*by_user),
            LaneFact::Started { flight, message } => {
                lane.turn = flight.turn;
                lane.is_unused = false;
                lane.is_fresh = false;
                lane.message = message.or(lane.message);
                rise(&mut lane.totals.calls);
                if lane.flights.len() >= FLIGHTS_MAX {
                    lane.flights.remove(0);
                    rise(&mut lane.totals.unended);
                }
                lane.flights.push(flight.clone());
            }
            LaneFact::Ended { call, outcome, normal, is_failed, progress, keep, .. } => {
                lane.ended(*call, *outcome, *normal, *is_failed, *progress, *keep);
            }
            LaneFact::Unended { call } => {
                lane.flights.retain(|flight| flight.call != *call);
                rise(&mut lane.totals.unended);
            }
            LaneFact::Stray { .. } => {}
            LaneFact::Denied { call, tool } => {
                lane.flights.retain(|flight| flight.call != *call);
                if !lane.denied_tools.contains(tool) {
                    lane.denied_tools.push(*tool);
                }
                lane.denied_in_a_row = lane.denied_in_a_row.saturating_add(1);
                lane.denied_recent = lane.denied_recent << 1 | 1;
                // The client tells of it again with the batch.
                lane.turned_down(*call);
            }
            LaneFact::TurnEnded => {
                lane.is_fresh = true;
                lane.refused.clear();
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
            LaneFact::Stopped { .. } => lane.is_fresh = true,
            LaneFact::Compacted { .. } | LaneFact::MemoryCleaned { .. } => {}
            LaneFact::Reported { offset, last } => {
                lane.transcript = *offset;
                lane.reported.clone_from(last);
            }
            LaneFact::Over { .. } => lane.is_fresh = true,
            LaneFact::Board(fact) => lane.on_board(fact, at),
        }
        lane
    }

    fn prompted(&mut self, by_user: bool) {
        if !by_user {
            return;
        }
        rise(&mut self.totals.prompts);
        self.turn = self.turn.saturating_add(1);
        self.is_unused = true;
        self.is_fresh = false;
        self.is_prompted = true;
        self.is_stopped = false;
        self.denied_in_a_row = 0;
        self.denied_tools.clear();
        self.hooks.clear();
        self.refused.clear();
        self.board.forget_steps();
    }

    fn ended(
        &mut self,
        call: Digest,
        outcome: Outcome,
        normal: Digest,
        is_failed: bool,
        progress: Progress,
        keep: u32,
    ) {
        let Some(place) = self.flights.iter().position(|flight| flight.call == call) else { return };
        let flight = self.flights.remove(place);
        let is_known = match outcome {
            Outcome::Ok | Outcome::Failed => !flight.traits.is_poller && flight.generation >= self.board.closed_at,
            Outcome::Rejected | Outcome::Denied | Outcome::Cancelled | Outcome::RateLimited | Outcome::Unknown => false,
        };
        match outcome {
            Outcome::Ok | Outcome::Failed => {
                self.denied_in_a_row = 0;
                self.denied_tools.clear();
                self.denied_recent <<= 1;
            }
            Outcome::Rejected | Outcome::Denied | Outcome::Cancelled | Outcome::RateLimited | Outcome::Unknown => {}
        }
        if is_failed {
            rise(&mut self.totals.failed);
        }
        match progress {
            Progress::None => {}
            Progress::Written => self.past.iter_mut().for_each(|past| past.flags |= SPENT),
        }
        let mut flags = 0;
        if is_known {
            flags |= KNOWN;
        }
        if is_failed && is_known {
            flags |= FAILED;
        }
        if std::mem::take(&mut self.is_prompted) {
            flags |= BOUNDARY;
        }
        let tool = Digest::of(&[flight.tool.as_bytes()]);
        self.past.push(Past { call, tool, identity: flight.identity, normal, turn: flight.turn, flags });
        let excess = self.past.len().saturating_sub(keep as usize);
        self.past.drain(..excess);
    }

    fn on_board(&mut self, fact: &BoardFact, at: Moment) {
        match fact {
            BoardFact::Refused { step: Step::Stop, .. } => self.is_stopped = true,
            BoardFact::Reset { .. }
            | BoardFact::FalseAlarm { .. }
            | BoardFact::HalfOpened { by: Opening::Person, .. } => self.is_stopped = false,
            BoardFact::Warned { .. }
            | BoardFact::Tripped { .. }
            | BoardFact::Limited { .. }
            | BoardFact::HalfOpened { by: Opening::Cooldown | Opening::Write, .. }
            | BoardFact::ProbeTaken { .. }
            | BoardFact::ProbeAbandoned { .. }
            | BoardFact::Recovered { .. }
            | BoardFact::Refused { step: Step::Deny, .. } => {}
        }
        // A circuit that closes empties its window (L5).
        let closing = match fact {
            BoardFact::Recovered { incident }
            | BoardFact::FalseAlarm { incident, .. }
            | BoardFact::Reset { incident: Some(incident), .. } => {
                self.board.held(incident).map(|held| (held.trip.pattern, held.trip.key))
            }
            BoardFact::Reset { incident: None, .. } => {
                self.past.iter_mut().for_each(|past| past.flags |= SPENT);
                self.hooks.clear();
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
                    self.turn = *turn;
                    self.is_unused = false;
                    self.is_fresh = false;
                    self.message = message.or(self.message);
                    self.turned_down(*call);
                }
                None
            }
        };
        if let Some((pattern, key)) = closing {
            self.hooks.retain(|run| run.0 != key);
            if key == super::denials_key() {
                self.denied_in_a_row = 0;
                self.denied_recent = 0;
            }
            for past in &mut self.past {
                // A cycle's key is none of its calls': all of them start anew.
                if pattern == Pattern::Cycle || past.identity == key || past.tool == key {
                    past.flags |= SPENT;
                }
            }
        }
        self.board.apply(fact, at);
    }

    /// Whatever is told of this call later is not counted again.
    fn turned_down(&mut self, call: Digest) {
        self.refused.push(call);
        let excess = self.refused.len().saturating_sub(FLIGHTS_MAX);
        self.refused.drain(..excess);
    }
}
