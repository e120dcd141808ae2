//! The self-test: plays a loop through the installed hook command, exactly as the client runs it, on its own store.

use std::path::Path;
use std::time::Duration;

use haltline_agents::Client;
use haltline_agents::install::{Hook, InstalledHook};
use haltline_agents::self_test::{AnswerEffect, SelfTest, describe_mismatch};
use haltline_core::Mode;
use haltline_engine::Engine;
use haltline_engine::store::{Sqlite, SqliteOptions, Store};

use crate::commands::loop_player::{LoopPlayer, PlayedRound, Scratch};
use crate::view::doctor::{CheckupView, SelfTestRoundView, SelfTestView};

/// Name of the check.
const NAME: &str = "loop";
/// How long the check waits for the self-test's store.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// Plays the loop; returns the check's result and how long the hooks took.
pub fn run(
    client: Client,
    hooks: &[InstalledHook],
    engine: &Engine<Sqlite>,
    init: &str,
) -> (CheckupView, Option<SelfTestView>) {
    let session = format!("doctor-{}-{}", client.cli_name(), std::process::id());
    let self_test = &client.protocol().self_test;
    let folder = match Scratch::new(&session) {
        Ok(folder) => folder,
        Err(problem) => return (CheckupView::problem(NAME, problem, "make the temporary folder writable"), None),
    };
    let state = folder.0.to_string_lossy();
    let player = LoopPlayer {
        client,
        script: self_test,
        root: &engine.project().root,
        folder: &engine.project().root.to_string_lossy(),
        session,
        hook_of: &|event| installed_hook(hooks, event, &state),
        prepare: &|_command| {},
    };
    let (first, rounds) = match player.play() {
        Ok(played) => played,
        Err(problem) => return (CheckupView::problem(NAME, problem, init), None),
    };
    let effects: Vec<AnswerEffect> = rounds.iter().map(|round| round.effect).collect();
    let is_observing = engine.config().policy().mode == Mode::Observe;
    let check = match describe_mismatch(&effects, &self_test.expected) {
        // Observe mode lets every call run. The store of the self-test shows that haltline noticed the loop.
        Some(_) if is_observing && has_recorded_trip(&folder.0, engine) => {
            let says = format!("{}: haltline noticed the loop and let it run (observe mode)", client.title());
            CheckupView::fine(NAME, says)
        }
        None => CheckupView::fine(NAME, format!("{}: haltline {}", client.title(), expected_reaction(self_test))),
        Some(wrong) => CheckupView::problem(NAME, wrong, "haltline config show (which limits differ?)"),
    };
    let mut took_ms: Vec<f64> = rounds.iter().flat_map(|round| &round.answers).map(|answer| answer.ms).collect();
    took_ms.push(first.ms);
    took_ms.sort_by(f64::total_cmp);
    let view = |(index, round): (usize, &PlayedRound)| SelfTestRoundView {
        verdict: round.effect.as_str(),
        expected: match is_observing {
            true => AnswerEffect::Pass.as_str(),
            false => self_test.expected.get(index).map_or("", |expected| expected.as_str()),
        },
        ms: round.slowest_ms(),
    };
    let self_test = SelfTestView {
        client: client.title(),
        rounds: rounds.iter().enumerate().map(view).collect(),
        hook_calls: took_ms.len(),
        median_ms: took_ms.get(took_ms.len() / 2).copied().unwrap_or_default(),
        slowest_ms: took_ms.last().copied().unwrap_or_default(),
    };
    (check, Some(self_test))
}

/// True if the self-test's store has an incident of this project.
fn has_recorded_trip(state_folder: &Path, engine: &Engine<Sqlite>) -> bool {
    let clock = engine.clock();
    let options = SqliteOptions { timeout: READ_TIMEOUT, bytes_max: u64::MAX, journal_days: u32::MAX, clock };
    let store = Sqlite::new(state_folder, options);
    store.incidents(Some(engine.project().key)).is_ok_and(|incidents| !incidents.is_empty())
}

/// The installed hook of an event, with its state in the self-test's folder.
fn installed_hook(hooks: &[InstalledHook], event: &str, state: &str) -> Result<Hook, String> {
    let found = hooks.iter().find(|found| found.event == event);
    let hook = found.ok_or_else(|| format!("no hook listens to {event}"))?.hook.with_option("--state", state);
    if hook.option("--state") != Some(state) {
        return Err(format!("the hook of {event} has no --state"));
    }
    Ok(hook)
}

/// Describes what haltline should do about the loop.
fn expected_reaction(self_test: &SelfTest) -> &'static str {
    if self_test.expected.contains(&AnswerEffect::Stop) {
        "warned the agent, denied the call and ended the turn"
    } else {
        "warned the agent and denied the call"
    }
}
