//! What every command works with: the engine of the current project, and how to print results.

use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use haltline_core::Operator;
use haltline_engine::clock::Clock;
use haltline_engine::config::{Config, PROJECT_FILE};
use haltline_engine::project::Project;
use haltline_engine::store::{Committed, Sqlite, Store};
use haltline_engine::{ConfigReading, Engine, OwnFiles};
use serde::Serialize;

use crate::environment;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::hook::notice_once::NoticeFiles;
use crate::local_time;
use crate::operator::{self, Proof, Unattended};
use crate::origin;
use crate::view::{AuditView, SCHEMA};

/// How long a command waits for other writers of the store (E2).
pub(crate) const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Without git, the nearest folder that contains one of these is the project, for hooks and commands alike (E14).
pub const PROJECT_MARKERS: &[&str] = &[PROJECT_FILE, "docs/constraints", ".claude"];

/// The engine of a project and the output format.
pub struct Context {
    pub engine: Engine<Sqlite>,
    pub is_json: bool,
    /// The current folder; relative paths on the command line start here.
    pub folder: PathBuf,
    pub(crate) output: Output,
    /// Who runs operator actions, if a front made sure that it is a person.
    pub(crate) person: Option<Operator>,
}

/// Where a command prints its result.
pub(crate) enum Output {
    Standard,
    /// Kept for the front that runs the command in its own process.
    Kept(RefCell<Vec<u8>>),
}

impl Context {
    /// Opens the project that contains `folder`, or the current folder.
    pub fn open(folder: Option<&Path>, is_json: bool, clock: Clock) -> Result<Self, Failure> {
        let context = Self { is_json, ..Self::open_quietly(folder.unwrap_or(Path::new(".")), clock)? };
        if let Some(notice) = context.engine.moved_notice() {
            text::warn(notice.trim_start_matches("haltline: "));
        }
        Ok(context)
    }

    /// Like [`Context::open`], for a front that prints nothing.
    pub fn open_quietly(folder: &Path, clock: Clock) -> Result<Self, Failure> {
        let own_files =
            OwnFiles { state_folder: environment::state_folder()?, user_config: environment::user_config()? };
        Self::open_with(own_files, folder, STORE_TIMEOUT, clock)
    }

    /// Like [`Context::open_quietly`], for a hook, whose command line names its files and whose client waits.
    pub fn open_with(own_files: OwnFiles, folder: &Path, timeout: Duration, clock: Clock) -> Result<Self, Failure> {
        let project = Project::find(folder, PROJECT_MARKERS)
            .map_err(|error| Failure::Plain(format!("folder {}: {error}", folder.display())))?;
        let engine = Engine::open(own_files, project, timeout, ConfigReading::Files, clock);
        engine.record_seen_values();
        let folder = std::path::absolute(folder)?;
        Ok(Self { engine, is_json: true, folder, output: Output::Standard, person: None })
    }

    /// Prints a view to standard output, as JSON or as text that is safe for a terminal. Printing is success: that is
    /// the exit code of a command that has nothing else to say.
    pub fn print<V: Serialize>(&self, view: &V, as_text: impl FnOnce(&V) -> String) -> Result<ExitCode, Failure> {
        self.print_verbatim(view, |view| text::escape_lines(&as_text(view)).into_owned())
    }

    /// Prints a text that a person edits and hands back: safe on a terminal, byte for byte in a file or a pipe.
    pub fn print_document<V: Serialize>(
        &self,
        view: &V,
        as_text: impl FnOnce(&V) -> String,
    ) -> Result<ExitCode, Failure> {
        if std::io::stdout().is_terminal() { self.print(view, as_text) } else { self.print_verbatim(view, as_text) }
    }

    /// Prints a view to standard output, as JSON or as text without escapes, because the person asked for every byte.
    pub fn print_verbatim<V: Serialize>(
        &self,
        view: &V,
        as_text: impl FnOnce(&V) -> String,
    ) -> Result<ExitCode, Failure> {
        if let Output::Kept(kept) = &self.output {
            let mut kept = kept.borrow_mut();
            if self.is_json {
                serde_json::to_writer(&mut *kept, view).map_err(std::io::Error::from)?;
            } else {
                kept.extend(text::without_colour(&as_text(view)).into_bytes());
            }
            return Ok(exit_code::SUCCESS);
        }
        let mut out = std::io::stdout().lock();
        if self.is_json {
            serde_json::to_writer_pretty(&mut out, view).map_err(|error| Failure::from(std::io::Error::from(error)))?;
            writeln!(out)?;
        } else {
            out.write_all(text::with_colour(&as_text(view)).as_bytes())?;
        }
        out.flush()?;
        Ok(exit_code::SUCCESS)
    }

