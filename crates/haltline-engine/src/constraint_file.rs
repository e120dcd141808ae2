//! A constraint's file: where it is, whether it is active, and what its front matter sets (C5, C8).

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use haltline_core::constraint::{Guard, Limits, Rule, RuleFile, Source};
use haltline_core::{ConstraintId, Instant, digest_hex, shorten};
use serde::Deserialize;

use crate::file::open_regular;

/// How much of a file is read for its front matter.
const FRONT_MATTER_BYTES_MAX: u64 = 64 * 1024;
/// How deep below the constraints folder files are searched.
const DEPTH_MAX: usize = 8;
/// How much of the YAML parser's message is shown.
const MESSAGE_CHARS_MAX: usize = 160;
/// Folders whose files are not active, named after the states of a constraint's life cycle.
const INACTIVE: [&str; 6] = ["draft", "drafts", "retired", "deleted", "archive", "archived"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstraintFile {
    /// What the file sets, and where it is.
    pub seen: RuleFile,
    /// True if it is in force: not a draft, not retired, not deleted.
    pub is_active: bool,
    /// Files without front matter are notes, not constraints, unless a caller names their id.
    pub has_front_matter: bool,
    /// `CRITICAL` and the like, as written.
    pub severity: Option<String>,
    /// The limits that the file itself sets.
    pub own_limits: Vec<String>,
    /// What could not be read; defaults apply there.
    pub problems: Vec<String>,
}

/// Finds a constraint's file below `root/directory`. An active file is preferred; `hint` is where it was last time.
pub fn find(
    root: &Path,
    directory: &str,
    id: &ConstraintId,
    hint: Option<&Source>,
    defaults: &Limits,
) -> Option<ConstraintFile> {
    let top = root.join(directory);
    let name = format!("{id}.md");
    let mut first_inactive = None;
    let hinted = hint.map(|source| root.join(&source.path)).filter(|path| path.file_name() == Some(name.as_ref()));
    let likely = [top.join("active").join(&name), top.join(&name)];
    let mut read_active = |path: &Path| -> Option<ConstraintFile> {
        let file = read(root, &top, path, defaults)?;
        if file.is_active {
            return Some(file);
        }
        first_inactive.get_or_insert(file);
        None
    };
    for path in hinted.iter().chain(&likely) {
        if let Some(file) = read_active(path) {
            return Some(file);
        }
    }
    let mut folders = vec![(top.clone(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for path in sorted(&folder) {
            if path.file_name() == Some(name.as_ref())
                && let Some(file) = read_active(&path)
            {
                return Some(file);
            }
            if depth < DEPTH_MAX && path.is_dir() && !path.is_symlink() {
                folders.push((path, depth + 1));
            }
        }
    }
    first_inactive
}

/// The ids of all active files below `root/directory`, sorted.
pub fn active_ids(root: &Path, directory: &str, defaults: &Limits) -> Vec<ConstraintId> {
    let top = root.join(directory);
    let mut ids = Vec::new();
    let mut folders = vec![(top.clone(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for path in sorted(&folder) {
            if depth < DEPTH_MAX && path.is_dir() && !path.is_symlink() {
                folders.push((path, depth + 1));
            } else if path.extension().is_some_and(|extension| extension == "md")
                && let Some(stem) = path.file_stem().and_then(|stem| stem.to_str())
                && let Ok(id) = ConstraintId::parse(stem)
                && read(root, &top, &path, defaults).is_some_and(|file| file.is_active && file.has_front_matter)
            {
                ids.push(id);
            }
        }
    }
    ids.sort();
    ids.dedup();
    ids
}

/// The active files whose names cannot be the id of a constraint, each with the reason.
pub fn unusable_files(root: &Path, directory: &str, defaults: &Limits) -> Vec<String> {
    let top = root.join(directory);
    let mut found = Vec::new();
    let mut folders = vec![(top.clone(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for path in sorted(&folder) {
            if depth < DEPTH_MAX && path.is_dir() && !path.is_symlink() {
                folders.push((path, depth + 1));
            } else if path.extension().is_some_and(|extension| extension == "md")
                && let Err(error) = ConstraintId::parse(&path.file_stem().unwrap_or_default().to_string_lossy())
                && read(root, &top, &path, defaults).is_some_and(|file| file.is_active && file.has_front_matter)
            {
                let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
                found.push(format!("{shown} is not used: {error}; rename the file"));
            }
        }
    }
    found
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn read(root: &Path, top: &Path, path: &Path, defaults: &Limits) -> Option<ConstraintFile> {
    let content = read_start(path)?;
    let yaml = front_matter(&content);
    let mut problems = Vec::new();
    let parsed = parse_or_default(yaml, &mut problems);
    let below = path.strip_prefix(top).unwrap_or(path);
    let is_in_inactive_folder =
        below.components().any(|part| INACTIVE.iter().any(|folder| part.as_os_str() == *folder));
    let status = parsed.status.as_deref().map(str::to_ascii_lowercase);
    let is_active = !is_in_inactive_folder && !matches!(status.as_deref(), Some("draft" | "retired" | "deleted"));
    let relative = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let digest = digest(yaml, defaults);
    let created = parsed.created.as_deref().and_then(date);
    let rule = parsed.rule(defaults, &mut problems);
    let seen = RuleFile { rule, source: Source { path: relative, digest }, created };
    let has_front_matter = yaml.is_some();
    let own_limits = parsed.circuit_breaker.into_iter().flatten().map(|(field, _)| field).collect();
    Some(ConstraintFile { seen, is_active, has_front_matter, severity: parsed.severity, own_limits, problems })
}

/// True if the file a rule was read from still says the same, under the same defaults.
pub fn is_unchanged(root: &Path, source: &Source, defaults: &Limits) -> bool {
    read_start(&root.join(&source.path))
        .is_some_and(|content| digest(front_matter(&content), defaults) == source.digest)
}

/// A digest of what a rule depends on: the front matter, and the defaults for what it does not set.
fn digest(yaml: Option<&str>, defaults: &Limits) -> String {
    let defaults = defaults.values().map(|(_, value)| value.to_be_bytes());
    digest_hex(&[yaml.unwrap_or_default().as_bytes(), defaults.as_flattened()], 8)
}

fn read_start(path: &Path) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    open_regular(path).ok()?.take(FRONT_MATTER_BYTES_MAX).read_to_end(&mut content).ok()?;
    Some(content)
}

/// The part between the first two `---` lines.
fn front_matter(content: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(content) {
        Ok(text) => text,
        // The size limit may have cut a character in half; the text before it is still good.
        Err(error) => std::str::from_utf8(&content[..error.valid_up_to()]).ok()?,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(&rest[..end]);
        }
        end += line.len();
    }
    None
}

/// The keys that haltline reads; it ignores others.
#[derive(Default, Deserialize)]
struct FrontMatter {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    severity: Option<String>,
    #[serde(default)]
    created: Option<String>,
    #[serde(default)]
    circuit_breaker: Option<BTreeMap<String, serde_json::Value>>,
    #[serde(default)]
    guards: Option<Vec<GuardFields>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GuardFields {
    tool: String,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    path: Option<String>,
}

/// Parses a front matter, or says in one line why it cannot be read.
fn parse(yaml: &str) -> Result<FrontMatter, String> {
    if yaml.trim().is_empty() {
        return Ok(FrontMatter::default());
    }
    serde_saphyr::from_str(yaml).map_err(|error| {
        let message = error.to_string();
        let first: String = message.lines().next().unwrap_or_default().chars().take(MESSAGE_CHARS_MAX).collect();
        format!("the front matter cannot be read ({first})")
    })
}

/// Parses a front matter; the default if there is none or it cannot be read, which is then added to `problems`.
fn parse_or_default(yaml: Option<&str>, problems: &mut Vec<String>) -> FrontMatter {
    match yaml.map(parse) {
        None => FrontMatter::default(),
        Some(Ok(parsed)) => parsed,
        Some(Err(problem)) => {
            problems.push(problem);
            FrontMatter::default()
        }
    }
}

/// Parses any text as a front matter, for fuzzing: the rule, and what was wrong with the text.
pub fn read_front_matter(content: &[u8]) -> (Rule, Vec<String>) {
    let mut problems = Vec::new();
    let parsed = parse_or_default(front_matter(content), &mut problems);
    (parsed.rule(&Limits::default(), &mut problems), problems)
}

impl FrontMatter {
    /// Limits and guards; a value that is not allowed keeps its default and is added to `problems`.
    fn rule(&self, defaults: &Limits, problems: &mut Vec<String>) -> Rule {
        let mut limits = *defaults;
        for (field, value) in self.circuit_breaker.iter().flatten() {
            if !Limits::RANGES.iter().any(|(known, _, _)| known == field) {
                problems.push(format!("circuit_breaker.{}: unknown key, ignored", shorten(field)));
            } else if let Some(number) = value.as_i64() {
                if let Err(error) = limits.set(field, number) {
                    problems.push(format!("circuit_breaker.{error}; haltline uses the default"));
                }
            } else {
                let shown = shorten(&value.to_string());
                problems.push(format!(
                    "circuit_breaker.{field} = {shown}: expected a whole number; haltline uses the default"
                ));
            }
        }
        let guards = self.guards.iter().flatten().map(|guard| Guard {
            tool: guard.tool.clone(),
            command: guard.command.clone(),
            path: guard.path.clone(),
        });
        Rule { limits, guards: guards.collect() }
    }
}

/// Parses `2026-02-13` or a complete instant.
fn date(text: &str) -> Option<Instant> {
    Instant::parse(text).or_else(|_| Instant::parse(&format!("{}T00:00:00Z", text.trim()))).ok()
}
