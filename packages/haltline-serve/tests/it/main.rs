//! The fronts with the real programs: `haltline` beside `haltline-serve`, as they are installed.

mod companion;
mod support;
