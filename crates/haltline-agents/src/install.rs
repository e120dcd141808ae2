//! Adds haltline's entries to a client's settings and removes them again, as text edits (X2). What differs between
//! clients is data: a [`Layout`].
//!
//! The settings are the user's file: order, indentation, comments, line ends and everything else in it stay as they
//! are, byte for byte. Nothing here touches a disk; the binary reads, shows and writes the files.

mod comments;
mod edit;
mod json_text;
mod layout;
mod slash_command;
mod style;

use std::collections::BTreeMap;

use serde_json::json;

use crate::Client;
use comments::comments;
pub use comments::without_comments;
use edit::{Edit, apply, removal_edits};
use json_text::{Member, Node, line_number, parse};
pub use layout::{
    CommandStyle, DisableSetting, EventGroup, Form, GeneratedFile, Layout, Listener, OwnFile, Relocation, Settings,
    Spelling, is_false_in_toml,
};
pub use slash_command::{CIRCUIT_STATUS, HALTLINE_COMMAND, shell_word};
use style::{ChildPlacement, Style};

/// How often the client runs the status line command again, in seconds.
const STATUS_LINE_REFRESH_S: u32 = 2;

/// Why haltline cannot change the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// The text is not JSON, comments and trailing commas aside.
    #[error("line {line}, column {column}: not JSON ({reason})")]
    NotJson { line: usize, column: usize, reason: String },
    /// A value has another type than the client's settings format demands.
    #[error("line {line}: {what} is not {expected}")]
    Shape {
        line: usize,
        /// The value, as a path of keys.
        what: String,
        expected: &'static str,
    },
    /// The whole file must be haltline's, and somebody else wrote it.
    #[error("this is not haltline's {title}: move it away, or run haltline from it")]
    Foreign {
        /// What haltline's file is called.
        title: &'static str,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub command: String,
    pub args: Vec<String>,
}

impl Hook {
    /// haltline's hook for a client. Some clients trust a hook by its exact text, so haltline never changes it (X2).
    pub fn new(client: Client, binary: &str, state: &str, config: &str) -> Self {
        let args = ["hook", client.cli_name(), "--state", state, "--config", config];
        Self { command: binary.to_owned(), args: args.map(str::to_owned).to_vec() }
    }

    /// True if this is haltline's hook for the client: it runs a binary called `haltline` or the one at `own_binary`.
    /// Who wrote the entry, and with which paths, does not matter.
    pub fn is_ours(&self, client: Client, own_binary: &str) -> bool {
        is_haltline(&self.command, own_binary)
            && self.args.starts_with(&["hook".to_owned(), client.cli_name().to_owned()])
    }

    pub fn option(&self, option: &str) -> Option<&str> {
        let index = self.args.iter().position(|argument| argument == option)?;
        self.args.get(index + 1).map(String::as_str)
    }

    /// The same hook with another value of `option`, if it has that option.
    pub fn with_option(&self, option: &str, value: &str) -> Self {
        let mut hook = self.clone();
        let index = hook.args.iter().position(|argument| argument == option);
        if let Some(argument) = index.and_then(|index| hook.args.get_mut(index + 1)) {
            value.clone_into(argument);
        }
        hook
    }
}

fn is_haltline(command: &str, own_binary: &str) -> bool {
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
    command == own_binary || name.strip_suffix(".exe").unwrap_or(name) == "haltline"
}

#[derive(Clone, Debug)]
pub struct Entries {
    pub client: Client,
    /// The hook for every event.
    pub hook: Hook,
    /// The shell command of the status line, if one is wanted.
    pub status_line: Option<String>,
}

/// What each container was before haltline added something to it: absent (`None`), or empty with this text between its
/// brackets. Keys are `hooks`, `hooks/EVENT`, `version`, and the empty string for the whole file.
pub type InstallTrace = BTreeMap<String, Option<String>>;

/// The trace to assume when nobody recorded one: haltline created every container that holds nothing but its own
/// entries.
pub fn assumed_trace(client: Client) -> InstallTrace {
    let paths = client.protocol().layout.events().map(event_path).chain(["hooks".to_owned()]);
    paths.map(|path| (path, None)).collect()
}

