//! `haltline journal`.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use haltline_core::CircuitName;
use haltline_core::loop_::Pattern;
use haltline_engine::control::everywhere;
use haltline_engine::journal::verify;
use haltline_engine::store::Store;

use crate::cli::Journal;
use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::SCHEMA;
use crate::view::journal::{FactView, ProjectView, ShowView, VerifyView};

/// How many facts are read at once.
const FACTS_AT_ONCE: usize = 4096;

pub fn run(context: &Context, command: &Journal) -> Result<ExitCode, Failure> {
    match command {
        Journal::Show { circuit, limit, is_everywhere } => show(context, circuit.as_deref(), *limit, *is_everywhere),
        Journal::Verify { is_all } => check(context, *is_all),
        Journal::Export => export(context),
    }
}

fn show(context: &Context, circuit: Option<&str>, limit: u32, is_everywhere: bool) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let everywhere = everywhere(engine.state_folder());
    let (store, project) = (engine.store(), if is_everywhere { &everywhere } else { engine.project() });
    let limit = limit as usize;
    let mut entries = match circuit {
        Some(name) => {
            let mut entries = Vec::new();
            for row in rows_of(name) {
                entries.extend(store.history(project.key, &row, limit)?);
            }
            entries.sort_by_key(|entry| std::cmp::Reverse(entry.seq));
            entries
        }
        None => {
            let after = store.head(project.key)?.seq.saturating_sub(limit as u64);
            let mut entries = store.journal(project.key, after, limit)?;
            entries.reverse();
            entries
        }
    };
    if let (Some(name), true) = (circuit, entries.is_empty()) {
        return Err(Failure::Plain(format!(
            "circuit {name:?} has no facts here; expected a name such as constraint/ID or loop/SESSION"
        )));
    }
    entries.truncate(limit);
    let view = ShowView {
        schema: SCHEMA,
        project: project.identity.display().to_string(),
        facts: entries.iter().map(FactView::new).collect(),
    };
    context.print(&view, text::show)
}

/// The rows that hold the facts of a circuit. `why` names a loop circuit with its pattern, `loop/SESSION/PATTERN`; its
/// facts are in the row of the agent, or in that of the session's tree.
fn rows_of(name: &str) -> Vec<CircuitName> {
    let mut rows = vec![name.to_owned()];
    if let Some((row, pattern)) = name.rsplit_once('/')
        && let Some(agent) = row.strip_prefix("loop/")
        && serde_json::from_value::<Pattern>(pattern.into()).is_ok()
    {
        let session = agent.split('/').next().unwrap_or(agent);
        rows = vec![row.to_owned(), format!("tree/{session}")];
    }
    rows.into_iter().map(CircuitName::from_stored).collect()
}

fn check(context: &Context, is_all: bool) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let store = engine.store();
    let mut projects = Vec::new();
    for known in store.projects()? {
        if is_all || known.key == engine.project().key {
            let found = verify(store, known.key)?;
            projects.push(ProjectView::new(known.identity.display().to_string(), found));
        }
    }
    let view = VerifyView::new(projects);
    context.print(&view, text::verify)?;
    Ok(if view.is_clean { exit_code::SUCCESS } else { exit_code::ERROR })
}

fn export(context: &Context) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut after = 0;
    loop {
        let entries = engine.store().journal(engine.project().key, after, FACTS_AT_ONCE)?;
        let Some(last) = entries.last() else { break };
        after = last.seq;
        for entry in &entries {
            serde_json::to_writer(&mut out, &FactView::new(entry)).map_err(std::io::Error::from)?;
            out.write_all(b"\n")?;
        }
    }
    out.flush()?;
    Ok(exit_code::SUCCESS)
}
