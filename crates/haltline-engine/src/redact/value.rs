//! What a value looks like: random, a placeholder, a reference in code, or prose.

use super::MASK;
use super::character::{
    ALPHANUMERIC, BASE64, COMMA, DASH, DIGIT, DOT, LETTER, LOWER, TILDE, UNDERSCORE, UPPER, WORD, is_in,
};

/// True if the text consists of what tokens consist of, with letters and digits, and varied enough that nobody wrote
/// it as words. `bits` is the least entropy of a character.
pub(super) fn is_random(bytes: &[u8], bits: f32) -> bool {
    let has = |set| bytes.iter().any(|byte| is_in(*byte, set));
    let is_mixed = (has(DIGIT) && has(LETTER)) || (has(LOWER) && has(UPPER) && bytes.len() >= 20);
    bytes.len() >= 10
        && is_mixed
        && bytes.iter().all(|byte| is_in(*byte, BASE64 | WORD | DOT | TILDE | COMMA))
        && entropy(bytes) >= bits.min((bytes.len() as f32).log2() * 0.8)
        && !is_made_of_words(bytes)
}

/// Shannon's entropy of a character, in bits.
fn entropy(bytes: &[u8]) -> f32 {
    let mut counts = [0_u32; 128];
    for byte in bytes {
        counts[usize::from(byte & 127)] += 1;
    }
    let length = bytes.len() as f32;
    let shares = counts.iter().filter(|count| **count > 0).map(|count| *count as f32 / length);
    -shares.map(|share| share * share.log2()).sum::<f32>()
}

/// True for `HTTP2-upgrade-handler` and `src/a1/some_file.rs`: letters of one case between separators, and few digits.
fn is_made_of_words(bytes: &[u8]) -> bool {
    let parts = || bytes.split(|byte| !is_in(*byte, ALPHANUMERIC)).filter(|part| !part.is_empty());
    let is_word = |part: &[u8]| {
        let digits = part.iter().filter(|byte| is_in(**byte, DIGIT)).count();
        // In a word a capital or a number begins a part of it; in a token they alternate.
        let pairs = || part.windows(2).map(|pair| (pair[0], pair[1]));
        let numbers = pairs().filter(|(a, b)| is_in(*a, DIGIT) != is_in(*b, DIGIT)).count();
        let capitals = pairs().filter(|(a, b)| is_in(*a, LOWER) && is_in(*b, UPPER)).count();
        let acronyms = part
            .windows(3)
            .filter(|three| is_in(three[0], UPPER) && is_in(three[1], UPPER) && is_in(three[2], LOWER))
            .count();
        let is_number = digits == part.len() && digits <= 4;
        let is_varied = (numbers + capitals + acronyms) * 10 > part.len() * 3 || (numbers >= 2 && part.len() >= 12);
        is_number || (digits * 4 <= part.len() && !is_varied)
    };
    let (mut all, mut words) = (0, 0);
    for part in parts() {
        all += part.len();
        words += if is_word(part) { part.len() } else { 0 };
    }
    words * 10 >= all * 9
}

