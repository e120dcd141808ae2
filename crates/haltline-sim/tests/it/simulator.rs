//! Many histories of the real engine (`haltline_sim::simulator`), one per seed.
//!
//! `HALTLINE_SIM_SEED=n` runs one seed; `HALTLINE_SIM_SEEDS=n` and `HALTLINE_SIM_STEPS=n` run more or longer histories.

use haltline_sim::simulator::{Tally, simulate};

const SEEDS: u64 = 30;
const STEPS: usize = 150;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a whole number")))
}

/// Runs half of the seeds; another test runs the other half at the same time.
fn run(remainder: u64) -> Tally {
    let steps = number("HALTLINE_SIM_STEPS").map_or(STEPS, |steps| usize::try_from(steps).expect("a few"));
    let seeds = match number("HALTLINE_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HALTLINE_SIM_SEEDS").unwrap_or(SEEDS),
    };
    let (mut sum, mut broken) = (Tally::default(), Vec::new());
    for seed in seeds.filter(|seed| seed % 2 == remainder) {
        match simulate(seed, steps) {
            Ok(tally) => sum += tally,
            Err(promise) => broken.push(promise),
        }
    }
    println!("{sum:?}");
    for broken in &broken {
        eprintln!("seed {}, step {}: {}", broken.seed, broken.step, broken.promise);
    }
    if let Some(shortest) = broken.iter().min_by_key(|broken| broken.step) {
        panic!("{} histories broke a promise; the shortest:\n{shortest}", broken.len());
    }
    sum
}

/// A history in which nothing happens would prove nothing.
fn assert_eventful(tally: Tally) {
    if number("HALTLINE_SIM_SEED").is_none() {
        assert!(tally.opened > 20 && tally.closed > 20 && tally.salvages > 20, "{tally:?}");
    }
}

#[test]
fn every_promise_holds_in_histories_that_keep_their_journal() {
    assert_eventful(run(0));
}

#[test]
fn every_promise_holds_in_histories_whose_journal_is_folded_after_days() {
    assert_eventful(run(1));
}

#[test]
fn the_same_seed_is_the_same_history() {
    assert_eq!(
        simulate(7, 40).map_err(|broken| broken.to_string()),
        simulate(7, 40).map_err(|broken| broken.to_string())
    );
}
