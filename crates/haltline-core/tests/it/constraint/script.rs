//! The vocabulary of `testdata/constraint/*.txt`: its settings and events.

use haltline_core::constraint::{
    ConstraintEvent, ForeignCircuit, ForeignViolation, Guard, Limits, Rule, StateName, check,
};
use haltline_core::{ConstraintId, Decision, Mode, Verdict};

use crate::clock::Clock;
use crate::constraint::world::World;
use crate::language::interpreter::Vocabulary;
use crate::language::outcome::Outcome;
use crate::language::words::Words;

pub struct ConstraintRules {
    pub world: World,
    pub last: Outcome,
}

impl Vocabulary for ConstraintRules {
    const BREAKER: &'static str = "constraint";
    const RULES: &'static [&'static str] =
        &["C2", "C3", "C4", "C5", "C6", "C7", "C8", "E1", "E3", "E4", "E9", "E12", "E13", "E15", "E16", "S3"];

    /// An active constraint file with the default limits, and no circuit.
    fn new() -> Self {
        Self { world: World::new(Limits::default()), last: Outcome::default() }
    }

    fn clock_and_mode(&mut self) -> (&mut Clock, &mut Mode) {
        (&mut self.world.clock, &mut self.world.policy.mode)
    }

    fn setting(&mut self, word: &str, words: &mut Words) -> Result<bool, String> {
        let world = &mut self.world;
        match word {
            "file" => {
                let rule = Rule { limits: limits(words)?, guards: guards(words)? };
                world.write_file(rule, words.after("created", Words::instant)?);
                if let (Some(file), Some(path)) = (&mut world.file, words.after("path", Words::next)?) {
                    file.source.path = path;
                }
            }
            "no" => {
                words.expect("file")?;
                world.file = None;
            }
            "constraint" => world.id = ConstraintId::parse(&words.next()?).map_err(|error| error.to_string())?,
            "defaults" => world.policy.constraint = limits(words)?,
            "session" => world.session = Some(words.next()?),
            _unknown => return Ok(false),
        }
        Ok(true)
    }

    fn event(&mut self, words: &mut Words) -> Result<(), String> {
        let result = match parse_event(words)? {
            Some(event) => self.world.handle(event),
            None => Ok(self.check()),
        };
        self.last = Outcome { result: Some(result), cause: None };
        Ok(())
    }
}

impl ConstraintRules {
    /// The verdict on the circuit as it is; a check only reads.
    fn check(&self) -> Decision {
        let world = &self.world;
        let verdict = world.circuit().map_or(Verdict::Pass, |circuit| {
            world.policy.mode.apply_to(check(&world.name(), circuit, world.clock.now()))
        });
        Decision { facts: Vec::new(), verdict, effects: Vec::new(), notices: Vec::new() }
    }
}

/// The event of a line, or `None` for a check.
fn parse_event(words: &mut Words) -> Result<Option<ConstraintEvent>, String> {
    Ok(Some(match words.next()?.as_str() {
        "check" => return Ok(None),
        "violation" => ConstraintEvent::Violation { action: words.quoted()? },
        "pass" => {
            let generation = words.after("generation", Words::long)?;
            ConstraintEvent::Clean { action: words.quoted_if_any()?, generation }
        }
        "enforce" => {
            let violated = words.take("violated");
            if !violated && !words.take("clean") {
                return Err("expected `enforce violated` or `enforce clean`".to_owned());
            }
            ConstraintEvent::Enforce { action: words.quoted()?, violated }
        }
        "reset" => ConstraintEvent::Reset(words.operator()?),
        "retire" => ConstraintEvent::Retire(words.operator()?),
        "override" => ConstraintEvent::Override { lifetime_ms: words.duration()?, operator: words.operator()? },
        "revoke" => ConstraintEvent::Revoke(words.operator()?),
        "trust" => ConstraintEvent::TrustRule(words.operator()?),
        "found" => ConstraintEvent::StateFileFound(foreign(words)?),
        unknown => return Err(format!("{unknown:?} is no event")),
    }))
}

/// The default limits with the changes that the line names.
fn limits(words: &mut Words) -> Result<Limits, String> {
    let mut limits = Limits::default();
    loop {
        let (field, unit_ms) = match () {
            () if words.take("threshold") => ("violation_threshold", None),
            () if words.take("window") => ("window_days", Some(86_400_000)),
            () if words.take("cooldown") => ("cooldown_hours", Some(3_600_000)),
            () if words.take("dedup") => ("dedup_seconds", Some(1_000)),
            () => return Ok(limits),
        };
        let value = match unit_ms {
            Some(unit_ms) => i64::try_from(words.duration()? / unit_ms).map_err(|error| error.to_string())?,
            None => words.number()?.into(),
        };
        limits.set(field, value).map_err(|error| error.to_string())?;
    }
}

fn guards(words: &mut Words) -> Result<Vec<Guard>, String> {
    let tools = words.after("guards", Words::next)?.unwrap_or_default();
    let tools = tools.split(',').filter(|tool| !tool.is_empty());
    Ok(tools.map(|tool| Guard { tool: tool.to_owned(), command: None, path: None }).collect())
}

fn foreign(words: &mut Words) -> Result<ForeignCircuit, String> {
    let state = match words.next()?.as_str() {
        "CLOSED" => StateName::Closed,
        "OPEN" => StateName::Open,
        "HALF-OPEN" | "HALF_OPEN" => StateName::HalfOpen,
        "RETIRED" => StateName::Retired,
        unknown => return Err(format!("{unknown:?} is no state of a state file")),
    };
    let last_trip = words.after("tripped", Words::instant)?;
    let last_reset = words.after("reset", Words::instant)?;
    let limits = words.after("config", limits)?;
    let instants = words.after("violations", Words::instants)?.unwrap_or_default();
    let violation = |at| ForeignViolation { at, action: "git push -f".to_owned(), session: "sess_def456".to_owned() };
    let violations = instants.into_iter().map(violation).collect();
    Ok(ForeignCircuit { state, violations, last_trip, last_reset, limits })
}
