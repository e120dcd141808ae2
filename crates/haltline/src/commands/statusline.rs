//! `haltline statusline`: one line for a client's status bar. It must never fail and never print nothing.

use std::io::{IsTerminal, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use haltline_core::loop_::{AgentState, AgentTree, CircuitState, Circuits, closest_to_trip, dollars};
use haltline_core::{CircuitName, Moment, State};
use haltline_engine::clock::Clock;
use haltline_engine::config::Config;
use haltline_engine::load_trust;
use haltline_engine::project::Project;
use haltline_engine::store::{Sqlite, SqliteOptions, Store};
use serde_json::Value;

use crate::cli::Statusline;
use crate::context::PROJECT_MARKERS;
use crate::environment;
use crate::exit_code;
use crate::view::session::agent_tree_row;

/// Timeout for the store; a status bar does not wait.
const STORE_TIMEOUT: Duration = Duration::from_millis(200);
/// Largest input that is read.
const STDIN_BYTES_MAX: u64 = 1024 * 1024;

/// Parses the arguments of a status bar. Unknown arguments are skipped, because a line must always be printed.
pub fn arguments(args: &[&str]) -> Statusline {
    let mut arguments = Statusline::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match *arg {
            "--segment" => arguments.is_segment = true,
            "--ascii" => arguments.is_ascii = true,
            "--state" => arguments.state_folder = args.next().map(PathBuf::from),
            "--config" => arguments.config = args.next().map(PathBuf::from),
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
    // If the client has closed the pipe, nobody needs the line.
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
    exit_code::SUCCESS
}

/// Formats the short part only, or the whole line.
fn shown(arguments: &Statusline, short: &str, rest: &str) -> String {
    let line = if arguments.is_segment { short.to_owned() } else { format!("haltline {short}{rest}") };
    if !arguments.is_ascii {
        return line;
    }
    line.replace('→', "-").chars().map(|letter| if letter.is_ascii() { letter } else { '?' }).collect()
}

/// Returns the line, or `None` if nothing can be read.
fn line(arguments: &Statusline, folder: Option<&Path>, clock: Clock) -> Option<String> {
    let status = status();
    let text = |path: &str| status.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let reported = text("/workspace/project_dir").or_else(|| text("/cwd")).map(PathBuf::from);
    let folder = folder.map(Path::to_owned).or(reported).unwrap_or_else(|| PathBuf::from("."));
    let project = Project::find(&folder, PROJECT_MARKERS).ok()?;
    let state_folder = arguments.state_folder.clone().or_else(|| environment::state_folder().ok())?;
    let user_file = arguments.config.clone().or_else(|| environment::user_config().ok())?;
    let options = SqliteOptions { timeout: STORE_TIMEOUT, bytes_max: u64::MAX, journal_days: u32::MAX, clock };
    let store = Sqlite::new(&state_folder, options);
    let cost = status.pointer("/cost/total_cost_usd").and_then(Value::as_f64);
    let cost = cost.filter(|cost| cost.is_finite() && *cost >= 0.0).map(|cost| format!("${cost:.2}"));
    let with_cost = |cost: Option<String>| cost.map(|cost| format!(" {cost}")).unwrap_or_default();
    let Some(session) = text("/session_id").or_else(environment::session) else {
        return Some(shown(arguments, "ok", &with_cost(cost)));
    };
    let row = CircuitName::agent(&session, None);
    let agent = store.circuit(project.key, &row).ok()?;
    let Some(agent) = agent.as_ref().and_then(State::as_agent) else {
        return Some(shown(arguments, "ok", &with_cost(cost)));
    };
    let tree = store.circuit(project.key, &agent_tree_row(&row, agent)).ok()?;
    let tree = tree.as_ref().and_then(State::as_tree);
    let now = clock.now();
    if let Some((short, rest)) = most_urgent_circuit(agent, tree, now) {
        return Some(shown(arguments, &short, &rest));
    }
    let config = Config::load(&user_file, Some(&project.root), || load_trust(&store, &state_folder, &project));
    let near = closest_to_trip(agent, tree, &config.policy().loop_, now);
    let short = near.map_or_else(|| "ok".to_owned(), |near| format!("ok {}/{}", near.count, near.limit));
    let spent = tree.map(|tree| tree.spent).filter(|spent| spent.is_priced).map(|spent| dollars(spent.micros));
    Some(shown(arguments, &short, &with_cost(cost.or(spent))))
}

/// Reads the client's status as JSON; `Null` when a person runs the command by hand.
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

/// Returns the text for the most urgent circuit: OPEN before HALF_OPEN, the longest cooldown first.
fn most_urgent_circuit(agent: &AgentState, tree: Option<&AgentTree>, now: Moment) -> Option<(String, String)> {
    let circuit_sets: Vec<&Circuits> =
        std::iter::once(&agent.circuits).chain(tree.map(|tree| &tree.circuits)).collect();
    let mut half_open = None;
    let mut open: Option<(u64, (String, String))> = None;
    for circuits in circuit_sets {
        for circuit in &circuits.tripped {
            let (trip, pattern) = (&circuit.trip, circuit.trip.pattern.as_str());
            match circuits.state_at(trip.key, now) {
                CircuitState::Open(_) => {
                    let until = trip.until().to_seconds_text();
                    let clock = until.split_once('T').map_or(until.as_str(), |(_, time)| time).trim_end_matches('Z');
                    let rest = format!(" until {clock} UTC → haltline why");
                    let left = trip.remaining_ms(now).unwrap_or_default();
                    if open.as_ref().is_none_or(|(longest, _)| left > *longest) {
                        open = Some((left, (format!("OPEN {pattern}"), rest)));
                    }
                }
                CircuitState::HalfOpen(..) | CircuitState::Probing(_) => {
                    half_open = Some((format!("probe {pattern}"), " → haltline why".to_owned()));
                }
                CircuitState::Closed => {}
            }
        }
    }
    open.map(|(_, line)| line).or(half_open)
}
