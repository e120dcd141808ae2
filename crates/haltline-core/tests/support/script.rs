//! The language of `testdata/constraint/*.txt`: one line of it, taken apart.
//!
//! Nothing is guessed and nothing left over: a word that is not understood is an error.

use haltline_core::constraint::{Condition, Foreign, ForeignViolation, Guard, Happening, Limits, Rule};
use haltline_core::{ConstraintId, Instant};

use crate::support::{World, operator};
use crate::words::{Words, parse_number, signed};

/// What a line asks for.
pub enum Line {
    /// Changes the world around the circuit.
    Setting(Setting),
    /// Something happens, perhaps several times; the last outcome is compared.
    Event { times: u32, wait: Wait, what: What, expected: String },
    /// What has become of the circuit is compared.
    Then(String),
}

pub enum Setting {
    File { rule: Rule, created: Option<Instant>, path: Option<String> },
    NoFile,
    Constraint(ConstraintId),
    Defaults(Limits),
    Observe,
    Session(String),
    StepWall(i64),
    Reboot,
    NoBootClock,
    Pause(Wait),
}

/// Time that passes before an event.
#[derive(Clone, Copy)]
pub enum Wait {
    None,
    After(u64),
    At(Instant),
}

pub enum What {
    /// Only reads.
    Check,
    Happening(Happening),
}

impl Line {
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(expected) = text.strip_prefix("then ") {
            return Ok(Line::Then(expected.trim().to_owned()));
        }
        let (event, expected) = match text.split_once("->") {
            Some((event, expected)) => (event, Some(expected.trim().to_owned())),
            None => (text, None),
        };
        let mut words = Words::split(event)?;
        let line = match expected {
            Some(expected) => {
                let times = if words.peek_second() == Some("times") { words.times()? } else { 1 };
                Line::Event { times, wait: words.wait()?, what: words.what()?, expected }
            }
            None => Line::Setting(words.setting()?),
        };
        words.end().map(|()| line)
    }
}

impl Setting {
    pub fn apply(self, world: &mut World) -> Result<(), String> {
        match self {
            Setting::File { rule, created, path } => {
                world.write_file(rule, created);
                if let (Some(file), Some(path)) = (&mut world.file, path) {
                    file.source.path = path;
                }
            }
            Setting::NoFile => world.file = None,
            Setting::Constraint(id) => world.id = id,
            Setting::Defaults(limits) => world.policy.constraint = limits,
            Setting::Observe => world.policy.mode = haltline_core::Mode::Observe,
            Setting::Session(name) => world.session = Some(name),
            Setting::StepWall(millis) => world.clock.step_wall(millis),
            Setting::Reboot => world.clock.reboot(),
            Setting::NoBootClock => world.clock.boot = None,
            Setting::Pause(wait) => wait.apply(world)?,
        }
        Ok(())
    }
}

impl Wait {
    pub fn apply(self, world: &mut World) -> Result<(), String> {
        match self {
            Wait::None => {}
            Wait::After(millis) => world.clock.advance(millis),
            Wait::At(instant) => {
                let millis = instant.as_millis() - world.clock.wall.as_millis();
                let backwards = |_| format!("it is {} already: say `clock steps back`", world.clock.wall);
                world.clock.advance(u64::try_from(millis).map_err(backwards)?);
            }
        }
        Ok(())
    }
}

impl Words {
    fn wait(&mut self) -> Result<Wait, String> {
        Ok(match () {
            () if self.take("at") => Wait::At(self.instant()?),
            () if self.take("after") => Wait::After(self.duration()?),
            () => Wait::None,
        })
    }

    fn limits(&mut self, default: Limits) -> Result<Limits, String> {
        let mut limits = default;
        loop {
            let (field, unit_ms) = match () {
                () if self.take("threshold") => ("violation_threshold", None),
                () if self.take("window") => ("window_days", Some(86_400_000)),
                () if self.take("cooldown") => ("cooldown_hours", Some(3_600_000)),
                () if self.take("dedup") => ("dedup_seconds", Some(1_000)),
                () => return Ok(limits),
            };
            let value = match unit_ms {
                Some(unit_ms) => i64::try_from(self.duration()? / unit_ms).map_err(|error| error.to_string())?,
                None => parse_number(&self.next()?)?.into(),
            };
            limits.set(field, value).map_err(|error| error.to_string())?;
        }
    }

