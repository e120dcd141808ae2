//! Splits a line of rules into words and consumes them from the front. It guesses nothing and leaves nothing over.

use haltline_core::{Instant, Operator};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::operator;

/// The words of a line, consumed from the front. A quoted text is one word that keeps its opening quote.
#[derive(Clone)]
pub struct Words(std::collections::VecDeque<String>);

impl Words {
    pub fn split(text: &str) -> Result<Self, String> {
        let mut words = std::collections::VecDeque::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (word, after) = match rest.strip_prefix('"') {
                Some(quoted) => {
                    let end = quoted.find('"').ok_or("a quote is not closed")?;
                    (&rest[..=end], &quoted[end + 1..])
                }
                None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
            };
            words.push_back(word.to_owned());
            rest = after.trim_start();
        }
        Ok(Self(words))
    }

    pub fn peek(&self) -> Option<&str> {
        self.0.front().map(String::as_str)
    }

    pub fn next(&mut self) -> Result<String, String> {
        self.0.pop_front().ok_or_else(|| "the line ends too early".to_owned())
    }

    pub fn take(&mut self, word: &str) -> bool {
        let is_next = self.0.front().is_some_and(|next| next == word);
        if is_next {
            self.0.pop_front();
        }
        is_next
    }

    pub fn end(self) -> Result<(), String> {
        match self.0.front() {
            Some(word) => Err(format!("unexpected {word:?}")),
            None => Ok(()),
        }
    }

    /// Consumes this word, which must be next.
    pub fn expect(&mut self, word: &str) -> Result<(), String> {
        if self.take(word) { Ok(()) } else { Err(format!("expected `{word}`")) }
    }

    /// Consumes `5 times`; without it, an event happens once.
    pub fn times(&mut self) -> Result<u32, String> {
        if self.0.get(1).is_none_or(|word| word != "times") {
            return Ok(1);
        }
        let times = self.number()?;
        self.next().map(|_times| times)
    }

    /// A text in quotes. `\n` in it is a line break and `\t` a tab.
    pub fn quoted(&mut self) -> Result<String, String> {
        let word = self.next()?;
        let text = word.strip_prefix('"').ok_or_else(|| format!("{word:?}: expected a text in quotes"))?;
        Ok(text.replace("\\n", "\n").replace("\\t", "\t"))
    }

    pub fn quoted_if_any(&mut self) -> Result<Option<String>, String> {
        if self.peek().is_some_and(|word| word.starts_with('"')) { self.quoted().map(Some) } else { Ok(None) }
    }

    pub fn quoted_or_word(&mut self) -> Result<String, String> {
        match self.quoted_if_any()? {
            Some(text) => Ok(text),
            None => self.next(),
        }
    }

    /// The value after this keyword, if the keyword is next.
    pub fn after<T>(
        &mut self,
        keyword: &str,
        value: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        if self.take(keyword) { value(self).map(Some) } else { Ok(None) }
    }

    /// The person in these tests, if the line says `by-person`.
    pub fn person(&mut self) -> Result<Option<Operator>, String> {
        self.after("by-person", Self::operator)
    }

    /// The person in these tests, with the reason if the line gives one.
    pub fn operator(&mut self) -> Result<Operator, String> {
        Ok(operator(self.quoted_if_any()?))
    }

    /// The words that are left, as text.
    pub fn rest(&mut self) -> String {
        let close = |word: String| if word.starts_with('"') { word + "\"" } else { word };
        self.0.drain(..).map(close).collect::<Vec<_>>().join(" ")
    }

    pub fn instant(&mut self) -> Result<Instant, String> {
        Instant::parse(&self.next()?).map_err(|error| error.to_string())
    }

    pub fn instants(&mut self) -> Result<Vec<Instant>, String> {
        let mut instants = Vec::new();
        while self.0.front().is_some_and(|word| word.starts_with(|first: char| first.is_ascii_digit())) {
            instants.push(self.instant()?);
        }
        if instants.is_empty() { Err("expected at least one instant".to_owned()) } else { Ok(instants) }
    }

    pub fn number(&mut self) -> Result<u32, String> {
        parse_number(&self.next()?)
    }

    pub fn long(&mut self) -> Result<u64, String> {
        let word = self.next()?;
        word.parse().map_err(|_| format!("{word:?}: expected a whole number"))
    }

    pub fn duration(&mut self) -> Result<u64, String> {
        parse_duration(&self.next()?)
    }
}

pub fn parse_number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?}: expected a whole number"))
}

pub fn signed(millis: u64) -> Result<i64, String> {
    i64::try_from(millis).map_err(|error| error.to_string())
}

/// Parses `29d23h59m59s999ms`: whole numbers with their units, largest first.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?}: expected a duration such as 6m, 24h or 29d23h59m59s999ms");
    let mut rest = text;
    let mut millis = 0;
    for (unit, unit_ms) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let after = &rest[digits..];
        let unit_end = after.find(|letter: char| letter.is_ascii_digit()).unwrap_or(after.len());
        if digits > 0 && &after[..unit_end] == unit {
            millis += rest[..digits].parse::<u64>().map_err(|_| wrong())? * unit_ms;
            rest = &after[unit_end..];
        }
    }
    if rest.is_empty() && !text.is_empty() { Ok(millis) } else { Err(wrong()) }
}

/// The limits with one of them changed; `key` is its path, such as `agents.concurrent_max`.
pub fn set_limit<L: Serialize + DeserializeOwned>(limits: &L, key: &str, value: &str) -> Result<L, String> {
    let mut whole = serde_json::to_value(limits).map_err(|error| error.to_string())?;
    let limit = whole.pointer_mut(&format!("/{}", key.replace('.', "/"))).ok_or(format!("{key:?} is no limit"))?;
    *limit = serde_json::from_str(value).unwrap_or_else(|_| serde_json::Value::from(value));
    serde_json::from_value(whole).map_err(|error| format!("{key} {value}: {error}"))
}
