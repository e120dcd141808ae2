//! A program that does nothing: what starting a static Rust process costs.

fn main() {}
