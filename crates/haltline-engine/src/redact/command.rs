//! Finds secrets that a command line gives to a program: `curl -u a:b`, `mysql -pX`, `--client-secret X`.

use std::ops::Range;

use super::assignment::{Style, mask_if_secret};
use super::character::{DASH, DOT, LETTER, UNDERSCORE, WORD, is_in};
use super::header::cookie_option;
use super::literal::{Ends, Literal, skip_blanks};
use super::name::{Promise, promise};
use super::program::{OPTIONS, POSITIONS, Takes, is_known};
use super::value::{is_name, is_placeholder, is_random};

/// A secret and where it is used, in one command.
#[derive(Default)]
struct Line<'a> {
    program: &'a str,
    words: [&'a str; 6],
    count: usize,
    /// Positional words since the program, and options seen.
    has_batch_option: bool,
    /// The last words, for `config set NAME VALUE`.
    last: [&'a str; 2],
    last_position: Option<(usize, usize)>,
    /// What `echo` and its relatives print.
    printed: Option<(usize, usize)>,
}

/// Calls `found` with the position of every secret that a command line holds.
pub(super) fn find(text: &str, found: &mut impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut line = Line::default();
    let mut printed: Option<(usize, usize)> = None;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\n' {
            let is_continued = at > 0 && bytes[at - 1] == b'\\';
            if !is_continued {
                finish(text, &line, found);
                line = Line::default();
                printed = None;
            }
        }
        if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let length = bytes[at..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        let word = &text[at..at + length];
        if matches!(word, "|" | "||" | "&&" | ";" | "&") {
            printed = if word == "|" { line.printed } else { None };
            finish(text, &line, found);
            line = Line::default();
            at += length;
            continue;
        }
        line.word(text, word, at, found);
        if let Some((from, to)) = printed
            && reads_secret(&line, word)
        {
            mask_printed(text, from, to, found);
            printed = None;
        }
        // `<<< secret`
        if word.starts_with("<<<") && matches!(line.program, "sudo" | "chpasswd" | "su" | "passwd") {
            let from = if word.len() > 3 { at + 3 } else { skip_blanks(bytes, at + 3) };
            word_secret(text, from, found);
        }
        if word.ends_with(';') {
            finish(text, &line, found);
            line = Line::default();
        }
        at += length;
    }
    finish(text, &line, found);
}

/// True if the command takes a secret from its standard input.
fn reads_secret(line: &Line<'_>, word: &str) -> bool {
    matches!(word, "--password-stdin" | "--with-token" | "--pass-stdin")
        || (line.program == "sudo" && (word == "-S" || word == "--stdin"))
        || (line.program == "passwd" && word == "--stdin")
        || line.program == "chpasswd"
}

/// Masks what was printed; of `user:password` only the second part.
fn mask_printed(text: &str, from: usize, to: usize, found: &mut impl FnMut(Range<usize>)) {
    let printed = text[from..to].trim().trim_matches(['"', '\'']);
    if printed.is_empty() || is_placeholder(printed) {
        return;
    }
    let start = from + text[from..to].find(printed).unwrap_or(0);
    let start = printed.find(':').map_or(start, |colon| start + colon + 1);
    let end = (from + text[from..to].find(printed).unwrap_or(0) + printed.len()).max(start);
    if start < end && !is_placeholder(&text[start..end]) {
        found(start..end);
    }
}

/// `htpasswd -b FILE USER PASSWORD`
fn finish(text: &str, line: &Line<'_>, found: &mut impl FnMut(Range<usize>)) {
    if line.program == "htpasswd"
        && line.has_batch_option
        && line.count >= 2
        && let Some((from, to)) = line.last_position
        && !is_placeholder(&text[from..to])
    {
        found(from..to);
    }
}

/// The name of a program at the end of a word: after its folder, a quote, a bracket.
fn bare(word: &str) -> &str {
    let end = word.trim_end_matches(['"', '\'', '`', ',', ')', '\\']).len();
    let word = &word[..end];
    let length = word.bytes().rev().take_while(|byte| is_in(*byte, WORD | DOT)).count();
    &word[word.len() - length..]
}

