//! The vocabulary of `testdata/attempt/*.txt`: its settings and events.

use haltline_core::Mode;
use haltline_core::attempt::{
    Attempt, AttemptEvent, CaseSensitivity, Entry, FileLocation, Justification, Listed, LogLine, Output,
    RecoveryOption, Report, Rollback, Rule, Scope, Source, TestName, TestResult, Touch,
};
use haltline_core::identity::Digest;

use crate::attempt::world::{World, slice_name};
use crate::clock::Clock;
use crate::language::interpreter::Vocabulary;
use crate::language::outcome::Outcome;
use crate::language::words::{Words, parse_number};

/// A world, the outcome of the last event in it, and the test that the event was about.
pub struct AttemptRules {
    pub world: World,
    pub last: Outcome,
    pub test: Option<TestName>,
}

impl Vocabulary for AttemptRules {
    const BREAKER: &'static str = "attempt";
    const RULES: &'static [&'static str] = &[
        "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "E3", "E4", "E5", "E6", "E12", "E14", "E15", "S1", "S2", "S3",
        "S4", "S5", "S6", "S7",
    ];

    fn new() -> Self {
        Self { world: World::new(), last: Outcome::default(), test: None }
    }

    fn clock_and_mode(&mut self) -> (&mut Clock, &mut Mode) {
        (&mut self.world.sessions.clock, &mut self.world.sessions.policy.mode)
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
                world.sessions.agent.session.clone_from(&session);
                world.sessions.agent.sub_agent = None;
                world.session = Some(session);
            }
            "agent" => world.sessions.agent.sub_agent = Some(words.next()?).filter(|name| name != "main"),
            "responses" => {
                world.is_named = match words.next()?.as_str() {
                    "named" => true,
                    "unnamed" => false,
                    unknown => return Err(format!("{unknown:?}: expected named or unnamed")),
                };
            }
            "case" => {
                world.case_sensitivity = match words.next()?.as_str() {
                    "insensitive" => CaseSensitivity::Insensitive,
                    "sensitive" => CaseSensitivity::Sensitive,
                    unknown => return Err(format!("{unknown:?}: expected sensitive or insensitive")),
                };
            }
            _unknown => return Ok(false),
        }
        Ok(true)
    }

    fn event(&mut self, words: &mut Words) -> Result<(), String> {
        if words.take("edit") {
            let (path, location) = (words.quoted_or_word()?, location(words));
            let decision = self.world.edit(&path, location, words.after("in", Words::next)?);
            self.last = Outcome { result: Some(Ok(decision)), cause: Some("edit") };
            return Ok(());
        }
        let event = parse_event(words)?;
        if let Some(test) = test_of(&event) {
            self.test = Some(test.clone());
        }
        let cause = self.world.event(event.clone()).cause();
        self.last = Outcome { result: Some(self.world.handle(event)), cause: Some(cause) };
        Ok(())
    }
}

fn test_of(event: &AttemptEvent) -> Option<&TestName> {
    match event {
        AttemptEvent::Ask { test, .. } => test.as_ref(),
        AttemptEvent::Attempt(attempt) => Some(&attempt.test),
        AttemptEvent::File { test, .. } => Some(test),
        AttemptEvent::Begin { .. }
        | AttemptEvent::Touch(_)
        | AttemptEvent::OutOfScopeChange { .. }
        | AttemptEvent::Deviate { .. }
        | AttemptEvent::RollBack { .. }
        | AttemptEvent::Reset { .. }
        | AttemptEvent::HandOut
        | AttemptEvent::End { .. } => None,
    }
}

