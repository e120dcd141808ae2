//! The plugin that OpenCode loads: a whole file, in which one line holds the command to run.

use crate::install::{GeneratedFile, Hook};

pub const PLUGIN: GeneratedFile = GeneratedFile {
    title: "haltline.js",
    purpose: "asks haltline before and after every tool call",
    text: plugin_text,
    parse_hook: parse_plugin,
    is_executable: false,
};

const SOURCE: &str = include_str!("plugin.js");
/// The beginning of the file, in every version.
const FIRST_LINE: &str = "// haltline's plugin for OpenCode: ";
/// The beginning of the line with the command, which follows as a JSON list of words.
const COMMAND: &str = "const COMMAND = ";

fn plugin_text(hook: &Hook) -> String {
    let words: Vec<&String> = std::iter::once(&hook.command).chain(&hook.args).collect();
    let command = format!("{COMMAND}{}", serde_json::json!(words));
    let lines = SOURCE.lines().map(|line| if line.starts_with(COMMAND) { command.as_str() } else { line });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn parse_plugin(text: &str) -> Option<Hook> {
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
    fn the_command_is_parsed_back_unchanged() {
        for binary in ["/usr/bin/haltline", "/home/an a/it's\"\u{2028}\\/haltline"] {
            let hook = Hook::new(Client::OpenCode, binary, "/state of\nana", "/config.toml");
            let text = (PLUGIN.text)(&hook);
            assert_eq!((PLUGIN.parse_hook)(&text), Some(hook));
            assert_eq!(text.lines().count(), SOURCE.lines().count());
        }
        assert!((PLUGIN.parse_hook)(SOURCE).is_some());
        assert_eq!((PLUGIN.parse_hook)("export const mine = async () => ({})\n"), None);
        assert_eq!((PLUGIN.parse_hook)(&SOURCE.replace("const COMMAND", "const OTHER")), None);
    }
}
