//! The plugin that OpenCode loads: a whole file, in which one line says what it runs.

use crate::install::{Hook, Program};

/// The plugin as a file of haltline's own.
pub const PLUGIN: Program = Program {
    title: "haltline.js",
    says: "asks haltline before and after every tool call",
    text,
    hook,
    is_executable: false,
};

const SOURCE: &str = include_str!("plugin.js");
/// How the file begins, in every version.
const FIRST_LINE: &str = "// haltline's plugin for OpenCode: ";
/// How the line begins that says what it runs; a list of words as JSON follows.
const COMMAND: &str = "const COMMAND = ";

fn text(hook: &Hook) -> String {
    let words: Vec<&String> = std::iter::once(&hook.command).chain(&hook.args).collect();
    let command = format!("{COMMAND}{}", serde_json::json!(words));
    let lines = SOURCE.lines().map(|line| if line.starts_with(COMMAND) { command.as_str() } else { line });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn hook(text: &str) -> Option<Hook> {
    if !text.starts_with(FIRST_LINE) {
        return None;
    }
    let words = text.lines().find_map(|line| line.strip_prefix(COMMAND))?;
    let mut words = serde_json::from_str::<Vec<String>>(words).ok()?.into_iter();
    Some(Hook { command: words.next()?, args: words.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;

    #[test]
    fn the_command_is_read_back_word_for_word() {
        for binary in ["/usr/bin/haltline", "/home/an a/it's\"\u{2028}\\/haltline"] {
            let hook = Hook::new(Client::OpenCode, binary, "/state of\nana", "/config.toml");
            let text = (PLUGIN.text)(&hook);
            assert_eq!((PLUGIN.hook)(&text), Some(hook));
            assert_eq!(text.lines().count(), SOURCE.lines().count());
        }
        assert!((PLUGIN.hook)(SOURCE).is_some());
        assert_eq!((PLUGIN.hook)("export const mine = async () => ({})\n"), None);
        assert_eq!((PLUGIN.hook)(&SOURCE.replace("const COMMAND", "const OTHER")), None);
    }
}
