//! Which program the hooks run. A hook line stays in settings for months, so it must name a path that stays: programs that
//! a package manager keeps in a cache, an environment or a folder per version are copied to one folder of haltline's own,
//! and the hooks run the copy. It is replaced in one step, so a hook runs the old or the new program, never half of one.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haltline_engine::file::{Access, Durability, open_regular, replace_file, temporary_path};
use serde::Serialize;

use super::make_folder;
use crate::environment::variable;
use crate::error::Failure;

/// What put a program where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstalledBy {
    Npm,
    Uv,
    Pipx,
    Pip,
    Homebrew,
    Nix,
    Cargo,
    /// Debian's package manager, or another one that installs into the system's folders.
    System,
    /// None that haltline knows, such as the installation script.
    None,
}

impl InstalledBy {
    /// Recognises the folders in which each manager keeps programs.
    pub fn of(program: &Path) -> Self {
        let has = |name: &str| program.iter().any(|part| part == name);
        let is_environment =
            program.parent().and_then(Path::parent).is_some_and(|folder| folder.join("pyvenv.cfg").is_file());
        if has("node_modules") || has("_npx") {
            InstalledBy::Npm
        } else if has("pipx") {
            InstalledBy::Pipx
        } else if has("uv") && (has("archive-v0") || has("tools")) {
            InstalledBy::Uv
        } else if is_environment || has("site-packages") {
            InstalledBy::Pip
        } else if has("Cellar") {
            InstalledBy::Homebrew
        } else if program.starts_with("/nix/store") {
            InstalledBy::Nix
        } else if has(".cargo") {
            InstalledBy::Cargo
        } else if program.starts_with("/usr/bin") || program.starts_with("/usr/sbin") {
            InstalledBy::System
        } else {
            InstalledBy::None
        }
    }

    /// True if a program of this manager keeps its path when it is updated, and is not deleted before that.
    fn keeps_paths(self) -> bool {
        match self {
            InstalledBy::Cargo | InstalledBy::System | InstalledBy::None => true,
            InstalledBy::Npm
            | InstalledBy::Uv
            | InstalledBy::Pipx
            | InstalledBy::Pip
            | InstalledBy::Homebrew
            | InstalledBy::Nix => false,
        }
    }

    /// The command with which a person gets a newer haltline.
    pub fn upgrade_command(self) -> Option<&'static str> {
        match self {
            InstalledBy::Npm => Some("npx haltline@latest update"),
            InstalledBy::Uv => Some("uvx haltline@latest update"),
            InstalledBy::Pipx => Some("pipx upgrade haltline && haltline update"),
            InstalledBy::Pip => Some("pip install --upgrade haltline && haltline update"),
            InstalledBy::Homebrew => Some("brew upgrade haltline && haltline update"),
            InstalledBy::Nix => Some("nix profile upgrade haltline && haltline update"),
            InstalledBy::Cargo => Some("cargo install --locked haltline"),
            InstalledBy::System => Some("apt-get install --only-upgrade haltline"),
            InstalledBy::None => None,
        }
    }

    /// How to ask the manager for the newest version it knows.
    pub fn newest_version_query(self) -> Option<VersionQuery> {
        let (command, label): (&[&str], &str) = match self {
            InstalledBy::Npm => (&["npm", "view", "haltline", "version"], ""),
            InstalledBy::Uv | InstalledBy::Pipx | InstalledBy::Pip => {
                (&["pip", "index", "versions", "haltline"], "haltline")
            }
            InstalledBy::Homebrew => (&["brew", "info", "haltline"], "stable"),
            InstalledBy::Cargo => (&["cargo", "info", "haltline"], "version:"),
            InstalledBy::System => (&["apt-cache", "policy", "haltline"], "Candidate:"),
            InstalledBy::Nix | InstalledBy::None => return None,
        };
        Some(VersionQuery { command, label })
    }
}

/// A question to a package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionQuery {
    /// Program and arguments; they may use the network.
    pub command: &'static [&'static str],
    /// The text of the answer after which the version stands.
    pub label: &'static str,
}

/// The program that hooks run from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookProgram {
    /// The path that settings name.
    pub path: PathBuf,
    /// The program that is running.
    pub own: PathBuf,
    pub installed_by: InstalledBy,
}

impl HookProgram {
    /// Decides it for the program that is running.
    pub fn of_this_process() -> Result<Self, Failure> {
        let own = own_binary()?;
        let installed_by = InstalledBy::of(&own);
        let is_stable = installed_by.keeps_paths() && !is_in_cache(&own);
        let path = if is_stable { own.clone() } else { kept_program()? };
        Ok(Self { path, own, installed_by })
    }

    /// True if hooks that run the program at `path` run this one.
    pub fn is_run_by(&self, path: &Path) -> bool {
        path == self.own || fs::canonicalize(&self.path).is_ok_and(|kept| path == kept) && !self.is_outdated()
    }

    /// True if the hooks run a copy.
    pub fn is_copy(&self) -> bool {
        self.path != self.own
    }

    /// True if the copy does not have the content of this program, or does not exist.
    pub fn is_outdated(&self) -> bool {
        self.is_copy() && !has_same_content(&self.path, &self.own)
    }

