//! What a call is about to do: its identity, its traits, and one line to show.

use std::borrow::Cow;

use crate::shell::wrapper;

use super::answer::one_line;
use super::arguments::{Node, Rules};
use super::tool::Kind;
use super::{Action, Digest, IDENTITY_VERSION, Words, command, path};

/// Members that hold a command line.
const COMMANDS: [&str; 5] = ["command", "cmd", "script", "commands", "input"];
/// Members that hold the folder it runs in.
const FOLDERS: [&str; 7] = ["workdir", "cwd", "dir_path", "directory", "working_directory", "workingDirectory", "dir"];
/// Members that hold the file a call is about, the most telling first.
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

/// Other members that hold a file a tool changes.
const TARGETS: [&str; 17] = [
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
    "targetPath",
    "output_path",
];
/// How many files one call is looked at for.
const TARGETS_MAX: usize = 64;

impl Action {
    /// Reads a call: `input` is JSON text, or plain text; `folder` is where the agent works.
    pub fn new(tool: &str, input: &str, folder: Option<&str>) -> Self {
        let kind = Kind::of(tool);
        let node = Node::parse(input);
        let mut action = Self {
            tool: tool.to_owned(),
            identity: Digest(0),
            command: None,
            path: None,
            targets: Vec::new(),
            is_spawn: kind == Kind::Spawn,
            is_write: kind == Kind::Edit && !only_views(node.as_ref()),
            is_search: kind == Kind::Search,
            is_wait: false,
            is_saving: kind == Kind::Edit && !only_views(node.as_ref()),
            words: Words::default(),
            shown: String::new(),
        };
        let mut hasher = xxhash_rust::xxh3::Xxh3::new();
        hasher.update(&IDENTITY_VERSION.to_be_bytes());
        hasher.update(tool.as_bytes());
        hasher.update(&[0]);
        let is_shell = kind == Kind::Shell || kind == Kind::ForeignShell;
        if let Some(line) = is_shell.then(|| command_line(input, node.as_ref())).flatten() {
            let (place, text) = action.read_command(kind, &line, node.as_ref(), folder);
            for part in [place.unwrap_or_default(), text] {
                hasher.update(&(part.len() as u64).to_be_bytes());
                hasher.update(part.as_bytes());
            }
            // A bare text and an object that says no more are one call.
            let told: Vec<&str> = [&COMMANDS[..], &FOLDERS, kind.left_out()].concat();
            let nothing = Node::Object(Vec::new());
            let rest = node.as_ref().filter(|node| matches!(node, Node::Object(_))).unwrap_or(&nothing);
            rest.write(&Rules { left_out: &told, folder }, &mut |bytes| hasher.update(bytes));
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
            action.describe(input, node.as_ref(), folder);
        }
        action.identity = Digest(hasher.digest());
        action.words = match (&action.command, &action.path) {
            (Some(command), _) => Words::of(command).with_files_of(command),
            (None, Some(path)) => Words::of(input).with_file(path),
            (None, None) => match node.as_ref().and_then(|node| node.first_text(&["url", "uri"])) {
                Some(address) => Words::of(input).with_file(&address),
                None => Words::of(input),
            },
        };
        action
    }

