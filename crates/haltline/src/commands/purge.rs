//! `haltline purge`: deletes the texts of a session everywhere and keeps the counts.

use std::process::ExitCode;

use haltline_engine::store::Store;
use serde::Serialize;

use crate::cli::Purge;
use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::question;
use crate::view::SCHEMA;

#[derive(Serialize)]
struct PurgeView {
    schema: u32,
    session: String,
    facts: usize,
}

pub fn run(context: &Context, command: &Purge) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let session = command.session.as_str();
    context.confirm("purge", None)?;
    if !command.is_agreed && !agree(context, session)? {
        return Ok(exit_code::SUCCESS);
    }
    let facts = engine.store().purge(session)?;
    if facts == 0 {
        return Err(Failure::Plain(format!(
            "session {session:?} has no texts in the store; `haltline journal show --json` names the sessions"
        )));
    }
    engine.rebuild_mirror();
    let view = PurgeView { schema: SCHEMA, session: session.to_owned(), facts };
    context.print(&view, |view| {
        let facts = text::count(view.facts as u64, "fact");
        format!("haltline deleted the texts of {facts} of session {} and kept the counts.\n", view.session)
    })
}

/// Asks the person, because deleted texts cannot be restored.
fn agree(context: &Context, session: &str) -> Result<bool, Failure> {
    if !question::can_ask() || context.is_json {
        return Err(Failure::Plain(format!(
            "purge deletes the texts of session {session:?} permanently, and there is no terminal to ask at; add --yes"
        )));
    }
    let is_agreed =
        question::ask(&format!("Delete the texts of session {session:?} permanently?"), question::Default::No)?;
    if !is_agreed {
        text::note("Nothing has changed.");
    }
    Ok(is_agreed)
}
