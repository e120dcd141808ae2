//! The configured limits of the loop breaker, with the defaults of seed 002 (L1, L6, L7).

use serde::{Deserialize, Serialize};

use super::budget::{Budgets, SpendRateLimits};

/// What counts as "the same" call (L4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Tool, canonical arguments and normalised result decide; spawn rates only warn.
    #[default]
    Default,
    /// As seed 002 says literally: the tool's name alone decides, and every limit denies.
    Literal,
}

/// Limits of a pattern that trips at a threshold within a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowLimits {
    pub enabled: bool,
    /// The pattern trips at the event with this number, counted from one.
    pub threshold: u32,
    /// How far back events count: in turns, or in seconds for `external_api`.
    pub window: u32,
    /// The first cooldown; later ones are multiples of it (L5).
    pub cooldown_s: u32,
}

/// Limits of a pattern that escalates: haltline warns at the attempt `warn`, denies at the attempt `deny`, and ends the
/// turn at the attempt after that (E5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarnDenyLimits {
    pub enabled: bool,
    /// The attempt at which haltline warns.
    pub warn: u32,
    /// The attempt that haltline denies.
    pub deny: u32,
    /// The first cooldown.
    pub cooldown_s: u32,
}

/// Limits on denials by permission rules: a number in a row, or a number among the last calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenialLimits {
    pub enabled: bool,
    /// The pattern trips at this many denials in a row, …
    pub in_a_row: u32,
    /// … or at this many denials …
    pub of_recent: u32,
    /// … among this many last calls.
    pub recent: u32,
    /// The first cooldown.
    pub cooldown_s: u32,
}

/// What happens when a sub-agent would be one too many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFull {
    /// haltline denies the spawn.
    #[default]
    Deny,
    /// The sub-agent starts, and haltline stops the oldest one at its next action.
    StopOldest,
}

/// Limits on the sub-agents of one root session (L7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLimits {
    /// Sub-agents at once.
    pub concurrent_max: u32,
    /// Spawns since the person's last prompt; preset `literal` does not use it.
    pub spawns_per_prompt_max: u32,
    /// Spawns in the whole session; 0 means no limit, and [`AgentLimits::LITERAL_SPAWNS_MAX`] with preset `literal`.
    pub spawns_max: u32,
    /// Levels of sub-agents below the main agent.
    pub depth_max: u32,
    /// Minimum time between two spawns that are not of one parallel batch.
    pub spacing_s: u32,
    /// haltline warns and then denies if the same task is given to another sub-agent.
    pub is_same_task_denied: bool,
    pub on_full: OnFull,
}

/// How long the circuits of a model service stay OPEN if the service does not say when it answers again (L7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderLimits {
    pub enabled: bool,
    /// The first cooldown after a limit.
    pub cooldown_s: u32,
    /// The first cooldown while the service is overloaded.
    pub overload_cooldown_s: u32,
}

impl Default for ProviderLimits {
    fn default() -> Self {
        Self { enabled: true, cooldown_s: 300, overload_cooldown_s: 30 }
    }
}

/// When prompts that miss the model service's cache are worth a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheMissLimits {
    pub enabled: bool,
    /// haltline warns at this many in a row.
    pub warn: u32,
    /// Smaller prompts do not count.
    pub tokens_min: u32,
}

impl Default for CacheMissLimits {
    fn default() -> Self {
        Self { enabled: true, warn: 5, tokens_min: 20_000 }
    }
}

/// Limits on calls to external services (L7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiLimits {
    /// A shell command that contains one of these is such a call.
    pub commands: Vec<String>,
    /// A tool whose name matches one of these globs is such a call.
    pub tools: Vec<String>,
    /// Calls in total.
    pub calls_max: u32,
    /// haltline warns at this cost, in millionths of a dollar.
    pub warn_micros: u64,
    /// haltline denies at this cost, in millionths of a dollar.
    pub deny_micros: u64,
    /// The price of one call if the result does not say it; `None` if unknown.
    pub call_micros: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// haltline warns once at this value.
    pub soft: Option<u64>,
    /// haltline denies from this value on.
    pub hard: Option<u64>,
}

