//! The language of `testdata/attempt/*.txt`: one line of it, taken apart and played.
//!
//! Nothing is guessed and nothing left over: a word that is not understood is an error.

use haltline_core::Mode;
use haltline_core::attempt::{
    Attempt, Entry, Happening, Justification, Letters, Listed, LogLine, Output, Place, RecoveryOption, Report,
    Rollback, Rule, Scope, Source, TestName, TestResult, Touch,
};
use haltline_core::identity::Digest;

use crate::clock::Clock;
use crate::outcome::Outcome;
use crate::slices::{World, operator, slice_name};
use crate::stage::Stage;
use crate::words::{Words, parse_number};

/// A world, what the last event in it came to, and the test it was about.
pub struct Play {
    world: World,
    last: Outcome,
    test: Option<TestName>,
}

impl Play {
    pub fn new() -> Self {
        Self { world: World::new(), last: Outcome::default(), test: None }
    }

    fn edit(&mut self, words: &mut Words) -> Result<Outcome, String> {
        let (path, place) = (words.path()?, words.place());
        let message = if words.take("in") { Some(words.next()?) } else { None };
        let decision = self.world.edit(&path, place, message);
        Ok(Outcome { result: Some(Ok(decision)), cause: "edit" })
    }
}

impl Stage for Play {
    fn clock(&mut self) -> &mut Clock {
        &mut self.world.sessions.clock
    }

    fn mode(&mut self) -> &mut Mode {
        &mut self.world.sessions.policy.mode
    }

    fn setting(&mut self, word: &str, words: &mut Words) -> Result<bool, String> {
        let world = &mut self.world;
        match word {
            "slice" => {
                world.name = slice_name(&words.next()?)?;
                self.test = None;
            }
            "session" => {
                let session = words.next()?;
                world.sessions.stream.session.clone_from(&session);
                world.sessions.stream.agent = None;
                world.session = Some(session);
            }
            "agent" => world.sessions.stream.agent = Some(words.next()?).filter(|name| name != "main"),
            "responses" => {
                world.is_named = match words.next()?.as_str() {
                    "named" => true,
                    "unnamed" => false,
                    unknown => return Err(format!("{unknown:?}: expected named or unnamed")),
                };
            }
            "letters" => {
                world.letters = match words.next()?.as_str() {
                    "alike" => Letters::Alike,
                    "distinct" => Letters::Distinct,
                    unknown => return Err(format!("{unknown:?}: expected alike or distinct")),
                };
            }
            _unknown => return Ok(false),
        }
        Ok(true)
    }

    fn event(&mut self, words: &mut Words) -> Result<(), String> {
        if words.take("edit") {
            self.last = self.edit(words)?;
            return Ok(());
        }
        let what = happening(words)?;
        if let Some(test) = test_of(&what) {
            self.test = Some(test.clone());
        }
        let cause = self.world.event(what.clone()).cause();
        self.last = Outcome { result: Some(self.world.tell(what)), cause };
        Ok(())
    }

    fn headline(&self, expected: &str) -> String {
        self.last.headline(&self.world, self.test.as_ref(), expected)
    }

    fn part(&self, expected: &str) -> Option<String> {
        self.last.part_of(&self.world, expected)
    }
}

fn test_of(what: &Happening) -> Option<&TestName> {
    match what {
        Happening::Ask { test, .. } => test.as_ref(),
        Happening::Attempt(attempt) => Some(&attempt.test),
        Happening::File { test, .. } => Some(test),
        Happening::Begin { .. }
        | Happening::Touch(_)
        | Happening::Stray { .. }
        | Happening::Deviate { .. }
        | Happening::RollBack { .. }
        | Happening::Reset { .. }
        | Happening::HandOut
        | Happening::End { .. } => None,
    }
}

