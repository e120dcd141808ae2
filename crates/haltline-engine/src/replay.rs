//! Recorded sessions through the same decisions as live ones, in recorded time (X3).
//!
//! There is no second detector: each event goes to [`haltline_core::judge`] as a hook's does. It must never touch a
//! store: rows live in memory for as long as their session is being read. A replay goes on as if nobody had been
//! stopped, so the mode is to observe: refused calls run, and their answers come.
//!
//! What a hook asks of the project is left out: guards of constraints, false alarms, the protection of haltline itself.

mod clock;
mod pieces;
mod session;
mod trips_file;

use std::collections::BTreeMap;

use haltline_core::loop_::{Happening, Stream};
use haltline_core::{Decision, Event, Instant, Memory, Mode, Moment, Policy, Step, judge};

use clock::ReplayClock;
pub use pieces::{LINE_BYTES_MAX, Piece, Pieces};
use session::Watch;
pub use session::{Evidence, Judged, ReplayedSession, Severity, Trip};
pub use trips_file::{KeptTrip, TRIPS_KEPT_MAX, TripsFile};

/// How many trees of agents are read at once. Of more, the one not heard of for longest is taken as over; if it is heard
/// of again, that is another session.
const FAMILIES_MAX: usize = 20_000;
/// A policy has one digest during a replay; which is of no consequence.
const POLICY: &str = "replay";

/// Something that a transcript says.
#[derive(Clone, Debug)]
pub struct Heard {
    /// When, where it says so.
    pub at: Option<Instant>,
    /// Whose doing.
    pub stream: Stream,
    /// What happened.
    pub what: Happening,
    /// It is told a second time: judged, and not counted.
    pub is_echo: bool,
}

/// Sessions being read, each judged under every policy.
#[derive(Debug)]
pub struct Replay {
    policies: Vec<Policy>,
    /// By when they began.
    families: BTreeMap<u64, Family>,
    family_of: BTreeMap<String, u64>,
    /// By when they were last heard of: when they began.
    silent_since: BTreeMap<u64, u64>,
    heard: u64,
}

/// A session, with those that it started: they share rows.
#[derive(Debug)]
struct Family {
    /// One for each policy.
    memories: Vec<Memory>,
    clock: ReplayClock,
    sessions: Vec<Watch>,
    last_heard: u64,
}

impl Replay {
    /// A replay under these policies. Their modes do not count.
    pub fn new(policies: &[Policy]) -> Self {
        let policies = policies.iter().map(|policy| Policy { mode: Mode::Observe, ..policy.clone() }).collect();
        let (families, family_of, silent_since) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { policies, families, family_of, silent_since, heard: 0 }
    }

    /// Judges what a transcript says next. Sessions that are over by it are added to `over`.
    pub fn take(&mut self, heard: Heard, over: &mut Vec<ReplayedSession>) {
        self.heard += 1;
        let begun = self.family(&heard.stream, over);
        let Some(family) = self.families.get_mut(&begun) else { return };
        self.silent_since.remove(&family.last_heard);
        self.silent_since.insert(self.heard, begun);
        family.last_heard = self.heard;
        let Heard { at, stream, what, is_echo } = heard;
        let now = family.clock.advance(at, matches!(what, Happening::ToolStart { .. }));
        let name = &stream.session;
        let place = family.sessions.iter().position(|watch| watch.is_of(name)).unwrap_or_else(|| {
            family.sessions.push(Watch::new(name, self.policies.len()));
            family.sessions.len() - 1
        });
        let watch = &mut family.sessions[place];
        watch.count(&stream, &what, at, is_echo);
        let event = Event::Loop { stream, what, policy: POLICY.to_owned() };
        for (which, (memory, policy)) in family.memories.iter_mut().zip(&self.policies).enumerate() {
            if let Some(decision) = decided(memory, policy, &event, now) {
                memory.fold(&decision.facts);
                watch.judge(which, &event, &decision, memory, now.at);
            }
        }
    }

    /// What is left when a transcript has ended, in the order they began.
    pub fn finish(self) -> Vec<ReplayedSession> {
        self.families.into_values().flat_map(|family| family.sessions).map(Watch::over).collect()
    }

    /// The family a stream belongs to: its session's, its parent's, or a new one.
    fn family(&mut self, stream: &Stream, over: &mut Vec<ReplayedSession>) -> u64 {
        if let Some(known) = self.family_of.get(&stream.session) {
            return *known;
        }
        let begun = match stream.root.as_ref().and_then(|root| self.family_of.get(root)) {
            Some(parents) => *parents,
            None => {
                self.make_room(over);
                let memories = vec![Memory::default(); self.policies.len()];
                let (clock, last_heard) = (ReplayClock::default(), self.heard);
                self.families.insert(self.heard, Family { memories, clock, sessions: Vec::new(), last_heard });
                self.heard
            }
        };
        self.family_of.insert(stream.session.clone(), begun);
        begun
    }

    fn make_room(&mut self, over: &mut Vec<ReplayedSession>) {
        if self.families.len() < FAMILIES_MAX {
            return;
        }
        let longest_ago = self.silent_since.pop_first().map(|(_, begun)| begun);
        if let Some(family) = longest_ago.and_then(|begun| self.families.remove(&begun)) {
            for watch in family.sessions {
                self.family_of.remove(watch.name());
                over.push(watch.over());
            }
        }
    }
}

/// Asks until nothing is missing. A row that nobody wrote yet is empty.
fn decided(memory: &mut Memory, policy: &Policy, event: &Event, now: Moment) -> Option<Decision> {
    loop {
        match judge(memory, policy, event, now) {
            Step::Needs(names) => names.into_iter().for_each(|name| memory.insert(name, None)),
            Step::Decided(decision) => return Some(decision),
            Step::Rejected(_impossible_in_a_session) => return None,
        }
    }
}
