//! `haltline hook CLIENT`: reads one event of a client and prints an answer or nothing (X1, E7).
//!
//! It runs on every tool call, so it does only what is needed: it parses its arguments by hand and makes one decision
//! in one transaction. It always exits with 0, whatever happens, because clients take other codes for a denial. A pass
//! is silence, never "allow".

mod arguments;
pub mod notice_once;
mod prompt_command;
mod provenance;
pub mod self_protection;
mod settings_watch;
mod stated_fault;
mod stop;
mod stream;
mod suspension;
pub mod transcript;
mod waiting_notice;

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use haltline_agents::Client;
use haltline_agents::hook::{HookCall, HookEvent, ParsedHook};
use haltline_core::loop_::{AgentRef, LoopEvent, denial_on_failure, is_way_out};
use haltline_core::{Reason, Verdict};
use haltline_engine::clock::{Clock, Deadline};
use haltline_engine::config::FailMode;
use haltline_engine::project::Project;
use haltline_engine::spool::{self, Drained};
use haltline_engine::store::{Sqlite, StoreError};
use haltline_engine::{AgentAnswer, CallSite, ConfigReading, Engine, EngineError, OwnFiles};

use crate::ancestry::{self, AncestorProcess};
use crate::context::PROJECT_MARKERS;
use crate::environment::{self, variable};
use crate::error::describe_rejection;
use crate::exit_code;
use crate::installation::user_folder;
use crate::local_time::in_sentence;
use crate::unwatched;

use arguments::{Arguments, help, parse_arguments};
use notice_once::NoticeFiles;
use provenance::Provenance;
use self_protection::HookPaths;

/// How long a hook waits for other processes in all before it answers without them (E2): with its own work less than a
/// second.
const STORE_TIMEOUT: Duration = Duration::from_millis(800);
/// How long a hook takes in events that waited in the spool, before its own.
const DRAIN_TIME: Duration = Duration::from_millis(300);
/// How often a hook reads a transcript again because another hook was faster. The next hook reads the rest.
const TRANSCRIPT_READS_MAX: usize = 4;
/// Session ids of the self-test that `doctor` runs start with this: nobody is notified of their trips.
const SELF_TEST_PREFIX: &str = "doctor-";
/// No client sends more in one event.
const STDIN_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What goes to standard output, and what happens after that.
#[derive(Default)]
struct Answer {
    line: Option<String>,
    /// The client's process, if only an interrupt can stop the agent.
    process_to_interrupt: Option<AncestorProcess>,
    /// True if the store stayed busy for as long as the hook waits.
    was_store_busy: bool,
}

impl From<Option<String>> for Answer {
    fn from(line: Option<String>) -> Self {
        Self { line, ..Self::default() }
    }
}

/// Runs a hook. Never fails.
pub fn run(args: &[&str], clock: Clock) -> ExitCode {
    if args.iter().any(|arg| matches!(*arg, "--help" | "-h")) {
        // If the reader is gone, nobody needs the help text.
        std::io::stdout().lock().write_all(help().as_bytes()).ok();
        return exit_code::SUCCESS;
    }
    let client = args.first().and_then(|arg| Client::from_cli_name(arg));
    let arguments = parse_arguments(args.get(1..).unwrap_or_default());
    if let Some(client) = client.filter(|_| arguments.is_stream) {
        stream::run(client, &arguments, clock);
        return exit_code::SUCCESS;
    }
    let answer = catch_panic(client, &arguments, || answer(client, &arguments, clock));
    if let Some(line) = answer.line {
        let mut out = std::io::stdout().lock();
        // If the client no longer reads, it has continued already.
        writeln!(out, "{line}").and_then(|()| out.flush()).ok();
    }
    if let Some(client) = answer.process_to_interrupt {
        stop::interrupt(&client);
    }
    exit_code::SUCCESS
}

/// Reports a bug in haltline to the person and lets the agent continue.
fn catch_panic(client: Option<Client>, arguments: &Arguments, answer: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_panic| {
        let text = "haltline failed with a bug and did not check this call; the agent continues";
        arguments.notice_files().failure_notice(client, "panic", text).into()
    })
}

