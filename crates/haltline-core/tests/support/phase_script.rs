//! The language of `testdata/phase/*.txt`: one line of it, taken apart and played.
//!
//! Nothing is guessed and nothing left over: a word that is not understood is an error.

use haltline_core::identity::Digest;
use haltline_core::phase::{
    Bounds, Choice, ErrorSeen, Finish, Foreign, ForeignStand, Happening, HistoryEvent, HistoryLine, Joining, Limits,
    Metrics, Override, PhaseName, Report, Signal, Source, Spent, Start, Thresholds,
};
use haltline_core::{CircuitName, Instant, Mode};

use crate::clock::Clock;
use crate::courses::{World, operator};
use crate::outcome::Outcome;
use crate::stage::Stage;
use crate::words::{Words, parse_number};

/// A world and what the last event in it came to.
pub struct Play {
    world: World,
    last: Outcome,
}

impl Play {
    pub fn new() -> Self {
        Self { world: World::new(), last: Outcome::default() }
    }
}

impl Stage for Play {
    fn clock(&mut self) -> &mut Clock {
        &mut self.world.clock
    }

    fn mode(&mut self) -> &mut Mode {
        &mut self.world.policy.mode
    }

    fn setting(&mut self, word: &str, words: &mut Words) -> Result<bool, String> {
        let world = &mut self.world;
        match word {
            "course" => {
                let (front, scope) = (words.next()?, words.next()?);
                world.name = CircuitName::course(&front, &scope, None);
                world.row = None;
            }
            "session" => world.session = Some(words.next()?),
            "bounds" => world.bounds = Some(bounds(words)?),
            "set" => {
                let (key, value) = (words.next()?, parse_number(&words.next()?)?);
                world.policy.phase = set(&world.policy.phase, &key, value)?;
            }
            _unknown => return Ok(false),
        }
        Ok(true)
    }

    fn event(&mut self, words: &mut Words) -> Result<(), String> {
        let what = happening(words)?;
        self.last = Outcome::of(&mut self.world, what);
        Ok(())
    }

    fn headline(&self, expected: &str) -> String {
        self.last.headline(&self.world, expected)
    }

    fn part(&self, expected: &str) -> Option<String> {
        self.last.part_of(&self.world, expected)
    }
}

/// The limits with one of them changed, named by its path: `green.no_progress`.
fn set(limits: &Limits, key: &str, value: u32) -> Result<Limits, String> {
    let mut whole = serde_json::to_value(limits).map_err(|error| error.to_string())?;
    let place = whole.pointer_mut(&format!("/{}", key.replace('.', "/"))).ok_or(format!("{key:?} is no limit"))?;
    *place = value.into();
    serde_json::from_value(whole).map_err(|error| format!("{key} {value}: {error}"))
}

/// Ralph's defaults, and what is said otherwise.
fn bounds(words: &mut Words) -> Result<Bounds, String> {
    let thresholds = Thresholds { no_progress: 3, same_error: 5 };
    let mut bounds = Bounds { thresholds, denials: Some(2), neutral: None, cooldown_ms: Some(1_800_000) };
    loop {
        match () {
            () if words.take("no-progress") => bounds.thresholds.no_progress = words.number()?,
            () if words.take("same-error") => bounds.thresholds.same_error = words.number()?,
            () if words.take("denials") => bounds.denials = Some(words.number()?),
            () if words.take("neutral") => bounds.neutral = Some(words.number()?),
            () if words.take("cooldown") => bounds.cooldown_ms = Some(words.duration()?),
            () => return Ok(bounds),
        }
    }
}

