//! The stored form of an agent's row: one flat object whose names never change, whatever the state looks like inside.
//!
//! serde reads the state through this struct and moves it out of it, so nothing is copied.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::packed_calls;
use super::*;

#[derive(Serialize, Deserialize)]
#[serde(remote = "AgentState")]
struct StoredAgent {
    client: String,
    #[serde(rename = "root", default, skip_serializing_if = "Option::is_none")]
    root_session: Option<String>,
    #[serde(rename = "model", default, skip_serializing_if = "Option::is_none")]
    model_series: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_nested: bool,
    #[serde(rename = "seen")]
    last_seen: Moment,
    #[serde(rename = "began")]
    first_seen: Moment,
    #[serde(getter = "turn")]
    turn: u64,
    #[serde(rename = "is_unused", getter = "is_turn_empty")]
    is_turn_empty: bool,
    #[serde(rename = "is_fresh", getter = "is_turn_over", default, skip_serializing_if = "std::ops::Not::not")]
    is_turn_over: bool,
    #[serde(rename = "message", getter = "response", default, skip_serializing_if = "Option::is_none")]
    response: Option<Digest>,
    #[serde(rename = "is_prompted", default, skip_serializing_if = "std::ops::Not::not")]
    has_new_prompt: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_stopped: bool,
    #[serde(rename = "pause", default, skip_serializing_if = "is_default")]
    activity: Activity,
    #[serde(rename = "flights", default, skip_serializing_if = "Vec::is_empty")]
    in_flight: Vec<InFlightCall>,
    #[serde(rename = "refused", getter = "denied_calls", default, skip_serializing_if = "Vec::is_empty")]
    denied_calls: Vec<Digest>,
    #[serde(rename = "closed", getter = "ended_ids", default, skip_serializing_if = "Vec::is_empty")]
    ended_ids: Vec<Digest>,
    #[serde(rename = "past", with = "packed_calls", default, skip_serializing_if = "Vec::is_empty")]
    completed: Vec<CompletedCall>,
    #[serde(rename = "rut", default, skip_serializing_if = "is_default")]
    no_progress: NoProgress,
    #[serde(default, skip_serializing_if = "is_default")]
    compaction: Compaction,
    #[serde(rename = "chant", default, skip_serializing_if = "is_default")]
    repeated_text: RepeatedText,
    #[serde(rename = "error_kinds", default, skip_serializing_if = "is_default")]
    error_kinds: ErrorKinds,
    #[serde(rename = "in_vain", default, skip_serializing_if = "is_default")]
    fruitless_searches: FruitlessSearches,
    #[serde(rename = "missing", default, skip_serializing_if = "is_default")]
    missing_programs: MissingPrograms,
    #[serde(rename = "growth", default, skip_serializing_if = "is_default")]
    cost_growth: CostGrowth,
    #[serde(default, skip_serializing_if = "is_default")]
    cache_misses: CacheMisses,
    #[serde(default, skip_serializing_if = "is_default")]
    continuation: Continuation,
    #[serde(rename = "is_shortened", default, skip_serializing_if = "std::ops::Not::not")]
    has_new_compaction: bool,
    #[serde(rename = "is_rested", default, skip_serializing_if = "std::ops::Not::not")]
    was_idle: bool,
    #[serde(rename = "hooks", getter = "hook_runs", default, skip_serializing_if = "Vec::is_empty")]
    hook_runs: Vec<HookRun>,
    #[serde(rename = "hooks_before", getter = "hook_runs_before", default, skip_serializing_if = "Vec::is_empty")]
    hook_runs_before_prompt: Vec<HookRun>,
    #[serde(rename = "is_marked", getter = "marks_turn_ends", default, skip_serializing_if = "std::ops::Not::not")]
    marks_turn_ends: bool,
    #[serde(rename = "door", getter = "hook_source", default, skip_serializing_if = "Option::is_none")]
    hook_source: Option<Digest>,
    #[serde(rename = "told", getter = "recent_sources", default, skip_serializing_if = "Vec::is_empty")]
    recent_sources: Vec<(UnidentifiedEvent, Digest, Moment)>,
    #[serde(rename = "spawned", default, skip_serializing_if = "Vec::is_empty")]
    spawn_turns: Vec<u64>,
    #[serde(getter = "denied_in_a_row", default)]
    denied_in_a_row: u32,
    #[serde(getter = "denied_tools", default, skip_serializing_if = "Vec::is_empty")]
    denied_tools: Vec<Digest>,
    #[serde(getter = "denied_recent", default)]
    denied_recent: u64,
    #[serde(rename = "transcript", default)]
    transcript_offset: u64,
    #[serde(rename = "reported", default, skip_serializing_if = "Option::is_none")]
    last_response: Option<String>,
    #[serde(rename = "policy", default)]
    policy_digest: String,
    #[serde(rename = "board", default)]
    circuits: Circuits,
    #[serde(default)]
    totals: AgentTotals,
}

