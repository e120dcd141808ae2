//! Any bytes as a text that is stored.

#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| haltline_sim::fuzz_targets::redact(content));
