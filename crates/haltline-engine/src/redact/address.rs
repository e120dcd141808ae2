//! Finds the password of an address: `https://user:password@host`.

use std::ops::Range;

use super::character::{ALPHANUMERIC, LETTER, WORD, is_in};
use super::value::{is_placeholder, is_random};

/// The longest address whose user is looked for.
const ADDRESS_BYTES_MAX: usize = 1024;

/// Calls `found` with the position of every password in an address.
pub(super) fn find(text: &str, found: &mut impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    for (at, mark) in text.match_indices("://") {
        let from = at + mark.len();
        let scheme = bytes[..at].iter().rev().take(24).take_while(|byte| is_in(**byte, WORD)).count();
        if scheme == 0 {
            continue;
        }
        user_info(text, from, found);
    }
    // `jdbc:oracle:thin:user/password@host`, `sqlplus user/password@host`
    for mark in ["thin:", "sqlplus "] {
        for (at, _) in text.match_indices(mark) {
            let from = at + mark.len();
            let length = bytes[from..]
                .iter()
                .take(200)
                .take_while(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\''))
                .count();
            let login = &text[from..text.floor_char_boundary(from + length)];
            if let Some((user, rest)) = login.split_once('/')
                && let Some(end) = rest.rfind('@')
                && !user.is_empty()
                && !is_placeholder(&rest[..end])
            {
                found(from + user.len() + 1..from + user.len() + 1 + end);
            }
        }
    }
}

fn user_info(text: &str, from: usize, found: &mut impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let limit = bytes.len().min(from + ADDRESS_BYTES_MAX);
    let is_end = |byte: &u8| {
        byte.is_ascii_whitespace()
            || byte.is_ascii_control()
            || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b',')
    };
    let length = bytes[from..limit].iter().take_while(|byte| !is_end(byte)).count();
    let address = &text[from..text.floor_char_boundary(from + length)];
    // Another address begins: `http://a,b@c http://`.
    let address = address.split("://").next().unwrap_or(address);
    let authority = address.find(['/', '?', '#']).unwrap_or(address.len());
    let Some(colon) = address[..authority].find(':') else {
        // A token alone.
        if let Some(at) = address[..authority].rfind('@')
            && at >= 16
            && is_random(&address.as_bytes()[..at], 3.0)
        {
            found(from..from + at);
        }
        return;
    };
    // The password may hold `@`, and `/` where what follows the colon is no port.
    let end = match address[..authority].rfind('@') {
        Some(end) => end,
        None => {
            let rest = &address[colon + 1..authority];
            let is_port = rest.bytes().all(|byte| byte.is_ascii_digit()) || rest.contains([']', '$', '{', '%']);
            match address.rfind('@') {
                Some(end) if !is_port && !address[..colon].contains('.') => end,
                _ => return,
            }
        }
    };
    if end <= colon {
        return;
    }
    let (user, password) = (&address[..colon], &address[colon + 1..end]);
    if password.is_empty() || password == "x-oauth-basic" || is_contribsys(&address[end + 1..]) {
        if is_random(user.as_bytes(), 2.5) || (is_contribsys(&address[end + 1..]) && user != super::MASK) {
            found(from..from + colon);
        }
        if password.is_empty() || password == "x-oauth-basic" {
            return;
        }
    }
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let is_form = is_placeholder(password) && !password.bytes().all(|byte| is_in(byte, LETTER))
        || matches!(password, "password" | "pass" | "pw" | "pwd" | "passwd" | "secret" | "token")
        || (is_name(password) && password.len() >= 4)
        || !password.bytes().any(|byte| is_in(byte, ALPHANUMERIC));
    if !is_form {
        found(from + colon + 1..from + end);
    }
}

/// The host whose user's name is a secret as well.
fn is_contribsys(host: &str) -> bool {
    host.starts_with("gems.contribsys.com") || host.starts_with("enterprise.contribsys.com")
}
