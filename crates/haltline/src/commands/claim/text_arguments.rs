//! Reads texts from an argument, a file or standard input, byte for byte.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use haltline_core::claim::{Limits, Problem};

use crate::error::Failure;

/// The argument that stands for standard input.
const STDIN_ARGUMENT: &str = "-";

/// Reads text arguments and makes sure that standard input is read only once.
#[derive(Default)]
pub struct TextArguments {
    is_input_read: bool,
}

impl TextArguments {
    /// Reads the text from the value or the file, if either is given.
    pub fn text(
        &mut self,
        name: &'static str,
        value: Option<String>,
        file: Option<PathBuf>,
    ) -> Result<Option<String>, Failure> {
        match (value, file) {
            (Some(value), _) if value == STDIN_ARGUMENT => self.input(name).map(Some),
            (Some(value), _) => Ok(Some(value)),
            (None, Some(path)) if path.as_os_str() == STDIN_ARGUMENT => self.input(name).map(Some),
            (None, Some(path)) => read_file(name, &path).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Like [`TextArguments::text`], but fails if neither is given.
    pub fn required(
        &mut self,
        name: &'static str,
        value: Option<String>,
        file: Option<PathBuf>,
    ) -> Result<String, Failure> {
        let text = self.text(name, value, file)?;
        text.ok_or_else(|| Failure::Plain(format!("{name} is missing: expected text, or a file with the text")))
    }

    fn input(&mut self, name: &'static str) -> Result<String, Failure> {
        let input = std::io::stdin();
        if std::mem::replace(&mut self.is_input_read, true) {
            return Err(Failure::Plain(format!("{name} -: another text uses standard input already")));
        }
        if input.is_terminal() {
            return Err(Failure::Plain(format!("{name} -: expected text on standard input, but it is a terminal")));
        }
        read_whole(name, input.lock()).map_err(|problem| Failure::Plain(format!("{name} -: {problem}")))
    }
}

fn read_file(name: &'static str, path: &Path) -> Result<String, Failure> {
    let problem = |problem: String| Failure::Plain(format!("{name}-file {}: {problem}", path.display()));
    let file = File::open(path).map_err(|error| problem(error.to_string()))?;
    read_whole(name, file).map_err(problem)
}

/// Reads all of it or fails: a cut or repaired text would not be what its author wrote.
fn read_whole(name: &'static str, from: impl Read) -> Result<String, String> {
    let bytes_max = Limits::TEXT_BYTES_MAX as u64;
    let mut bytes = Vec::new();
    from.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > bytes_max {
        let field = name.trim_start_matches('-');
        return Err(format!("more than {bytes_max} bytes; haltline keeps {field} whole or not at all"));
    }
    let text = String::from_utf8(bytes);
    text.map_err(|error| format!("expected UTF-8; byte {} is invalid", error.utf8_error().valid_up_to() + 1))
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Failure::Plain(problem.to_string())
    }
}
