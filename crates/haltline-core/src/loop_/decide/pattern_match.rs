//! Finds the patterns that a call would continue (L6). Denials, warnings and the choice of the circuits that may stop a
//! call all use this one list; nothing is decided here.

use super::*;
use crate::identity::Action;
use crate::loop_::continuation::WAIT_FACTOR;
use crate::loop_::{CallTraits, CompletedCall, WarnDenyLimits};

/// One pattern that a call would continue.
pub(super) struct PatternMatch {
    pub pattern: Pattern,
    pub key: Digest,
    /// Ordinal of the pending attempt: earlier occurrences plus one.
    pub attempt: u32,
    pub limits: WarnDenyLimits,
    /// The result that came again and again.
    pub normal: Option<Digest>,
    /// The identities of the calls that it is about.
    pub calls: Vec<Digest>,
}

impl PatternMatch {
    /// Number of earlier occurrences.
    pub fn occurrences(&self) -> u32 {
        self.attempt.saturating_sub(1)
    }

    /// True if there is enough evidence that the pattern's circuit, if it is not CLOSED, concerns the call.
    pub fn is_evident(&self) -> bool {
        self.attempt >= self.limits.warn.min(self.limits.deny) || self.pattern == Pattern::Cycle
    }
}

/// Limits of a cascade for a call that is unlike all that failed: haltline warns where it would deny another, and denies three
/// failures later.
fn unlike(limits: WarnDenyLimits) -> WarnDenyLimits {
    WarnDenyLimits { warn: limits.deny, deny: limits.deny.saturating_add(3), ..limits }
}

/// The key of the circuit for a call that fails in the same way whatever is written.
pub(in crate::loop_) fn futile_key(identity: Digest) -> Digest {
    Digest::from_parts(&[b"futile", &identity.0.to_be_bytes()])
}

/// The key of the one circuit per agent that a pattern has if it is about the agent's work as a whole.
pub(in crate::loop_) fn agent_wide_key(pattern: Pattern) -> Digest {
    Digest::from_parts(&[b"whole", pattern.as_str().as_bytes()])
}

/// What may stop a call.
pub(super) struct Obstacles {
    /// The keys of the circuits that concern the call: its own, those of the patterns it would continue, and that of
    /// denials by permission rules.
    pub keys: Vec<Digest>,
    /// The patterns that the call would continue. Empty if the call is a probe, which runs in spite of all of them.
    pub matches: Vec<PatternMatch>,
}

impl Obstacles {
    /// Nothing may stop the call.
    pub fn none() -> Self {
        Self { keys: Vec::new(), matches: Vec::new() }
    }
}

