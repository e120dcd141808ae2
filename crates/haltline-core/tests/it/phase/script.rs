//! The vocabulary of `testdata/phase/*.txt`: its settings and events.

use haltline_core::identity::Digest;
use haltline_core::phase::{
    Bounds, Choice, Finish, ForeignRun, ForeignState, HistoryEvent, HistoryLine, Joining, Metrics, PhaseEvent,
    PhaseName, Precedence, Report, ReportedError, Signal, Source, Spent, Start, Thresholds,
};
use haltline_core::{CircuitName, Instant, Mode};

use crate::clock::Clock;
use crate::language::interpreter::Vocabulary;
use crate::language::outcome::Outcome;
use crate::language::words::{Words, parse_number, set_limit};
use crate::phase::world::World;

pub struct PhaseRules {
    pub world: World,
    pub last: Outcome,
}

impl Vocabulary for PhaseRules {
    const BREAKER: &'static str = "phase";
    const RULES: &'static [&'static str] =
        &["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "E1", "E3", "E4", "E12", "E15", "E16", "S1"];

    fn new() -> Self {
        Self { world: World::new(), last: Outcome::default() }
    }

    fn clock_and_mode(&mut self) -> (&mut Clock, &mut Mode) {
        (&mut self.world.clock, &mut self.world.policy.mode)
    }

    fn setting(&mut self, word: &str, words: &mut Words) -> Result<bool, String> {
        let world = &mut self.world;
        match word {
            "phase-run" => {
                let (prefix, scope) = (words.next()?, words.next()?);
                world.name = CircuitName::phase_run(&prefix, &scope, None);
                world.rows.remove(&world.name);
            }
            "session" => world.session = Some(words.next()?),
            "bounds" => world.bounds = Some(bounds(words)?),
            "set" => {
                let (key, value) = (words.next()?, words.number()?);
                world.policy.phase = set_limit(&world.policy.phase, &key, &value.to_string())?;
            }
            _unknown => return Ok(false),
        }
        Ok(true)
    }

    fn event(&mut self, words: &mut Words) -> Result<(), String> {
        let event = parse_event(words)?;
        let cause = self.world.event(event.clone()).cause();
        self.last = Outcome { result: Some(self.world.handle(event)), cause: Some(cause) };
        Ok(())
    }
}

/// Ralph's defaults with the changes that the line names.
fn bounds(words: &mut Words) -> Result<Bounds, String> {
    let thresholds = Thresholds { no_progress: 3, same_error: 5 };
    let mut bounds = Bounds { thresholds, permission_denials: Some(2), neutral: None, cooldown_ms: Some(1_800_000) };
    loop {
        match () {
            () if words.take("no-progress") => bounds.thresholds.no_progress = words.number()?,
            () if words.take("same-error") => bounds.thresholds.same_error = words.number()?,
            () if words.take("denials") => bounds.permission_denials = Some(words.number()?),
            () if words.take("neutral") => bounds.neutral = Some(words.number()?),
            () if words.take("cooldown") => bounds.cooldown_ms = Some(words.duration()?),
            () => return Ok(bounds),
        }
    }
}

fn parse_event(words: &mut Words) -> Result<PhaseEvent, String> {
    Ok(match words.next()?.as_str() {
        "begin" => {
            let phase = phase(&words.next()?)?;
            let joining = match () {
                () if words.take("new") => Joining::New,
                () if words.take("resumed") => Joining::Resumed,
                () => Joining::Same,
            };
            PhaseEvent::Begin { phase, joining, operator: words.person()? }
        }
        "ask" => PhaseEvent::Ask { start: None },
        "look" => PhaseEvent::Look,
        "start" => PhaseEvent::Ask { start: Some(Start { tree: tree(words)? }) },
        "report" => PhaseEvent::Report(Box::new(report(words)?)),
        "decide" => {
            let choice = match words.next()?.as_str() {
                "reset" => Choice::Reset,
                "skip" => Choice::Skip,
                "abort" => Choice::Abort,
                "modify" => Choice::Modify { guidance: words.quoted()? },
                unknown => return Err(format!("{unknown:?}: expected reset, skip, abort or modify")),
            };
            PhaseEvent::Decide { choice, operator: words.operator()? }
        }
        "auto-reset" => PhaseEvent::AutoReset,
        "finish" => PhaseEvent::Finish(match words.next()?.as_str() {
            "completed" => Finish::Completed,
            "budget" => Finish::Budget,
            "interrupted" => Finish::Interrupted,
            "unstartable" => Finish::Unstartable,
            unknown => return Err(format!("{unknown:?} is no way to end")),
        }),
        "found" => PhaseEvent::StateFileFound(foreign(words)?),
        unknown => return Err(format!("{unknown:?} is no event")),
    })
}

fn phase(name: &str) -> Result<PhaseName, String> {
    PhaseName::parse(name).map_err(|error| error.to_string())
}

