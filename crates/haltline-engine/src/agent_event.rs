//! The path of an agent's event: gather its context, decide and commit, run the effects, and return the final answer.
//!
//! Hooks, plain events and the library all come through [`Engine::handle_agent_event`], so none of them can leave a
//! protection out. The context of a call is what it must not touch: constraints that guard it (C8), files of slices
//! (A5), and haltline itself (E6).

use std::path::Path;

use haltline_core::control::ControlEvent;
use haltline_core::identity::{Action, Digest};
use haltline_core::loop_::{AgentRef, CallContext, Guarded, LoopEvent, Protections};
use haltline_core::shell::{self, OwnPath};
use haltline_core::{CircuitName, Decision, Event, Memory, Reason, Recorded, Verdict, decide, decide_with_rows};

use crate::calendar::calendar;
use crate::control::ControlScope;
use crate::engine::{Engine, EngineError, OwnFiles, altered_cache};
use crate::file::reject_linked_folder;
use crate::guards::{self, Guards, Place};
use crate::incident;
use crate::memory_protection;
use crate::store::{Committed, Store, StoreError};

/// At most this many facts are read to find the last result of a call.
const EVIDENCE_FACTS_MAX: usize = 64;

/// A hook cleans a memory folder itself if there is at most this much to read and pack.
const HOOK_CLEANUP_BYTES_MAX: u64 = 1 << 20;

/// Where an agent's call runs.
#[derive(Clone, Copy, Debug)]
pub struct CallSite<'a> {
    /// The agent's working directory: relative paths start there.
    pub working_directory: &'a Path,
    /// The folder of the client's own files, which belong to no slice.
    pub client_folder: Option<&'a Path>,
    /// The user's home folder, for `~` in a command.
    pub home: Option<&'a str>,
}

/// What haltline answers to an event of an agent. The facts behind it are committed.
#[derive(Clone, Debug)]
pub struct AgentAnswer {
    pub verdict: Verdict,
    /// What the person should read.
    pub notices: Vec<String>,
    pub facts: Vec<Recorded>,
}

/// What haltline does after an event, besides the effects of its decision.
enum FollowUp {
    Nothing,
    /// Show the last result of the call if it is denied.
    ShowEvidence(Digest),
    /// Hand out the attempts before this session, and clean the memory folder.
    WelcomeSession,
    /// A shell command ended: look for files that it changed outside every scope.
    CheckScopes,
}

impl FollowUp {
    fn after(event: &LoopEvent) -> Self {
        match event {
            LoopEvent::ToolStart { action, .. } => FollowUp::ShowEvidence(action.identity),
            LoopEvent::SessionStart { .. } => FollowUp::WelcomeSession,
            LoopEvent::ToolEnd { action: Some(action), .. } if action.command.is_some() => FollowUp::CheckScopes,
            _other => FollowUp::Nothing,
        }
    }
}

impl<S: Store> Engine<S> {
    /// Handles one event of an agent. The verdict is final.
    pub fn handle_agent_event(
        &self,
        agent: &AgentRef,
        event: LoopEvent,
        site: CallSite<'_>,
    ) -> Result<AgentAnswer, EngineError> {
        let follow_up = match self.is_suspended(&agent.session) {
            true => FollowUp::Nothing,
            false => FollowUp::after(&event),
        };
        let decision = self.count_agent_event(agent, event, site)?;
        let mut answer = AgentAnswer { verdict: decision.verdict, notices: decision.notices, facts: decision.facts };
        answer.notices.extend(self.take_trip_notices());
        match follow_up {
            FollowUp::Nothing => {}
            FollowUp::WelcomeSession | FollowUp::CheckScopes if !self.uses_files() => {}
            FollowUp::ShowEvidence(identity) => {
                answer.verdict = self.with_evidence(answer.verdict, agent, identity);
            }
            FollowUp::WelcomeSession => {
                let warning = self.hand_out_prior_attempts(&agent.session)?;
                answer.verdict = warning.or_stricter(answer.verdict);
                answer.notices.extend(self.protect_memory(agent));
            }
            FollowUp::CheckScopes => {
                let verdict = self.check_out_of_scope_changes(&agent.session)?;
                answer.verdict = verdict.or_stricter(answer.verdict);
            }
        }
        Ok(answer)
    }

    /// Decides, commits and runs the effects of an event that nobody waits for any more, such as one that found the store
    /// busy: nothing is handed out, because nobody would read it.
    pub fn count_agent_event(
        &self,
        agent: &AgentRef,
        event: LoopEvent,
        site: CallSite<'_>,
    ) -> Result<Decision, EngineError> {
        let event = self.with_context(event, site);
        if self.is_suspended(&agent.session) && !reaches_for_haltline(&event) {
            if matches!(event, LoopEvent::SessionEnd { .. }) && agent.sub_agent.is_none() {
                self.control(ControlScope::Project, ControlEvent::SessionEnded { session: agent.session.clone() })?;
            }
            return Ok(Decision {
                facts: Vec::new(),
                verdict: Verdict::Pass,
                effects: Vec::new(),
                notices: Vec::new(),
            });
        }
        if is_guarded(&event) {
            self.import_mirror();
        }
        let Committed { decision, .. } = self.commit_agent_event(agent, event)?;
        if !decision.facts.is_empty() {
            self.run_effects(&decision);
        }
        Ok(decision)
    }

