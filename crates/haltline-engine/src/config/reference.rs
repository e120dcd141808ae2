//! The configuration reference, generated from the keys: a commented file with the defaults, and a JSON schema.

use serde_json::{Value as Json, json};

use super::key::{Kind, Scope};
use super::keys::KEYS;
use super::money;

/// The defaults as a commented TOML file.
pub fn commented_toml() -> String {
    let mut text = String::from("# haltline's configuration with its defaults. Set only what you want to change.\n");
    let mut table = "";
    for key in KEYS {
        let (section, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        if section != table {
            text.push_str(&format!("\n[{section}]\n"));
            table = section;
        }
        let scope = match key.scope {
            Scope::User => " Only your own file can set it.",
            Scope::Project => "",
        };
        let expectation = key.expectation();
        let kind = expectation.strip_prefix("a ").unwrap_or(&expectation);
        text.push_str(&format!("# {}{scope}\n# Type: {kind}.\n", key.help));
        text.push_str(&format!("{name} = {}\n", key.default_value()));
    }
    text
}

/// The JSON schema of a configuration file.
pub fn json_schema() -> Json {
    let mut top = serde_json::Map::new();
    for key in KEYS {
        let kind = match &key.kind {
            Kind::Number { low, high, .. } => json!({"type": "integer", "minimum": low, "maximum": high}),
            Kind::Choice(choices) => json!({"enum": choices}),
            Kind::Text(_) | Kind::Folder(_) => json!({"type": "string"}),
            Kind::Flag(_) => json!({"type": "boolean"}),
            Kind::List(_) | Kind::Prices | Kind::Targets => json!({"type": "array", "items": {"type": "string"}}),
            Kind::Money { low, .. } => dollars(*low),
            Kind::Cost => json!({"anyOf": [dollars(0), {"const": "unknown"}]}),
        };
        let Json::Object(mut property) = kind else { continue };
        property.insert("description".to_owned(), key.help.into());
        property.insert("default".to_owned(), Json::from(&key.default_value()));
        insert(&mut top, key.name, property.into());
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "haltline configuration",
        "type": "object",
        "additionalProperties": false,
        "properties": top,
    })
}

fn dollars(low: u64) -> Json {
    let [low, high] = [low, money::MICROS_MAX].map(|micros| micros as f64 / 1e6);
    json!({"type": "number", "minimum": low, "maximum": high})
}

/// Inserts a property at its dotted name, with the tables on the way.
fn insert(properties: &mut serde_json::Map<String, Json>, name: &str, property: Json) {
    let Some((table, rest)) = name.split_once('.') else {
        properties.insert(name.to_owned(), property);
        return;
    };
    let table = properties
        .entry(table)
        .or_insert_with(|| json!({"type": "object", "additionalProperties": false, "properties": {}}));
    if let Json::Object(below) = &mut table["properties"] {
        insert(below, rest, property);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::layer::parse;

    #[test]
    fn the_commented_file_sets_every_key_to_its_default() {
        let values = parse(commented_toml().as_bytes(), Scope::User).expect("the reference is a valid file");
        let expected: Vec<_> = KEYS.iter().map(|key| (key, key.default_value())).collect();
        let mut found = values.clone();
        found.sort_by_key(|(known, _)| KEYS.iter().position(|key| key == *known));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_schema_names_every_key() {
        let schema = json_schema();
        for key in KEYS {
            let path = key.name.replace('.', "/properties/");
            assert!(schema.pointer(&format!("/properties/{path}/description")).is_some(), "{}", key.name);
        }
    }
}
