//! User interfaces. They render views and must never decide anything or query the store.

pub mod json;
pub mod text;
