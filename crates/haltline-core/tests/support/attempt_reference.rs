//! The attempt family once more, naively, from SPEC.md and seed 000: it keeps everything that ever happened and works
//! out each count from the whole list. It shares nothing with the core but the words for what happens.

use haltline_core::attempt::TestResult;

use crate::attempt_acts::{Act, PATHS, Run, SCOPES, TESTS, Why};

/// Everything that happened, with what it came to.
#[derive(Clone, Debug, Default)]
pub struct History {
    past: Vec<Meaning>,
}

/// What a thing that happened amounted to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
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
    },
    /// It began before somebody changed the state.
    Stale {
        test: usize,
    },
    Strayed {
        path: usize,
    },
    Justified {
        path: usize,
    },
    /// A change was refused, with the form.
    Denied {
        path: usize,
        asker: Option<u64>,
    },
    Tripped(&'static str),
    /// Somebody wanted to go on while OPEN.
    Held {
        asker: Option<u64>,
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

/// What there is to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub word: &'static str,
    pub by: Option<&'static str>,
    /// Failures since it last passed, for each test.
    pub failed: Vec<u32>,
    pub total: u32,
    pub refused: u32,
    pub generation: u64,
    pub justified: Vec<&'static str>,
    pub strayed: Vec<&'static str>,
}

/// Tries before this one that are remembered.
const TRIES: usize = 8;

impl History {
    pub fn outlook(&self) -> Option<Outlook> {
        let (word, by) = match self.state() {
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
        Some(Outlook {
            word,
            by,
            failed: (0..TESTS.len()).map(|test| self.failed(test)).collect(),
            total: self.total(),
            refused: if by.is_some() { count(self.held().count()) } else { 0 },
            generation: self.generation(),
            justified: paths(&|path| self.is_justified(path)),
            strayed: paths(&|path| self.has_strayed(path)),
        })
    }

    fn state(&self) -> State {
        let decisive = self.past.iter().rev().find_map(|meaning| match meaning {
            Meaning::Began { .. } | Meaning::Reset => Some(State::Closed),
            Meaning::Tripped(by) => Some(State::Open(by)),
            Meaning::Ended => Some(State::Ended),
            _other => None,
        });
        decisive.unwrap_or(State::Nothing)
    }

    fn generation(&self) -> u64 {
        let is_change = |meaning: &&Meaning| {
            matches!(meaning, Meaning::Began { .. } | Meaning::Reset | Meaning::Tripped(_) | Meaning::Ended)
        };
        self.past.iter().filter(is_change).count() as u64
    }

    /// Since the try began, newest first.
    fn present(&self) -> impl Iterator<Item = &Meaning> {
        self.past.iter().rev().take_while(|meaning| !matches!(meaning, Meaning::Began { .. } | Meaning::Reset))
    }

    fn total(&self) -> u32 {
        count(self.present().filter(|meaning| matches!(meaning, Meaning::Ran { result: TestResult::Fail, .. })).count())
    }

    fn results(&self, wanted: usize) -> impl Iterator<Item = TestResult> {
        self.present().filter_map(move |meaning| match meaning {
            Meaning::Ran { test, result, .. } if *test == wanted => Some(*result),
            _other => None,
        })
    }

    fn failed(&self, test: usize) -> u32 {
        let since = self.results(test).take_while(|result| *result != TestResult::Pass);
        count(since.filter(|result| *result == TestResult::Fail).count())
    }

    fn in_vain(&self, test: usize) -> usize {
        self.results(test).take_while(|result| matches!(result, TestResult::Infra | TestResult::Unclear)).count()
    }

    fn scope(&self) -> Option<&'static [&'static str]> {
        let newest = self.past.iter().rev().find_map(|meaning| match meaning {
            Meaning::Began { scope } | Meaning::Rescoped { scope } => Some(SCOPES[*scope]),
            _other => None,
        });
        newest.flatten()
    }

    fn is_covered(&self, path: usize) -> bool {
        self.scope().is_none_or(|folders| folders.iter().any(|folder| PATHS[path].starts_with(folder)))
    }

    fn is_justified(&self, path: usize) -> bool {
        self.present().any(|meaning| *meaning == Meaning::Justified { path })
    }

    fn has_strayed(&self, wanted: usize) -> bool {
        let newest = self.present().find_map(|meaning| match meaning {
            Meaning::Strayed { path } if *path == wanted => Some(true),
            Meaning::Justified { path } if *path == wanted => Some(false),
            _other => None,
        });
        newest.unwrap_or(false)
    }

    /// The last refusal of a path that nobody took back: who asked.
    fn denied(&self, wanted: usize) -> Option<Option<u64>> {
        let since = self.present().take_while(|meaning| !matches!(meaning, Meaning::Rescoped { .. }));
        since.take_while(|meaning| **meaning != Meaning::Justified { path: wanted }).find_map(|meaning| match meaning {
            Meaning::Denied { path, asker } if *path == wanted => Some(*asker),
            _other => None,
        })
    }

    /// Who wanted to go on since it opened, newest first.
    fn held(&self) -> impl DoubleEndedIterator<Item = Option<u64>> {
        let opened = self.past.iter().rposition(|meaning| matches!(meaning, Meaning::Tripped(_))).unwrap_or(0);
        self.past[opened..].iter().rev().filter_map(|meaning| match meaning {
            Meaning::Held { asker } => Some(*asker),
            _other => None,
        })
    }

    fn has_tried(&self, test: usize, strategy: Option<usize>) -> bool {
        let Some(strategy) = strategy else { return false };
        let mut resets = 0;
        let execution = self.past.iter().rev().take_while(|meaning| !matches!(meaning, Meaning::Began { .. }));
        let remembered = execution.take_while(|meaning| {
            resets += usize::from(**meaning == Meaning::Reset);
            resets <= TRIES
        });
        let failed = Meaning::Ran { test, result: TestResult::Fail, strategy: Some(strategy) };
        remembered.into_iter().any(|meaning| *meaning == failed)
    }

    /// Somebody wants to go on: `None` where that is fine.
    fn hold(&mut self, asker: Option<u64>) -> Option<&'static str> {
        let State::Open(_) = self.state() else { return None };
        self.past.push(Meaning::Held { asker });
        Some("stop")
    }

    fn trip(&mut self, by: &'static str) -> &'static str {
        self.past.push(Meaning::Tripped(by));
        "stop"
    }

    /// Something happens; answers the word of the verdict.
    pub fn happen(&mut self, act: &Act) -> &'static str {
        let state = self.state();
        let is_begun = matches!(state, State::Closed | State::Open(_));
        match act {
            Act::Wait(_) | Act::StepWall(_) | Act::Reboot => unreachable!("only time passes"),
            Act::Begin { scope, .. } if !is_begun => {
                self.past.push(Meaning::Began { scope: *scope });
                "pass"
            }
            Act::Begin { scope, by_person } => {
                let is_same = self.scope() == SCOPES[*scope];
                if !is_same && *by_person {
                    self.past.push(Meaning::Rescoped { scope: *scope });
                }
                self.hold(None).unwrap_or(if is_same || *by_person { "pass" } else { "rejected" })
            }
            Act::Run(run) => self.run(run),
            Act::Touch { .. } | Act::Look { .. } | Act::HandOut if !is_begun => "pass",
            _of_a_slice if !is_begun => "rejected",
            Act::Ask { test, strategy } => {
                let is_flagged = self.has_tried(*test, *strategy);
                self.hold(None).unwrap_or(if is_flagged { "warn" } else { "pass" })
            }
            Act::Touch { path, why, asker } => self.touch(*path, *why, *asker),
            Act::Look { path } => {
                if self.stray(Some(*path)) {
                    "warn"
                } else {
                    "pass"
                }
            }
            Act::File { test: wanted } => {
                let is_known = self.present().any(|meaning| match meaning {
                    Meaning::Ran { test, .. } | Meaning::Stale { test } => test == wanted,
                    _other => false,
                });
                if is_known { "pass" } else { "rejected" }
            }
            Act::Deviate { rule } => match self.hold(None) {
                Some(held) => held,
                None if *rule == 4 => self.trip("architecture"),
                None => "pass",
            },
            Act::RollBack | Act::HandOut => "pass",
            Act::Reset => {
                self.past.push(Meaning::Reset);
                "pass"
            }
            Act::End { by_person } => {
                let is_failing = (0..TESTS.len()).any(|test| self.failed(test) > 0);
                if !by_person {
                    if let Some(held) = self.hold(None) {
                        return held;
                    }
                    if is_failing {
                        return "rejected";
                    }
                }
                self.past.push(Meaning::Ended);
                "pass"
            }
        }
    }

    fn stray(&mut self, path: Option<usize>) -> bool {
        let strays = |path: &usize| !self.is_covered(*path) && !self.is_justified(*path) && !self.has_strayed(*path);
        let Some(path) = path.filter(strays) else { return false };
        self.past.push(Meaning::Strayed { path });
        true
    }

    fn run(&mut self, run: &Run) -> &'static str {
        let state = self.state();
        let generation = self.generation();
        let is_late = run.age.is_some_and(|age| generation.saturating_sub(age) != generation);
        match state {
            State::Open(_) => {
                self.past.push(Meaning::Held { asker: None });
                return "stop";
            }
            State::Closed | State::Ended if is_late => {
                self.past.push(Meaning::Stale { test: run.test });
                return "pass";
            }
            State::Nothing | State::Ended => self.past.push(Meaning::Began { scope: 0 }),
            State::Closed => {}
        }
        let is_flagged = self.has_tried(run.test, run.strategy) && run.result != TestResult::Pass;
        self.past.push(Meaning::Ran { test: run.test, result: run.result, strategy: run.strategy });
        let has_strayed = self.stray(run.path);
        if run.result == TestResult::Fail {
            // The seed's order: the test before the slice.
            if self.failed(run.test) == 3 {
                return self.trip("test");
            }
            if self.total() == 7 {
                return self.trip("slice");
            }
        }
        if is_flagged || has_strayed || self.in_vain(run.test) >= 3 { "warn" } else { "pass" }
    }

    fn touch(&mut self, path: usize, why: Why, asker: Option<u64>) -> &'static str {
        if self.scope().is_none() {
            return "pass";
        }
        let is_allowed = self.is_covered(path) || self.is_justified(path);
        if let State::Open(_) = self.state() {
            if !is_allowed && why == Why::Unsaid && self.denied(path).is_none() {
                return "pass";
            }
            let first = self.held().next_back();
            self.past.push(Meaning::Held { asker });
            let is_first = first.is_none_or(|first| first.is_some() && first == asker);
            return if is_first { "deny" } else { "stop" };
        }
        if is_allowed {
            return "pass";
        }
        if why == Why::Justified {
            self.past.push(Meaning::Justified { path });
            return "pass";
        }
        let before = self.denied(path);
        self.past.push(Meaning::Denied { path, asker });
        let is_again = before.is_some_and(|before| before.is_none() || before != asker);
        if is_again || why == Why::Unjustifiable { self.trip("architecture") } else { "deny" }
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).expect("short histories")
}
