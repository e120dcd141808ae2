//! A history as plain events (docs/reference/events.md, version 1), with its own clock.

use serde_json::{Value, json};

use super::{Call, History, HistoryEvent, HistoryStep};

/// Time between the end of a call and the next call.
const THOUGHT_MS: u64 = 3_000;
/// Time from the start of a call to its end.
const CALL_MS: u64 = 1_000;
/// Time between histories, so that no two overlap.
const APART_MS: u64 = 24 * 3_600_000;
/// 2026-01-05T09:00:00Z in milliseconds since 1970.
const BEGIN_MS: u64 = 1_767_603_600_000;

pub(super) fn events(history: &History, number: usize) -> Vec<Value> {
    let mut writer = Writer {
        history,
        session: history.session(),
        now_ms: BEGIN_MS + APART_MS * u64::try_from(number).unwrap_or_default(),
        calls: 0,
        messages: 0,
        events: Vec::new(),
    };
    writer.event(None, json!({"type": "session_start"}));
    let mut steps = history.steps.as_slice();
    while let Some((first, rest)) = steps.split_first() {
        writer.now_ms += first.after_ms;
        let HistoryEvent::Call(call) = &first.event else {
            writer.other_event(first);
            steps = rest;
            continue;
        };
        let joins = |step: &&HistoryStep| matches!(&step.event, HistoryEvent::Call(call) if call.joins);
        let batch = 1 + rest.iter().take_while(joins).count();
        // A sub-agent begins while the call that starts it is in flight.
        let spawns = |step: &&HistoryStep| matches!(step.event, HistoryEvent::Spawn { .. });
        let spawned = steps[batch..].iter().take_while(spawns).count();
        if call.replays {
            writer.batch(&steps[..1], &[], true);
            steps = rest;
        } else {
            let (calls, after) = steps.split_at(batch);
            writer.batch(calls, &after[..spawned], false);
            steps = &after[spawned..];
        }
    }
    writer.events
}

struct Writer<'a> {
    history: &'a History,
    session: String,
    now_ms: u64,
    calls: u64,
    messages: u64,
    events: Vec<Value>,
}

impl Writer<'_> {
    fn event(&mut self, agent: Option<&str>, mut fields: Value) {
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("v".into(), json!(1));
            fields.insert("ts".into(), json!(instant(self.now_ms)));
            fields.insert("session".into(), json!(self.session));
            fields.insert("client".into(), json!(self.history.client));
            if let Some(agent) = agent {
                fields.insert("agent".into(), json!(agent));
            }
        }
        self.events.push(fields);
    }

    /// Calls of one response: all calls begin, the sub-agents they start begin, then all calls end.
    fn batch(&mut self, steps: &[HistoryStep], spawned: &[HistoryStep], replays: bool) {
        if !replays {
            self.messages += 1;
        }
        let first = if replays { self.calls } else { self.calls + 1 };
        let calls: Vec<(u64, &HistoryStep, &Call)> = (first..)
            .zip(steps)
            .filter_map(|(id, step)| match &step.event {
                HistoryEvent::Call(call) => Some((id, step, call)),
                _ => None,
            })
            .collect();
        for (id, step, call) in &calls {
            let mut fields = json!({
                "type": "tool_start", "call": format!("c{id}"), "tool": call.tool, "input": call.input,
            });
            // Codex does not say which response a call belongs to.
            if self.history.client != "codex" {
                fields["message"] = json!(format!("m{}", self.messages));
            }
            self.event(step.agent.as_deref(), fields);
            self.calls = *id;
        }
        for step in spawned {
            self.other_event(step);
        }
        self.now_ms += CALL_MS;
        for (id, step, call) in &calls {
            let mut fields = json!({
                "type": "tool_end", "call": format!("c{id}"), "outcome": call.outcome, "output": call.output,
            });
            if let Some(exit) = call.exit {
                fields["exit"] = json!(exit);
            }
            if let Some(by) = &call.by {
                fields["by"] = json!(by);
            }
            self.event(step.agent.as_deref(), fields);
        }
        self.now_ms += THOUGHT_MS;
    }

    fn other_event(&mut self, step: &HistoryStep) {
        let fields = match &step.event {
            HistoryEvent::Call(_) | HistoryEvent::Wait => return,
            HistoryEvent::Prompt { by_user, text } => {
                json!({"type": "prompt", "source": if *by_user { "user" } else { "system" }, "text": text})
            }
            HistoryEvent::Spawn { sub_agent: child, depth } => {
                json!({"type": "spawn_start", "child": child, "depth": depth})
            }
            HistoryEvent::SpawnEnd { sub_agent: child } => json!({"type": "spawn_end", "child": child}),
            HistoryEvent::Hook { name } => json!({"type": "hook", "name": name}),
            HistoryEvent::Stop { blocked } => json!({"type": "stop", "blocked": blocked}),
            HistoryEvent::Compaction { trigger } => json!({"type": "compaction", "trigger": trigger}),
            HistoryEvent::SessionStart { resumed } => json!({"type": "session_start", "resumed": resumed}),
        };
        self.event(step.agent.as_deref(), fields);
        self.now_ms += if matches!(step.event, HistoryEvent::Spawn { .. }) { 0 } else { THOUGHT_MS };
    }
}

/// RFC 3339 in UTC with milliseconds.
fn instant(ms: u64) -> String {
    let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    // Days since 1970 as a date: years begin in March, so that a leap day is the last day of a year.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", of_day % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_over_the_ends_of_months() {
        assert_eq!(instant(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(instant(BEGIN_MS), "2026-01-05T09:00:00.000Z");
        assert_eq!(instant(951_782_400_000 + 86_399_999), "2000-02-29T23:59:59.999Z");
        assert_eq!(instant(1_772_323_200_000), "2026-03-01T00:00:00.000Z");
    }
}
