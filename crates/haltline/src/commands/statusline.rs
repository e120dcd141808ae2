//! `haltline statusline`: one line for a client's status bar. It must never fail and never print nothing.

use std::io::{IsTerminal, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use haltline_core::control::Pause;
use haltline_core::loop_::{closest_to_trip, dollars};
use haltline_core::{CircuitName, Instant, Mode, Moment, State};
use haltline_engine::clock::Clock;
use haltline_engine::config::Config;
use haltline_engine::control::pauses;
use haltline_engine::control::rows_with_providers;
use haltline_engine::project::Project;
use haltline_engine::store::{Sqlite, SqliteOptions};
use haltline_engine::{Overview, UnclosedCircuit, agent_tree_row, load_trust, settled_project};
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::ancestry;
use crate::cli::Statusline;
use crate::context::PROJECT_MARKERS;
use crate::environment;
use crate::exit_code;
use crate::front::text;
use crate::local_time;
use crate::view::SCHEMA;
use crate::view::backtest::usd;
use crate::view::overview::UnclosedView;
use crate::view::statusline::{NearView, OpenCountsView, StatuslineView, pattern_words};

/// Timeout for the store; a status bar does not wait.
const STORE_TIMEOUT: Duration = Duration::from_millis(200);
/// Largest input that is read.
const STDIN_BYTES_MAX: u64 = 1024 * 1024;
/// A cause is cut to this many characters: a status bar is narrow.
const CAUSE_MAX: usize = 72;

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
            "--json" => arguments.is_json = true,
            "-C" | "--directory" => arguments.folder = args.next().map(PathBuf::from),
            _client_or_unknown => {}
        }
    }
    arguments
}

/// Prints the line, or the same as one JSON object.
pub fn run(arguments: &Statusline, clock: Clock) -> ExitCode {
    let view = catch_unwind(AssertUnwindSafe(|| view(arguments, clock)));
    let view = view.ok().flatten().unwrap_or_else(unknown);
    let line = match serde_json::to_string(&view) {
        Ok(json) if arguments.is_json => json,
        Ok(_) | Err(_) => shown(arguments, if arguments.is_segment { &view.segment } else { &view.text }),
    };
    let mut out = std::io::stdout().lock();
    // If the client has closed the pipe, nobody needs the line.
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
    exit_code::SUCCESS
}

/// The view where nothing can be read.
fn unknown() -> StatuslineView {
    StatuslineView {
        schema: SCHEMA,
        state: "UNKNOWN",
        segment: "?".to_owned(),
        text: "haltline ?".to_owned(),
        counts: None,
        circuits: Vec::new(),
        near: None,
        cost_usd: None,
    }
}

/// Makes a line safe for a status bar.
fn shown(arguments: &Statusline, line: &str) -> String {
    let line = text::escape_line(line);
    if !arguments.is_ascii {
        return line.into_owned();
    }
    let plain = line.replace('→', "-").replace('…', "...");
    plain.chars().map(|letter| if letter.is_ascii() { letter } else { '?' }).collect()
}

