//! Listens to a command while it runs, and ends it when its budget is used up or a person aborted the run.

use haltline_agents::headless::{Headless, Told};
use haltline_core::phase::Spent;

use super::budget::{Budget, taken};
use crate::run::{Go, Identity, Lease, Listener, Stream};

/// Who asks whether a person aborted the run. Called about once a second.
pub type Aborted<'a> = &'a mut dyn FnMut() -> bool;

/// What is heard of one command.
pub struct Ears<'a> {
    headless: Headless,
    budget: &'a Budget,
    /// What earlier iterations took.
    before: Spent,
    loops: Option<InLoop<'a>>,
    over: Option<String>,
    is_aborted: bool,
}

/// What an iteration of a loop listens with.
pub struct InLoop<'a> {
    /// Where the command's process is written down, so that another runner can end it.
    pub lease: &'a mut Lease,
    /// The iteration.
    pub iteration: u64,
    /// Who asks for an abort.
    pub aborted: Aborted<'a>,
}

impl<'a> Ears<'a> {
    /// Ears for one command.
    pub fn new(headless: Headless, budget: &'a Budget, before: Spent, loops: Option<InLoop<'a>>) -> Self {
        Self { headless, budget, before, loops, over: None, is_aborted: false }
    }

    /// What is used up, where the run was ended for that.
    pub fn over(&self) -> Option<String> {
        self.over.clone()
    }

    /// Whether a person aborted it.
    pub fn is_aborted(&self) -> bool {
        self.is_aborted
    }

    /// What the command said of itself.
    pub fn finish(self) -> Told {
        self.headless.finish()
    }

    fn judge(&mut self) -> Go {
        if self.over.is_none() {
            self.over = self.budget.exceeded(self.before.plus(taken(self.headless.spent(), 0)));
        }
        if self.over.is_some() || self.is_aborted { Go::End } else { Go::On }
    }
}

impl Listener for Ears<'_> {
    fn started(&mut self, command: Identity) -> Go {
        if let Some(loops) = &mut self.loops {
            // A lease that cannot be written costs only the clearing up after a kill.
            loops.lease.note(Some(command), loops.iteration).ok();
        }
        Go::On
    }

    fn heard(&mut self, stream: Stream, bytes: &[u8]) -> Go {
        match stream {
            Stream::Out => self.headless.push(bytes),
            Stream::Err => {}
        }
        Go::On
    }

    fn ticked(&mut self) -> Go {
        if let Some(loops) = &mut self.loops
            && !self.is_aborted
        {
            self.is_aborted = (loops.aborted)();
        }
        self.judge()
    }
}
