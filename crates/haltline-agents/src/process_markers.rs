//! How haltline recognises a process that an agent started: by the environment variables that the client sets, and by
//! the client's program name among the process's ancestors (E6).

/// How to recognise the processes of one client.
#[derive(Debug, PartialEq, Eq)]
pub struct ProcessMarkers {
    /// The client's name in plain events.
    pub client: &'static str,
    /// Variables that the client sets for everything it starts.
    pub variables: &'static [&'static str],
    /// The variable that holds the session id, if there is one.
    pub session_variable: Option<&'static str>,
    /// Names of the client's program, or of the script it runs as.
    pub programs: &'static [&'static str],
}

/// Set by `haltline run` for its command, which haltline treats as an agent whatever the command is.
pub const RUN_MARKER: &str = "HALTLINE_RUN";

/// The clients whose processes haltline recognises.
pub const PROCESS_MARKERS: &[ProcessMarkers] = &[
    ProcessMarkers {
        client: "claude-code",
        variables: &["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION"],
        session_variable: Some("CLAUDE_CODE_SESSION_ID"),
        programs: &["claude"],
    },
    ProcessMarkers {
        client: "codex",
        variables: &["CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"],
        session_variable: Some("CODEX_THREAD_ID"),
        programs: &["codex"],
    },
    ProcessMarkers {
        client: "gemini",
        variables: &["GEMINI_CLI", "GEMINI_SESSION_ID"],
        session_variable: Some("GEMINI_SESSION_ID"),
        programs: &["gemini"],
    },
    ProcessMarkers { client: "qwen", variables: &["QWEN_CODE"], session_variable: None, programs: &["qwen"] },
    ProcessMarkers {
        client: "opencode",
        variables: &["OPENCODE", "OPENCODE_PID", "HALTLINE_OPENCODE_SESSION"],
        session_variable: Some("HALTLINE_OPENCODE_SESSION"),
        programs: &["opencode"],
    },
    ProcessMarkers {
        client: "cursor",
        variables: &["CURSOR_AGENT"],
        session_variable: None,
        programs: &["cursor-agent"],
    },
    ProcessMarkers {
        client: "copilot",
        variables: &["COPILOT_AGENT_SESSION_ID"],
        session_variable: Some("COPILOT_AGENT_SESSION_ID"),
        programs: &["copilot"],
    },
    ProcessMarkers { client: "cline", variables: &["CLINE_ACTIVE"], session_variable: None, programs: &["cline"] },
    ProcessMarkers {
        client: "any",
        variables: &["AI_AGENT", RUN_MARKER],
        session_variable: None,
        programs: &["aider", "goose", "crush", "amp"],
    },
];

/// Returns the first variable that proves an agent started this process. `is_set` looks a variable up in its
/// environment.
pub fn marker_in(is_set: impl Fn(&str) -> bool) -> Option<&'static str> {
    PROCESS_MARKERS.iter().flat_map(|markers| markers.variables).find(|variable| is_set(variable)).copied()
}

/// Returns the session in which an agent started this process. `value` looks a variable up in its environment.
pub fn session_in(value: impl Fn(&str) -> Option<String>) -> Option<String> {
    PROCESS_MARKERS.iter().filter_map(|markers| markers.session_variable).find_map(value)
}

/// Returns the client whose program or script has this name.
pub fn markers_of_program(name: &str) -> Option<&'static ProcessMarkers> {
    let script = [".js", ".mjs", ".cjs"].iter().find_map(|ending| name.strip_suffix(ending));
    let name = script.unwrap_or(name);
    // The name of a downloaded release: `codex-x86_64-unknown-linux-musl`.
    let built = ["-x86_64", "-aarch64"].iter().find_map(|machine| name.split_once(machine));
    let name = built.map_or(name, |(name, _)| name);
    PROCESS_MARKERS.iter().find(|markers| markers.programs.contains(&name))
}
