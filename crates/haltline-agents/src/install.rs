//! haltline's entries in a client's settings, put in and taken out as text edits (X2). What differs between clients is
//! data: a [`Layout`].
//!
//! The settings are the user's file: order, indentation, line ends and everything else in it stay as they are, byte
//! for byte. Nothing here touches a disk; the binary reads, shows and writes.

mod edit;
mod json_text;
mod layout;
mod slash_command;
mod style;

use std::collections::BTreeMap;

use serde_json::json;

use crate::Client;
use edit::{Edit, apply, without};
use json_text::{Member, Node, line_of, parse};
pub use layout::{Form, Layout, Listener, Moved, OwnFile, Program, Settings, Spelling, Switch, Words, is_off_in_toml};
pub use slash_command::{CIRCUIT_STATUS, shell_word};
use style::{Place, Style};

/// Why settings cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// The text is not JSON, or has comments.
    #[error("line {line}, column {column}: not JSON ({reason})")]
    NotJson {
        /// Where.
        line: usize,
        /// Where in the line.
        column: usize,
        /// What the parser says.
        reason: String,
    },
    /// A value is of another kind than the client's settings have it.
    #[error("line {line}: {what} is not {expected}")]
    Shape {
        /// Where.
        line: usize,
        /// Which value.
        what: String,
        /// What it has to be.
        expected: &'static str,
    },
    /// The file has to be haltline's own, and is somebody else's.
    #[error("this is not haltline's {title}: move it away, or run haltline from it")]
    Foreign {
        /// What haltline's is.
        title: &'static str,
    },
}

/// The command of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
}

impl Hook {
    /// haltline's hook for a client. Some clients trust a hook by its exact words, so these never change (X2).
    pub fn new(client: Client, binary: &str, state: &str, config: &str) -> Self {
        let args = ["hook", client.word(), "--state", state, "--config", config];
        Self { command: binary.to_owned(), args: args.map(str::to_owned).to_vec() }
    }

    /// Whether it is haltline's for this client: called `haltline`, or at `own`, whoever wrote it and with whatever paths.
    pub fn is_ours(&self, client: Client, own: &str) -> bool {
        is_haltline(&self.command, own) && self.args.starts_with(&["hook".to_owned(), client.word().to_owned()])
    }

    /// The argument after `option`.
    pub fn option(&self, option: &str) -> Option<&str> {
        let place = self.args.iter().position(|argument| argument == option)?;
        self.args.get(place + 1).map(String::as_str)
    }

    /// The same hook with another argument after `option`, where it has that option.
    pub fn with_option(&self, option: &str, value: &str) -> Self {
        let mut hook = self.clone();
        let place = hook.args.iter().position(|argument| argument == option);
        if let Some(argument) = place.and_then(|place| hook.args.get_mut(place + 1)) {
            value.clone_into(argument);
        }
        hook
    }
}

fn is_haltline(command: &str, own: &str) -> bool {
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
    command == own || name.strip_suffix(".exe").unwrap_or(name) == "haltline"
}

/// What is to be installed.
#[derive(Clone, Debug)]
pub struct Entries {
    /// The client whose settings they are.
    pub client: Client,
    /// The hook of every event.
    pub hook: Hook,
    /// The status line's shell command, where one is wanted.
    pub status_line: Option<String>,
}

/// What a container was before we put something in: nothing at all, or empty with this between its brackets. Keys are
/// `hooks`, `hooks/EVENT`, and the empty string for the whole file.
pub type Trace = BTreeMap<String, Option<String>>;

/// The trace of entries that nobody wrote down: what held nothing but ours is taken for ours.
pub fn assumed_trace(client: Client) -> Trace {
    let paths = client.protocol().layout.events().map(path).chain(["hooks".to_owned()]);
    paths.map(|path| (path, None)).collect()
}

/// Settings with haltline in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The whole file.
    pub text: String,
    /// What [`remove`] must know to leave no trace.
    pub trace: Trace,
    /// Events that had no hook of ours.
    pub added: Vec<&'static str>,
    /// Hooks of ours that were there with other paths, as they were.
    pub replaced: Vec<Hook>,
    /// What became of the status line.
    pub status_line: StatusLine,
}

/// What became of the status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusLine {
    /// Nobody asked for it.
    Untouched,
    /// It is set now.
    Added,
    /// It is ours already.
    Present,
    /// The user has another one, which stays.
    Foreign,
}

