//! What a call would carry on that leads nowhere (L6). All patterns on an agent's own work are looked for here, for
//! refusing, for warning and for the circuits that stand in front of a call; nothing is decided here.

use super::*;
use crate::identity::Action;
use crate::loop_::{Rungs, Traits};

/// Whoever waits before asking again may do so this many times as often: a dead poll is found late, a live one never.
const PATIENCE: u32 = 5;

/// One way in which a call would lead nowhere.
pub(super) struct Stuck {
    pub pattern: Pattern,
    pub key: Digest,
    /// How manieth time this would be.
    pub attempt: u32,
    pub limits: Rungs,
    /// The answer that came again and again.
    pub normal: Option<Digest>,
}

impl Stuck {
    /// How often it was seen before.
    pub fn times(&self) -> u32 {
        self.attempt.saturating_sub(1)
    }

    /// Whether there is enough of it for its circuit, if there is one, to stand in front of the call.
    pub fn is_evident(&self) -> bool {
        self.attempt >= self.limits.warn.min(self.limits.deny) || self.pattern == Pattern::Cycle
    }
}

/// The circuit of a call that fails in the same way whatever is written.
pub(in crate::loop_) fn futile_key(identity: Digest) -> Digest {
    Digest::of(&[b"futile", &identity.0.to_be_bytes()])
}

/// The one circuit of a pattern that is about the agent's work as a whole.
fn whole_key(pattern: Pattern) -> Digest {
    Digest::of(&[b"whole", pattern.word().as_bytes()])
}

/// What stands in front of a call.
pub(super) struct Front {
    /// The circuits: its own, those of what it would carry on, that of refusals.
    pub keys: Vec<Digest>,
    /// What it would carry on. Nothing where it is a probe: a probe goes out for all that stands in front of it.
    pub stuck: Vec<Stuck>,
}