impl Bound {
    fn is_unset(&self) -> bool {
        *self == Self::default()
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What a root session and all its sub-agents may use in total (L7). Off unless set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Cost in millionths of a dollar.
    pub micros: Bound,
    /// All tokens, read and written.
    pub tokens: Bound,
    /// Model responses with tool calls.
    pub turns: Bound,
    #[serde(default, skip_serializing_if = "Bound::is_unset")]
    pub calls: Bound,
    /// Minutes since the session started.
    pub minutes: Bound,
    /// How many calls that save work haltline lets through after a hard limit.
    pub saving_calls: u32,
}

impl AgentLimits {
    /// Spawns in the whole session with preset `literal`, if nothing else is set (seed 002).
    pub const LITERAL_SPAWNS_MAX: u32 = 10;
    /// Sub-agents at once.
    pub const CONCURRENT_MAX: u32 = 10;
    /// Sub-agents at once with preset `literal` (seed 002).
    pub const LITERAL_CONCURRENT_MAX: u32 = 5;

    /// Spawns in the whole session; `None` means no limit.
    pub fn session_spawns_max(&self, preset: Preset) -> Option<u32> {
        match (self.spawns_max, preset) {
            (0, Preset::Default) => None,
            (0, Preset::Literal) => Some(Self::LITERAL_SPAWNS_MAX),
            (max, Preset::Default | Preset::Literal) => Some(max),
        }
    }

