//! Tests of `ralph/`.

mod analysis;
mod error_lines;
