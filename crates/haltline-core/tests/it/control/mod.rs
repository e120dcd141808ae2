//! What a person switches for a project or for everything: pauses and the configuration.

pub mod rules;
pub mod script;
