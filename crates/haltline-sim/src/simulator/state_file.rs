//! State files from elsewhere: another branch, another machine, an older copy.

use std::fs;
use std::path::Path;

use haltline_core::Instant;
use serde_json::{Map, Value, json};

use super::world::{IDS, World};
use crate::chance::Chance;

/// Writes a state file as another machine would have it: this one's, with additional violations in one circuit.
/// Returns that circuit and the number of added violations.
pub(super) fn write_foreign(world: &World, project: usize, chance: &mut Chance) -> (&'static str, usize) {
    let path = world.mirror(project);
    let mut circuits = read(&path);
    if chance.happens(30) {
        circuits.clear();
    }
    let id = *chance.pick(&IDS);
    let entry = circuits.entry(id.to_owned()).or_insert_with(|| json!({"violations": []}));
    let now = world.now().at;
    entry["state"] = json!(chance.pick(&["CLOSED", "OPEN", "HALF-OPEN"]));
    entry["last_trip"] = instant(now, chance);
    entry["last_reset"] = instant(now, chance);
    let count = chance.index(4);
    if let Value::Array(lines) = &mut entry["violations"] {
        if chance.happens(30) {
            lines.truncate(lines.len() / 2);
        }
        for _ in 0..count {
            let action = format!("elsewhere {:x}", chance.below(u64::MAX));
            let at = now.plus_millis(between(-20 * DAY_MS, DAY_MS, chance)).to_seconds_text();
            lines.push(json!({"timestamp": at, "action": action, "session": "elsewhere"}));
        }
    }
    write(&path, &Value::Object(circuits).to_string());
    (id, count)
}

/// Replaces the content of a state file. The new content never has the old length: within a tick of the disk's clock
/// the two could not be distinguished.
pub(super) fn write(path: &Path, content: &str) {
    let mut content = content.to_owned();
    while fs::metadata(path).is_ok_and(|file| file.len() == content.len() as u64) {
        content.push('\n');
    }
    fs::write(path, content).expect("the project can be written");
}

pub(super) fn read(path: &Path) -> Map<String, Value> {
    let content = fs::read(path).unwrap_or_default();
    serde_json::from_slice(&content).unwrap_or_default()
}

const DAY_MS: i64 = 86_400_000;

fn instant(now: Instant, chance: &mut Chance) -> Value {
    if chance.happens(50) {
        return Value::Null;
    }
    json!(now.plus_millis(between(-5 * DAY_MS, DAY_MS, chance)).to_seconds_text())
}

fn between(low: i64, high: i64, chance: &mut Chance) -> i64 {
    low + i64::try_from(chance.below(low.abs_diff(high))).expect("a few days")
}
