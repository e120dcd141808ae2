//! The reference pages are generated from the binary. `UPDATE_REFERENCE=1` rewrites them.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use haltline_core::CODE_PAGES;
use haltline_core::loop_::WAYS_OUT;
use haltline_engine::config::{commented_toml, json_schema};

fn reference(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/NAME lies two folders below the root").join("docs/reference").join(name)
}

fn compare(name: &str, expected: &str) {
    let path = reference(name);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::write(&path, expected).expect("written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/reference/{name} is not up to date: run with UPDATE_REFERENCE=1");
}

#[test]
fn the_configuration_reference_is_up_to_date() {
    compare("config.toml", &commented_toml());
    compare("config.schema.json", &format!("{:#}\n", json_schema()));
}

#[test]
fn the_reference_of_codes_is_up_to_date() {
    let mut text = String::from(
        "# Codes\n\nGenerated from the binary; `haltline explain CODE` prints the same, with the current limits.\n",
    );
    let mut breaker = "";
    for page in CODE_PAGES {
        if page.breaker != breaker {
            breaker = page.breaker;
            write!(
                text,
                "\n## {breaker}\n\n| code | pattern | meaning | what to do | limits |\n|---|---|---|---|---|\n"
            )
            .expect("writing to a String cannot fail");
        }
        let pattern = if page.pattern.is_empty() { String::new() } else { format!("`{}`", page.pattern) };
        let keys: Vec<String> = page.keys.iter().map(|key| format!("`{key}`")).collect();
        let (code, meaning, advice) = (page.code, page.meaning, page.advice);
        writeln!(text, "| `{code}` | {pattern} | {meaning} | {advice} | {} |", keys.join(", "))
            .expect("writing to a String cannot fail");
    }
    compare("codes.md", &text);
}

#[test]
fn the_schema_of_the_claim_ledger_is_up_to_date() {
    compare("claim-ledger.schema.json", &format!("{:#}\n", haltline::claim_ledger_schema()));
}

#[test]
fn the_command_reference_is_up_to_date() {
    let mut text = String::from("# Commands\n\nGenerated from the binary; `--help` says the same.\n");
    let mut command = haltline::command().term_width(80);
    command.build();
    describe(&mut command, "haltline", &mut text);
    compare("commands.md", &text);
}

fn describe(command: &mut clap::Command, path: &str, text: &mut String) {
    let help = command.render_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    write!(text, "\n## `{path}`\n\n```text\n{}\n```\n", lines.join("\n")).expect("writing to a String cannot fail");
    for below in command.get_subcommands_mut() {
        let path = format!("{path} {}", below.get_name());
        describe(below, &path, text);
    }
}

#[test]
fn help_begins_with_a_verb_has_no_full_stop_and_shows_an_example() {
    let mut command = haltline::command();
    command.build();
    check(&command, "haltline");
}

fn check(command: &clap::Command, path: &str) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let is_imperative = about.chars().next().is_some_and(char::is_uppercase) && !about.ends_with('.');
    assert!(is_imperative, "{path}: {about:?}");
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    assert!(command.has_subcommands() || after.contains("haltline "), "{path} shows no example");
    for below in command.get_subcommands() {
        check(below, &format!("{path} {}", below.get_name()));
    }
}

#[test]
fn the_reference_lists_every_way_out_of_every_client() {
    let page = fs::read_to_string(reference("loop.md")).expect("it exists");
    for (client, tools) in WAYS_OUT {
        let name = if *client == "other" { "| other programs |".to_owned() } else { format!("| `{client}` |") };
        let row = page.lines().find(|line| line.starts_with(&name)).unwrap_or_else(|| panic!("no row of {client}"));
        for (tool, _way_out) in *tools {
            assert!(row.contains(&format!("`{tool}`")), "{tool} of {client}");
        }
    }
}
