//! Plain events, as a transcript: what is not about an agent's work is passed over.

use super::{Damaged, Entry};
use crate::plain::{self, PlainHappening};

/// Reads one line.
pub fn take(line: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
    if line.trim().is_empty() {
        return Ok(());
    }
    let event = plain::read(line).map_err(|_| Damaged)?;
    match event.what {
        PlainHappening::Loop(what) => {
            entries.push(Entry { at: event.at, stream: event.stream, what, is_echo: false });
        }
        PlainHappening::Constraint { .. } | PlainHappening::Later(_) => {}
    }
    Ok(())
}
