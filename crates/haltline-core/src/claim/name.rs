//! Names of claims, stages and pipelines: plain, short, and safe in a file name (E8, E14).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::name::is_plain;
use crate::shorten;

/// Limit on a name.
const BYTES_MAX: usize = 64;

/// The text is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError {
    what: &'static str,
    shown: String,
}

impl fmt::Display for NameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, shown } = self;
        write!(
            formatter,
            "{what} {shown}: expected letters, digits, '.', '_' or '-', beginning with a letter or digit, at most {BYTES_MAX} bytes"
        )
    }
}

fn plain(what: &'static str, text: &str) -> Result<String, NameError> {
    if is_plain(text, BYTES_MAX) { Ok(text.to_owned()) } else { Err(NameError { what, shown: shorten(text) }) }
}

/// The name of a claim within its pipeline, such as `C-001`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClaimId(String);

impl ClaimId {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        plain("claim", text).map(Self)
    }

    /// The name of a claim that was added without one.
    pub fn numbered(number: u64) -> Self {
        Self(format!("C-{number:03}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClaimId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The name of a stage, in capitals: `s5` is S5.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StageName(String);

impl StageName {
    /// Parses a name, in any case.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        plain("stage", text).map(|name| Self(name.to_ascii_uppercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StageName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The name of a pipeline within its project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PipelineName(String);

impl PipelineName {
    /// The pipeline of commands that name none.
    pub const DEFAULT: &'static str = "main";

    pub fn parse(text: &str) -> Result<Self, NameError> {
        plain("pipeline", text).map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for PipelineName {
    fn default() -> Self {
        Self(Self::DEFAULT.to_owned())
    }
}

impl fmt::Display for PipelineName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
