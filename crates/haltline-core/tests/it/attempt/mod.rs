//! The attempt breaker: its rules as text, its properties, and the world in which they run.

pub mod acts;
pub mod facts;
mod justification;
mod properties;
pub mod reference;
mod report;
mod rules;
mod scope;
pub mod screen;
pub mod script;
pub mod world;
