//! The script for one event: the client starts no binaries, only scripts for an interpreter.

use crate::install::{GeneratedFile, Hook, OwnFile};

/// The hook before every call.
pub const PRE_TOOL_USE: GeneratedFile = GeneratedFile {
    title: "PreToolUse",
    purpose: "asks haltline before every call",
    text: script_text,
    parse_hook: parse_script,
    is_executable: true,
};

/// The hooks of the other events, next to it.
pub const OTHER_EVENTS: &[OwnFile] = &[
    OwnFile {
        path: "PostToolUse.bash",
        event: Some("PostToolUse"),
        content: GeneratedFile { title: "PostToolUse", purpose: "reports the result of every call", ..PRE_TOOL_USE },
    },
    OwnFile {
        path: "TaskStart.bash",
        event: Some("TaskStart"),
        content: GeneratedFile {
            title: "TaskStart",
            purpose: "reports the start of a session to haltline",
            ..PRE_TOOL_USE
        },
    },
    OwnFile {
        path: "UserPromptSubmit.bash",
        event: Some("UserPromptSubmit"),
        content: GeneratedFile {
            title: "UserPromptSubmit",
            purpose: "reports your prompts to haltline",
            ..PRE_TOOL_USE
        },
    },
];

const HEAD: &str = "#!/bin/sh\n# haltline's hook; `haltline uninstall --client cline` removes it.\nexec ";

fn script_text(hook: &Hook) -> String {
    format!("{HEAD}{}\n", hook.to_shell_line())
}

/// The command of a script that haltline wrote and nobody changed.
fn parse_script(text: &str) -> Option<Hook> {
    Hook::from_shell_line(text.strip_prefix(HEAD)?.strip_suffix('\n').filter(|line| !line.contains('\n'))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;

    #[test]
    fn a_script_is_recognised_unless_somebody_changed_it() {
        for state in ["/home/ana/state", "/home/an a/it's"] {
            let hook = Hook::new(Client::Cline, "/usr/bin/haltline", state, "/c.toml");
            let text = script_text(&hook);
            assert_eq!(parse_script(&text), Some(hook));
            assert_eq!(parse_script(&format!("{text}echo more\n")), None);
        }
        assert_eq!(parse_script("#!/bin/sh\nexec true\n"), None);
    }
}
