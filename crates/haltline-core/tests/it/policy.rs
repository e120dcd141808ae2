//! Tests of `policy.rs`.

use haltline_core::constraint::Limits;
use haltline_core::{Mode, Policy, loop_};
use serde_json::{Value, json};

#[test]
fn every_value_of_the_policy_is_in_its_digest() {
    let plain = Policy::default();
    let observing = Policy { mode: Mode::Observe, ..plain.clone() };
    let shorter_dedup = Policy { constraint: Limits { dedup_seconds: 1, ..plain.constraint }, ..plain.clone() };
    assert_ne!(plain.digest(), observing.digest());
    let loop_ = loop_::Limits { history_max: 51, ..plain.loop_.clone() };
    let longer_history = Policy { loop_, ..plain.clone() };
    assert_ne!(plain.digest(), shorter_dedup.digest());
    assert_ne!(plain.digest(), longer_history.digest());
    assert_eq!(plain.digest(), Policy::default().digest());
}

/// Returns copies of the value, each with one of its numbers, flags or texts changed.
fn changed_one_by_one(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, member)| {
                changed_one_by_one(member).into_iter().map(move |changed| {
                    let mut whole = members.clone();
                    whole.insert(name.clone(), changed);
                    Value::Object(whole)
                })
            })
            .collect(),
        Value::Array(_) => vec![json!(["another"])],
        Value::Null => vec![json!(1)],
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(number) => vec![json!(number.as_u64().unwrap_or_default() + 1)],
        Value::String(text) => {
            vec![json!(if text == "deny" { "stop_oldest" } else { "literal" })]
        }
    }
}

#[test]
fn every_limit_of_sessions_is_in_the_digest() {
    let plain = Policy::default();
    let written = serde_json::to_value(&plain.loop_).expect("limits can be written");
    let mut seen = vec![plain.digest()];
    for changed in changed_one_by_one(&written) {
        let loop_ = serde_json::from_value(changed.clone()).unwrap_or_else(|error| panic!("{error}: {changed}"));
        let digest = Policy { loop_, ..plain.clone() }.digest();
        assert!(!seen.contains(&digest), "{changed}");
        seen.push(digest);
    }
    assert!(seen.len() > 50, "{} limits were tried", seen.len());
}
