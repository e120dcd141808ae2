//! What every suite here starts from: fixed instants, and a store that depends on no real clock.

pub mod site;
pub mod tree;

use std::process::{Command, Output};
use std::time::Duration;

use haltline_core::{ConstraintId, Instant, Moment};
use haltline_engine::clock::Clock;
use haltline_engine::store::SqliteOptions;

/// The moment a text names, as a recorded one without boot clock.
pub fn moment(text: &str) -> Moment {
    Moment::from_wall_clock(Instant::parse(text).expect("a valid instant"))
}

pub fn constraint(id: &str) -> ConstraintId {
    ConstraintId::parse(id).expect("a valid id")
}

/// The defaults of the configuration, at a fixed moment.
pub fn options(now: Moment) -> SqliteOptions {
    SqliteOptions {
        timeout: Duration::from_secs(60),
        bytes_max: 64 * 1024 * 1024,
        journal_days: 400,
        clock: Clock::Fixed(now),
    }
}

/// A command that runs one test of this program in a process of its own, whose environment the caller can set.
pub fn in_own_process<T: Fn()>(_test: T) -> Command {
    let path = std::any::type_name::<T>();
    let name = path.split_once("::").expect("the path of a function starts with its crate").1;
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", name, "--nocapture"]);
    command
}

/// Fails unless the process ran its one test, and the test passed.
pub fn assert_passed(output: &Output) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
}