fn parse_event(words: &mut Words) -> Result<AttemptEvent, String> {
    Ok(match words.next()?.as_str() {
        "begin" => {
            let scope = scope(words)?;
            let checkpoint = words.after("checkpoint", Words::quoted_or_word)?;
            AttemptEvent::Begin { scope, checkpoint, operator: words.person()? }
        }
        "ask" => {
            let test = if words.peek().is_some() { Some(test(&words.next()?)?) } else { None };
            AttemptEvent::Ask { test, strategy: words.quoted_if_any()? }
        }
        "run" => AttemptEvent::Attempt(Box::new(attempt(words)?)),
        "touch" => AttemptEvent::Touch(touch(words)?),
        "snapshot" => {
            let mut paths = Vec::new();
            while words.peek().is_some() {
                paths.extend(numbered(&words.quoted_or_word()?)?);
            }
            AttemptEvent::OutOfScopeChange { paths }
        }
        "report" => {
            let test = test(&words.next()?)?;
            let hypothesis = words.quoted_if_any()?.unwrap_or_else(|| "the cache is stale".to_owned());
            let question = words.quoted_if_any()?.unwrap_or_else(|| "Who owns the cache?".to_owned());
            AttemptEvent::File { test, report: Box::new(report(hypothesis, question)) }
        }
        "deviate" => {
            let number = words.next()?;
            let rule = number.parse().ok().and_then(Rule::from_number).ok_or(format!("{number:?} is no rule"))?;
            let description = words.quoted()?;
            AttemptEvent::Deviate { rule, description, file: words.after("in", Words::quoted_or_word)? }
        }
        "rollback" => {
            let rollback = rollback(words)?.ok_or("expected `to` a checkpoint")?;
            AttemptEvent::RollBack { rollback, operator: words.operator()? }
        }
        "reset" => {
            let (guidance, rollback) = (words.quoted()?, rollback(words)?);
            AttemptEvent::Reset { guidance, rollback, operator: words.operator()? }
        }
        "hand-out" => AttemptEvent::HandOut,
        "end" => AttemptEvent::End { operator: words.person()? },
        unknown => return Err(format!("{unknown:?} is no event")),
    })
}

fn test(name: &str) -> Result<TestName, String> {
    TestName::parse(name).map_err(|error| error.to_string())
}

/// `in-scope A B` is a list that replaces everything else; the other keywords name where an entry comes from.
fn scope(words: &mut Words) -> Result<Scope, String> {
    let (mut entries, mut source, mut is_explicit) = (Vec::new(), None, false);
    let graph = words.after("graph", Words::quoted_or_word)?;
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
                    let (source, path) = (source.clone(), words.quoted_or_word()?);
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
        strategy: words.quoted_if_any()?.unwrap_or_default(),
        files: Vec::new(),
        files_more: 0,
        result,
        is_declared: false,
        summary: String::new(),
        error: None,
        checkpoint: None,
        generation: None,
    };
    loop {
        match () {
            () if words.take("changed") => attempt.files.extend(numbered(&words.quoted_or_word()?)?),
            () if words.take("more") => attempt.files_more = words.long()?,
            () if words.take("by-hand") => attempt.is_declared = true,
            () if words.take("summary") => attempt.summary = words.quoted()?,
            () if words.take("printed") => attempt.error = Some(printed(words.quoted()?, words.take("secret"))),
            () if words.take("checkpoint") => attempt.checkpoint = Some(words.next()?),
            () if words.take("generation") => attempt.generation = Some(words.long()?),
            () => return Ok(attempt),
        }
    }
}

fn printed(text: String, has_secrets: bool) -> Output {
    Output { excerpt: text.clone(), bytes: text.len() as u64, text, has_secrets, exit: None }
}

fn touch(words: &mut Words) -> Result<Touch, String> {
    let (path, location) = (words.quoted_or_word()?, location(words));
    let is_unjustifiable = words.take("unjustifiable");
    let mut justification = None;
    if words.take("justified") {
        let [failing_test, reason, relationship] = [words.quoted()?, words.quoted()?, words.quoted()?];
        let file = words.after("as", Words::quoted_or_word)?.unwrap_or_else(|| path.clone());
        justification = Some(Justification { file, failing_test, reason, relationship });
    }
    let requester =
        words.after("by", Words::quoted_or_word)?.map(|requester| Digest::from_parts(&[requester.as_bytes()]));
    Ok(Touch { path, location, justification, is_unjustifiable, requester })
}

fn rollback(words: &mut Words) -> Result<Option<Rollback>, String> {
    let Some(to) = words.after("to", Words::quoted_or_word)? else { return Ok(None) };
    let kept = words.after("kept", Words::quoted_or_word)?.ok_or("expected `kept` and where")?;
    Ok(Some(Rollback { to, kept }))
}

fn report(best_hypothesis: String, specific_question: String) -> Report {
    let line = |attempt| LogLine {
        attempt,
        strategy: "another way".to_owned(),
        files: Vec::new(),
        result: "the same error".to_owned(),
    };
    let recovery = RecoveryOption { option: "ask the owner".to_owned(), risk: "a day lost".to_owned() };
    Report {
        test_expectation: "a second login is refused".to_owned(),
        actual_error: String::new(),
        attempt_log: Listed::Items(vec![line(1)]),
        cumulative_files_modified: Listed::default(),
        scope_violations: Listed::default(),
        best_hypothesis,
        specific_question,
        recovery_options: Listed::Items(vec![recovery]),
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

fn location(words: &mut Words) -> FileLocation {
    if words.take("outside") { FileLocation::Outside } else { FileLocation::Inside }
}
