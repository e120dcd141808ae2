//! Splits a command line into pieces: words, redirections, and the separators between commands.
//!
//! It knows what a POSIX shell and bash know about quoting, substitutions, here-documents and comments, and expands
//! nothing. It accepts any text, takes linear time, and never fails: an unclosed quote or bracket extends to the end.

/// How deep substitutions are parsed; deeper ones are kept as written.
const DEPTH_MAX: usize = 6;
/// The maximum number of pieces of one text; the lexer leaves the rest unread.
pub(crate) const PIECES_MAX: usize = 16_384;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word without its quotes; expansions stay as written.
    pub value: String,
    /// Equal for different quotings of the same meaning, but not for different meanings: `"$x"`, `$x` and `'$x'`
    /// differ.
    pub canon: String,
    /// The commands in its substitutions.
    pub nested: Vec<String>,
    /// True if part of the word was quoted or escaped, so it is not a reserved word.
    pub is_quoted: bool,
}

/// A separator between commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// `;` or the end of a line.
    Sequence,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `&`
    Background,
    /// `(`
    Open,
    /// `)`
    Close,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// The operator with its descriptor: `>`, `2>>`, `<<`, `&>`.
    pub operator: String,
    /// The target, or the word that ends a here-document.
    pub target: Word,
    /// The text of the here-document.
    pub body: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Word(Word),
    Redirect(Redirect),
    Joint(Joint),
}

/// Words after which a command begins.
pub(crate) const OPENERS: [&str; 11] =
    ["if", "then", "elif", "else", "while", "until", "do", "{", "!", "time", "coproc"];

/// Splits `text` into its pieces, and returns how many bytes it read: all of them, unless there are more than
/// [`PIECES_MAX`] pieces.
pub(crate) fn pieces(text: &str) -> (Vec<Piece>, usize) {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, depth: 0, pieces: Vec::new(), pending: Vec::new() };
    lexer.run(PIECES_MAX);
    (lexer.pieces, lexer.at.min(text.len()))
}

fn lex(text: &str, depth: usize) -> Vec<Piece> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, depth, pieces: Vec::new(), pending: Vec::new() };
    lexer.run(usize::MAX);
    lexer.pieces
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    pieces: Vec<Piece>,
    /// Here-documents whose bodies begin after this line: the index of the redirection among the pieces, and its end.
    pending: Vec<(usize, HereDocEnd)>,
}

/// The line that ends a here-document.
struct HereDocEnd {
    delimiter: String,
    strips_tabs: bool,
    is_quoted: bool,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(&mut self, pieces_max: usize) {
        while self.at < self.bytes.len() && self.pieces.len() < pieces_max {
            let next = self.peek(1);
            match self.bytes[self.at] {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if next == b'\n' => self.at += 2,
                b'\n' => {
                    self.joint(Joint::Sequence, 1);
                    self.bodies();
                }
                b'#' => self.at = line_end(self.bytes, self.at),
                b'[' if self.bytes[self.at..].starts_with(b"[[ ") && self.at_command() => self.test(),
                b'(' if next == b'(' && self.at_command() => self.arithmetic(),
                b';' => self.joint(Joint::Sequence, 1),
                b'&' if next == b'&' => self.joint(Joint::And, 2),
                b'&' if next == b'>' => self.redirect(self.at),
                b'&' => self.joint(Joint::Background, 1),
                b'|' if next == b'|' => self.joint(Joint::Or, 2),
                b'|' if next == b'&' => {
                    let target = Word { value: "1".to_owned(), canon: "1".to_owned(), ..Word::default() };
                    self.pieces.push(Piece::Redirect(Redirect { operator: "2>&".to_owned(), target, body: None }));
                    self.joint(Joint::Pipe, 2);
                }
                b'|' => self.joint(Joint::Pipe, 1),
                b'(' => self.joint(Joint::Open, 1),
                b')' => self.joint(Joint::Close, 1),
                b'<' | b'>' if next == b'(' => self.word(),
                b'<' | b'>' => self.redirect(self.at),
                b'0'..=b'9' if self.is_descriptor() => self.redirect(self.at),
                0..=u8::MAX => self.word(),
            }
        }
    }

