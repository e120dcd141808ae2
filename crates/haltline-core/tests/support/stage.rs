//! How a line of rules is played, whatever its family: settings, events with their outcome, and what is compared after.

use haltline_core::Mode;

use crate::clock::Clock;
use crate::words::{Words, signed};

/// A world that lines are played in, with what the last event came to.
pub trait Stage {
    fn clock(&mut self) -> &mut Clock;

    fn mode(&mut self) -> &mut Mode;

    /// Changes the world; `false` where the family knows no such word.
    fn setting(&mut self, word: &str, words: &mut Words) -> Result<bool, String>;

    /// Something happens.
    fn event(&mut self, words: &mut Words) -> Result<(), String>;

    /// What it came to, as short as `expected` is.
    fn headline(&self, expected: &str) -> String;

    /// The answer to one expected part. `None` where there is no such part.
    fn part(&self, expected: &str) -> Option<String>;
}

type Compare = fn(&str, &str) -> Result<(), String>;

/// Plays a line, and compares what it expects.
pub fn play(stage: &mut impl Stage, text: &str, compare: Compare) -> Result<(), String> {
    if let Some(expected) = text.strip_prefix("then ") {
        return parts(stage, expected, compare);
    }
    let Some((event, expected)) = text.split_once("->") else { return set(stage, text) };
    let (headline, expected) = expected.trim().split_once(" | ").unwrap_or((expected.trim(), ""));
    if headline.is_empty() {
        return Err("an outcome is missing after `->`".to_owned());
    }
    let mut words = Words::split(event)?;
    let times = if words.peek_second() == Some("times") { words.times()? } else { 1 };
    for number in 1..=times {
        let mut words = Words::split(&event.replace("{n}", &number.to_string()))?;
        if words.peek_second() == Some("times") {
            words.times()?;
        }
        pause(stage.clock(), &mut words)?;
        stage.event(&mut words)?;
        words.end()?;
    }
    compare(headline, &stage.headline(headline))?;
    parts(stage, expected, compare)
}

fn parts(stage: &impl Stage, expected: &str, compare: Compare) -> Result<(), String> {
    for part in expected.split(" | ").map(str::trim).filter(|part| !part.is_empty()) {
        compare(part, &stage.part(part).ok_or_else(|| format!("{part:?} is nothing that can be compared"))?)?;
    }
    Ok(())
}

fn set(stage: &mut impl Stage, text: &str) -> Result<(), String> {
    let mut words = Words::split(text)?;
    if pause(stage.clock(), &mut words)? {
        return words.end();
    }
    match words.next()?.as_str() {
        "observe" => *stage.mode() = Mode::Observe,
        "enforce" => *stage.mode() = Mode::Enforce,
        "reboot" => stage.clock().reboot(),
        "no" if words.take("boot") && words.take("clock") => stage.clock().boot = None,
        "clock" if words.take("steps") => {
            let sign = match words.next()?.as_str() {
                "back" => -1,
                "forward" => 1,
                _other => return Err("expected `clock steps back` or `clock steps forward`".to_owned()),
            };
            stage.clock().step_wall(sign * signed(words.duration()?)?);
        }
        word if stage.setting(word, &mut words)? => {}
        unknown => return Err(format!("{unknown:?} is no setting, and an event needs `->` and its outcome")),
    }
    words.end()
}

/// Lets time pass, where the next words say so.
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