impl AgentDraft<'_> {
    /// Finds what may stop a call.
    pub(super) fn obstacles(&self, action: &Action, traits: CallTraits) -> Obstacles {
        let tool = Digest::from_parts(&[action.tool.as_bytes()]);
        let matches = if traits.is_poller { Vec::new() } else { self.pattern_matches(action, tool) };
        let mut keys = vec![self.key_of(tool, action.identity)];
        if self.agent.circuits.tripped.is_empty() {
            return Obstacles { keys, matches };
        }
        keys.push(futile_key(action.identity));
        keys.extend(matches.iter().filter(|matches| matches.is_evident()).map(|matches| matches.key));
        if self.agent.permission_denials.tools.contains(&tool) {
            keys.push(denials_key());
        }
        let is_probe = keys.iter().any(|key| self.agent.circuits.state_at(*key, self.now).is_half_open());
        Obstacles { keys, matches: if is_probe { Vec::new() } else { matches } }
    }

    /// All patterns that the call would continue, the strongest evidence first.
    pub(super) fn pattern_matches(&self, action: &Action, tool: Digest) -> Vec<PatternMatch> {
        let mut found = Vec::new();
        let completed = self.agent.since_prompt();
        // Preset `literal` has none of these patterns.
        if self.is_literal() {
            return found;
        }
        let is_waiting = action.is_wait
            || pattern::has_waited(completed, action.identity, self.agent.was_idle_at(self.now), action.looks.may_poll);
        let mut add = |pattern, key, times: u32, limits: WarnDenyLimits, normal| {
            if times > 0 && limits.enabled {
                let (attempt, calls) = (times.saturating_add(1), vec![action.identity]);
                found.push(PatternMatch { pattern, key, attempt, limits, normal, calls });
            }
        };
        let relaxed = |limits: WarnDenyLimits| match is_waiting {
            true => WarnDenyLimits {
                warn: limits.warn.saturating_mul(WAIT_FACTOR),
                deny: limits.deny.saturating_mul(WAIT_FACTOR),
                ..limits
            },
            false => limits,
        };
        let limits = self.limits;
        let identity = action.identity;
        let last = completed.iter().rev().find(|call| call.identity == identity && call.has_result());
        let normal = last.map(|call| call.normal);
        let was_called_before =
            completed.iter().any(|call| call.identity == identity && call.has_result() && call.is_counted());
        // A series of one call alone is a repeat and nothing else.
        let in_a_row = pattern::repeats(completed, identity);
        // A call that had another result before may have it again: it takes one time more to see that it does not.
        let is_other =
            |call: &&CompletedCall| call.identity == identity && call.has_result() && Some(call.normal) != normal;
        let more = u32::from(completed.iter().filter(is_other).any(CompletedCall::is_counted));
        let repeat = WarnDenyLimits {
            warn: limits.repeat.warn.saturating_add(more),
            deny: limits.repeat.deny.saturating_add(more),
            ..limits.repeat
        };
        add(Pattern::Repeat, identity, in_a_row, relaxed(repeat), normal);
        let cycle = pattern::cycle(completed, identity);
        if let Some(cycle) = &cycle {
            add(Pattern::Cycle, cycle.key, cycle.rounds, relaxed(limits.cycle), None);
        }
        let times = pattern::interleaved(completed, identity, action.looks.is_status);
        if times > in_a_row {
            add(Pattern::Interleaved, identity, times, relaxed(limits.interleaved), normal);
        }
        let no_progress = &self.agent.no_progress;
        for (index, error) in no_progress.errors.iter().enumerate().rev() {
            let is_last = index + 1 == no_progress.errors.len();
            if is_last || self.agent.circuits.is_tripped(error.key()) {
                let times = error.matching_count(action, tool);
                add(Pattern::SameError, error.key(), times, relaxed(limits.same_error), Some(error.normal));
            }
        }
        if let Some((key, times)) = self.agent.error_kinds.most_frequent(action, tool) {
            add(Pattern::SimilarErrors, key, times, relaxed(limits.similar_errors), None);
        }
        if let Some((key, times)) = self.agent.missing_programs.called_by(action) {
            add(Pattern::MissingProgram, key, times, limits.missing_program, None);
        }
        if completed.iter().any(|call| !call.is_counted()) {
            let times = pattern::futile(completed, identity);
            add(Pattern::FutileWrites, futile_key(identity), times, limits.futile_writes, normal);
        }
        let mut add_agent_wide = |pattern, is_relevant: bool, times, limits| {
            if is_relevant {
                add(pattern, agent_wide_key(pattern), times, limits, None);
            }
        };
        add_agent_wide(
            Pattern::Retread,
            was_called_before && no_progress.known_results >= in_a_row,
            no_progress.known_results,
            relaxed(limits.retread),
        );
        let percent = crate::loop_::no_progress::REPHRASED_PERCENT;
        let is_alike = no_progress.is_rewording(action.words, !action.is_search, percent);
        add_agent_wide(
            Pattern::Stagnation,
            is_alike && in_a_row == 0,
            no_progress.rephrased,
            relaxed(limits.stagnation),
        );
        add_agent_wide(
            Pattern::Cascade,
            no_progress.failed_tools.contains(&tool),
            no_progress.failures,
            // A call that is unlike all that failed may be the way out.
            match no_progress.has_failed_like(action.words) {
                true => relaxed(limits.cascade),
                false => unlike(relaxed(limits.cascade)),
            },
        );
        add_agent_wide(
            Pattern::FruitlessSearches,
            action.is_search || (action.looks.is_reading && action.command.is_none() && action.path.is_none()),
            self.agent.fruitless_searches.count(),
            relaxed(limits.fruitless_searches),
        );
        add_agent_wide(Pattern::Compaction, last.is_some(), self.agent.compaction.fruitless, limits.compaction);
        add_agent_wide(Pattern::CostGrowth, true, self.agent.cost_growth.times_above_mean(), limits.cost_growth);
        add_agent_wide(Pattern::Chanting, true, self.agent.repeated_text.repetitions(), limits.chanting);
        for found in found.iter_mut().filter(|found| found.pattern == Pattern::Cycle) {
            found.calls = cycle.iter().flat_map(|cycle| cycle.calls.clone()).collect();
        }
        found
    }

    /// True if a person declared this match a false positive: its circuit, or the call under any pattern. The result of
    /// such a call counts towards no pattern, so that the call cannot make another one look like a loop.
    pub(super) fn is_match_exempt(&mut self, found: &PatternMatch, action: &Action) -> Result<bool, Halt> {
        let is_exempt = self.is_call_exempt(found.pattern, found.key, action.identity)?;
        self.is_exempt_call |= is_exempt;
        Ok(is_exempt)
    }

    /// True if haltline has already warned the agent of this. Until the agent makes progress it is warned once, unless
    /// it turns to another call or error.
    pub(super) fn is_already_warned(&self, found: &PatternMatch) -> bool {
        let last_warning = self.agent.no_progress.last_warning;
        if found.pattern == Pattern::FruitlessSearches {
            return self.agent.fruitless_searches.is_warned;
        }
        if let Pattern::Repeat | Pattern::SameError | Pattern::SimilarErrors | Pattern::MissingProgram = found.pattern {
            return last_warning == Some(found.key);
        }
        // Progress does not clear the counters of the next two.
        if found.pattern == Pattern::FutileWrites {
            return found.attempt > found.limits.warn;
        }
        if found.pattern == Pattern::Compaction {
            return self.agent.compaction.calls > 0;
        }
        last_warning.is_some()
    }

    /// Explains a warning. A call that fails again and again is close to the trip of failures before that of repeats: it
    /// is warned of the trip that would come, so that one cause has one code.
    pub(super) fn explain_warning(&self, found: &PatternMatch, action: &Action) -> Explanation {
        let failures = self.limits.tool_failure;
        let comes_first = found.pattern == Pattern::Repeat
            && failures.enabled
            && failures.threshold < found.limits.deny
            && found.occurrences() < failures.threshold;
        let last = self.agent.since_prompt().iter().rev().find(|call| call.identity == action.identity);
        if !comes_first || !last.is_some_and(|call| call.is_failed()) {
            return self.explain_match(found, action);
        }
        let shown = short(&action.shown);
        let explanation = Pattern::ToolFailure.explain(&shown, found.occurrences(), self.limits);
        explanation.about(&shown, found.calls.clone())
    }

    pub(super) fn explain_match(&self, found: &PatternMatch, action: &Action) -> Explanation {
        let shown = short(&action.shown);
        found.pattern.explain(&shown, found.occurrences(), self.limits).about(&shown, found.calls.clone())
    }
}
