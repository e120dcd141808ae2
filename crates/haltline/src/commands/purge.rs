//! `haltline purge`: the texts of a session are forgotten, everywhere; counts stay.

use std::process::ExitCode;

use haltline_engine::store::Store;
use serde::Serialize;

use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::{Proof, confirm};
use crate::view::SCHEMA;
use crate::workplace::Workplace;

#[derive(Serialize)]
struct PurgeView {
    schema: u32,
    session: String,
    facts: usize,
}

/// Forgets a session's texts.
pub fn run(workplace: &Workplace, session: &str) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    confirm("purge", None, Proof::Presence, engine.config())?;
    let facts = engine.store().purge(session)?;
    if facts == 0 {
        return Err(Failure::Plain(format!(
            "session {session:?} has no texts in the store; `haltline journal show --json` names the sessions"
        )));
    }
    engine.remake_mirror();
    let view = PurgeView { schema: SCHEMA, session: session.to_owned(), facts };
    workplace.answer(&view, |view| {
        let facts = text::count(view.facts as u64, "fact");
        format!("The texts of {facts} of session {} are gone; the counts stay.\n", view.session)
    })?;
    Ok(exit_code::FINE)
}
