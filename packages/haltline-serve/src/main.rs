//! `haltline-serve`: the fronts of haltline that need a resident process, a terminal screen or a web server.
//!
//! `haltline serve` and its like become this program (`companion.rs` of haltline). It renders the views of haltline and
//! uses its operator checks; it decides nothing and opens no store itself.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use haltline::error::Failure;

/// The fronts of haltline
#[derive(Debug, Parser)]
#[command(name = "haltline", bin_name = "haltline", version, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Front,
}

#[derive(Debug, Subcommand)]
enum Front {
    /// Show everything live in a web page on this machine
    Serve,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Front::Serve => Err(Failure::Plain("this build of haltline-serve has no web page yet".to_owned())),
    };
    result.unwrap_or_else(|failure: Failure| {
        haltline::front::text::print_failure(&failure);
        failure.exit_code()
    })
}
