//! Any bytes as a command line, a tool's input and its answer.

#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| haltline_sim::fuzz_targets::shell(content));
