//! The claim breaker: its rules as text, its properties, and the world in which they run.

mod change;
pub mod facts;
mod name;
mod properties;
pub mod reference;
mod rules;
pub mod screen;
pub mod script;
mod status;
pub mod world;