impl<'a> Line<'a> {
    fn word(&mut self, text: &'a str, word: &'a str, at: usize, found: &mut impl FnMut(Range<usize>)) {
        let bytes = text.as_bytes();
        let opened = word.len() - word.trim_start_matches(['"', '\'', '`', '(', '[', '{', '\\']).len();
        let (word, at) = (&word[opened..], at + opened);
        let value_at = skip_blanks(bytes, at + word.len());
        // A line that goes on after a backslash.
        let value_at = if bytes[value_at..].starts_with(b"\\\n") { skip_blanks(bytes, value_at + 2) } else { value_at };
        if word.starts_with('-') && word.len() > 1 {
            self.option(text, word, at, value_at, found);
            return;
        }
        if word.starts_with("pass:") && self.program == "openssl" {
            word_secret(text, at + 5, found);
        }
        // `xfreerdp /p:x`
        if let Some(rest) = word.strip_prefix("/p:").or_else(|| word.strip_prefix("/pass:"))
            && rest.len() >= 3
        {
            word_secret(text, at + word.len() - rest.len(), found);
        }
        let program = bare(word);
        let is_program = is_known(program);
        if is_program
            && (self.program.is_empty() || self.program != program)
            && !matches!(self.program, "docker" | "podman" | "kubectl")
            || (is_program && matches!(program, "curl" | "mysql" | "sshpass" | "redis-cli" | "openssl" | "htpasswd"))
        {
            *self = Line { program, ..Line::default() };
            if matches!(program, "echo" | "printf") {
                let rest = &bytes[at + word.len()..];
                let end = rest.iter().position(|byte| matches!(byte, b'|' | b'\n' | b';' | b'&')).unwrap_or(rest.len());
                let options = skip_blanks(bytes, at + word.len());
                let from = if bytes[options..].starts_with(b"-n ") { options + 3 } else { options };
                let end = at + word.len() + end;
                self.printed = (from < end).then_some((from, end));
            }
            return;
        }
        self.positional(text, word, at, value_at, found);
    }

    fn positional(
        &mut self,
        text: &'a str,
        word: &'a str,
        at: usize,
        value_at: usize,
        found: &mut impl FnMut(Range<usize>),
    ) {
        if self.count < self.words.len() {
            self.words[self.count] = bare(word);
        }
        self.count += 1;
        self.last_position = Some((at, at + word.trim_end_matches(['"', '\'', '`', ')', '}']).len()));
        for (words, between) in POSITIONS.iter().filter(|_| !self.program.is_empty()) {
            let all = std::iter::once(self.program).chain(self.words.iter().copied()).take(self.count.min(6) + 1);
            if words.len() + between == self.count.min(6) + 1
                && std::iter::zip(words.iter(), all).all(|(expected, word)| word.starts_with(expected))
            {
                word_secret(text, value_at, found);
            }
        }
        // `npm config set NAME VALUE`, `ENV NAME VALUE`, `setx NAME VALUE`
        let is_setter = |word: &str| {
            matches!(
                word,
                "set" | "config" | "ENV" | "ARG" | "setenv" | "setx" | "put" | "config:set" | "secret" | "pypi-token"
            )
        };
        let name = word.trim_end_matches(['"', '\'']);
        if is_setter(self.last[1])
            && !name.contains('=')
            && let Some(promise) = promise(name.rsplit([':', '/']).next().unwrap_or(name))
            && promise > Promise::Perhaps
        {
            let value = Literal::read(text.as_bytes(), value_at, Ends::Blank);
            let content = value.text(text);
            if content.len() >= 6 && !is_name(content) {
                mask_if_secret(text, name, &value, promise, Style::Setting, Ends::Blank, found);
            }
        }
        self.netrc(text, word, value_at, found);
        self.sql(text, word, value_at, found);
        self.last = [self.last[1], bare(word)];
    }

    /// `machine HOST login USER password X`
    fn netrc(&self, text: &str, word: &str, value_at: usize, found: &mut impl FnMut(Range<usize>)) {
        let has_login =
            self.words.contains(&"login") && (self.words.contains(&"machine") || self.words.contains(&"default"));
        if (word == "password" || word == "passwd") && has_login {
            word_secret(text, value_at, found);
        }
        // `AUTH x`, `requirepass x` of Redis; `password x` of nmcli
        if word == "requirepass"
            || word == "masterauth"
            || (word == "AUTH" && self.count == 1)
            || (matches!(word, "password" | "psk") && self.program == "nmcli")
        {
            let value = Literal::read(text.as_bytes(), value_at, Ends::Blank);
            if !is_name(value.text(text)) || word == "requirepass" {
                word_secret(text, value_at, found);
            }
        }
    }

