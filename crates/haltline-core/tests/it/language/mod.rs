//! The language of the rules as text: what the five breakers share of it.

pub mod interpreter;
pub mod outcome;
pub mod paragraph;

pub mod words;
