//! haltline as a library: ask before each call of an agent, report how it ended.
//!
//! A [`Breaker`] guards one project. It keeps its state in files, shared with every hook and command of the machine, or
//! in memory, without any input or output. It is `Send` and `Sync`; one event is decided at a time.
//!
//! ```
//! use haltline_core::Policy;
//! use haltline_core::identity::{CallResult, Outcome};
//! use haltline_engine::{Admission, Breaker};
//!
//! let breaker = Breaker::in_memory(Policy::default());
//! let session = breaker.session("session-1");
//! let mut runs = 0;
//! let denial = loop {
//!     match session.before("bash", r#"{"command":"cargo test"}"#)? {
//!         Admission::Run(permit) => {
//!             runs += 1;
//!             permit.finish(CallResult::new(Outcome::Failed, Some(101), "error[E0308]: mismatched types"))?;
//!         }
//!         Admission::Denied(verdict) => break verdict,
//!     }
//! };
//! assert_eq!(runs, 3);
//! assert!(denial.reason().is_some_and(|reason| reason.code == "HL-FAIL-01" || reason.code == "HL-LOOP-01"));
//! # Ok::<(), haltline_engine::EngineError>(())
//! ```

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haltline_core::attempt::{AttemptEvent, CaseSensitivity, SliceId};
use haltline_core::claim::{ClaimEvent, PipelineName};
use haltline_core::constraint::{Check, ConstraintEvent};
use haltline_core::identity::{Action, CallResult, Outcome};
use haltline_core::loop_::{AgentRef, CallContext, LoopEvent, Usage};
use haltline_core::phase::PhaseEvent;
use haltline_core::{CircuitName, ConstraintId, Event, Policy, Verdict};

use crate::agent_event::CallSite;
use crate::clock::Clock;
use crate::engine::{ConfigReading, Engine, EngineError, OwnFiles};
use crate::phase_run::PhaseRunLocation;
use crate::project::Project;
use crate::store::{InMemory, Sqlite, Store};

/// The client name of sessions that a program reports through this library.
const CLIENT: &str = "library";

/// Where a breaker that keeps its state in files finds them.
#[derive(Clone, Debug)]
pub struct BreakerFiles {
    /// A folder of the project to guard; constraint files and scopes are looked up there.
    pub project: PathBuf,
    pub state_folder: PathBuf,
    /// The user's configuration file; it need not exist.
    pub user_config: PathBuf,
    /// How long an event waits for other processes.
    pub store_timeout: Duration,
}

/// The circuit breaker of one project, for programs that run agents themselves.
pub struct Breaker<S> {
    engine: Mutex<Engine<S>>,
    calls: AtomicU64,
}

impl Breaker<Sqlite> {
    /// Opens the breaker of the project that contains `files.project`. It shares circuits, budgets and incidents with
    /// the hooks and commands that use the same state folder.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use haltline_engine::{Breaker, BreakerFiles};
    ///
    /// let breaker = Breaker::open(BreakerFiles {
    ///     project: ".".into(),
    ///     state_folder: "/var/lib/my-agent/haltline".into(),
    ///     user_config: "/etc/my-agent/haltline.toml".into(),
    ///     store_timeout: Duration::from_secs(1),
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn open(files: BreakerFiles) -> io::Result<Self> {
        let project = Project::find(&files.project, &[])?;
        let own_files = OwnFiles { state_folder: files.state_folder, user_config: files.user_config };
        let engine = Engine::open(own_files, project, files.store_timeout, ConfigReading::Files, Clock::System);
        Ok(Self::new(engine))
    }
}

impl Breaker<InMemory> {
    /// A breaker that keeps everything in memory and touches no file. Its circuits end with it.
    pub fn in_memory(policy: Policy) -> Self {
        Self::new(Engine::in_memory(policy, Clock::System))
    }
}

impl<S: Store> Breaker<S> {
    /// A breaker over an engine that was set up elsewhere.
    pub fn new(engine: Engine<S>) -> Self {
        Self { engine: Mutex::new(engine), calls: AtomicU64::new(0) }
    }