fn answer(client: Option<Client>, arguments: &Arguments, clock: Clock) -> Answer {
    let Some(client) = client else {
        let text = "`haltline hook` got the name of a client that it does not know; run `haltline init` again";
        return arguments.notice_files().failure_notice(None, "client", text).into();
    };
    let mut stdin = Vec::new();
    if let Err(error) = std::io::stdin().lock().take(STDIN_BYTES_MAX).read_to_end(&mut stdin) {
        let text = format!("haltline could not read its event: {error}");
        return arguments.notice_files().failure_notice(Some(client), "stdin", &text).into();
    }
    let (answer, hook) = answer_event(client, arguments, &stdin, STORE_TIMEOUT, clock, None);
    // The process ends here, and the operating system frees its memory faster than destructors would.
    std::mem::forget(hook);
    answer
}

/// Answers one event; `store` is that of the event before. The caller drops the returned `Hook`.
fn answer_event(
    client: Client,
    arguments: &Arguments,
    payload: &[u8],
    timeout: Duration,
    clock: Clock,
    store: Option<Sqlite>,
) -> (Answer, Option<Hook>) {
    let mut parsed = match (client.protocol().read)(payload) {
        Ok(parsed) => parsed,
        Err(error) => {
            let text = format!("haltline: {error}");
            return (arguments.notice_files().failure_notice(Some(client), "payload", &text).into(), None);
        }
    };
    if parsed.hook.event == HookEvent::Other {
        return (Answer::default(), None);
    }
    parsed.hook.agent.hook_source = Some(arguments.hook_source.clone());
    let hook_call = parsed.hook.clone();
    match Hook::open(arguments, &parsed, timeout, clock, store) {
        Ok(hook) => {
            let answer = match provenance::of_event(&hook.state_folder, &hook_call) {
                // Nothing is spooled: what is not believed now must not be believed later.
                Provenance::Agent => hook.report_forged(&parsed),
                Provenance::Client | Provenance::Unknown => hook
                    .handle(parsed, &hook_call, payload)
                    .unwrap_or_else(|error| hook.answer_failure(&hook_call, &error, payload)),
            };
            (answer, Some(hook))
        }
        Err(error) => {
            let text = format!("haltline does not watch this session: {error}");
            (arguments.notice_files().notice_once(&hook_call, "open", &text).into(), None)
        }
    }
}

/// The answer to changed settings.
struct Weakened {
    verdict: Verdict,
    notices: Vec<String>,
}

/// Everything that is needed to answer one event.
struct Hook {
    engine: Engine<Sqlite>,
    state_folder: PathBuf,
    config_file: PathBuf,
    /// True if the command line names the state folder.
    is_state_named: bool,
    folder: PathBuf,
    notice_files: NoticeFiles,
    clock: Clock,
}

impl Hook {
    fn open(
        arguments: &Arguments,
        parsed: &ParsedHook,
        timeout: Duration,
        clock: Clock,
        store: Option<Sqlite>,
    ) -> Result<Self, String> {
        let text = |error: crate::error::Failure| error.to_string();
        let state_folder =
            arguments.state_folder.clone().map_or_else(|| environment::own_paths().state_folder(), Ok).map_err(text)?;
        let config_file =
            arguments.config.clone().map_or_else(|| environment::own_paths().user_config(), Ok).map_err(text)?;
        // The agent's folder changes with its `cd`; the client's own folder does not.
        let named = parsed.hook.client.protocol().variables.project.and_then(variable);
        let folder = PathBuf::from(named.or_else(|| parsed.folder.clone()).unwrap_or_else(|| ".".to_owned()));
        // A folder that is gone still identifies a project, so that its sessions are counted.
        let project = Project::find(&folder, PROJECT_MARKERS)
            .unwrap_or_else(|_gone| Project::new(folder.clone(), folder.clone()));
        let own_files = OwnFiles { state_folder: state_folder.clone(), user_config: config_file.clone() };
        let mut store = Engine::store_in(&own_files.state_folder, timeout, ConfigReading::Snapshot, clock, store);
        store.set_brief(!arguments.is_stream);
        let mut engine = Engine::open_with(store, own_files, project, ConfigReading::Snapshot, clock);
        engine.defer_notifications();
        engine.set_watch(suspension::watch(&parsed.hook, &state_folder));
        let notice_files = NoticeFiles::new(Some(&state_folder));
        let is_state_named = arguments.state_folder.is_some();
        Ok(Self { engine, state_folder, config_file, is_state_named, folder, notice_files, clock })
    }