    fn joint(&mut self, joint: Joint, length: usize) {
        self.pieces.push(Piece::Joint(joint));
        self.at += length;
    }

    fn at_command(&self) -> bool {
        match self.pieces.last() {
            None | Some(Piece::Joint(_)) => true,
            Some(Piece::Word(word)) => !word.is_quoted && OPENERS.contains(&word.value.as_str()),
            Some(Piece::Redirect(_)) => false,
        }
    }

    fn is_descriptor(&self) -> bool {
        let digits = self.bytes[self.at..].iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
        matches!(self.peek(digits), b'<' | b'>') && self.peek(digits + 1) != b'('
    }

    /// Reads `[[ … ]]`, in which `<` is not a redirection and `&&` not a separator.
    fn test(&mut self) {
        let line = &self.text[self.at..line_end(self.bytes, self.at)];
        let end = self.at + line.find(" ]]").map_or(line.len(), |found| found + 3);
        let inner: Vec<&str> = self.text[self.at..end].split_ascii_whitespace().collect();
        for value in inner {
            let word = Word { value: value.to_owned(), canon: value.to_owned(), ..Word::default() };
            self.pieces.push(Piece::Word(word));
        }
        self.at = end;
    }

    /// Reads `(( … ))`, which is arithmetic, not a command.
    fn arithmetic(&mut self) {
        let end = closing(self.bytes, self.at + 1, b')');
        let canon: String = self.text[self.at..end].split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        self.pieces.push(Piece::Word(Word { value: canon.clone(), canon, is_quoted: true, nested: Vec::new() }));
        self.at = end;
    }

    fn redirect(&mut self, start: usize) {
        while self.bytes[self.at].is_ascii_digit() || self.bytes[self.at] == b'&' {
            self.at += 1;
        }
        let operators: [&[u8]; 9] = [b"<<<", b"<<-", b"<<", b"<&", b"<>", b">>", b">&", b">|", b"<"];
        let rest = &self.bytes[self.at..];
        self.at += operators.iter().find(|operator| rest.starts_with(operator)).map_or(1, |operator| operator.len());
        let operator = self.text[start..self.at].to_owned();
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        let mut target = Word::default();
        let ends_here = matches!(self.peek(0), 0 | b'\n' | b';' | b'&' | b'|' | b')' | b'<' | b'>');
        if !ends_here || (matches!(self.peek(0), b'<' | b'>') && self.peek(1) == b'(') {
            target = self.take_word();
        }
        if operator.ends_with("<<") || operator.ends_with("<<-") {
            let here_doc_end = HereDocEnd {
                delimiter: target.value.clone(),
                strips_tabs: operator.ends_with('-'),
                is_quoted: target.is_quoted,
            };
            self.pending.push((self.pieces.len(), here_doc_end));
        }
        self.pieces.push(Piece::Redirect(Redirect { operator, target, body: None }));
    }

    /// Reads the here-documents that were announced on the line that just ended.
    fn bodies(&mut self) {
        for (index, here_doc_end) in std::mem::take(&mut self.pending) {
            let (end, next) = body_end(self.bytes, self.at, &here_doc_end);
            let body = self.text[self.at..end].to_owned();
            self.at = next;
            if let Some(Piece::Redirect(redirect)) = self.pieces.get_mut(index) {
                if !here_doc_end.is_quoted && self.depth < DEPTH_MAX {
                    substitutions(&body, &mut redirect.target.nested);
                }
                redirect.body = Some(body);
            }
        }
    }

    fn word(&mut self) {
        let word = self.take_word();
        self.pieces.push(Piece::Word(word));
    }

