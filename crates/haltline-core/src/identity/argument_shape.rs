//! Recognises shells and file tools of MCP servers by their arguments, whatever their names are.

use super::Action;
use super::arguments::Node;
use super::tool::ToolKind;
use crate::shell::{Script, wrapper};

/// JSON members that hold a command line.
const COMMANDS: [&str; 7] = ["command", "cmd", "script", "commands", "shell_command", "commandLine", "command_line"];
/// JSON members that hold code of a language that the call does not name.
const CODE: [&str; 3] = ["code", "source_code", "snippet"];
/// JSON members that hold a prompt, which a client's own tool may send to the session later.
const PROMPTS: [&str; 3] = ["prompt", "message", "text"];
/// Beginnings of the names of tools that only look.
const READERS: [&str; 16] = [
    "read", "get", "list", "view", "search", "find", "stat", "open", "fetch", "show", "describe", "query", "cat",
    "head", "tree", "exists",
];

/// What the arguments of a tool with an unknown name would run, if they hold a command or code.
pub(super) fn script(node: &Node<'_>) -> Option<Script> {
    let Node::Object(_) = node else { return None };
    let mut script: Option<Script> = None;
    let mut add = |more: Script| match &mut script {
        Some(script) => script.add(more),
        None => script = Some(more),
    };
    for value in COMMANDS.iter().filter_map(|name| node.get(name)) {
        let words: Option<Vec<String>> = match value {
            Node::Array(elements) => elements.iter().map(|element| Some(element.whole_text()?.into_owned())).collect(),
            Node::Object(_) | Node::Text(_) | Node::Bare(_) => None,
        };
        // The arguments may be a list of their own: {"command": "git", "args": ["push"]}.
        let more: Vec<String> = match ["args", "arguments"].iter().find_map(|name| node.get(name)) {
            Some(Node::Array(elements)) => {
                elements.iter().filter_map(|element| Some(element.whole_text()?.into_owned())).collect()
            }
            Some(Node::Object(_) | Node::Text(_) | Node::Bare(_)) | None => Vec::new(),
        };
        match words {
            Some(words) => {
                add(Script::parse(&wrapper::quoted(&words)));
                // A list may also hold one command each.
                add(Script::parse(&words.join("\n")));
            }
            None => {
                if let Some(text) = value.whole_text() {
                    let rest = if more.is_empty() { String::new() } else { format!(" {}", wrapper::quoted(&more)) };
                    add(Script::parse(&format!("{text}{rest}")));
                }
            }
        }
    }
    for text in CODE.iter().filter_map(|name| node.get(name)).filter_map(|value| value.whole_text()) {
        // It may be a shell's code or another language's: both readings count.
        add(Script::parse(&text));
        add(Script::parse(&wrapper::quoted(&["python".to_owned(), "-c".to_owned(), text.into_owned()])));
    }
    // A prompt that is a command to haltline counts as that command: `/haltline resume`.
    for text in PROMPTS.iter().filter_map(|name| node.get(name)).filter_map(|value| value.whole_text()) {
        let line = text.trim().trim_start_matches('/');
        if line.split_whitespace().next() == Some("haltline") {
            add(Script::parse(line));
        }
    }
    script
}

impl Action {
    /// True if a tool of this name would be the same kind of tool: any shell for `Bash`, any file tool that may write
    /// for `Edit`. A tool of an MCP server is known by its arguments.
    pub fn is_kind_of(&self, tool: &str) -> bool {
        match ToolKind::from_name(tool) {
            ToolKind::Shell => self.script.is_some(),
            ToolKind::Edit => self.tool.starts_with("mcp__") && self.may_write(),
            ToolKind::ForeignShell
            | ToolKind::Poll
            | ToolKind::Search
            | ToolKind::Spawn
            | ToolKind::Query
            | ToolKind::Other => false,
        }
    }

    /// True if the call names files and may change them: an editor, or a tool of an MCP server that is not a reader.
    pub fn may_write(&self) -> bool {
        let last = self.tool.rsplit("__").next().unwrap_or(&self.tool).to_ascii_lowercase();
        let only_reads = || READERS.iter().any(|reader| last.starts_with(reader));
        self.is_write && self.command.is_none() || !self.targets.is_empty() && !only_reads()
    }
}
