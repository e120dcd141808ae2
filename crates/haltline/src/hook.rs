//! `haltline hook CLIENT`: one event of a client in, an answer or silence out (X1, E7).
//!
//! It runs on every tool call, so it does nothing else: arguments by hand, one decision, one transaction. It always ends
//! with 0, whatever happens: clients take other codes for a refusal. A pass is silence, never "allow".

mod stop;
mod stream;
mod told;
pub mod transcript;
pub mod watch;

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use haltline_agents::Client;
use haltline_agents::hook::{Asked, HookEvent, Reading};
use haltline_core::loop_::{Happening, Stream};
use haltline_core::{CircuitName, Decision, Effect, Reason, Retry, Verdict, digest_hex};
use haltline_engine::clock::Clock;
use haltline_engine::config::{Fail, Places, load_or_compile};
use haltline_engine::project::Project;
use haltline_engine::store::{Sqlite, SqliteOptions, StoreError};
use haltline_engine::{Engine, EngineError, spool, trust_of};

use crate::ancestry::Process;
use crate::exit_code;
use crate::installation::user_folder;
use crate::surroundings::{self, variable};
use crate::workplace::PROJECT_MARKS;

/// How long a hook waits for others before it lets the agent go on (E2).
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a hook reads a transcript on which another one was faster. What it leaves is the next hook's.
const READINGS_MAX: usize = 4;
/// How the sessions that `doctor` plays are called: nobody is told of their trips.
const REHEARSAL: &str = "doctor-";
/// No client says more in one event.
const STDIN_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What `--help` prints.
fn help() -> String {
    let clients = Client::ALL.map(Client::word).join("|");
    format!(
        "Answer one event of an agent client, read as JSON from standard input

Clients start this; `haltline init` writes it into their settings. It prints nothing or one JSON object, and always
ends with 0. With --stream it answers every line of its input with a line, until the input ends.

Usage: haltline hook <{clients}> [--stream] [--state FOLDER] [--config FILE]

Example:
  haltline hook claude < event.json
"
    )
}

/// What the command line of a hook says.
struct Arguments {
    state_folder: Option<PathBuf>,
    config: Option<PathBuf>,
    is_stream: bool,
    /// The configuration that started this hook: a client starts the same command line at every event.
    door: String,
}

/// What goes to standard output, and what follows it.
#[derive(Default)]
struct Answer {
    line: Option<String>,
    /// The client's own process, where nothing but an interruption ends the agent.
    interrupts: Option<Process>,
    /// The store was busy for as long as the hook waits.
    found_busy: bool,
}

impl From<Option<String>> for Answer {
    fn from(line: Option<String>) -> Self {
        Self { line, ..Self::default() }
    }
}

/// Runs a hook. Never fails.
pub fn run(words: &[&str], clock: Clock) -> ExitCode {
    if words.iter().any(|word| matches!(*word, "--help" | "-h")) {
        // A reader that has gone needs no help.
        std::io::stdout().lock().write_all(help().as_bytes()).ok();
        return exit_code::FINE;
    }
    let client = words.first().and_then(|word| Client::of_word(word));
    let arguments = arguments(words.get(1..).unwrap_or_default());
    if let Some(client) = client.filter(|_| arguments.is_stream) {
        stream::run(client, &arguments, clock);
        return exit_code::FINE;
    }
    let answer = without_panic(client, || answer(client, &arguments, clock));
    if let Some(line) = answer.line {
        let mut out = std::io::stdout().lock();
        // A client that no longer listens has gone on already.
        writeln!(out, "{line}").and_then(|()| out.flush()).ok();
    }
    if let Some(client) = answer.interrupts {
        stop::interrupt(&client);
    }
    exit_code::FINE
}

/// A bug of haltline's own is told and in nobody's way.
fn without_panic(client: Option<Client>, answer: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_panic| {
        let text = "haltline hit a bug of its own; the agent goes on unwatched this time";
        told::complaint(client, "panic", text).into()
    })
}

fn answer(client: Option<Client>, arguments: &Arguments, clock: Clock) -> Answer {
    let Some(client) = client else {
        let text = "`haltline hook` was started for a client it does not know; run `haltline init` again";
        return told::complaint(None, "client", text).into();
    };
    let mut stdin = Vec::new();
    if let Err(error) = std::io::stdin().lock().take(STDIN_BYTES_MAX).read_to_end(&mut stdin) {
        let text = format!("haltline could not read its event: {error}");
        return told::complaint(Some(client), "stdin", &text).into();
    }
    let (answer, hook) = event(client, arguments, &stdin, PATIENCE, clock);
    // The process ends here, and the system takes back what it holds faster than it is taken apart.
    std::mem::forget(hook);
    answer
}

