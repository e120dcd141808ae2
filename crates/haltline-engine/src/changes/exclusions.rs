//! What never counts as work: files that the runners write themselves, and what the caller names.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Folders with generated or downloaded files: not searched for repositories, and skipped where there is no git.
const BUILT_FOLDERS: [&str; 24] = [
    "node_modules",
    "bower_components",
    "target",
    "dist",
    "build",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".cache",
    ".gradle",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".terraform",
    ".dart_tool",
    "DerivedData",
    "Pods",
];

/// The same rules as [`is_runner_state`] as git pathspecs, to leave out commits that change nothing else.
const RUNNER_PATTERNS: [&str; 9] = [
    "**/.prp-session/**",
    "**/.haltline*",
    "**/.haltline*/**",
    "**/.ralph/.*",
    "**/.ralph/.*/**",
    "**/.ralph/logs/**",
    "**/.ralph/**/*.log",
    "**/.ralph/status.json",
    "**/.ralph/progress.json",
];

/// What does not count in one snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct Exclusions {
    /// Absolute paths.
    listed: Vec<PathBuf>,
}

impl Exclusions {
    /// The caller's list; relative paths start at `root`.
    pub(super) fn new(root: &Path, listed: &[PathBuf]) -> Self {
        Self { listed: listed.iter().map(|path| root.join(path)).collect() }
    }

    pub(super) fn listed(&self) -> &[PathBuf] {
        &self.listed
    }

    /// True if `path` below `top` counts.
    pub(super) fn counts(&self, top: &Path, path: &Path) -> bool {
        if is_runner_state(path) {
            return false;
        }
        let whole = if self.listed.is_empty() { PathBuf::new() } else { top.join(path) };
        !self.listed.iter().any(|listed| whole.starts_with(listed))
    }

    /// The same rules as git pathspecs, for the repository at `top`.
    pub(super) fn pathspecs(&self, top: &Path) -> Vec<Vec<u8>> {
        let runners = RUNNER_PATTERNS.iter().map(|pattern| format!(":(exclude,top,glob){pattern}").into_bytes());
        let mut specs: Vec<Vec<u8>> = runners.collect();
        for inside in self.listed.iter().filter_map(|path| path.strip_prefix(top).ok()) {
            if !inside.as_os_str().is_empty() {
                specs.push([b":(exclude,top,literal)", inside.as_os_str().as_bytes()].concat());
            }
        }
        specs
    }
}

/// True if an untracked path is what tools leave behind when they build or run: it says nothing about the work, even
/// where nobody has told git to ignore it. A file that git tracks always counts.
pub(super) fn is_build_leaving(path: &Path) -> bool {
    let is_leaving = |name: &[u8]| matches!(name, b"target" | b"__pycache__" | b".DS_Store") || is_cache(name);
    let is_compiled = path.extension().is_some_and(|extension| extension == "pyc" || extension == "pyo");
    is_compiled || path.iter().map(OsStrExt::as_bytes).any(is_leaving)
}

/// True if tools keep only caches in folders of that name.
fn is_cache(name: &[u8]) -> bool {
    name == b".cache" || (name.starts_with(b".") && name.ends_with(b"_cache")) || name.ends_with(b"-cache")
}

/// True if a folder of that name holds generated or downloaded files.
pub(super) fn is_built(name: &[u8]) -> bool {
    BUILT_FOLDERS.iter().any(|built| built.as_bytes() == name)
}

/// True if a runner keeps its own state or log at the path. Plans and prompts below `.ralph` are work.
fn is_runner_state(path: &Path) -> bool {
    let mut components = path.iter().map(OsStrExt::as_bytes);
    while let Some(component) = components.next() {
        if component == b".prp-session" || component.starts_with(b".haltline") {
            return true;
        }
        if component == b".ralph" {
            let below: Vec<&[u8]> = components.clone().collect();
            let is_state = match below[..] {
                [] => false,
                [name] if name == b"status.json" || name == b"progress.json" => true,
                [first, ..] if first.starts_with(b".") || (first == b"logs" && below.len() > 1) => true,
                [.., last] => last.ends_with(b".log"),
            };
            if is_state {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_builds_leave_behind_is_no_work() {
        for path in
            ["a/__pycache__/x.cpython-313.pyc", "x.pyc", "node_modules/.cache/x", "target/debug/x", ".pytest_cache/v"]
        {
            assert!(is_build_leaving(Path::new(path)), "{path}");
        }
        for path in ["src/target.rs", "src/cache.rs", "targets/x", "pyc", "docs/build/a.md"] {
            assert!(!is_build_leaving(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn state_and_logs_of_runners_do_not_count_but_their_plans_do() {
        let exclusions = Exclusions::new(Path::new("/top"), &[PathBuf::from("own/state"), PathBuf::from("/top/sub/x")]);
        let counts = |path: &str| exclusions.counts(Path::new("/top"), Path::new(path));
        for path in [
            ".prp-session/circuit-breaker.json",
            "sub/.prp-session/metrics.json",
            ".haltline.toml",
            ".haltline/run/1.json",
            ".ralph/.circuit_breaker_state",
            ".ralph/logs/ralph.txt",
            ".ralph/live.log",
            ".ralph/deep/er.log",
            ".ralph/status.json",
            "own/state",
            "own/state/file",
            "sub/x",
        ] {
            assert!(!counts(path), "{path}");
        }
        for path in [".ralph/fix_plan.md", ".ralph/specs/a.md", ".ralph/logs", "status.json", "own/states", "a.log"] {
            assert!(counts(path), "{path}");
        }
    }
}
