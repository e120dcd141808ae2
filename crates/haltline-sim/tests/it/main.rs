//! The whole of haltline: the pages of the documentation, recorded sessions, supervised processes, the simulator, the
//! model of the commit protocol, and the house style.

mod commit_protocol;
mod corpus;
mod fuzz_corpus;
#[path = "../../src/bin/stand-in-agent/pattern.rs"]
mod pattern;
mod provider_circuits;
mod ralph_library;
mod run_loop;
mod screens;
mod simulator;
mod supervise;
mod supervise_left;
mod supervise_terminal;
mod supervised;
#[path = "../../../../tests/tidy.rs"]
mod tidy;
mod transcripts;
