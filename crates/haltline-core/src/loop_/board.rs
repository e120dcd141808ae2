//! The circuits of one agent, or of one tree of agents: which are OPEN or on trial, how often each pattern tripped in
//! a row, and on which rung a refused asker stands (L5, E5, E12).

use serde::{Deserialize, Serialize};

use super::Pattern;
use crate::identity::Digest;
use crate::memory::rise;
use crate::{Elapsed, Instant, Moment};

/// The k-th trip in a row cools down for the base times this (L5).
const COOLDOWN_FACTORS: [u64; 5] = [1, 2, 6, 12, 60];
/// From this trip in a row on, the person is alerted.
pub const ALERT_LEVEL: u32 = 5;
/// After this long without a trip the cooldowns start anew, and a trial nobody used is forgotten.
const DAY_MS: u64 = 86_400_000;
/// No board holds more circuits; the trial that waits longest goes first.
const HELD_MAX: usize = 32;
/// No board remembers more rungs.
const RUNGS_MAX: usize = 32;

/// One opening.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trip {
    /// Names it everywhere.
    pub incident: String,
    /// What was seen.
    pub pattern: Pattern,
    /// What it is about: an identity, or whatever the pattern counts.
    pub key: Digest,
    /// The answer that came again and again; a probe that gets another one succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal: Option<Digest>,
    /// When it opened.
    pub since: Moment,
    /// How long it stays open; fixed at the trip (E3).
    pub cooldown_ms: u64,
    /// How many events led to it.
    pub count: u32,
    /// The how manieth trip in a row.
    pub level: u32,
}

impl Trip {
    /// When the cooldown ends, by the wall clock of the trip.
    pub fn until(&self) -> Instant {
        self.since.plus_millis(self.cooldown_ms).at
    }

    /// How long is left at `now`, in milliseconds; `None` once it is over. A start in the future stays (E3).
    pub fn remaining_ms(&self, now: Moment) -> Option<u64> {
        match now.since(self.since) {
            Elapsed::Known(elapsed) => self.cooldown_ms.checked_sub(elapsed).filter(|&left| left > 0),
            Elapsed::Unknown => Some(self.cooldown_ms),
        }
    }
}

/// Why a circuit is on trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// The cooldown ended.
    Cooldown,
    /// Files were written since: the question is a new one.
    Write,
    /// Something new was learned since.
    Answer,
    /// A person said so.
    Person,
}

/// A call that was let through to see whether things are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The call.
    pub call: Digest,
    /// Since when it is out.
    pub since: Moment,
    /// How long it may be.
    pub lease_ms: u64,
    /// Why it may go out.
    #[serde(default = "cooled_down", skip_serializing_if = "is_cooled_down")]
    pub by: Opening,
}

fn cooled_down() -> Opening {
    Opening::Cooldown
}

fn is_cooled_down(by: &Opening) -> bool {
    *by == Opening::Cooldown
}

impl Probe {
    /// Whether its place is still taken. A clock that cannot tell keeps it.
    pub fn is_out(&self, now: Moment) -> bool {
        match now.since(self.since) {
            Elapsed::Known(elapsed) => elapsed < self.lease_ms,
            Elapsed::Unknown => true,
        }
    }
}

/// Where a circuit that is not CLOSED stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Refusing. Once the cooldown is over this reads as on trial.
    Open,
    /// On trial: one probe may go.
    HalfOpen(Opening),
    /// On trial, and the probe is out.
    Probing(Probe),
}

/// A circuit that is not CLOSED.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Its trip.
    pub trip: Trip,
    /// Where it stands.
    pub stage: Stage,
    /// What a person wants the agent to know with its probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What an asker meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// Nothing.
    Closed,
    /// Refused until the cooldown ends.
    Open(&'a Trip),
    /// May go as the probe; how the trial came about, and whether the journal knows of it.
    Trial(&'a Trip, Opening),
    /// Another probe is out.
    Probing(&'a Trip),
}

/// How far a refused asker has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The action was refused.
    Deny,
    /// The turn was ended.
    Stop,
}

/// The rung of one refused thing (E5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rung {
    /// What is refused.
    pub key: Digest,
    /// The last answer; `None` after a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// The turn of that answer: its siblings share it.
    pub turn: u64,
    /// How often it was refused.
    pub refused: u32,
    /// The incident of a limit that holds no circuit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
}

