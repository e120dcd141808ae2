//! Fills a store through the engine, in one process: bench-fill STATE CONFIG PROJECT SESSION CALLS SESSIONS.
//!
//! SESSION gets CALLS calls, then SESSIONS others get three each. The measured session must be CLOSED, so any verdict
//! other than pass makes this program fail.

#[path = "bench-latency/payload.rs"]
mod payload;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

use haltline_agents::claude;
use haltline_core::Verdict;
use haltline_engine::clock::Clock;
use haltline_engine::config::{Config, PROJECT_FILE};
use haltline_engine::project::Project;
use haltline_engine::store::{Sqlite, SqliteOptions};
use haltline_engine::{CallSite, Engine, OwnFiles};
use payload::{Event, payload};

/// Calls of each of the other sessions.
const CALLS_OF_OTHERS: usize = 3;
/// If this folder exists, the store is filled there and then copied, because nothing is synced in memory.
const MEMORY: &str = "/dev/shm";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [state, config, project, session, calls, sessions] = arguments.as_slice() else {
        return Err("usage: bench-fill STATE CONFIG PROJECT SESSION CALLS SESSIONS".into());
    };
    let memory = Path::new(MEMORY).join(format!("haltline-fill-{}", std::process::id()));
    let folder = if Path::new(MEMORY).is_dir() { memory.as_path() } else { Path::new(state) };
    let engine = open(folder, Path::new(config), Path::new(project))?;
    fill(&engine, session, calls.parse()?)?;
    for other in 0..sessions.parse()? {
        fill(&engine, &format!("other-{other}"), CALLS_OF_OTHERS)?;
    }
    drop(engine);
    if folder == memory {
        fs::create_dir_all(state)?;
        for file in fs::read_dir(folder)?.flatten().filter(|file| file.path().is_file()) {
            fs::copy(file.path(), Path::new(state).join(file.file_name()))?;
        }
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

fn open(state: &Path, config: &Path, project: &Path) -> Result<Engine<Sqlite>, Box<dyn Error>> {
    let clock = Clock::System;
    let project = Project::find(project, &[PROJECT_FILE, "docs/constraints", ".claude"])?;
    let own_files = OwnFiles { state_folder: state.to_owned(), user_config: config.to_owned() };
    let config = Config::load(config, Some(&project.root), || None);
    let options = SqliteOptions {
        timeout: Duration::from_secs(5),
        bytes_max: config.state_bytes_max(),
        journal_days: config.journal_days(),
        clock,
    };
    Ok(Engine::new(Sqlite::new(state, options), project, config, clock, own_files))
}

fn fill(engine: &Engine<Sqlite>, session: &str, calls: usize) -> Result<(), Box<dyn Error>> {
    for number in 0..calls {
        for event in [Event::Pre, Event::Post] {
            let mut parsed = claude::read(payload(event, session, number).as_bytes())?;
            let loop_event = parsed.loop_event.take().ok_or("a call is an event")?;
            let site = CallSite { working_directory: &engine.project().root, client_folder: None, home: None };
            let answer = engine.handle_agent_event(&parsed.hook.agent, loop_event, site)?;
            if answer.verdict != Verdict::Pass {
                return Err(format!("call {number} of {session}: {:?}", answer.verdict).into());
            }
        }
    }
    Ok(())
}
