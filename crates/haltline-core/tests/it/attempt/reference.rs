//! A naive second implementation of the attempt breaker, written from SPEC.md and seed 000: it keeps every event and
//! computes each count from the whole list. It shares only the event types with the core.

use haltline_core::attempt::TestResult;

use crate::attempt::acts::{Act, PATHS, Run, SCOPES, TESTS, Why};

/// Every event so far, with its effect.
#[derive(Clone, Debug, Default)]
pub struct History {
    events: Vec<RecordedEvent>,
}

/// The effect of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RecordedEvent {
    Began {
        scope: usize,
    },
    Rescoped {
        scope: usize,
    },
    Ran {
        test: usize,
        result: TestResult,
        strategy: Option<usize>,
        path: Option<usize>,
    },
    /// The run began in an older generation.
    Stale {
        test: usize,
        path: Option<usize>,
    },
    ChangedOutOfScope {
        path: usize,
    },
    Justified {
        path: usize,
    },
    /// haltline denied a change and showed the form.
    Denied {
        path: usize,
        requester: Option<u64>,
    },
    Tripped(&'static str),
    /// haltline denied a request while the slice was OPEN.
    DeniedWhileOpen {
        requester: Option<u64>,
    },
    Reset,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Nothing,
    Closed,
    Open(&'static str),
    Ended,
}

/// What a test can compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    pub state: &'static str,
    pub by: Option<&'static str>,
    /// Failures of each test since it last passed.
    pub failed: Vec<u32>,
    pub total: u32,
    pub denials: u32,
    pub generation: u64,
    pub justified: Vec<&'static str>,
    pub out_of_scope_changes: Vec<&'static str>,
}

/// Limit on the resets whose attempts are remembered.
const TRIES: usize = 8;

impl History {
    pub fn observed(&self) -> Option<Observed> {
        let (state, by) = match self.state() {
            State::Nothing => return None,
            State::Closed => ("CLOSED", None),
            State::Open(by) => ("OPEN", Some(by)),
            State::Ended => ("ENDED", None),
        };
        let paths = |is_so: &dyn Fn(usize) -> bool| {
            let mut paths: Vec<&str> = (0..PATHS.len()).filter(|path| is_so(*path)).map(|path| PATHS[path]).collect();
            paths.sort_unstable();
            paths
        };
        Some(Observed {
            state,
            by,
            failed: (0..TESTS.len()).map(|test| self.failed(test)).collect(),
            total: self.total(),
            denials: if by.is_some() { count(self.denied_requesters().count()) } else { 0 },
            generation: self.generation(),
            justified: paths(&|path| self.is_justified(path)),
            out_of_scope_changes: paths(&|path| self.is_changed_out_of_scope(path)),
        })
    }

    fn state(&self) -> State {
        let decisive = self.events.iter().rev().find_map(|event| match event {
            RecordedEvent::Began { .. } | RecordedEvent::Reset => Some(State::Closed),
            RecordedEvent::Tripped(by) => Some(State::Open(by)),
            RecordedEvent::Ended => Some(State::Ended),
            _other => None,
        });
        decisive.unwrap_or(State::Nothing)
    }

    fn generation(&self) -> u64 {
        let is_change = |event: &&RecordedEvent| {
            matches!(
                event,
                RecordedEvent::Began { .. } | RecordedEvent::Reset | RecordedEvent::Tripped(_) | RecordedEvent::Ended
            )
        };
        self.events.iter().filter(is_change).count() as u64
    }

    /// The events since the slice began or was reset, newest first.
    fn present(&self) -> impl Iterator<Item = &RecordedEvent> {
        self.events
            .iter()
            .rev()
            .take_while(|event| !matches!(event, RecordedEvent::Began { .. } | RecordedEvent::Reset))
    }

    fn total(&self) -> u32 {
        count(
            self.present().filter(|event| matches!(event, RecordedEvent::Ran { result: TestResult::Fail, .. })).count(),
        )
    }

    fn results(&self, wanted: usize) -> impl Iterator<Item = TestResult> {
        self.present().filter_map(move |event| match event {
            RecordedEvent::Ran { test, result, .. } if *test == wanted => Some(*result),
            _other => None,
        })
    }

    fn failed(&self, test: usize) -> u32 {
        let since = self.results(test).take_while(|result| *result != TestResult::Pass);
        count(since.filter(|result| *result == TestResult::Fail).count())
    }