    fn guards(&mut self) -> Result<Vec<Guard>, String> {
        if !self.take("guards") {
            return Ok(Vec::new());
        }
        let tools = self.next()?;
        Ok(tools.split(',').map(|tool| Guard { tool: tool.to_owned(), command: None, path: None }).collect())
    }

    fn setting(&mut self) -> Result<Setting, String> {
        let word = self.next()?;
        Ok(match word.as_str() {
            "file" => {
                let rule = Rule { limits: self.limits(Limits::default())?, guards: self.guards()? };
                let created = if self.take("created") { Some(self.instant()?) } else { None };
                let path = if self.take("path") { Some(self.next()?) } else { None };
                Setting::File { rule, created, path }
            }
            "no" if self.take("file") => Setting::NoFile,
            "no" if self.take("boot") && self.take("clock") => Setting::NoBootClock,
            "constraint" => Setting::Constraint(ConstraintId::parse(&self.next()?).map_err(|error| error.to_string())?),
            "defaults" => Setting::Defaults(self.limits(Limits::default())?),
            "observe" => Setting::Observe,
            "session" => Setting::Session(self.next()?),
            "clock" if self.take("steps") => match () {
                () if self.take("back") => Setting::StepWall(-signed(self.duration()?)?),
                () if self.take("forward") => Setting::StepWall(signed(self.duration()?)?),
                () => return Err("expected `clock steps back` or `clock steps forward`".to_owned()),
            },
            "reboot" => Setting::Reboot,
            "after" => Setting::Pause(Wait::After(self.duration()?)),
            "at" => Setting::Pause(Wait::At(self.instant()?)),
            unknown => return Err(format!("{unknown:?} is no setting, and an event needs `->` and its outcome")),
        })
    }

    fn what(&mut self) -> Result<What, String> {
        let word = self.next()?;
        Ok(What::Happening(match word.as_str() {
            "check" => return Ok(What::Check),
            "violation" => Happening::Violation { action: self.quoted()? },
            "pass" => {
                let generation = if self.take("generation") { Some(parse_number(&self.next()?)?.into()) } else { None };
                Happening::Clean { action: self.quoted_if_any()?, generation }
            }
            "enforce" => {
                let violated = self.take("violated");
                if !violated && !self.take("clean") {
                    return Err("expected `enforce violated` or `enforce clean`".to_owned());
                }
                Happening::Enforce { action: self.quoted()?, violated }
            }
            "reset" => Happening::Reset(operator(self.quoted_if_any()?.as_deref())),
            "retire" => Happening::Retire(operator(self.quoted_if_any()?.as_deref())),
            "override" => {
                let lifetime_ms = self.duration()?;
                Happening::Override { lifetime_ms, operator: operator(self.quoted_if_any()?.as_deref()) }
            }
            "revoke" => Happening::Revoke(operator(self.quoted_if_any()?.as_deref())),
            "trust" => Happening::TrustRule(operator(self.quoted_if_any()?.as_deref())),
            "found" => Happening::Found(self.foreign()?),
            unknown => return Err(format!("{unknown:?} is no event")),
        }))
    }

    fn foreign(&mut self) -> Result<Foreign, String> {
        let state = match self.next()?.as_str() {
            "CLOSED" => Condition::Closed,
            "OPEN" => Condition::Open,
            "HALF-OPEN" | "HALF_OPEN" => Condition::HalfOpen,
            "RETIRED" => Condition::Retired,
            unknown => return Err(format!("{unknown:?} is no state of a state file")),
        };
        let last_trip = if self.take("tripped") { Some(self.instant()?) } else { None };
        let last_reset = if self.take("reset") { Some(self.instant()?) } else { None };
        let limits = if self.take("config") { Some(self.limits(Limits::default())?) } else { None };
        let instants = if self.take("violations") { self.instants()? } else { Vec::new() };
        let violation =
            |at| ForeignViolation { at, action: "git push -f".to_owned(), session: "sess_def456".to_owned() };
        Ok(Foreign { state, violations: instants.into_iter().map(violation).collect(), last_trip, last_reset, limits })
    }
}