    fn take_word(&mut self) -> Word {
        let mut word = Word::default();
        let start = self.at;
        while self.at < self.bytes.len() {
            let next = self.peek(1);
            match self.bytes[self.at] {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'(' if self.at > start && matches!(self.bytes[self.at - 1], b'=' | b'@' | b'+' | b'?' | b'*') => {
                    // An array or a pattern is one word.
                    let end = closing(self.bytes, self.at + 1, b')');
                    self.take_verbatim(&mut word, end);
                }
                b'<' | b'>' if next == b'(' => self.substitution(&mut word, false),
                b'<' | b'>' | b'(' => break,
                b'\'' => self.single(&mut word),
                b'"' => self.double(&mut word),
                b'$' if next == b'\'' => self.escaped(&mut word),
                b'$' if next == b'"' => self.at += 1,
                b'$' | b'`' => self.expansion(&mut word, false),
                b'\\' if next == b'\n' => self.at += 2,
                b'\\' if next == 0 => self.at += 1,
                b'\\' => {
                    self.at += 1;
                    word.is_quoted = true;
                    self.take_literal(&mut word);
                }
                0..=u8::MAX => {
                    let rest = &self.bytes[self.at + 1..];
                    let plain = rest.iter().take_while(|byte| !is_special(**byte)).count();
                    self.take_verbatim(&mut word, self.at + 1 + plain);
                }
            }
        }
        if word.value == "{}" {
            word.canon = "{}".to_owned();
        }
        word
    }

    /// Takes the text up to `end` as written.
    fn take_verbatim(&mut self, word: &mut Word, end: usize) {
        let text = self.slice(self.at, end);
        word.value.push_str(text);
        word.canon.push_str(text);
        self.at = end.max(self.at + 1).min(self.bytes.len());
    }

    fn slice(&self, from: usize, to: usize) -> &str {
        self.text.get(from..to.min(self.text.len())).unwrap_or_default()
    }

    /// Takes one character literally.
    fn take_literal(&mut self, word: &mut Word) {
        let Some(letter) = self.slice(self.at, self.text.len()).chars().next() else {
            self.at += 1;
            return;
        };
        self.at += letter.len_utf8();
        push_literal(word, letter);
    }

    fn single(&mut self, word: &mut Word) {
        word.is_quoted = true;
        let rest = self.slice(self.at + 1, self.text.len());
        let length = rest.find('\'').unwrap_or(rest.len());
        for letter in rest[..length].chars() {
            push_literal(word, letter);
        }
        self.at += length + 2;
    }

    fn escaped(&mut self, word: &mut Word) {
        word.is_quoted = true;
        self.at += 2;
        while self.at < self.bytes.len() && self.bytes[self.at] != b'\'' {
            if self.bytes[self.at] == b'\\' && self.at + 1 < self.bytes.len() {
                self.at += 1;
                let plain = match self.bytes[self.at] {
                    b'n' => Some('\n'),
                    b't' => Some('\t'),
                    b'r' => Some('\r'),
                    b'x' | b'u' | b'U' | b'0'..=b'7' => {
                        self.numbered(word);
                        continue;
                    }
                    0..=u8::MAX => None,
                };
                if let Some(plain) = plain {
                    push_literal(word, plain);
                    self.at += 1;
                    continue;
                }
            }
            self.take_literal(word);
        }
        self.at += 1;
    }

    /// Reads a character that is given by its number: `\x68`, `\150`, `\u0068`. The value gets the character; the
    /// canonical text keeps the digits, because identities of earlier versions did.
    fn numbered(&mut self, word: &mut Word) {
        let (prefix, radix, digits_max) = match self.bytes[self.at] {
            b'x' => (1, 16, 2),
            b'u' => (1, 16, 4),
            b'U' => (1, 16, 8),
            0..=u8::MAX => (0, 8, 3),
        };
        let rest = self.slice(self.at + prefix, self.text.len());
        let length = rest.bytes().take(digits_max).take_while(|byte| char::from(*byte).is_digit(radix)).count();
        let letter = u32::from_str_radix(&rest[..length], radix).ok().and_then(char::from_u32);
        let written = self.slice(self.at, self.at + prefix + length).to_owned();
        word.canon.push_str(&written);
        match letter {
            Some(letter) => word.value.push(letter),
            None => word.value.push_str(&written),
        }
        self.at += prefix + length;
    }