/// Settings with haltline's entries, and what changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The whole file.
    pub text: String,
    /// What [`remove`] needs to leave nothing behind.
    pub trace: InstallTrace,
    /// Events that had no hook of haltline's.
    pub added: Vec<&'static str>,
    /// Hooks of haltline's with other paths, as they were before.
    pub replaced: Vec<Hook>,
    pub status_line: StatusLine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusLine {
    /// No status line was requested.
    Untouched,
    /// haltline set it.
    Added,
    /// It was already haltline's.
    Present,
    /// The user has another one, and it stays.
    Foreign,
}

/// Adds haltline's entries to settings; `text` is `None` if there is no file. Installing twice changes nothing.
pub fn install(text: Option<&str>, entries: &Entries) -> Result<Plan, InstallError> {
    let (own_binary, client) = (entries.hook.command.as_str(), entries.client);
    let layout = &client.protocol().layout;
    if let Form::GeneratedFile(file) = layout.form {
        return install_generated_file(text, entries, &file);
    }
    let mut trace = InstallTrace::new();
    let before = match text.filter(|text| !text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty()) {
        // Keep one hook of haltline's per event, for all calls; remove those of events that haltline does not handle.
        Some(text) => {
            let mut seen = Vec::new();
            let without_extra = remove_handlers(text, layout, None, &mut |found| {
                let is_ours = found.hook.is_ours(client, own_binary);
                let is_wanted = layout.listens_to(&found.event) && !found.is_restricted;
                let is_kept = is_ours && is_wanted && !seen.contains(&found.event);
                if is_kept {
                    seen.push(found.event.clone());
                }
                is_ours && !is_kept
            })?;
            without_extra.unwrap_or_else(|| text.to_owned())
        }
        None => {
            trace.insert(String::new(), None);
            "{}\n".to_owned()
        }
    };
    let root = parse(&before)?;
    let style = Style::detect(&before, &root);
    let mut plan = Plan {
        text: String::new(),
        trace,
        added: Vec::new(),
        replaced: Vec::new(),
        status_line: StatusLine::Untouched,
    };
    let mut edits = Vec::new();
    let placement = ChildPlacement::in_container(&before, &root, &style);
    let mut new_members = Vec::new();
    if let (Form::Flat { version }, None) = (layout.form, root.member("version")) {
        new_members.push(style.member("version", &json!(version)));
        plan.trace.insert("version".to_owned(), None);
    }
    match root.member("hooks") {
        Some(hooks) => add_to_hooks(&before, &hooks.value, entries, &style, &mut plan, &mut edits)?,
        None => {
            new_members.push(all_hooks(&entries.hook, layout, &style, &placement));
            plan.added.extend(layout.events());
            plan.trace.insert("hooks".to_owned(), None);
            plan.trace.extend(layout.events().map(|event| (event_path(event), None)));
        }
    }
    if let Some(command) = &entries.status_line {
        plan.status_line = match root.member("statusLine") {
            Some(member) if is_our_status_line(&member.value, own_binary) => StatusLine::Present,
            Some(_) => StatusLine::Foreign,
            None => {
                // Without the interval an OPEN circuit would stay on screen until the next event.
                let value = json!({
                    "type": "command",
                    "command": command,
                    "padding": 0,
                    "refreshInterval": STATUS_LINE_REFRESH_S,
                });
                new_members.push(style.member("statusLine", &value));
                StatusLine::Added
            }
        };
    }
    if !new_members.is_empty() {
        record_empty_container(&before, &root, "", &mut plan.trace);
        edits.push(placement.insert(&before, &root, &new_members, &style));
    }
    plan.text = apply(&before, edits);
    Ok(plan)
}

/// Installs into a client whose whole file is haltline's.
fn install_generated_file(text: Option<&str>, entries: &Entries, file: &GeneratedFile) -> Result<Plan, InstallError> {
    let mut plan = Plan {
        text: (file.text)(&entries.hook),
        trace: InstallTrace::from([(String::new(), None)]),
        added: Vec::new(),
        replaced: Vec::new(),
        status_line: StatusLine::Untouched,
    };
    let found = text.map(|text| (file.parse_hook)(text).ok_or(InstallError::Foreign { title: file.title }));
    match found.transpose()? {
        Some(found) if found == entries.hook => {}
        Some(found) => plan.replaced.push(found),
        None => plan.added.extend(entries.client.protocol().layout.events()),
    }
    Ok(plan)
}

