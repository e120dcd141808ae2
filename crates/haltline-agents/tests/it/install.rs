//! Settings keep every byte that is not haltline's, whatever they contain and however they are formatted.

use haltline_agents::Client;
use haltline_agents::codex::trust;
use haltline_agents::install::{Entries, Form, Hook, InstallError, Layout, Plan, StatusLine, find, install, remove};
use proptest::prelude::*;
use serde_json::{Value, json};

const OWN: &str = "/home/ana/.local/bin/haltline";

fn layout() -> &'static Layout {
    &Client::Claude.protocol().layout
}

/// A handler as the settings contain it.
fn handler(hook: &Hook) -> Value {
    let plan = install(None, &Entries { hook: hook.clone(), ..entries() }).expect("installs");
    value(&plan.text)["hooks"]["Stop"][0]["hooks"][0].clone()
}

fn entries() -> Entries {
    entries_of(Client::Claude)
}

fn entries_of(client: Client) -> Entries {
    let hook = Hook::new(client, OWN, "/home/ana/.local/state/haltline", "/home/ana/config.toml");
    Entries { client, hook, status_line: None }
}

/// The clients whose settings are JSON, or those for which haltline generates a whole file.
fn clients(is_generated: bool) -> Vec<Client> {
    let is_wanted = |client: &Client| matches!(client.protocol().layout.form, Form::GeneratedFile(_)) == is_generated;
    Client::ALL.into_iter().filter(is_wanted).collect()
}

