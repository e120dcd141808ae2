//! Any bytes as the output of a program that was watched.

#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| haltline_sim::fuzz_targets::output(content));
