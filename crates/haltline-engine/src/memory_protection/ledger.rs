//! Shortens the lists in a session's state that only grow: evidence and tool history.
//!
//! Everything else in the state keeps its bytes; a state that is written meanwhile is left alone.

use std::fmt;
use std::io::{self, Read};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::pack::write_like;
use super::sessions::SessionState;
use super::{MemoryLimits, modified};
use crate::file::open_regular;

/// A larger state is not read, in bytes.
const STATE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How many entries were cut from a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) evidence: usize,
    pub(super) history: usize,
}

pub(super) fn truncate(state: &SessionState, limits: &MemoryLimits) -> io::Result<Cut> {
    let mut file = open_regular(&state.path)?;
    let before = file.metadata()?;
    if before.len() > STATE_BYTES_MAX {
        return Err(io::Error::other(format!("{} bytes: expected at most {STATE_BYTES_MAX}", before.len())));
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    let Some((content, cut)) = truncated(&content, limits)? else { return Ok(Cut::default()) };
    let after = open_regular(&state.path)?.metadata()?;
    if (before.len(), modified(&before)) != (after.len(), modified(&after)) {
        return Ok(Cut::default());
    }
    write_like(&state.path, &content, &file)?;
    Ok(cut)
}

/// The state with shorter lists; `None` if they are short enough.
fn truncated(content: &[u8], limits: &MemoryLimits) -> io::Result<Option<(Vec<u8>, Cut)>> {
    let Fields(mut fields) = serde_json::from_slice(content)?;
    let evidence = cut_list(&mut fields, "evidence_ledger", limits.evidence_entries_max)?;
    let history = cut_list(&mut fields, "tool_history", limits.tool_history_entries_max)?;
    if evidence.is_empty() && history.is_empty() {
        return Ok(None);
    }
    if !evidence.is_empty() {
        let summary_index = fields.iter().rposition(|(name, _)| name == "evidence_summary");
        // A summary of another shape is replaced, because its numbers cannot be updated.
        let mut summary: Summary =
            summary_index.and_then(|index| serde_json::from_str(fields[index].1.get()).ok()).unwrap_or_default();
        evidence.iter().for_each(|entry| summary.add(entry));
        let summary = to_raw_value(&summary)?;
        match summary_index {
            Some(index) => fields[index].1 = summary,
            None => fields.push(("evidence_summary".to_owned(), summary)),
        }
    }
    let cut = Cut { evidence: evidence.len(), history: history.len() };
    Ok(Some((serialize_fields(&fields)?, cut)))
}

type Field = (String, Box<RawValue>);

/// Cuts a list to its last `keep` entries, and returns the rest.
fn cut_list(fields: &mut [Field], name: &str, keep: u32) -> io::Result<Vec<Box<RawValue>>> {
    let Some((_, field)) = fields.iter_mut().rfind(|(field, _)| field == name) else { return Ok(Vec::new()) };
    // Anything else than a list is left alone.
    let Ok(mut entries) = serde_json::from_str::<Vec<Box<RawValue>>>(field.get()) else { return Ok(Vec::new()) };
    let surplus = entries.len().saturating_sub(keep as usize);
    if surplus == 0 {
        return Ok(Vec::new());
    }
    let kept = entries.split_off(surplus);
    *field = to_raw_value(&kept)?;
    Ok(entries)
}

fn serialize_fields(fields: &[Field]) -> io::Result<Vec<u8>> {
    let mut out = b"{".to_vec();
    for (index, (name, value)) in fields.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"\n  " } else { b",\n  " });
        serde_json::to_writer(&mut out, name)?;
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.get().as_bytes());
    }
    out.extend_from_slice(b"\n}\n");
    Ok(out)
}

/// Sums up the entries that were dropped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Summary {
    count: u64,
    /// The mean boost; null if no entry had one.
    mean_boost: Option<f64>,
    /// How many entries had no boost, and are not in the mean.
    #[serde(default, skip_serializing_if = "is_zero")]
    without_boost: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Summary {
    fn add(&mut self, entry: &RawValue) {
        #[derive(Deserialize)]
        struct Boosted {
            boost: f64,
        }
        self.count += 1;
        match serde_json::from_str(entry.get()) {
            Ok(Boosted { boost }) => {
                let measured = self.count.saturating_sub(self.without_boost).max(1) as f64;
                let mean = self.mean_boost.unwrap_or(0.0);
                self.mean_boost = Some(mean + (boost - mean) / measured);
            }
            Err(_none) => self.without_boost += 1,
        }
    }
}

/// The fields of an object in order, with their values as written.
struct Fields(Vec<Field>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(evidence: u32, history: u32) -> MemoryLimits {
        MemoryLimits { evidence_entries_max: evidence, tool_history_entries_max: history, ..MemoryLimits::default() }
    }

    #[test]
    fn the_last_entries_stay_and_the_rest_is_summed_up() {
        let state = r#"{"id": 12345678901234567890123, "x": 1.50,
            "evidence_ledger": [{"boost": 1}, {"boost": 2.0}, {"note": "none"}, {"boost": 9}, {"boost": 8}],
            "tool_history": ["a", "b", "c"]}"#;
        let (content, cut) = truncated(state.as_bytes(), &limits(2, 2)).expect("a state").expect("too long");
        assert_eq!(cut, Cut { evidence: 3, history: 1 });
        let text = String::from_utf8(content.clone()).expect("text");
        assert!(text.contains("12345678901234567890123") && text.contains("1.50"), "other values stay: {text}");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["evidence_ledger"], serde_json::json!([{"boost": 9}, {"boost": 8}]));
        assert_eq!(value["tool_history"], serde_json::json!(["b", "c"]));
        let summary = serde_json::json!({"count": 3, "mean_boost": 1.5, "without_boost": 1});
        assert_eq!(value["evidence_summary"], summary);

        assert_eq!(truncated(&content, &limits(2, 2)).expect("a state"), None, "once is enough");
        let (content, _) = truncated(&content, &limits(1, 2)).expect("a state").expect("too long");
        let value: serde_json::Value = serde_json::from_slice(&content).expect("JSON");
        let summary = serde_json::json!({"count": 4, "mean_boost": 4.0, "without_boost": 1});
        assert_eq!(value["evidence_summary"], summary, "added to what was known");
    }

    #[test]
    fn what_is_not_a_state_is_left_alone() {
        assert!(truncated(b"", &limits(1, 1)).is_err());
        assert!(truncated(b"[1, 2]", &limits(1, 1)).is_err());
        let odd = br#"{"evidence_ledger": {"a": 1}, "tool_history": "long"}"#;
        assert_eq!(truncated(odd, &limits(1, 1)).expect("an object"), None);
    }
}
