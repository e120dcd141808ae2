//! Plain events as a transcript: events that are not about an agent's work are skipped.

use haltline_core::loop_::LoopEvent;
use serde_json::value::RawValue;

use super::record::{self, Calls};
use super::{Damaged, Entry};
use crate::plain::{self, PlainEvent, PlainEventKind};

#[derive(Debug, Default)]
pub struct PlainReader {
    calls: Calls,
}

impl PlainReader {
    /// Reads one line. An invalid event does not hide the others on its line.
    pub fn read_line(&mut self, line: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        let mut is_damaged = false;
        let all = record::for_each_object(line, |whole: &RawValue| match plain::read(whole.get()) {
            Ok(event) => entries.extend(self.entry(event, whole.get())),
            Err(_) => is_damaged = true,
        });
        if is_damaged { Err(Damaged) } else { all }
    }

    fn entry(&mut self, event: PlainEvent, whole: &str) -> Option<Entry> {
        let PlainEvent { at, agent_ref, kind: event, .. } = event;
        let mut event = match event {
            PlainEventKind::Loop(event) => event,
            PlainEventKind::Constraint { .. }
            | PlainEventKind::Iteration(_)
            | PlainEventKind::Attempt { .. }
            | PlainEventKind::Round { .. } => return None,
        };
        // A file may contain many sessions, and each has its own call ids.
        let agent_key = || format!("{}\n{}", agent_ref.session, agent_ref.sub_agent.as_deref().unwrap_or_default());
        if let LoopEvent::ToolStart { call, .. } = &mut event {
            *call = self.calls.begin(Some(&agent_key()), call, "", at, whole)?;
        } else if let LoopEvent::ToolEnd { call, .. } = &mut event {
            let agent_key = agent_key();
            let known = self.calls.end(Some(&agent_key), call).map(|(name, _)| name);
            // An end whose start is not in the file is still an end.
            if let Some(name) = known.or_else(|| self.calls.ended(Some(&agent_key), call)) {
                *call = name;
            }
        }
        Some(Entry { at, agent_ref, event, is_echo: false })
    }
}
