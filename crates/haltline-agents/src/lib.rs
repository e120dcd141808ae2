//! What haltline knows of each agent client. Pure: no file, no environment, no process is touched here.

mod client;

pub use client::{CLIENTS, Client, marker_in, of_program, session_in};
