//! Decides about what an agent's context costs without helping: compactions that bring nothing, and prompts that the model
//! service reads in full again and again (L6).

use super::pattern_match::agent_wide_key;
use super::*;
use crate::{Elapsed, counted};

/// A prompt after a longer pause is not in the cache any more, and nobody is to blame.
const CACHE_LIFETIME_MS: u64 = 300_000;

impl AgentDraft<'_> {
    /// The client compacted the conversation. Two of its own accord with no call in between, or one that does not make the
    /// conversation shorter, bring nothing: haltline says so at once, and counts them as fruitless.
    pub(super) fn compaction(&mut self, trigger: &str, has_shrunk: Option<bool>) -> Verdict {
        let is_empty = trigger != "manual" && self.agent.compaction.is_empty();
        let is_useless = !self.is_literal() && (is_empty || has_shrunk == Some(false));
        let (trigger, hook_source) = (trigger.to_owned(), self.hook_source());
        self.record(AgentFact::Compacted { trigger, hook_source, is_useless });
        let limits = self.limits.compaction;
        if !is_useless || !limits.enabled {
            return Verdict::Pass;
        }
        let fact = match has_shrunk {
            Some(false) => "the client compacted the conversation, and it did not get shorter",
            Some(true) | None => "the client compacted the conversation twice with no call in between",
        };
        let explanation = Explanation { fact: fact.to_owned(), ..Pattern::Compaction.explain("", 1, self.limits) };
        // The person reads about the first one, and about the trip if there is one.
        if self.agent.compaction.fruitless == 1 {
            self.draft.notices.push(format!("haltline ({}): {fact}", explanation.code));
        }
        self.warn(&explanation, agent_wide_key(Pattern::Compaction), self.agent.compaction.fruitless, None)
    }

    /// Counts large prompts that the model service did not find in its cache, where the client reports cache use. Warns
    /// the agent and the person once, with the cost.
    pub(super) fn count_cache(&mut self, usage: Option<Usage>, micros: Option<u64>) -> Option<Verdict> {
        let limits = self.limits.cache_misses;
        let usage = usage.filter(|_| limits.enabled && !self.is_literal())?;
        let uncached = usage.input.saturating_add(usage.cache_write);
        let is_warm = matches!(self.now.since(self.agent.last_seen), Elapsed::Known(idle) if idle < CACHE_LIFETIME_MS);
        // A client that writes nothing into a cache does not use one.
        let is_missed = usage.cache_write > 0
            && uncached >= u64::from(limits.tokens_min)
            && usage.cache_read.saturating_mul(10) < uncached;
        if !is_missed || !is_warm {
            if self.agent.cache_misses.in_a_row > 0 {
                self.record(AgentFact::PromptCached);
            }
            return None;
        }
        self.record(AgentFact::PromptUncached { micros });
        let misses = self.agent.cache_misses;
        if misses.in_a_row != limits.warn {
            return None;
        }
        let cost = messages::cost(misses.micros, misses.micros > 0, micros.is_none());
        let prompts = counted(misses.in_a_row, "large prompt");
        let fact = format!("{prompts} in a row missed the cache of the model service; together they cost {cost}");
        self.draft.notices.push(format!("haltline (HL-LOOP-13): {fact}"));
        let instead = "tell the person that the beginning of the conversation changes in every turn.";
        let explanation =
            Explanation::new(Pattern::CacheMisses, "HL-LOOP-13", fact, instead, "read large files again.");
        Some(self.warn(&explanation, agent_wide_key(Pattern::CacheMisses), misses.in_a_row, None))
    }
}
