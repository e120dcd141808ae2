//! What a call is about to do: its identity, its traits, and one line to show.

use std::borrow::Cow;
use std::sync::Arc;

use crate::shell::{Script, wrapper};

use super::arguments::{Node, Rules};
use super::call_result::one_line;
use super::tool::ToolKind;
use super::{Action, Digest, IDENTITY_VERSION, Looks, WordSet, argument_shape, command, looks, path};

/// JSON members that hold a command line.
const COMMANDS: [&str; 5] = ["command", "cmd", "script", "commands", "input"];
/// JSON members that hold the folder in which the command runs.
const FOLDERS: [&str; 7] = ["workdir", "cwd", "dir_path", "directory", "working_directory", "workingDirectory", "dir"];
/// JSON members that hold the file a call is about, the most specific first.
const PATHS: [&str; 12] = [
    "file_path",
    "filePath",
    "notebook_path",
    "target_file",
    "absolute_path",
    "path",
    "filename",
    "file",
    "filepath",
    "dir_path",
    "directory",
    "dir",
];

/// Other JSON members that hold a file a tool changes.
const TARGETS: [&str; 23] = [
    "relative_path",
    "relativePath",
    "pathInProject",
    "source",
    "destination",
    "src",
    "dst",
    "from",
    "to",
    "new_path",
    "newPath",
    "old_path",
    "oldPath",
    "edits",
    "uri",
    "target",
    "targetPath",
    "target_path",
    "destination_path",
    "destinationPath",
    "source_path",
    "output_path",
    "dest",
];
/// The maximum number of files collected from one call.
const TARGETS_MAX: usize = 64;

impl Action {
    /// Reads a call: `input` is JSON text or plain text; `folder` is the agent's working folder.
    pub fn new(tool: &str, input: &str, folder: Option<&str>) -> Self {
        let kind = ToolKind::from_name(tool);
        let node = Node::parse(input);
        let mut action = Self {
            tool: tool.to_owned(),
            identity: Digest(0),
            command: None,
            script: None,
            path: None,
            targets: Vec::new(),
            is_spawn: kind == ToolKind::Spawn,
            is_write: kind == ToolKind::Edit && !only_views(node.as_ref()),
            is_search: kind == ToolKind::Search,
            is_wait: false,
            looks: Looks::default(),
            printed: Vec::new(),
            is_saving: kind == ToolKind::Edit && !only_views(node.as_ref()),
            words: WordSet::default(),
            shown: String::new(),
        };
        let mut hasher = xxhash_rust::xxh3::Xxh3::new();
        hasher.update(&IDENTITY_VERSION.to_be_bytes());
        hasher.update(tool.as_bytes());
        hasher.update(&[0]);
        let is_shell = kind == ToolKind::Shell || kind == ToolKind::ForeignShell;
        if let Some(line) = is_shell.then(|| command_line(input, node.as_ref())).flatten() {
            let (working_folder, text) = action.read_command(kind, &line, node.as_ref(), folder);
            for part in [working_folder.unwrap_or_default(), text] {
                hasher.update(&(part.len() as u64).to_be_bytes());
                hasher.update(part.as_bytes());
            }
            // A bare text and an object that contains nothing else are the same call.
            let excluded: Vec<&str> = [&COMMANDS[..], &FOLDERS, kind.left_out()].concat();
            let nothing = Node::Object(Vec::new());
            let rest = node.as_ref().filter(|node| matches!(node, Node::Object(_))).unwrap_or(&nothing);
            rest.write(&Rules { left_out: &excluded, folder }, &mut |bytes| hasher.update(bytes));
        } else {
            match &node {
                Some(node @ (Node::Object(_) | Node::Array(_))) => {
                    node.write(&Rules { left_out: kind.left_out(), folder }, &mut |bytes| hasher.update(bytes));
                }
                Some(text @ (Node::Text(_) | Node::Bare(_))) => {
                    let plain = text.text().unwrap_or(Cow::Borrowed(input));
                    hasher.update(plain_text(kind, &plain).as_bytes());
                }
                None => hasher.update(plain_text(kind, input).as_bytes()),
            }
            action.describe(kind, input, node.as_ref(), folder);
            action.looks = looks::looks_of_tool(kind, tool, action.path.as_deref(), input);
        }
        action.identity = Digest(hasher.digest());
        action.words = match (&action.command, &action.path) {
            (Some(command), _) => WordSet::from_text(command).with_files_in(command),
            (None, Some(path)) => WordSet::from_text(input).with_file(path),
            (None, None) => match node.as_ref().and_then(|node| node.first_text(&["url", "uri"])) {
                Some(address) => WordSet::from_text(input).with_file(&address),
                None => WordSet::from_text(input),
            },
        };
        action
    }