    /// Spawns since the person's last prompt; `None` means no limit.
    pub fn prompt_spawns_max(&self, preset: Preset) -> Option<u32> {
        match preset {
            Preset::Default => Some(self.spawns_per_prompt_max),
            Preset::Literal => None,
        }
    }
}

impl Budget {
    /// True if any limit is set.
    pub fn is_set(&self) -> bool {
        [self.micros, self.tokens, self.turns, self.calls, self.minutes]
            .iter()
            .any(|bound| bound.soft.is_some() || bound.hard.is_some())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub preset: Preset,
    /// Hooks inside hooks, and Stop hooks that keep the agent going.
    pub hook_recursion: WindowLimits,
    /// The same call failing.
    pub tool_failure: WindowLimits,
    /// The same call in a row since the last prompt.
    pub sequential_tools: WindowLimits,
    /// Sub-agents that the agent starts.
    pub agent_spawn: WindowLimits,
    /// Calls to external services; the window is in seconds.
    pub external_api: WindowLimits,
    /// The same call with the same result.
    pub repeat: WarnDenyLimits,
    /// The same two to five calls in turn, with the same results.
    pub cycle: WarnDenyLimits,
    /// The same call with the same result among the last twenty calls.
    pub interleaved: WarnDenyLimits,
    /// The same error for calls with changing arguments.
    pub same_error: WarnDenyLimits,
    /// The same failure although something was written in between.
    pub futile_writes: WarnDenyLimits,
    /// Results that the agent already had, one after another.
    pub retread: WarnDenyLimits,
    /// Results that the agent already had, for rephrased calls.
    pub stagnation: WarnDenyLimits,
    /// Failures of any tool, with nothing new in between.
    pub cascade: WarnDenyLimits,
    /// Searches that found nothing; `deny` counts only those in a row with nothing else learned.
    #[serde(default = "fruitless_searches")]
    pub fruitless_searches: WarnDenyLimits,
    /// The same kind of error among a tool's last calls.
    #[serde(default = "similar_errors")]
    pub similar_errors: WarnDenyLimits,
    /// Calls of a program that is not there.
    #[serde(default = "missing_program")]
    pub missing_program: WarnDenyLimits,
    /// Compactions with nothing new in between.
    pub compaction: WarnDenyLimits,
    /// Responses that cost many times as much as usual.
    pub cost_growth: WarnDenyLimits,
    /// The same text over and over.
    pub chanting: WarnDenyLimits,
    /// Prompts that miss the cache.
    #[serde(default)]
    pub cache_misses: CacheMissLimits,
    /// Turn ends in a row without a call that changed or found out anything; `deny` is the one at which haltline ends the
    /// turn for good.
    pub idle_continuation: WarnDenyLimits,
    /// Denials by permission rules.
    pub denials: DenialLimits,
    pub agents: AgentLimits,
    pub api: ApiLimits,
    /// Globs of further tools that are a way out, which haltline never denies.
    pub ways_out: Vec<String>,
    /// Globs of tools or commands that poll by nature; they do not count as repeats.
    pub pollers: Vec<String>,
    pub budget: Budget,
    /// The budgets beside that of a session.
    #[serde(default, skip_serializing_if = "is_default")]
    pub budgets: Budgets,
    /// How fast a session may spend.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spend_rate: SpendRateLimits,
    /// Circuits of model services.
    #[serde(default)]
    pub provider: ProviderLimits,
    /// How many completed calls are kept for each agent.
    pub history_max: u32,
    /// How long a probe may take before another call may replace it.
    pub probe_lease_s: u32,
}

const fn warn_deny(warn: u32, deny: u32) -> WarnDenyLimits {
    WarnDenyLimits { enabled: true, warn, deny, cooldown_s: 5 }
}

const fn fruitless_searches() -> WarnDenyLimits {
    warn_deny(9, 17)
}

const fn similar_errors() -> WarnDenyLimits {
    warn_deny(5, 6)
}

const fn missing_program() -> WarnDenyLimits {
    warn_deny(2, 3)
}

impl Limits {
    /// Sets the preset, and the numbers of seed 002 that the preset `literal` has instead of the defaults.
    pub fn choose(&mut self, preset: Preset) {
        self.preset = preset;
        let default = (AgentLimits::CONCURRENT_MAX, SPAWN_THRESHOLD);
        let literal = (AgentLimits::LITERAL_CONCURRENT_MAX, LITERAL_SPAWN_THRESHOLD);
        let (chosen, other) = match preset {
            Preset::Default => (default, literal),
            Preset::Literal => (literal, default),
        };
        // A number that was set, before the preset or after it, stays.
        if self.agents.concurrent_max == other.0 {
            self.agents.concurrent_max = chosen.0;
        }
        if self.agent_spawn.threshold == other.1 {
            self.agent_spawn.threshold = chosen.1;
        }
    }
}

/// Spawns in ten turns from which on haltline warns.
const SPAWN_THRESHOLD: u32 = 10;
/// Spawns in ten turns after which haltline denies the next with preset `literal` (seed 002).
const LITERAL_SPAWN_THRESHOLD: u32 = 5;

impl Default for Limits {
    fn default() -> Self {
        let windowed = |threshold, window, cooldown_s| WindowLimits { enabled: true, threshold, window, cooldown_s };
        Self {
            preset: Preset::Default,
            hook_recursion: windowed(5, 10, 5),
            tool_failure: windowed(3, 5, 10),
            sequential_tools: windowed(10, 1, 5),
            agent_spawn: windowed(SPAWN_THRESHOLD, 10, 10),
            external_api: windowed(10, 60, 30),
            repeat: warn_deny(3, 4),
            cycle: warn_deny(3, 4),
            interleaved: warn_deny(3, 4),
            same_error: warn_deny(3, 4),
            futile_writes: warn_deny(5, 8),
            retread: warn_deny(4, 5),
            stagnation: warn_deny(5, 6),
            cascade: warn_deny(7, 10),
            fruitless_searches: fruitless_searches(),
            similar_errors: similar_errors(),
            missing_program: missing_program(),
            compaction: warn_deny(3, 4),
            cost_growth: WarnDenyLimits { enabled: false, ..warn_deny(3, 10) },
            chanting: WarnDenyLimits { enabled: false, ..warn_deny(3, 6) },
            cache_misses: CacheMissLimits::default(),
            idle_continuation: warn_deny(2, 4),
            denials: DenialLimits { enabled: true, in_a_row: 3, of_recent: 10, recent: 50, cooldown_s: 10 },
            agents: AgentLimits {
                concurrent_max: AgentLimits::CONCURRENT_MAX,
                spawns_per_prompt_max: 20,
                spawns_max: 0,
                depth_max: 3,
                spacing_s: 10,
                is_same_task_denied: true,
                on_full: OnFull::Deny,
            },
            api: ApiLimits {
                commands: ["oracle.py", "swarm.py", "research.py"].map(str::to_owned).to_vec(),
                tools: Vec::new(),
                calls_max: 50,
                warn_micros: 1_000_000,
                deny_micros: 5_000_000,
                call_micros: None,
            },
            ways_out: Vec::new(),
            pollers: Vec::new(),
            budget: Budget {
                micros: Bound::default(),
                tokens: Bound::default(),
                turns: Bound::default(),
                calls: Bound::default(),
                minutes: Bound::default(),
                saving_calls: 5,
            },
            budgets: Budgets::default(),
            spend_rate: SpendRateLimits::default(),
            provider: ProviderLimits::default(),
            history_max: 50,
            probe_lease_s: 600,
        }
    }
}
