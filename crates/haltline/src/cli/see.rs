//! The arguments of the commands that show what haltline did or would have done. Doc comments in here are help texts.

use std::path::PathBuf;

use clap::Args;
use haltline_core::loop_::Preset;

use super::value::{Since, TranscriptFormat, format, preset, since};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  haltline why\n  haltline why 4c58462d\n  haltline why 4c58462d --json")]
pub struct Why {
    /// The incident; default: the newest
    #[arg(value_name = "INCIDENT")]
    pub incident: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  haltline backtest\n  haltline backtest ~/.claude/projects --since 30d\n  haltline backtest sessions/ --json > sessions.jsonl\n  haltline backtest sessions/ --compare default literal"
)]
pub struct Backtest {
    /// Files and folders with transcripts, plain or gzip; default: your transcripts of all known clients
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Format of the transcripts: auto, or the name of a format
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = format)]
    pub format: TranscriptFormat,
    /// Only sessions active since then: 30d, 12h, 2026-02-01 or a timestamp
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Since>,
    /// Use this preset instead of the configured one: default or literal
    #[arg(long, value_name = "PRESET", value_parser = preset)]
    pub preset: Option<Preset>,
    /// Use this configuration file instead of the current one
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Compare two presets or configuration files side by side
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["preset", "config"])]
    pub compare: Vec<String>,
    /// Number of workers; default: one per core
    #[arg(long, value_name = "NUMBER")]
    pub jobs: Option<usize>,
    /// With --json: print one object with the sums instead of one per session
    #[arg(long = "summary", requires = "is_json")]
    pub is_summary: bool,
}