/// Answers one event; what it was answered with is the caller's to put away.
fn event(
    client: Client,
    arguments: &Arguments,
    payload: &[u8],
    patience: Duration,
    clock: Clock,
) -> (Answer, Option<Hook>) {
    let mut reading = match (client.protocol().read)(payload) {
        Ok(reading) => reading,
        Err(error) => return (told::complaint(Some(client), "payload", &format!("haltline: {error}")).into(), None),
    };
    if reading.asked.event == HookEvent::Other {
        return (Answer::default(), None);
    }
    reading.asked.stream.door = Some(arguments.door.clone());
    let asked = reading.asked.clone();
    match Hook::open(arguments, &reading, patience, clock) {
        Ok(hook) => {
            let answer = hook.work(reading, &asked).unwrap_or_else(|error| hook.failed(&asked, &error, payload));
            (answer, Some(hook))
        }
        Err(error) => (told::once(&asked, "open", &format!("haltline does not watch: {error}")).into(), None),
    }
}

/// The configuration that started this hook: clients start the same command line once for each event.
fn door(words: &[&str]) -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let words = words.iter().map(|word| word.as_bytes());
    digest_hex(&std::iter::once(program.as_encoded_bytes()).chain(words).collect::<Vec<_>>(), 8)
}

/// Paths come from what `init` wrote; the environment counts only where nothing was written (E9).
fn arguments(words: &[&str]) -> Arguments {
    let door = door(words);
    let mut arguments = Arguments { state_folder: None, config: None, is_stream: false, door };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--state" => arguments.state_folder = words.next().map(PathBuf::from),
            "--config" => arguments.config = words.next().map(PathBuf::from),
            "--stream" => arguments.is_stream = true,
            _unknown => {}
        }
    }
    arguments
}

/// Everything one event is answered with.
struct Hook {
    engine: Engine<Sqlite>,
    state_folder: PathBuf,
    config_file: PathBuf,
    folder: PathBuf,
}

impl Hook {
    fn open(arguments: &Arguments, reading: &Reading, patience: Duration, clock: Clock) -> Result<Self, String> {
        let text = |error: crate::error::Failure| error.to_string();
        let state_folder = arguments.state_folder.clone().map_or_else(surroundings::state_folder, Ok).map_err(text)?;
        let config_file = arguments.config.clone().map_or_else(surroundings::user_config, Ok).map_err(text)?;
        // The agent's folder moves with its `cd`; the client's own does not.
        let named = reading.asked.client.protocol().variables.project.and_then(variable);
        let folder = PathBuf::from(named.or_else(|| reading.folder.clone()).unwrap_or_else(|| ".".to_owned()));
        // A folder that is gone still names a project: its sessions count all the same.
        let project = Project::around(&folder, PROJECT_MARKS)
            .unwrap_or_else(|_gone| Project::new(folder.clone(), folder.clone()));
        let options = SqliteOptions { patience, bytes_max: u64::MAX, journal_days: u32::MAX, clock };
        let mut store = Sqlite::new(&state_folder, options);
        let places = Places { state_folder: &state_folder, user_file: &config_file, project: &project };
        let config = load_or_compile(places, clock.now().at, || trust_of(&store, &state_folder, &project));
        store.set_limits(config.state_bytes_max(), config.journal_days());
        let engine = Engine::new(store, project, config, clock, state_folder.clone());
        Ok(Self { engine, state_folder, config_file, folder })
    }

    fn work(&self, mut reading: Reading, asked: &Asked) -> Result<Answer, EngineError> {
        if spool::is_waiting(&self.state_folder, self.engine.project().key) {
            self.take_in()?;
        }
        self.engine.remember_sighting();
        let mut notices = self.problems(&asked.stream.session);
        let mut verdict = Verdict::Pass;
        self.look_around(&mut reading);
        let mut is_asked = false;
        for _ in 0..READINGS_MAX {
            let Some(heard) = transcript::hear(&self.engine, &mut reading)? else { break };
            is_asked |= transcript::is_asked(&heard);
            let (told, is_taken) = self.report(&transcript::reader(&reading), heard, verdict, &mut notices)?;
            verdict = told;
            if is_taken {
                break;
            }
        }
        if !is_asked && let Some(kept) = transcript::doubted(&self.engine, &mut reading)? {
            (verdict, _) = self.report(&reading.asked.stream, kept, verdict, &mut notices)?;
        }
        let is_shell = match &reading.what {
            Some(Happening::ToolEnd { action: Some(action), .. }) => action.command.is_some(),
            Some(_) | None => false,
        };
        let identity = match &reading.what {
            Some(Happening::ToolStart { action, .. }) => Some(action.identity),
            Some(_) | None => None,
        };
        if let Some(what) = reading.what.take() {
            (verdict, _) = self.report(&reading.asked.stream, what, verdict, &mut notices)?;
        }
        let of_slices = self.slices(asked, is_shell)?;
        if of_slices.severity() > verdict.severity() {
            verdict = of_slices;
        }
        if asked.event == HookEvent::SessionStart {
            notices.extend(self.engine.protect_memory(&reading.asked.stream));
        }
        if asked.event == HookEvent::SettingsChanged {
            verdict =
                watch::settings(reading.config_file.as_deref(), &self.state_folder, &mut notices).unwrap_or(verdict);
        }
        if let Some(identity) = identity {
            verdict = self.with_evidence(verdict, &reading.asked.stream, identity);
        }
        notices.extend(self.engine.notices());
        let notice = (!notices.is_empty()).then(|| notices.join("\n"));
        let interrupts = stop::process(asked, &verdict, &self.state_folder, self.engine.config());
        Ok(Answer { line: told::answer(asked, &verdict, notice), interrupts, found_busy: false })
    }