    fn infrastructure_runs(&self, test: usize) -> usize {
        self.results(test).take_while(|result| matches!(result, TestResult::Infra | TestResult::Unclear)).count()
    }

    fn scope(&self) -> Option<&'static [&'static str]> {
        let newest = self.events.iter().rev().find_map(|event| match event {
            RecordedEvent::Began { scope } | RecordedEvent::Rescoped { scope } => Some(SCOPES[*scope]),
            _other => None,
        });
        newest.flatten()
    }

    fn is_covered(&self, path: usize) -> bool {
        self.scope().is_none_or(|folders| folders.iter().any(|folder| PATHS[path].starts_with(folder)))
    }

    fn is_justified(&self, path: usize) -> bool {
        self.present().any(|event| *event == RecordedEvent::Justified { path })
    }

    fn has_attempted(&self, wanted: usize) -> bool {
        self.present().any(|event| match event {
            RecordedEvent::Ran { path, .. } | RecordedEvent::Stale { path, .. } => *path == Some(wanted),
            _other => false,
        })
    }

    fn is_changed_out_of_scope(&self, wanted: usize) -> bool {
        let newest = self.present().find_map(|event| match event {
            RecordedEvent::ChangedOutOfScope { path } if *path == wanted => Some(true),
            RecordedEvent::Justified { path } if *path == wanted => Some(false),
            _other => None,
        });
        newest.unwrap_or(false)
    }

    /// The requester of the last denial of a path that still applies.
    fn denied(&self, wanted: usize) -> Option<Option<u64>> {
        let since = self.present().take_while(|event| !matches!(event, RecordedEvent::Rescoped { .. }));
        since.take_while(|event| **event != RecordedEvent::Justified { path: wanted }).find_map(|event| match event {
            RecordedEvent::Denied { path, requester } if *path == wanted => Some(*requester),
            _other => None,
        })
    }

    /// The requesters that were denied since the trip, newest first.
    fn denied_requesters(&self) -> impl DoubleEndedIterator<Item = Option<u64>> {
        let opened = self.events.iter().rposition(|event| matches!(event, RecordedEvent::Tripped(_))).unwrap_or(0);
        self.events[opened..].iter().rev().filter_map(|event| match event {
            RecordedEvent::DeniedWhileOpen { requester } => Some(*requester),
            _other => None,
        })
    }

    fn has_tried(&self, test: usize, strategy: Option<usize>) -> bool {
        let Some(strategy) = strategy else { return false };
        let mut resets = 0;
        let execution = self.events.iter().rev().take_while(|event| !matches!(event, RecordedEvent::Began { .. }));
        let remembered = execution.take_while(|event| {
            resets += usize::from(**event == RecordedEvent::Reset);
            resets <= TRIES
        });
        remembered.into_iter().any(|event| match event {
            RecordedEvent::Ran { test: tried, result: TestResult::Fail, strategy: by, .. } => {
                (*tried, *by) == (test, Some(strategy))
            }
            _other => false,
        })
    }

    /// Denies a request if the slice is OPEN; `None` if it may go on.
    fn deny_if_open(&mut self, requester: Option<u64>) -> Option<&'static str> {
        let State::Open(_) = self.state() else { return None };
        self.events.push(RecordedEvent::DeniedWhileOpen { requester });
        Some("stop")
    }

    fn trip(&mut self, by: &'static str) -> &'static str {
        self.events.push(RecordedEvent::Tripped(by));
        "stop"
    }

    /// Handles an event; returns the verdict's name.
    pub fn handle(&mut self, act: &Act) -> &'static str {
        let state = self.state();
        let is_begun = matches!(state, State::Closed | State::Open(_));
        match act {
            Act::Wait(_) | Act::StepWall(_) | Act::Reboot => unreachable!("only time passes"),
            Act::Begin { scope, .. } if !is_begun => {
                self.events.push(RecordedEvent::Began { scope: *scope });
                "pass"
            }
            Act::Begin { scope, by_person } => {
                let is_same = self.scope() == SCOPES[*scope];
                if !is_same && *by_person {
                    self.events.push(RecordedEvent::Rescoped { scope: *scope });
                }
                self.deny_if_open(None).unwrap_or(if is_same || *by_person { "pass" } else { "rejected" })
            }
            Act::Run(run) => self.run(run),
            Act::Touch { .. } | Act::Snapshot { .. } | Act::HandOut if !is_begun => "pass",
            _of_a_slice if !is_begun => "rejected",
            Act::Ask { test, strategy } => {
                let is_flagged = self.has_tried(*test, *strategy);
                self.deny_if_open(None).unwrap_or(if is_flagged { "warn" } else { "pass" })
            }
            Act::Touch { path, why, requester } => self.touch(*path, *why, *requester),
            Act::Snapshot { path } => {
                if self.record_out_of_scope_change(Some(*path)) {
                    "warn"
                } else {
                    "pass"
                }
            }
            Act::File { test: wanted } => {
                let is_known = self.present().any(|event| match event {
                    RecordedEvent::Ran { test, .. } | RecordedEvent::Stale { test, .. } => test == wanted,
                    _other => false,
                });
                if is_known { "pass" } else { "rejected" }
            }
            Act::Deviate { rule } => match self.deny_if_open(None) {
                Some(verdict) => verdict,
                None if *rule == 4 => self.trip("architecture"),
                None => "pass",
            },
            Act::RollBack | Act::HandOut => "pass",
            Act::Reset => {
                self.events.push(RecordedEvent::Reset);
                "pass"
            }
            Act::End { by_person } => {
                let is_failing = (0..TESTS.len()).any(|test| self.failed(test) > 0);
                if !by_person {
                    if let Some(verdict) = self.deny_if_open(None) {
                        return verdict;
                    }
                    if is_failing {
                        return "rejected";
                    }
                }
                self.events.push(RecordedEvent::Ended);
                "pass"
            }
        }
    }

    fn record_out_of_scope_change(&mut self, path: Option<usize>) -> bool {
        let is_new =
            |path: &usize| !self.is_covered(*path) && !self.is_justified(*path) && !self.is_changed_out_of_scope(*path);
        let Some(path) = path.filter(is_new) else { return false };
        self.events.push(RecordedEvent::ChangedOutOfScope { path });
        true
    }

    fn run(&mut self, run: &Run) -> &'static str {
        let state = self.state();
        let generation = self.generation();
        let is_late = run.age.is_some_and(|age| generation.saturating_sub(age) != generation);
        match state {
            State::Open(_) => {
                self.events.push(RecordedEvent::DeniedWhileOpen { requester: None });
                return "stop";
            }
            State::Closed | State::Ended if is_late => {
                self.events.push(RecordedEvent::Stale { test: run.test, path: run.path });
                return "pass";
            }
            State::Nothing | State::Ended => self.events.push(RecordedEvent::Began { scope: 0 }),
            State::Closed => {}
        }
        let is_flagged = self.has_tried(run.test, run.strategy) && run.result != TestResult::Pass;
        self.events.push(RecordedEvent::Ran {
            test: run.test,
            result: run.result,
            strategy: run.strategy,
            path: run.path,
        });
        let is_changed_out_of_scope = self.record_out_of_scope_change(run.path);
        if run.result == TestResult::Fail {
            // The seed's order: the test before the slice.
            if self.failed(run.test) == 3 {
                return self.trip("test");
            }
            if self.total() == 7 {
                return self.trip("slice");
            }
        }
        if is_flagged || is_changed_out_of_scope || self.infrastructure_runs(run.test) >= 3 { "warn" } else { "pass" }
    }

    fn touch(&mut self, path: usize, why: Why, requester: Option<u64>) -> &'static str {
        if let State::Open(_) = self.state() {
            if self.scope().is_none() && !self.has_attempted(path) {
                return "pass";
            }
            let first = self.denied_requesters().next_back();
            self.events.push(RecordedEvent::DeniedWhileOpen { requester });
            let is_first = first.is_none_or(|first| first.is_some() && first == requester);
            return if is_first { "deny" } else { "stop" };
        }
        if self.scope().is_none() || self.is_covered(path) || self.is_justified(path) {
            return "pass";
        }
        if why == Why::Justified {
            self.events.push(RecordedEvent::Justified { path });
            return "pass";
        }
        let before = self.denied(path);
        self.events.push(RecordedEvent::Denied { path, requester });
        let is_again = before.is_some_and(|before| before.is_none() || before != requester);
        if is_again || why == Why::Unjustifiable { self.trip("architecture") } else { "deny" }
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).expect("short histories")
}