/// How often a pattern tripped in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// Which.
    pub pattern: Pattern,
    /// How often.
    pub level: u32,
    /// The last time.
    pub last: Moment,
}

/// The circuits of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    /// Rises with every change of a circuit's state (E12).
    #[serde(default)]
    pub generation: u64,
    /// The generation of the last close: what began before it moves nothing.
    #[serde(default)]
    pub closed_at: u64,
    /// Circuits that are not CLOSED.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Held>,
    /// Trips in a row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// Refused askers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Rung>,
    /// Trips in all.
    #[serde(default)]
    pub trips: u64,
    /// Refusals in all.
    #[serde(default)]
    pub refused: u64,
    /// Warnings in all.
    #[serde(default)]
    pub warned: u64,
}

/// What became true of a board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoardFact {
    /// The agent was told, and went on.
    Warned {
        /// Of what.
        pattern: Pattern,
        /// About what.
        key: Digest,
        /// The attempt.
        count: u32,
    },
    /// A circuit opened, or opened again.
    Tripped {
        /// The opening.
        trip: Trip,
    },
    /// A limit was reached that holds no circuit.
    Limited {
        /// Names it.
        incident: String,
        /// Which kind.
        pattern: Pattern,
        /// What is refused.
        key: Digest,
        /// How much there was.
        count: u32,
    },
    /// A circuit is on trial.
    HalfOpened {
        /// Which.
        incident: String,
        /// Why.
        by: Opening,
        /// What a person wants the agent to know.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// A probe went out.
    ProbeTaken {
        /// Of which circuit.
        incident: String,
        /// The probe.
        probe: Probe,
    },
    /// A probe came to nothing; its place is free.
    ProbeAbandoned {
        /// Of which circuit.
        incident: String,
    },
    /// A probe succeeded: the circuit is closed.
    Recovered {
        /// Which.
        incident: String,
    },
    /// Nobody went on with what was on trial: its circuit is closed. The cooldowns stay as long as they were.
    Lapsed {
        /// Which.
        incident: String,
    },
    /// An action was refused.
    Refused {
        /// What.
        key: Digest,
        /// By which pattern.
        pattern: Pattern,
        /// How.
        step: Step,
        /// In which turn.
        turn: u64,
        /// The call that asked, where it has a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Digest>,
        /// The response it belongs to, where the client says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Digest>,
    },
    /// A person closed circuits: one, or all of them.
    Reset {
        /// Who.
        who: String,
        /// Which; `None` is all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        incident: Option<String>,
    },
    /// A person declared a trip a false alarm; its circuit is closed.
    FalseAlarm {
        /// Who.
        who: String,
        /// Which.
        incident: String,
    },
}

impl BoardFact {
    /// Trips and what people do must survive a power cut.
    pub fn is_momentous(&self) -> bool {
        match self {
            BoardFact::Tripped { .. }
            | BoardFact::Limited { .. }
            | BoardFact::Recovered { .. }
            | BoardFact::Reset { .. }
            | BoardFact::FalseAlarm { .. } => true,
            BoardFact::HalfOpened { by, .. } => match by {
                Opening::Person => true,
                Opening::Cooldown | Opening::Write | Opening::Answer => false,
            },
            BoardFact::Warned { .. }
            | BoardFact::ProbeTaken { .. }
            | BoardFact::ProbeAbandoned { .. }
            | BoardFact::Lapsed { .. }
            | BoardFact::Refused { .. } => false,
        }
    }

    /// The word for it in listings.
    pub fn word(&self) -> &'static str {
        match self {
            BoardFact::Warned { .. } => "warned",
            BoardFact::Tripped { .. } => "tripped",
            BoardFact::Limited { .. } => "limited",
            BoardFact::HalfOpened { .. } => "half_opened",
            BoardFact::ProbeTaken { .. } => "probe_taken",
            BoardFact::ProbeAbandoned { .. } => "probe_abandoned",
            BoardFact::Recovered { .. } => "recovered",
            BoardFact::Lapsed { .. } => "lapsed",
            BoardFact::Refused { step: Step::Deny, .. } => "refused",
            BoardFact::Refused { step: Step::Stop, .. } => "stopped",
            BoardFact::Reset { .. } => "reset",
            BoardFact::FalseAlarm { .. } => "false_alarm",
        }
    }

    /// The incident it belongs to, where it names one.
    pub fn incident(&self) -> Option<&str> {
        match self {
            BoardFact::Tripped { trip } => Some(&trip.incident),
            BoardFact::Limited { incident, .. }
            | BoardFact::HalfOpened { incident, .. }
            | BoardFact::ProbeTaken { incident, .. }
            | BoardFact::ProbeAbandoned { incident }
            | BoardFact::Recovered { incident }
            | BoardFact::Lapsed { incident }
            | BoardFact::FalseAlarm { incident, .. } => Some(incident),
            BoardFact::Reset { incident, .. } => incident.as_deref(),
            BoardFact::Warned { .. } | BoardFact::Refused { .. } => None,
        }
    }
}