    /// Fills in what a command line says; yields its folder and its canonical text.
    fn read_command(
        &mut self,
        kind: Kind,
        line: &str,
        node: Option<&Node<'_>>,
        folder: Option<&str>,
    ) -> (Option<String>, String) {
        self.shown = one_line(line);
        self.command = Some(line.to_owned());
        let place = node.and_then(|node| node.first_text(&FOLDERS)).map(|place| path::resolved(&place, folder));
        let place = place.or_else(|| folder.map(str::to_owned));
        if kind == Kind::ForeignShell {
            let lower = line.to_ascii_lowercase();
            self.is_write =
                ["set-content", "add-content", "out-file", "new-item", "remove-item", "move-item", "copy-item"]
                    .iter()
                    .any(|verb| lower.contains(verb));
            return (place, line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        let reading = command::read(line, place.as_deref());
        self.is_write = reading.traits.is_write;
        self.is_search = reading.traits.is_search;
        self.is_wait = reading.traits.is_wait;
        self.is_saving = reading.traits.is_saving;
        (reading.folder, reading.canonical)
    }

    /// Fills in the path and the line to show of a call that is no command.
    fn describe(&mut self, input: &str, node: Option<&Node<'_>>, folder: Option<&str>) {
        let named = node.and_then(|node| node.first_text(&PATHS)).filter(|text| path::is_path(text));
        let patched = || patched_file(input, node);
        let named = named.map(Cow::into_owned).or_else(|| self.is_write.then(patched).flatten());
        self.path = named.as_deref().map(|named| path::resolved(named, folder));
        if self.is_write || self.tool.starts_with("mcp__") {
            self.targets = targets(input, node);
        }
        let telling =
            ["pattern", "query", "url", "subject", "description", "prompt", "task_id", "session_id", "id", "title"];
        let about = match (&named, node) {
            (Some(named), _) => {
                let shown = path::shown(named, folder);
                let pattern = node.and_then(|node| node.first_text(&["pattern", "query"]));
                pattern.map_or(shown.clone(), |pattern| format!("{pattern} {shown}"))
            }
            (None, Some(node @ Node::Object(_))) => node.first_text(&telling).unwrap_or_default().into_owned(),
            (None, _) => input.to_owned(),
        };
        self.shown = one_line(&format!("{} {about}", self.tool));
    }
}

/// The command line of a call: a text, or words of which the first may be a shell.
fn command_line<'a>(input: &'a str, node: Option<&Node<'a>>) -> Option<Cow<'a, str>> {
    let said = match node {
        None | Some(Node::Bare(_)) => return Some(Cow::Borrowed(input)),
        Some(text @ Node::Text(_)) => return text.whole_text(),
        Some(words @ Node::Array(_)) => words,
        Some(object @ Node::Object(_)) => COMMANDS.iter().find_map(|name| object.get(name))?,
    };
    let Node::Array(elements) = said else { return said.whole_text() };
    let words: Vec<String> =
        elements.iter().map(|element| element.whole_text().map(Cow::into_owned)).collect::<Option<_>>()?;
    let is_script =
        words.len() == 3 && wrapper::is_shell(&words[0]) && matches!(words[1].as_str(), "-c" | "-lc" | "-ic" | "-lic");
    Some(Cow::Owned(if is_script { words[2].clone() } else { wrapper::quoted(&words) }))
}

/// Plain text: line endings and blanks at the ends of lines say nothing.
fn plain_text(kind: Kind, text: &str) -> String {
    if kind == Kind::Query {
        return query(text);
    }
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// A query: outside quotes blanks and capitals say nothing, and neither does a semicolon at the end.
fn query(text: &str) -> String {
    let mut canonical = String::with_capacity(text.len());
    let mut quote = None;
    for letter in text.trim().chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if matches!(letter, '\'' | '"' | '`') => quote = Some(letter),
            None if letter.is_whitespace() => {
                if !canonical.ends_with(' ') {
                    canonical.push(' ');
                }
                continue;
            }
            None => {}
        }
        canonical.push(if quote.is_none() { letter.to_ascii_lowercase() } else { letter });
    }
    canonical.truncate(canonical.trim_end_matches([';', ' ']).len());
    canonical
}

/// An editor that was only asked to show something.
fn only_views(node: Option<&Node<'_>>) -> bool {
    let asked = node.and_then(|node| node.first_text(&["command"]));
    asked.is_some_and(|asked| asked == "view" || asked == "undo_edit")
}

/// Every file that a call names, as it names it.
fn targets(input: &str, node: Option<&Node<'_>>) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(node) = node {
        gather(node, &mut found);
    }
    found.extend(patched_files(&patch(input, node)).map(str::to_owned));
    found.truncate(TARGETS_MAX);
    found
}

/// The paths among the members of an object, and of the objects in its lists: several edits are one call.
fn gather(node: &Node<'_>, found: &mut Vec<String>) {
    let Node::Object(members) = node else { return };
    for (name, member) in members.iter().filter(|(name, _)| path::is_path_field(name) || TARGETS.contains(&&**name)) {
        let texts: Vec<&Node<'_>> = match member {
            Node::Array(elements) => elements.iter().collect(),
            Node::Object(_) | Node::Text(_) | Node::Bare(_) => vec![member],
        };
        let is_folder = FOLDERS.contains(&&**name);
        for text in texts.into_iter().take(TARGETS_MAX) {
            let said = text.text().map(|said| said.strip_prefix("file://").unwrap_or(&said).to_owned());
            match said.filter(|said| path::is_path(said) && !is_folder) {
                Some(said) => found.push(said),
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

/// The files that a patch names.
fn patched_files(patch: &str) -> impl Iterator<Item = &str> {
    let lines = patch.lines().filter(|line| line.starts_with("*** "));
    lines.filter_map(|line| line.split_once(" File: ").or(line.split_once(" to: ")).map(|(_, file)| file.trim()))
}

/// The first file that a patch names.
fn patched_file(input: &str, node: Option<&Node<'_>>) -> Option<String> {
    let patch = patch(input, node);
    let first = patched_files(&patch).next()?;
    Some(first.to_owned())
}
