//! `haltline run` and `haltline run --loop` with the real program, real git, and a scripted stand-in for the agent (P8):
//! each way an iteration can go, each way a loop can end, and what is told of it.

mod budget;
mod completed;
mod neutral;
mod once;
mod outcome;
mod person;
mod place;
mod processes;
mod progress;
mod results;
mod resumed;
mod tripped;
