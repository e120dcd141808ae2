//! The folder where a loop keeps its lease and the output of its last iterations, with a limit on both.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use haltline_core::{CircuitName, digest_hex};
use haltline_engine::redact::mask;

use crate::run::KeptOutput;

/// How many iterations of a run keep their output.
const ITERATIONS_KEPT: usize = 3;
/// How many runs keep their folder.
const RUNS_KEPT: usize = 20;

pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Creates the folder and deletes the oldest others.
    pub fn open(state_folder: &Path, phase_run: &CircuitName, project: i64) -> io::Result<Self> {
        let runs = state_folder.join("runs");
        let name = digest_hex(&[phase_run.as_str().as_bytes(), &project.to_be_bytes()], 8);
        let path = runs.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        forget_oldest(&runs, &path);
        Ok(Self { path })
    }

    /// Path of the lease.
    pub fn lease(&self) -> PathBuf {
        self.path.join("lease")
    }

    /// Writes the output of an iteration, with secrets masked, and returns the path.
    pub fn keep(&self, iteration: u64, output: &KeptOutput) -> io::Result<PathBuf> {
        let path = self.path.join(format!("iteration-{iteration:06}.log"));
        let mut file = fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path)?;
        for (stream, kept) in [("standard output", &output.out), ("standard error", &output.err)] {
            writeln!(file, "== {stream} ==")?;
            file.write_all(mask(&kept.text()).as_bytes())?;
            writeln!(file)?;
        }
        let mut logs: Vec<PathBuf> = entries(&self.path, |name| name.starts_with("iteration-"));
        logs.sort();
        for old in logs.iter().rev().skip(ITERATIONS_KEPT) {
            fs::remove_file(old).ok();
        }
        Ok(path)
    }
}

fn entries(folder: &Path, is_selected: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let selected = entries.flatten().filter(|entry| is_selected(&entry.file_name().to_string_lossy()));
    selected.map(|entry| entry.path()).collect()
}

/// Deletes all but the newest folders. A run in progress keeps its own: its lease is locked, and its folder is among
/// the newest because it writes.
fn forget_oldest(runs: &Path, own: &Path) {
    let mut others: Vec<(std::time::SystemTime, PathBuf)> = entries(runs, |_any| true)
        .into_iter()
        .filter(|path| path != own)
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    others.sort();
    for (_, old) in others.iter().rev().skip(RUNS_KEPT) {
        let lease = fs::File::open(old.join("lease"));
        if lease.is_ok_and(|lease| lease.try_lock().is_err()) {
            continue;
        }
        fs::remove_dir_all(old).ok();
    }
}

/// Returns a random id that no other run has.
pub fn run_id() -> io::Result<String> {
    let mut random = [0; 8];
    fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(digest_hex(&[&random], 8))
}
