//! Expands what a command line itself shows: braces, variables, loops and aliases that the same line sets, and
//! substitutions of `echo` and `which`.

use std::cell::Cell;

use super::lex::{self, Word};
use super::{base, simple_commands, wrapper};

/// The maximum number of names that one line sets, of values of a loop, and of words from one pair of braces.
const NAMES_MAX: usize = 32;
/// The maximum length of one value.
const VALUE_BYTES_MAX: usize = 4096;
/// The maximum length of all expansions of one line.
const EXPANSION_BYTES_MAX: usize = 64 * 1024;

/// The variables, loops and aliases that a line has set so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    variables: Vec<(String, String)>,
    /// The values of the variables of `for` loops.
    loops: Vec<(String, Vec<String>)>,
    aliases: Vec<(String, String)>,
    expanded_bytes: Cell<usize>,
}

impl Names {
    /// Remembers what a command sets: `x=1`, `export x=1`, `alias x=1`.
    pub fn learn(&mut self, words: &[String]) {
        let Some(first) = words.first() else { return };
        let is_alias = first == "alias";
        let declares = is_alias || matches!(&**first, "export" | "local" | "declare" | "typeset" | "readonly");
        let assigned = if declares { &words[1..] } else { words };
        if !declares && !assigned.iter().all(|word| wrapper::is_assignment(word)) {
            return;
        }
        for word in assigned {
            let Some((name, value)) = word.split_once('=').filter(|(_, value)| value.len() <= VALUE_BYTES_MAX) else {
                continue;
            };
            let names = if is_alias { &mut self.aliases } else { &mut self.variables };
            names.retain(|(known, _)| known != name);
            if names.len() < NAMES_MAX {
                names.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    /// Remembers the values of a loop: `for x in a b`.
    pub fn learn_loop(&mut self, words: &[Word]) {
        let [_, name, keyword, values @ ..] = words else { return };
        if keyword.value == "in" && self.loops.len() < NAMES_MAX {
            let values = values.iter().take(NAMES_MAX).map(|word| word.value.clone()).collect();
            self.loops.push((name.value.clone(), values));
        }
    }

    /// The values that the loop variable among these words takes, each with the variable's name.
    pub fn loop_values(&self, words: &[Word]) -> Option<(String, Vec<String>)> {
        let named = |name: &str| words.iter().any(|word| uses(&word.value, name));
        self.loops.iter().rev().find(|(name, _)| named(name)).cloned()
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.learn(&[format!("{name}={value}")]);
    }

    /// The text that these words stand for if the first is an alias.
    pub fn alias(&self, words: &[String]) -> Option<String> {
        let (first, rest) = words.split_first()?;
        let (_, text) = self.aliases.iter().find(|(name, _)| name == first)?;
        Some(format!("{text} {}", wrapper::quoted(rest)))
    }

    fn variable(&self, name: &str) -> Option<&str> {
        if name == "IFS" {
            return Some(" ");
        }
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// True if `more` further bytes may be produced.
    fn spend(&self, more: usize) -> bool {
        let spent = self.expanded_bytes.get().saturating_add(more);
        self.expanded_bytes.set(spent);
        spent <= EXPANSION_BYTES_MAX
    }
}

fn uses(text: &str, name: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let rest = text[at + 1..].trim_start_matches('{');
        rest.strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_'))
    })
}

/// The words of a command after the expansions that the line shows.
pub(super) fn words(words: Vec<Word>, names: &Names) -> Vec<String> {
    let mut expanded = Vec::with_capacity(words.len());
    for word in words {
        let may_expand = word.value.contains(['$', '{', '`']);
        if !may_expand {
            expanded.push(word.value);
            continue;
        }
        let is_list = !word.is_quoted && word.canon.contains('{') && word.canon.contains(',');
        let alternatives = if is_list { braces(&word.value, names) } else { vec![word.value] };
        for alternative in alternatives {
            let text = match substituted(&alternative, &word.nested) {
                Some(text) => text,
                None => variables(&alternative, names),
            };
            if word.is_quoted || text == alternative {
                expanded.push(text);
            } else {
                expanded.extend(text.split_whitespace().map(str::to_owned));
            }
        }
    }
    expanded
}

/// Expands `a{b,c}d` to `abd` and `acd`. A word without such braces stays as it is.
fn braces(word: &str, names: &Names) -> Vec<String> {
    let mut done = Vec::new();
    let mut waiting = vec![word.to_owned()];
    while let Some(next) = waiting.pop() {
        let is_small = |items: &[&str]| done.len() + waiting.len() < NAMES_MAX && names.spend(next.len() * items.len());
        match brace_list(&next).filter(|(_, items, _)| is_small(items)) {
            Some((before, items, after)) => {
                waiting.extend(items.iter().rev().map(|item| format!("{before}{item}{after}")));
            }
            None => done.push(next),
        }
    }
    done
}

/// The first innermost list in braces, with what is before and after it.
fn brace_list(word: &str) -> Option<(&str, Vec<&str>, &str)> {
    let mut open = None;
    for (at, byte) in word.bytes().enumerate() {
        match byte {
            // `${x}` is a variable.
            b'{' if at > 0 && word.as_bytes()[at - 1] == b'$' => open = None,
            b'{' => open = Some(at),
            b'}' => {
                if let Some(start) = open.take().filter(|start| word[*start..at].contains(',')) {
                    return Some((&word[..start], word[start + 1..at].split(',').collect(), &word[at + 1..]));
                }
            }
            0..=u8::MAX => {}
        }
    }
    None
}

/// What a word that is one substitution of `echo`, `printf` or `which` stands for.
fn substituted(word: &str, nested: &[String]) -> Option<String> {
    let [inner] = nested else { return None };
    let is_whole = (word.starts_with("$(") && word.ends_with(')')) || (word.starts_with('`') && word.ends_with('`'));
    if !is_whole || word.len() > inner.len() + 3 || inner.len() > VALUE_BYTES_MAX {
        return None;
    }
    let [command] = <[_; 1]>::try_from(simple_commands(lex::pieces(inner).0)).ok()?;
    let words: Vec<&str> = command.words.iter().map(|word| word.value.as_str()).collect();
    match words.as_slice() {
        ["echo" | "printf", text @ ..] => Some(text.join(" ")),
        ["which", name] | ["command", "-v", name] | ["type", "-p" | "-P", name] => {
            Some(format!("/usr/bin/{}", base(name)))
        }
        [..] => None,
    }
}

/// Replaces the variables that the line has set, and `${x:-default}` of others.
fn variables(text: &str, names: &Names) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        result.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_braced = rest.starts_with("${");
        let start = if is_braced { 2 } else { 1 };
        let length = rest[start..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let name = &rest[start..start + length];
        let end = if is_braced { rest.find('}').map_or(rest.len(), |end| end + 1) } else { start + length };
        let behind = rest.get(start + length..end.saturating_sub(1)).filter(|_| is_braced).unwrap_or_default();
        let default = [":-", ":=", "-", "="].iter().find_map(|sign| behind.strip_prefix(sign));
        match names.variable(name).or(default).filter(|value| length > 0 && names.spend(value.len())) {
            Some(value) => result.push_str(value),
            None => result.push_str(&rest[..end.max(1)]),
        }
        rest = &rest[end.max(1)..];
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::super::Script;

    #[test]
    fn what_the_line_itself_shows_is_expanded() {
        for (command, expected) in [
            ("x=ls; $x -l", "|ls -l"),
            ("export x=ls; ${x} -l", "export x=ls|ls -l"),
            ("x='ls -l'; $x a", "|ls -l a"),
            ("${y:-ls} a", "ls a"),
            ("ls${IFS}-l", "ls -l"),
            ("{ls,-l,a}", "ls -l a"),
            ("l{s,} x", "ls l x"),
            ("echo '{a,b}' ${y}", "echo {a,b} ${y}"),
            ("$(echo ls) -l", "ls -l|echo ls"),
            ("$(which ls) -l", "/usr/bin/ls -l|which ls"),
            ("$'\\x6cs' \\-l", "ls -l"),
            ("$'\\154s'", "ls"),
            ("alias l='ls -l'; l a", "ls -l|alias l=ls -l|ls -l a|l a"),
            ("for x in a b; do ls $x; done", "|ls b|ls a"),
            ("for x in a; do ls \"$y\"; done", "|ls $y"),
        ] {
            let found: Vec<String> = Script::parse(command).programs().map(|words| words.join(" ")).collect();
            assert_eq!(found.join("|"), expected, "{command}");
        }
        let bomb = format!("a={}; {}", "x".repeat(4000), "b=$a$a ".repeat(20_000));
        let words: usize = Script::parse(&bomb).programs().flatten().map(String::len).sum();
        assert!(words < 1_000_000, "{words}");
    }
}
