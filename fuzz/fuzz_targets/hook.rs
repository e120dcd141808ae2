//! Any bytes as what hooks got on standard input.

#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| haltline_sim::fuzz_targets::hook(content));