/// True for a text that stands for a secret and is none: empty, masked, a variable, a form to fill in.
pub(super) fn is_placeholder(value: &str) -> bool {
    let bytes = value.as_bytes();
    let Some(&first) = bytes.first() else { return true };
    if value == MASK || value.starts_with('…') {
        return true;
    }
    let second = bytes.get(1).copied().unwrap_or_default();
    match first {
        b'$' if is_in(second, LETTER | UNDERSCORE) || matches!(second, b'{' | b'(' | b'@' | b'!' | b'[') => {
            // `$ecret1!` is a password, `$SECRET` and `$secret.value` are variables.
            let rest = value[1..].trim_start_matches('{');
            let name = rest.bytes().take_while(|byte| is_in(*byte, ALPHANUMERIC | UNDERSCORE | DOT)).count();
            return second != rest.as_bytes().first().copied().unwrap_or_default()
                || name == rest.len()
                || !rest.as_bytes()[name..].contains(&b'!');
        }
        b'%' if bytes.len() > 2 && bytes.ends_with(b"%") => return true,
        b'%' if bytes.len() <= 3 => return true,
        b'{' | b'<' | b'[' | b'(' | b'@' if bytes.len() == 1 => return true,
        b'{' if bytes.contains(&b'}') || second == b'{' => return true,
        b'<' if bytes.contains(&b'>') => return true,
        b'[' if bytes.ends_with(b"]") => return true,
        b'@' if bytes.len() > 2 && bytes.ends_with(b"@") => return true,
        b'#' if second == b'{' => return true,
        b'&' | b'|' | b'>' => return true,
        _ => {}
    }
    // `***`, `xxxx`, `......`, `----`
    if bytes
        .iter()
        .all(|byte| matches!(byte, b'*' | b'.' | b'-' | b'_' | b'?' | b'#' | b'x' | b'X' | b'0' | b'\\' | b'/'))
    {
        return true;
    }
    if value.contains("***")
        || value.contains("...")
        || bytes.windows(4).any(|four| four.iter().all(|byte| byte.eq_ignore_ascii_case(&b'x')))
        || value.contains('…')
        || value.contains("${")
        || value.contains("{{")
    {
        return true;
    }
    let lower = value[..value.floor_char_boundary(40)].to_ascii_lowercase();
    is_type_or_constant(&lower)
        || [
            "your",
            "<your",
            "my-",
            "my_",
            "the-",
            "the_",
            "example",
            "placeholder",
            "redacted",
            "[redacted",
            "insert",
            "replace",
            "enter",
        ]
        .iter()
        .any(|start| lower.starts_with(start) && lower.len() > start.len() && !has_digit(&lower))
        || [
            "process.env",
            "os.environ",
            "os.getenv",
            "getenv",
            "secrets.",
            "vars.",
            "env.",
            "env[",
            "config.",
            "self.",
            "this.",
            "args.",
            "import.meta",
        ]
        .iter()
        .any(|start| lower.starts_with(start))
        || ["redacted", "placeholder", "changeme_", "_here", "-here"]
            .iter()
            .any(|part| lower.contains(part) && !has_digit(&lower))
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// True for the names of types and constants, in any case.
fn is_type_or_constant(lower: &str) -> bool {
    matches!(
        lower,
        "string"
            | "str"
            | "&str"
            | "text"
            | "char"
            | "varchar"
            | "bool"
            | "boolean"
            | "int"
            | "integer"
            | "number"
            | "float"
            | "double"
            | "any"
            | "object"
            | "unknown"
            | "never"
            | "void"
            | "bytes"
            | "byte[]"
            | "&[u8]"
            | "u8"
            | "u32"
            | "u64"
            | "usize"
            | "i32"
            | "i64"
            | "true"
            | "false"
            | "null"
            | "none"
            | "nil"
            | "undefined"
            | "nan"
            | "yes"
            | "no"
            | "on"
            | "off"
            | "optional"
            | "required"
            | "default"
            | "self"
            | "this"
            | "new"
            | "await"
            | "async"
            | "const"
            | "let"
            | "var"
            | "function"
            | "func"
            | "fn"
            | "return"
            | "lambda"
            | "not"
            | "and"
            | "or"
            | "is"
            | "in"
            | "the"
            | "a"
            | "an"
            | "missing"
            | "empty"
            | "invalid"
            | "expired"
            | "wrong"
            | "incorrect"
            | "ok"
            | "failed"
            | "set"
            | "unset"
            | "auto"
            | "inherit"
            | "enabled"
            | "disabled"
            | "n/a"
            | "todo"
            | "tbd"
            | "here"
            | "hidden"
            | "blank"
            | "mixed"
            | "option"
            | "typeof"
            | "keyof"
            | "record"
            | "array"
            | "list"
            | "dict"
            | "map"
            | "tuple"
            | "set()"
            | "test"
            | "name"
            | "value"
            | "key"
            | "type"
    )
}

/// True for an identifier or a path of identifiers, as code has them: letters, `_` and `.` only.
pub(super) fn is_identifier(value: &str) -> bool {
    value.bytes().all(|byte| is_in(byte, LETTER | UNDERSCORE | DOT)) && value.bytes().any(|byte| is_in(byte, LETTER))
}

/// True for letters only, with `-`, `_` and `.` between them.
pub(super) fn is_name(value: &str) -> bool {
    value.bytes().all(|byte| is_in(byte, LETTER | UNDERSCORE | DASH | DOT))
        || value.bytes().all(|byte| is_in(byte, UPPER | UNDERSCORE | DIGIT)) && value.contains('_')
}

/// True for a text of words that a person would read: a message, a label, a question.
pub(super) fn is_prose(value: &str) -> bool {
    let mut words = 0;
    let mut common = 0;
    for word in value.split_ascii_whitespace() {
        words += 1;
        // `8` is a word of a sentence, `x8k2` is not.
        if has_digit(word) && word.bytes().any(|byte| is_in(byte, LETTER)) {
            return false;
        }
        let word = word.trim_end_matches([',', '.', ':', ';', '!', '?', ')']);
        let is_common = word.len() <= 12 && {
            let word = word.to_ascii_lowercase();
            matches!(
                word.as_str(),
                "a" | "an"
                    | "the"
                    | "is"
                    | "are"
                    | "was"
                    | "be"
                    | "been"
                    | "must"
                    | "should"
                    | "can"
                    | "cannot"
                    | "can't"
                    | "not"
                    | "no"
                    | "your"
                    | "you"
                    | "for"
                    | "of"
                    | "to"
                    | "in"
                    | "on"
                    | "at"
                    | "by"
                    | "or"
                    | "and"
                    | "with"
                    | "from"
                    | "this"
                    | "that"
                    | "it"
                    | "if"
                    | "has"
                    | "have"
                    | "as"
                    | "use"
                    | "enter"
                    | "invalid"
                    | "missing"
                    | "required"
                    | "expired"
                    | "please"
                    | "forgot"
                    | "reset"
                    | "confirm"
                    | "new"
                    | "least"
                    | "when"
                    | "will"
                    | "does"
                    | "do"
                    | "did"
                    | "we"
                    | "i"
                    | "all"
                    | "only"
                    | "than"
                    | "but"
                    | "which"
                    | "via"
                    | "key"
                    | "keys"
                    | "token"
                    | "tokens"
                    | "password"
                    | "secret"
                    | "access"
                    | "api"
                    | "name"
            )
        };
        common += usize::from(is_common);
    }
    words >= 3 && common >= 1 || words == 2 && common >= 1 && !has_digit(value) && value.len() >= 8
}

/// `getpass()`, `os.environ["X"]`, `a + b`, `Option<String>`, `&str`.
pub(super) fn is_call(value: &str) -> bool {
    let head = value
        .bytes()
        .take_while(|byte| is_in(*byte, ALPHANUMERIC | UNDERSCORE | DOT) || matches!(byte, b':' | b'!'))
        .count();
    let next = value.as_bytes().get(head);
    head > 0 && matches!(next, Some(b'(' | b'[' | b'<' | b'{'))
        || value.contains("::")
        || value.contains("=>")
        || value.contains("->")
}

/// `config.password`, `self.token`: identifiers with a dot, and no digit that a password would have.
pub(super) fn is_member(value: &str) -> bool {
    let value = value.trim_end_matches([',', ';', ')', '?', '!']);
    value.contains('.')
        && value.split('.').all(|part| {
            part.bytes().next().is_some_and(|byte| is_in(byte, LETTER | UNDERSCORE))
                && part.bytes().all(|byte| is_in(byte, ALPHANUMERIC | UNDERSCORE))
        })
}
