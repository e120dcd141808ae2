//! docs/reference/events.md has every type and field of plain events, and nothing that the parser does not read.

use std::collections::BTreeSet;

use haltline_agents::plain;
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../../docs/reference/events.md");
const PARSER: &str = include_str!("../../src/plain.rs");

/// One section of the page: the type, a minimal event, and each field with whether it is required.
struct Section<'a> {
    kind: &'a str,
    event: Value,
    fields: Vec<(&'a str, bool)>,
}

fn sections() -> Vec<Section<'static>> {
    let sections = PAGE.split("\n### `").skip(1);
    let read = |text: &'static str| {
        let (kind, body) = text.split_once('`').expect("the heading ends");
        let example = body.split("```json\n").nth(1).and_then(|rest| rest.lines().next()).expect("an example");
        let body = body.split("\n## ").next().unwrap_or(body);
        Section { kind, event: serde_json::from_str(example).expect("JSON"), fields: fields(body) }
    };
    sections.map(read).collect()
}

/// The first column of the tables in a text, with whether the second says `required`.
fn fields(text: &'static str) -> Vec<(&'static str, bool)> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| {
        let (field, rest) = row.split_once('`')?;
        let kind = rest.split(" | ").nth(1)?;
        Some((field, kind.ends_with("required")))
    })
    .collect()
}

fn common_fields() -> Vec<(&'static str, bool)> {
    let part = PAGE.split("\n## ").find(|part| part.starts_with("All events")).expect("a section");
    fields(part)
}

#[test]
fn the_page_has_every_type_in_order() {
    let kinds: Vec<&str> = sections().iter().map(|section| section.kind).collect();
    assert_eq!(kinds, plain::TYPES);
}

#[test]
fn every_example_is_an_event_and_every_field_of_the_page_is_read() {
    for Section { kind, event, fields } in sections() {
        assert_eq!(event["type"], kind);
        assert!(plain::read(&event.to_string()).is_ok(), "{event}");
        for (field, is_required) in fields.into_iter().chain(common_fields()) {
            let mut wrong = event.clone();
            wrong[field] = json!([{}]);
            let error = plain::read(&wrong.to_string()).expect_err(field).to_string();
            assert!(error.starts_with(field), "{kind}.{field}: {error}");
            let mut without = event.clone();
            without.as_object_mut().expect("an object").remove(field);
            assert_eq!(plain::read(&without.to_string()).is_err(), is_required, "{kind}.{field}");
        }
    }
}

/// Every name in quotes after one of the parser's reading functions.
#[test]
fn every_field_that_the_parser_reads_is_on_the_page() {
    let readers =
        ["text", "required_text", "verbatim", "flag", "number", "number::<f64>", "named_value", "dollars", "get"];
    let mut read = BTreeSet::new();
    for reader in readers {
        let call = format!("{reader}(\"");
        read.extend(PARSER.split(&call).skip(1).filter_map(|call| call.split('"').next()));
    }
    let tokens = PARSER.split("tokens(\"").skip(1).filter_map(|call| call.split('"').next());
    read.extend(tokens);
    assert!(read.len() > 35, "{read:?}");
    let missing: Vec<&&str> = read.iter().filter(|field| !PAGE.contains(&format!("`{field}`"))).collect();
    assert!(missing.is_empty(), "docs/reference/events.md does not have {missing:?}");
}

#[test]
fn an_unknown_type_is_answered_with_the_known_ones() {
    let error = plain::read(r#"{"v":1,"type":"tool_strat","session":"s"}"#).expect_err("unknown").to_string();
    assert!(error.starts_with(r#"type "tool_strat": expected one of session_start, prompt, "#), "{error}");
    assert!(error.ends_with("round (docs/reference/events.md)"), "{error}");
}
