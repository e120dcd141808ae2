//! A work tree with constraint files and a real store, with time moved by hand.

use std::fs;
use std::path::PathBuf;

use haltline_core::constraint::{Circuit, ConstraintEvent, StateName};
use haltline_core::{CircuitName, Moment, Operator, State};
use haltline_engine::clock::Clock;
use haltline_engine::config::Config;
use haltline_engine::journal::verify;
use haltline_engine::project::Project;
use haltline_engine::store::{Sqlite, SqliteOptions, Store};
use haltline_engine::{Engine, OwnFiles, set_aside_files};

use crate::support::{constraint, moment, options};

pub const DAY_MS: u64 = 86_400_000;

/// A work tree with constraint files, and a state folder elsewhere.
pub struct Tree {
    pub root: tempfile::TempDir,
    pub state: tempfile::TempDir,
    pub journal_days: u32,
}

impl Tree {
    pub fn new() -> Self {
        let (root, state) = (tempfile::tempdir().expect("temp folder"), tempfile::tempdir().expect("temp folder"));
        let tree = Self { root, state, journal_days: 400 };
        fs::create_dir_all(tree.file("")).expect("created");
        tree.constrain("force-push", "circuit_breaker:\n  violation_threshold: 3\n  dedup_seconds: 0\n");
        tree
    }

    /// Writes a constraint's file with this front matter.
    pub fn constrain(&self, id: &str, front_matter: &str) {
        self.write(&format!("{id}.md"), &format!("---\nid: {id}\n{front_matter}---\n"));
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.root.path().join("docs/constraints").join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).expect("the file is there")
    }

    pub fn write(&self, name: &str, content: &str) {
        fs::write(self.file(name), content).expect("the file can be written");
    }

    pub fn project(&self) -> Project {
        Project::find(self.root.path(), &["docs/constraints"]).expect("the folder is there")
    }

    pub fn store(&self, now: Moment) -> Sqlite {
        Sqlite::new(self.state.path(), SqliteOptions { journal_days: self.journal_days, ..options(now) })
    }

    /// A new process at a moment, which first adopts what others wrote.
    pub fn engine(&self, now: Moment) -> Engine<Sqlite> {
        let config = Config::load(&self.state.path().join("config.toml"), Some(self.root.path()), || None);
        let state_folder = self.state.path().to_owned();
        let own_files = OwnFiles { user_config: state_folder.join("config.toml"), state_folder };
        let engine = Engine::new(self.store(now), self.project(), config, Clock::Fixed(now), own_files);
        engine.import_mirror();
        engine
    }

    /// Reports an event of the constraint and returns the notices for the person.
    pub fn report(&self, now: Moment, session: &str, event: ConstraintEvent) -> Vec<String> {
        let engine = self.engine(now);
        engine.constraint(&constraint("force-push"), Some(session), event).expect("taken");
        engine.take_notices()
    }

    pub fn violate(&self, now: Moment, session: &str, action: &str) -> Vec<String> {
        self.report(now, session, ConstraintEvent::Violation { action: action.to_owned() })
    }

    /// The circuit as the store has it.
    pub fn circuit(&self) -> Circuit {
        let name = CircuitName::constraint(&constraint("force-push"));
        let state = self.store(minute(0)).circuit(self.project().key, &name).expect("read");
        state.as_ref().and_then(State::as_constraint).expect("the circuit is there").clone()
    }

    pub fn state_name(&self, now: Moment) -> StateName {
        self.circuit().state_at(now).name()
    }

    pub fn set_aside(&self, name: &str) -> Vec<PathBuf> {
        set_aside_files(&self.file(""), &format!("{name}.corrupt-"))
    }

    /// Deletes the store and keeps the state file.
    pub fn lose_store(&self, with_latches: bool) {
        for name in ["state.db", "state.db-wal", "state.db-shm"] {
            fs::remove_file(self.state.path().join(name)).expect("there was a store");
        }
        if with_latches {
            fs::remove_dir_all(self.state.path().join("latches")).ok();
        }
    }

    pub fn assert_sound(&self) {
        let found = verify(&self.store(minute(0)), self.project().key).expect("read");
        assert_eq!(found.problems, Vec::<String>::new());
    }
}

/// Minutes after a morning that is not a whole second.
pub fn minute(minutes: u64) -> Moment {
    moment("2026-02-12T10:30:00.789Z").plus_millis(minutes * 60_000)
}

pub fn operator() -> Operator {
    Operator { who: "ana".to_owned(), reason: Some("root cause fixed".to_owned()) }
}

/// A state file of one circuit, as another program wrote it.
pub fn foreign(state: &str, last_trip: &str, violations: &[(&str, &str, &str)]) -> String {
    let line = |(timestamp, action, session): &(&str, &str, &str)| {
        format!(r#"{{"timestamp": "{timestamp}", "action": "{action}", "session": "{session}"}}"#)
    };
    let lines: Vec<String> = violations.iter().map(line).collect();
    format!(
        r#"{{"force-push": {{"state": "{state}", "violations": [{}], "last_trip": {last_trip}, "last_reset": null}}}}"#,
        lines.join(", ")
    )
}
