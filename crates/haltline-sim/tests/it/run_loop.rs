//! `haltline run` and `haltline run --loop` with the real program, real git, and a scripted stand-in for the agent (P8):
//! every kind of iteration, every way a loop can end, and the report of it.

mod budget;
mod completed;
mod neutral;
mod once;
mod outcome;
mod person;
mod processes;
mod progress;
mod results;
mod resumed;
mod site;
mod tripped;