/// Puts haltline's entries into settings; `None` where there is no file. Installing twice changes nothing.
pub fn install(text: Option<&str>, entries: &Entries) -> Result<Plan, InstallError> {
    let (own, client) = (entries.hook.command.as_str(), entries.client);
    let layout = &client.protocol().layout;
    if let Form::Program(program) = layout.form {
        return install_program(text, entries, &program);
    }
    let mut trace = Trace::new();
    let before = match text.filter(|text| !text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty()) {
        // One hook of ours per event, for all its calls; none in events we do not listen to.
        Some(text) => {
            let mut seen = Vec::new();
            let without_extra = take_out(text, layout, None, &mut |found| {
                let is_ours = found.hook.is_ours(client, own);
                let is_wanted = layout.listens_to(&found.event) && !found.is_narrowed;
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
    let style = Style::of(&before, &root);
    let mut plan = Plan {
        text: String::new(),
        trace,
        added: Vec::new(),
        replaced: Vec::new(),
        status_line: StatusLine::Untouched,
    };
    let mut edits = Vec::new();
    let place = Place::in_container(&before, &root, &style);
    let mut new_members = Vec::new();
    if let (Form::Flat { version }, None) = (layout.form, root.member("version")) {
        new_members.push(style.member("version", &json!(version)));
        plan.trace.insert("version".to_owned(), None);
    }
    match root.member("hooks") {
        Some(hooks) => add_to_hooks(&before, &hooks.value, entries, &style, &mut plan, &mut edits)?,
        None => {
            new_members.push(all_hooks(&entries.hook, layout, &style, &place));
            plan.added.extend(layout.events());
            plan.trace.insert("hooks".to_owned(), None);
            plan.trace.extend(layout.events().map(|event| (path(event), None)));
        }
    }
    if let Some(command) = &entries.status_line {
        plan.status_line = match root.member("statusLine") {
            Some(member) if is_our_status_line(&member.value, own) => StatusLine::Present,
            Some(_) => StatusLine::Foreign,
            None => {
                let value = json!({"type": "command", "command": command, "padding": 0});
                new_members.push(style.member("statusLine", &value));
                StatusLine::Added
            }
        };
    }
    if !new_members.is_empty() {
        note_empty(&before, &root, "", &mut plan.trace);
        edits.push(place.insert(&before, &root, &new_members, &style));
    }
    plan.text = apply(&before, edits);
    Ok(plan)
}

/// The same for a file that is haltline's as a whole.
fn install_program(text: Option<&str>, entries: &Entries, program: &Program) -> Result<Plan, InstallError> {
    let mut plan = Plan {
        text: (program.text)(&entries.hook),
        trace: Trace::from([(String::new(), None)]),
        added: Vec::new(),
        replaced: Vec::new(),
        status_line: StatusLine::Untouched,
    };
    let found = text.map(|text| (program.hook)(text).ok_or(InstallError::Foreign { title: program.title }));
    match found.transpose()? {
        Some(found) if found == entries.hook => {}
        Some(found) => plan.replaced.push(found),
        None => plan.added.extend(entries.client.protocol().layout.events()),
    }
    Ok(plan)
}

fn path(event: &str) -> String {
    format!("hooks/{event}")
}

/// Writes down what stands between the brackets of an empty container.
fn note_empty(text: &str, container: &Node, path: &str, trace: &mut Trace) {
    if container.children().is_empty() {
        let inner = &text[container.span.start + 1..container.span.end - 1];
        trace.entry(path.to_owned()).or_insert_with(|| Some(inner.to_owned()));
    }
}

fn all_hooks(hook: &Hook, layout: &Layout, style: &Style, place: &Place) -> String {
    let member = |listener: &Listener| style.member(listener.event, &json!([layout.entry(hook, listener)]));
    let members: Vec<String> = layout.listeners.iter().map(member).collect();
    style.member_text("hooks", &place.block(&members, style))
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
        line: line_of(text, node.span.start),
        what: what.to_owned(),
        expected,
    };
    if hooks.members().is_none() {
        return Err(shape(hooks, "hooks", "an object"));
    }
    let layout = &entries.client.protocol().layout;
    let mut new_members = Vec::new();
    for listener in layout.listeners {
        let event = listener.event;
        let Some(member) = hooks.member(event) else {
            new_members.push(style.member(event, &json!([layout.entry(&entries.hook, listener)])));
            plan.added.push(event);
            plan.trace.insert(path(event), None);
            continue;
        };
        let array = &member.value;
        let Some(all) = array.elements() else { return Err(shape(array, &format!("hooks.{event}"), "an array")) };
        let ours = all.iter().flat_map(|entry| layout.handlers(entry)).find_map(|node| {
            let hook = layout.hook_of(node).filter(|hook| hook.is_ours(entries.client, &entries.hook.command))?;
            Some((node, hook))
        });
        match ours {
            Some((_, found)) if found == entries.hook => {}
            Some((node, found)) => {
                // Only the paths: a timeout or a message the user added stays.
                for (key, value) in layout.words(&entries.hook) {
                    let member = node.member(key).expect("a hook has all its keys, or it is none");
                    edits.push(Edit { span: member.value.span.clone(), with: style.inline(&value) });
                }
                plan.replaced.push(found);
            }
            None => {
                note_empty(text, array, &path(event), &mut plan.trace);
                let place = Place::in_container(text, array, style);
                edits.push(place.insert(text, array, &[style.inline(&layout.entry(&entries.hook, listener))], style));
                plan.added.push(event);
            }
        }
    }
    if !new_members.is_empty() {
        note_empty(text, hooks, "hooks", &mut plan.trace);
        edits.push(Place::in_container(text, hooks, style).insert(text, hooks, &new_members, style));
    }
    Ok(())
}

fn is_our_status_line(value: &Node, own: &str) -> bool {
    let Some(command) = value.member("command").and_then(|member| member.value.text()) else { return false };
    let Some((program, rest)) = slash_command::first_word(command) else { return false };
    is_haltline(&program, own) && rest.trim_start().starts_with("statusline")
}

/// Takes haltline's entries out again; `None` where there are none. With the trace of the installation nothing else is
/// left behind, and containers the user had stay; without one, containers that become empty go as well. Of a file that is
/// haltline's as a whole nothing is left.
pub fn remove(text: &str, client: Client, own: &str, trace: Option<&Trace>) -> Result<Option<String>, InstallError> {
    let layout = &client.protocol().layout;
    if let Form::Program(program) = layout.form {
        return Ok((program.hook)(text).map(|_ours| String::new()));
    }
    let without_hooks = take_out(text, layout, trace, &mut |found| found.hook.is_ours(client, own))?;
    let current = without_hooks.as_deref().unwrap_or(text);
    let root = parse(current)?;
    let Some(members) = root.members() else { return Ok(without_hooks) };
    let made = |path: &str| trace.is_some_and(|trace| trace.contains_key(path));
    // Hooks that the user wrote since need the version as much as ours did.
    let has_hooks_since = made("hooks") && root.member("hooks").is_some_and(|hooks| !hooks.value.children().is_empty());
    let is_gone = |member: &Member| match member.key.as_str() {
        "statusLine" => is_our_status_line(&member.value, own),
        "version" => without_hooks.is_some() && made("version") && !has_hooks_since,
        _theirs => false,
    };
    let gone: Vec<bool> = members.iter().map(is_gone).collect();
    if !gone.contains(&true) {
        return Ok(without_hooks);
    }
    Ok(Some(apply(current, empty_or_without(&root, &gone, trace, ""))))
}

/// The edits that leave a container without some children; with what it had between its brackets when none is left.
fn empty_or_without(container: &Node, gone: &[bool], trace: Option<&Trace>, path: &str) -> Vec<Edit> {
    if gone.iter().all(|&is_gone| is_gone) {
        let inner = trace.and_then(|trace| trace.get(path)).cloned().flatten().unwrap_or_default();
        return vec![Edit { span: container.span.start + 1..container.span.end - 1, with: inner }];
    }
    without(&container.children(), gone)
}

/// Whether a container that became empty goes with what was in it.
fn goes_when_empty(trace: Option<&Trace>, path: &str) -> bool {
    trace.is_none_or(|trace| trace.get(path) == Some(&None))
}

/// Takes out the handlers that `is_to_go` names, and what held nothing else.
fn take_out(
    text: &str,
    layout: &Layout,
    trace: Option<&Trace>,
    is_to_go: &mut dyn FnMut(&Found) -> bool,
) -> Result<Option<String>, InstallError> {
    let root = parse(text)?;
    let Some(hooks) = root.member("hooks") else { return Ok(None) };
    let Some(members) = hooks.value.members() else { return Ok(None) };
    let mut edits = Vec::new();
    let mut gone_events = vec![false; members.len()];
    for (place, member) in members.iter().enumerate() {
        let Some(groups) = member.value.elements() else { continue };
        let mut gone_groups = vec![false; groups.len()];
        for (group, is_gone_group) in groups.iter().zip(&mut gone_groups) {
            let all = layout.handlers(group);
            let gone: Vec<bool> = all
                .iter()
                .map(|handler| found(layout, &member.key, group, handler).is_some_and(|found| is_to_go(&found)))
                .collect();
            *is_gone_group = !gone.is_empty() && gone.iter().all(|&is_gone| is_gone);
            if !*is_gone_group && gone.contains(&true) {
                let spans: Vec<_> = all.iter().map(|node| node.span.clone()).collect();
                edits.extend(without(&spans, &gone));
            }
        }
        if !gone_groups.contains(&true) {
            continue;
        }
        let path = path(&member.key);
        gone_events[place] = gone_groups.iter().all(|&is_gone| is_gone) && goes_when_empty(trace, &path);
        if !gone_events[place] {
            edits.extend(empty_or_without(&member.value, &gone_groups, trace, &path));
        }
    }
    if gone_events.iter().all(|&is_gone| is_gone) && !gone_events.is_empty() && goes_when_empty(trace, "hooks") {
        let members = root.members().unwrap_or_default();
        let gone: Vec<bool> = members.iter().map(|member| member.span == hooks.span).collect();
        edits = empty_or_without(&root, &gone, trace, "");
    } else if gone_events.contains(&true) {
        edits.extend(empty_or_without(&hooks.value, &gone_events, trace, "hooks"));
    }
    Ok((!edits.is_empty()).then(|| apply(text, edits)))
}

/// A hook of ours in settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The event it listens to.
    pub event: String,
    /// What it runs.
    pub hook: Hook,
    /// What the client calls it: by a name that somebody gave it, or else by what it runs.
    pub name: String,
    /// Whether it sees only some calls of the event, or cannot refuse them.
    pub is_narrowed: bool,
}

impl Found {
    /// The hook of a program that is haltline's as a whole.
    pub fn program(event: &str, hook: Hook) -> Self {
        Self { event: event.to_owned(), hook, name: String::new(), is_narrowed: false }
    }
}

fn found(layout: &Layout, event: &str, group: &Node, handler: &Node) -> Option<Found> {
    let matcher = group.member("matcher").and_then(|member| member.value.text()).unwrap_or_default();
    let is_narrowed = !matcher.is_empty() && matcher != "*"
        || ["if", "async", "asyncRewake"].iter().any(|key| handler.member(key).is_some());
    let text = |key: &str| handler.member(key).and_then(|member| member.value.text());
    let name = text("name").filter(|name| !name.is_empty()).or_else(|| text(layout.spelling.command));
    let name = name.unwrap_or_default().to_owned();
    Some(Found { event: event.to_owned(), hook: layout.hook_of(handler)?, name, is_narrowed })
}

/// Our hooks in a client's settings; those that stand in files of their own are not among them.
pub fn find(text: &str, client: Client, own: &str) -> Result<Vec<Found>, InstallError> {
    let layout = &client.protocol().layout;
    if let Form::Program(program) = layout.form {
        let found = |hook: Hook| {
            let found = move |event: &str| Found::program(event, hook.clone());
            let is_elsewhere = |event: &&str| layout.own_files.iter().any(|own| own.event == Some(event));
            layout.events().filter(|event| !is_elsewhere(event)).map(found).collect()
        };
        return Ok((program.hook)(text).map_or_else(Vec::new, found));
    }
    let root = parse(text)?;
    let mut all = Vec::new();
    for member in root.member("hooks").and_then(|member| member.value.members()).unwrap_or_default() {
        for group in member.value.elements().unwrap_or_default() {
            let hooks = layout.handlers(group).iter().filter_map(|handler| found(layout, &member.key, group, handler));
            all.extend(hooks.filter(|found| found.hook.is_ours(client, own)));
        }
    }
    Ok(all)
}
