//! The loop family: tool calls, hooks, spawns and API calls of a running session (seed 002; L1–L13).

mod happening;
mod limits;

pub use happening::{BatchEnd, Guarded, Happening, Stream, Usage};
pub use limits::{Agents, Api, Bound, Budget, Denials, Limits, OnFull, Preset, Rungs, Windowed};
