//! `haltline backtest`: replays recorded sessions through the same decisions as live ones (X3). It writes only a small
//! file with its trips, for `haltline why`.

mod files;
pub mod guarded;
mod policies;
mod progress;
mod source;
mod tally;
mod workers;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use haltline_agents::price::{PRICES_DATE, Price};
use haltline_agents::transcript::Format;
use haltline_agents::transcript::locations::locations;
use haltline_core::{Instant, Policy};
use haltline_engine::clock::Clock;
use haltline_engine::replay::{KeptTrip, ReplayedSession, TripsFile};

use crate::cli::{Backtest, Since, TranscriptFormat};
use crate::environment;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::hook::transcript::to_agents_price;
use crate::view::SCHEMA;
use crate::view::backtest::{CorpusView, ReportView, SessionView};
use files::Found;
use policies::BacktestPolicies;
use progress::Progress;
use source::Counts;
use tally::Tally;
use workers::{Replayer, WorkerMessage};

/// Replays recordings and prints the verdicts that haltline would have given.
pub fn run(command: &Backtest, folder: Option<&Path>, is_json: bool, clock: Clock) -> Result<ExitCode, Failure> {
    let configured = BacktestPolicies::load(command, folder, clock)?;
    let found = if command.paths.is_empty() { own_transcripts() } else { files::find(&command.paths) };
    let mut progress = Progress::new(&Arc::default(), 0, is_json);
    found.problems.iter().for_each(|problem| progress.warn(problem));
    if found.recordings.is_empty() && command.paths.is_empty() && found.problems.is_empty() {
        return print_nothing_found(is_json);
    }
    if found.recordings.is_empty() {
        return Err(Failure::Plain(nothing_to_read_message(&command.paths, &found)));
    }
    let since = command.since.map(|since| match since {
        Since::Ago(millis) => clock.now().at.plus_millis(millis.saturating_neg()),
        Since::At(at) => at,
    });
    let policies: Vec<Policy> = configured.policies.iter().map(|named| named.policy.clone()).collect();
    let prices: Vec<Price> = configured.prices.iter().map(to_agents_price).collect();
    let counts = Arc::new(Counts::default());
    let jobs = command.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1);
    let format = match command.format {
        TranscriptFormat::Auto => None,
        TranscriptFormat::As(format) => Some(format),
    };
    let replayer = Replayer { format, policies: &policies, prices: &prices, jobs, counts: Arc::clone(&counts) };
    // A comparison of two configurations is one report, not one line per session.
    let is_lines = is_json && policies.len() == 1 && !command.is_summary;
    progress = Progress::new(&counts.bytes, found.bytes, is_lines);
    let mut builder = ReportBuilder {
        since,
        is_lines,
        tallies: policies.iter().map(|_| Tally::default()).collect(),
        trips: TripsFile::default(),
        out: std::io::BufWriter::new(std::io::stdout().lock()),
        totals: CorpusTotals::default(),
    };
    let files: u64 = found.recordings.iter().map(|recording| recording.files.len() as u64).sum();
    let read = replayer.run(found.recordings, |message| {
        progress.redraw();
        match message {
            Some(WorkerMessage::Session { source, format, session }) => builder.add_session(&source, format, &session),
            Some(WorkerMessage::Problem(problem)) => {
                progress.warn(&problem);
                Ok(())
            }
            None => Ok(()),
        }
    });
    progress.clear();
    read?;
    builder.out.flush()?;
    let broken = counts.broken.load(Ordering::Relaxed) + found.problems.len() as u64;
    let ReportBuilder { tallies, trips, totals, .. } = builder;
    if let [only] = tallies.as_slice() {
        keep_trips(trips, only.trips_to_review().to_vec());
    }
    let sessions = totals.sessions;
    if sessions == 0 {
        let unknown = counts.unknown.load(Ordering::Relaxed);
        text::warn(&format!(
            "haltline found no session in {}: {unknown} in an unknown format, {broken} unreadable, {} too old",
            text::count(files, "file"),
            totals.before
        ));
    }
    let damaged = counts.damaged.load(Ordering::Relaxed);
    if is_json && damaged > 0 {
        text::warn(&format!("{} passed over", text::count(damaged, "damaged line")));
    }
    if !is_lines {
        let corpus = CorpusView {
            files,
            files_unknown: counts.unknown.load(Ordering::Relaxed),
            files_broken: broken,
            bytes: counts.bytes.load(Ordering::Relaxed),
            damaged,
            sessions,
            sessions_before: totals.before,
            sessions_untimed: totals.untimed,
            calls: totals.calls,
            prompts: totals.prompts,
            cost_micros: totals.micros,
            sessions_priced: totals.priced,
            prices: PRICES_DATE,
        };
        let verdicts =
            tallies.iter().zip(configured.policies).map(|(tally, named)| tally.view(named.name, &named.policy.loop_));
        let verdicts = verdicts.collect();
        print_report(&ReportView { schema: SCHEMA, corpus, verdicts }, is_json)?;
    }
    // Finding nothing in files that the user named is an error; that every session is too old is a valid result.
    let is_nothing = sessions == 0 && (broken > 0 || (!command.paths.is_empty() && totals.before == 0));
    Ok(if is_nothing { exit_code::ERROR } else { exit_code::SUCCESS })
}

