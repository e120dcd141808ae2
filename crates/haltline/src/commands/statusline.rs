//! `haltline statusline`: one line for a client's status bar. It never fails and never says nothing.

use std::io::{IsTerminal, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use haltline_core::loop_::{Board, Lane, Standing, Tree, dollars, nearest};
use haltline_core::{CircuitName, Moment, State};
use haltline_engine::clock::Clock;
use haltline_engine::config::Config;
use haltline_engine::project::Project;
use haltline_engine::store::{Sqlite, SqliteOptions, Store};
use haltline_engine::trust_of;
use serde_json::Value;

use crate::cli::Statusline;
use crate::exit_code;
use crate::surroundings;
use crate::view::session::tree_of;
use crate::workplace::PROJECT_MARKS;

/// A status bar does not wait.
const PATIENCE: Duration = Duration::from_millis(200);
/// No client says more.
const STDIN_BYTES_MAX: u64 = 1024 * 1024;

/// The command line of a status bar: what is unknown is passed over, because a line must come.
pub fn arguments(words: &[&str]) -> Statusline {
    let mut arguments = Statusline::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--segment" => arguments.is_segment = true,
            "--ascii" => arguments.is_ascii = true,
            "--state" => arguments.state_folder = words.next().map(PathBuf::from),
            "--config" => arguments.config = words.next().map(PathBuf::from),
            _client_or_unknown => {}
        }
    }
    arguments
}

/// Prints the line.
pub fn run(arguments: &Statusline, folder: Option<&Path>, clock: Clock) -> ExitCode {
    let line = catch_unwind(AssertUnwindSafe(|| line(arguments, folder, clock)));
    let line = line.ok().flatten().unwrap_or_else(|| shown(arguments, "?", ""));
    let mut out = std::io::stdout().lock();
    // A client that no longer listens needs no line.
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
    exit_code::FINE
}

/// The short part, or all of it.
fn shown(arguments: &Statusline, short: &str, rest: &str) -> String {
    let line = if arguments.is_segment { short.to_owned() } else { format!("haltline {short}{rest}") };
    if !arguments.is_ascii {
        return line;
    }
    line.replace('→', "-").chars().map(|letter| if letter.is_ascii() { letter } else { '?' }).collect()
}

/// The line; `None` where nothing can be known.
fn line(arguments: &Statusline, folder: Option<&Path>, clock: Clock) -> Option<String> {
    let status = status();
    let text = |path: &str| status.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let told = text("/workspace/project_dir").or_else(|| text("/cwd")).map(PathBuf::from);
    let folder = folder.map(Path::to_owned).or(told).unwrap_or_else(|| PathBuf::from("."));
    let project = Project::around(&folder, PROJECT_MARKS).ok()?;
    let state_folder = arguments.state_folder.clone().or_else(|| surroundings::state_folder().ok())?;
    let user_file = arguments.config.clone().or_else(|| surroundings::user_config().ok())?;
    let options = SqliteOptions { patience: PATIENCE, bytes_max: u64::MAX, journal_days: u32::MAX, clock };
    let store = Sqlite::new(&state_folder, options);
    let cost = status.pointer("/cost/total_cost_usd").and_then(Value::as_f64);
    let cost = cost.filter(|cost| cost.is_finite() && *cost >= 0.0).map(|cost| format!("${cost:.2}"));
    let with_cost = |cost: Option<String>| cost.map(|cost| format!(" {cost}")).unwrap_or_default();
    let Some(session) = text("/session_id").or_else(surroundings::session) else {
        return Some(shown(arguments, "ok", &with_cost(cost)));
    };
    let row = CircuitName::lane(&session, None);
    let lane = store.circuit(project.key, &row).ok()?;
    let Some(lane) = lane.as_ref().and_then(State::as_lane) else {
        return Some(shown(arguments, "ok", &with_cost(cost)));
    };
    let tree = store.circuit(project.key, &tree_of(&row, lane)).ok()?;
    let tree = tree.as_ref().and_then(State::as_tree);
    let now = clock.now();
    if let Some((short, rest)) = held(lane, tree, now) {
        return Some(shown(arguments, &short, &rest));
    }
    let config = Config::load(&user_file, Some(&project.root), || trust_of(&store, &state_folder, &project));
    let near = nearest(lane, tree, &config.policy().loop_, now);
    let short = near.map_or_else(|| "ok".to_owned(), |near| format!("ok {}/{}", near.count, near.limit));
    let spent = tree.map(|tree| tree.spent).filter(|spent| spent.is_priced).map(|spent| dollars(spent.micros));
    Some(shown(arguments, &short, &with_cost(cost.or(spent))))
}

/// What the client says; nothing where a person runs this by hand.
fn status() -> Value {
    let input = std::io::stdin();
    if input.is_terminal() {
        return Value::Null;
    }
    let mut text = Vec::new();
    match input.lock().take(STDIN_BYTES_MAX).read_to_end(&mut text) {
        Ok(_read) => serde_json::from_slice(&text).unwrap_or_default(),
        Err(_closed) => Value::Null,
    }
}

/// The circuit that matters most: open before on trial, the longest wait first.
fn held(lane: &Lane, tree: Option<&Tree>, now: Moment) -> Option<(String, String)> {
    let boards: Vec<&Board> = std::iter::once(&lane.board).chain(tree.map(|tree| &tree.board)).collect();
    let mut trial = None;
    let mut open: Option<(u64, (String, String))> = None;
    for board in boards {
        for circuit in &board.held {
            let (trip, word) = (&circuit.trip, circuit.trip.pattern.word());
            match board.standing(trip.key, now) {
                Standing::Open(_) => {
                    let until = trip.until().to_seconds_text();
                    let clock = until.split_once('T').map_or(until.as_str(), |(_, time)| time).trim_end_matches('Z');
                    let rest = format!(" until {clock} UTC → haltline why");
                    let left = trip.remaining_ms(now).unwrap_or_default();
                    if open.as_ref().is_none_or(|(longest, _)| left > *longest) {
                        open = Some((left, (format!("OPEN {word}"), rest)));
                    }
                }
                Standing::Trial(..) | Standing::Probing(_) => {
                    trial = Some((format!("probe {word}"), " → haltline why".to_owned()));
                }
                Standing::Closed => {}
            }
        }
    }
    open.map(|(_, line)| line).or(trial)
}
