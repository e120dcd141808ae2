//! `haltline backtest`: recorded sessions through the same decisions as live ones (X3). It writes nothing but a small
//! file with its trips, for `haltline why`.

mod files;
mod judges;
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
use haltline_agents::transcript::places::places;
use haltline_core::{Instant, Policy};
use haltline_engine::clock::Clock;
use haltline_engine::replay::{KeptTrip, ReplayedSession, TripsFile};

use crate::cli::{Backtest, Since, Written};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::hook::transcript::priced;
use crate::surroundings;
use crate::view::SCHEMA;
use crate::view::backtest::{CorpusView, ReportView, SessionView};
use files::Found;
use judges::Judges;
use progress::Progress;
use source::Counts;
use tally::Tally;
use workers::{Reading, Told};

/// Replays recordings and tells what would have been said.
pub fn run(command: &Backtest, folder: Option<&Path>, is_json: bool, clock: Clock) -> Result<ExitCode, Failure> {
    let judges = Judges::load(command, folder, clock)?;
    let found = if command.paths.is_empty() { own_transcripts() } else { files::find(&command.paths) };
    let mut progress = Progress::new(&Arc::default(), 0, is_json);
    found.problems.iter().for_each(|problem| progress.warn(problem));
    if found.recordings.is_empty() {
        return Err(Failure::Plain(nothing(&command.paths, &found)));
    }
    let since = command.since.map(|since| match since {
        Since::Ago(millis) => clock.now().at.plus_millis(millis.saturating_neg()),
        Since::At(at) => at,
    });
    let policies: Vec<Policy> = judges.judges.iter().map(|judge| judge.policy.clone()).collect();
    let prices: Vec<Price> = judges.prices.iter().map(priced).collect();
    let counts = Arc::new(Counts::default());
    let jobs = command.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1);
    let format = match command.format {
        Written::Auto => None,
        Written::As(format) => Some(format),
    };
    let reading = Reading { format, policies: &policies, prices: &prices, jobs, counts: Arc::clone(&counts) };
    // Two configurations side by side are one report, not lines of sessions.
    let is_lines = is_json && policies.len() == 1;
    progress = Progress::new(&counts.bytes, found.bytes, is_lines);
    let mut gathering = Gathering {
        since,
        is_lines,
        tallies: policies.iter().map(|_| Tally::default()).collect(),
        trips: TripsFile::default(),
        out: std::io::BufWriter::new(std::io::stdout().lock()),
        seen: Seen::default(),
    };
    let files: u64 = found.recordings.iter().map(|recording| recording.files.len() as u64).sum();
    let read = reading.run(found.recordings, |told| {
        progress.look();
        match told {
            Some(Told::Session { source, format, session }) => gathering.take(&source, format, &session),
            Some(Told::Problem(problem)) => {
                progress.warn(&problem);
                Ok(())
            }
            None => Ok(()),
        }
    });
    progress.clear();
    read?;
    gathering.out.flush()?;
    let broken = counts.broken.load(Ordering::Relaxed) + found.problems.len() as u64;
    let Gathering { tallies, trips, seen, .. } = gathering;
    if let [only] = tallies.as_slice() {
        keep(trips, only.look().to_vec());
    }
    let sessions = seen.sessions;
    if sessions == 0 {
        let unknown = counts.unknown.load(Ordering::Relaxed);
        text::warn(&format!(
            "no session was found in {}: {unknown} in no known format, {broken} not readable, {} too old",
            text::count(files, "file"),
            seen.before
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
            sessions_before: seen.before,
            sessions_untimed: seen.untimed,
            calls: seen.calls,
            prompts: seen.prompts,
            cost_micros: seen.micros,
            sessions_priced: seen.priced,
            prices: PRICES_DATE,
        };
        let verdicts = tallies.iter().zip(judges.judges).map(|(tally, judge)| tally.view(judge.name)).collect();
        answer(&ReportView { schema: SCHEMA, corpus, verdicts }, is_json)?;
    }
    // Whoever names files wants something of them; that all of it is too old is an answer.
    let is_nothing = sessions == 0 && (broken > 0 || (!command.paths.is_empty() && seen.before == 0));
    Ok(if is_nothing { exit_code::ERROR } else { exit_code::FINE })
}

/// What is summed up while sessions come in.
struct Gathering<W> {
    since: Option<Instant>,
    is_lines: bool,
    tallies: Vec<Tally>,
    trips: TripsFile,
    out: W,
    seen: Seen,
}

/// Sums that do not depend on who judges.
#[derive(Default)]
struct Seen {
    sessions: u64,
    before: u64,
    untimed: u64,
    calls: u64,
    prompts: u64,
    micros: Option<u64>,
    priced: u64,
}

impl<W: Write> Gathering<W> {
    fn take(&mut self, source: &str, format: Format, session: &ReplayedSession) -> Result<(), Failure> {
        // A session that tells no time cannot be shown to be too old.
        self.seen.untimed += u64::from(self.since.is_some() && session.ended.is_none());
        if self.since.is_some_and(|since| session.ended.is_some_and(|ended| ended < since)) {
            self.seen.before += 1;
            return Ok(());
        }
        self.seen.sessions += 1;
        self.seen.calls += session.calls;
        self.seen.prompts += session.prompts;
        if let Some(micros) = session.micros {
            self.seen.priced += 1;
            self.seen.micros = Some(self.seen.micros.unwrap_or_default().saturating_add(micros));
        }
        for (which, tally) in self.tallies.iter_mut().enumerate() {
            tally.add(source, format.word(), session, which);
        }
        let [judged] = session.judged.as_slice() else { return Ok(()) };
        for trip in &judged.trips {
            self.trips.keep(KeptTrip::new(source, format.word(), session, trip));
        }
        if self.is_lines {
            let view = SessionView::new(source, format.word(), session, judged);
            serde_json::to_writer(&mut self.out, &view).map_err(std::io::Error::from)?;
            writeln!(self.out)?;
        }
        Ok(())
    }
}

/// The user's own transcripts of every known client.
fn own_transcripts() -> Found {
    let home = surroundings::variable("HOME").map(PathBuf::from);
    let places = home.map(|home| places(&home, |name| std::env::var_os(name)));
    files::find_own(&places.unwrap_or_default())
}

fn nothing(paths: &[PathBuf], found: &Found) -> String {
    match (paths, found.problems.is_empty()) {
        ([], _) => "no transcripts of a known client were found here; name files or folders to read".to_owned(),
        (_, false) => "nothing could be read".to_owned(),
        (paths, true) => {
            let names: Vec<String> = paths.iter().map(|path| text::shown(&path.display().to_string())).collect();
            format!("{}: there is no file in it", names.join(", "))
        }
    }
}

/// Leaves the trips for `haltline why`. Without them the report is as good.
fn keep(trips: TripsFile, first: Vec<KeptTrip>) {
    let kept = surroundings::state_folder().map(|folder| trips.write(&folder, first).map_err(|error| (folder, error)));
    match kept {
        Ok(Ok(())) => {}
        Ok(Err((folder, error))) => {
            text::warn(&format!("{}: {error}; `haltline why` will not know these trips", folder.display()));
        }
        Err(failure) => text::warn(&failure.to_string()),
    }
}

fn answer(view: &ReportView, is_json: bool) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if is_json {
        serde_json::to_writer_pretty(&mut out, view).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        out.write_all(text::backtest(view).as_bytes())?;
    }
    Ok(out.flush()?)
}
