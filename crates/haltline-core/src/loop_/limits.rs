//! What the owner has decided about loops: every pattern's limits, with seed 002's defaults (L1, L6, L7).

use serde::{Deserialize, Serialize};

use super::Pattern;

/// Whose idea of "the same" counts (L4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Tool, canonical arguments and normalised answer; rates of spawning only warn.
    #[default]
    Default,
    /// Seed 002's words: the tool's name alone, and every limit refuses.
    Literal,
}

/// A pattern that opens at its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windowed {
    /// Whether it is watched at all.
    pub enabled: bool,
    /// The event that opens it, counted from one.
    pub threshold: u32,
    /// How far back events count: turns, or seconds for `external_api`.
    pub window: u32,
    /// The first cooldown; later ones are multiples of it (L5).
    pub cooldown_s: u32,
}

/// A pattern with rungs: the nth attempt is warned, the next bound refuses, the attempt after that stops (E5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rungs {
    /// Whether it is watched at all.
    pub enabled: bool,
    /// The attempt that is warned.
    pub warn: u32,
    /// The attempt that is refused.
    pub deny: u32,
    /// The first cooldown.
    pub cooldown_s: u32,
}

/// Refusals by permission rules: so many in a row, or so many of the last calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denials {
    /// Whether they are watched at all.
    pub enabled: bool,
    /// In a row.
    pub in_a_row: u32,
    /// Or so many…
    pub of_recent: u32,
    /// …of so many of the last calls.
    pub recent: u32,
    /// The first cooldown.
    pub cooldown_s: u32,
}

/// What happens to the agent that is one too many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFull {
    /// It is refused.
    #[default]
    Deny,
    /// It starts, and the oldest is told to end at its next action.
    StopOldest,
}

/// Limits on sub-agents of one root session (L7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agents {
    /// At once.
    pub concurrent_max: u32,
    /// In all.
    pub spawns_max: u32,
    /// Below one another.
    pub depth_max: u32,
    /// Between two spawns outside one parallel batch.
    pub spacing_s: u32,
    /// What happens to the one too many.
    pub on_full: OnFull,
}

/// Calls of external services (L7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Api {
    /// Shell commands that contain one of these are such calls.
    pub commands: Vec<String>,
    /// Tools with one of these names are such calls; globs.
    pub tools: Vec<String>,
    /// In all.
    pub calls_max: u32,
    /// Spending that is warned of, in millionths of a dollar.
    pub warn_micros: u64,
    /// Spending that is refused.
    pub deny_micros: u64,
    /// What one call costs where nobody says; `None` is unknown.
    pub call_micros: Option<u64>,
}

/// One limit of the budget: told at the soft one, refused at the hard one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Told once.
    pub soft: Option<u64>,
    /// Refused.
    pub hard: Option<u64>,
}

/// What a root session with all its sub-agents may use up (L7). Off until set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Millionths of a dollar.
    pub micros: Bound,
    /// Tokens, read and written.
    pub tokens: Bound,
    /// Model responses with tool calls.
    pub turns: Bound,
    /// Minutes since the session began.
    pub minutes: Bound,
    /// Calls that save work are let through this often after a hard limit.
    pub saving_calls: u32,
}

impl Budget {
    /// Whether any limit is set.
    pub fn is_set(&self) -> bool {
        [self.micros, self.tokens, self.turns, self.minutes]
            .iter()
            .any(|bound| bound.soft.is_some() || bound.hard.is_some())
    }
}