fn installed(text: &str) -> Plan {
    install(Some(text), &entries()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn removed(plan: &Plan) -> String {
    remove(&plan.text, Client::Claude, OWN, Some(&plan.trace)).expect("JSON").expect("entries of ours")
}

fn value(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_new_file_has_one_line_per_event() {
    let plan = install(None, &entries()).expect("installs");
    assert_eq!(plan.text.lines().count(), 16, "{}", plan.text);
    assert_eq!(
        plan.text.lines().nth(2),
        Some(
            r#"    "SessionStart": [{ "hooks": [{ "type": "command", "command": "/home/ana/.local/bin/haltline", "args": ["hook", "claude", "--state", "/home/ana/.local/state/haltline", "--config", "/home/ana/config.toml"], "timeout": 5 }] }],"#
        )
    );
    assert!(plan.text.ends_with("  }\n}\n"));
    let left = removed(&plan);
    assert_eq!(left, "{}\n");
}

#[test]
fn what_is_added_looks_like_the_rest_of_the_file() {
    let tabs = "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{\"hooks\": []}\r\n\t\t]\r\n\t}\r\n}";
    let plan = installed(tabs);
    let lines: Vec<&str> = plan.text.split("\r\n").collect();
    assert!(!plan.text.replace("\r\n", "").contains('\n'), "{}", plan.text);
    assert!(lines[5].starts_with("\t\t\t{ \"hooks\": [{ \"type\""), "{}", plan.text);
    assert!(lines[7].starts_with("\t\t\"SessionStart\": ["), "{}", plan.text);
    let minified = installed(r#"{"model":"opus"}"#);
    assert!(minified.text.starts_with(r#"{"model":"opus","hooks":{"SessionStart":[{"hooks":[{"type":"command","#));
    let one_line = installed(r#"{ "model": "opus" }"#);
    assert!(
        one_line.text.starts_with(r#"{ "model": "opus", "hooks": { "SessionStart": [{ "hooks""#),
        "{}",
        one_line.text
    );
    assert!(one_line.text.ends_with("] } }"), "{}", one_line.text);
}

#[test]
fn an_entry_with_other_paths_is_replaced_in_place_and_keeps_what_the_user_added() {
    let old = Entries {
        client: Client::Claude,
        hook: Hook::new(Client::Claude, "/old/haltline", "/s", "/c"),
        status_line: None,
    };
    let text = install(
        Some(
            "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]\n  }\n}\n",
        ),
        &old,
    );
    let text = text.expect("installs").text.replace("\"timeout\": 5", "\"timeout\": 9");
    let plan = installed(&text);
    assert_eq!((plan.added.len(), plan.replaced.len()), (0, layout().listeners().count()));
    let expected = text.replace("/old/haltline", OWN).replace("\"/s\"", "\"/home/ana/.local/state/haltline\"");
    assert_eq!(plan.text, expected.replace("\"/c\"", "\"/home/ana/config.toml\""));
}

#[test]
fn each_event_has_one_entry_and_it_sees_every_call() {
    let hook = |command: &str| handler(&entries().hook.with_option("--state", command));
    let text = json!({"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [hook("a"), {"type": "command", "command": "mine"}]}],
        "Stop": [{"hooks": [hook("b")]}, {"hooks": [hook("c")]}],
        "Notification": [{"hooks": [hook("d")]}],
    }});
    let plan = installed(&text.to_string());
    let found = find(&plan.text, Client::Claude, OWN).expect("JSON");
    assert_eq!(found.len(), layout().listeners().count(), "{}", plan.text);
    assert!(found.iter().all(|found| !found.is_restricted && found.hook == entries().hook), "{found:?}");
    let user = json!([{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}]);
    assert_eq!(value(&removed(&plan))["hooks"]["PreToolUse"], user);
}

#[test]
fn the_users_containers_stay_and_haltlines_are_removed_even_after_edits() {
    let text = r#"{"hooks": { "Stop": [ ] , "PreToolUse": []}, "env": {}}"#;
    let plan = installed(text);
    assert_eq!(removed(&plan), text);
    let edited = plan.text.replacen("\"env\": {}", "\"env\": {\"A\": \"1\"}", 1);
    let left = remove(&edited, Client::Claude, OWN, Some(&plan.trace)).expect("JSON").expect("ours");
    assert_eq!(left, text.replace("\"env\": {}", "\"env\": {\"A\": \"1\"}"));
    let left = remove(&plan.text, Client::Claude, OWN, None).expect("JSON").expect("ours");
    assert_eq!(left, r#"{"env": {}}"#);
}

#[test]
fn the_version_stays_where_the_users_own_hooks_need_it() {
    for before in [None, Some("{}"), Some("{\"hooks\": {}}")] {
        let plan = install(before, &entries_of(Client::Cursor)).expect("installs");
        let mine = json!({"command": "mine"});
        let mut edited = value(&plan.text);
        edited["hooks"]["stop"].as_array_mut().expect("array").insert(0, mine.clone());
        let left = remove(&edited.to_string(), Client::Cursor, OWN, Some(&plan.trace)).expect("JSON").expect("ours");
        assert_eq!(value(&left), json!({"version": 1, "hooks": {"stop": [mine]}}), "{before:?}");
    }
}

#[test]
fn a_hook_the_user_added_next_to_haltlines_stays() {
    let plan = installed("{}");
    let mine = json!({"type": "command", "command": "mine"});
    let mut edited = value(&plan.text);
    edited["hooks"]["Stop"][0]["hooks"].as_array_mut().expect("array").insert(0, mine.clone());
    edited["hooks"]["PreToolUse"].as_array_mut().expect("array").insert(0, json!({"hooks": [mine]}));
    let text = serde_json::to_string_pretty(&edited).expect("JSON");
    let left = remove(&text, Client::Claude, OWN, Some(&plan.trace)).expect("JSON").expect("ours");
    assert_eq!(value(&left), json!({"hooks": {"PreToolUse": [{"hooks": [mine]}], "Stop": [{"hooks": [mine]}]}}));
}

#[test]
fn invalid_settings_are_an_error_with_a_position() {
    let error = |text: &str| install(Some(text), &entries()).expect_err("refused");
    let invalid = error("{\n  mine\n  \"a\": 1\n}");
    assert!(matches!(invalid, InstallError::NotJson { line: 2, column: 3, .. }), "{invalid:?}");
    assert_eq!(error("[]").to_string(), "line 1: the file is not an object");
    assert_eq!(error("{\n\"hooks\": []}").to_string(), "line 2: hooks is not an object");
    assert_eq!(error("{\"hooks\": {\"Stop\": null}}").to_string(), "line 1: hooks.Stop is not an array");
    assert!(matches!(error("{} x"), InstallError::NotJson { line: 1, column: 4, .. }));
}

#[test]
fn a_status_line_is_set_only_where_there_is_none() {
    let wanted = Entries { status_line: Some(format!("{OWN} statusline claude")), ..entries() };
    for (text, expected) in
        [("{}", StatusLine::Added), (r#"{"statusLine": {"type": "command", "command": "mine"}}"#, StatusLine::Foreign)]
    {
        let plan = install(Some(text), &wanted).expect("installs");
        assert_eq!(plan.status_line, expected);
        assert_eq!(removed(&plan), text);
        let again = install(Some(&plan.text), &wanted).expect("installs");
        assert_eq!(again.text, plan.text);
    }
}

#[test]
fn a_generated_file_is_recognised_and_a_users_file_stays() {
    for client in clients(true) {
        let (entries, word) = (entries_of(client), client.cli_name());
        let plan = install(None, &entries).expect(word);
        let found = find(&plan.text, client, OWN).expect(word);
        // Other files next to it may handle the other events.
        assert!(!found.is_empty() && found.iter().all(|found| plan.added.contains(&found.event.as_str())), "{word}");
        assert!(found.iter().all(|found| found.hook == entries.hook), "{word}");
        let again = install(Some(&plan.text), &entries).expect(word);
        assert_eq!((&again.text, again.added.len(), again.replaced.len()), (&plan.text, 0, 0), "{word}");
        let moved = Entries { hook: entries.hook.with_option("--state", "/srv/it's \"here\"\\"), ..entries.clone() };
        let moved = install(Some(&plan.text), &moved).expect(word);
        assert_eq!(moved.replaced, std::slice::from_ref(&entries.hook), "{word}");
        assert_eq!(install(Some(&moved.text), &entries).expect(word).text, plan.text, "{word}: quotes come back");
        assert_eq!(remove(&plan.text, client, OWN, None).expect(word).as_deref(), Some(""), "{word}");
        for theirs in ["", "#!/bin/sh\necho mine\n", "export default async () => ({})\n"] {
            assert!(matches!(install(Some(theirs), &entries), Err(InstallError::Foreign { .. })), "{word}");
            assert_eq!(remove(theirs, client, OWN, None), Ok(None), "{word}");
            assert_eq!(find(theirs, client, OWN), Ok(Vec::new()), "{word}");
        }
    }
}

/// Codex runs a hook only if it is exactly what its user trusted. A change of what `init` writes would silently void
/// that trust for every user, so this test fails first (X2).
#[test]
fn init_writes_exactly_what_codex_users_have_trusted() {
    let plan = install(None, &entries_of(Client::Codex)).expect("installs");
    let hooks = trust::hooks(&plan.text, "/home/ana/.codex/hooks.json", "", OWN);
    let hashes: Vec<String> = hooks.iter().map(|hook| format!("{} {}", hook.key, hook.hash)).collect();
    let digest = haltline_core::digest_hex(&[hashes.join("\n").as_bytes()], 16);
    assert_eq!((hashes.len(), digest.as_str()), (10, "ceddc6c5b5003bf20ae65145fde57b3a"), "{hashes:#?}");
}

/// Any JSON value, with the keys that matter here among its keys.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~\\n\"\\\\é{}\\[\\],:]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any_key(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec!["hooks", "matcher", "command", "args", "statusLine", "Stop", "env"])
            .prop_map(str::to_owned),
        "[a-z\"\\\\ ]{0,6}",
    ]
}

/// A list of groups as the client has them, or malformed ones.
fn any_groups() -> impl Strategy<Value = Value> {
    let handler = prop_oneof![Just(json!({"type": "command", "command": "mine"})), any_value()];
    let handlers = prop::collection::vec(handler, 0..3);
    let group = prop_oneof![
        handlers.clone().prop_map(|handlers| json!({"matcher": "Bash", "hooks": handlers})),
        handlers.prop_map(|handlers| json!({"hooks": handlers})),
        any_value(),
    ];
    prop::collection::vec(group, 0..3).prop_map(Value::from)
}

fn any_settings() -> impl Strategy<Value = Value> {
    let events = prop::sample::select(vec!["Stop", "PreToolUse", "SessionEnd", "Notification", "SessionStart"]);
    let hooks = prop::collection::vec((events, any_groups()), 0..4)
        .prop_map(|events| Value::Object(events.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()));
    (prop::collection::vec((any_key(), any_value()), 0..4), prop::option::of(hooks), any::<prop::sample::Index>())
        .prop_map(|(mut members, hooks, position)| {
            members.retain(|(key, _)| key != "hooks");
            if let Some(hooks) = hooks {
                members.insert(position.index(members.len() + 1), ("hooks".to_owned(), hooks));
            }
            Value::Object(members.into_iter().collect())
        })
}

/// Writes a value with the next of `blanks` between any two tokens.
fn write(value: &Value, blanks: &mut dyn Iterator<Item = &'static str>, out: &mut String) {
    let (open, close, items): (char, char, Vec<(Option<&str>, &Value)>) = match value {
        Value::Object(members) => ('{', '}', members.iter().map(|(key, value)| (Some(key.as_str()), value)).collect()),
        Value::Array(elements) => ('[', ']', elements.iter().map(|element| (None, element)).collect()),
        plain => return out.push_str(&plain.to_string()),
    };
    out.push(open);
    out.push_str(blanks.next().unwrap_or_default());
    for (index, (key, value)) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
            out.push_str(blanks.next().unwrap_or_default());
        }
        if let Some(key) = key {
            out.push_str(&Value::from(key).to_string());
            out.push_str(blanks.next().unwrap_or_default());
            out.push(':');
            out.push_str(blanks.next().unwrap_or_default());
        }
        write(value, blanks, out);
        out.push_str(blanks.next().unwrap_or_default());
    }
    out.push(close);
}

/// A value as a tool or a careless person would format it.
fn any_text() -> impl Strategy<Value = String> {
    let blanks =
        prop::collection::vec(prop::sample::select(vec!["", "", " ", "\n", "\n  ", "\t", "\r\n\t", "  \n\n "]), 1..40);
    (any_settings(), blanks, 0..6_u8, any::<bool>()).prop_map(|(settings, blanks, formatting, has_byte_order_mark)| {
        let pretty = serde_json::to_string_pretty(&settings).expect("JSON");
        let text = match formatting {
            0 => pretty,
            1 => pretty.replace('\n', "\r\n") + "\r\n",
            2 => settings.to_string(),
            _careless => {
                let mut out = String::new();
                write(&settings, &mut blanks.iter().copied().cycle(), &mut out);
                out + blanks[0]
            }
        };
        if has_byte_order_mark { format!("\u{feff}{text}") } else { text }
    })
}

/// A value without haltline's entries and the containers that held nothing else; the user's own empty containers stay
/// as in `before`.
fn without_ours(mut after: Value, before: &Value) -> Value {
    let ours = handler(&entries().hook);
    if let Some(events) = after.get_mut("hooks").and_then(Value::as_object_mut) {
        for groups in events.values_mut().filter_map(Value::as_array_mut) {
            groups.retain(|group| group != &json!({"hooks": [ours]}));
        }
        events.retain(|event, groups| groups != &json!([]) || before["hooks"].get(event).is_some());
        if events.is_empty() && before.get("hooks").is_none() {
            after.as_object_mut().expect("an object").shift_remove("hooks");
        }
    }
    after
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn removing_what_was_installed_restores_every_byte(
        text in any_text(),
        client in prop::sample::select(clients(false)),
    ) {
        let entries = entries_of(client);
        let plan = match install(Some(&text), &entries) {
            Ok(plan) => plan,
            Err(error) => return Err(TestCaseError::fail(format!("{error}: {text}"))),
        };
        prop_assert_eq!(plan.added.len(), client.protocol().layout.listeners().count());
        prop_assert_eq!(find(&plan.text, client, OWN).expect("JSON").len(), plan.added.len());
        let removed = remove(&plan.text, client, OWN, Some(&plan.trace)).expect("JSON").expect("entries of ours");
        prop_assert_eq!(removed, text.clone());
        let again = install(Some(&plan.text), &entries).expect("its own text");
        prop_assert_eq!(&again.text, &plan.text);
        prop_assert!(again.added.is_empty() && again.replaced.is_empty());
        if client == Client::Claude {
            let before = value(&text);
            prop_assert_eq!(without_ours(value(&plan.text), &before).to_string(), before.to_string());
        }
    }

    #[test]
    fn no_text_makes_an_installation_panic(text in "[{}\\[\\]\",:a-z \\n\\\\/*é]{0,40}") {
        for client in Client::ALL {
            drop(install(Some(&text), &entries_of(client)));
            drop(remove(&text, client, OWN, None));
            drop(find(&text, client, OWN));
        }
    }
}