    /// True if [`HookProgram::keep`] would replace a copy that hooks may run now.
    pub fn would_replace(&self) -> bool {
        self.is_outdated() && self.path.symlink_metadata().is_ok()
    }

    /// Makes the copy what this program is. Programs beside it that carry out some of its commands are copied too.
    pub fn keep(&self) -> Result<(), Failure> {
        if !self.is_copy() {
            return Ok(());
        }
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        make_folder(folder)?;
        let own_folder = self.own.parent().unwrap_or(Path::new("/"));
        // haltline itself comes last: once it is there, everything that it may call is.
        for name in crate::companion::programs() {
            let source = own_folder.join(name);
            if source.is_file() {
                copy(&source, &folder.join(name))?;
            }
        }
        copy(&self.own, &self.path)
    }
}

/// The path of this program, with links resolved.
pub fn own_binary() -> Result<PathBuf, Failure> {
    let path = std::env::current_exe().and_then(fs::canonicalize);
    path.map_err(|error| Failure::Plain(format!("haltline cannot find the path of this program: {error}")))
}

/// The path of the copy, whether it exists or not.
pub fn kept_program() -> Result<PathBuf, Failure> {
    Ok(data_folder()?.join("bin/haltline"))
}

/// Deletes the copy and the folders that are empty without it.
pub fn remove_kept() -> Result<(), Failure> {
    let folder = data_folder()?;
    let programs = folder.join("bin");
    for name in crate::companion::programs().chain(["haltline"]) {
        match fs::remove_file(programs.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Failure::Plain(format!("{}: {error}", programs.join(name).display())));
            }
            Ok(()) | Err(_) => {}
        }
    }
    // They stay if somebody keeps other files there.
    fs::remove_dir(programs).ok();
    fs::remove_dir(folder).ok();
    Ok(())
}

/// haltline's folder in the XDG data folder.
fn data_folder() -> Result<PathBuf, Failure> {
    let moved = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|moved| moved.is_absolute());
    let folder = moved.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/share")));
    let problem = "HOME is not set; set HOME to your home folder";
    folder.map(|folder| folder.join("haltline")).ok_or_else(|| Failure::Plain(problem.to_owned()))
}

/// True if the program lies in the user's cache or in a folder for temporary files, which may be emptied at any time.
fn is_in_cache(program: &Path) -> bool {
    let moved = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|moved| moved.is_absolute());
    let usual = variable("HOME").map(|home| PathBuf::from(home).join(".cache"));
    moved.into_iter().chain(usual).any(|cache| fs::canonicalize(cache).is_ok_and(|cache| program.starts_with(cache)))
}

fn copy(source: &Path, target: &Path) -> Result<(), Failure> {
    if has_same_content(source, target) {
        return Ok(());
    }
    let copied = File::open(source).and_then(|mut from| {
        replace_file(target, &temporary_path(target), Access::Umask, Durability::SyncedWithFolder, |to| {
            std::io::copy(&mut from, to)?;
            to.set_permissions(fs::Permissions::from_mode(0o755))
        })
    });
    copied.map_err(|error| Failure::Plain(format!("{}: {error}", target.display())))
}

fn has_same_content(one: &Path, other: &Path) -> bool {
    let (Ok(mut one), Ok(mut other)) = (open_regular(one), open_regular(other)) else { return false };
    let length = |file: &File| file.metadata().map(|metadata| metadata.len()).ok();
    if length(&one) != length(&other) {
        return false;
    }
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let Ok(read) = one.read(&mut left) else { return false };
        if read == 0 {
            return true;
        }
        if other.read_exact(&mut right[..read]).is_err() || left[..read] != right[..read] {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_manager_is_recognised_by_its_folders() {
        let cases = [
            ("/home/a/.npm/_npx/15b/node_modules/@haltline/linux-x64/bin/haltline", InstalledBy::Npm),
            ("/usr/lib/node_modules/haltline/bin/haltline", InstalledBy::Npm),
            ("/home/a/.cache/uv/archive-v0/x1/bin/haltline", InstalledBy::Uv),
            ("/home/a/.local/share/uv/tools/haltline/bin/haltline", InstalledBy::Uv),
            ("/home/a/.local/share/pipx/venvs/haltline/bin/haltline", InstalledBy::Pipx),
            ("/opt/homebrew/Cellar/haltline/0.2.0/bin/haltline", InstalledBy::Homebrew),
            ("/nix/store/h4sh-haltline/bin/haltline", InstalledBy::Nix),
            ("/home/a/.cargo/bin/haltline", InstalledBy::Cargo),
            ("/usr/bin/haltline", InstalledBy::System),
            ("/home/a/.local/bin/haltline", InstalledBy::None),
            ("/usr/local/bin/haltline", InstalledBy::None),
        ];
        for (path, expected) in cases {
            assert_eq!(InstalledBy::of(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_manager_that_moves_programs_has_a_command_that_updates_the_copy() {
        let movers = [
            InstalledBy::Npm,
            InstalledBy::Uv,
            InstalledBy::Pipx,
            InstalledBy::Pip,
            InstalledBy::Homebrew,
            InstalledBy::Nix,
        ];
        for installer in movers {
            assert!(!installer.keeps_paths());
            assert!(installer.upgrade_command().is_some_and(|command| command.ends_with(" update")), "{installer:?}");
        }
    }
}
