//! A cache of the merged configuration for hooks: one small file instead of three to parse.
//!
//! It holds only what the files set, so that defaults are always those of the running program. It is valid while the
//! stamps of all input files, the project's trust and its checksum are unchanged; on any doubt the files are read. No snapshot is
//! kept while a file is so young that another change could leave the same stamp.

use std::fs;
use std::path::{Path, PathBuf};

use haltline_core::trust::{Trust, Values};
use haltline_core::{Instant, Policy, digest_hex};
use serde::{Deserialize, Serialize};

use super::breaker_file::BREAKER_FILE;
use super::key::Value;
use super::keys::KEYS;
use super::layer::ConfigError;
use super::{Config, Origin, PROJECT_FILE, PendingValue, Setting};
use crate::file::{Durability, Links, Sealed, Stamp, StampedPath, read_regular, seal, unseal, write_atomically};
use crate::project::Project;

/// The longest snapshot that is read, in bytes.
const BYTES_MAX: u64 = 1024 * 1024;
/// When there are this many snapshots, all are deleted and rebuilt on demand.
const FILES_MAX: usize = 256;
/// A file must be unchanged for this long before its stamp is relied on: more than the coarsest file system clock.
const STAMP_AGE_MIN_MS: i64 = 3000;

/// Where a project's configuration comes from, and where its snapshot is kept.
#[derive(Clone, Copy, Debug)]
pub struct ConfigLocations<'a> {
    pub state_folder: &'a Path,
    pub user_file: &'a Path,
    /// The project, with the current work tree.
    pub project: &'a Project,
}