fn event_path(event: &str) -> String {
    format!("hooks/{event}")
}

/// Records the text between the brackets of an empty container.
fn record_empty_container(text: &str, container: &Node, path: &str, trace: &mut InstallTrace) {
    if container.children().is_empty() {
        let inner = &text[container.span.start + 1..container.span.end - 1];
        trace.entry(path.to_owned()).or_insert_with(|| Some(inner.to_owned()));
    }
}

fn all_hooks(hook: &Hook, layout: &Layout, style: &Style, placement: &ChildPlacement) -> String {
    let member = |listener: Listener| style.member(listener.event, &json!([layout.event_entry(hook, listener)]));
    let members: Vec<String> = layout.listeners().map(member).collect();
    style.member_text("hooks", &placement.block(&members, style))
}

fn add_to_hooks(
    text: &str,
    hooks: &Node,
    entries: &Entries,
    style: &Style,
    plan: &mut Plan,
    edits: &mut Vec<Edit>,
) -> Result<(), InstallError> {
    let shape = |node: &Node, what: &str, expected| InstallError::Shape {
        line: line_number(text, node.span.start),
        what: what.to_owned(),
        expected,
    };
    if hooks.members().is_none() {
        return Err(shape(hooks, "hooks", "an object"));
    }
    let layout = &entries.client.protocol().layout;
    let mut new_members = Vec::new();
    for listener in layout.listeners() {
        let event = listener.event;
        let Some(member) = hooks.member(event) else {
            new_members.push(style.member(event, &json!([layout.event_entry(&entries.hook, listener)])));
            plan.added.push(event);
            plan.trace.insert(event_path(event), None);
            continue;
        };
        let array = &member.value;
        let Some(all) = array.elements() else { return Err(shape(array, &format!("hooks.{event}"), "an array")) };
        let ours = all.iter().flat_map(|entry| layout.handlers(entry)).find_map(|node| {
            let hook = layout.parse_handler(node).filter(|hook| hook.is_ours(entries.client, &entries.hook.command))?;
            Some((node, hook))
        });
        match ours {
            Some((_, found)) if found == entries.hook => {}
            Some((node, found)) => {
                // Replace only the command: a timeout or a message that the user added stays.
                for (key, value) in layout.command_members(&entries.hook) {
                    let member = node.member(key).expect("a hook has all its keys, or it is none");
                    edits.push(Edit { span: member.value.span.clone(), replacement: style.inline(&value) });
                }
                plan.replaced.push(found);
            }
            None => {
                record_empty_container(text, array, &event_path(event), &mut plan.trace);
                let placement = ChildPlacement::in_container(text, array, style);
                edits.push(placement.insert(
                    text,
                    array,
                    &[style.inline(&layout.event_entry(&entries.hook, listener))],
                    style,
                ));
                plan.added.push(event);
            }
        }
    }
    if !new_members.is_empty() {
        record_empty_container(text, hooks, "hooks", &mut plan.trace);
        edits.push(ChildPlacement::in_container(text, hooks, style).insert(text, hooks, &new_members, style));
    }
    Ok(())
}

fn is_our_status_line(value: &Node, own_binary: &str) -> bool {
    let Some(command) = value.member("command").and_then(|member| member.value.text()) else { return false };
    let Some((program, rest)) = slash_command::first_word(command) else { return false };
    is_haltline(&program, own_binary) && rest.trim_start().starts_with("statusline")
}

