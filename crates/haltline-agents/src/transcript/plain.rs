//! Plain events, as a transcript: what is not about an agent's work is passed over.

use super::{Damaged, Entry};
use crate::plain::{self, PlainHappening};

/// Whether a file that begins like this holds plain events.
pub fn is_plain(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    str::from_utf8(line).is_ok_and(|line| plain::read(line).is_ok())
}

/// Reads one line.
pub fn take(line: &[u8], entries: &mut Vec<Entry>) -> Result<(), Damaged> {
    let text = str::from_utf8(line).map_err(|_| Damaged)?;
    let event = plain::read(text).map_err(|_| Damaged)?;
    match event.what {
        PlainHappening::Loop(what) => {
            entries.push(Entry { at: event.at, stream: event.stream, what, is_echo: false });
        }
        PlainHappening::Constraint { .. } | PlainHappening::Later(_) => {}
    }
    Ok(())
}