/// Content of a snapshot file.
#[derive(Debug, Serialize, Deserialize)]
struct Snapshot {
    version: String,
    /// The files that the configuration was made from.
    inputs: Vec<StampedPath>,
    trust: Option<Trust>,
    settings: Vec<SavedSetting>,
    project_file: Option<(PathBuf, String)>,
    #[serde(rename = "asked")]
    requested: Option<Values>,
    errors: Vec<ConfigError>,
    warnings: Vec<ConfigError>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedSetting {
    key: String,
    value: Value,
    origin: Origin,
    waiting: Vec<(Value, String)>,
}

/// The configuration in force, from the snapshot if it is valid, and the path of a snapshot that another program changed.
/// `trusted` is called in either case.
pub fn load_or_compile(
    locations: ConfigLocations<'_>,
    now: Instant,
    trusted: impl FnOnce(bool) -> Option<Trust>,
) -> (Config, Option<PathBuf>) {
    let root = &locations.project.root;
    let before = inputs(locations);
    let [_user_file, project_files @ ..] = before.as_slice() else { unreachable!("the user's file is an input") };
    let trust = trusted(project_files.iter().any(|file| file.stamp.is_some()));
    if before.iter().all(|input| input.stamp.is_none()) {
        // There is nothing to parse, which is faster than any snapshot.
        return (Config::load(locations.user_file, Some(root), || trust), None);
    }
    let path = path(locations);
    let file = read_regular(&path, BYTES_MAX, Links::Reject).unwrap_or_default();
    let content = unseal(&file);
    if let Sealed::Whole(text) = content
        && let Some(config) = read(text, &before, trust.as_ref())
    {
        return (config, None);
    }
    let altered = (!file.is_empty() && content == Sealed::Altered).then(|| path.clone());
    let config = Config::load(locations.user_file, Some(root), || trust.clone());
    let is_old_enough = |input: &StampedPath| {
        let changed = input.stamp.as_ref().map_or(i64::MIN, |stamp| stamp.changed_s().saturating_mul(1000));
        changed.saturating_add(STAMP_AGE_MIN_MS) < now.as_millis()
    };
    // Do not cache while the values of seed 002's file are unrecorded: the next process must see them and store them.
    if config.seen_values_event.is_none() && before.iter().all(is_old_enough) && inputs(locations) == before {
        // A snapshot that cannot be written costs only time.
        write(&path, &config, before, trust).ok();
    } else if altered.is_some() {
        // It is reported once.
        fs::remove_file(&path).ok();
    }
    (config, altered)
}

/// One snapshot for each work tree: work trees share a project but not files.
fn path(locations: ConfigLocations<'_>) -> PathBuf {
    let root = digest_hex(&[locations.project.root.as_os_str().as_encoded_bytes()], 4);
    locations.state_folder.join("snapshots").join(format!("{}-{root}.json", locations.project.key.0))
}

fn inputs(locations: ConfigLocations<'_>) -> Vec<StampedPath> {
    let root = &locations.project.root;
    let paths = [locations.user_file.to_owned(), root.join(PROJECT_FILE), root.join(BREAKER_FILE)];
    paths.into_iter().map(|path| StampedPath { stamp: Stamp::read(&path), path }).collect()
}

fn read(text: &[u8], inputs: &[StampedPath], trust: Option<&Trust>) -> Option<Config> {
    let snapshot: Snapshot = serde_json::from_slice(text).ok()?;
    let is_valid =
        snapshot.version == env!("CARGO_PKG_VERSION") && snapshot.inputs == inputs && snapshot.trust.as_ref() == trust;
    if !is_valid {
        return None;
    }
    let settings: Option<Vec<Setting>> = snapshot.settings.into_iter().map(SavedSetting::restore).collect();
    let settings = settings?;
    let mut policy = Policy::default();
    settings.iter().for_each(|setting| setting.key.setter.set(&mut policy, &setting.value));
    let Snapshot { project_file, requested, errors, warnings, .. } = snapshot;
    Some(Config { settings, policy, project_file, requested, seen_values_event: None, errors, warnings })
}

fn write(path: &Path, config: &Config, inputs: Vec<StampedPath>, trust: Option<Trust>) -> std::io::Result<()> {
    let snapshot = Snapshot {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        inputs,
        trust,
        settings: config.settings.iter().map(SavedSetting::new).collect(),
        project_file: config.project_file.clone(),
        requested: config.requested.clone(),
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
    write_atomically(path, &seal(&serde_json::to_vec(&snapshot)?), Durability::Rebuildable)
}

impl SavedSetting {
    fn new(setting: &Setting) -> Self {
        Self {
            key: setting.key.name.to_owned(),
            value: setting.value.clone(),
            origin: setting.origin.clone(),
            waiting: setting.waiting.iter().map(|pending| (pending.value.clone(), pending.file.to_owned())).collect(),
        }
    }

    /// `None` if this program does not know the key or does not allow the value.
    fn restore(self) -> Option<Setting> {
        let key = KEYS.iter().find(|key| key.name == self.key)?;
        let file = |name: &str| [PROJECT_FILE, BREAKER_FILE].into_iter().find(|file| *file == name);
        let waiting: Option<Vec<PendingValue>> =
            self.waiting.into_iter().map(|(value, name)| Some(PendingValue { value, file: file(&name)? })).collect();
        key.allows(&self.value).then_some(Setting { key, value: self.value, origin: self.origin, waiting: waiting? })
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

        /// Loads long after the last change.
        fn load(&self, trust: Option<&Trust>) -> Config {
            self.load_at(60_000, trust)
        }

        fn load_at(&self, later_ms: i64, trust: Option<&Trust>) -> Config {
            let (state, user) = (self.file("state"), self.file("config.toml"));
            let locations = ConfigLocations { state_folder: &state, user_file: &user, project: &self.project };
            load_or_compile(locations, Clock::System.now().at.plus_millis(later_ms), |_has_files| trust.cloned()).0
        }

        /// The content of the snapshot without its checksum.
        fn snapshot_text(&self) -> String {
            let file = fs::read(self.snapshot()).expect("read");
            let Sealed::Whole(text) = unseal(&file) else { panic!("sealed") };
            String::from_utf8(text.to_vec()).expect("JSON")
        }

        fn snapshot(&self) -> PathBuf {
            let mut files = fs::read_dir(self.file("state/snapshots")).expect("a folder").flatten();
            files.next().expect("a snapshot").path()
        }

        /// Gives the snapshot a value that no file has, to see whether it is read.
        fn alter_snapshot(&self) {
            let text = self.snapshot_text();
            assert!(text.contains("{\"number\":4}"), "{text}");
            let altered = text.replace("{\"number\":4}", "{\"number\":77}");
            fs::write(self.snapshot(), seal(altered.as_bytes())).expect("written");
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
        let seen = Trust { digest: None, limits: Some([("loop.tool_failure.threshold".to_owned(), 2)].into()) };
        let first = tree.load(Some(&seen));
        let second = tree.load(Some(&seen));
        assert_eq!(first.settings(), second.settings());
        assert_eq!((first.policy(), &first.project_file), (second.policy(), &second.project_file));
        assert_eq!(
            (&first.errors, &first.warnings, &first.requested),
            (&second.errors, &second.warnings, &second.requested)
        );
        assert_eq!((first.warnings.len(), first.is_waiting_for_trust()), (1, true));
        assert!(first.requested.is_some());
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
            tree.alter_snapshot();
            assert_eq!(threshold(&tree.load(None)), 77, "{change}: before");
            act(&tree);
            assert_ne!(threshold(&tree.load(None)), 77, "{change}");
        }
    }

    #[test]
    fn each_file_of_the_project_is_an_input() {
        for name in [PROJECT_FILE, BREAKER_FILE] {
            let tree = Tree::new();
            let (file, seen) = (format!("project/{name}"), Trust { digest: None, limits: Some(Values::new()) });
            tree.write(&file, if name == PROJECT_FILE { "# nothing\n" } else { "{}" });
            tree.load(Some(&seen));
            tree.alter_snapshot();
            assert_eq!(threshold(&tree.load(Some(&seen))), 77, "{name}");
            fs::remove_file(tree.file(&file)).expect("removed");
            assert_eq!(threshold(&tree.load(Some(&seen))), 4, "{name}");
        }
    }

    #[test]
    fn a_change_of_trust_changes_the_configuration() {
        let tree = Tree::new();
        tree.write("project/.haltline.toml", "[loop.tool_failure]\nthreshold = 9\n");
        let trusted = Trust { digest: tree.load(None).project_file.map(|(_, digest)| digest), limits: None };
        assert_eq!(threshold(&tree.load(Some(&trusted))), 9);
        assert_eq!(threshold(&tree.load(Some(&trusted))), 9);
        assert_eq!(threshold(&tree.load(None)), 4, "a loosening does not outlive its trust");
    }

    #[test]
    fn a_damaged_or_foreign_snapshot_is_rebuilt() {
        let tree = Tree::new();
        tree.load(None);
        let whole = tree.snapshot_text();
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
            fs::write(tree.snapshot(), seal(damage.as_bytes())).expect("written");
            assert_eq!(threshold(&tree.load(None)), 4, "{damage}");
            assert_eq!(tree.snapshot_text(), whole, "mended");
        }
        fs::write(tree.snapshot(), &whole).expect("written");
        assert_eq!(threshold(&tree.load(None)), 4, "a snapshot without a checksum");
        assert_eq!(tree.snapshot_text(), whole, "mended");
    }

    #[test]
    fn no_snapshot_is_kept_of_files_just_written_or_without_files() {
        let tree = Tree::new();
        assert_eq!(threshold(&tree.load_at(0, None)), 4);
        assert!(!tree.file("state").exists(), "another change within the same tick would go unseen");
        fs::remove_file(tree.file("config.toml")).expect("removed");
        assert_eq!(threshold(&tree.load(None)), 3);
        assert!(!tree.file("state").exists(), "there is nothing to parse");
        tree.write(&format!("project/{BREAKER_FILE}"), r#"{"circuit_breakers": {"tool_failure": {"threshold": 4}}}"#);
        assert!(
            tree.load(None).seen_values_event().is_some() && !tree.file("state").exists(),
            "it must be written down first"
        );
    }
}
