//! Listens to a command while it runs, and ends it when its budget is used up or a person ended the run.

use haltline_agents::headless::{Headless, Told};
use haltline_core::phase::Spent;

use super::budget::{Budget, beyond, taken};
use crate::run::{Go, Identity, Lease, Listener, Stream};

/// Who asks whether a person ended the run. Called about once a second.
pub type IsOver<'a> = &'a mut dyn FnMut() -> bool;

/// What is heard of one command.
pub struct Ears<'a> {
    headless: Headless,
    budget: &'a Budget,
    /// What earlier iterations took.
    before: Spent,
    loops: Option<InLoop<'a>>,
    over: Option<String>,
}

/// What an iteration of a loop listens with.
pub struct InLoop<'a> {
    /// Where the command's process is written down, so that another runner can end it.
    pub lease: &'a mut Lease,
    /// The iteration.
    pub iteration: u64,
    /// The client's last session and what it took, where it counts whole sessions.
    pub session: Option<&'a (String, Spent)>,
    /// Who asks whether a person ended the run.
    pub is_over: IsOver<'a>,
}

impl<'a> Ears<'a> {
    /// Ears for one command.
    pub fn new(headless: Headless, budget: &'a Budget, before: Spent, loops: Option<InLoop<'a>>) -> Self {
        Self { headless, budget, before, loops, over: None }
    }

    /// What is used up, where the run was ended for that.
    pub fn over(&self) -> Option<String> {
        self.over.clone()
    }

    /// What the command said of itself.
    pub fn finish(self) -> Told {
        self.headless.finish()
    }

    /// What this run took of what its client tells, which may be that of the whole session.
    fn own_share(&self) -> Spent {
        let spent = taken(self.headless.spent(), 0);
        let known = self.loops.as_ref().and_then(|loops| loops.session);
        match known.filter(|(name, _)| self.headless.spent().whole_session && self.headless.session() == Some(name)) {
            Some((_, before)) => beyond(spent, *before),
            None => spent,
        }
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
        if self.over.is_none() {
            self.over = self.budget.exceeded(self.before.plus(self.own_share()));
        }
        let is_ended = self.over.is_some() || self.loops.as_mut().is_some_and(|loops| (loops.is_over)());
        if is_ended { Go::End } else { Go::On }
    }
}
