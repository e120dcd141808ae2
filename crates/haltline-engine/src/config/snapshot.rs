//! The configuration as it was last put together, for hooks: one small file instead of three to parse.
//!
//! It holds only what the files set, so that defaults are always this program's own. It counts while every file it
//! was made from is stamped as it was and the project's trust is the same; on any doubt the files are read. It is not
//! kept while a file is so young that another change could leave the same stamp.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use haltline_core::trust::{Trust, Values};
use haltline_core::{Instant, Policy, digest_hex};
use serde::{Deserialize, Serialize};

use super::breaker_file::BREAKER_FILE;
use super::key::Value;
use super::keys::KEYS;
use super::layer::ConfigError;
use super::{Config, Origin, PROJECT_FILE, Setting, Waiting, policy};
use crate::file::{Lasting, write_whole};
use crate::project::Project;

/// The longest snapshot that is read, in bytes.
const BYTES_MAX: u64 = 1024 * 1024;
/// How many snapshots are kept before all are made anew.
const FILES_MAX: usize = 256;
/// A file must have rested this long before its stamp is relied on: the coarsest clock of a file system, and some.
const REST_MS: i64 = 3000;

/// Where a project's configuration comes from, and where its snapshot is kept.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Holds the snapshots.
    pub state_folder: &'a Path,
    /// The user's file.
    pub user_file: &'a Path,
    /// The project, with the work tree one is in.
    pub project: &'a Project,
}

/// The file's shape.
#[derive(Debug, Serialize, Deserialize)]
struct Snapshot {
    version: String,
    inputs: Vec<Input>,
    trust: Option<Trust>,
    settings: Vec<Saved>,
    project_file: Option<(PathBuf, String)>,
    asked: Option<Values>,
    errors: Vec<ConfigError>,
    warnings: Vec<ConfigError>,
}

/// A file the configuration was made from.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Input {
    path: PathBuf,
    /// `None` where there was no such file.
    stamp: Option<Stamp>,
}

/// What changes when a file does. The time of change cannot be set by programs, unlike that of modification.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    changed: (i64, i64),
    modified: (i64, i64),
    size: u64,
    inode: u64,
    device: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    key: String,
    value: Value,
    origin: Origin,
    waiting: Vec<(Value, String)>,
}

/// The configuration in force, from the snapshot where that can be relied on. `trusted` is asked either way.
pub fn load_or_compile(places: Places<'_>, now: Instant, trusted: impl FnOnce() -> Option<Trust>) -> Config {
    let root = &places.project.root;
    let trust = trusted();
    let before = inputs(places);
    if before.iter().all(|input| input.stamp.is_none()) {
        // Nothing to parse: faster than any snapshot.
        return Config::load(places.user_file, Some(root), || trust);
    }
    let path = path(places);
    if let Some(config) = read(&path, &before, trust.as_ref()) {
        return config;
    }
    let config = Config::load(places.user_file, Some(root), || trust.clone());
    let has_rested = |input: &Input| {
        let changed = input.stamp.as_ref().map_or(i64::MIN, |stamp| stamp.changed.0.saturating_mul(1000));
        changed.saturating_add(REST_MS) < now.as_millis()
    };
    // What is still to be remembered must be seen again by a process that can write it down.
    if config.sighting.is_none() && before.iter().all(has_rested) && inputs(places) == before {
        // A snapshot that cannot be kept costs time and nothing else.
        write(&path, &config, before, trust).ok();
    }
    config
}

/// One for each work tree: they share a project, not files.
fn path(places: Places<'_>) -> PathBuf {
    let root = digest_hex(&[places.project.root.as_os_str().as_encoded_bytes()], 4);
    places.state_folder.join("snapshots").join(format!("{}-{root}.json", places.project.key.0))
}

fn inputs(places: Places<'_>) -> Vec<Input> {
    let root = &places.project.root;
    let paths = [places.user_file.to_owned(), root.join(PROJECT_FILE), root.join(BREAKER_FILE)];
    paths.into_iter().map(|path| Input { stamp: Stamp::of(&path), path }).collect()
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        Some(Self {
            changed: (file.ctime(), file.ctime_nsec()),
            modified: (file.mtime(), file.mtime_nsec()),
            size: file.size(),
            inode: file.ino(),
            device: file.dev(),
        })
    }
}

fn read(path: &Path, inputs: &[Input], trust: Option<&Trust>) -> Option<Config> {
    if fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len() > BYTES_MAX {
        return None;
    }
    let snapshot: Snapshot = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let is_good =
        snapshot.version == env!("CARGO_PKG_VERSION") && snapshot.inputs == inputs && snapshot.trust.as_ref() == trust;
    if !is_good {
        return None;
    }
    let settings: Option<Vec<Setting>> = snapshot.settings.into_iter().map(Saved::restore).collect();
    let settings = settings?;
    let mut policy = Policy::default();
    settings.iter().for_each(|setting| policy::set(&mut policy, setting.key.name, &setting.value));
    let Snapshot { project_file, asked, errors, warnings, .. } = snapshot;
    Some(Config { settings, policy, project_file, asked, sighting: None, errors, warnings })
}

