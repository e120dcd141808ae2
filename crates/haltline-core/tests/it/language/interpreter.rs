//! Plays the rules as text of any breaker: settings, events with their expected outcome, and later comparisons.
//!
//! A breaker adds its vocabulary: the words of its settings, its events and the parts of its outcomes. Nothing is
//! guessed and nothing is left over: a word that nobody understands is an error.

use std::path::Path;

use haltline_core::Mode;

use crate::clock::Clock;
use crate::language::outcome::Outcome;
use crate::language::paragraph::{self, Paragraph};
use crate::language::words::{Words, signed};

/// The settings and events of one breaker, and the world of the paragraph that is played.
pub trait Vocabulary: Screen {
    /// The folder of `testdata` with the paragraphs.
    const BREAKER: &'static str;

    /// The rules that a paragraph may name: the ids of SPEC.md, and the seed where SPEC.md is silent.
    const RULES: &'static [&'static str];

    /// A world in which nothing has happened yet.
    fn new() -> Self;

    fn clock_and_mode(&mut self) -> (&mut Clock, &mut Mode);

    /// Changes the world. Returns `false` if the breaker has no such setting.
    fn setting(&mut self, word: &str, words: &mut Words) -> Result<bool, String>;

    /// Handles an event, and keeps its outcome.
    fn event(&mut self, words: &mut Words) -> Result<(), String>;
}

/// The outcomes of one breaker as text.
pub trait Screen {
    /// The outcome of the last event.
    fn last(&self) -> &Outcome;

    /// Renders the outcome of the last event, as short as `expected` is.
    fn headline(&self, expected: &str) -> String;

    /// Renders the actual value of a part that only this breaker has. Returns `None` if there is no such part.
    fn part(&self, key: &str, expected: &str) -> Option<String>;
}

/// Mistakes that are errors in the rules of every breaker, with a part of the error.
const MISTAKES: [(&str, &str); 10] = [
    ("", "no line"),
    ("nonsense", "an event needs `->`"),
    ("nonsense -> pass", "\"nonsense\" is no event"),
    ("nonsense ->", "an outcome is missing"),
    ("\"nonsense -> pass", "a quote is not closed"),
    ("after 6 nonsense -> pass", "expected a duration"),
    ("at 2025-12-31T23:59:59Z", "it is 2026-01-01T00:00:00.000Z already"),
    ("clock steps aside 1h", "expected `clock steps back`"),
    ("then colour red", "\"colour red\" is nothing that can be compared"),
    ("observe everything", "unexpected \"everything\""),
];

/// Plays every paragraph of the breaker.
pub fn play_all<V: Vocabulary>() {
    paragraph::play_all(V::BREAKER, V::RULES, play_paragraph::<V>);
}

/// Fails if a rule has no paragraph.
pub fn assert_every_rule_has_a_paragraph<V: Vocabulary>() {
    assert_eq!(paragraph::missing(V::BREAKER, V::RULES), Vec::<&str>::new(), "rules without a paragraph");
}

/// Fails if a mistake, given with a part of its error, is not an error, or one that all breakers share is not.
pub fn assert_mistakes<V: Vocabulary>(mistakes: &[(&str, &str)]) {
    let rule = V::RULES[0];
    for (text, problem) in MISTAKES.iter().chain(mistakes) {
        let whole = format!("# {rule}: a title\n{text}\n");
        let failure = paragraph::failure_of(&whole, V::RULES, play_paragraph::<V>);
        assert!(failure.contains(problem) && failure.contains("x.txt:"), "{text}\n{failure}");
    }
    for title in [format!("{rule}: no hash"), "# no rule".to_owned(), "# Z99: none such".to_owned()] {
        assert!(paragraph::split(&format!("{title}\nobserve\n"), V::RULES).is_err(), "{title}");
    }
}

fn play_paragraph<V: Vocabulary>(path: &Path, paragraph: &Paragraph<'_>) -> Result<(), String> {
    let mut vocabulary = V::new();
    paragraph::play_lines(path, paragraph, |line| play(&mut vocabulary, line))
}

/// Plays a line and compares the results with what it expects.
fn play(vocabulary: &mut impl Vocabulary, text: &str) -> Result<(), String> {
    if let Some(expected) = text.strip_prefix("then ") {
        return compare_parts(vocabulary, expected);
    }
    let Some((event, expected)) = text.split_once("->") else { return set(vocabulary, text) };
    let (headline, expected) = expected.trim().split_once(" | ").unwrap_or((expected.trim(), ""));
    if headline.is_empty() {
        return Err("an outcome is missing after `->`".to_owned());
    }
    let times = Words::split(event)?.times()?;
    for number in 1..=times {
        let mut words = Words::split(&event.replace("{n}", &number.to_string()))?;
        words.times()?;
        pause(vocabulary.clock_and_mode().0, &mut words)?;
        vocabulary.event(&mut words)?;
        words.end()?;
    }
    compare(headline, &vocabulary.headline(headline))?;
    compare_parts(vocabulary, expected)
}

fn compare_parts(vocabulary: &impl Vocabulary, expected: &str) -> Result<(), String> {
    for part in expected.split(" | ").map(str::trim).filter(|part| !part.is_empty()) {
        let (key, rest) = part.split_once(' ').unwrap_or((part, ""));
        let value = vocabulary.part(key, rest).or_else(|| vocabulary.last().part(key, rest));
        let value = value.ok_or_else(|| format!("{part:?} is nothing that can be compared"))?;
        compare(part, &format!("{key} {value}"))?;
    }
    Ok(())
}

/// Compares word by word, so the alignment of columns does not matter.
fn compare(expected: &str, actual: &str) -> Result<(), String> {
    let is_same = expected.split_whitespace().eq(actual.split_whitespace());
    if is_same { Ok(()) } else { Err(format!("-- expected {expected}\n    -- is       {actual}")) }
}

/// Plays a line without an outcome.
fn set(vocabulary: &mut impl Vocabulary, text: &str) -> Result<(), String> {
    let mut words = Words::split(text)?;
    let (clock, mode) = vocabulary.clock_and_mode();
    if pause(clock, &mut words)? {
        return words.end();
    }
    match words.next()?.as_str() {
        "observe" => *mode = Mode::Observe,
        "enforce" => *mode = Mode::Enforce,
        "reboot" => clock.reboot(),
        "no" if words.peek() == Some("boot") => {
            words.next()?;
            words.expect("clock")?;
            clock.boot = None;
        }
        "clock" if words.take("steps") => {
            let sign = match words.next()?.as_str() {
                "back" => -1,
                "forward" => 1,
                _other => return Err("expected `clock steps back` or `clock steps forward`".to_owned()),
            };
            clock.step_wall(sign * signed(words.duration()?)?);
        }
        word if vocabulary.setting(word, &mut words)? => {}
        unknown => return Err(format!("{unknown:?} is no setting, and an event needs `->` and its outcome")),
    }
    words.end()
}

/// Lets time pass if the next words say so.
fn pause(clock: &mut Clock, words: &mut Words) -> Result<bool, String> {
    if words.take("after") {
        clock.advance(words.duration()?);
        return Ok(true);
    }
    if words.take("at") {
        let millis = words.instant()?.as_millis() - clock.wall.as_millis();
        let backwards = |_| format!("it is {} already: say `clock steps back`", clock.wall);
        clock.advance(u64::try_from(millis).map_err(backwards)?);
        return Ok(true);
    }
    Ok(false)
}
