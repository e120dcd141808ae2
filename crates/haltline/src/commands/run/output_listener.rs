//! Listens to a command while it runs, and ends it when its budget is used up or a person ended the run.

use haltline_agents::headless::{HeadlessParser, HeadlessReport};
use haltline_core::phase::Spent;

use super::budget::{Budget, spent_since, to_phase_spent};
use crate::run::{Lease, Listener, OutputStream, ProcessIdentity, RunControl};

/// Asks whether a person ended the run. Called about once a second.
pub type IsOver<'a> = &'a mut dyn FnMut() -> bool;

/// Reads the output of one command and watches its budget.
pub struct OutputListener<'a> {
    headless: HeadlessParser,
    budget: &'a Budget,
    /// What earlier iterations spent.
    before: Spent,
    loop_context: Option<LoopContext<'a>>,
    over: Option<String>,
}

/// What the listener needs within a loop.
pub struct LoopContext<'a> {
    /// Records the command's process, so that another runner can end it.
    pub lease: &'a mut Lease,
    pub iteration: u64,
    /// The client's last session and what it had spent, if the client reports totals of whole sessions.
    pub session: Option<&'a (String, Spent)>,
    pub is_over: IsOver<'a>,
}

impl<'a> OutputListener<'a> {
    pub fn new(
        headless: HeadlessParser,
        budget: &'a Budget,
        before: Spent,
        loop_context: Option<LoopContext<'a>>,
    ) -> Self {
        Self { headless, budget, before, loop_context, over: None }
    }

    /// The limit that is used up, if the run was ended for that.
    pub fn over(&self) -> Option<String> {
        self.over.clone()
    }

    /// Returns what the client reported about itself.
    pub fn finish(self) -> HeadlessReport {
        self.headless.finish()
    }

    /// What this run has spent. The client may report totals of the whole session.
    fn own_share(&self) -> Spent {
        let spent = to_phase_spent(self.headless.spent(), 0);
        let known = self.loop_context.as_ref().and_then(|loop_context| loop_context.session);
        match known.filter(|(name, _)| self.headless.spent().whole_session && self.headless.session() == Some(name)) {
            Some((_, before)) => spent_since(spent, *before),
            None => spent,
        }
    }
}

impl Listener for OutputListener<'_> {
    fn on_start(&mut self, command: ProcessIdentity) -> RunControl {
        if let Some(loop_context) = &mut self.loop_context {
            // Without the lease, only the cleanup after a kill is lost.
            loop_context.lease.record_command(Some(command), loop_context.iteration).ok();
        }
        RunControl::Continue
    }

    fn on_output(&mut self, stream: OutputStream, bytes: &[u8]) -> RunControl {
        match stream {
            OutputStream::Out => self.headless.push(bytes),
            OutputStream::Err => {}
        }
        RunControl::Continue
    }

    fn on_tick(&mut self) -> RunControl {
        if self.over.is_none() {
            self.over = self.budget.exceeded(self.before.plus(self.own_share()));
        }
        let is_ended =
            self.over.is_some() || self.loop_context.as_mut().is_some_and(|loop_context| (loop_context.is_over)());
        if is_ended { RunControl::End } else { RunControl::Continue }
    }
}
