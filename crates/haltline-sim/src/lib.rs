//! Not published: what shows that whole histories go well.
//!
//! [`model`] is the commit protocol in the small, checked in every interleaving; [`simulator`] runs the real engine
//! through random histories, one per seed; [`fuzz_targets`] is what the fuzzer and the kept corpus share;
//! `clients` (a feature) runs a real client against a scripted model. The test-only clock is the binary `haltline-at`.

#![cfg(feature = "whole")]

mod chance;
#[cfg(feature = "clients")]
pub mod clients;
pub mod fuzz_targets;
pub mod model;
pub mod simulator;
