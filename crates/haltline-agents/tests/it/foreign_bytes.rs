//! Every reader returns for any bytes: none panics, and none reports reading more than it was given.

use std::fs;
use std::path::Path;

use haltline_agents::claude::transcript;
use haltline_agents::codex::{rollout, trust};
use haltline_agents::transcript_reader::ReadContext;
use haltline_agents::{Client, plain, price};
use haltline_core::identity::Outcome;
use proptest::prelude::*;

/// Calls every function that reads foreign bytes.
fn read_all(bytes: &[u8]) {
    for client in Client::ALL {
        drop((client.protocol().read)(bytes));
    }
    let read = rollout::usage(bytes, ReadContext::default());
    assert!(read.consumed <= bytes.len() as u64);
    assert!(
        rollout::usage(bytes, ReadContext { resume_state: read.resume_state.as_deref(), ..ReadContext::default() })
            .messages
            <= read.messages
    );
    rollout::last_text(bytes);
    assert_ne!(rollout::outcome(bytes, "c").map(|(outcome, _)| outcome), Some(Outcome::RateLimited));
    let used = transcript::usage(bytes, None);
    assert!(used.consumed <= bytes.len() as u64);
    let again = transcript::usage(bytes, used.resume_state.as_deref());
    assert!(again.messages <= used.messages && again.consumed == used.consumed);
    let text = String::from_utf8_lossy(bytes);
    transcript::usage(b"{}\n", Some(&text));
    rollout::usage(b"{}\n", ReadContext { resume_state: Some(&text), ..ReadContext::default() });
    assert!(trust::hooks(&text, "/h", &text, "/h").len() <= text.len());
    for message in [plain::read(&text).err().map(|error| error.to_string()), price::parse(&text).err()] {
        assert!(message.is_none_or(|message| !message.contains('\n') && message.len() < 600));
    }
}

fn payloads() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/claude/2.1.325");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let mut seeds: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).expect("readable")).collect();
    seeds.extend([
        br#"{"v":1,"type":"tool_end","session":"s","call":"c","outcome":"ok","exit":1,"output":"x","cost_usd":0.5}"#
            .to_vec(),
        br#"{"v":1,"type":"message","session":"s","usage":{"input":1,"output":2},"cost_usd":1}"#.to_vec(),
        b"{\"type\":\"assistant\",\"requestId\":\"r\",\"message\":{\"id\":\"m\",\"model\":\"a\",\"usage\":{\"output_tokens\":3}}}\n"
            .to_vec(),
    ]);
    seeds
}

/// Values of an unexpected type.
const STRANGERS: [&str; 10] =
    ["null", "7", "-1e999", "true", "[]", "{}", "\"\\u0000\"", "\"\\ud83d\"", "[[[[[[]]]]]]", "18446744073709551616"];

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_all(&bytes);
    }

    #[test]
    fn a_damaged_payload_is_read_or_rejected(
        seed in any::<prop::sample::Index>(),
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let seeds = payloads();
        let mut bytes = seeds[seed.index(seeds.len())].clone();
        for (position, byte) in hits {
            let position = position.index(bytes.len());
            bytes[position] = byte;
        }
        if is_cut {
            bytes.truncate(end.index(bytes.len()));
        }
        read_all(&bytes);
    }

    #[test]
    fn a_payload_with_a_strange_value_is_still_read(
        seed in any::<prop::sample::Index>(),
        field in any::<prop::sample::Index>(),
        stranger in prop::sample::select(&STRANGERS[..]),
    ) {
        let seeds = payloads();
        let text = String::from_utf8(seeds[seed.index(seeds.len())].clone()).expect("UTF-8");
        // A value extends from its colon to the end of its line: the payloads have one field per line.
        let value_starts: Vec<usize> = text.match_indices("\": ").map(|(position, _)| position + 3).collect();
        if !value_starts.is_empty() {
            let start = value_starts[field.index(value_starts.len())];
            let end = start + text[start..].find('\n').unwrap_or(text.len() - start);
            let comma = if text[start..end].ends_with(',') { "," } else { "" };
            read_all(format!("{}{stranger}{comma}{}", &text[..start], &text[end..]).as_bytes());
        }
    }
}

#[test]
fn very_deep_nesting_does_no_harm() {
    let deep = "[".repeat(200_000);
    let closed = format!("{deep}{}", "]".repeat(200_000));
    for (event, field) in
        [("PostToolUse", "tool_response"), ("PreToolUse", "tool_input"), ("PostToolBatch", "tool_calls")]
    {
        for value in [&deep, &closed] {
            let start = format!(r#"{{"session_id":"s","hook_event_name":"{event}","tool_name":"Bash""#);
            read_all(format!(r#"{start},"{field}":{value}}}"#).as_bytes());
        }
    }
    read_all(closed.as_bytes());
}
