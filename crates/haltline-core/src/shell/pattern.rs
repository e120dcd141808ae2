//! Matches a guard's pattern against what a command would run (C8): the program and the subcommand are equal, and every
//! option and word of the pattern is present, whatever the order, the quoting and the wrappers.

use super::option_table::{equivalents, has_clusters, subcommand_options, valued_options};
use super::{Program, Script, base};
use crate::glob_matches;

/// A guard's pattern for commands, such as `git push --force*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPattern<'a> {
    text: &'a str,
    program: &'a str,
    rest: Vec<PatternWord<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternWord<'a> {
    /// An option; any of the alternatives will do.
    Option(Vec<&'a str>),
    /// A glob on a word that is not an option.
    Operand(String),
}

/// The words of a command, sorted by what they mean.
struct Arguments<'a> {
    subcommand: Option<&'a str>,
    options: Vec<&'a str>,
    /// Everything that is not an option, and the values of options, in their order.
    operands: Vec<&'a str>,
}

impl<'a> CommandPattern<'a> {
    /// Reads a pattern; `None` if it names no program or spans several commands, so that only its text can be compared.
    pub fn parse(text: &'a str) -> Option<Self> {
        let is_compound = text.split_whitespace().any(|word| matches!(word, "|" | "||" | "&&" | ";" | "&"));
        let mut words = text.split_whitespace().flat_map(at_options);
        let program = words.next().filter(|_| !is_compound)?;
        let mut rest = Vec::new();
        for word in words {
            match word {
                "--" => {}
                word if word.bytes().all(|byte| byte == b'*') => {}
                option if is_option(option) => {
                    rest.push(PatternWord::Option(option.split('|').filter(|part| !part.is_empty()).collect()));
                }
                operand => rest.extend(at_stars(operand).map(PatternWord::Operand)),
            }
        }
        // `git*push*` names the program together with more.
        let (program, more) = match program.split_once('*') {
            Some((name, more)) if !name.is_empty() && !more.trim_matches('*').is_empty() => (name, Some(more)),
            Some(_) | None => (program, None),
        };
        if let Some(more) = more {
            rest.splice(0..0, at_stars(more).map(PatternWord::Operand));
        }
        (!program.is_empty()).then_some(Self { text, program, rest })
    }

    /// Returns whether the script would run what the pattern describes. A part that was not read counts if it names the
    /// pattern's program: nobody can say that it does not run it.
    pub fn matches(&self, script: &Script) -> bool {
        script.programs.iter().any(|program| self.matches_program(program))
            || (!script.unread.is_empty() && self.is_mentioned_in(&script.unread))
    }

    fn matches_program(&self, program: &Program) -> bool {
        program.invocations().into_iter().any(|words| self.matches_words(words))
    }

    fn is_mentioned_in(&self, unread: &str) -> bool {
        let name = base(self.program).trim_matches('*');
        !name.is_empty() && unread.contains(name)
    }

    fn matches_words(&self, words: &[String]) -> bool {
        let Some((first, arguments)) = words.split_first() else { return false };
        let name = base(first);
        let is_same_program = glob_matches(self.program, first)
            || glob_matches(self.program, name)
            || (self.program.contains('/')
                && has_letters(base(self.program))
                && glob_matches(base(self.program), name));
        if !is_same_program {
            return false;
        }
        if self.rest.is_empty() {
            return true;
        }
        let arguments = Arguments::read(name, arguments);
        self.matches_arguments(name, &arguments)
            || self.text.contains('*') && glob_matches(self.text, &line(name, &arguments))
    }

    fn matches_arguments(&self, program: &str, arguments: &Arguments<'_>) -> bool {
        let mut operands = arguments.operands.as_slice();
        let mut is_first = true;
        for word in &self.rest {
            match word {
                PatternWord::Option(alternatives) => {
                    if !alternatives.iter().any(|option| arguments.has(program, option)) {
                        return false;
                    }
                }
                PatternWord::Operand(glob) => {
                    let found = match arguments.subcommand {
                        // The subcommand is the first word, not any word.
                        Some(subcommand) if is_first => glob_matches(glob, subcommand).then_some(0),
                        Some(_) | None => operands.iter().position(|operand| glob_matches(glob, operand)),
                    };
                    let Some(at) = found else { return false };
                    // The next glob may match the same word: both may come from one word of the pattern.
                    operands = &operands[at..];
                    is_first = false;
                }
            }
        }
        true
    }
}