impl Board {
    /// What an asker for `key` meets at `now`.
    pub fn standing(&self, key: Digest, now: Moment) -> Standing<'_> {
        let Some(held) = self.held.iter().find(|held| held.trip.key == key) else { return Standing::Closed };
        match &held.stage {
            Stage::Open if held.trip.remaining_ms(now).is_some() => Standing::Open(&held.trip),
            Stage::Open => Standing::Trial(&held.trip, Opening::Cooldown),
            Stage::HalfOpen(by) => Standing::Trial(&held.trip, *by),
            Stage::Probing(probe) if probe.is_out(now) => Standing::Probing(&held.trip),
            Stage::Probing(_) => Standing::Trial(&held.trip, Opening::Cooldown),
        }
    }

    /// The circuit of an incident, unless it is closed.
    pub fn held(&self, incident: &str) -> Option<&Held> {
        self.held.iter().find(|held| held.trip.incident == incident)
    }

    /// Whether there is a circuit for this that is not closed.
    pub fn holds(&self, key: Digest) -> bool {
        self.held.iter().any(|held| held.trip.key == key)
    }

    /// Whether an incident has not ended here: a circuit, or a limit that holds none.
    pub fn knows(&self, incident: &str) -> bool {
        self.held(incident).is_some() || self.rungs.iter().any(|rung| rung.incident.as_deref() == Some(incident))
    }

    /// The circuit whose probe is this call.
    pub fn probed_by(&self, call: Digest) -> Option<&Held> {
        self.held.iter().find(|held| match &held.stage {
            Stage::Probing(probe) => probe.call == call,
            Stage::Open | Stage::HalfOpen(_) => false,
        })
    }

    /// The rung of a refused thing.
    pub fn rung(&self, key: Digest) -> Option<&Rung> {
        self.rungs.iter().find(|rung| rung.key == key)
    }

    /// How the next refusal of `key` in this turn is answered: siblings share, the next turn is a step higher (E5).
    pub fn next_step(&self, key: Digest, turn: u64) -> Step {
        match self.rung(key) {
            Some(Rung { step: Some(step), turn: last, .. }) if *last == turn => *step,
            Some(Rung { step: Some(Step::Deny | Step::Stop), .. }) => Step::Stop,
            Some(Rung { step: None, .. }) | None => Step::Deny,
        }
    }

    /// How manieth trip in a row the next one of this pattern is.
    pub fn next_level(&self, pattern: Pattern, now: Moment) -> u32 {
        let known = self.levels.iter().find(|level| level.pattern == pattern);
        match known.map(|level| (level.level, now.since(level.last))) {
            Some((_, Elapsed::Known(idle))) if idle >= DAY_MS => 1,
            Some((level, Elapsed::Known(_) | Elapsed::Unknown)) => level.saturating_add(1),
            None => 1,
        }
    }

    /// The cooldown of the k-th trip in a row, in milliseconds.
    pub fn cooldown_ms(base_s: u32, level: u32) -> u64 {
        let index = usize::try_from(level.saturating_sub(1)).unwrap_or(usize::MAX).min(COOLDOWN_FACTORS.len() - 1);
        u64::from(base_s) * 1000 * COOLDOWN_FACTORS[index]
    }

    /// Whether anything is refused or on trial.
    pub fn is_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// A prompt: whoever was refused starts at the first rung again. How often stays known, so that no refusal is told
    /// twice in the same words.
    pub(super) fn forget_steps(&mut self) {
        for rung in &mut self.rungs {
            rung.step = None;
        }
    }

    /// The board after a fact.
    pub(super) fn apply(&mut self, fact: &BoardFact, at: Moment) {
        match fact {
            BoardFact::Warned { .. } => rise(&mut self.warned),
            BoardFact::Tripped { trip } => self.trip(trip, at),
            BoardFact::Limited { incident, key, .. } => {
                rise(&mut self.trips);
                rise(&mut self.generation);
                self.rung_mut(*key).incident = Some(incident.clone());
            }
            BoardFact::HalfOpened { incident, by, hint } => {
                self.set_stage(incident, Stage::HalfOpen(*by));
                if let Some(held) = self.held.iter_mut().find(|held| held.trip.incident == *incident) {
                    held.hint.clone_from(hint);
                }
            }
            BoardFact::ProbeTaken { incident, probe } => self.set_stage(incident, Stage::Probing(*probe)),
            BoardFact::ProbeAbandoned { incident } => self.set_stage(incident, Stage::HalfOpen(Opening::Cooldown)),
            BoardFact::Recovered { incident } => self.close(incident, true),
            BoardFact::Lapsed { incident } => self.close(incident, false),
            BoardFact::Refused { key, step, turn, .. } => {
                rise(&mut self.refused);
                let rung = self.rung_mut(*key);
                rung.step = Some(*step);
                rung.turn = *turn;
                rung.refused = rung.refused.saturating_add(1);
            }
            BoardFact::Reset { incident: Some(incident), .. } => self.close(incident, true),
            BoardFact::Reset { incident: None, .. } => {
                self.held.clear();
                self.levels.clear();
                self.rungs.clear();
                rise(&mut self.generation);
                self.closed_at = self.generation;
            }
            BoardFact::FalseAlarm { incident, .. } => self.close(incident, true),
        }
    }

    fn trip(&mut self, trip: &Trip, at: Moment) {
        rise(&mut self.trips);
        rise(&mut self.generation);
        let is_again = self.held.iter().any(|held| held.trip.key == trip.key);
        self.held.retain(|held| held.trip.key != trip.key && !is_forgotten(held, at));
        if self.held.len() >= HELD_MAX {
            let waiting = self.held.iter().position(|held| matches!(held.stage, Stage::HalfOpen(_))).unwrap_or(0);
            self.held.remove(waiting);
        }
        self.held.push(Held { trip: trip.clone(), stage: Stage::Open, hint: None });
        self.levels.retain(|level| level.pattern != trip.pattern);
        self.levels.push(Level { pattern: trip.pattern, level: trip.level, last: trip.since });
        if is_again {
            // A probe that failed is a rung: waiting out a short cooldown does not start the ladder anew (E5).
            let rung = self.rung_mut(trip.key);
            rung.step = rung.step.or(Some(Step::Deny));
        }
    }

    fn set_stage(&mut self, incident: &str, stage: Stage) {
        if let Some(held) = self.held.iter_mut().find(|held| held.trip.incident == incident) {
            held.stage = stage;
            rise(&mut self.generation);
        }
    }

    fn close(&mut self, incident: &str, is_better: bool) {
        let Some(place) = self.held.iter().position(|held| held.trip.incident == incident) else {
            self.rungs.retain(|rung| rung.incident.as_deref() != Some(incident));
            return;
        };
        let trip = self.held.remove(place).trip;
        self.rungs.retain(|rung| rung.key != trip.key);
        if is_better && let Some(level) = self.levels.iter_mut().find(|level| level.pattern == trip.pattern) {
            level.level = level.level.saturating_sub(1);
        }
        rise(&mut self.generation);
        self.closed_at = self.generation;
    }

    fn rung_mut(&mut self, key: Digest) -> &mut Rung {
        let place = match self.rungs.iter().position(|rung| rung.key == key) {
            Some(place) => place,
            None => {
                if self.rungs.len() >= RUNGS_MAX {
                    self.rungs.remove(0);
                }
                self.rungs.push(Rung { key, step: None, turn: 0, refused: 0, incident: None });
                self.rungs.len() - 1
            }
        };
        &mut self.rungs[place]
    }
}

/// A trial that nobody used for a day.
fn is_forgotten(held: &Held, now: Moment) -> bool {
    let over = held.trip.cooldown_ms.saturating_add(DAY_MS);
    matches!(now.since(held.trip.since), Elapsed::Known(elapsed) if elapsed >= over)
}