    fn paths(&self) -> HookPaths<'_> {
        let is_named = self.is_state_named;
        HookPaths { state_folder: &self.state_folder, config_file: &self.config_file, is_named }
    }

    fn handle(&self, mut parsed: ParsedHook, hook_call: &HookCall, payload: &[u8]) -> Result<Answer, EngineError> {
        if let Some(command) = &parsed.prompt_command
            && let Some(line) = prompt_command::carry_out(self, command, hook_call)
        {
            return Ok(Some(line).into());
        }
        if spool::has_events(&self.state_folder, self.engine.project().key)
            && self.drain_spool()?.is_partial
            && self.spool(hook_call, payload)
        {
            return Ok(self.answer_behind_others(hook_call, payload));
        }
        self.engine.record_seen_values();
        let mut notices = self.config_problems(&hook_call.agent.session);
        let moved = self.engine.moved_notice();
        notices.extend(moved.filter(|_| self.notice_files.is_first("moved", &hook_call.agent.session)));
        if self.engine.is_suspended(&hook_call.agent.session) {
            return self.handle_suspended(parsed, hook_call, notices);
        }
        let mut verdict = Verdict::Pass;
        self.complete_event(&mut parsed);
        let weakened = self.report_weakened_settings(&parsed)?;
        verdict = verdict.or_stricter(weakened.verdict);
        notices.extend(weakened.notices);
        notices.extend(self.unwatched_sessions(&parsed));
        let mut has_prompt = false;
        let hold = transcript::reads_rows(&parsed).then(|| self.engine.store().hold());
        for _ in 0..TRANSCRIPT_READS_MAX {
            let Some(event) = transcript::read_transcript(&self.engine, &mut parsed)? else { break };
            has_prompt |= transcript::has_prompt(&event);
            let answer = self.report(&transcript::reading_agent(&parsed), event, &parsed)?;
            verdict = verdict.or_stricter(answer.verdict);
            notices.extend(answer.notices);
            if transcript::is_accepted(&answer.facts) {
                break;
            }
        }
        if !has_prompt && let Some(stop_event) = transcript::downgrade_prompt(&self.engine, &mut parsed)? {
            let answer = self.report(&parsed.hook.agent, stop_event, &parsed)?;
            verdict = verdict.or_stricter(answer.verdict);
            notices.extend(answer.notices);
        }
        if let Some(event) = parsed.loop_event.take() {
            let answer = self.report(&parsed.hook.agent, event, &parsed)?;
            verdict = verdict.or_stricter(answer.verdict);
            notices.extend(answer.notices);
        }
        drop(hold);
        notices.extend(self.engine.take_notices());
        let waiting = self.notice_files.take_project_notices(self.engine.project().key);
        notices.extend(waiting.and_then(|waiting| waiting_notice::up_to_date(&self.engine, &waiting)));
        let notice = (!notices.is_empty()).then(|| notices.join("\n"));
        let process_to_interrupt =
            stop::process_to_interrupt(hook_call, &verdict, &self.state_folder, self.engine.config());
        let verdict = stop::with_honest_ending(hook_call, verdict, process_to_interrupt.is_some());
        Ok(Answer { line: self.respond(hook_call, &verdict, notice), process_to_interrupt, was_store_busy: false })
    }

    /// Handles an event that haltline does not count: it only protects itself, and says once that it does not watch. What
    /// the transcript holds is read after the pause.
    fn handle_suspended(
        &self,
        mut parsed: ParsedHook,
        hook_call: &HookCall,
        mut notices: Vec<String>,
    ) -> Result<Answer, EngineError> {
        self.complete_event(&mut parsed);
        notices.extend(suspension::notice(&self.engine, &self.notice_files, &hook_call.agent.session)?);
        let weakened = self.report_weakened_settings(&parsed)?;
        let mut verdict = weakened.verdict;
        notices.extend(weakened.notices);
        if let Some(event) = parsed.loop_event.take() {
            let answer = self.report(&parsed.hook.agent, event, &parsed)?;
            verdict = verdict.or_stricter(answer.verdict);
            notices.extend(answer.notices);
        }
        let notice = (!notices.is_empty()).then(|| notices.join("\n"));
        Ok(Answer {
            line: self.respond(hook_call, &verdict, notice),
            process_to_interrupt: None,
            was_store_busy: false,
        })
    }

    /// Journals an event that did not come from the client, and changes nothing else. The answer would go to the command
    /// that made the event up, so the person reads the notice with the next real answer of this project.
    fn report_forged(&self, parsed: &ParsedHook) -> Answer {
        let event = LoopEvent::Forged { name: parsed.hook.name.clone() };
        let Ok(answer) = self.report(&parsed.hook.agent, event, parsed) else { return Answer::default() };
        if self.notice_files.is_first("forged", &parsed.hook.agent.session) {
            for notice in &answer.notices {
                self.notice_files.defer_notice(None, self.engine.project().key, notice);
            }
        }
        Answer::default()
    }

    /// Adds to the event what the payload does not say but the machine does.
    fn complete_event(&self, parsed: &mut ParsedHook) {
        stated_fault::complete(parsed, || self.engine.now().at);
        if let Some(LoopEvent::SessionStart { is_nested, .. }) = &mut parsed.loop_event {
            *is_nested = self_protection::record_session(self.paths(), &mut parsed.hook);
        }
        // Some clients send no start of a session. Only a socket then shows which process is the client.
        let session = &parsed.hook.agent.session;
        if parsed.hook.event == HookEvent::Prompt
            && provenance::Input::current().creating_ancestor().is_some()
            && !ancestry::is_session_running(&self.state_folder, session)
        {
            self_protection::record_session(self.paths(), &mut parsed.hook.clone());
        }
    }

    /// Journals and tells what somebody changed in the client's settings to keep haltline from seeing it.
    fn report_weakened_settings(&self, parsed: &ParsedHook) -> Result<Weakened, EngineError> {
        let mut weakened = Weakened { verdict: Verdict::Pass, notices: Vec::new() };
        let project = self.engine.project();
        for change in settings_watch::changes(parsed, project, &self.state_folder) {
            let reported = self.report(&parsed.hook.agent, change.event, parsed);
            let answer = reported.inspect_err(|_not_journalled| {
                settings_watch::forget(parsed.hook.client, project, &self.state_folder);
            })?;
            weakened.verdict = weakened.verdict.or_stricter(answer.verdict);
            if !change.is_known {
                weakened.notices.extend(answer.notices);
            }
        }
        Ok(weakened)
    }

    /// Tells when another session of the user runs without haltline, once for each. Only the start of a session looks: it
    /// is rare, and nobody waits for it.
    fn unwatched_sessions(&self, parsed: &ParsedHook) -> Vec<String> {
        let session = &parsed.hook.agent.session;
        if parsed.hook.event != HookEvent::SessionStart || session.starts_with(SELF_TEST_PREFIX) {
            return Vec::new();
        }
        let found = unwatched::find(&self.engine).unwrap_or_default().into_iter();
        let others = found.filter(|one| one.session != *session);
        let new = others.filter(|one| self.notice_files.is_first("unwatched", &one.session));
        new.map(|one| {
            let (client, session) = (one.client.title(), &one.session);
            format!("haltline does not watch session {session} of {client}: its transcript grows and no hook reports it. `haltline doctor` says why.")
        })
        .collect()
    }

    /// Hands one event to the engine. Its answer is final.
    fn report(&self, agent: &AgentRef, event: LoopEvent, parsed: &ParsedHook) -> Result<AgentAnswer, EngineError> {
        let answer =
            self.at_call_site(parsed, is_start(&event), |site| self.engine.handle_agent_event(agent, event, site));
        // The trip may be committed although something after it failed.
        self.deliver_deferred(&agent.session);
        answer
    }

    /// Runs `work` with where the call runs. Only the start of a call is checked against paths, so other events skip the
    /// look-ups.
    fn at_call_site<T>(&self, parsed: &ParsedHook, is_start: bool, work: impl FnOnce(CallSite<'_>) -> T) -> T {
        let working_directory = parsed.folder.as_deref().map_or(self.folder.as_path(), Path::new);
        let client_folder = is_start.then(|| user_folder(parsed.hook.client).ok()).flatten();
        let home = is_start.then(|| variable("HOME")).flatten();
        work(CallSite { working_directory, client_folder: client_folder.as_deref(), home: home.as_deref() })
    }

    /// Has notifications sent and the memory folder cleaned by other processes: the client waits for this one.
    fn deliver_deferred(&self, session: &str) {
        if self.engine.take_deferred_notifications() && !session.starts_with(SELF_TEST_PREFIX) {
            self_protection::spawn_delivery(&self.folder, &self.state_folder, &self.config_file);
        }
        if self.engine.take_deferred_cleanup() {
            self_protection::spawn_cleanup(&self.folder, &self.state_folder, &self.config_file, session);
        }
    }

    /// Errors in haltline's configuration files, reported once per session (E7).
    fn config_problems(&self, session: &str) -> Vec<String> {
        let errors = self.engine.config().errors.iter();
        errors
            .filter(|_| self.notice_files.is_first("config", session))
            .map(|error| {
                format!("haltline: {error} (haltline ignores this file until it is fixed: haltline config check)")
            })
            .collect()
    }

    /// Commits events that found the store busy earlier. If it is still busy, the hook has waited long enough, and its
    /// own event is spooled after them.
    fn drain_spool(&self) -> Result<Drained, EngineError> {
        let mut busy = None;
        let deadline = Deadline::new(DRAIN_TIME);
        let drained = spool::drain(&self.state_folder, self.engine.project().key, &deadline, |content| {
            let Some((client, hook_source, payload)) = parse_spool_entry(content) else { return true };
            let Ok(mut parsed) = (client.protocol().read)(payload) else { return true };
            parsed.hook.agent.hook_source = hook_source.map(str::to_owned);
            transcript::complete_outcome(&mut parsed);
            stated_fault::complete(&mut parsed, || self.engine.now().at);
            let Some(event) = parsed.loop_event.take() else { return true };
            let agent = &parsed.hook.agent;
            match self.at_call_site(&parsed, is_start(&event), |site| self.engine.count_agent_event(agent, event, site))
            {
                Ok(_) | Err(EngineError::Rejected(_)) => true,
                Err(EngineError::Store(error)) => {
                    busy = matches!(error, StoreError::Busy { .. }).then_some(error);
                    false
                }
            }
        });
        if drained.lost > 0 {
            let (lost, project) = (drained.lost, self.engine.project().key);
            let notice = format!(
                "haltline: the store was busy for so long that {lost} events did not fit into the spool and are not counted"
            );
            if self.notice_files.defer_notice(None, project, &notice) {
                spool::forget_lost(&self.state_folder, project, lost);
            }
        }
        busy.map_or(Ok(drained), |error| Err(EngineError::Store(error)))
    }

    /// Keeps an event until earlier ones are counted. Returns whether it fits.
    fn spool(&self, hook_call: &HookCall, payload: &[u8]) -> bool {
        let (project, now) = (self.engine.project().key, self.engine.now());
        spool::put(&self.state_folder, project, now, &to_spool_entry(hook_call, payload)).is_ok()
    }

    /// The answer to an event that waits behind others: what is known to be OPEN is denied.
    fn answer_behind_others(&self, hook_call: &HookCall, payload: &[u8]) -> Answer {
        let verdict = self.denial_by_last_known_state(hook_call, payload).unwrap_or(Verdict::Pass);
        self.notice_files.answer(hook_call, &verdict, None).into()
    }

    /// The answer when haltline fails itself: the agent continues, unless the configuration says otherwise, and the
    /// person is notified once (E7).
    fn answer_failure(&self, hook_call: &HookCall, error: &EngineError, stdin: &[u8]) -> Answer {
        let session = &hook_call.agent.session;
        let kind = match error {
            EngineError::Store(StoreError::Busy { is_stalled: true, .. }) => "stuck",
            EngineError::Store(StoreError::Busy { is_stalled: false, .. }) => "busy",
            EngineError::Store(_) => "store",
            EngineError::Rejected(_) => "rejected",
        };
        let text = match error {
            EngineError::Store(error) => error.to_string(),
            EngineError::Rejected(rejection) => format!("rejected: {}", describe_rejection(rejection)),
        };
        // The event still counts: the next writer commits it, whichever of the hook's writes found the store busy (E2).
        let was_store_busy = matches!(error, EngineError::Store(StoreError::Busy { .. }));
        let is_counted = was_store_busy && self.spool(hook_call, stdin);
        if let Some(verdict) = self.denial_by_last_known_state(hook_call, stdin) {
            let consequence = if is_counted { "counts the event later" } else { "does not count the event" };
            let message = format!(
                "haltline: {text}; haltline still denies what was OPEN before, and {consequence} (shown once per session)"
            );
            let notice = self.notice_files.is_first(kind, session).then_some(message);
            let line = self.respond(hook_call, &verdict, notice);
            return Answer { line, process_to_interrupt: None, was_store_busy };
        }
        let is_fail_closed = self.engine.config().fail_mode() == FailMode::Closed
            && hook_call.event == HookEvent::ToolStart
            && !self.is_way_out(hook_call, stdin);
        let consequence = match (is_fail_closed, is_counted) {
            (true, _) => "fail = \"closed\": haltline denies the call",
            (false, true) => "the agent continues, and haltline counts the event later",
            (false, false) => "the agent continues, and haltline did not check this call",
        };
        let message = format!("haltline: {text}; {consequence} (shown once per session; run `haltline doctor`)");
        if is_fail_closed {
            let verdict = denial_on_failure(session, &text);
            let notice = self.notice_files.is_first(kind, session).then_some(message);
            return Answer {
                line: self.respond(hook_call, &verdict, notice),
                process_to_interrupt: None,
                was_store_busy,
            };
        }
        let line = self.notice_files.notice_once(hook_call, kind, &message);
        Answer { line, process_to_interrupt: None, was_store_busy }
    }
}

