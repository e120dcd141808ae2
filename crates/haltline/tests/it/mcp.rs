//! `haltline mcp` with messages that no client of the Model Context Protocol sends. `packages/python/tests/test_mcp.py`
//! tests it with the official client.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::Site;

/// The responses to these lines, once the process ended by itself.
fn responses(site: &Site, lines: &[&str]) -> Vec<Value> {
    let mut command = site.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary starts");
    let input = format!("{}\n", lines.join("\n"));
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("waited for");
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn wrong_messages_get_errors_and_notifications_get_nothing() {
    let site = Site::new();
    let deep = "[".repeat(100_000);
    let found = responses(
        &site,
        &[
            "x",
            &deep,
            "[]",
            r#"{"id":1}"#,
            r#"{"method":"notifications/cancelled"}"#,
            r#"{"id":{},"method":"ping"}"#,
            r#"{"id":9,"result":{}}"#,
            r#"{"id":2,"method":"server/discover"}"#,
            r#"{"id":3,"method":"tools/call","params":7}"#,
            r#"{"id":4,"method":"tools/call","params":{"name":"status","arguments":[1]}}"#,
            r#"{"id":5,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#,
            r#"{"id":"six","method":"ping"}"#,
        ],
    );
    let codes: Vec<(Value, Value)> =
        found.iter().map(|response| (response["id"].clone(), response["error"]["code"].clone())).collect();
    let expected = [
        (Value::Null, json!(-32700)),
        (Value::Null, json!(-32700)),
        (Value::Null, json!(-32600)),
        (Value::Null, json!(-32600)),
        (json!(2), json!(-32601)),
        (json!(3), json!(-32602)),
        (json!(4), Value::Null),
        (json!(5), json!(-32002)),
        (json!("six"), Value::Null),
    ];
    assert_eq!(codes, expected);
    assert_eq!(found[6]["result"]["isError"], true);
}

#[test]
fn a_known_revision_is_accepted_and_an_unknown_one_gets_the_newest() {
    let site = Site::new();
    let ask = |revision: &str| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": revision } })
            .to_string()
    };
    let found = responses(&site, &[&ask("2024-11-05"), &ask("1999-01-01")]);
    assert_eq!(found[0]["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(found[1]["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn every_tool_is_in_the_guide() {
    let site = Site::new();
    let found = responses(&site, &[r#"{"id":1,"method":"tools/list"}"#]);
    let guide = include_str!("../../../../docs/guides/mcp.md");
    let tools = found[0]["result"]["tools"].as_array().expect("a list");
    assert_eq!(
        guide.lines().filter(|line| line.contains("` | `haltline ") || line.contains(" | | `haltline ")).count(),
        tools.len()
    );
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        let row = guide.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).expect(name);
        for parameter in tool["inputSchema"]["properties"].as_object().expect("an object").keys() {
            assert!(row.contains(&format!("`{parameter}`")), "{name}: {parameter} is not in the guide");
        }
    }
}
