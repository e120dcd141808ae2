//! The claim breaker: its rules as text, its properties, and the world in which they run.

pub mod facts;
mod properties;
pub mod reference;
mod rules;
pub mod screen;
pub mod script;
pub mod world;