impl Hook {
    /// The answer in the client's form. Its texts name moments in local time.
    fn respond(&self, hook_call: &HookCall, verdict: &Verdict, notice: Option<String>) -> Option<String> {
        let now = self.engine.now().at;
        let local = |reason: &Reason| Reason { text: in_sentence(&reason.text, now).into_owned(), ..reason.clone() };
        let verdict = match verdict {
            Verdict::Pass => Verdict::Pass,
            Verdict::Warn(reason) => Verdict::Warn(local(reason)),
            Verdict::Deny(reason) => Verdict::Deny(local(reason)),
            Verdict::Stop(reason) => Verdict::Stop(local(reason)),
        };
        let waiting = self.notice_files.take_session_notices(hook_call, &verdict);
        let waiting = waiting.and_then(|waiting| waiting_notice::up_to_date(&self.engine, &waiting));
        let notices: Vec<String> = waiting.into_iter().chain(notice).collect();
        let notice = (!notices.is_empty()).then(|| in_sentence(&notices.join("\n"), now).into_owned());
        self.notice_files.answer(hook_call, &verdict, notice)
    }

    /// True for the start of a call by which the agent ends, reports, asks or saves: haltline never denies it.
    fn is_way_out(&self, hook_call: &HookCall, payload: &[u8]) -> bool {
        let Ok(parsed) = (hook_call.client.protocol().read)(payload) else { return false };
        let limits = &self.engine.config().policy().loop_;
        matches!(&parsed.loop_event, Some(LoopEvent::ToolStart { action, .. })
            if is_way_out(&hook_call.agent.client, &action.tool, limits))
    }

