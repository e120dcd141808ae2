//! The targets of notifications, by name: `desktop`, `slack:URL`, `discord:URL`, `ntfy:TOPIC`, `command:…`, `webhook:URL`.
//!
//! An address may carry a secret, so a target shows only its kind, and an error never repeats the address.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::Deadline;
use crate::incident::Incident;

/// How long one attempt may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a running command is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Longer messages are cut; Discord accepts no more.
const MESSAGE_CHARS_MAX: usize = 1900;
/// The server of a topic without an address.
const NTFY_SERVER: &str = "https://ntfy.sh";

/// Where a notification goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A message on this machine's desktop.
    Desktop,
    Slack(String),
    Discord(String),
    Ntfy {
        server: String,
        topic: String,
    },
    /// A command line of a shell.
    Shell(String),
    /// A program and its arguments, from `notify.command`.
    Program(Vec<String>),
    /// The incident as JSON.
    Webhook(String),
}

/// The words of a notification.
pub(crate) struct Message {
    title: String,
    body: String,
    incident: Value,
}

impl Message {
    /// Names the project, what was done, the cause, the incident and the command that explains it.
    pub fn new(incident: &Incident, project: &str) -> Self {
        let name = project.trim_end_matches('/').rsplit('/').next().unwrap_or(project);
        let state = incident.state.as_str().replace('_', "-");
        let title = format!("haltline: {} is {state} in {name}", incident.circuit());
        let mut lines = vec![incident.reason.clone().unwrap_or_else(|| "a circuit tripped".to_owned())];
        lines.extend(
            incident.evidence.first().and_then(|newest| newest.event.text.clone()).map(|text| format!("Last: {text}")),
        );
        let code = incident.code.map(|code| format!(" ({code})")).unwrap_or_default();
        lines.push(format!("Project: {project}"));
        lines.push(format!("Incident {}{code}: haltline why {}", incident.id, incident.id));
        Self { title, body: lines.join("\n"), incident: incident.to_json(project) }
    }

    fn text(&self) -> String {
        format!("{}\n{}", self.title, self.body).chars().take(MESSAGE_CHARS_MAX).collect()
    }
}

impl Target {
    /// Reads an entry of `notify.to`; `None` if it is no target.
    pub fn parse(entry: &str) -> Option<Self> {
        let (kind, rest) = entry.split_once(':').unwrap_or((entry, ""));
        let address = || is_address(rest).then(|| rest.to_owned());
        match kind {
            "desktop" if entry == "desktop" => Some(Target::Desktop),
            "slack" => address().map(Target::Slack),
            "discord" => address().map(Target::Discord),
            "webhook" => address().map(Target::Webhook),
            "command" if !rest.trim().is_empty() => Some(Target::Shell(rest.trim().to_owned())),
            "ntfy" => {
                let (server, topic) = match rest.trim_end_matches('/').rsplit_once('/') {
                    Some((server, topic)) => (is_address(server).then_some(server)?, topic),
                    None => (NTFY_SERVER, rest),
                };
                let is_topic = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
                let is_valid = !topic.is_empty() && topic.len() <= 64 && topic.chars().all(is_topic);
                is_valid.then(|| Target::Ntfy { server: server.to_owned(), topic: topic.to_owned() })
            }
            _unknown => None,
        }
    }

    /// The target's name, without its address.
    pub fn name(&self) -> String {
        match self {
            Target::Desktop => "desktop".to_owned(),
            Target::Slack(_) => "slack".to_owned(),
            Target::Discord(_) => "discord".to_owned(),
            Target::Ntfy { .. } => "ntfy".to_owned(),
            Target::Shell(_) => "command".to_owned(),
            Target::Program(words) => {
                format!("notify.command {}", words.first().map(String::as_str).unwrap_or_default())
            }
            Target::Webhook(_) => "webhook".to_owned(),
        }
    }

