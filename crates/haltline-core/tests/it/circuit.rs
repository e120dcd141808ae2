//! Tests of `circuit/`.

mod open_period;
