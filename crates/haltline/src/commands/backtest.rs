//! `haltline backtest`: recorded sessions through the same decisions as live ones (X3). It writes nothing but a small
//! file with its trips, for `haltline why`.

mod files;
mod source;
mod workers;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use haltline_core::Policy;
use haltline_engine::clock::Clock;
use haltline_engine::config::Config;
use haltline_engine::project::Project;

use crate::cli::{Backtest, Since, Written};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::surroundings;
use crate::view::backtest::SessionView;
use crate::workplace::PROJECT_MARKS;
use source::Counts;
use workers::{Reading, Told};

/// Replays recordings and tells what would have been said.
pub fn run(command: &Backtest, folder: Option<&Path>, is_json: bool, clock: Clock) -> Result<ExitCode, Failure> {
    let since = command.since.map(|since| match since {
        Since::Ago(millis) => clock.now().at.plus_millis(millis.saturating_neg()),
        Since::At(at) => at,
    });
    let policies = vec![policy(command, folder)?];
    let found = files::find(&command.paths);
    for problem in &found.problems {
        text::warn(problem);
    }
    let jobs = command.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let counts = Arc::new(Counts::default());
    let format = match command.format {
        Written::Auto => None,
        Written::As(format) => Some(format),
    };
    let reading = Reading { format, policies: &policies, jobs: jobs.max(1), counts: Arc::clone(&counts) };
    let mut sessions: u64 = 0;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let tell = |told| {
        let (source, format, session) = match told {
            Told::Session { source, format, session } => (source, format, session),
            Told::Problem(problem) => {
                text::warn(&problem);
                return Ok(());
            }
        };
        if since.is_some_and(|since| session.ended.is_none_or(|ended| ended < since)) {
            return Ok(());
        }
        sessions += 1;
        if is_json && let Some(judged) = session.judged.first() {
            let view = SessionView::new(&source, format.word(), &session, judged);
            serde_json::to_writer(&mut out, &view).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        Ok(())
    };
    reading.run(found.recordings, tell, || {})?;
    out.flush()?;
    let broken = counts.broken.load(Ordering::Relaxed) + found.problems.len() as u64;
    Ok(if sessions == 0 && broken > 0 { exit_code::ERROR } else { exit_code::FINE })
}

fn policy(command: &Backtest, folder: Option<&Path>) -> Result<Policy, Failure> {
    let config = match &command.config {
        Some(file) => config_file(file)?,
        None => {
            let folder = folder.unwrap_or(Path::new("."));
            let root = Project::around(folder, PROJECT_MARKS).ok().map(|project| project.root);
            Config::load(&surroundings::user_config()?, root.as_deref(), || None)
        }
    };
    let mut policy = config.policy().clone();
    if let Some(preset) = command.preset {
        policy.loop_.preset = preset;
    }
    Ok(policy)
}

fn config_file(file: &Path) -> Result<Config, Failure> {
    if !file.exists() {
        return Err(Failure::Plain(format!("config {}: there is no such file", file.display())));
    }
    let config = Config::load(file, None, || None);
    match config.errors.first() {
        Some(error) => Err(Failure::Plain(error.to_string())),
        None => Ok(config),
    }
}