    /// Prints lines beside the result: to standard error, or before the kept text.
    pub fn note(&self, lines: &str) {
        match &self.output {
            Output::Kept(kept) if !self.is_json => kept.borrow_mut().extend(format!("{lines}\n").into_bytes()),
            Output::Standard | Output::Kept(_) => text::note(lines),
        }
    }

    /// Prints that there is nothing to show, which is no error.
    pub fn print_nothing(&self, sentence: &str) -> Result<ExitCode, Failure> {
        let view = serde_json::json!({ "schema": SCHEMA, "found": false, "message": sentence });
        self.print(&view, |_| format!("{sentence}\n"))
    }

    /// Makes sure that a person acts (E6). Call it after everything that could keep the action from being done.
    pub fn confirm(&self, verb: &str, reason: Option<&str>) -> Result<Operator, Failure> {
        self.confirm_with(Proof::Presence, verb, reason)
    }

    /// Like [`Context::confirm`], with the proof that the action needs. While a client runs, the person reads there that
    /// the action was carried out: an agent that passed for a person does not remain unnoticed.
    fn confirm_with(&self, proof: Proof, verb: &str, reason: Option<&str>) -> Result<Operator, Failure> {
        let (operator, place) = match &self.person {
            Some(person) => (Operator { reason: reason.map(str::to_owned), ..person.clone() }, String::new()),
            None if matches!(self.output, Output::Kept(_)) => {
                return Err(Failure::NotOperator(format!("`haltline {verb}` is for people")));
            }
            None => {
                let operator = operator::confirm(verb, reason, proof, || self.unattended())?;
                (operator, ", not in this session".to_owned())
            }
        };
        if !origin::running_clients(&environment::state_folders()).is_empty() {
            let now = self.engine.now().at;
            let notice = format!(
                "haltline: `haltline {verb}` was run at {} by {}{place}. If that was not you: haltline journal show",
                local_time::clock_time(now, now),
                operator.who,
            );
            let notice_files = NoticeFiles::new(Some(self.engine.state_folder()));
            notice_files.defer_notice(None, self.engine.project().key, &notice);
        }
        Ok(operator)
    }

    /// What the user's own configuration file says about operator actions without a terminal.
    pub fn unattended(&self) -> Unattended {
        if !self.engine.config().operator_unattended() {
            return Unattended::Denied;
        }
        match environment::user_config() {
            Ok(file) if self.engine.is_user_config_confirmed(&file) => Unattended::Allowed,
            Ok(file) => Unattended::Unconfirmed(file),
            Err(_no_home) => Unattended::Denied,
        }
    }

    /// Carries out an operator action: a person confirms it, `commit` commits it, and the audit entry names the person.
    pub fn operate(
        &self,
        verb: &str,
        reason: Option<&str>,
        commit: impl FnOnce(Operator) -> Result<Committed, Failure>,
    ) -> Result<(Committed, AuditView), Failure> {
        self.operate_with(Proof::Presence, verb, reason, commit)
    }

    /// Like [`Context::operate`], with the proof that the action needs.
    pub fn operate_with(
        &self,
        proof: Proof,
        verb: &str,
        reason: Option<&str>,
        commit: impl FnOnce(Operator) -> Result<Committed, Failure>,
    ) -> Result<(Committed, AuditView), Failure> {
        let operator = self.confirm_with(proof, verb, reason)?;
        let committed = commit(operator.clone())?;
        let audit = AuditView::new(&committed, operator);
        Ok((committed, audit))
    }

    /// Prints to standard error which configuration files and values are ignored.
    pub fn print_config_errors(&self) {
        print_config_errors(self.engine.config());
    }

    /// Leaves the notices of trips to the next hook: the person may see only the client.
    pub fn defer_trip_notices(&self) {
        let session = environment::session();
        for notice in self.engine.take_trip_notices() {
            let notice_files = NoticeFiles::new(Some(self.engine.state_folder()));
            notice_files.defer_notice(session.as_deref(), self.engine.project().key, &notice);
        }
    }

    /// Prints repairs of the store and other notices of the engine to standard error.
    pub fn print_notices(&self) {
        for salvage in self.engine.store().take_salvages() {
            text::warn(&text::salvage(&salvage, self.engine.store().folder()));
        }
        print_notices(&self.engine);
    }
}

/// Prints to standard error which configuration files and values are ignored.
pub fn print_config_errors(config: &Config) {
    for error in &config.errors {
        text::warn(&format!("{error} (haltline ignores this file until it is fixed: haltline config check)"));
    }
    for warning in &config.warnings {
        text::warn(&warning.to_string());
    }
}

/// Prints the notices of an engine to standard error.
pub fn print_notices<S: Store>(engine: &Engine<S>) {
    for notice in engine.take_notices() {
        text::warn(&notice);
    }
}