    /// What the payload does not say and the surroundings do.
    fn look_around(&self, reading: &mut Reading) {
        match &mut reading.what {
            Some(Happening::SessionStart { is_nested, .. }) => {
                *is_nested = watch::session(&self.state_folder, &mut reading.asked);
            }
            Some(Happening::ToolStart { action, guarded, touched, tampering, .. }) => {
                *tampering = watch::tampering(action, &self.state_folder, &self.config_file);
                *guarded = self.engine.guarding(action);
                let own = user_folder(reading.asked.client).ok();
                let folder = self.agent_folder(reading.folder.as_deref());
                *touched = self.engine.touching(action, &folder, own.as_deref());
            }
            Some(_) | None => {}
        }
    }

    /// Reports one thing that happened; of two verdicts the one that holds back more stays. Also whether it was a passage of
    /// the transcript that counts.
    fn report(
        &self,
        stream: &Stream,
        what: Happening,
        verdict: Verdict,
        notices: &mut Vec<String>,
    ) -> Result<(Verdict, bool), EngineError> {
        let committed = self.engine.report(stream, what)?;
        self.follow(&stream.session, &committed.decision);
        let is_taken = transcript::is_taken(&committed.decision);
        notices.extend(committed.decision.notices);
        let is_more = committed.decision.verdict.severity() >= verdict.severity();
        Ok((if is_more { committed.decision.verdict } else { verdict }, is_taken))
    }

    /// Where the agent works now: its paths start there.
    fn agent_folder(&self, folder: Option<&str>) -> PathBuf {
        folder.map_or_else(|| self.folder.clone(), PathBuf::from)
    }

    /// What slices under way have to say beside the answer to a call: tries before, to a new session (A7); files that a
    /// command changed outside the scope (A5).
    fn slices(&self, asked: &Asked, is_shell: bool) -> Result<Verdict, EngineError> {
        let session = &asked.stream.session;
        if asked.event == HookEvent::SessionStart {
            let blocks = self.engine.hand_out(session)?;
            let Some((circuit, _)) = blocks.first().cloned() else { return Ok(Verdict::Pass) };
            let text = blocks.into_iter().map(|(_, block)| block).collect::<Vec<_>>().join("\n");
            return Ok(Verdict::Warn(Reason { circuit, code: "HL-ATTEMPT-08", text, retry: Retry::Now }));
        }
        if is_shell { self.engine.look_for_strays(session) } else { Ok(Verdict::Pass) }
    }

    /// A refusal shows the answer that came again and again.
    fn with_evidence(&self, verdict: Verdict, stream: &Stream, identity: haltline_core::identity::Digest) -> Verdict {
        let add = |reason: Reason| match self.engine.last_answer(stream, identity) {
            Some(answer) => {
                let text = match reason.text.split_once('\n') {
                    Some((first, rest)) => format!("{first}\nLast answer: {answer}\n{rest}"),
                    None => format!("{}\nLast answer: {answer}", reason.text),
                };
                Reason { text, ..reason }
            }
            None => reason,
        };
        match verdict {
            Verdict::Deny(reason) => Verdict::Deny(add(reason)),
            Verdict::Stop(reason) => Verdict::Stop(add(reason)),
            other @ (Verdict::Pass | Verdict::Warn(_)) => other,
        }
    }

    /// What is wrong with haltline's own files, told once in a session (E7).
    fn problems(&self, session: &str) -> Vec<String> {
        let errors = self.engine.config().errors.iter();
        errors
            .filter(|_| told::is_first("config", session))
            .map(|error| format!("haltline: {error} (the file is left out until it is mended: haltline config check)"))
            .collect()
    }

