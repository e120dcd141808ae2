//! Every command is an operator action or is not (E6), in three places that must agree: the help says "people only", the
//! hook denies the command line, and the command denies itself inside an agent. A new command fails here until it has its
//! row.

use std::collections::BTreeMap;
use std::fs;

use haltline_core::shell::{Script, operator_verb};

use crate::support::hooks::{Client, facts};
use crate::support::{Answer, Site};

/// Who may run a command.
enum For {
    Anyone,
    /// Always an operator action; with these arguments it would be carried out.
    People(&'static [&'static str]),
    /// An operator action with these arguments, and not with others.
    PeopleWith(&'static [&'static str]),
}

use For::{Anyone, People, PeopleWith};

const COMMANDS: [(&str, For); 85] = [
    ("init", Anyone),
    ("doctor", Anyone),
    ("demo", Anyone),
    ("uninstall", People(&[])),
    ("update", People(&[])),
    ("status", Anyone),
    ("incidents", Anyone),
    ("why", Anyone),
    ("explain", Anyone),
    ("serve", Anyone),
    ("mcp", Anyone),
    ("backtest", Anyone),
    ("resume", People(&[])),
    ("reset", People(&["--all"])),
    ("pause", People(&["30m"])),
    ("unpause", People(&[])),
    ("budget", Anyone),
    ("budget set", People(&["day", "15usd"])),
    ("budget raise", People(&["day", "5usd", "--reason", "mine"])),
    ("prices", Anyone),
    ("prices update", People(&["prices.txt"])),
    ("false-positive", People(&[])),
    ("trust", People(&[])),
    ("config show", Anyone),
    ("config get", Anyone),
    ("config set", People(&["mode", "observe"])),
    ("config unset", People(&["mode"])),
    ("config edit", People(&[])),
    ("config check", Anyone),
    ("config schema", Anyone),
    ("config defaults", Anyone),
    ("config path", Anyone),
    ("constraint new", Anyone),
    ("constraint status", Anyone),
    ("constraint check", Anyone),
    ("constraint record", Anyone),
    ("constraint pass", Anyone),
    ("constraint enforce", Anyone),
    ("constraint reset", People(&["rule", "--reason", "mine"])),
    ("constraint history", Anyone),
    ("constraint config", Anyone),
    ("constraint override", People(&["rule", "--reason", "mine"])),
    ("constraint retire", People(&["rule"])),
    ("phase begin", PeopleWith(&["GREEN", "--new-run"])),
    ("phase check", Anyone),
    ("phase report", Anyone),
    ("phase decide", People(&["reset"])),
    ("phase status", Anyone),
    ("phase history", Anyone),
    ("attempt begin", PeopleWith(&["--slice", "S-1", "--in-scope", ".", "--reason", "mine"])),
    ("attempt check", Anyone),
    ("attempt run", Anyone),
    ("attempt record", Anyone),
    ("attempt status", Anyone),
    ("attempt history", Anyone),
    ("attempt report", Anyone),
    ("attempt scope", Anyone),
    ("attempt deviate", Anyone),
    ("attempt rollback", People(&["--slice", "S-1"])),
    ("attempt reset", People(&["--slice", "S-1", "--hint", "mock it"])),
    ("attempt prior", Anyone),
    ("attempt end", PeopleWith(&["--slice", "S-1", "--give-up"])),
    ("claim add", Anyone),
    ("claim round", Anyone),
    ("claim cycle begin", Anyone),
    ("claim cycle end", Anyone),
    ("claim show", Anyone),
    ("claim list", Anyone),
    ("claim ledger", Anyone),
    ("claim promote", Anyone),
    ("claim kill", Anyone),
    ("claim edit", Anyone),
    ("claim resolve new-data", Anyone),
    ("claim resolve drop", Anyone),
    ("claim resolve override", People(&["C-1", "--status", "VERIFIED", "--reason", "mine"])),
    ("claim reexamine", Anyone),
    ("claim advance-stage", Anyone),
    ("claim close-stage", Anyone),
    ("run", Anyone),
    ("ralph init", Anyone),
    ("ralph record", Anyone),
    ("ralph status", Anyone),
    ("ralph reset", People(&[])),
    ("ralph halt", Anyone),
    ("hook", Anyone),
];

/// Commands that only read, write for the agent, or serve the person's shell.
const MORE: [&str; 14] = [
    "event",
    "journal show",
    "journal verify",
    "journal export",
    "notify deliver",
    "notify test",
    "memory report",
    "memory clean",
    "purge",
    "statusline",
    "completions",
    "man",
    "help",
    "version",
];

fn table() -> BTreeMap<&'static str, &'static For> {
    let more = MORE.iter().map(|&path| (path, if path == "purge" { &People(&["s", "--yes"]) } else { &Anyone }));
    COMMANDS.iter().map(|(path, class)| (*path, class)).chain(more).collect()
}

