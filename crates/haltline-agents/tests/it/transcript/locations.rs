//! Tests of `transcript/locations.rs`.

use haltline_agents::transcript::Format;
use haltline_agents::transcript::locations::{TranscriptLocation, locations};
use std::ffi::OsString;
use std::path::Path;

fn format_of(locations: &[TranscriptLocation], path: &str) -> Option<Format> {
    locations.iter().find(|location| location.contains(Path::new(path))).map(|location| location.format)
}

#[test]
fn transcripts_are_distinguished_from_other_files_of_the_client() {
    let locations = locations(Path::new("/home/dev"), |_| None);
    for (path, format) in [
        ("/home/dev/.claude/projects/-home-dev-shop/5780753d.jsonl", Some(Format::Claude)),
        ("/home/dev/.claude/projects/-home-dev-shop/5780753d/subagents/agent-a1.jsonl", Some(Format::Claude)),
        ("/home/dev/.config/claude/projects/p/1.jsonl", Some(Format::Claude)),
        ("/home/dev/.claude/history.jsonl", None),
        ("/home/dev/.claude/projects/p/1.json", None),
        ("/home/dev/.codex/sessions/2026/11/15/rollout-2026-11-15T19-13-42-01a1.jsonl", Some(Format::Codex)),
        ("/home/dev/.codex/archived_sessions/rollout-x.jsonl", Some(Format::Codex)),
        ("/home/dev/.codex/sessions/2026/index.jsonl", None),
        ("/home/dev/.gemini/tmp/ab12/chats/session-2026-f066.jsonl", Some(Format::Gemini)),
        ("/home/dev/.gemini/tmp/ab12/logs.json", None),
        ("/home/dev/.qwen/projects/-home-dev/chats/eede.jsonl", Some(Format::Qwen)),
        ("/home/dev/.copilot/session-state/5944/events.jsonl", Some(Format::Copilot)),
        ("/home/dev/run.traj", None),
    ] {
        assert_eq!(format_of(&locations, path), format, "{path}");
    }
}

#[test]
fn a_variable_moves_a_clients_folder_and_may_name_several() {
    let variable = |name: &str| match name {
        "CLAUDE_CONFIG_DIR" => Some(OsString::from("/a, /b")),
        "CODEX_HOME" => Some(OsString::new()),
        "SWE_AGENT_TRAJECTORY_DIR" => Some(OsString::from("/runs")),
        _ => None,
    };
    let locations = locations(Path::new("/home/dev"), variable);
    assert_eq!(format_of(&locations, "/a/projects/p/1.jsonl"), Some(Format::Claude));
    assert_eq!(format_of(&locations, "/b/projects/p/1.jsonl"), Some(Format::Claude));
    assert_eq!(format_of(&locations, "/home/dev/.claude/projects/p/1.jsonl"), None);
    assert_eq!(format_of(&locations, "/home/dev/.codex/sessions/rollout-1.jsonl"), Some(Format::Codex));
    assert_eq!(format_of(&locations, "/runs/x/y.traj"), Some(Format::SweAgent));
}