    /// What the last known state denies, for an event that could not be committed: the store is full, read-only or held
    /// by somebody else. Not being able to write is no reason to let pass what is known to be OPEN (E7). `None` if the
    /// state cannot be read either, or denies nothing.
    pub fn denial_by_last_known_state(
        &self,
        agent: &AgentRef,
        event: LoopEvent,
        site: CallSite<'_>,
    ) -> Option<Verdict> {
        let event = self.with_context(event, site);
        if self.is_suspended(&agent.session) && !reaches_for_haltline(&event) {
            return None;
        }
        let event = self.loop_event(agent, event);
        // A row that cannot be read is left out: a circuit that was OPEN has a latch, which can.
        let row = |name: &CircuitName| self.store().circuit(self.project().key, name).unwrap_or_default();
        let read = |names: &[CircuitName]| Ok::<_, StoreError>(names.iter().map(row).collect::<Vec<_>>());
        let policy = self.config().policy();
        let decided =
            decide_with_rows(&mut Memory::default(), |memory| decide(memory, policy, &event, self.now()), read);
        let verdict = decided.ok()?.ok()?.verdict;
        verdict.denies().then_some(verdict)
    }

    /// The event with the context of its call, if it is the start of one.
    fn with_context(&self, event: LoopEvent, site: CallSite<'_>) -> LoopEvent {
        let LoopEvent::ToolStart { call, response, action, context: _ } = event else { return event };
        let (guarded, touched) = match self.uses_files() {
            true => (
                self.constraints_guarding(&action),
                self.touched_files(&action, site.working_directory, site.client_folder),
            ),
            false => (Vec::new(), Vec::new()),
        };
        let unread = action.script.as_ref().map_or(0, |script| script.unread_bytes());
        if unread > 0 {
            let kilobytes = unread.div_ceil(1024);
            self.add_notice(format!(
                "haltline did not read {kilobytes} KB of a command that is too long or nested too deeply; in that \
                 part, guards and self-protection compare only words"
            ));
        }
        let protections = Protections { guarded, touched, tampering: tampering(&action, self.own_files(), site) };
        LoopEvent::ToolStart { call, response, action, context: CallContext::Gathered(protections) }
    }

    /// The constraints that guard an action, with what their files say now (C8).
    fn constraints_guarding(&self, action: &Action) -> Vec<Guarded> {
        let list = guards::path(self.state_folder(), self.project().key);
        let (root, directory) = (&self.project().root, self.config().constraint_directory());
        let circuits = || guards::rules(self.store().circuits(self.project().key).unwrap_or_default());
        let report_altered = || self.add_notice(altered_cache(&list));
        let place = Place { root, directory, defaults: &self.config().policy().constraint };
        let guards = Guards::load(&list, place, self.now().at, circuits, report_altered);
        let ids = guards.covering(action, root).into_iter();
        ids.map(|id| Guarded { file: self.rule_file(&id).ok().flatten(), id }).collect()
    }

    fn commit_agent_event(&self, agent: &AgentRef, event: LoopEvent) -> Result<Committed, EngineError> {
        self.commit(self.loop_event(agent, event))
    }

    fn loop_event(&self, agent: &AgentRef, event: LoopEvent) -> Event {
        let budgets = &self.config().policy().loop_.budgets;
        // The clock is read for the calendar only if a budget needs it.
        let calendar = if budgets.is_machine_set() { calendar(self.now().at, budgets) } else { None };
        Event::Loop { agent: agent.clone(), event, policy: self.policy_digest().to_owned(), calendar }
    }