/// Every command that does something, with the end of the first sentence of its help.
fn all(command: &clap::Command, path: &str, found: &mut BTreeMap<String, String>) {
    for below in command.get_subcommands() {
        let path = format!("{path} {}", below.get_name()).trim_start().to_owned();
        if !below.is_subcommand_required_set() {
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            found.insert(path.clone(), about.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        all(below, &path, found);
    }
}

fn words(path: &'static str, arguments: &[&'static str]) -> Vec<&'static str> {
    path.split(' ').chain(arguments.iter().copied()).collect()
}

#[test]
fn every_command_has_its_row_and_its_help_says_whether_it_is_for_people() {
    let mut found = BTreeMap::new();
    all(&haltline::command(), "", &mut found);
    let table = table();
    let (found_paths, known): (Vec<&str>, Vec<&str>) =
        (found.keys().map(String::as_str).collect(), table.keys().copied().collect());
    assert_eq!(found_paths, known, "say in COMMANDS who may run each command");
    for (path, class) in table {
        let is_for_people = matches!(class, People(_));
        assert_eq!(found[path].ends_with("(people only)"), is_for_people, "{path}: {}", found[path]);
    }
}

#[test]
fn the_hook_knows_every_operator_action_and_no_other() {
    for (path, class) in table() {
        let verb = |arguments: &[&'static str]| {
            operator_verb(&Script::parse(&format!("haltline {}", words(path, arguments).join(" "))))
        };
        match class {
            Anyone => assert_eq!(verb(&[]), None, "{path}"),
            People(arguments) => {
                assert!(verb(arguments).is_some(), "{path}");
                let before =
                    ["--json", "-C . "].map(|option| format!("haltline {option} {path} {}", arguments.join(" ")));
                for line in before {
                    assert!(operator_verb(&Script::parse(&line)).is_some(), "{line}");
                }
            }
            PeopleWith(arguments) => {
                assert!(verb(arguments).is_some(), "{path}");
                assert_eq!(verb(&["S-1"]), None, "{path}");
            }
        }
    }
}

/// A site where every operator action finds something to act on.
fn busy_site() -> Site {
    let site = Site::new();
    site.config("mode = \"enforce\"\n");
    site.constraint("rule", "violation_threshold: 1");
    site.record("rule", "x");
    site.file(".haltline.toml", "[loop.repeat]\ndeny = 99\n");
    let client = Client { site: &site, session: "stuck" };
    for number in 0..8 {
        client.shell(&format!("c{number}"), "npm test", Err("Exit code 1\nnope"));
    }
    for line in [
        "attempt begin --slice S-1 --in-scope src/",
        "attempt record --slice S-1 --test t --result fail --strategy a",
        "attempt record --slice S-1 --test t --result fail --strategy b",
        "attempt record --slice S-1 --test t --result fail --strategy c",
        "phase begin GREEN",
        "claim add C-1 --text heavy",
        "ralph init",
    ] {
        site.run(&line.split(' ').collect::<Vec<_>>());
    }
    site
}

/// Runs an operator action without a terminal. Returns true if the command asked who runs it; one that finds nothing to act
/// on does not come so far.
fn is_denied(site: &Site, path: &'static str, arguments: &[&'static str]) -> bool {
    let config = || fs::read_to_string(site.home().join("config.toml")).unwrap_or_default();
    let before = (facts(site).len(), config());
    let words = words(path, arguments);
    let Answer { code, out, err } = site.run_detached(&words, &[]);
    assert_eq!((facts(site).len(), config()), before, "{words:?} changed something: {out}{err}");
    let is_denied = code == Some(77);
    assert!(!is_denied || err.contains("is for people"), "{words:?}: {err}");
    is_denied
}

/// Actions that the site gives nothing to act on: no repository, prices, one incident to choose, pause or installation. They say so before they ask
/// who runs them, and other tests play them.
const NOTHING_TO_ACT_ON: [&str; 5] = ["attempt rollback", "prices update", "resume", "unpause", "update"];

/// Another program may reset Ralph's circuit for a person, without a terminal; `ralph.rs` tests that no agent may.
const FOR_PROGRAMS: &str = "ralph reset";

#[test]
fn without_a_person_every_operator_action_denies_itself_and_changes_nothing() {
    let site = busy_site();
    let mut not_reached = Vec::new();
    for (path, class) in table() {
        match class {
            Anyone => {}
            _for_people if path == FOR_PROGRAMS => {}
            People(arguments) | PeopleWith(arguments) => {
                if !is_denied(&site, path, arguments) {
                    not_reached.push(path);
                }
            }
        }
    }
    assert_eq!(not_reached, NOTHING_TO_ACT_ON);
    assert_eq!(site.status("rule")["state"], "OPEN");
}