fn happening(words: &mut Words) -> Result<Happening, String> {
    Ok(match words.next()?.as_str() {
        "begin" => {
            let phase = phase(&words.next()?)?;
            let joining = match () {
                () if words.take("new") => Joining::New,
                () if words.take("resumed") => Joining::Resumed,
                () => Joining::Same,
            };
            let operator = words.take("by-person").then(|| words.quoted_if_any().map(operator)).transpose()?;
            Happening::Begin { phase, joining, operator }
        }
        "ask" => Happening::Ask { start: None },
        "start" => Happening::Ask { start: Some(Start { tree: tree(words)? }) },
        "report" => Happening::Report(Box::new(report(words)?)),
        "decide" => {
            let choice = match words.next()?.as_str() {
                "reset" => Choice::Reset,
                "skip" => Choice::Skip,
                "abort" => Choice::Abort,
                "modify" => Choice::Modify { guidance: words.quoted()? },
                unknown => return Err(format!("{unknown:?}: expected reset, skip, abort or modify")),
            };
            Happening::Decide { choice, operator: operator(words.quoted_if_any()?) }
        }
        "auto-reset" => Happening::AutoReset,
        "finish" => Happening::Finish(match words.next()?.as_str() {
            "completed" => Finish::Completed,
            "budget" => Finish::Budget,
            "interrupted" => Finish::Interrupted,
            "unstartable" => Finish::Unstartable,
            unknown => return Err(format!("{unknown:?} is no way to end")),
        }),
        "found" => Happening::Found(foreign(words)?),
        unknown => return Err(format!("{unknown:?} is no event")),
    })
}

fn phase(name: &str) -> Result<PhaseName, String> {
    PhaseName::parse(name).map_err(|error| error.to_string())
}

/// A content of the work tree, by a name that stands for it.
fn tree(words: &mut Words) -> Result<Option<Digest>, String> {
    if words.take("tree") { Ok(Some(Digest::of(&[words.next()?.as_bytes()]))) } else { Ok(None) }
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
                report.error = Some(ErrorSeen::new(&kind, &message.replace("\\n", "\n")));
            }
            () if words.take("neutral") => report.neutral = Some(words.quoted()?),
            () if words.take("denied") => report.denied = true,
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
    let source = all.into_iter().find(|source| source.word() == word);
    Ok(Signal { source: source.ok_or(format!("{word:?} is no sign of progress"))?, count: words.long()? })
}

fn spent(words: &mut Words) -> Result<Spent, String> {
    let wall_ms = words.duration()?;
    let tokens = if words.take("tokens") { Some(words.long()?) } else { None };
    let micros = if words.take("micros") { Some(words.long()?) } else { None };
    Ok(Spent { wall_ms, tokens, micros })
}

/// `tests_passing=3`, or `m1..m64=1` for many of them.
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

fn foreign(words: &mut Words) -> Result<Foreign, String> {
    let wins = if words.take("winning") { Override::File } else { Override::Store };
    let stand = match words.next()?.as_str() {
        "CLOSED" => ForeignStand::Closed,
        "HALF_OPEN" => ForeignStand::Warned,
        "OPEN" => {
            let since = if words.take("since") { Some(words.instant()?) } else { None };
            let reason = words.quoted()?;
            let cooldown_ms = if words.take("cooldown") { Some(words.duration()?) } else { None };
            ForeignStand::Open { since, reason, cooldown_ms }
        }
        unknown => return Err(format!("{unknown:?} is no state of a state file")),
    };
    let mut found = Foreign {
        wins,
        stand,
        no_progress: 0,
        same_error: 0,
        error: None,
        denials: 0,
        baselines: std::collections::BTreeMap::new(),
        phase: None,
        iteration: 0,
        last_progress: 0,
        opens: 0,
        history: Vec::new(),
    };
    loop {
        match () {
            () if words.take("no-progress") => found.no_progress = words.number()?,
            () if words.take("same-error") => found.same_error = words.number()?,
            () if words.take("hash") => found.error = Some(words.next()?),
            () if words.take("denials") => found.denials = words.number()?,
            () if words.take("phase") => found.phase = Some(phase(&words.next()?)?),
            () if words.take("iteration") => found.iteration = words.long()?,
            () if words.take("last-progress") => found.last_progress = words.long()?,
            () if words.take("opens") => found.opens = words.long()?,
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

impl Words {
    fn number(&mut self) -> Result<u32, String> {
        parse_number(&self.next()?)
    }

    fn long(&mut self) -> Result<u64, String> {
        let word = self.next()?;
        word.parse().map_err(|_| format!("{word:?}: expected a whole number"))
    }

    fn quoted_or_word(&mut self) -> Result<String, String> {
        match self.quoted_if_any()? {
            Some(text) => Ok(text),
            None => self.next(),
        }
    }
}
