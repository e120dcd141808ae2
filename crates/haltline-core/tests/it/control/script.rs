//! The vocabulary of `testdata/control/*.txt`.

use haltline_core::control::{ConfigFile, ControlEvent, Pause};
use haltline_core::{CircuitName, Event, Policy, Recorded, State};

use crate::clock::Clock;
use crate::engine::{self, Rows, operator};
use crate::language::interpreter::{Screen, Vocabulary};
use crate::language::outcome::{Outcome, show};
use crate::language::words::Words;

/// One scope, the session whose calls are looked at, and the clocks.
pub struct ControlRules {
    clock: Clock,
    policy: Policy,
    session: String,
    rows: Rows,
    journal: Vec<Recorded>,
    last: Outcome,
}

impl ControlRules {
    fn pause(&self) -> Option<&Pause> {
        self.rows.get(&CircuitName::control()).and_then(State::as_control)?.pause.as_ref()
    }

    fn is_paused(&self) -> bool {
        self.pause().is_some_and(|pause| pause.is_in_force(self.clock.now()) && pause.covers(&self.session))
    }
}

impl Vocabulary for ControlRules {
    const BREAKER: &'static str = "control";
    const RULES: &'static [&'static str] = &["E3", "E6"];

    fn new() -> Self {
        Self {
            clock: Clock::new_year(),
            policy: Policy::default(),
            session: "s1".to_owned(),
            rows: Rows::new(),
            journal: Vec::new(),
            last: Outcome::default(),
        }
    }

    fn clock_and_mode(&mut self) -> (&mut Clock, &mut haltline_core::Mode) {
        (&mut self.clock, &mut self.policy.mode)
    }

    fn setting(&mut self, word: &str, words: &mut Words) -> Result<bool, String> {
        if word == "session" {
            self.session = words.next()?;
        }
        Ok(word == "session")
    }

    fn event(&mut self, words: &mut Words) -> Result<(), String> {
        let event = match words.next()?.as_str() {
            // Nothing is decided: the outcome says whether a call at this moment would be let through unseen.
            "call" => {
                self.last = Outcome::default();
                return Ok(());
            }
            "pause" => {
                let lifetime_ms = words.duration()?;
                let session = if words.take("session") { Some(words.next()?) } else { None };
                ControlEvent::Pause { lifetime_ms, session, operator: operator(words.quoted_if_any()?) }
            }
            "unpause" => ControlEvent::Unpause(operator(words.quoted_if_any()?)),
            "session-end" => ControlEvent::SessionEnded { session: words.next()? },
            "switched-off" => ControlEvent::SwitchedOff { session: words.next()? },
            "set" => ControlEvent::ConfigChanged {
                file: if words.take("project") { ConfigFile::Project } else { ConfigFile::User },
                key: Some(words.next()?),
                change: words.quoted()?,
                operator: operator(words.quoted_if_any()?),
            },
            unknown => return Err(format!("{unknown:?} is no event")),
        };
        let event = Event::Control(event);
        let (name, now) = (CircuitName::control(), self.clock.now());
        let result = engine::handle_alone(&name, &mut self.rows, &mut self.journal, &self.policy, &event, now);
        self.last = Outcome { result: Some(result), cause: Some(event.cause()) };
        let mut folded = Rows::new();
        engine::fold(&mut folded, &self.journal);
        assert_eq!(folded, self.rows, "the rows are the fold of the journal");
        Ok(())
    }
}

impl Screen for ControlRules {
    fn last(&self) -> &Outcome {
        &self.last
    }

    fn headline(&self, _expected: &str) -> String {
        if self.is_paused() { "paused".to_owned() } else { "watching".to_owned() }
    }

    fn part(&self, key: &str, _expected: &str) -> Option<String> {
        match key {
            "until" => Some(self.pause().map_or("nothing is paused".to_owned(), |pause| show(pause.until()))),
            "by" => Some(self.pause().map_or("nobody".to_owned(), |pause| pause.who.clone())),
            _shared => None,
        }
    }
}
