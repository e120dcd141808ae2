//! Any bytes as plain events.

#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| haltline_sim::fuzz_targets::plain_event(content));
