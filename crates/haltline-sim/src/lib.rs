//! Not published: what shows that whole histories go well.
//!
//! [`model`] is the commit protocol in the small, checked in every interleaving; [`simulator`] runs the real engine
//! through random histories, one per seed; [`fuzz_targets`] is what the fuzzer and the kept corpus share;
//! [`histories`] reads the labelled corpus of `bench/detection`;
//! `clients` (a feature) runs a real client against a scripted model. The test-only clock is the binary `haltline-at`.

#[cfg(feature = "whole")]
mod chance;
#[cfg(feature = "clients")]
pub mod clients;
#[cfg(feature = "whole")]
pub mod fuzz_targets;
pub mod histories;
#[cfg(feature = "whole")]
pub mod model;
#[cfg(feature = "whole")]
pub mod simulator;
