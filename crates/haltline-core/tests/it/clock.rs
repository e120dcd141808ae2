//! The clocks of a machine, moved by the tests.

use haltline_core::{Boot, Instant, Moment};

/// The clocks of a machine. The wall clock can be stepped; the boot clock only runs.
#[derive(Clone, Debug)]
pub struct Clock {
    pub wall: Instant,
    pub boot: Option<Boot>,
}

impl Clock {
    /// New Year 2026 on a machine that was just started.
    pub fn new_year() -> Self {
        let wall = Instant::parse("2026-01-01T00:00:00Z").expect("a valid instant");
        Self { wall, boot: Some(Boot::new(1, 0)) }
    }

    pub fn now(&self) -> Moment {
        Moment { at: self.wall, boot: self.boot }
    }

    /// Lets time pass on both clocks.
    pub fn advance(&mut self, millis: u64) {
        let Moment { at, boot } = self.now().plus_millis(millis);
        (self.wall, self.boot) = (at, boot);
    }

    /// Sets the wall clock; no time passes.
    pub fn step_wall(&mut self, millis: i64) {
        self.wall = self.wall.plus_millis(millis);
    }

    /// Restarts the boot clock, so nothing shows how long the machine was off.
    pub fn reboot(&mut self) {
        self.boot = self.boot.map(|boot| Boot::new(boot.id + 1, 0));
    }
}