fn happening(words: &mut Words) -> Result<Happening, String> {
    Ok(match words.next()?.as_str() {
        "begin" => {
            let scope = scope(words)?;
            let checkpoint = words.after("checkpoint")?;
            Happening::Begin { scope, checkpoint, operator: words.person()? }
        }
        "ask" => {
            let test = if words.peek().is_some() { Some(test(&words.next()?)?) } else { None };
            Happening::Ask { test, strategy: words.quoted_if_any()? }
        }
        "run" => Happening::Attempt(Box::new(attempt(words)?)),
        "touch" => Happening::Touch(touch(words)?),
        "look" => {
            let mut paths = Vec::new();
            while words.peek().is_some() {
                paths.extend(numbered(&words.path()?)?);
            }
            Happening::Stray { paths }
        }
        "report" => {
            let test = test(&words.next()?)?;
            let hypothesis = words.quoted_if_any()?.unwrap_or_else(|| "the cache is stale".to_owned());
            let question = words.quoted_if_any()?.unwrap_or_else(|| "Who owns the cache?".to_owned());
            Happening::File { test, report: Box::new(report(hypothesis, question)) }
        }
        "deviate" => {
            let number = words.next()?;
            let rule = number.parse().ok().and_then(Rule::numbered).ok_or(format!("{number:?} is no rule"))?;
            let description = words.quoted()?.replace("\\n", "\n");
            Happening::Deviate { rule, description, file: words.after("in")? }
        }
        "rollback" => {
            let rollback = rollback(words)?.ok_or("expected `to` a checkpoint")?;
            Happening::RollBack { rollback, operator: operator(words.quoted_if_any()?) }
        }
        "reset" => {
            let (guidance, rollback) = (words.quoted()?.replace("\\n", "\n"), rollback(words)?);
            Happening::Reset { guidance, rollback, operator: operator(words.quoted_if_any()?) }
        }
        "hand-out" => Happening::HandOut,
        "end" => Happening::End { operator: words.person()? },
        unknown => return Err(format!("{unknown:?} is no event")),
    })
}

fn test(name: &str) -> Result<TestName, String> {
    TestName::parse(name).map_err(|error| error.to_string())
}

/// `in-scope A B` is a list that replaces all else; the other words name where an entry comes from.
fn scope(words: &mut Words) -> Result<Scope, String> {
    let (mut entries, mut source, mut is_explicit) = (Vec::new(), None, false);
    let graph = words.after("graph")?;
    loop {
        match () {
            () if words.take("in-scope") => {
                (source, is_explicit) = (Some(Source::Given), true);
                if words.take("nothing") {
                    return Ok(Scope::explicit(Vec::new(), graph));
                }
            }
            () if words.take("files-in-scope") => (source, is_explicit) = (Some(Source::FilesInScope), true),
            () if words.take("contract") => source = Some(Source::Contract { file: words.next()? }),
            () if words.take("packages") => source = Some(Source::Packages),
            () if words.take("deliverables") => source = Some(Source::Deliverables),
            () => match (words.peek(), &source) {
                (Some(next), Some(source)) if !["checkpoint", "by-person"].contains(&next) => {
                    let (source, path) = (source.clone(), words.path()?);
                    entries.push(Entry::parse(&path, source).map_err(|error| format!("{path:?} {error}"))?);
                }
                (Some(_) | None, _) => break,
            },
        }
    }
    Ok(if is_explicit { Scope::explicit(entries, graph) } else { Scope::inferred(entries, graph) })
}

fn attempt(words: &mut Words) -> Result<Attempt, String> {
    let test = test(&words.next()?)?;
    let result = match words.next()?.as_str() {
        "passes" => TestResult::Pass,
        "fails" => TestResult::Fail,
        "infra" => TestResult::Infra,
        "unclear" => TestResult::Unclear,
        unknown => return Err(format!("{unknown:?}: expected passes, fails, infra or unclear")),
    };
    let mut attempt = Attempt {
        test,
        strategy: words.quoted_if_any()?.unwrap_or_default().replace("\\n", "\n"),
        files: Vec::new(),
        files_more: 0,
        result,
        is_declared: false,
        said: String::new(),
        error: None,
        checkpoint: None,
        generation: None,
    };
    loop {
        match () {
            () if words.take("changed") => attempt.files.extend(numbered(&words.path()?)?),
            () if words.take("more") => attempt.files_more = words.number()?,
            () if words.take("by-hand") => attempt.is_declared = true,
            () if words.take("said") => attempt.said = words.quoted()?.replace("\\n", "\n"),
            () if words.take("printed") => attempt.error = Some(printed(&words.quoted()?, words.take("secret"))),
            () if words.take("checkpoint") => attempt.checkpoint = Some(words.next()?),
            () if words.take("generation") => attempt.generation = Some(words.number()?),
            () => return Ok(attempt),
        }
    }
}