fn write(path: &Path, config: &Config, inputs: Vec<Input>, trust: Option<Trust>) -> std::io::Result<()> {
    let snapshot = Snapshot {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        inputs,
        trust,
        settings: config.settings.iter().map(Saved::new).collect(),
        project_file: config.project_file.clone(),
        asked: config.asked.clone(),
        errors: config.errors.clone(),
        warnings: config.warnings.clone(),
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    if !path.exists() && fs::read_dir(folder)?.count() >= FILES_MAX {
        for file in fs::read_dir(folder)?.flatten() {
            fs::remove_file(file.path())?;
        }
    }
    write_whole(path, &serde_json::to_vec(&snapshot)?, Lasting::Remade)
}

impl Saved {
    fn new(setting: &Setting) -> Self {
        Self {
            key: setting.key.name.to_owned(),
            value: setting.value.clone(),
            origin: setting.origin.clone(),
            waiting: setting.waiting.iter().map(|asked| (asked.value.clone(), asked.file.to_owned())).collect(),
        }
    }

    /// `None` for a key or a value this program does not take.
    fn restore(self) -> Option<Setting> {
        let key = KEYS.iter().find(|key| key.name == self.key)?;
        let file = |name: &str| [PROJECT_FILE, BREAKER_FILE].into_iter().find(|file| *file == name);
        let waiting: Option<Vec<Waiting>> =
            self.waiting.into_iter().map(|(value, name)| Some(Waiting { value, file: file(&name)? })).collect();
        key.takes(&self.value).then_some(Setting { key, value: self.value, origin: self.origin, waiting: waiting? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use tempfile::TempDir;

    struct Tree {
        folder: TempDir,
        project: Project,
    }

    impl Tree {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("temp folder");
            let root = folder.path().join("project");
            fs::create_dir_all(root.join(".claude/memory")).expect("created");
            let tree = Self { folder, project: Project::new(root.clone(), root) };
            tree.write("config.toml", "[loop.tool_failure]\nthreshold = 4\n");
            tree
        }

        fn file(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn write(&self, name: &str, content: &str) {
            fs::write(self.file(name), content).expect("written");
        }

        /// Long after the last change.
        fn load(&self, trust: Option<&Trust>) -> Config {
            self.load_at(60_000, trust)
        }

        fn load_at(&self, later_ms: i64, trust: Option<&Trust>) -> Config {
            let (state, user) = (self.file("state"), self.file("config.toml"));
            let places = Places { state_folder: &state, user_file: &user, project: &self.project };
            load_or_compile(places, Clock::System.now().at.plus_millis(later_ms), || trust.cloned())
        }

        fn snapshot(&self) -> PathBuf {
            let mut files = fs::read_dir(self.file("state/snapshots")).expect("a folder").flatten();
            files.next().expect("a snapshot").path()
        }

        /// Makes the snapshot say something no file says, to see whether it is read.
        fn mark_snapshot(&self) {
            let text = fs::read_to_string(self.snapshot()).expect("read");
            assert!(text.contains("{\"number\":4}"), "{text}");
            fs::write(self.snapshot(), text.replace("{\"number\":4}", "{\"number\":77}")).expect("written");
        }
    }

    fn threshold(config: &Config) -> u32 {
        config.policy().loop_.tool_failure.threshold
    }

    #[test]
    fn a_snapshot_is_the_configuration_it_was_made_from() {
        let tree = Tree::new();
        tree.write("project/.haltline.toml", "mode = \"observe\"\n[constraint]\ncooldown_hours = 48\n");
        tree.write(
            &format!("project/{BREAKER_FILE}"),
            r#"{"circuit_breakers": {"tool_failure": {"threshold": 5}}, "x": 1}"#,
        );
        let seen = Trust { digest: None, seen: Some([("loop.tool_failure.threshold".to_owned(), 2)].into()) };
        let first = tree.load(Some(&seen));
        let second = tree.load(Some(&seen));
        assert_eq!(first.settings(), second.settings());
        assert_eq!((first.policy(), &first.project_file), (second.policy(), &second.project_file));
        assert_eq!((&first.errors, &first.warnings, &first.asked), (&second.errors, &second.warnings, &second.asked));
        assert_eq!((first.warnings.len(), first.is_waiting_for_trust()), (1, true));
        assert!(first.asked.is_some());
    }

    #[test]
    fn it_is_read_until_an_input_changes_appears_or_goes() {
        let project_file = format!("project/{PROJECT_FILE}");
        let breaker_file = format!("project/{BREAKER_FILE}");
        type Change<'a> = (&'a str, &'a dyn Fn(&Tree));
        let changes: [Change<'_>; 6] = [
            ("the user's file changes", &|tree| tree.write("config.toml", "[loop.tool_failure]\nthreshold = 5\n")),
            ("the user's file goes", &|tree| fs::remove_file(tree.file("config.toml")).expect("removed")),
            ("the user's file is replaced", &|tree| {
                tree.write("new.toml", "[loop.tool_failure]\nthreshold = 6\n");
                fs::rename(tree.file("new.toml"), tree.file("config.toml")).expect("renamed");
            }),
            ("its time of modification is set back", &|tree| {
                let file = fs::File::options().write(true).open(tree.file("config.toml")).expect("open");
                let before = file.metadata().and_then(|file| file.modified()).expect("a time");
                tree.write("config.toml", "[loop.tool_failure]\nthreshold = 8\n");
                file.set_modified(before).expect("set");
            }),
            ("the project's file appears", &|tree| tree.write(&project_file, "mode = \"enforce\"\n")),
            ("the breaker file appears", &|tree| tree.write(&breaker_file, "{}")),
        ];
        for (change, act) in changes {
            let tree = Tree::new();
            assert_eq!(threshold(&tree.load(None)), 4);
            tree.mark_snapshot();
            assert_eq!(threshold(&tree.load(None)), 77, "{change}: before");
            act(&tree);
            assert_ne!(threshold(&tree.load(None)), 77, "{change}");
        }
    }

    #[test]
    fn each_file_of_the_project_is_an_input() {
        for name in [PROJECT_FILE, BREAKER_FILE] {
            let tree = Tree::new();
            let (file, seen) = (format!("project/{name}"), Trust { digest: None, seen: Some(Values::new()) });
            tree.write(&file, if name == PROJECT_FILE { "# nothing\n" } else { "{}" });
            tree.load(Some(&seen));
            tree.mark_snapshot();
            assert_eq!(threshold(&tree.load(Some(&seen))), 77, "{name}");
            fs::remove_file(tree.file(&file)).expect("removed");
            assert_eq!(threshold(&tree.load(Some(&seen))), 4, "{name}");
        }
    }

    #[test]
    fn another_trust_means_another_configuration() {
        let tree = Tree::new();
        tree.write("project/.haltline.toml", "[loop.tool_failure]\nthreshold = 9\n");
        let trusted = Trust { digest: tree.load(None).project_file.map(|(_, digest)| digest), seen: None };
        assert_eq!(threshold(&tree.load(Some(&trusted))), 9);
        assert_eq!(threshold(&tree.load(Some(&trusted))), 9);
        assert_eq!(threshold(&tree.load(None)), 4, "a loosening does not outlive its trust");
    }

    #[test]
    fn a_damaged_or_foreign_snapshot_is_made_anew() {
        let tree = Tree::new();
        tree.load(None);
        let whole = fs::read_to_string(tree.snapshot()).expect("read");
        let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
        let damages = [
            String::new(),
            whole[..whole.len() / 2].to_owned(),
            format!("{whole}}}"),
            whole.replace(&version, "\"version\":\"0.0.1\"").replace("{\"number\":4}", "{\"number\":77}"),
            whole.replace("{\"number\":4}", "{\"number\":-1}"),
            whole.replace("{\"number\":4}", "{\"flag\":false}"),
            whole.replace("loop.tool_failure.threshold", "loop.tool_failure.unheard_of"),
        ];
        for damage in damages {
            assert_ne!(damage, whole);
            fs::write(tree.snapshot(), &damage).expect("written");
            assert_eq!(threshold(&tree.load(None)), 4, "{damage}");
            assert_eq!(fs::read_to_string(tree.snapshot()).expect("read"), whole, "mended");
        }
    }

    #[test]
    fn nothing_is_kept_of_files_just_written_or_of_none() {
        let tree = Tree::new();
        assert_eq!(threshold(&tree.load_at(0, None)), 4);
        assert!(!tree.file("state").exists(), "another change within the same tick would go unseen");
        fs::remove_file(tree.file("config.toml")).expect("removed");
        assert_eq!(threshold(&tree.load(None)), 3);
        assert!(!tree.file("state").exists(), "there is nothing to parse");
        tree.write(&format!("project/{BREAKER_FILE}"), r#"{"circuit_breakers": {"tool_failure": {"threshold": 4}}}"#);
        assert!(tree.load(None).sighting().is_some() && !tree.file("state").exists(), "it must be written down first");
    }
}