    /// `IDENTIFIED BY 'x'`, `WITH PASSWORD 'x'`
    fn sql(&self, text: &str, word: &str, value_at: usize, found: &mut impl FnMut(Range<usize>)) {
        let is_password = (word.eq_ignore_ascii_case("by") && self.last[1].eq_ignore_ascii_case("identified"))
            || (word.eq_ignore_ascii_case("password") && word != "password"
                || word == "password" && self.last[1].eq_ignore_ascii_case("with"));
        if is_password
            && Literal::read(text.as_bytes(), value_at, Ends::Blank).quote.is_some_and(|quote| quote.mark == b'\'')
        {
            word_secret(text, value_at, found);
        }
    }

    fn option(&mut self, text: &str, word: &str, at: usize, value_at: usize, found: &mut impl FnMut(Range<usize>)) {
        if self.program == "htpasswd" && !word.starts_with("--") && word.contains('b') {
            self.has_batch_option = true;
        }
        let options = OPTIONS.iter().filter(|_| !self.program.is_empty());
        for (programs, subcommand, option, takes) in options {
            let Some(attached) = word.strip_prefix(option) else { continue };
            if !programs.contains(&self.program) || !(subcommand.is_empty() || self.words.contains(subcommand)) {
                continue;
            }
            let is_long = option.starts_with("--") || option.len() > 3;
            if is_long && !attached.is_empty() && !attached.starts_with('=') {
                continue;
            }
            let is_attached = !attached.is_empty();
            let from = match is_attached {
                true => at + word.len() - attached.trim_start_matches('=').len(),
                false => value_at,
            };
            match takes {
                Takes::Attached if !is_attached => {}
                Takes::Word | Takes::Attached => word_secret(text, from, found),
                Takes::Pair(separator) => pair_secret(text, from, *separator, found),
                Takes::Cookies => cookie_option(text, from, found),
                Takes::Pass => {
                    let value = Literal::read(text.as_bytes(), from, Ends::Blank);
                    if value.text(text).starts_with("pass:") {
                        word_secret(text, value.range.start + 5, found);
                    }
                }
            }
            return;
        }
        self.long_option(text, word, at, value_at, found);
    }

    /// `--client-secret X`, `-storepass X`, `-Password X`; `--name=X` is an assignment.
    fn long_option(
        &mut self,
        text: &str,
        word: &str,
        at: usize,
        value_at: usize,
        found: &mut impl FnMut(Range<usize>),
    ) {
        let name = word.trim_start_matches('-');
        let dashes = word.len() - name.len();
        if let Some((name, _)) = name.split_once('=') {
            let value_at = at + dashes + name.len() + 1;
            if matches!(name, "from-literal") && self.words.contains(&"secret") {
                let value = Literal::read(text.as_bytes(), value_at, Ends::Blank);
                let from = value.range.start + value.text(text).find('=').map_or(0, |equals| equals + 1);
                word_secret(text, from, found);
            } else if name.ends_with("creds") || name.ends_with("basic-auth") || name == "auth" {
                pair_secret(text, value_at, b':', found);
            }
            return;
        }
        if name.len() < 4 && name != "pw"
            || !name.bytes().all(|byte| is_in(byte, LETTER | DASH | UNDERSCORE | DOT))
            || value_at <= at + word.len()
        {
            return;
        }
        if name.ends_with("creds")
            || name.ends_with("basic-auth")
            || matches!(name, "http-auth" | "proxy-auth" | "userpass")
        {
            pair_secret(text, value_at, b':', found);
            return;
        }
        if name == "from-literal" && self.words.contains(&"secret") {
            let value = Literal::read(text.as_bytes(), value_at, Ends::Blank);
            let from = value.range.start + value.text(text).find('=').map_or(0, |equals| equals + 1);
            word_secret(text, from, found);
            return;
        }
        let Some(promise) = promise(name) else { return };
        let value = Literal::read(text.as_bytes(), value_at, Ends::Blank);
        let content = value.text(text);
        // A sentence about the option, or another option.
        let is_code = value.quote.is_some_and(|quote| quote.mark == b'`');
        if is_code
            || content.starts_with('-')
            || (value.quote.is_none() && is_plain_word(content))
            || content.starts_with('/')
            || content.starts_with('|')
        {
            return;
        }
        if value.quote.is_none() && content.ends_with([',', '.', ':']) && is_name(content) {
            return;
        }
        mask_if_secret(text, name, &value, promise, Style::Setting, Ends::Blank, found);
    }
}