/// A content of the work tree, identified by a name.
fn tree(words: &mut Words) -> Result<Option<Digest>, String> {
    words.after("tree", |words| Ok(Digest::from_parts(&[words.next()?.as_bytes()])))
}

fn report(words: &mut Words) -> Result<Report, String> {
    let mut report = Report::default();
    loop {
        match () {
            () if words.take("phase") => report.phase = Some(phase(&words.next()?)?),
            () if words.take("iteration") => report.iteration = Some(words.long()?),
            () if words.take("saw") => report.signals.push(signal(words)?),
            () if words.take("error") => {
                let (kind, message) = (words.quoted_or_word()?, words.quoted()?);
                report.error = Some(ReportedError::new(&kind, &message));
            }
            () if words.take("neutral") => report.neutral = Some(words.quoted()?),
            () if words.take("denied") => report.permission_denied = true,
            () if words.take("took") => report.spent = spent(words)?,
            () => match metric(words, &mut report.metrics)? {
                true => {}
                false => match tree(words)? {
                    Some(tree) => report.tree = Some(tree),
                    None => return Ok(report),
                },
            },
        }
    }
}

fn signal(words: &mut Words) -> Result<Signal, String> {
    let word = words.next()?;
    let all = [
        Source::Commits,
        Source::Staged,
        Source::Unstaged,
        Source::Untracked,
        Source::Repositories,
        Source::Worktrees,
        Source::Files,
        Source::Tests,
        Source::Status,
        Source::Caller,
    ];
    let source = all.into_iter().find(|source| source.as_str() == word);
    Ok(Signal { source: source.ok_or(format!("{word:?} is no sign of progress"))?, count: words.long()? })
}

fn spent(words: &mut Words) -> Result<Spent, String> {
    let wall_ms = words.duration()?;
    let tokens = words.after("tokens", Words::long)?;
    let micros = words.after("micros", Words::long)?;
    Ok(Spent { wall_ms, tokens, micros })
}

/// `tests_passing=3`, or `m1..m64=1` for many metrics.
fn metric(words: &mut Words, metrics: &mut Metrics) -> Result<bool, String> {
    let Some(word) = words.peek().filter(|word| word.contains('=')).map(str::to_owned) else { return Ok(false) };
    words.next()?;
    let (name, value) = word.split_once('=').ok_or("expected NAME=NUMBER")?;
    let names = match name.split_once("..") {
        Some((first, last)) => {
            let stem = first.trim_end_matches(|letter: char| letter.is_ascii_digit());
            let number = |name: &str| parse_number(name.strip_prefix(stem).unwrap_or(name));
            (number(first)?..=number(last)?).map(|number| format!("{stem}{number}")).collect()
        }
        None => vec![name.to_owned()],
    };
    for name in names {
        metrics.set(&name, value).map_err(|error| error.to_string())?;
    }
    Ok(true)
}

fn foreign(words: &mut Words) -> Result<ForeignRun, String> {
    let precedence = if words.take("winning") { Precedence::File } else { Precedence::Store };
    let state = match words.next()?.as_str() {
        "CLOSED" => ForeignState::Closed,
        "HALF_OPEN" => ForeignState::Warned,
        "OPEN" => {
            let since = words.after("since", Words::instant)?;
            let reason = words.quoted()?;
            let cooldown_ms = words.after("cooldown", Words::duration)?;
            ForeignState::Open { since, reason, cooldown_ms }
        }
        unknown => return Err(format!("{unknown:?} is no state of a state file")),
    };
    let mut found = ForeignRun {
        precedence,
        state,
        no_progress: 0,
        same_error: 0,
        error: None,
        permission_denials: 0,
        baselines: std::collections::BTreeMap::new(),
        phase: None,
        iteration: 0,
        last_progress: 0,
        open_count: 0,
        history: Vec::new(),
    };
    loop {
        match () {
            () if words.take("no-progress") => found.no_progress = words.number()?,
            () if words.take("same-error") => found.same_error = words.number()?,
            () if words.take("hash") => found.error = Some(words.next()?),
            () if words.take("denials") => found.permission_denials = words.number()?,
            () if words.take("phase") => found.phase = Some(phase(&words.next()?)?),
            () if words.take("iteration") => found.iteration = words.long()?,
            () if words.take("last-progress") => found.last_progress = words.long()?,
            () if words.take("opens") => found.open_count = words.long()?,
            () if words.take("baseline") => {
                let (phase, mut metrics) = (phase(&words.next()?)?, Metrics::default());
                while metric(words, &mut metrics)? {}
                found.baselines.insert(phase, metrics);
            }
            () if words.take("line") => found.history.push(line(words.instant()?, &words.quoted()?)),
            () => return Ok(found),
        }
    }
}

fn line(at: Instant, reason: &str) -> HistoryLine {
    let (from, to) = ("CLOSED".to_owned(), "HALF_OPEN".to_owned());
    let is_trip = to == "OPEN";
    HistoryLine { at, event: HistoryEvent::StateChange, from, to, reason: reason.to_owned(), is_trip, iteration: 0 }
}