    /// Fills in the traits of a command line; returns its folder and its canonical text.
    fn read_command(
        &mut self,
        kind: ToolKind,
        line: &str,
        node: Option<&Node<'_>>,
        folder: Option<&str>,
    ) -> (Option<String>, String) {
        self.shown = one_line(line);
        self.command = Some(line.to_owned());
        let working_folder = node
            .and_then(|node| node.first_text(&FOLDERS))
            .map(|working_folder| path::resolved(&working_folder, folder));
        let working_folder = working_folder.or_else(|| folder.map(str::to_owned));
        if kind == ToolKind::ForeignShell {
            let lower = line.to_ascii_lowercase();
            self.is_write =
                ["set-content", "add-content", "out-file", "new-item", "remove-item", "move-item", "copy-item"]
                    .iter()
                    .any(|verb| lower.contains(verb));
            self.script = Some(Arc::new(Script::parse(line)));
            return (working_folder, line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        let parsed = command::read(line, working_folder.as_deref());
        self.is_write = parsed.traits.is_write;
        self.is_search = parsed.traits.is_search;
        self.is_wait = parsed.traits.is_wait;
        self.is_saving = parsed.traits.is_saving;
        self.looks = parsed.traits.looks;
        self.printed = parsed.printed;
        self.script = Some(Arc::new(parsed.script));
        (parsed.folder, parsed.canonical)
    }

    /// Fills in the path and the line to show for a call that is not a command.
    fn describe(&mut self, kind: ToolKind, input: &str, node: Option<&Node<'_>>, folder: Option<&str>) {
        let named = node.and_then(|node| node.first_text(&PATHS)).filter(|text| path::is_path(text));
        let patched = || patched_file(input, node);
        let named = named.map(Cow::into_owned).or_else(|| self.is_write.then(patched).flatten());
        self.path = named.as_deref().map(|named| path::resolved(named, folder));
        if self.is_write || self.tool.starts_with("mcp__") {
            self.targets = targets(input, node);
        }
        if kind == ToolKind::Other {
            self.script = node.and_then(argument_shape::script).map(Arc::new);
        }
        let descriptive_members =
            ["pattern", "query", "url", "subject", "description", "prompt", "task_id", "session_id", "id", "title"];
        let about = match (&named, node) {
            (Some(named), _) => {
                let shown = path::shown(named, folder);
                let pattern = node.and_then(|node| node.first_text(&["pattern", "query"]));
                pattern.map_or(shown.clone(), |pattern| format!("{pattern} {shown}"))
            }
            (None, Some(node @ Node::Object(_))) => {
                node.first_text(&descriptive_members).unwrap_or_default().into_owned()
            }
            (None, _) => input.to_owned(),
        };
        self.shown = one_line(&format!("{} {about}", self.tool));
    }
}

/// Returns the command line of a call: a text, or a list of words whose first may be a shell.
fn command_line<'a>(input: &'a str, node: Option<&Node<'a>>) -> Option<Cow<'a, str>> {
    let value = match node {
        None | Some(Node::Bare(_)) => return Some(Cow::Borrowed(input)),
        Some(text @ Node::Text(_)) => return text.whole_text(),
        Some(words @ Node::Array(_)) => words,
        Some(object @ Node::Object(_)) => COMMANDS.iter().find_map(|name| object.get(name))?,
    };
    let Node::Array(elements) = value else { return value.whole_text() };
    let words: Vec<String> =
        elements.iter().map(|element| element.whole_text().map(Cow::into_owned)).collect::<Option<_>>()?;
    let is_script =
        words.len() == 3 && wrapper::is_shell(&words[0]) && matches!(words[1].as_str(), "-c" | "-lc" | "-ic" | "-lic");
    Some(Cow::Owned(if is_script { words[2].clone() } else { wrapper::quoted(&words) }))
}

/// Plain text without differences that do not matter: line endings and blanks at the ends of lines.
fn plain_text(kind: ToolKind, text: &str) -> String {
    if kind == ToolKind::Query {
        return query(text);
    }
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// A query without differences that do not matter: blanks and case outside quotes, and a semicolon at the end.
fn query(text: &str) -> String {
    let mut canonical = String::with_capacity(text.len());
    let mut quote = None;
    for character in text.trim().chars() {
        match quote {
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if matches!(character, '\'' | '"' | '`') => quote = Some(character),
            None if character.is_whitespace() => {
                if !canonical.ends_with(' ') {
                    canonical.push(' ');
                }
                continue;
            }
            None => {}
        }
        canonical.push(if quote.is_none() { character.to_ascii_lowercase() } else { character });
    }
    canonical.truncate(canonical.trim_end_matches([';', ' ']).len());
    canonical
}

/// True for an editor call that only shows something.
fn only_views(node: Option<&Node<'_>>) -> bool {
    let subcommand = node.and_then(|node| node.first_text(&["command"]));
    subcommand.is_some_and(|subcommand| subcommand == "view" || subcommand == "undo_edit")
}

/// Every file that a call names, spelled as in the call.
fn targets(input: &str, node: Option<&Node<'_>>) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(node) = node {
        gather(node, &mut found);
    }
    found.extend(patched_files(&patch(input, node)).map(str::to_owned));
    found.truncate(TARGETS_MAX);
    found
}

/// Collects the paths among the members of an object and of the objects in its lists: one call may hold several edits.
fn gather(node: &Node<'_>, found: &mut Vec<String>) {
    let Node::Object(members) = node else { return };
    for (name, member) in members.iter().filter(|(name, _)| path::is_path_field(name) || TARGETS.contains(&&**name)) {
        let texts: Vec<&Node<'_>> = match member {
            Node::Array(elements) => elements.iter().collect(),
            Node::Object(_) | Node::Text(_) | Node::Bare(_) => vec![member],
        };
        let is_folder = FOLDERS.contains(&&**name);
        for text in texts.into_iter().take(TARGETS_MAX) {
            let named = text.text().map(|named| named.strip_prefix("file://").unwrap_or(&named).to_owned());
            match named.filter(|named| path::is_path(named) && !is_folder) {
                Some(named) => found.push(named),
                None => gather(text, found),
            }
        }
    }
}

/// The text of a call that may be a patch.
fn patch<'a>(input: &'a str, node: Option<&Node<'a>>) -> Cow<'a, str> {
    let text = node.and_then(|node| node.first_text(&["input", "patch", "command", "diff", "patchText"]));
    text.unwrap_or(Cow::Borrowed(input))
}

fn patched_files(patch: &str) -> impl Iterator<Item = &str> {
    let lines = patch.lines().filter(|line| line.starts_with("*** "));
    lines.filter_map(|line| line.split_once(" File: ").or(line.split_once(" to: ")).map(|(_, file)| file.trim()))
}

fn patched_file(input: &str, node: Option<&Node<'_>>) -> Option<String> {
    let patch = patch(input, node);
    let first = patched_files(&patch).next()?;
    Some(first.to_owned())
}