/// Returns the view, or `None` if nothing can be read.
fn view(arguments: &Statusline, clock: Clock) -> Option<StatuslineView> {
    let status = status();
    let text = |path: &str| status.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let reported = text("/workspace/project_dir").or_else(|| text("/cwd")).map(PathBuf::from);
    let folder = arguments.folder.clone().or(reported).unwrap_or_else(|| PathBuf::from("."));
    let project = Project::find(&folder, PROJECT_MARKERS).ok()?;
    let state_folder = arguments.state_folder.clone().or_else(|| environment::own_paths().state_folder().ok())?;
    let project = settled_project(&state_folder, project);
    let user_file = arguments.config.clone().or_else(|| environment::own_paths().user_config().ok())?;
    let options = SqliteOptions { timeout: STORE_TIMEOUT, bytes_max: u64::MAX, journal_days: u32::MAX, clock };
    let store = Sqlite::new(&state_folder, options);
    let reported_cost = status.pointer("/cost/total_cost_usd").and_then(Value::as_f64);
    let reported_cost = reported_cost.filter(|cost| cost.is_finite() && *cost >= 0.0);
    let now = clock.now();
    let rows = rows_with_providers(&store, &state_folder, project.key).ok()?;
    let overview = Overview::from_rows(&store, project.key, &rows, now, None).ok()?;
    let session = text("/session_id").or_else(environment::session);
    let agent_row = session.as_deref().map(|session| CircuitName::agent(session, None));
    let find = |name: &CircuitName| rows.iter().find(|(row, _)| row == name).map(|(_, state)| state);
    let agent = agent_row.as_ref().and_then(|row| Some((row, find(row)?.as_agent()?)));
    let tree = agent.and_then(|(row, agent)| find(&agent_tree_row(row, agent))).and_then(State::as_tree);
    let spent = tree.map(|tree| tree.spent).filter(|spent| spent.is_priced);
    let mut view = StatuslineView {
        state: if overview.counts.open > 0 {
            "OPEN"
        } else if overview.counts.half_open > 0 {
            "HALF_OPEN"
        } else {
            "CLOSED"
        },
        counts: Some(OpenCountsView::new(overview.counts)),
        cost_usd: reported_cost.or(spent.map(|spent| usd(spent.micros))),
        ..unknown()
    };
    let unclosed = most_urgent_first(&overview, session.as_deref());
    view.circuits = unclosed.iter().map(|circuit| UnclosedView::new(circuit)).collect();
    if let Some(suspended) = suspension(&store, &state_folder, &project, session.as_deref(), now) {
        view.text = format!("haltline {suspended}");
        view.segment = suspended;
        return Some(view);
    }
    let config = Config::load(&user_file, Some(&project.root), || load_trust(&store, &state_folder, &project));
    let is_observing = config.policy().mode == Mode::Observe;
    if let (Some(first), Some(shown)) = (unclosed.first(), view.circuits.first()) {
        let (segment, rest) = halted(first, shown, unclosed.len() - 1, now, is_observing);
        view.text = format!("haltline {segment}{rest}");
        view.segment = segment;
        return Some(view);
    }
    view.segment = if is_observing { "observing" } else { "ok" }.to_owned();
    if let Some((_, agent)) = agent
        && let Some(near) = closest_to_trip(agent, tree, &config.policy().loop_, now)
    {
        view.segment = format!("{}/{} {}", near.count, near.limit, pattern_words(near.pattern));
        view.near = Some(NearView::new(&near));
    }
    let cost = reported_cost.map(|cost| format!("${cost:.2}")).or(spent.map(|spent| dollars(spent.micros)));
    view.text = format!("haltline {}{}", view.segment, cost.map(|cost| format!(" {cost}")).unwrap_or_default());
    Some(view)
}

/// The circuits that are not CLOSED: OPEN before HALF_OPEN, those of this session first, the longest cooldown first.
fn most_urgent_first<'a>(overview: &'a Overview, session: Option<&str>) -> Vec<&'a UnclosedCircuit> {
    let is_own = |circuit: &UnclosedCircuit| {
        let row = &circuit.incident.row;
        session.is_some_and(|session| row.belongs_to_session(session) || *row == CircuitName::tree(session))
    };
    let mut unclosed: Vec<&UnclosedCircuit> = overview.unclosed.iter().collect();
    unclosed.sort_by_key(|circuit| {
        (!circuit.is_open(), !is_own(circuit), std::cmp::Reverse(circuit.remaining_ms.unwrap_or(u64::MAX)))
    });
    unclosed
}

/// What is halted in words, and the rest of the line: until when, how many more, and what to type.
fn halted(
    circuit: &UnclosedCircuit,
    shown: &UnclosedView,
    more: usize,
    now: Moment,
    is_observing: bool,
) -> (String, String) {
    let verb = match (circuit.is_open(), is_observing) {
        (true, false) => "stopped",
        (true, true) => "would stop",
        (false, _) => "half-open",
    };
    let cause = shown.subject().replace('`', "");
    let cause = match cause.char_indices().nth(CAUSE_MAX) {
        Some((end, _)) => format!("{}…", &cause[..end]),
        None => cause,
    };
    let is_waiting = circuit.is_open() && circuit.remaining_ms.is_some();
    let local = |until: Instant| format!(", until {}", text::local(until, now.at, &TimeZone::system()));
    let until = circuit.incident.until.filter(|_| is_waiting).map(local).unwrap_or_default();
    let more = if more > 0 { format!(", {more} more") } else { String::new() };
    (format!("{verb}: {cause}{more}"), format!("{until} → haltline status"))
}

/// Says that haltline does not watch: `off` in a client that a person started with `HALTLINE=off`, or until when it is
/// paused.
fn suspension(
    store: &Sqlite,
    state_folder: &Path,
    project: &Project,
    session: Option<&str>,
    now: Moment,
) -> Option<String> {
    if ancestry::is_client_switched_off(state_folder) {
        return Some("off".to_owned());
    }
    let pauses = pauses(store, state_folder, project.key, now).ok()?;
    let covers = |pause: &Pause| pause.session.is_none() || session.is_some_and(|session| pause.covers(session));
    let found = pauses.into_iter().find(|found| covers(&found.pause))?;
    Some(format!("paused until {}", local_time::clock_time(found.pause.until(), now.at)))
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
