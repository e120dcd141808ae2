//! Whole histories of the real engine, one per seed: events of many processes, operator actions, clocks that jump,
//! reboots, state files that others write, break or delete, and a store that is damaged (E1–E4, C2–C6).
//!
//! A step consists of some disturbances and one act. After each step every promise of `invariant` is checked. The same
//! seed gives the same history, so the seed in a failure is enough to reproduce it.

mod act;
mod damage;
mod invariant;
mod state_file;
mod world;

use std::fmt;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::chance::Chance;
use act::Act;
use damage::Disturbance;
use invariant::Watch;
use world::World;

/// What a history consisted of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub committed: usize,
    /// Acts that were rejected, as they should be.
    pub rejected: usize,
    pub disturbances: usize,
    /// Stores that had to be rescued.
    pub salvages: usize,
    /// Number of times a circuit opened.
    pub opened: usize,
    /// Number of times a circuit closed.
    pub closed: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.committed += other.committed;
        self.rejected += other.rejected;
        self.disturbances += other.disturbances;
        self.salvages += other.salvages;
        self.opened += other.opened;
        self.closed += other.closed;
    }
}

/// The number of steps shown before the broken promise.
const STEPS_SHOWN: usize = 30;

#[derive(Clone, Debug)]
pub struct BrokenPromise {
    pub seed: u64,
    pub step: usize,
    /// What happened in that step and in the ones before.
    pub history: Vec<String>,
    /// The promise, and how it was broken.
    pub promise: String,
}

impl fmt::Display for BrokenPromise {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, step, history, promise } = self;
        writeln!(formatter, "seed {seed}, step {step}: {promise}")?;
        for (step, line) in history.iter().enumerate().skip(history.len().saturating_sub(STEPS_SHOWN)) {
            writeln!(formatter, "  {step:>3} {line}")?;
        }
        write!(formatter, "again: HALTLINE_SIM_SEED={seed} cargo test -p haltline-sim --test it simulator")
    }
}

/// Runs the history of a seed.
pub fn simulate(seed: u64, steps: usize) -> Result<Tally, Box<BrokenPromise>> {
    let mut simulation = Simulation::new(seed);
    let mut history = Vec::new();
    for step in 0..steps {
        let (disturbances, act) = simulation.plan();
        history.push(format!("{} {disturbances:?} {act:?}", simulation.world.now_text()));
        let outcome = catch_unwind(AssertUnwindSafe(|| simulation.step(&disturbances, &act)));
        let broken = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(promise)) => promise,
            Err(panic) => format!("it panicked: {}", panic_text(&*panic)),
        };
        return Err(Box::new(BrokenPromise { seed, step, history, promise: broken }));
    }
    Ok(simulation.tally)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

struct Simulation {
    chance: Chance,
    world: World,
    watch: Watch,
    tally: Tally,
    /// Every third history does not damage the store: more can be promised there.
    is_store_safe: bool,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let world = World::new(seed);
        let (chance, watch, tally) = (Chance::new(seed), Watch::default(), Tally::default());
        Self { chance, watch, world, tally, is_store_safe: seed.is_multiple_of(3) }
    }

    fn plan(&mut self) -> (Vec<Disturbance>, Act) {
        self.world.pass_time(&mut self.chance);
        let mut disturbances = Vec::new();
        while disturbances.len() < 3 && self.chance.happens(35) {
            disturbances.push(Disturbance::any(&mut self.chance));
        }
        disturbances.retain(|disturbance| !(self.is_store_safe && disturbance.is_damage()));
        (disturbances, Act::any(&mut self.chance))
    }

    fn step(&mut self, disturbances: &[Disturbance], act: &Act) -> Result<(), String> {
        for disturbance in disturbances {
            disturbance.strike(&mut self.world, &mut self.watch, &mut self.chance);
        }
        self.tally.disturbances += disturbances.len();
        let is_committed = act.run(&mut self.world, &mut self.watch)?;
        if is_committed {
            self.tally.committed += 1;
        } else {
            self.tally.rejected += 1;
        }
        let seen = self.watch.check(&mut self.world, disturbances, is_committed.then_some(act))?;
        self.tally.opened += seen.opened;
        self.tally.closed += seen.closed;
        self.tally.salvages = self.world.salvages;
        Ok(())
    }
}