macro_rules! getters {
    ($($name:ident: $type:ty = $group:ident.$field:ident;)*) => {$(
        fn $name(agent: &AgentState) -> &$type {
            &agent.$group.$field
        }
    )*};
}

getters! {
    turn: u64 = turn.number;
    is_turn_empty: bool = turn.is_empty;
    is_turn_over: bool = turn.is_over;
    response: Option<Digest> = turn.response;
    denied_calls: Vec<Digest> = deliveries.denied_calls;
    ended_ids: Vec<Digest> = deliveries.ended_ids;
    hook_runs: Vec<HookRun> = hook_runs.since_prompt;
    hook_runs_before: Vec<HookRun> = hook_runs.before_prompt;
    marks_turn_ends: bool = turn.marks_ends;
    hook_source: Option<Digest> = deliveries.hook_source;
    recent_sources: Vec<(UnidentifiedEvent, Digest, Moment)> = deliveries.recent_sources;
    denied_in_a_row: u32 = permission_denials.in_a_row;
    denied_tools: Vec<Digest> = permission_denials.tools;
    denied_recent: u64 = permission_denials.recent;
}

impl From<StoredAgent> for AgentState {
    fn from(stored: StoredAgent) -> Self {
        Self {
            client: stored.client,
            root_session: stored.root_session,
            model_series: stored.model_series,
            is_nested: stored.is_nested,
            last_seen: stored.last_seen,
            first_seen: stored.first_seen,
            turn: Turn {
                number: stored.turn,
                is_empty: stored.is_turn_empty,
                is_over: stored.is_turn_over,
                response: stored.response,
                marks_ends: stored.marks_turn_ends,
            },
            has_new_prompt: stored.has_new_prompt,
            has_new_compaction: stored.has_new_compaction,
            was_idle: stored.was_idle,
            is_stopped: stored.is_stopped,
            activity: stored.activity,
            in_flight: stored.in_flight,
            completed: stored.completed,
            deliveries: Deliveries {
                hook_source: stored.hook_source,
                recent_sources: stored.recent_sources,
                denied_calls: stored.denied_calls,
                ended_ids: stored.ended_ids,
            },
            no_progress: stored.no_progress,
            compaction: stored.compaction,
            repeated_text: stored.repeated_text,
            error_kinds: stored.error_kinds,
            fruitless_searches: stored.fruitless_searches,
            missing_programs: stored.missing_programs,
            cost_growth: stored.cost_growth,
            cache_misses: stored.cache_misses,
            continuation: stored.continuation,
            hook_runs: HookRuns { since_prompt: stored.hook_runs, before_prompt: stored.hook_runs_before_prompt },
            spawn_turns: stored.spawn_turns,
            permission_denials: PermissionDenials {
                in_a_row: stored.denied_in_a_row,
                tools: stored.denied_tools,
                recent: stored.denied_recent,
            },
            transcript_offset: stored.transcript_offset,
            last_response: stored.last_response,
            policy_digest: stored.policy_digest,
            circuits: stored.circuits,
            totals: stored.totals,
        }
    }
}

impl Serialize for AgentState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StoredAgent::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for AgentState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        StoredAgent::deserialize(deserializer)
    }
}