/// True for words that follow the name of an option in a sentence.
fn is_plain_word(word: &str) -> bool {
    matches!(
        word.trim_end_matches([',', '.', ';', ':', ')']),
        "flag"
            | "flags"
            | "option"
            | "options"
            | "is"
            | "and"
            | "or"
            | "to"
            | "for"
            | "in"
            | "with"
            | "argument"
            | "parameter"
            | "value"
            | "instead"
            | "from"
            | "via"
            | "as"
            | "if"
            | "when"
            | "on"
            | "was"
            | "are"
            | "not"
            | "must"
            | "can"
            | "should"
            | "which"
            | "that"
            | "the"
            | "a"
            | "an"
            | "at"
            | "by"
            | "of"
            | "be"
            | "has"
            | "have"
            | "works"
            | "string"
            | "text"
            | "TEXT"
            | "TOKEN"
            | "VALUE"
            | "STRING"
            | "PASSWORD"
            | "SECRET"
            | "KEY"
            | "stringArray"
            | "but"
            | "only"
            | "then"
            | "will"
            | "support"
            | "env"
            | "file"
            | "requires"
            | "needs"
            | "takes"
            | "expects"
            | "sets"
            | "overrides"
            | "accepts"
            | "command"
            | "input"
            | "alone"
            | "so"
            | "you"
            | "it"
            | "this"
            | "we"
            | "does"
            | "do"
            | "may"
            | "no"
            | "since"
            | "without"
            | "used"
            | "uses"
            | "given"
            | "set"
            | "provided"
    )
}

/// Masks the word at this position, unless it stands for something else.
fn word_secret(text: &str, at: usize, found: &mut impl FnMut(Range<usize>)) {
    let value = Literal::read(text.as_bytes(), at, Ends::Blank);
    let content = value.text(text);
    if content.is_empty()
        || (is_placeholder(content) && !is_constant_word(content))
        || (value.quote.is_none() && content.starts_with('-'))
    {
        return;
    }
    found(value.whole(text.as_bytes(), Ends::Blank));
}

/// A word that is a constant in code may be a password on a command line.
fn is_constant_word(content: &str) -> bool {
    content.len() >= 3
        && content.bytes().all(|byte| is_in(byte, LETTER))
        && !matches!(content, "null" | "none" | "true" | "false")
}

/// Masks the second part of `user:password`.
fn pair_secret(text: &str, at: usize, separator: u8, found: &mut impl FnMut(Range<usize>)) {
    let value = Literal::read(text.as_bytes(), at, Ends::Blank);
    let content = value.text(text);
    let Some(mark) = content.bytes().position(|byte| byte == separator) else {
        // A token as the user's name, without a password.
        if is_random(content.as_bytes(), 3.5) && content.len() >= 20 {
            found(value.whole(text.as_bytes(), Ends::Blank));
        }
        return;
    };
    let whole = value.whole(text.as_bytes(), Ends::Blank);
    let from = value.range.start + mark + 1;
    let secret = &content[mark + 1..];
    if secret.is_empty() {
        // `token:` is a user's name without a password.
        if is_random(&content.as_bytes()[..mark], 3.0) {
            found(value.range.start..from - 1);
        }
        return;
    }
    let is_address = secret.starts_with("//")
        || (secret.bytes().all(|byte| byte.is_ascii_digit())
            && content.bytes().take(mark).all(|byte| byte.is_ascii_digit()));
    if !is_address && !is_placeholder(secret) || is_constant_word(secret) {
        found(from..whole.end);
    }
}
