//! Where a loop keeps its lease and what its last iterations said, with a bound on all of it.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use haltline_core::{CircuitName, digest_hex};
use haltline_engine::redact::mask;

use crate::run::Kept;

/// So many iterations of a run keep their output.
const ITERATIONS_KEPT: usize = 3;
/// So many runs keep anything.
const RUNS_KEPT: usize = 20;

/// The folder of one run.
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes it, and forgets the oldest others.
    pub fn open(state_folder: &Path, course: &CircuitName, project: i64) -> io::Result<Self> {
        let runs = state_folder.join("runs");
        let name = digest_hex(&[course.as_str().as_bytes(), &project.to_be_bytes()], 8);
        let path = runs.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        forget_oldest(&runs, &path);
        Ok(Self { path })
    }

    /// The lease's file.
    pub fn lease(&self) -> PathBuf {
        self.path.join("lease")
    }

    /// Keeps what an iteration said, without secrets, and says where.
    pub fn keep(&self, iteration: u64, output: &Kept) -> io::Result<PathBuf> {
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

fn entries(folder: &Path, is_meant: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let meant = entries.flatten().filter(|entry| is_meant(&entry.file_name().to_string_lossy()));
    meant.map(|entry| entry.path()).collect()
}

/// A run that goes on has a lease that is locked; it is among the newest anyway, because it writes.
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

/// A name no other run has.
pub fn run_id() -> io::Result<String> {
    let mut random = [0; 8];
    fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(digest_hex(&[&random], 8))
}
