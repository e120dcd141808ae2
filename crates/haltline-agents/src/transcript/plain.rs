//! Plain events, as a transcript: what is not about an agent's work is passed over.

use haltline_core::loop_::Happening;
use serde_json::value::RawValue;

use super::record::{self, Calls};
use super::{Damaged, Entry};
use crate::plain::{self, PlainEvent, PlainHappening};

/// Reads the lines of one file.
#[derive(Debug, Default)]
pub struct PlainReader {
    calls: Calls,
}

impl PlainReader {
    /// Reads one line. An event that is none does not hide the others on its line.
    pub fn take(&mut self, line: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        let mut is_damaged = false;
        let all = record::each(line, |whole: &RawValue| match plain::read(whole.get()) {
            Ok(event) => entries.extend(self.entry(event, whole.get())),
            Err(_) => is_damaged = true,
        });
        if is_damaged { Err(Damaged) } else { all }
    }

    fn entry(&mut self, event: PlainEvent, whole: &str) -> Option<Entry> {
        let PlainEvent { at, stream, what, .. } = event;
        let mut what = match what {
            PlainHappening::Loop(what) => what,
            PlainHappening::Constraint { .. }
            | PlainHappening::Iteration(_)
            | PlainHappening::Attempt { .. }
            | PlainHappening::Round { .. } => return None,
        };
        // A file may hold many sessions, and each names its calls by itself.
        let lane = || format!("{}\n{}", stream.session, stream.agent.as_deref().unwrap_or_default());
        if let Happening::ToolStart { call, .. } = &mut what {
            *call = self.calls.begin(Some(&lane()), call, "", at, whole)?;
        } else if let Happening::ToolEnd { call, .. } = &mut what {
            let lane = lane();
            let known = self.calls.end(Some(&lane), call).map(|(name, _)| name);
            // An end whose start is not in the file is still an end.
            if let Some(name) = known.or_else(|| self.calls.ended(Some(&lane), call)) {
                *call = name;
            }
        }
        Some(Entry { at, stream, what, is_echo: false })
    }
}