impl<'a> Arguments<'a> {
    fn read(program: &str, words: &'a [String]) -> Self {
        let before = subcommand_options(program);
        let valued = valued_options(program);
        let mut arguments = Self { subcommand: None, options: Vec::new(), operands: Vec::new() };
        let mut words = words.iter().map(String::as_str);
        let mut are_options_over = false;
        while let Some(word) = words.next() {
            if word == "--" && !are_options_over {
                are_options_over = true;
                continue;
            }
            if are_options_over || !is_option(word) {
                if before.is_some() && arguments.subcommand.is_none() {
                    arguments.subcommand = Some(word);
                }
                arguments.operands.push(word);
                continue;
            }
            let is_before = arguments.subcommand.is_none();
            match before.filter(|_| is_before) {
                // Options before the subcommand say where it runs, not what it does.
                Some(before) if before.contains(&word) => {
                    words.next();
                }
                Some(_) | None => {
                    arguments.options.push(word);
                    arguments.operands.extend(word.split_once('=').map(|(_, value)| value));
                    if valued.contains(&word) {
                        arguments.operands.extend(words.next());
                    }
                }
            }
        }
        arguments
    }

    /// Returns whether the command has this option, or one that means the same.
    fn has(&self, program: &str, option: &str) -> bool {
        let name = option.trim_end_matches('*').trim_end_matches('=');
        let name = name.split_once('=').map_or(name, |(name, _)| name);
        let same = equivalents(program, self.subcommand, name);
        // A value in the pattern must be the value in the command.
        let has_value = option.split_once('=').is_some_and(|(_, value)| !value.trim_matches('*').is_empty());
        self.has_spelling(program, option)
            || !has_value && same.iter().any(|spelling| self.has_spelling(program, spelling))
    }

    fn has_spelling(&self, program: &str, option: &str) -> bool {
        if matches!(option, "+" | ":") {
            return self.operands.iter().skip(1).any(|operand| operand.len() > 1 && operand.starts_with(option));
        }
        let is_long = option.starts_with("--") || !has_clusters(program);
        if is_long || option.starts_with('+') {
            let name_of = |word: &'a str| word.split_once('=').map_or(word, |(name, _)| name);
            let words = self.options.iter().chain(self.operands.iter().filter(|_| option.starts_with('+')));
            return words.into_iter().any(|word| {
                glob_matches(option, word)
                    || glob_matches(option, name_of(word))
                    || (program == "git" && is_abbreviation(option, name_of(word)))
            });
        }
        // Each letter of a cluster is an option: `-rf` is `-r -f`.
        let letters = option.trim_start_matches('-').trim_end_matches('*');
        let valued = valued_options(program);
        letters.chars().all(|letter| {
            let is_given = self.options.iter().any(|word| has_letter(word, letter, valued));
            let short = format!("-{letter}");
            is_given
                || letters.chars().count() > 1
                    && equivalents(program, self.subcommand, &short).iter().any(|same| self.has_spelling(program, same))
        })
    }
}

/// Returns whether a cluster of short options contains a letter: what follows a letter that takes a value is the value.
fn has_letter(word: &str, letter: char, valued: &[&str]) -> bool {
    let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.starts_with('-')) else { return false };
    for found in cluster.chars() {
        if found == letter {
            return true;
        }
        if !found.is_ascii_alphanumeric() || valued.iter().any(|option| option.len() == 2 && option.ends_with(found)) {
            return false;
        }
    }
    false
}

/// True if a glob says anything.
fn has_letters(glob: &str) -> bool {
    glob.contains(|letter| letter != '*' && letter != '?')
}

/// git accepts a long option that is cut off, as long as it is unique: `--forc`.
fn is_abbreviation(option: &str, word: &str) -> bool {
    let option = option.trim_end_matches('*');
    word.len() >= 6 && word.len() < option.len() && word.starts_with("--") && option.starts_with(word)
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') || word.len() > 2 && word.starts_with('+') && word.contains('|')
}

/// The command on one line: the program's name, the subcommand, then everything as written.
fn line(name: &str, arguments: &Arguments<'_>) -> String {
    let mut words = vec![name];
    words.extend(&arguments.operands);
    words.extend(&arguments.options);
    words.join(" ")
}

/// Splits `push*--force*` where an option begins behind a star.
fn at_options(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(word);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        match text.find("*-") {
            Some(at) => {
                rest = Some(&text[at + 1..]);
                Some(&text[..=at])
            }
            None => Some(text),
        }
    })
}

/// Splits `push*main*` into `push*` and `*main*`: what a star covers may be several words.
fn at_stars(word: &str) -> impl Iterator<Item = String> {
    let parts: Vec<&str> = word.split('*').collect();
    let last = parts.len() - 1;
    let globs: Vec<String> = parts
        .iter()
        .enumerate()
        .filter(|(_, part)| !part.is_empty())
        .map(|(index, part)| {
            let (before, after) = (if index > 0 { "*" } else { "" }, if index < last { "*" } else { "" });
            format!("{before}{part}{after}")
        })
        .collect();
    globs.into_iter()
}