    /// Adds to a denial the result that the call had again and again. Facts hold only digests, so the text is read from
    /// the journal, and only for a denial.
    fn with_evidence(&self, verdict: Verdict, agent: &AgentRef, identity: Digest) -> Verdict {
        let add = |reason: Reason| match self.last_result(agent, identity) {
            Some(result) => {
                let text = match reason.text.split_once('\n') {
                    Some((first, rest)) => format!("{first}\nLast answer: {result}\n{rest}"),
                    None => format!("{}\nLast answer: {result}", reason.text),
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

    /// The last stored result of this action by this agent, shown as evidence when haltline denies the call again.
    fn last_result(&self, agent: &AgentRef, identity: Digest) -> Option<String> {
        let row = CircuitName::agent(&agent.session, agent.sub_agent.as_deref());
        let history = self.store().history(self.project().key, &row, EVIDENCE_FACTS_MAX).ok()?;
        incident::last_result(&history, identity)
    }

    /// Cleans the project's memory folder at the start of a session (L9). Returns a message if it cleaned anything or
    /// failed.
    fn protect_memory(&self, agent: &AgentRef) -> Option<String> {
        let folder = self.project().root.join(self.config().memory_directory());
        if !folder.is_dir() {
            return None;
        }
        if let Err(error) = reject_linked_folder(&self.project().root, &folder) {
            return Some(format!("memory cleanup: {error}"));
        }
        let bytes = memory_protection::bytes_to_clean(&folder);
        if self.answers_soon() && bytes > HOOK_CLEANUP_BYTES_MAX {
            self.defer_cleanup();
            let megabytes = bytes.div_ceil(1 << 20);
            return Some(format!(
                "Memory cleanup: {} has {megabytes} MB, so haltline cleans it in the background (haltline memory report)",
                folder.display()
            ));
        }
        match memory_protection::clean(&folder, &self.config().memory_limits(), Some(&agent.session), self.now().at) {
            Ok(done) => {
                for problem in &done.problems {
                    self.add_notice(problem);
                }
                let has_work = done.files_rotated + done.sessions_pruned + done.states_truncated > 0;
                has_work.then(|| {
                    let cleanup = LoopEvent::Cleanup {
                        files_rotated: done.files_rotated as u64,
                        sessions_pruned: done.sessions_pruned as u64,
                        bytes_freed: done.bytes_freed,
                    };
                    if let Err(error) = self.commit_agent_event(agent, cleanup) {
                        self.add_notice(error);
                    }
                    let freed = done.bytes_freed.div_ceil(1024);
                    format!(
                        "Memory cleanup: {} files rotated, {} sessions pruned, {freed} KB freed",
                        done.files_rotated, done.sessions_pruned
                    )
                })
            }
            Err(error) => Some(format!("haltline: {}: {error}", folder.display())),
        }
    }
}

/// True if a constraint guards the call, so that the decision may record a violation.
fn is_guarded(event: &LoopEvent) -> bool {
    match event {
        LoopEvent::ToolStart { context: CallContext::Gathered(protections), .. } => !protections.guarded.is_empty(),
        _other => false,
    }
}

/// True if the event would harm haltline itself, which stays denied during a pause: an agent must not extend one.
fn reaches_for_haltline(event: &LoopEvent) -> bool {
    match event {
        LoopEvent::ToolStart { context: CallContext::Gathered(protections), .. } => protections.tampering.is_some(),
        LoopEvent::HooksRemoved { .. } | LoopEvent::Forged { .. } => true,
        _other => false,
    }
}

/// What an action would do to haltline, as the end of "this would …".
fn tampering(action: &Action, own_files: &OwnFiles, site: CallSite<'_>) -> Option<String> {
    let OwnFiles { state_folder, user_config } = own_files;
    let config_folder = own_config_folder(user_config);
    if let Some(script) = &action.script {
        if let Some(verb) = shell::operator_verb(script) {
            return Some(format!("run `haltline {verb}`"));
        }
        if shell::switches_off(script) {
            return Some("start a program with HALTLINE=off".to_owned());
        }
        // A path that is not UTF-8 cannot be written in a command either.
        let own = [state_folder, config_folder].map(|path| OwnPath::new(path.to_str().unwrap_or_default(), site.home));
        match shell::touched(script, &own, site.home, site.working_directory.to_str()) {
            Some(0) => return Some(CHANGES_STORE.to_owned()),
            Some(1) => return Some(CHANGES_CONFIG.to_owned()),
            Some(_) => return Some("replace haltline's program".to_owned()),
            None => {}
        }
    }
    if !action.may_write() {
        return None;
    }
    let changes = |path: &String| {
        let path = site.working_directory.join(without_home(path, site.home));
        let is_below = |folder: &Path| path.starts_with(folder);
        let store = is_below(state_folder).then_some(CHANGES_STORE);
        store.or(is_below(config_folder).then_some(CHANGES_CONFIG))
    };
    action.path.iter().chain(&action.targets).find_map(changes).map(str::to_owned)
}

const CHANGES_STORE: &str = "change haltline's store";
const CHANGES_CONFIG: &str = "change haltline's configuration";

/// The folder of the user's configuration if it is haltline's own, else the file.
fn own_config_folder(user_config: &Path) -> &Path {
    let folder = user_config.parent().filter(|folder| folder.ends_with("haltline"));
    folder.unwrap_or(user_config)
}

/// A path of a file tool with `~` replaced.
fn without_home<'a>(path: &'a str, home: Option<&str>) -> std::borrow::Cow<'a, Path> {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest).into(),
        (Some(_) | None, _) => Path::new(path).into(),
    }
}