/// Collects the results while sessions come in.
struct ReportBuilder<W> {
    since: Option<Instant>,
    is_lines: bool,
    tallies: Vec<Tally>,
    trips: TripsFile,
    out: W,
    totals: CorpusTotals,
}

/// Sums that do not depend on the policy.
#[derive(Default)]
struct CorpusTotals {
    sessions: u64,
    before: u64,
    untimed: u64,
    calls: u64,
    prompts: u64,
    micros: Option<u64>,
    priced: u64,
}

impl<W: Write> ReportBuilder<W> {
    fn add_session(&mut self, source: &str, format: Format, session: &ReplayedSession) -> Result<(), Failure> {
        // A session without timestamps cannot be shown to be too old.
        self.totals.untimed += u64::from(self.since.is_some() && session.ended.is_none());
        if self.since.is_some_and(|since| session.ended.is_some_and(|ended| ended < since)) {
            self.totals.before += 1;
            return Ok(());
        }
        self.totals.sessions += 1;
        self.totals.calls += session.calls;
        self.totals.prompts += session.prompts;
        if let Some(micros) = session.micros {
            self.totals.priced += 1;
            self.totals.micros = Some(self.totals.micros.unwrap_or_default().saturating_add(micros));
        }
        for (policy_index, tally) in self.tallies.iter_mut().enumerate() {
            tally.add(source, format.as_str(), session, policy_index);
        }
        let [result] = session.verdicts.as_slice() else { return Ok(()) };
        for trip in &result.trips {
            self.trips.keep(KeptTrip::new(source, format.as_str(), session, trip));
        }
        if self.is_lines {
            let view = SessionView::new(source, format.as_str(), session, result);
            serde_json::to_writer(&mut self.out, &view).map_err(std::io::Error::from)?;
            writeln!(self.out)?;
        }
        Ok(())
    }
}

/// Finds the user's own transcripts of every known client.
fn own_transcripts() -> Found {
    let home = environment::variable("HOME").map(PathBuf::from);
    let locations = home.map(|home| locations(&home, |name| std::env::var_os(name)));
    files::find_own(&locations.unwrap_or_default())
}

/// Says that no known client has transcripts here, which is no error.
fn print_nothing_found(is_json: bool) -> Result<ExitCode, Failure> {
    let mut out = std::io::stdout().lock();
    if is_json {
        let view = serde_json::json!({ "schema": SCHEMA, "found": false, "message": NOTHING_FOUND });
        writeln!(out, "{view}")?;
    } else {
        writeln!(out, "{NOTHING_FOUND}")?;
    }
    Ok(exit_code::SUCCESS)
}

const NOTHING_FOUND: &str =
    "haltline found no transcripts of a known client here. Name files or folders: haltline backtest PATH";

fn nothing_to_read_message(paths: &[PathBuf], found: &Found) -> String {
    match (paths, found.problems.is_empty()) {
        (_, false) => "haltline could read nothing".to_owned(),
        (paths, true) => {
            let names: Vec<String> =
                paths.iter().map(|path| text::escape_line(&path.display().to_string()).into_owned()).collect();
            format!("{}: this folder has no files", names.join(", "))
        }
    }
}

/// Writes the trips for `haltline why`. A failure is only a warning, because the report does not need them.
fn keep_trips(trips: TripsFile, first: Vec<KeptTrip>) {
    let kept = environment::state_folder().map(|folder| trips.write(&folder, first).map_err(|error| (folder, error)));
    match kept {
        Ok(Ok(())) => {}
        Ok(Err((folder, error))) => {
            text::warn(&format!("{}: {error}; `haltline why` will not know these trips", folder.display()));
        }
        Err(failure) => text::warn(&failure.to_string()),
    }
}

fn print_report(view: &ReportView, is_json: bool) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if is_json {
        serde_json::to_writer_pretty(&mut out, view).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        out.write_all(text::for_terminal(&text::backtest(view)).as_bytes())?;
    }
    Ok(out.flush()?)
}