    /// The handle of one session. Two handles of the same name are the same session.
    pub fn session(&self, id: &str) -> Session<'_, S> {
        let agent = AgentRef { session: id.to_owned(), client: CLIENT.to_owned(), ..AgentRef::default() };
        Session { breaker: self, agent }
    }

    /// What an action against a constraint would meet now. Nothing is recorded.
    ///
    /// ```
    /// use haltline_core::constraint::ConstraintEvent;
    /// use haltline_core::{ConstraintId, Policy};
    /// use haltline_engine::Breaker;
    ///
    /// let breaker = Breaker::in_memory(Policy::default());
    /// let id = ConstraintId::parse("no-force-push").expect("a valid id");
    /// assert!(!breaker.check_constraint(&id)?.verdict.denies());
    /// # Ok::<(), haltline_engine::EngineError>(())
    /// ```
    pub fn check_constraint(&self, id: &ConstraintId) -> Result<Check, EngineError> {
        self.engine().check_constraint(id)
    }

    /// Commits an event of a constraint.
    ///
    /// ```
    /// use haltline_core::constraint::ConstraintEvent;
    /// use haltline_core::{ConstraintId, Policy};
    /// use haltline_engine::Breaker;
    ///
    /// let mut policy = Policy::default();
    /// policy.constraint.dedup_seconds = 0;
    /// let breaker = Breaker::in_memory(policy);
    /// let id = ConstraintId::parse("no-force-push").expect("a valid id");
    /// for _ in 0..5 {
    ///     breaker.constraint(&id, ConstraintEvent::Violation { action: "git push --force".to_owned() })?;
    /// }
    /// assert!(breaker.check_constraint(&id)?.verdict.denies());
    /// # Ok::<(), haltline_engine::EngineError>(())
    /// ```
    pub fn constraint(&self, id: &ConstraintId, event: ConstraintEvent) -> Result<Verdict, EngineError> {
        Ok(self.engine().constraint(id, None, event)?.decision.verdict)
    }

    /// Commits an event of the phase run of this name.
    ///
    /// ```
    /// use haltline_core::Policy;
    /// use haltline_core::phase::PhaseEvent;
    /// use haltline_engine::Breaker;
    ///
    /// let breaker = Breaker::in_memory(Policy::default());
    /// let verdict = breaker.phase("nightly", PhaseEvent::Ask { start: None })?;
    /// assert!(!verdict.denies());
    /// # Ok::<(), haltline_engine::EngineError>(())
    /// ```
    pub fn phase(&self, run: &str, event: PhaseEvent) -> Result<Verdict, EngineError> {
        let engine = self.engine();
        let location = PhaseRunLocation::run(engine.project(), Some(run));
        Ok(engine.phase(&location, None, None, event)?.decision.verdict)
    }

    /// Commits an event of a slice.
    pub fn attempt(&self, slice: &SliceId, event: AttemptEvent) -> Result<Verdict, EngineError> {
        let slice = CircuitName::slice(slice, None);
        let case_sensitivity = CaseSensitivity::Sensitive;
        // The program that embeds haltline decides which slices there are.
        let event = Event::Attempt { slice, session: None, case_sensitivity, others: Vec::new(), event };
        Ok(self.engine().handle(event)?.decision.verdict)
    }

    /// Commits an event of the claims of a pipeline.
    pub fn claim(&self, pipeline: &PipelineName, event: ClaimEvent) -> Result<Verdict, EngineError> {
        Ok(self.engine().claims(pipeline, None, event)?.decision.verdict)
    }

    /// What a person should read: problems with files, and what haltline did on its own. Each notice is returned once.
    pub fn take_notices(&self) -> Vec<String> {
        self.engine().take_notices()
    }

    /// A panic while an event was handled leaves the engine usable: its state is what the store committed.
    fn engine(&self) -> MutexGuard<'_, Engine<S>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One session of an agent.
pub struct Session<'a, S> {
    breaker: &'a Breaker<S>,
    agent: AgentRef,
}

/// Whether a call may run.
pub enum Admission<'a, S: Store> {
    Run(Permit<'a, S>),
    /// `Deny` or `Stop`, with the reason to hand to the model.
    Denied(Verdict),
}

/// The right to run one call. Report its result with [`Permit::finish`]; a permit that is dropped counts as a call whose
/// outcome nobody knows.
pub struct Permit<'a, S: Store> {
    session: &'a Session<'a, S>,
    call: Option<String>,
    /// `Pass`, or `Warn` with the reason to hand to the model.
    pub verdict: Verdict,
}

impl<S: Store> Session<'_, S> {
    /// Asks whether a call may run. `input` is the tool's input as JSON text.
    pub fn before(&self, tool: &str, input: &str) -> Result<Admission<'_, S>, EngineError> {
        // Another process may guard the same session with the same store.
        let number = self.breaker.calls.fetch_add(1, Ordering::Relaxed);
        let call = format!("call-{}-{number}", std::process::id());
        let action = Box::new(Action::new(tool, input, None));
        let context = CallContext::Missing;
        let verdict = self.report(LoopEvent::ToolStart { call: call.clone(), response: None, action, context })?;
        Ok(match verdict {
            Verdict::Pass | Verdict::Warn(_) => Admission::Run(Permit { session: self, call: Some(call), verdict }),
            Verdict::Deny(_) | Verdict::Stop(_) => Admission::Denied(verdict),
        })
    }

    /// Reports a prompt that a person typed: it ends escalations and starts the counting of patterns from zero.
    pub fn prompt(&self) -> Result<Verdict, EngineError> {
        self.report(LoopEvent::Prompt { by_user: true, bypass: false })
    }

    /// Reports what a model response used, and returns what the budgets say. `cost` is in millionths of a dollar.
    pub fn model(&self, usage: Option<Usage>, cost: Option<u64>) -> Result<Verdict, EngineError> {
        self.report(LoopEvent::Message { usage, cost, model: None, range: None, last_response: None, text: None })
    }

    /// Reports that the session is over.
    pub fn end(&self, reason: &str) -> Result<(), EngineError> {
        self.report(LoopEvent::SessionEnd { reason: reason.to_owned() }).map(drop)
    }

    fn report(&self, event: LoopEvent) -> Result<Verdict, EngineError> {
        let engine = self.breaker.engine();
        let working_directory: &Path = &engine.project().root;
        let site = CallSite { working_directory, client_folder: None, home: None };
        Ok(engine.handle_agent_event(&self.agent, event, site)?.verdict)
    }
}

impl<S: Store> Permit<'_, S> {
    /// Reports how the call ended.
    pub fn finish(mut self, result: CallResult) -> Result<(), EngineError> {
        self.report_end(result)
    }

    fn report_end(&mut self, result: CallResult) -> Result<(), EngineError> {
        let Some(call) = self.call.take() else { return Ok(()) };
        let event = LoopEvent::ToolEnd { call, action: None, result: Box::new(result) };
        self.session.report(event).map(drop)
    }
}

impl<S: Store> Drop for Permit<'_, S> {
    fn drop(&mut self) {
        // Nobody is left to hear of a failing store; the call then counts as one whose end was never seen.
        self.report_end(CallResult::new(Outcome::Unknown, None, "")).ok();
    }
}
