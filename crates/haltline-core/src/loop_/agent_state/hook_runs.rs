//! The runs of hooks inside an agent's session (L1, L2).

use serde::{Deserialize, Serialize};

use crate::circuit::keep_newest;
use crate::identity::Digest;
use crate::loop_::pattern;

/// One run of a hook: the digest of its name, and the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun(pub Digest, pub u64);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookRuns {
    pub since_prompt: Vec<HookRun>,
    /// They count again if the last prompt turns out to come from a Stop hook.
    pub before_prompt: Vec<HookRun>,
}

impl HookRuns {
    /// How often a hook ran within the last `window` turns.
    pub(in crate::loop_) fn count(&self, name: Digest, turn: u64, window: u32) -> u32 {
        let runs = self.since_prompt.iter();
        pattern::count(runs.filter(|run| run.0 == name && pattern::is_within(run.1, turn, window)))
    }

    pub(super) fn add(&mut self, run: HookRun, keep: u32) {
        self.since_prompt.push(run);
        keep_newest(&mut self.since_prompt, keep as usize);
    }

    pub(super) fn on_prompt(&mut self) {
        self.before_prompt = std::mem::take(&mut self.since_prompt);
    }

    /// The agent wants to end its turn. A Stop hook may keep it going with a text that looks like a person's prompt;
    /// then the hook runs counted before that prompt count again.
    pub(super) fn on_stop(&mut self, blocked: bool) {
        let before = std::mem::take(&mut self.before_prompt);
        if blocked {
            self.since_prompt.splice(..0, before);
        }
    }

    pub(super) fn forget(&mut self, name: Digest) {
        self.since_prompt.retain(|run| run.0 != name);
        self.before_prompt.retain(|run| run.0 != name);
    }
}