    /// Events that found the store busy earlier go first. Where it still is, the hook has waited enough, and its own event
    /// waits behind them.
    fn take_in(&self) -> Result<(), EngineError> {
        let mut busy = None;
        spool::take(&self.state_folder, self.engine.project().key, |content| {
            let Some((client, door, payload)) = unspooled(content) else { return true };
            let Ok(mut reading) = (client.protocol().read)(payload) else { return true };
            reading.asked.stream.door = door.map(str::to_owned);
            transcript::settle(&mut reading);
            let Some(what) = reading.what.take() else { return true };
            match self.engine.report(&reading.asked.stream, what) {
                Ok(_) | Err(EngineError::Rejected(_)) => true,
                Err(EngineError::Store(error)) => {
                    busy = matches!(error, StoreError::Busy { .. }).then_some(error);
                    false
                }
            }
        });
        busy.map_or(Ok(()), |error| Err(EngineError::Store(error)))
    }

    /// What follows a commit and does not wait for another program.
    fn follow(&self, session: &str, decision: &Decision) {
        if decision.facts.is_empty() {
            return;
        }
        self.engine.write_incidents(decision);
        if self.engine.config().constraint_mirror() && decision.effects.contains(&Effect::Mirror) {
            self.engine.mirror_out();
        }
        let is_rehearsal = session.starts_with(REHEARSAL);
        if !is_rehearsal && decision.effects.iter().any(|effect| matches!(effect, Effect::Notify { .. })) {
            watch::deliver(&self.folder, &self.state_folder, &self.config_file);
        }
    }

    /// haltline's own failure: the agent goes on, unless its owner chose otherwise, and the person is told once (E7).
    fn failed(&self, asked: &Asked, error: &EngineError, stdin: &[u8]) -> Answer {
        let session = &asked.stream.session;
        let kind = match error {
            EngineError::Store(StoreError::Busy { .. }) => "busy",
            EngineError::Store(_) => "store",
            EngineError::Rejected(_) => "rejected",
        };
        let text = match error {
            EngineError::Store(error) => error.to_string(),
            EngineError::Rejected(rejection) => format!("rejected: {rejection:?}"),
        };
        // It still counts: the next writer takes it in, whichever of the hook's writes found the store busy (E2).
        let (project, now) = (self.engine.project().key, self.engine.now());
        let found_busy = kind == "busy";
        let is_counted = found_busy && spool::put(&self.state_folder, project, now, &spooled(asked, stdin)).is_ok();
        let closed = self.engine.config().fail() == Fail::Closed && asked.event == HookEvent::ToolStart;
        let goes_on = match (closed, is_counted) {
            (true, _) => "fail = \"closed\": the call is refused",
            (false, true) => "the agent goes on; the event is counted later",
            (false, false) => "the agent goes on unwatched",
        };
        let told = format!("haltline: {text}; {goes_on} (told once per session; see `haltline doctor`)");
        if closed {
            let circuit = CircuitName::lane(session, None).below("own_failure");
            let text = format!("HALTLINE HL-OWN-04: refused, because haltline itself failed: {text}");
            let verdict = Verdict::Deny(Reason { circuit, code: "HL-OWN-04", text, retry: Retry::Person });
            let notice = told::is_first(kind, session).then_some(told);
            return Answer { line: told::answer(asked, &verdict, notice), interrupts: None, found_busy };
        }
        Answer { line: told::once(asked, kind, &told), interrupts: None, found_busy }
    }
}

/// An event as it waits: the client's word and the door on a line of their own, then what the client said.
fn spooled(asked: &Asked, stdin: &[u8]) -> Vec<u8> {
    let door = asked.stream.door.as_deref().unwrap_or_default();
    [asked.client.word().as_bytes(), b" ", door.as_bytes(), b"\n", stdin].concat()
}

fn unspooled(content: &[u8]) -> Option<(Client, Option<&str>, &[u8])> {
    // Earlier versions knew one client and wrote no word, and knew no door.
    if content.starts_with(b"{") {
        return Some((Client::Claude, None, content));
    }
    let end = content.iter().position(|&byte| byte == b'\n')?;
    let line = std::str::from_utf8(&content[..end]).ok()?;
    let (word, door) = match line.split_once(' ') {
        Some((word, door)) => (word, Some(door).filter(|door| !door.is_empty())),
        None => (line, None),
    };
    Some((Client::of_word(word)?, door, &content[end + 1..]))
}

/// A path as text, where it is text.
fn shown(path: &Path) -> Option<&str> {
    path.to_str()
}
