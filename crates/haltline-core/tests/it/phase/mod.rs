//! The phase breaker: its rules as text, its properties, and the world in which they run.

pub mod acts;
pub mod facts;
mod metrics;
mod name;
mod properties;
pub mod reference;
mod report;
mod rules;
pub mod screen;
pub mod script;
pub mod world;