impl Draft<'_> {
    /// What stands in front of a call.
    pub(super) fn front(&self, action: &Action, traits: Traits) -> Front {
        let tool = Digest::of(&[action.tool.as_bytes()]);
        let stuck = if traits.is_poller { Vec::new() } else { self.stuck(action, tool) };
        let mut keys = vec![self.key_of(tool, action.identity)];
        if self.lane.board.held.is_empty() {
            return Front { keys, stuck };
        }
        keys.push(futile_key(action.identity));
        keys.extend(stuck.iter().filter(|stuck| stuck.is_evident()).map(|stuck| stuck.key));
        if self.lane.denied_tools.contains(&tool) {
            keys.push(denials_key());
        }
        let is_probe = keys.iter().any(|key| match self.lane.board.standing(*key, self.now) {
            Standing::Trial(..) => true,
            Standing::Closed | Standing::Open(_) | Standing::Probing(_) => false,
        });
        Front { keys, stuck: if is_probe { Vec::new() } else { stuck } }
    }

    /// Everything that the call would carry on, the most telling first.
    pub(super) fn stuck(&self, action: &Action, tool: Digest) -> Vec<Stuck> {
        let mut found = Vec::new();
        let past = self.lane.since_prompt();
        // The seed's words know none of this.
        if self.is_literal() {
            return found;
        }
        let is_patient = action.is_wait || pattern::has_waited(past, action.identity, self.lane.has_rested(self.now));
        let mut add = |pattern, key, times: u32, limits: Rungs, normal| {
            if times > 0 && limits.enabled {
                found.push(Stuck { pattern, key, attempt: times.saturating_add(1), limits, normal });
            }
        };
        let patient = |limits: Rungs| match is_patient {
            true => Rungs {
                warn: limits.warn.saturating_mul(PATIENCE),
                deny: limits.deny.saturating_mul(PATIENCE),
                ..limits
            },
            false => limits,
        };
        let limits = self.limits;
        let identity = action.identity;
        let last = past.iter().rev().find(|call| call.identity == identity && call.is_known());
        let normal = last.map(|call| call.normal);
        let is_asked_before = past.iter().any(|call| call.identity == identity && call.is_known() && call.is_counted());
        // A row of one call alone is a repeat and nothing else.
        let row = pattern::repeats(past, identity);
        add(Pattern::Repeat, identity, row, patient(limits.repeat), normal);
        if let Some(cycle) = pattern::cycle(past, identity) {
            add(Pattern::Cycle, cycle.key, cycle.rounds, patient(limits.cycle), None);
        }
        let times = pattern::interleaved(past, identity);
        if times > row {
            add(Pattern::Interleaved, identity, times, patient(limits.interleaved), normal);
        }
        let rut = &self.lane.rut;
        for (place, error) in rut.errors.iter().enumerate().rev() {
            let is_last = place + 1 == rut.errors.len();
            if is_last || self.lane.board.holds(error.key()) {
                let times = error.times(action, tool);
                add(Pattern::SameError, error.key(), times, patient(limits.same_error), Some(error.normal));
            }
        }
        if past.iter().any(|call| !call.is_counted()) {
            let times = pattern::futile(past, identity);
            add(Pattern::FutileWrites, futile_key(identity), times, limits.futile_writes, normal);
        }
        let mut whole = |pattern, is_part: bool, times, limits| {
            if is_part {
                add(pattern, whole_key(pattern), times, limits, None);
            }
        };
        whole(Pattern::Retread, is_asked_before && rut.known >= row, rut.known, patient(limits.retread));
        let is_alike = action.words.likeness(rut.words) >= crate::loop_::rut::ALIKE_PERCENT;
        whole(Pattern::Stagnation, is_alike && row == 0, rut.reworded, patient(limits.stagnation));
        whole(Pattern::Cascade, rut.tools.contains(&tool), rut.failed, patient(limits.cascade));
        whole(Pattern::Compaction, last.is_some(), self.lane.compaction.barren, limits.compaction);
        whole(Pattern::CostGrowth, true, self.lane.growth.times(), limits.cost_growth);
        whole(Pattern::Chanting, true, self.lane.chant.times(), limits.chanting);
        found
    }

    /// Whether a person declared this a false alarm: of this circuit or, for what is about the work as a whole, that
    /// this call is none.
    pub(super) fn is_pardoned(&self, found: &Stuck, action: &Action) -> Asked<bool> {
        let name = CircuitName::exempt();
        let Some(row) = self.memory.row(&name) else { return Err(vec![name]) };
        let Some(exempt) = row.and_then(|state| state.as_exempt()) else { return Ok(false) };
        let is_whole = match found.pattern {
            Pattern::Interleaved
            | Pattern::FutileWrites
            | Pattern::Retread
            | Pattern::Stagnation
            | Pattern::Cascade
            | Pattern::Compaction
            | Pattern::CostGrowth
            | Pattern::Chanting => true,
            Pattern::HookRecursion
            | Pattern::ToolFailure
            | Pattern::SequentialTools
            | Pattern::AgentSpawn
            | Pattern::ExternalApi
            | Pattern::Repeat
            | Pattern::Cycle
            | Pattern::SameError
            | Pattern::Denials
            | Pattern::Budget
            | Pattern::Constraint
            | Pattern::Tampering => false,
        };
        Ok(exempt.covers(found.pattern, found.key) || (is_whole && exempt.names(action.identity)))
    }

    /// Whether the agent was told of this already. Of one rut it is told once, unless it turns to something else.
    pub(super) fn is_told(&self, found: &Stuck) -> bool {
        match found.pattern {
            Pattern::Repeat | Pattern::SameError => self.lane.rut.warned == Some(found.key),
            // What ends a rut does not end these.
            Pattern::FutileWrites => found.attempt > found.limits.warn,
            Pattern::Compaction => self.lane.compaction.calls > 0,
            Pattern::Interleaved
            | Pattern::Cycle
            | Pattern::Retread
            | Pattern::Stagnation
            | Pattern::Cascade
            | Pattern::CostGrowth
            | Pattern::Chanting
            | Pattern::HookRecursion
            | Pattern::ToolFailure
            | Pattern::SequentialTools
            | Pattern::AgentSpawn
            | Pattern::ExternalApi
            | Pattern::Denials
            | Pattern::Budget
            | Pattern::Constraint
            | Pattern::Tampering => self.lane.rut.warned.is_some(),
        }
    }

    /// What it says of the call.
    pub(super) fn grounds_of_stuck(&self, found: &Stuck, action: &Action) -> Grounds {
        grounds::of(found.pattern, &short(&action.shown), found.times(), self.limits)
    }
}
