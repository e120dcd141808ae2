//! What people see on a terminal: colour, width, local time, and nothing of it through a pipe.

use crate::support::{COLUMNS, Site, on_terminal};

/// A project with an OPEN constraint whose violation tried to colour the screen.
fn tripped() -> Site {
    let site = Site::new();
    site.constraint("no-x", "violation_threshold: 1");
    let action = format!("\u{1b}[31mred\u{1b}[0m \u{fdd2}mark\u{fdd0} {}", "long ".repeat(30));
    site.record("no-x", &action);
    site
}

#[test]
fn colour_is_for_terminals_and_the_flag_and_the_variables_decide() {
    let site = tripped();
    let is_colored = |text: &str| text.contains('\u{1b}');
    let colored = on_terminal(&site, &["status"], &[]);
    assert!(colored.contains("\u{1b}[31mOPEN\u{1b}[0m since "), "{colored:?}");
    assert!(colored.starts_with("\u{1b}[1m1 thing needs you:\u{1b}[0m\n"), "{colored:?}");
    assert!(!is_colored(&on_terminal(&site, &["status"], &[("NO_COLOR", "1")])));
    assert!(!is_colored(&on_terminal(&site, &["status", "--color", "never"], &[])));
    assert!(!is_colored(&on_terminal(&site, &["status", "--json"], &[])));
    assert!(!is_colored(&site.run(&["status"]).out));
    assert!(is_colored(&site.run(&["status", "--color", "always"]).out));
    assert!(is_colored(&site.run_detached(&["status"], &[("CLICOLOR_FORCE", "1")]).out));
    let diff = on_terminal(&site, &["init", "--dry-run"], &[]);
    assert!(diff.contains("\u{1b}[32m+"), "{diff:?}");
}

#[test]
fn a_text_of_an_agent_cannot_colour_the_screen() {
    let site = tripped();
    let seen = on_terminal(&site, &["constraint", "history", "no-x"], &[]);
    assert!(seen.contains("\\u{1b}[31mred"), "{seen:?}");
    assert!(!seen.contains("\u{1b}[31mred") && !seen.contains(['\u{fdd0}', '\u{fdd2}']), "{seen:?}");
}

#[test]
fn lines_are_as_wide_as_the_terminal_and_eighty_columns_through_a_pipe() {
    let site = tripped();
    let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    let history = ["constraint", "history", "no-x", "--color", "never"];
    let (wide, piped) = (on_terminal(&site, &history, &[]), site.run(&history).out);
    assert!((81..=usize::from(COLUMNS)).contains(&longest(&wide)), "{wide}");
    assert!(longest(&piped) <= 80, "{piped}");
}

#[test]
fn screens_have_local_time_and_json_has_utc() {
    let site = tripped();
    let utc = site.run(&["status", "--json"]).json();
    let since = utc["needs"][0]["since"].as_str().expect("a time").to_owned();
    assert!(since.ends_with('Z') && since.len() == 24, "{since}");
    // Fourteen hours and one minute east: no hour and minute is the same as in UTC.
    let east = site.run_detached(&["status"], &[("TZ", "EAST-14:01")]).out;
    let minute = |text: &str| -> u32 {
        let (hour, minute) = text.split_once(':').expect("a time");
        hour.parse::<u32>().expect("an hour") * 60 + minute[..2].parse::<u32>().expect("a minute")
    };
    let at = east.find("OPEN since ").expect("it is open") + "OPEN since ".len();
    let local = east[at..].split(',').next().expect("a time").rsplit(' ').next().expect("a time").to_owned();
    assert_eq!((minute(&since[11..]) + 14 * 60 + 1) % 1440, minute(&local), "{since} {east}");
    assert!(east.contains(" ago; until ") || east.contains(", now; until "), "{east}");
}

#[test]
fn status_says_when_nothing_is_installed_and_when_nothing_needs_anybody() {
    let site = Site::new();
    let empty = site.run(&["status"]).out;
    assert!(
        empty.starts_with(
            "Nothing needs you.\nhaltline is not installed for any client here; install it with haltline init\n"
        ),
        "{empty}"
    );
    assert!(!empty.contains("state.db"), "{empty}");
    assert!(site.run(&["status", "--verbose"]).out.contains("state.db"));
    assert_eq!(site.run(&["init", "--yes"]).code, Some(0));
    let installed = site.run(&["status"]).out;
    assert!(installed.contains("No client has reported from this project yet.\n"), "{installed}");
}

#[test]
fn status_of_all_projects_shows_those_that_need_somebody_first() {
    let site = tripped();
    let other = site.home().join("other");
    std::fs::create_dir_all(other.join(".git")).expect("created");
    std::fs::create_dir_all(other.join("docs/constraints/active")).expect("created");
    std::fs::write(other.join("docs/constraints/active/no-y.md"), "---\nid: no-y\n---\n").expect("written");
    let folder = other.to_str().expect("text");
    let recorded = site.run(&["-C", folder, "constraint", "record", "no-y", "--action", "y"]);
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    let all = site.run(&["-C", folder, "status", "--all", "--json"]).json();
    let projects = all["projects"].as_array().expect("a list");
    assert_eq!(projects.len(), 2, "{all:#}");
    assert_eq!(projects[0]["needs"][0]["circuit"].as_str(), Some("constraint/no-x"), "{all:#}");
    assert_eq!(projects[1]["summary"]["open"].as_u64(), Some(0), "{all:#}");
}

#[test]
fn status_of_all_projects_counts_as_the_status_of_one_does() {
    let site = Site::new();
    site.constraint("counted", "violation_threshold: 1");
    site.record("counted", "git push --force");
    site.constraint("untouched", "violation_threshold: 5");
    let one = site.run(&["status", "--json"]).json();
    let all = site.run(&["status", "--all", "--json"]).json();
    assert_eq!(one["summary"], all["projects"][0]["summary"], "{all}");
    assert_eq!((&one["summary"]["open"], &one["summary"]["closed"]), (&serde_json::json!(1), &serde_json::json!(1)));
}
