//! Any bytes as a constraint's file.

#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| haltline_sim::fuzz_targets::front_matter(content));