/// All limits of the loop family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Whose idea of "the same" counts.
    pub preset: Preset,
    /// Hooks inside hooks, and Stop hooks that keep the agent going.
    pub hook_recursion: Windowed,
    /// The same call failing.
    pub tool_failure: Windowed,
    /// The same call in a row since the last prompt.
    pub sequential_tools: Windowed,
    /// Sub-agents started.
    pub agent_spawn: Windowed,
    /// Calls of external services, by seconds.
    pub external_api: Windowed,
    /// The same call with the same answer.
    pub repeat: Rungs,
    /// The same two to five calls in turn, with the same answers.
    pub cycle: Rungs,
    /// The same call with the same answer among the last twenty.
    pub interleaved: Rungs,
    /// The same complaint to calls with changing arguments.
    pub same_error: Rungs,
    /// The same failure although something was written in between.
    pub futile_writes: Rungs,
    /// Answers that were known, one after the other.
    pub retread: Rungs,
    /// Known answers to the same question in other words.
    pub stagnation: Rungs,
    /// Failures of any tool, with nothing new in between.
    pub cascade: Rungs,
    /// Shortened conversations with nothing new in between.
    pub compaction: Rungs,
    /// Responses that cost many times the usual.
    pub cost_growth: Rungs,
    /// The same said over and over.
    pub chanting: Rungs,
    /// Refusals by permission rules.
    pub denials: Denials,
    /// Sub-agents.
    pub agents: Agents,
    /// External services.
    pub api: Api,
    /// Tools, or commands, that ask again by nature; globs. They are not counted as repeats.
    pub pollers: Vec<String>,
    /// What a session may use up.
    pub budget: Budget,
    /// How many calls of the past are kept for each agent.
    pub history_max: u32,
    /// How long a probe may take before its place is free again.
    pub probe_lease_s: u32,
}

impl Limits {
    /// The first cooldown of a pattern.
    pub(super) fn cooldown_s(&self, pattern: Pattern) -> u32 {
        match pattern {
            Pattern::HookRecursion => self.hook_recursion.cooldown_s,
            Pattern::ToolFailure => self.tool_failure.cooldown_s,
            Pattern::SequentialTools => self.sequential_tools.cooldown_s,
            Pattern::AgentSpawn => self.agent_spawn.cooldown_s,
            Pattern::ExternalApi => self.external_api.cooldown_s,
            Pattern::Interleaved => self.interleaved.cooldown_s,
            Pattern::Cycle => self.cycle.cooldown_s,
            Pattern::SameError => self.same_error.cooldown_s,
            Pattern::FutileWrites => self.futile_writes.cooldown_s,
            Pattern::Retread => self.retread.cooldown_s,
            Pattern::Stagnation => self.stagnation.cooldown_s,
            Pattern::Cascade => self.cascade.cooldown_s,
            Pattern::Compaction => self.compaction.cooldown_s,
            Pattern::CostGrowth => self.cost_growth.cooldown_s,
            Pattern::Chanting => self.chanting.cooldown_s,
            Pattern::Denials => self.denials.cooldown_s,
            // The last three have no circuit that cools down.
            Pattern::Repeat | Pattern::Budget | Pattern::Constraint | Pattern::Tampering => self.repeat.cooldown_s,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let rungs = |warn, deny| Rungs { enabled: true, warn, deny, cooldown_s: 5 };
        let windowed = |threshold, window, cooldown_s| Windowed { enabled: true, threshold, window, cooldown_s };
        Self {
            preset: Preset::Default,
            hook_recursion: windowed(5, 10, 5),
            tool_failure: windowed(3, 5, 10),
            sequential_tools: windowed(10, 1, 5),
            agent_spawn: windowed(5, 10, 10),
            external_api: windowed(10, 60, 30),
            repeat: rungs(3, 4),
            cycle: rungs(3, 4),
            interleaved: rungs(3, 4),
            same_error: rungs(3, 4),
            futile_writes: rungs(5, 8),
            retread: rungs(4, 5),
            stagnation: rungs(5, 6),
            cascade: rungs(7, 10),
            compaction: rungs(3, 4),
            cost_growth: Rungs { enabled: false, ..rungs(3, 10) },
            chanting: Rungs { enabled: false, ..rungs(3, 6) },
            denials: Denials { enabled: true, in_a_row: 3, of_recent: 10, recent: 50, cooldown_s: 10 },
            agents: Agents { concurrent_max: 5, spawns_max: 10, depth_max: 3, spacing_s: 10, on_full: OnFull::Deny },
            api: Api {
                commands: ["oracle.py", "swarm.py", "research.py"].map(str::to_owned).to_vec(),
                tools: Vec::new(),
                calls_max: 50,
                warn_micros: 1_000_000,
                deny_micros: 5_000_000,
                call_micros: None,
            },
            pollers: Vec::new(),
            budget: Budget {
                micros: Bound::default(),
                tokens: Bound::default(),
                turns: Bound::default(),
                minutes: Bound::default(),
                saving_calls: 5,
            },
            history_max: 50,
            probe_lease_s: 600,
        }
    }
}
