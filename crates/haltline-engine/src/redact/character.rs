//! Classes of characters, as bits, so that a set of characters is a number.

pub(super) const LOWER: u16 = 1;
pub(super) const UPPER: u16 = 1 << 1;
pub(super) const DIGIT: u16 = 1 << 2;
pub(super) const UNDERSCORE: u16 = 1 << 3;
pub(super) const DASH: u16 = 1 << 4;
pub(super) const DOT: u16 = 1 << 5;
/// `+` and `/`.
pub(super) const PLUS_SLASH: u16 = 1 << 6;
pub(super) const EQUALS: u16 = 1 << 7;
pub(super) const HEX: u16 = 1 << 8;
pub(super) const DOLLAR: u16 = 1 << 9;
pub(super) const PERCENT: u16 = 1 << 10;
pub(super) const COMMA: u16 = 1 << 11;
pub(super) const TILDE: u16 = 1 << 12;

pub(super) const LETTER: u16 = LOWER | UPPER;
pub(super) const ALPHANUMERIC: u16 = LETTER | DIGIT;
/// What identifiers and tokens consist of.
pub(super) const WORD: u16 = ALPHANUMERIC | UNDERSCORE | DASH;
pub(super) const BASE64: u16 = ALPHANUMERIC | PLUS_SLASH | EQUALS;

static CLASSES: [u16; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let character = byte as u8;
        let mut class = match character {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'-' => DASH,
            b'.' => DOT,
            b'+' | b'/' => PLUS_SLASH,
            b'=' => EQUALS,
            b'$' => DOLLAR,
            b'%' => PERCENT,
            b',' => COMMA,
            b'~' => TILDE,
            _ => 0,
        };
        if character.is_ascii_hexdigit() {
            class |= HEX;
        }
        classes[byte] = class;
        byte += 1;
    }
    classes
};

/// The class of a byte; bytes of characters beyond ASCII have none.
pub(super) fn class(byte: u8) -> u16 {
    CLASSES[usize::from(byte)]
}

/// True if the byte is in the set.
pub(super) fn is_in(byte: u8, set: u16) -> bool {
    class(byte) & set != 0
}

/// How many bytes from `from` on are in the set.
pub(super) fn run_length(bytes: &[u8], from: usize, set: u16) -> usize {
    bytes[from..].iter().take_while(|byte| is_in(**byte, set)).count()
}

/// True if a token may begin here: what precedes is no letter or digit, or it ends an escape (`\n`, `%3D`, `ESC[31m`).
pub(super) fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let Some(&before) = at.checked_sub(1).and_then(|before| bytes.get(before)) else { return true };
    if !is_in(before, ALPHANUMERIC | UNDERSCORE) {
        return true;
    }
    let earlier = |back: usize| at.checked_sub(back).map(|at| bytes[at]);
    match earlier(2) {
        Some(b'\\') => matches!(before, b'n' | b'r' | b't' | b'f' | b'b'),
        _ if earlier(3) == Some(b'%') => {
            before.is_ascii_hexdigit() && earlier(2).is_some_and(|byte| byte.is_ascii_hexdigit())
        }
        _ if before == b'm' => {
            let digits = bytes[..at - 1]
                .iter()
                .rev()
                .take(12)
                .take_while(|byte| byte.is_ascii_digit() || **byte == b';')
                .count();
            earlier(2 + digits) == Some(b'[')
        }
        _ => false,
    }
}