/// Removes haltline's entries; returns `None` if there are none. With the trace of the installation, nothing else is
/// left behind, and containers that the user had stay. Without a trace, containers that become empty are removed as
/// well. A file that is haltline's as a whole becomes empty.
pub fn remove(
    text: &str,
    client: Client,
    own_binary: &str,
    trace: Option<&InstallTrace>,
) -> Result<Option<String>, InstallError> {
    let layout = &client.protocol().layout;
    if let Form::GeneratedFile(file) = layout.form {
        return Ok((file.parse_hook)(text).map(|_ours| String::new()));
    }
    let without_hooks = remove_handlers(text, layout, trace, &mut |found| found.hook.is_ours(client, own_binary))?;
    let current = without_hooks.as_deref().unwrap_or(text);
    let root = parse(current)?;
    let Some(members) = root.members() else { return Ok(without_hooks) };
    let was_added = |path: &str| trace.is_some_and(|trace| trace.contains_key(path));
    // Hooks that the user has added since then need the version as much as haltline's did.
    let has_hooks_since =
        was_added("hooks") && root.member("hooks").is_some_and(|hooks| !hooks.value.children().is_empty());
    let is_gone = |member: &Member| match member.key.as_str() {
        "statusLine" => is_our_status_line(&member.value, own_binary),
        "version" => without_hooks.is_some() && was_added("version") && !has_hooks_since,
        _theirs => false,
    };
    let gone: Vec<bool> = members.iter().map(is_gone).collect();
    if !gone.contains(&true) {
        return Ok(without_hooks);
    }
    Ok(Some(apply(current, child_removal_edits(current, &root, &gone, trace, ""))))
}

/// The edits that remove some children of a container. If none is left, the text it had between its brackets returns.
fn child_removal_edits(
    text: &str,
    container: &Node,
    gone: &[bool],
    trace: Option<&InstallTrace>,
    path: &str,
) -> Vec<Edit> {
    if gone.iter().all(|&is_gone| is_gone) {
        let inner = trace.and_then(|trace| trace.get(path)).cloned().flatten();
        let span = container.span.start + 1..container.span.end - 1;
        let replacement = emptied(text, container, inner.as_deref());
        return vec![Edit { span, replacement }];
    }
    removal_edits(text, &container.children(), gone)
}

/// What stays between the brackets of a container that loses all its children: the text it had before the installation,
/// or, if somebody has written other comments since, what is there now.
fn emptied(text: &str, container: &Node, inner: Option<&str>) -> String {
    let children = container.children();
    let (Some(first), Some(last)) = (children.first(), children.last()) else { return String::new() };
    let before = text[container.span.start + 1..first.start].trim_end();
    let after = &text[last.end..container.span.end - 1];
    let inner = inner.unwrap_or_default();
    let is_as_before = before == inner.trim_end() && comments(after).is_empty();
    if is_as_before || (comments(before).is_empty() && comments(after).is_empty()) {
        return inner.to_owned();
    }
    let line_end = if after.starts_with(['\n', '\r']) { "" } else { "\n" };
    format!("{before}{line_end}{after}")
}

/// True if a container that has become empty is removed as well.
fn is_removed_when_empty(trace: Option<&InstallTrace>, path: &str) -> bool {
    trace.is_none_or(|trace| trace.get(path) == Some(&None))
}