    /// What the last known state says to the start of a call that could not be committed.
    fn denial_by_last_known_state(&self, hook_call: &HookCall, payload: &[u8]) -> Option<Verdict> {
        let mut parsed = (hook_call.client.protocol().read)(payload).ok()?;
        let event = parsed.loop_event.take().filter(is_start)?;
        self.at_call_site(&parsed, true, |site| self.engine.denial_by_last_known_state(&hook_call.agent, event, site))
    }
}

fn is_start(event: &LoopEvent) -> bool {
    matches!(event, LoopEvent::ToolStart { .. })
}

/// A spooled event: the client's name and the hook source on the first line, then the client's payload.
fn to_spool_entry(hook_call: &HookCall, stdin: &[u8]) -> Vec<u8> {
    let hook_source = hook_call.agent.hook_source.as_deref().unwrap_or_default();
    [hook_call.client.cli_name().as_bytes(), b" ", hook_source.as_bytes(), b"\n", stdin].concat()
}

fn parse_spool_entry(content: &[u8]) -> Option<(Client, Option<&str>, &[u8])> {
    // Earlier versions supported one client and wrote neither its name nor a hook source.
    if content.starts_with(b"{") {
        return Some((Client::Claude, None, content));
    }
    let end = content.iter().position(|&byte| byte == b'\n')?;
    let line = std::str::from_utf8(&content[..end]).ok()?;
    let (client, hook_source) = match line.split_once(' ') {
        Some((client, hook_source)) => (client, Some(hook_source).filter(|hook_source| !hook_source.is_empty())),
        None => (line, None),
    };
    Some((Client::from_cli_name(client)?, hook_source, &content[end + 1..]))
}
