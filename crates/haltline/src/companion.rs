//! Programs beside `haltline`: heavy fronts, so that the program which answers hooks stays small.
//!
//! `haltline serve` looks for `haltline-serve` beside its own executable and becomes it. It never searches `PATH`, where an
//! agent could put a program of the same name.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Failure;

/// The commands that another program carries out, each with the name of that program.
const COMPANIONS: [(&str, &str); 3] =
    [("serve", "haltline-serve"), ("top", "haltline-serve"), ("fleet", "haltline-fleet")];

/// The program that carries out a command; `None` if haltline itself does.
pub fn program_of(command: &str) -> Option<&'static str> {
    COMPANIONS.iter().find(|(known, _)| *known == command).map(|(_, program)| *program)
}

/// The names of all these programs.
pub fn programs() -> impl Iterator<Item = &'static str> {
    let names: std::collections::BTreeSet<&str> = COMPANIONS.iter().map(|(_, program)| *program).collect();
    names.into_iter()
}

/// Becomes the program that carries out `command`. Returns only if that failed.
pub fn become_companion(command: &str, arguments: impl IntoIterator<Item = OsString>) -> Failure {
    let Some(program) = program_of(command) else {
        return Failure::Usage(format!("there is no command `haltline {command}`"));
    };
    match beside_own_executable(program) {
        Ok(path) => {
            let error = Command::new(&path).arg(command).args(arguments).exec();
            Failure::Plain(format!("{}: {error}", path.display()))
        }
        Err(failure) => failure,
    }
}

/// The path of another program in the folder of this one.
pub fn beside_own_executable(program: &str) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().and_then(std::fs::canonicalize)?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    let path = folder.join(program);
    if path.is_file() {
        return Ok(path);
    }
    // `cargo install` puts programs into a folder `bin` below the root that it gets.
    let root = folder.parent().filter(|_| folder.ends_with("bin")).map(|root| format!(" --root {}", root.display()));
    Err(Failure::Plain(format!(
        "this command needs the program {program} beside haltline, and {} does not exist; install it: cargo install --locked --path packages/{program}{}",
        path.display(),
        root.unwrap_or_default()
    )))
}
