//! The time between two iterations: pauses, and waits for API limits and outside trouble.

use std::time::Duration;

use haltline_core::Instant;
use haltline_core::phase::RunState;
use haltline_engine::clock::Deadline;

use super::super::ending::End;
use super::super::iteration::Wait;
use super::LoopRunner;
use crate::error::Failure;
use crate::front::text;
use crate::run::Inbox;

/// The first and the longest wait for trouble whose end is unknown.
const WAIT_FIRST: Duration = Duration::from_secs(30);
const WAIT_LONGEST: Duration = Duration::from_secs(15 * 60);
/// A limit may end slightly later than announced.
const WAIT_SPARE_MS: i64 = 5_000;
/// How often a waiting loop checks whether a person aborted the run.
const ABORT_POLL_INTERVAL: Duration = Duration::from_secs(2);

impl LoopRunner<'_> {
    /// Waits for a limit to end. If that is later than the run's own time limit, ends the run and says when to go on.
    pub(super) fn wait(&mut self, inbox: &mut Inbox, wait: &Wait) -> Result<Option<End>, Failure> {
        let now = self.context.engine.now().at;
        let until = match wait.until {
            // A time in the past was parsed wrongly, or the reported limit was not the one in the way.
            Some(until) if until > now => until.plus_millis(WAIT_SPARE_MS),
            Some(_) | None => {
                let longer = WAIT_FIRST.saturating_mul(1 << self.troubles.min(10)).min(WAIT_LONGEST);
                self.troubles = self.troubles.saturating_add(1);
                now.plus_millis(i64::try_from(longer.as_millis()).unwrap_or(i64::MAX))
            }
        };
        let why = text::fit(&wait.message, 120);
        let left = Duration::from_millis(u64::try_from(until.as_millis() - now.as_millis()).unwrap_or(0));
        let is_beyond = self.time_left().is_some_and(|time| left >= time);
        if self.command.is_impatient || is_beyond {
            return Ok(Some(End::Budget { limit: format!("{} ({why})", wait.obstacle), retry_at: Some(until) }));
        }
        if let Some(end) = self.limit_reached() {
            return Ok(Some(end));
        }
        self.say(&format!("waiting until {} ({why})", until.to_seconds_text()));
        self.sleep_until(inbox, left, until)
    }

    /// Pauses before the next iteration, unless a limit of the run is reached.
    pub(super) fn pause(&mut self, inbox: &mut Inbox) -> Result<Option<End>, Failure> {
        self.troubles = 0;
        if let Some(end) = self.limit_reached() {
            return Ok(Some(end));
        }
        let pause = self.command.pause.unwrap_or_default();
        let until = self.context.engine.now().at.plus_millis(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX));
        self.sleep_until(inbox, pause, until)
    }

    /// Waits, and checks now and then whether a person ended the run. The time counts as the run's.
    fn sleep_until(&mut self, inbox: &mut Inbox, left: Duration, until: Instant) -> Result<Option<End>, Failure> {
        let deadline = Deadline::new(left);
        let end = loop {
            if let Some(signal) = inbox.wait(deadline.remaining().min(ABORT_POLL_INTERVAL)) {
                break Some(End::Interrupted { signal });
            }
            // A machine that was suspended may already be past that time.
            if deadline.remaining().is_zero() || self.context.engine.now().at >= until {
                break None;
            }
            if self.phase_run()?.is_some_and(|phase_run| matches!(phase_run.state, RunState::Over(_))) {
                break self.ended_by_a_person()?;
            }
        };
        self.took(deadline.elapsed());
        Ok(end)
    }
}
