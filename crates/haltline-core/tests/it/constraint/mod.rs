//! The constraint breaker: its rules as text, its properties, and the world in which they run.

pub mod acts;
mod exhaustive;
mod properties;
pub mod reference;
mod rules;
pub mod screen;
pub mod script;
mod time;
pub mod world;
