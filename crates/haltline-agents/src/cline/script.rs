//! The script that stands for one event: the client starts no program, it runs what an interpreter can read.

use crate::install::{Hook, OwnFile, Program};

/// The hook before every call.
pub const BEFORE: Program = Program {
    title: "PreToolUse",
    says: "asks haltline before every call",
    text: script,
    hook: command,
    is_executable: true,
};

/// The hooks of the other events, beside it.
pub const BESIDE: &[OwnFile] = &[
    OwnFile {
        path: "PostToolUse.bash",
        event: Some("PostToolUse"),
        program: Program { title: "PostToolUse", says: "tells haltline how it went", ..BEFORE },
    },
    OwnFile {
        path: "TaskStart.bash",
        event: Some("TaskStart"),
        program: Program { title: "TaskStart", says: "tells haltline of a session", ..BEFORE },
    },
    OwnFile {
        path: "UserPromptSubmit.bash",
        event: Some("UserPromptSubmit"),
        program: Program { title: "UserPromptSubmit", says: "tells haltline that you asked", ..BEFORE },
    },
];

const HEAD: &str = "#!/bin/sh\n# haltline's hook; `haltline uninstall --client cline` takes it away.\nexec ";

fn script(hook: &Hook) -> String {
    format!("{HEAD}{}\n", hook.line())
}

/// The command of a script that is haltline's, unchanged.
fn command(text: &str) -> Option<Hook> {
    Hook::of_line(text.strip_prefix(HEAD)?.strip_suffix('\n').filter(|line| !line.contains('\n'))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;

    #[test]
    fn a_script_is_known_again_and_a_changed_one_is_somebodys() {
        for state in ["/home/ana/state", "/home/an a/it's"] {
            let hook = Hook::new(Client::Cline, "/usr/bin/haltline", state, "/c.toml");
            let text = script(&hook);
            assert_eq!(command(&text), Some(hook));
            assert_eq!(command(&format!("{text}echo more\n")), None);
        }
        assert_eq!(command("#!/bin/sh\nexec true\n"), None);
    }
}
