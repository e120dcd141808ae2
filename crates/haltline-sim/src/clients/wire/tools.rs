//! Converts a call that is scripted with Claude Code's names to the tools that a client offers.
//!
//! Several clients use one API, each with its own tools. Every request lists them, so nothing here depends on a
//! particular client.

use serde_json::{Map, Value, json};

/// A tool as a request offers it.
pub(super) struct Offered<'a> {
    pub(super) name: &'a str,
    /// The JSON schema of its arguments.
    pub(super) schema: &'a Value,
}

/// The scripted tool, and the clients' names for it.
const NAMES: &[(&str, &[&str])] = &[
    ("Bash", &["run_shell_command", "run_commands", "execute_command", "bash"]),
    ("Read", &["read_file", "read_files", "read", "view"]),
    ("Edit", &["replace", "edit", "editor", "replace_in_file"]),
    ("Write", &["write_file", "write_to_file", "write", "create"]),
    ("Agent", &["invoke_agent", "agent", "spawn_agent", "task"]),
];

/// The scripted argument, and the names of it in schemas.
const ARGUMENTS: &[(&str, &[&str])] = &[
    ("command", &["commands", "cmd"]),
    ("file_path", &["absolute_path", "path", "filePath"]),
    ("old_string", &["old_text", "old_str", "oldString"]),
    ("new_string", &["new_text", "new_str", "newString"]),
    ("content", &["contents", "file_text"]),
    ("prompt", &["task", "objective", "message"]),
    ("subagent_type", &["agent_name", "agent_type"]),
];

/// The client's name for the tool, and the arguments as its schema requires them. A tool that is not offered, or that a
/// script names with the client's own name, stays as it is.
pub(super) fn fit_to_offered(call: &Value, offered: &[Offered<'_>]) -> (String, Value) {
    let name = call["name"].as_str().unwrap_or_default();
    let input = &call["input"];
    let names = NAMES.iter().find(|(scripted, _)| *scripted == name).map_or(&[][..], |(_, names)| names);
    let tool = names.iter().find_map(|name| offered.iter().find(|tool| tool.name == *name));
    let Some(tool) = tool else { return (name.to_owned(), input.clone()) };
    let properties = &tool.schema["properties"];
    let mut fitted = Map::new();
    for (key, value) in input.as_object().into_iter().flatten() {
        let others = ARGUMENTS.iter().find(|(scripted, _)| scripted == key).map_or(&[][..], |(_, names)| names);
        let names = std::iter::once(key.as_str()).chain(others.iter().copied());
        let found = names.into_iter().find(|name| !properties[*name].is_null());
        let Some(found) = found else { continue };
        // The client has another name for this agent.
        let value = if found == "agent_name" { &json!("generalist") } else { value };
        let is_list = properties[found]["type"] == "array" && !value.is_array();
        fitted.insert(found.to_owned(), if is_list { json!([value]) } else { value.clone() });
    }
    for required in tool.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fitted.contains_key(required) {
            fitted.insert(required.to_owned(), filler(&properties[required]));
        }
    }
    (tool.name.to_owned(), Value::Object(fitted))
}

/// A value of the type that a schema requires.
pub(super) fn filler(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or_default().to_lowercase().as_str() {
        "boolean" => json!(false),
        "number" | "integer" => json!(0),
        "array" => json!([]),
        "object" => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let members = required.map(|name| (name.to_owned(), filler(&schema["properties"][name])));
            Value::Object(members.collect())
        }
        _text => json!("scripted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scripted_call_gets_the_names_and_kinds_that_the_client_offers() {
        let schema = json!({ "properties": { "commands": { "type": "array" }, "is_background": { "type": "boolean" } },
            "required": ["commands", "is_background"] });
        let offered = [Offered { name: "run_commands", schema: &schema }];
        let call = json!({ "name": "Bash", "input": { "command": "make", "description": "builds" } });
        let wanted = json!({ "commands": ["make"], "is_background": false });
        assert_eq!(fit_to_offered(&call, &offered), ("run_commands".to_owned(), wanted));
        let own = json!({ "name": "save_memory", "input": { "fact": 1 } });
        assert_eq!(fit_to_offered(&own, &offered), ("save_memory".to_owned(), json!({ "fact": 1 })));
    }
}
