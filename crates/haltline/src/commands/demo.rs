//! `haltline demo`: a scripted agent gets stuck, and the real hook answers it. Everything happens in one temporary
//! folder, which is gone before the first line is shown; nothing is installed and no network is used.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use haltline_agents::Client;
use haltline_agents::claude::{DEMO, DEMO_COMMAND, DEMO_OUTPUT, text_for_agent, text_for_person};
use haltline_agents::install::Hook;
use haltline_agents::price::{self, PRICES_DATE};
use haltline_agents::self_test::AnswerEffect;
use haltline_core::loop_::Usage;
use serde_json::Value;

use super::loop_player::{LoopPlayer, PlayedRound, Scratch};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::SCHEMA;
use crate::view::demo::{DemoCallView, DemoView, LeftAloneView};

/// The pause after each part on a terminal; the whole takes about ten seconds.
const PAUSE: Duration = Duration::from_millis(1000);

/// The folder that the scripted agent's events name. The identity of a call contains it, so that each demo shows the
/// same incident; the hooks find the project by the client's variable.
const SHOWN_FOLDER: &str = "/project";

/// A night without haltline, for the estimate: one attempt a minute, in a conversation of middling length.
const NIGHT_HOURS: u64 = 8;
const NIGHT_CALLS: u64 = NIGHT_HOURS * 60;
const NIGHT_MODEL: &str = "claude-opus-4-8";
/// The tokens of one attempt: the conversation is read from the cache, the last result is added to it.
const NIGHT_USAGE: Usage = Usage { input: 0, output: 300, cache_read: 60_000, cache_write: 500 };

/// Plays the loop, then shows it: with pauses on a terminal, at once through a pipe.
pub fn run(is_json: bool) -> Result<ExitCode, Failure> {
    let view = play()?;
    let mut out = std::io::stdout().lock();
    if is_json {
        serde_json::to_writer_pretty(&mut out, &view).map_err(|error| Failure::from(std::io::Error::from(error)))?;
        writeln!(out)?;
        return Ok(exit_code::SUCCESS);
    }
    let is_paced = out.is_terminal();
    for part in text::demo(&view) {
        out.write_all(text::escape_lines(&part).as_bytes())?;
        out.flush()?;
        if is_paced {
            std::thread::park_timeout(PAUSE);
        }
    }
    Ok(exit_code::SUCCESS)
}

fn play() -> Result<DemoView, Failure> {
    let binary = std::env::current_exe()?;
    let scratch = Scratch::new(&format!("demo-{}", std::process::id())).map_err(Failure::Plain)?;
    // The names of temporary folders can be links, and a hook compares real paths.
    let folder = fs::canonicalize(&scratch.0)?;
    let (project, state, config) = (folder.join("project"), folder.join("state"), folder.join("config.toml"));
    // The folder is a project of its own, whatever surrounds the temporary folder.
    fs::create_dir_all(project.join(".git"))?;
    let hook =
        Hook::new(Client::Claude, &binary.to_string_lossy(), &state.to_string_lossy(), &config.to_string_lossy());
    let isolate = |command: &mut Command| isolate(command, &folder);
    let player = LoopPlayer {
        client: Client::Claude,
        script: &DEMO,
        root: &project,
        folder: SHOWN_FOLDER,
        session: "demo".to_owned(),
        hook_of: &|_event| Ok(hook.clone()),
        prepare: &isolate,
    };
    let (_, rounds) = player.play().map_err(|problem| Failure::Plain(format!("the demo did not run: {problem}")))?;
    let why = |arguments: &[&str]| -> Result<String, Failure> {
        let mut command = Command::new(&binary);
        isolate(&mut command);
        let output = command.current_dir(&project).arg("why").args(arguments).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    Ok(DemoView {
        schema: SCHEMA,
        client: Client::Claude.title(),
        calls: (1..).zip(&rounds).map(|(number, round)| call_view(number, round)).collect(),
        why: serde_json::from_str(&why(&["--json"])?).unwrap_or(Value::Null),
        why_text: why(&[])?,
        left_alone: left_alone(),
        install: "haltline init",
    })
}

/// Keeps a child process out of the person's files, and out of a client below which the demo may run.
fn isolate(command: &mut Command, folder: &Path) {
    for variables in Client::ALL.map(|client| client.protocol().variables) {
        let names = [variables.process, variables.session, variables.marker, variables.project];
        names.into_iter().flatten().for_each(|name| {
            command.env_remove(name);
        });
    }
    command.env_remove("HALTLINE").env_remove("HALTLINE_SESSION");
    for name in ["HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
        command.env(name, folder);
    }
    command.env("HALTLINE_STATE_DIR", folder.join("state")).env("HALTLINE_CONFIG", folder.join("config.toml"));
}

fn call_view(number: u64, round: &PlayedRound) -> DemoCallView {
    let is_denied = round.effect >= AnswerEffect::Deny;
    let find = |text_of: fn(&str) -> Option<String>| round.answers.iter().find_map(|answer| text_of(&answer.output));
    DemoCallView {
        number,
        command: DEMO_COMMAND,
        verdict: round.effect.as_str(),
        result: (!is_denied).then_some(DEMO_OUTPUT),
        to_agent: find(text_for_agent),
        to_person: find(text_for_person),
    }
}

/// What the same loop costs when nobody ends it. An estimate: the screen says what it assumes.
fn left_alone() -> LeftAloneView {
    let each = price::cost(NIGHT_MODEL, &NIGHT_USAGE, &[]).expect("a test checks that the model has a price");
    let Usage { input, output, cache_read, cache_write } = NIGHT_USAGE;
    LeftAloneView {
        hours: NIGHT_HOURS,
        calls: NIGHT_CALLS,
        tokens: (input + output + cache_read + cache_write) * NIGHT_CALLS,
        conversation_tokens: cache_read,
        cost_micros: each * NIGHT_CALLS,
        model: NIGHT_MODEL,
        prices_date: PRICES_DATE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_follows_from_what_the_screen_says_it_assumes() {
        let view = left_alone();
        assert_eq!((view.hours, view.calls, view.tokens), (8, 480, 480 * 60_800));
        // 60,000 tokens read from the cache at $0.50, 500 written at $6.25 and 300 of output at $25 a million.
        assert_eq!(view.cost_micros, 480 * (30_000 + 3_125 + 7_500));
    }
}
