//! The clocks of a machine, moved by hand.

#![allow(dead_code, reason = "not every test moves the clocks in every way")]

use haltline_core::{Boot, Instant, Moment};

/// The clocks a machine has. The wall clock can be stepped, the boot clock only runs.
#[derive(Clone, Debug)]
pub struct Clock {
    pub wall: Instant,
    pub boot: Option<Boot>,
}

impl Clock {
    pub fn now(&self) -> Moment {
        Moment { at: self.wall, boot: self.boot }
    }

    /// Time passes.
    pub fn advance(&mut self, millis: u64) {
        let Moment { at, boot } = self.now().plus_millis(millis);
        (self.wall, self.boot) = (at, boot);
    }

    /// Somebody sets the wall clock; no time passes.
    pub fn step_wall(&mut self, millis: i64) {
        self.wall = self.wall.plus_millis(millis);
    }

    /// The boot clock starts anew, and nothing tells how long the machine was off.
    pub fn reboot(&mut self) {
        self.boot = self.boot.map(|boot| Boot { id: boot.id + 1, uptime_ms: 0 });
    }
}