    fn double(&mut self, word: &mut Word) {
        word.is_quoted = true;
        self.at += 1;
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'"' => break,
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'\\' if matches!(self.peek(1), b'$' | b'`' | b'"' | b'\\') => {
                    self.at += 1;
                    self.take_literal(word);
                }
                b'$' | b'`' => self.expansion(word, true),
                0..=u8::MAX => self.take_literal(word),
            }
        }
        self.at += 1;
    }

    /// Reads `$x`, `${x}`, `$(x)`, `$((x))` or backticks.
    fn expansion(&mut self, word: &mut Word, in_quotes: bool) {
        if in_quotes {
            word.canon.push('"');
        }
        match (self.bytes[self.at], self.peek(1)) {
            (b'`', _) => self.substitution(word, true),
            (_, b'(') if self.peek(2) == b'(' => {
                let end = closing(self.bytes, self.at + 2, b')');
                self.take_verbatim(word, end);
            }
            (_, b'(') => self.substitution(word, false),
            (_, b'{') => {
                let end = closing(self.bytes, self.at + 2, b'}');
                if self.depth < DEPTH_MAX {
                    let inner = self.slice(self.at + 2, end).to_owned();
                    substitutions(&inner, &mut word.nested);
                }
                self.take_verbatim(word, end);
            }
            (_, _) => self.take_verbatim(word, self.at + 1),
        }
    }

    /// Reads `$(x)`, `<(x)` or backticks: the text stays in the word, and its command is also added to `nested`.
    fn substitution(&mut self, word: &mut Word, is_backtick: bool) {
        let opening_length = if is_backtick { 1 } else { 2 };
        let end = closing(self.bytes, self.at + opening_length, if is_backtick { b'`' } else { b')' });
        let inner_end =
            if end > self.at + opening_length && self.bytes[end - 1] == if is_backtick { b'`' } else { b')' } {
                end - 1
            } else {
                end
            };
        let mut inner = self.slice(self.at + opening_length, inner_end).to_owned();
        if is_backtick {
            inner = inner.replace("\\`", "`").replace("\\\\", "\\");
        }
        word.value.push_str(self.slice(self.at, end));
        word.canon.push_str(if self.bytes[self.at] == b'<' || self.bytes[self.at] == b'>' { "<(" } else { "$(" });
        if self.depth < DEPTH_MAX {
            word.canon.push_str(&render(&lex(&inner, self.depth + 1)));
        } else {
            word.canon.push_str(&inner);
        }
        word.canon.push(')');
        word.nested.push(inner);
        self.at = end.max(self.at + opening_length).min(self.bytes.len());
    }
}

fn push_literal(word: &mut Word, letter: char) {
    if letter.is_whitespace() || "$`\"'\\*?[]~{}&|;<>()".contains(letter) {
        word.canon.push('\\');
    }
    word.canon.push(letter);
    word.value.push(letter);
}

/// Returns whether a byte may end a word or has a special meaning inside one.
fn is_special(byte: u8) -> bool {
    b" \t\r\n;&|()<>'\"$`\\".contains(&byte)
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |found| from + found)
}

/// Renders pieces as one canonical text: blanks, comments, quoting and line breaks do not matter.
pub(crate) fn render<'a>(pieces: impl IntoIterator<Item = &'a Piece>) -> String {
    let mut text = String::new();
    let mut redirects = String::new();
    for piece in pieces {
        match piece {
            Piece::Word(word) => {
                text.push(' ');
                text.push_str(if word.canon.is_empty() { "''" } else { &word.canon });
            }
            Piece::Redirect(redirect) => {
                redirects.push(' ');
                redirects.push_str(&redirect.operator);
                match &redirect.body {
                    // The word that ends a here-document does not matter; whether it is quoted does.
                    Some(body) => {
                        redirects.push_str(if redirect.target.is_quoted { "'" } else { "\"" });
                        redirects.push_str(body);
                    }
                    None => redirects.push_str(&redirect.target.canon),
                }
            }
            Piece::Joint(joint) => {
                text.push_str(&std::mem::take(&mut redirects));
                let sign = match joint {
                    Joint::Sequence => ";",
                    Joint::And => "&&",
                    Joint::Or => "||",
                    Joint::Pipe => "|",
                    Joint::Background => "&",
                    Joint::Open => "(",
                    Joint::Close => ")",
                };
                let last = text.rsplit(' ').next().unwrap_or_default();
                let is_redundant =
                    last.is_empty() || matches!(last, ";" | "&&" | "||" | "|" | "&" | "(") || OPENERS.contains(&last);
                if *joint == Joint::Sequence && is_redundant {
                    continue;
                }
                text.push(' ');
                text.push_str(sign);
            }
        }
    }
    text.push_str(&redirects);
    let trimmed = text.trim_start();
    trimmed.strip_suffix(" ;").unwrap_or(trimmed).to_owned()
}

