//! The loop breaker: tool calls, hooks, spawns and API calls of a running session (seed 002; L1–L13).
//!
//! The store holds one row per agent ([`AgentState`]) and one per tree of agents ([`AgentTree`]); each row has its own
//! [`Circuits`]. A circuit is identified by what it is about (a call, an error, a hook), not by the pattern that
//! tripped it, so all patterns that see the same action share one cooldown and one probe (E13).

mod agent_fact;
mod agent_state;
mod agent_tree;
pub mod budget;
mod circuits;
mod closest_to_trip;
mod code;
mod compaction;
mod completed_call;
mod continuation;
mod decide;
mod error_kinds;
mod event;
mod exemptions;
mod fruitless_searches;
mod in_flight_call;
mod limits;
mod messages;
mod missing_programs;
mod model_output;
mod no_progress;
mod operator;
mod own_protection;
mod packed_calls;
mod pattern;
mod pattern_table;
pub(crate) mod provider;
mod way_out;

pub use crate::circuit::EscalationLevel;
pub use agent_fact::{AgentFact, Ending, Progress};
pub use agent_state::{Activity, AgentState, AgentTotals, Deliveries, HookRun, HookRuns, PermissionDenials, Turn};
pub use agent_tree::{AgentTree, AgentTreeFact, ApiCalls, Permit, Reservation, Spent, SubAgent, Task};
pub use budget::{BudgetLimits, Budgets, SpendRateLimits};
pub use circuits::{
    CircuitFact, CircuitState, Circuits, HalfOpenCause, Probe, Trip, TripStreak, TrippedCircuit, TrippedState,
};
pub use closest_to_trip::{ClosestToTrip, api_calls_within, closest_to_trip};
pub use code::{CAPACITY_CODE, code, is_capacity};
pub use compaction::Compaction;
pub use completed_call::CompletedCall;
pub use continuation::{Continuation, Gain};
pub use decide::{LoopRequest, decide};
pub use error_kinds::ErrorKinds;
pub use event::{
    AgentRef, BatchEnd, CallContext, CallIds, Guarded, LoopEvent, Protections, TranscriptRange, TurnEnd,
    UnidentifiedEvent, Usage,
};
pub use exemptions::{Exemption, ExemptionFact, Exemptions};
pub use fruitless_searches::FruitlessSearches;
pub use in_flight_call::{CallTraits, InFlightCall};
pub use limits::{
    AgentLimits, ApiLimits, Bound, Budget, CacheMissLimits, DenialLimits, Limits, OnFull, Preset, ProviderLimits,
    WarnDenyLimits, WindowLimits,
};
pub(crate) use messages::FOR_PERSON;
pub use messages::{TURN_ENDS, dollars};
pub use missing_programs::MissingPrograms;
pub use model_output::{CacheMisses, CostGrowth, RepeatedText};
pub use no_progress::{NoProgress, RepeatedError};
pub use operator::{TripSubject, Verb, decide as decide_verb, decide_revoke};
pub use own_protection::denial_on_failure;
pub use pattern::{Nature, Pattern};
pub use provider::{
    FaultKind, Provider, ProviderAccount, ProviderEvent, ProviderFact, ProviderFault, ProviderRequest, model_series,
};
pub use way_out::{WAYS_OUT, WayOut, is_way_out};
