//! `haltline constraint new`: writes a constraint's file with guards, and shows what they would have caught in the
//! person's own transcripts (C8).

use std::fs;
use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use haltline_core::constraint::Guard;
use serde::Serialize;

use super::super::backtest::guarded::{self, GuardedCalls};
use super::parse;
use crate::cli::new_constraint::NewConstraint;
use crate::context::Context;
use crate::error::Failure;
use crate::front::text;
use crate::view::SCHEMA;

/// A constraint that was written.
#[derive(Debug, Serialize)]
pub struct NewView {
    pub schema: u32,
    pub id: String,
    pub file: String,
    pub guards: Vec<Guard>,
    /// What the guards would have caught; `None` without guards.
    pub caught: Option<GuardedCalls>,
}

pub fn run(context: &Context, command: &NewConstraint) -> Result<ExitCode, Failure> {
    let id = parse(&command.id)?;
    let engine = &context.engine;
    let root = &engine.project().root;
    if engine.constraint_file(&id, None).is_some() {
        return Err(Failure::Plain(format!("constraint {id} exists already; see `haltline constraint config {id}`")));
    }
    let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !context.is_json;
    let guards = guards(command, can_ask && !command.is_agreed)?;
    let content = content(id.as_str(), &guards, command.severity.as_deref());
    let file = root.join(engine.config().constraint_directory()).join("active").join(format!("{id}.md"));
    let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
    if can_ask && !command.is_agreed {
        eprint!("{shown}:\n\n{content}\n");
        if !["", "y", "yes"].contains(&ask("Write it? [Y/n] ")?.to_lowercase().as_str()) {
            return Err(Failure::Plain("haltline wrote nothing".to_owned()));
        }
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| Failure::Plain(format!("{}: {error}", folder.display())))?;
    }
    let mut options = fs::OpenOptions::new();
    let written =
        options.write(true).create_new(true).open(&file).and_then(|mut file| file.write_all(content.as_bytes()));
    written.map_err(|error| Failure::Plain(format!("{}: {error}", file.display())))?;
    let caught = (!guards.is_empty()).then(|| guarded::find(&guards, root, context.is_json));
    let view = NewView { schema: SCHEMA, id: id.to_string(), file: shown, guards, caught };
    context.print(&view, text::new_constraint)
}

/// The guards that the flags describe, or the person's answers if there are no flags.
fn guards(command: &NewConstraint, can_ask: bool) -> Result<Vec<Guard>, Failure> {
    let tool = || command.tool.clone();
    let of_command = |pattern: &String| Guard { tool: tool(), command: Some(pattern.clone()), path: None };
    let mut guards: Vec<Guard> = command.commands.iter().map(of_command).collect();
    // A path belongs to the tools that change files, unless the person names a tool.
    let file_tool = if command.tool == "Bash" { "*".to_owned() } else { tool() };
    guards.extend(command.paths.iter().map(|path| Guard {
        tool: file_tool.clone(),
        command: None,
        path: Some(path.clone()),
    }));
    if guards.is_empty() && can_ask {
        let pattern = ask("Which command must an agent not run? (such as: git push --force; empty for none) ")?;
        guards.extend((!pattern.is_empty()).then(|| of_command(&pattern)));
        let path = ask("Which files must an agent not change? (such as: migrations/*; empty for none) ")?;
        guards.extend((!path.is_empty()).then_some(Guard { tool: "*".to_owned(), command: None, path: Some(path) }));
    }
    Ok(guards)
}

fn ask(question: &str) -> Result<String, Failure> {
    eprint!("{question}");
    std::io::stderr().flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

/// The file: the front matter that haltline reads, and a line for people to replace.
fn content(id: &str, guards: &[Guard], severity: Option<&str>) -> String {
    // A JSON text is a YAML text, whatever it contains.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut content = format!("---\nid: {id}\nstatus: active\n");
    if let Some(severity) = severity {
        content.push_str(&format!("severity: {}\n", quoted(severity)));
    }
    if !guards.is_empty() {
        content.push_str("guards:\n");
    }
    for Guard { tool, command, path } in guards {
        content.push_str(&format!("  - tool: {}\n", quoted(tool)));
        for (key, value) in [("command", command), ("path", path)] {
            content.extend(value.iter().map(|value| format!("    {key}: {}\n", quoted(value))));
        }
    }
    content + &format!("---\n# {id}\n\nSay here why this rule exists.\n")
}