fn printed(text: &str, has_secrets: bool) -> Output {
    let text = text.replace("\\n", "\n");
    Output { excerpt: text.clone(), bytes: text.len() as u64, text, has_secrets }
}

fn touch(words: &mut Words) -> Result<Touch, String> {
    let (path, place) = (words.path()?, words.place());
    let is_unjustifiable = words.take("unjustifiable");
    let mut justification = None;
    if words.take("justified") {
        let [failing_test, reason, relationship] = [words.quoted()?, words.quoted()?, words.quoted()?];
        let file = words.after("as")?.unwrap_or_else(|| path.clone());
        justification = Some(Justification { file, failing_test, reason, relationship });
    }
    let asker = words.after("by")?.map(|asker| Digest::of(&[asker.as_bytes()]));
    Ok(Touch { path, place, justification, is_unjustifiable, asker })
}

fn rollback(words: &mut Words) -> Result<Option<Rollback>, String> {
    let Some(to) = words.after("to")? else { return Ok(None) };
    let kept = words.after("kept")?.ok_or("expected `kept` and where")?;
    Ok(Some(Rollback { to, kept }))
}

fn report(best_hypothesis: String, specific_question: String) -> Report {
    let line = |attempt| LogLine {
        attempt,
        strategy: "another way".to_owned(),
        files: Vec::new(),
        result: "the same error".to_owned(),
    };
    let way = RecoveryOption { option: "ask the owner".to_owned(), risk: "a day lost".to_owned() };
    Report {
        test_expectation: "a second login is refused".to_owned(),
        actual_error: String::new(),
        attempt_log: Listed::Items(vec![line(1)]),
        cumulative_files_modified: Listed::default(),
        scope_violations: Listed::default(),
        best_hypothesis: best_hypothesis.replace("\\n", "\n"),
        specific_question,
        recovery_options: Listed::Items(vec![way]),
    }
}

/// `docs/a1..a300.md` stands for three hundred paths.
fn numbered(path: &str) -> Result<Vec<String>, String> {
    let Some((first, rest)) = path.split_once("1..") else { return Ok(vec![path.to_owned()]) };
    let stem = first.rsplit('/').next().unwrap_or(first);
    let rest = rest.strip_prefix(stem).ok_or(format!("{path:?}: expected the same name on both sides"))?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let last = parse_number(&rest[..digits])?;
    Ok((1..=last).map(|number| format!("{first}{number}{}", &rest[digits..])).collect())
}

impl Words {
    /// A path; one with blanks in it stands in quotes, where `\n` ends a line.
    fn path(&mut self) -> Result<String, String> {
        match self.quoted_if_any()? {
            Some(path) => Ok(path.replace("\\n", "\n")),
            None => self.next(),
        }
    }

    fn place(&mut self) -> Place {
        if self.take("outside") { Place::Outside } else { Place::Inside }
    }

    /// The word that follows this one, where it is next.
    fn after(&mut self, word: &str) -> Result<Option<String>, String> {
        if self.take(word) { self.path().map(Some) } else { Ok(None) }
    }

    fn number(&mut self) -> Result<u64, String> {
        parse_number(&self.next()?).map(u64::from)
    }

    fn person(&mut self) -> Result<Option<haltline_core::Operator>, String> {
        self.take("by-person").then(|| self.quoted_if_any().map(operator)).transpose()
    }
}
