//! `haltline purge`: deletes the texts of a session everywhere and keeps the counts.

use std::process::ExitCode;

use haltline_engine::store::Store;
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::{Proof, confirm};
use crate::view::SCHEMA;

#[derive(Serialize)]
struct PurgeView {
    schema: u32,
    session: String,
    facts: usize,
}

pub fn run(context: &Context, session: &str) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    confirm("purge", None, Proof::Presence, engine.config())?;
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
        format!("The texts of {facts} of session {} are gone; the counts stay.\n", view.session)
    })?;
    Ok(exit_code::SUCCESS)
}