    pub fn send(&self, message: &Message) -> Result<(), String> {
        match self {
            Target::Desktop => show_on_desktop(message),
            Target::Slack(address) => post(address, &json!({ "text": message.text() })),
            Target::Discord(address) => post(address, &json!({ "content": message.text() })),
            Target::Ntfy { server, topic } => {
                post(server, &json!({ "topic": topic, "title": message.title, "message": message.body }))
            }
            Target::Shell(line) => run("sh", &["-c", line], message),
            Target::Program(words) => match words.split_first() {
                Some((program, arguments)) => {
                    run(program, &arguments.iter().map(String::as_str).collect::<Vec<_>>(), message)
                }
                None => Ok(()),
            },
            Target::Webhook(address) => post(address, &message.incident),
        }
    }
}

fn is_address(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.contains(char::is_whitespace))
}

fn show_on_desktop(message: &Message) -> Result<(), String> {
    if cfg!(target_os = "macos") {
        let script = "on run words\ndisplay notification (item 2 of words) with title (item 1 of words)\nend run";
        return run("osascript", &["-e", script, &message.title, &message.body], message);
    }
    run("notify-send", &["--app-name=haltline", &message.title, &message.body], message)
}

/// Starts a program with the incident as JSON on its input, and the words of the message in its environment.
fn run(program: &str, arguments: &[&str], message: &Message) -> Result<(), String> {
    let mut child = Command::new(program)
        .args(arguments)
        .env("HALTLINE_TITLE", &message.title)
        .env("HALTLINE_MESSAGE", message.text())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("{program} is not installed"),
            _other => error.to_string(),
        })?;
    if let Some(mut input) = child.stdin.take() {
        // A program that does not read its input may still have done its work.
        input.write_all(message.incident.to_string().as_bytes()).ok();
    }
    let deadline = Deadline::new(ATTEMPT_TIMEOUT);
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(status.to_string()),
            None if deadline.remaining().is_zero() => {
                child.kill().ok();
                child.wait().ok();
                return Err(format!("did not end within {} s", ATTEMPT_TIMEOUT.as_secs()));
            }
            None => std::thread::park_timeout(POLL_INTERVAL),
        }
    }
}

#[cfg(feature = "webhook")]
fn post(address: &str, content: &Value) -> Result<(), String> {
    let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(ATTEMPT_TIMEOUT)).build().into();
    let sent = agent.post(address).header("content-type", "application/json").send(content.to_string());
    sent.map(drop).map_err(|error| without_address(&error.to_string(), address))
}

#[cfg(not(feature = "webhook"))]
fn post(_address: &str, _content: &Value) -> Result<(), String> {
    Err("this haltline was built without webhooks".to_owned())
}

/// An error without the address and its path, which may be a secret.
#[cfg(feature = "webhook")]
fn without_address(error: &str, address: &str) -> String {
    let path = address.splitn(4, '/').nth(3).filter(|path| !path.is_empty());
    let hidden = error.replace(address, "the address");
    path.map_or(hidden.clone(), |path| hidden.replace(path, "…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_known_by_its_name_and_never_shows_its_address() {
        for (entry, name) in [
            ("desktop", Some("desktop")),
            ("slack:https://hooks.slack.com/services/T/B/secret", Some("slack")),
            ("discord:https://discord.com/api/webhooks/1/secret", Some("discord")),
            ("ntfy:my-topic", Some("ntfy")),
            ("ntfy:https://ntfy.example.com/my-topic", Some("ntfy")),
            ("command:mail -s haltline ann", Some("command")),
            ("webhook:http://localhost:1/x", Some("webhook")),
            ("desktop:x", None),
            ("slack:hooks.slack.com", None),
            ("slack:", None),
            ("ntfy:", None),
            ("ntfy:a b", None),
            ("ntfy:ftp://x/y", None),
            ("command: ", None),
            ("pager:x", None),
            ("", None),
        ] {
            assert_eq!(Target::parse(entry).map(|target| target.name()).as_deref(), name, "{entry}");
        }
        #[cfg(feature = "webhook")]
        assert_eq!(without_address("https://x/s3cret: refused s3cret", "https://x/s3cret"), "the address: refused …");
    }
}
