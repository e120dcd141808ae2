//! The time between two iterations: pauses, and waiting for limits of the service and trouble outside.

use std::time::Duration;

use haltline_core::Instant;
use haltline_core::phase::Stand;
use haltline_engine::clock::Patience;

use super::super::ending::End;
use super::super::iteration::Wait;
use super::Rounds;
use crate::error::Failure;
use crate::front::text;
use crate::run::Inbox;

/// How long a loop waits after trouble outside, at first and at most, where nobody said until when.
const WAIT_FIRST: Duration = Duration::from_secs(30);
const WAIT_LONGEST: Duration = Duration::from_secs(15 * 60);
/// A limit that was said to be over is over a moment later.
const WAIT_SPARE_MS: i64 = 5_000;
/// How often a person's abort is looked for while waiting.
const LOOK_EVERY: Duration = Duration::from_secs(2);

impl Rounds<'_> {
    /// Waits for a limit to be over. Waiting beyond the run's own time makes no sense: it ends, and says when to go on.
    pub(super) fn wait(&mut self, inbox: &mut Inbox, wait: &Wait) -> Result<Option<End>, Failure> {
        let now = self.workplace.engine.now().at;
        let until = match wait.until {
            // A time that is past already was read wrongly, or the limit was not the one that was told.
            Some(until) if until > now => until.plus_millis(WAIT_SPARE_MS),
            Some(_) | None => {
                let longer = WAIT_FIRST.saturating_mul(1 << self.troubles.min(10)).min(WAIT_LONGEST);
                self.troubles = self.troubles.saturating_add(1);
                now.plus_millis(i64::try_from(longer.as_millis()).unwrap_or(i64::MAX))
            }
        };
        let why = text::fit(&wait.why, 120);
        let left = Duration::from_millis(u64::try_from(until.as_millis() - now.as_millis()).unwrap_or(0));
        let is_beyond = self.time_left().is_some_and(|time| left >= time);
        if self.command.is_impatient || is_beyond {
            return Ok(Some(End::Budget { what: format!("{} ({why})", wait.what), retry_at: Some(until) }));
        }
        if let Some(end) = self.limit_reached() {
            return Ok(Some(end));
        }
        self.say(&format!("waiting until {} ({why})", until.to_seconds_text()));
        self.rest(inbox, left, until)
    }

    /// Pauses before the next iteration, if there is to be one.
    pub(super) fn pause(&mut self, inbox: &mut Inbox) -> Result<Option<End>, Failure> {
        self.troubles = 0;
        if let Some(end) = self.limit_reached() {
            return Ok(Some(end));
        }
        let pause = self.command.pause.unwrap_or_default();
        let until = self.workplace.engine.now().at.plus_millis(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX));
        self.rest(inbox, pause, until)
    }

    /// Waits, and looks up now and then whether a person ended the run. The time counts as the run's.
    fn rest(&mut self, inbox: &mut Inbox, left: Duration, until: Instant) -> Result<Option<End>, Failure> {
        let patience = Patience::new(left);
        let rested = loop {
            if let Some(signal) = inbox.wait(patience.left().min(LOOK_EVERY)) {
                break Some(End::Interrupted { signal });
            }
            // A machine that slept may be past it already.
            if patience.left().is_zero() || self.workplace.engine.now().at >= until {
                break None;
            }
            if self.course()?.is_some_and(|course| matches!(course.stand, Stand::Over(_))) {
                break self.ended_by_a_person()?;
            }
        };
        self.took(patience.used());
        Ok(rested)
    }
}
