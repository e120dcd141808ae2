//! How a process that an agent started can be told: the variables the client sets for it, and the client's own name
//! among its ancestors (E6).

/// What marks the processes of one client.
#[derive(Debug, PartialEq, Eq)]
pub struct Marks {
    /// The client, as plain events spell it.
    pub name: &'static str,
    /// Variables it sets for what it starts.
    pub markers: &'static [&'static str],
    /// The variable that carries its session's name, where there is one.
    pub session: Option<&'static str>,
    /// What its process, or the script that it runs as, is called.
    pub programs: &'static [&'static str],
}

/// What `haltline run` sets for the command it runs: that command is an agent, whatever it is.
pub const RUN_MARKER: &str = "HALTLINE_RUN";

/// The clients whose processes haltline knows.
pub const MARKS: &[Marks] = &[
    Marks {
        name: "claude-code",
        markers: &["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION"],
        session: Some("CLAUDE_CODE_SESSION_ID"),
        programs: &["claude"],
    },
    Marks {
        name: "codex",
        markers: &["CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"],
        session: Some("CODEX_THREAD_ID"),
        programs: &["codex"],
    },
    Marks {
        name: "gemini",
        markers: &["GEMINI_CLI", "GEMINI_SESSION_ID"],
        session: Some("GEMINI_SESSION_ID"),
        programs: &["gemini"],
    },
    Marks { name: "qwen", markers: &["QWEN_CODE"], session: None, programs: &["qwen"] },
    Marks {
        name: "opencode",
        markers: &["OPENCODE", "OPENCODE_PID", "HALTLINE_OPENCODE_SESSION"],
        session: Some("HALTLINE_OPENCODE_SESSION"),
        programs: &["opencode"],
    },
    Marks { name: "cursor", markers: &["CURSOR_AGENT"], session: None, programs: &["cursor-agent"] },
    Marks {
        name: "copilot",
        markers: &["COPILOT_AGENT_SESSION_ID"],
        session: Some("COPILOT_AGENT_SESSION_ID"),
        programs: &["copilot"],
    },
    Marks { name: "cline", markers: &["CLINE_ACTIVE"], session: None, programs: &["cline"] },
    Marks {
        name: "any",
        markers: &["AI_AGENT", RUN_MARKER],
        session: None,
        programs: &["aider", "goose", "crush", "amp"],
    },
];

/// The first variable that says an agent started this process, by a look-up in its environment.
pub fn marker_in(is_set: impl Fn(&str) -> bool) -> Option<&'static str> {
    MARKS.iter().flat_map(|marks| marks.markers).find(|marker| is_set(marker)).copied()
}

/// The session an agent started this process in, by a look-up in its environment.
pub fn session_in(value: impl Fn(&str) -> Option<String>) -> Option<String> {
    MARKS.iter().filter_map(|marks| marks.session).find_map(value)
}

/// The client whose process, or script, has this name.
pub fn of_program(name: &str) -> Option<&'static Marks> {
    let script = [".js", ".mjs", ".cjs"].iter().find_map(|ending| name.strip_suffix(ending));
    let name = script.unwrap_or(name);
    // As a release is downloaded: `codex-x86_64-unknown-linux-musl`.
    let built = ["-x86_64", "-aarch64"].iter().find_map(|machine| name.split_once(machine));
    let name = built.map_or(name, |(name, _)| name);
    MARKS.iter().find(|marks| marks.programs.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_told_by_any_of_its_variables() {
        assert_eq!(marker_in(|name| name == "CLAUDECODE"), Some("CLAUDECODE"));
        assert_eq!(marker_in(|name| name == "CODEX_SANDBOX"), Some("CODEX_SANDBOX"));
        assert_eq!(marker_in(|name| name == "HOME"), None);
    }

    #[test]
    fn a_session_is_read_from_the_clients_own_variable() {
        let environment = |name: &str| (name == "CLAUDE_CODE_SESSION_ID").then(|| "s1".to_owned());
        assert_eq!(session_in(environment), Some("s1".to_owned()));
        assert_eq!(session_in(|_| None), None);
    }

    #[test]
    fn a_client_is_known_by_its_program_or_script_and_by_nothing_else() {
        assert_eq!(of_program("claude").map(|marks| marks.name), Some("claude-code"));
        assert_eq!(of_program("gemini.js").map(|marks| marks.name), Some("gemini"));
        assert_eq!(of_program("codex-x86_64-unknown-linux-musl").map(|marks| marks.name), Some("codex"));
        assert_eq!(of_program("claudette"), None);
        assert_eq!(of_program("codex-exec"), None);
    }
}
