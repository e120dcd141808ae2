//! Unmodified agent clients against a model that follows a script, on loopback, in namespaces of its own.
//!
//! A test lays out a [`place::Place`] (home, project, haltline's state), names [`script::Script`]s, and plays a
//! [`plan::Plan`]. The program `client-run` is started inside new network and process namespaces: there it serves the
//! model ([`scripted_model`]) and runs the client, and writes what both saw as an [`outcome::Outcome`]. Nothing can
//! leave the machine, since loopback is the only way, and nothing outlives the run.
//!
//! [`scenarios`] is what every client goes through, and [`promises`] the table of what haltline does in each.
//! [`stand_in`] is a hook that notes what it is asked and answers as told: it shows what the client itself does,
//! whatever haltline does.

pub mod drivers;
pub mod exchange;
mod http;
pub mod inside;
pub mod outcome;
pub mod place;
pub mod plan;
pub mod promises;
pub mod scenarios;
pub mod script;
pub mod scripted_model;
pub mod settings;
pub mod stand_in;
mod wire;
