//! Tests of `codex/trust.rs`.

use haltline_agents::codex::trust::{Trust, hooks, is_project_trusted};

const HOOKS: &str = r#"{"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]},
            {"hooks": [{"type": "command", "command": "/bin/true hook codex", "timeout": 5}]}]}}"#;

fn trust(config: &str) -> Vec<(String, Trust)> {
    let hooks = hooks(HOOKS, "/h/hooks.json", config, "/bin/true");
    hooks.into_iter().map(|hook| (hook.key, hook.trust)).collect()
}

#[test]
fn a_project_is_trusted_where_its_work_tree_or_its_main_checkout_is() {
    let config = "[projects.\"/main\"]\ntrust_level = \"trusted\"\n[projects.\"/side\"]\ntrust_level = \"untrusted\"";
    for (folders, expected) in [
        (["/main", "/main"], true),
        (["/other", "/main"], true),
        (["/side", "/main"], false),
        (["/side", "/side"], false),
        (["/other", "/other"], false),
    ] {
        assert_eq!(is_project_trusted(config, &folders), expected, "{folders:?}");
    }
    assert!(!is_project_trusted("no = toml = at all", &["/main"]));
}

#[test]
fn a_hook_is_trusted_by_the_hash_of_its_exact_definition() {
    let key = "/h/hooks.json:pre_tool_use:1:0";
    // The hash that the client itself reports for this definition.
    let hash = "sha256:8d967af7b3ae89e55deac55242bc7f1148539538b3afeddd49440eb8a01ad5e8";
    let state = |rest: &str| format!("[hooks.state.\"{key}\"]\n{rest}\n");
    for (config, expected) in [
        (String::new(), Trust::Missing),
        ("no = toml = at all".to_owned(), Trust::Missing),
        (state(&format!("trusted_hash = \"{hash}\"")), Trust::Trusted),
        (state("trusted_hash = \"sha256:00\""), Trust::Outdated),
        (state("trusted_hash = 7"), Trust::Missing),
        (state(&format!("trusted_hash = \"{hash}\"\nenabled = false")), Trust::Disabled),
    ] {
        assert_eq!(trust(&config), [(key.to_owned(), expected)], "{config}");
    }
    assert_eq!(hooks("[]", "/h", "", "/bin/true"), []);
}