/// Removes the handlers for which `should_remove` is true, and the containers that held nothing else.
fn remove_handlers(
    text: &str,
    layout: &Layout,
    trace: Option<&InstallTrace>,
    should_remove: &mut dyn FnMut(&InstalledHook) -> bool,
) -> Result<Option<String>, InstallError> {
    let root = parse(text)?;
    let Some(hooks) = root.member("hooks") else { return Ok(None) };
    let Some(members) = hooks.value.members() else { return Ok(None) };
    let mut edits = Vec::new();
    let mut gone_events = vec![false; members.len()];
    for (index, member) in members.iter().enumerate() {
        let Some(groups) = member.value.elements() else { continue };
        let mut gone_groups = vec![false; groups.len()];
        for (group, is_gone_group) in groups.iter().zip(&mut gone_groups) {
            let all = layout.handlers(group);
            let gone: Vec<bool> = all
                .iter()
                .map(|handler| {
                    parse_installed_hook(text, layout, &member.key, group, handler)
                        .is_some_and(|found| should_remove(&found))
                })
                .collect();
            *is_gone_group = !gone.is_empty() && gone.iter().all(|&is_gone| is_gone);
            if !*is_gone_group && gone.contains(&true) {
                let spans: Vec<_> = all.iter().map(|node| node.span.clone()).collect();
                edits.extend(removal_edits(text, &spans, &gone));
            }
        }
        if !gone_groups.contains(&true) {
            continue;
        }
        let path = event_path(&member.key);
        gone_events[index] = gone_groups.iter().all(|&is_gone| is_gone) && is_removed_when_empty(trace, &path);
        if !gone_events[index] {
            edits.extend(child_removal_edits(text, &member.value, &gone_groups, trace, &path));
        }
    }
    if gone_events.iter().all(|&is_gone| is_gone) && !gone_events.is_empty() && is_removed_when_empty(trace, "hooks") {
        let members = root.members().unwrap_or_default();
        let gone: Vec<bool> = members.iter().map(|member| member.span == hooks.span).collect();
        edits = child_removal_edits(text, &root, &gone, trace, "");
    } else if gone_events.contains(&true) {
        edits.extend(child_removal_edits(text, &hooks.value, &gone_events, trace, "hooks"));
    }
    Ok((!edits.is_empty()).then(|| apply(text, edits)))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledHook {
    pub event: String,
    pub hook: Hook,
    /// The client's name for the hook: a name that somebody gave it, or else its command.
    pub name: String,
    /// True if the hook sees only some calls of the event, or cannot deny them.
    pub is_restricted: bool,
    /// True if the client waits less than a fifth of the time that haltline's installation sets.
    pub is_hurried: bool,
}

impl InstalledHook {
    /// The hook in a file that is haltline's as a whole.
    pub fn in_generated_file(event: &str, hook: Hook) -> Self {
        Self { event: event.to_owned(), hook, name: String::new(), is_restricted: false, is_hurried: false }
    }
}

fn parse_installed_hook(
    source: &str,
    layout: &Layout,
    event: &str,
    group: &Node,
    handler: &Node,
) -> Option<InstalledHook> {
    let matcher = group.member("matcher").and_then(|member| member.value.text()).unwrap_or_default();
    let is_restricted = !matcher.is_empty() && matcher != "*"
        || ["if", "async", "asyncRewake"].iter().any(|key| handler.member(key).is_some())
        || handler.member("type").is_some_and(|member| member.value.text().is_some_and(|kind| kind != "command"));
    let timeout = handler
        .member(layout.spelling.timeout)
        .and_then(|member| source[member.value.span.clone()].parse::<f64>().ok());
    let expected = layout.listeners().find(|listener| listener.event == event).map(|listener| listener.timeout);
    let is_hurried = timeout.zip(expected).is_some_and(|(timeout, expected)| timeout * 5.0 < f64::from(expected));
    let text = |key: &str| handler.member(key).and_then(|member| member.value.text());
    let name = text("name").filter(|name| !name.is_empty()).or_else(|| text(layout.spelling.command));
    let name = name.unwrap_or_default().to_owned();
    Some(InstalledHook {
        event: event.to_owned(),
        hook: layout.parse_handler(handler)?,
        name,
        is_restricted,
        is_hurried,
    })
}

/// Finds haltline's hooks in a client's settings; hooks in separate files ([`OwnFile`]) are not included.
pub fn find(text: &str, client: Client, own_binary: &str) -> Result<Vec<InstalledHook>, InstallError> {
    let layout = &client.protocol().layout;
    if let Form::GeneratedFile(file) = layout.form {
        let found = |hook: Hook| {
            let found = move |event: &str| InstalledHook::in_generated_file(event, hook.clone());
            let is_elsewhere = |event: &&str| layout.own_files.iter().any(|own| own.event == Some(event));
            layout.events().filter(|event| !is_elsewhere(event)).map(found).collect()
        };
        return Ok((file.parse_hook)(text).map_or_else(Vec::new, found));
    }
    let root = parse(text)?;
    let mut all = Vec::new();
    for member in root.member("hooks").and_then(|member| member.value.members()).unwrap_or_default() {
        for group in member.value.elements().unwrap_or_default() {
            let hooks = layout
                .handlers(group)
                .iter()
                .filter_map(|handler| parse_installed_hook(text, layout, &member.key, group, handler));
            all.extend(hooks.filter(|found| found.hook.is_ours(client, own_binary)));
        }
    }
    Ok(all)
}
