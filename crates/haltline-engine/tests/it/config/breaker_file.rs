//! Tests of `config/breaker_file.rs`.

use haltline_engine::config::BreakerFile;
use std::path::Path;

fn parse(text: &str) -> (Vec<(String, i64)>, Vec<String>) {
    let file = BreakerFile::parse(text.as_bytes(), Path::new("f.json"));
    let warnings = file.warnings.into_iter().map(|warning| warning.problem).collect();
    (file.values.into_iter().collect(), warnings)
}

fn value(name: &str, number: i64) -> (String, i64) {
    (name.to_owned(), number)
}

#[test]
fn the_file_of_the_seed_differs_from_the_defaults_only_in_sub_agents() {
    let pattern = |threshold, window: &str, cooldown, more: &str| {
        format!(r#"{{"enabled": true, "threshold": {threshold}, {window}, {more}"cooldown_base_seconds": {cooldown}}}"#)
    };
    let text = format!(
        r#"{{"circuit_breakers": {{"hook_recursion": {}, "tool_failure": {}, "sequential_tools": {}, "agent_spawn": {}, "external_api": {}}},
            "memory_limits": {{"telemetry_max_lines": 1000, "telemetry_max_kb": 50, "telemetry_max_age_days": 7, "telemetry_keep_rotations": 5,
             "session_max_active": 10, "session_max_age_days": 7, "evidence_ledger_max": 100, "tool_history_max": 50}},
            "resource_limits": {{"max_concurrent_agents": 5, "max_agents_per_session": 10, "agent_spawn_cooldown_seconds": 10,
             "api_rate_limit_per_minute": 10, "api_session_max": 50, "api_cost_warn_usd": 1.0, "api_cost_block_usd": 5.0}}}}"#,
        pattern(5, "\"window_turns\": 10", 5, ""),
        pattern(3, "\"window_turns\": 5", 10, ""),
        pattern(10, "\"window_turns\": 1", 5, ""),
        pattern(5, "\"window_turns\": 10", 10, ""),
        pattern(10, "\"window_seconds\": 60", 30, "\"session_max\": 50, "),
    );
    // The seed allows fewer sub-agents, and counts those of a session; by default haltline counts since the last prompt.
    let of_seed = [("agents.max_concurrent", 5), ("agents.max_per_session", 10), ("loop.agent_spawn.threshold", 5)];
    assert_eq!(parse(&text), (of_seed.map(|(key, number)| value(key, number)).into(), vec![]));
}

#[test]
fn a_bad_value_costs_its_key_and_an_unknown_key_is_reported() {
    let (values, warnings) = parse(
        r#"{"circuit_breakers": {"tool_failure": {"threshold": "3", "window_turns": 0, "enabled": false, "turns": 1},
                "spin": {"threshold": 1}}, "memory_limits": {"directory": "x"}, "resource_limits": [], "more": 1}"#,
    );
    assert_eq!(values, vec![value("loop.tool_failure.enabled", 0)]);
    let expected = [
        "circuit_breakers.tool_failure.threshold = \"3\": expected a whole number from 1 to 10000; haltline uses the default 3",
        "circuit_breakers.tool_failure.window_turns = 0: expected a whole number from 1 to 10000; haltline uses the default 5",
        "unknown key \"circuit_breakers.tool_failure.turns\"; haltline ignores it",
        "unknown key \"circuit_breakers.spin\"; haltline ignores it",
        "unknown key \"memory_limits.directory\"; haltline ignores it",
        "resource_limits = []: expected an object",
        "unknown key \"more\"; haltline ignores it",
    ];
    assert_eq!(warnings, expected);
    for text in ["", "[]", "{", "nul"] {
        let (values, warnings) = parse(text);
        assert_eq!((values.len(), warnings.len()), (0, 1), "{text:?}");
    }
}

#[test]
fn a_file_of_another_kind_does_not_fill_the_screen() {
    let keys: Vec<String> = (0..500).map(|number| format!("\"key{number}\": 1")).collect();
    let (_, warnings) = parse(&format!("{{{}}}", keys.join(",")));
    assert_eq!((warnings.len(), warnings[10].as_str()), (11, "490 more such warnings"));
}

#[test]
fn of_two_names_for_one_limit_the_stricter_applies() {
    let both = |threshold, window, per_minute| {
        let (values, warnings) = parse(&format!(
            r#"{{"circuit_breakers": {{"external_api": {{"threshold": {threshold}, "window_seconds": {window}, "session_max": 40}}}},
                    "resource_limits": {{"api_rate_limit_per_minute": {per_minute}, "api_session_max": 30}}}}"#
        ));
        assert_eq!(warnings, Vec::<String>::new());
        values
    };
    let (threshold, window) = ("loop.external_api.threshold", "loop.external_api.window_seconds");
    let session = value("loop.external_api.session_max", 30);
    assert_eq!(both(20, 60, 8), [session.clone(), value(threshold, 8)]);
    assert_eq!(both(6, 60, 8), [session.clone(), value(threshold, 6)]);
    assert_eq!(both(20, 120, 8), [session.clone(), value(threshold, 8)]);
    assert_eq!(both(12, 120, 8), [session, value(threshold, 12), value(window, 120)]);
}
