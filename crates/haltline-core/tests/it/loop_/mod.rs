//! The loop breaker: its rules as text, its properties, and the world in which they run.

pub mod acts;
pub mod facts;
mod hook_sources;
mod own_protection;
mod properties;
mod rules;
pub mod screen;
pub mod script;
mod stopped;
pub mod world;
