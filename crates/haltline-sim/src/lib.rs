//! Not published: tests of whole histories.
//!
//! [`model`] is a small model of the commit protocol, checked in every interleaving; [`simulator`] runs the real engine
//! through random histories, one per seed; [`fuzz_targets`] is shared by the fuzzer and the test of the kept corpus;
//! [`histories`] reads the labelled corpus `bench/corpus`, which `bench/detection` measures;
//! `clients` (a feature) runs a real client against a scripted model. The test-only clock is the binary `haltline-at`.

#[cfg(feature = "whole")]
pub mod chance;
#[cfg(feature = "clients")]
pub mod clients;
#[cfg(feature = "whole")]
pub mod fuzz_targets;
pub mod histories;
#[cfg(feature = "whole")]
pub mod model;
#[cfg(feature = "whole")]
pub mod simulator;
