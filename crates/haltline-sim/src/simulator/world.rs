//! Folders, clocks and processes of a simulated machine.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use haltline_core::{Boot, ConstraintId, Instant, Moment};
use haltline_engine::clock::Clock;
use haltline_engine::config::Config;
use haltline_engine::mirror::STATE_FILE;
use haltline_engine::project::Project;
use haltline_engine::store::{Sqlite, SqliteOptions};
use haltline_engine::{Engine, OwnFiles};
use tempfile::TempDir;

use crate::chance::Chance;

pub(super) const PROJECTS: usize = 2;
/// Constraints with a file in every project, and what their front matter sets.
const WITH_FILE: [(&str, &str); 3] = [
    ("force-push", "violation_threshold: 3\n  window_days: 30\n  cooldown_hours: 24\n  dedup_seconds: 300"),
    ("deploy", "violation_threshold: 2\n  window_days: 1\n  cooldown_hours: 1\n  dedup_seconds: 0"),
    ("drop-table", "violation_threshold: 1\n  window_days: 3\n  cooldown_hours: 48\n  dedup_seconds: 60"),
];
/// All ids; the last two are known from state files only, if at all.
pub(super) const IDS: [&str; 5] = ["force-push", "deploy", "drop-table", "legacy-one", "legacy-two"];
/// The number of processes that stay alive from step to step.
const PROCESSES_MAX: usize = 4;
const HOUR_MS: u64 = 3_600_000;

/// A simulated machine.
pub(super) struct World {
    folder: TempDir,
    pub(super) projects: Vec<Project>,
    wall_ms: i64,
    boot: Boot,
    /// Facts are folded after this many days.
    journal_days: u32,
    processes: Vec<(usize, Engine<Sqlite>)>,
    pub(super) salvages: usize,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let projects = (0..PROJECTS).map(|number| {
            let root = folder.path().join(format!("project-{number}"));
            let constraints = root.join("docs/constraints/active");
            fs::create_dir_all(&constraints).expect("the temporary folder can be written");
            for (id, limits) in WITH_FILE {
                let text = format!("---\nid: {id}\ncircuit_breaker:\n  {limits}\n---\n");
                fs::write(constraints.join(format!("{id}.md")), text).expect("the temporary folder can be written");
            }
            // By name and not by folder, so that the same seed gives the same keys.
            Project::new(PathBuf::from(format!("/simulated/project-{number}")), root)
        });
        let projects = projects.collect();
        let journal_days = if seed.is_multiple_of(2) { 400 } else { 10 };
        let boot = Boot::new(1, 60_000);
        Self { folder, projects, wall_ms: 1_770_890_400_000, boot, journal_days, processes: Vec::new(), salvages: 0 }
    }

    pub(super) fn now(&self) -> Moment {
        Moment { at: Instant::from_millis(self.wall_ms), boot: Some(self.boot) }
    }

    pub(super) fn now_text(&self) -> String {
        format!("{} boot {} up {} s", self.now().at, self.boot.id, self.boot.uptime_ms / 1000)
    }

    pub(super) fn pass_time(&mut self, chance: &mut Chance) {
        let millis = match chance.below(10) {
            0 => 0,
            1..=4 => chance.below(300_000),
            5..=8 => chance.below(4 * HOUR_MS),
            _long => chance.below(72 * HOUR_MS),
        };
        self.boot.uptime_ms += millis;
        self.wall_ms += i64::try_from(millis).expect("a few days");
    }

    /// Moves the wall clock only. A real running process would see that at once, but the clocks of these processes are
    /// fixed, so they end.
    pub(super) fn set_wall_clock(&mut self, by_millis: i64) {
        self.end_processes();
        self.wall_ms += by_millis;
    }

    /// Ends all processes; the boot clock starts over.
    pub(super) fn reboot(&mut self) {
        self.end_processes();
        self.boot = Boot::new(self.boot.id + 1, 1_000);
    }

    pub(super) fn end_processes(&mut self) {
        self.processes.clear();
    }

    pub(super) fn state_folder(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(super) fn database(&self) -> PathBuf {
        self.state_folder().join("state.db")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.state_folder().join("state.db-wal")
    }

    pub(super) fn mirror(&self, project: usize) -> PathBuf {
        self.projects[project].root.join("docs/constraints").join(STATE_FILE)
    }

    /// Starts a new process.
    pub(super) fn start(&self, project: usize) -> Engine<Sqlite> {
        let clock = Clock::Fixed(self.now());
        let options = SqliteOptions {
            timeout: Duration::from_secs(60),
            bytes_max: 64 * 1024 * 1024,
            journal_days: self.journal_days,
            clock,
        };
        let store = Sqlite::new(&self.state_folder(), options);
        let user_config = PathBuf::from("/nonexistent/haltline.toml");
        let config = Config::load(&user_config, None, || None);
        let own_files = OwnFiles { state_folder: self.state_folder(), user_config };
        Engine::new(store, self.projects[project].clone(), config, clock, own_files)
    }

    /// Runs `work` in a process of a project. A process that was kept alive may have read its clock a while ago.
    pub(super) fn in_process<T>(
        &mut self,
        project: usize,
        is_fresh: bool,
        work: impl FnOnce(&Engine<Sqlite>) -> T,
    ) -> T {
        let index = self.processes.iter().position(|(owner, _)| *owner == project).filter(|_| !is_fresh);
        let engine = match index {
            Some(index) => self.processes.remove(index).1,
            None => self.start(project),
        };
        let result = work(&engine);
        self.salvages += engine.store().take_salvages().len();
        self.processes.insert(0, (project, engine));
        self.processes.truncate(PROCESSES_MAX);
        result
    }
}

/// Parses one of [`IDS`].
pub(super) fn constraint_id(id: &str) -> ConstraintId {
    ConstraintId::parse(id).expect("all ids here are valid")
}
