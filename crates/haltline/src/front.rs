//! Fronts render views; they never decide and never query.

pub mod text;
