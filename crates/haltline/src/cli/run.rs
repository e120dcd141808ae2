//! The arguments of `haltline run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  haltline run --max-time 30m -- claude -p \"fix the build\"\n  haltline run --loop --max-iterations 20 --max-cost 5 -- claude -p --output-format stream-json --verbose \"next task of PLAN.md\"\n  haltline run --loop --test \"cargo test\" --done-if \"cargo test\" -- ./agent.sh\n  haltline run --loop --resume -- ./agent.sh\n\nExit codes of a loop: 0 completed, 75 reached a limit, 77 tripped, 130 aborted, 1 cannot run\nthe command. Without --loop, haltline exits with the code of the command, with 75 if a limit\nended it, or with 77 if a hook stopped the agent. With --json the report is the last line of\nthe output."
)]
pub struct Run {
    /// Run the command again and again
    #[arg(long = "loop")]
    pub is_loop: bool,
    /// Name of this loop; each name has its own counts
    #[arg(long = "run", alias = "name", value_name = "NAME", requires = "is_loop", value_parser = run_name)]
    pub name: Option<String>,
    /// Continue a loop that was interrupted or reached a limit
    #[arg(long = "resume", requires = "is_loop")]
    pub is_resumed: bool,
    /// Stop after this many iterations
    #[arg(long, value_name = "NUMBER", requires = "is_loop", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_iterations: Option<u64>,
    /// Stop after this time: 90s, 30m, 8h
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub max_time: Option<Duration>,
    /// Stop each iteration after this time
    #[arg(long, value_name = "TIME", requires = "is_loop", value_parser = span)]
    pub iteration_time: Option<Duration>,
    /// Stop the command when it prints nothing for this long
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub idle: Option<Duration>,
    /// Stop after this many tokens, if the client reports them
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    /// Stop after this many dollars, if the client reports its cost
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<u64>,
    /// Time for the command to save its work before haltline kills it
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub grace: Option<Duration>,
    /// Wait this long between iterations
    #[arg(long, value_name = "TIME", requires = "is_loop", value_parser = span)]
    pub pause: Option<Duration>,
    /// Do not wait for API limits: exit with 75 and name the time
    #[arg(long = "no-wait", requires = "is_loop")]
    pub is_impatient: bool,
    /// The work is done when the agent prints this on a separate line
    #[arg(long, value_name = "TEXT", requires = "is_loop")]
    pub done_text: Option<String>,
    /// The work is done when this shell command succeeds after an iteration
    #[arg(long, value_name = "COMMAND", requires = "is_loop")]
    pub done_if: Option<String>,
    /// Shell command that runs the tests after each iteration
    #[arg(long, value_name = "COMMAND", requires = "is_loop")]
    pub test: Option<String>,
    /// JUnit XML file that the iteration writes
    #[arg(long, value_name = "FILE", requires = "is_loop")]
    pub junit: Vec<PathBuf>,
    /// Do not count changes below this path as progress
    #[arg(long, value_name = "PATH", requires = "is_loop")]
    pub ignore: Vec<PathBuf>,
    /// Write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Do not print a line for each iteration
    #[arg(long = "quiet", short = 'q')]
    pub is_quiet: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// A time such as `90s`, `30m`, `8h`, `2d` or `1h30m`.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let expected = || format!("{text:?}: expected a time such as 90s, 30m, 8h or 1h30m");
    let mut seconds: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().map_err(|_| expected())?;
        let unit = match rest[digits..].chars().next() {
            Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3_600,
            Some('d') => 86_400,
            Some(_) | None => return Err(expected()),
        };
        seconds = number.checked_mul(unit).and_then(|part| seconds.checked_add(part)).ok_or_else(expected)?;
        rest = &rest[digits + 1..];
    }
    // A year is longer than any run, and the sum of two such times cannot overflow.
    let is_sensible = !text.is_empty() && seconds <= 366 * 86_400;
    if is_sensible { Ok(Duration::from_secs(seconds)) } else { Err(expected()) }
}

/// Dollars as millionths.
fn dollars(text: &str) -> Result<u64, String> {
    let expected = || format!("{text:?}: expected dollars such as 5 or 0.50");
    let dollars: f64 = text.trim_start_matches('$').parse().map_err(|_| expected())?;
    haltline_agents::price::millionths(dollars).filter(|micros| *micros > 0).ok_or_else(expected)
}

/// The name of a run: part of a command line and of a file's name.
fn run_name(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let fits = !text.is_empty() && text.len() <= 64 && text.bytes().all(allowed);
    if fits { Ok(text.to_owned()) } else { Err(format!("{text:?}: expected letters, digits, `.`, `_` or `-`")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_sum_of_numbers_with_units() {
        for (text, seconds) in
            [("90s", 90), ("30m", 1_800), ("8h", 28_800), ("1h30m", 5_400), ("2d", 172_800), ("0s", 0)]
        {
            assert_eq!(span(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "90", "m", "-1m", "1.5h", "1h 30m", "99999999999999999999s", "400d", "5é"] {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn dollars_are_kept_in_millionths_and_a_limit_of_nothing_is_none() {
        assert_eq!(dollars("$0.50"), Ok(500_000));
        assert_eq!(dollars("5"), Ok(5_000_000));
        for text in ["", "0", "-1", "NaN", "five"] {
            assert!(dollars(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_fits_into_a_command_line_and_a_file() {
        assert_eq!(run_name("night-1.a_b"), Ok("night-1.a_b".to_owned()));
        for text in ["", "a b", "a/b", "a@b", &"x".repeat(65)] {
            assert!(run_name(text).is_err(), "{text}");
        }
    }
}
