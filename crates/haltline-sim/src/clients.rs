//! Unmodified clients against a model that follows a script, on loopback, in their own namespaces.
//!
//! A test sets up a [`sandbox::Sandbox`] (home, project, haltline's state), defines [`script::Script`]s, and runs a
//! [`plan::Plan`]. The program `client-run` starts inside new network and process namespaces: there it serves the
//! model ([`scripted_model`]), runs the client, and writes what both saw as an [`outcome::Outcome`]. Nothing can
//! leave the machine, because only loopback is reachable, and no process outlives the run.
//!
//! [`scenarios`] has the tests that every client goes through, and [`promises`] the table of what haltline does in
//! each. [`stand_in`] is a hook that records the events it receives and answers as the test says: it shows what the
//! client itself does, independent of haltline.

pub mod drivers;
pub mod exchange;
mod http;
pub mod inside;
pub mod outcome;
pub mod plan;
pub mod promises;
pub mod sandbox;
pub mod scenarios;
pub mod script;
pub mod scripted_model;
pub mod settings;
pub mod stand_in;
mod wire;