/// Collects the commands in the substitutions of a text that is not itself a command.
fn substitutions(text: &str, found: &mut Vec<String>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (opening_length, close) = match bytes[at] {
            b'\\' => {
                at += 2;
                continue;
            }
            b'`' => (1, b'`'),
            b'$' if bytes.get(at + 1) == Some(&b'(') && bytes.get(at + 2) != Some(&b'(') => (2, b')'),
            0..=u8::MAX => {
                at += 1;
                continue;
            }
        };
        let end = closing(bytes, at + opening_length, close);
        let inner = text.get(at + opening_length..end).unwrap_or_default();
        found.push(inner.strip_suffix(char::from(close)).unwrap_or(inner).to_owned());
        at = end.max(at + opening_length);
    }
}

/// Returns the position after the `close` that matches what was opened before `from`, or the end of the text.
fn closing(bytes: &[u8], from: usize, close: u8) -> usize {
    let mut open = vec![close];
    let mut pending: Vec<HereDocEnd> = Vec::new();
    let mut at = from;
    while let (Some(&byte), Some(&inside)) = (bytes.get(at), open.last()) {
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        at += 1;
        if byte == b'\\' {
            at += 1;
        } else if byte == inside {
            open.pop();
        } else if inside == b'`' {
            // Backticks end at the next one, whatever is between.
        } else if byte == b'$' && next == b'(' {
            open.push(b')');
            at += 1;
        } else if byte == b'$' && next == b'{' {
            open.push(b'}');
            at += 1;
        } else if byte == b'`' || (byte == b'"' && inside != b'"') {
            open.push(byte);
        } else if inside == b')' {
            match byte {
                b'(' => open.push(b')'),
                b'\'' => {
                    at = bytes[at..].iter().position(|byte| *byte == b'\'').map_or(bytes.len(), |end| at + end + 1)
                }
                b'#' if at > 1 && bytes[at - 2].is_ascii_whitespace() => at = line_end(bytes, at),
                b'<' if next == b'<' && bytes.get(at + 1) == Some(&b'<') => at += 2,
                b'<' if next == b'<' => {
                    let (here_doc_end, behind) = here_doc_end_at(bytes, at + 1);
                    pending.push(here_doc_end);
                    at = behind;
                }
                b'\n' => {
                    for here_doc_end in std::mem::take(&mut pending) {
                        at = body_end(bytes, at, &here_doc_end).1;
                    }
                }
                0..=u8::MAX => {}
            }
        }
    }
    at.min(bytes.len())
}

/// Reads the word after `<<`, which decides where the here-document ends.
fn here_doc_end_at(bytes: &[u8], from: usize) -> (HereDocEnd, usize) {
    let mut at = from;
    let strips_tabs = bytes.get(at) == Some(&b'-');
    at += usize::from(strips_tabs);
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let start = at;
    while bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_-.'\"\\".contains(byte)) {
        at += 1;
    }
    let written = String::from_utf8_lossy(&bytes[start..at]);
    let delimiter: String = written.chars().filter(|letter| !"'\"\\".contains(*letter)).collect();
    let is_quoted = delimiter.len() < at - start;
    (HereDocEnd { delimiter, strips_tabs, is_quoted }, at)
}

/// Returns where a here-document ends and where the text continues.
fn body_end(bytes: &[u8], from: usize, here_doc_end: &HereDocEnd) -> (usize, usize) {
    let mut at = from.min(bytes.len());
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let mut line = &bytes[at..end];
        line = line.strip_suffix(b"\r").unwrap_or(line);
        if here_doc_end.strips_tabs {
            let tabs = line.iter().take_while(|byte| **byte == b'\t').count();
            line = &line[tabs..];
        }
        if line == here_doc_end.delimiter.as_bytes() {
            return (at, (end + 1).min(bytes.len()));
        }
        at = (end + 1).min(bytes.len());
        if end == bytes.len() {
            break;
        }
    }
    (bytes.len(), bytes.len())
}
