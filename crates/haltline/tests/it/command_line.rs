//! What every command has in common: help, version, manual pages, empty states, errors as JSON and exit codes.

use crate::support::Site;
use crate::support::terminal::Terminal;

#[test]
fn help_lists_the_commands_by_group_and_explains_each_of_them() {
    let site = Site::new();
    let help = site.run(&["--help"]);
    let headings: Vec<&str> = help.out.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
    assert_eq!(headings, ["Start:", "See:", "Control:", "Breakers:", "Plumbing:", "Options:", "Examples:"]);
    assert_eq!(site.run(&["help"]).out, help.out);
    let one = site.run(&["help", "constraint", "record"]);
    assert_eq!((one.code, one.out.clone()), (Some(0), site.run(&["constraint", "record", "--help"]).out));
    assert!(one.out.contains("haltline constraint record git-safety-force-push"), "{one:?}");
    let unknown = site.run(&["help", "constraint", "records"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert_eq!(site.run(&["hook", "--help"]).out, site.run(&["help", "hook"]).out);
}

#[test]
fn the_version_has_a_command_an_option_and_json() {
    let site = Site::new();
    let expected = format!("haltline {}\n", env!("CARGO_PKG_VERSION"));
    for arguments in [&["version"][..], &["--version"], &["-V"]] {
        assert_eq!(site.run(arguments).out, expected, "{arguments:?}");
    }
    assert_eq!(site.run(&["version", "--json"]).json()["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn manual_pages_are_printed_one_by_one_or_written_all_at_once() {
    let site = Site::new();
    let page = site.run(&["man", "config", "set"]);
    assert_eq!(page.code, Some(0), "{page:?}");
    assert!(page.out.contains(".TH haltline-config-set 1"), "{}", page.out);
    assert!(page.out.contains("haltline config set mode observe"), "{}", page.out);
    assert!(site.run(&["man"]).out.contains(".TH haltline 1"));
    assert_eq!(site.run(&["man", "nothing"]).code, Some(2));
    let folder = site.home().join("man1");
    let written = site.run(&["man", "--to", folder.to_str().expect("text")]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let names = crate::support::names(&folder);
    for page in ["haltline.1", "haltline-pause.1", "haltline-claim-resolve-drop.1"] {
        assert!(names.iter().any(|name| name == page), "{page}: {names:?}");
    }
}

#[test]
fn without_a_command_a_pipe_gets_the_help_on_standard_output() {
    let site = Site::new();
    let bare = site.run(&[]);
    assert_eq!((bare.code, bare.out, bare.err.as_str()), (Some(0), site.run(&["--help"]).out, ""));
}

#[test]
fn a_client_that_drops_the_arguments_of_a_hook_reads_nothing() {
    let site = Site::new();
    let mut command = site.command(&[]);
    command.stdin(std::process::Stdio::piped());
    let output = command.stdout(std::process::Stdio::piped()).output().expect("the binary starts");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn without_a_command_a_terminal_gets_the_offer_to_install_and_then_the_status() {
    let site = Site::new();
    std::fs::create_dir_all(site.home().join(".claude")).expect("created");
    std::fs::create_dir_all(site.home().join(".codex")).expect("created");
    let mut declined = Terminal::start(&site, &[]);
    assert!(declined.read_until("Install the hooks of all 2? [Y/n] "), "{}", declined.seen);
    assert!(declined.seen.contains("Claude Code") && declined.seen.contains("Codex"), "{}", declined.seen);
    declined.type_line("n");
    let (code, seen) = declined.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("Nothing has changed."), "{seen}");
    assert!(!site.home().join(".claude/settings.json").exists());
    let mut agreed = Terminal::start(&site, &[]);
    assert!(agreed.read_until("[Y/n] "), "{}", agreed.seen);
    agreed.type_line("");
    let (code, seen) = agreed.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(site.home().join(".claude/settings.json").exists() && site.home().join(".codex/hooks.json").exists());
    let (code, seen) = Terminal::start(&site, &[]).end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("Project"), "the status screen: {seen}");
}

#[test]
fn an_unknown_command_never_leads_to_one_that_destroys_something() {
    let site = Site::new();
    for word in ["upgrade", "purgee", "purg", "unpaus", "uninstal", "resett", "rest"] {
        let answer = site.run(&[word]);
        assert_eq!(answer.code, Some(2), "{answer:?}");
        for dangerous in ["'purge'", "'uninstall'", "'reset'", "'unpause'"] {
            assert!(!answer.err.contains(dangerous), "{answer:?}");
        }
    }
    assert!(site.run(&["statu"]).err.contains("'status'"));
}

#[test]
fn errors_are_one_json_object_on_standard_output_with_the_same_exit_code() {
    let site = Site::new();
    for (arguments, kind) in [
        (&["why", "ffffffff"][..], "error"),
        (&["constraint", "check", "missing"], "error"),
        (&["config", "get", "mod"], "error"),
        (&["journal", "show", "--limit", "many"], "usage"),
        (&["nonsense"], "usage"),
        (&["completions", "bash"], "usage"),
        (&["man"], "usage"),
        (&["constraint", "reset", "missing"], "error"),
        (&["pause"], "operator_only"),
    ] {
        let mut arguments = arguments.to_vec();
        let plain = site.run_detached(&arguments, &[("CLAUDECODE", "1")]);
        arguments.push("--json");
        let answer = site.run_detached(&arguments, &[("CLAUDECODE", "1")]);
        let json = answer.json();
        assert_eq!((json["error"]["kind"].as_str(), json["schema"].as_u64()), (Some(kind), Some(1)), "{answer:?}");
        assert!(json["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{answer:?}");
        assert!(json["error"].as_object().is_some_and(|error| error.contains_key("hint")), "{answer:?}");
        assert_eq!(answer.err, "", "{arguments:?}");
        let makes_sense = !matches!(arguments[0], "completions" | "man");
        assert!(!makes_sense || plain.code == answer.code, "{plain:?} {answer:?}");
    }
}

#[test]
fn nothing_to_show_is_no_error() {
    let site = Site::new();
    for arguments in [
        &["why"][..],
        &["phase", "status"],
        &["phase", "history"],
        &["attempt", "status"],
        &["attempt", "history"],
        &["claim", "list"],
        &["constraint", "status"],
        &["memory", "report"],
        &["trust", "--list"],
        &["unpause"],
    ] {
        let answer = site.run(arguments);
        assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{arguments:?} {answer:?}");
        assert!(!answer.out.is_empty(), "{arguments:?}");
        let mut arguments = arguments.to_vec();
        arguments.push("--json");
        assert_eq!(site.run(&arguments).json()["schema"], 1, "{arguments:?}");
    }
}

#[test]
fn one_flag_per_meaning_and_the_old_names_still_work() {
    let site = Site::new();
    site.run(&["claim", "add", "C-1", "--text", "x"]);
    for (flag, claim) in [("--reason", "C-1"), ("--rationale", "C-1")] {
        let answer = site.run(&["claim", "resolve", "drop", claim, flag, "no data"]);
        assert!(answer.err.contains("not DISPUTED") || answer.code == Some(1), "{flag}: {answer:?}");
    }
    for flag in ["--memory", "--dir"] {
        let folder = site.home().to_str().expect("text");
        assert_eq!(site.run(&["memory", "report", flag, folder]).code, Some(0), "{flag}");
    }
    for flag in ["--run", "--name"] {
        let ended = site.run(&["run", "--loop", flag, "night", "--max-iterations", "1", "-q", "--", "true"]);
        assert_eq!(ended.code, Some(75), "{flag}: {ended:?}");
        assert_eq!(site.run(&["phase", "status", &format!("{flag}=night")]).code, Some(0), "{flag}");
    }
    for flag in ["--hint", "--guidance"] {
        let answer = site.run(&["phase", "decide", "modify", flag, "x"]);
        assert_eq!(answer.code, Some(1), "{flag}: {answer:?}");
        assert!(answer.err.contains("no phase has begun"), "{answer:?}");
    }
}

#[test]
fn a_run_reports_as_json_in_its_last_line() {
    let site = Site::new();
    let once = site.run(&["run", "--json", "--", "echo", "hi"]);
    let (first, last) = once.out.trim_end().split_once('\n').expect("two lines");
    assert_eq!((once.code, first), (Some(0), "hi"), "{once:?}");
    let report: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!((&report["schema"], &report["command"]["exit_code"]), (&1.into(), &0.into()), "{report}");
    let looped = site.run(&["run", "--loop", "--max-iterations", "1", "--json", "--", "true"]);
    let last: serde_json::Value = serde_json::from_str(looped.out.lines().last().expect("a line")).expect("JSON");
    assert_eq!((looped.code, last["end"].as_str()), (Some(75), Some("budget")), "{looped:?}");
}

#[test]
fn what_was_recorded_exits_with_0_and_what_is_denied_with_77_in_every_breaker() {
    let site = Site::new();
    site.constraint("rule", "violation_threshold: 1");
    assert_eq!(site.record("rule", "x").code, Some(0), "the trip is recorded");
    assert_eq!(site.run(&["constraint", "check", "rule"]).code, Some(77));
    site.run(&["phase", "begin", "GREEN"]);
    let report = ["phase", "report", "--metric", "tests_passing=0", "--error-type", "E", "--error-message", "x"];
    let codes: Vec<_> = (0..12).map(|_| site.run(&report).code).collect();
    assert!(codes.iter().all(|code| *code == Some(0)), "{codes:?}");
    assert_eq!(site.run(&["phase", "check"]).code, Some(77));
    site.run(&["attempt", "begin", "--slice", "S-1", "--in-scope", "src/"]);
    for (strategy, code) in [("one", 0), ("two", 0), ("three", 0), ("four", 77)] {
        let recorded = site.run(&["attempt", "record", "--test", "t", "--result", "fail", "--strategy", strategy]);
        assert_eq!(recorded.code, Some(code), "the third trips, the fourth is not recorded: {recorded:?}");
    }
    assert_eq!(site.run(&["attempt", "check", "--test", "t"]).code, Some(77));
    let rejected = site.file("report.yaml", "diagnosis: none\n");
    let filed = site.run(&["attempt", "report", "--file", rejected.to_str().expect("text")]);
    assert_eq!(filed.code, Some(1), "a report that is not accepted is an error: {filed:?}");
}

#[test]
fn init_answered_with_no_changes_nothing_and_is_no_error() {
    let site = Site::new();
    let mut terminal = Terminal::start(&site, &["init"]);
    assert!(terminal.read_until("Apply? [Y/n] "), "{}", terminal.seen);
    terminal.type_line("n");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("Nothing has changed.") && !seen.contains("error:"), "{seen}");
}

#[test]
fn purge_asks_on_a_terminal_and_needs_yes_elsewhere() {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n");
    site.constraint("rule", "violation_threshold: 5");
    site.run(&["constraint", "record", "rule", "--action", "x", "--session", "s1"]);
    let unasked = site.run_detached(&["purge", "s1"], &[]);
    assert_eq!(unasked.code, Some(1), "{unasked:?}");
    assert!(unasked.err.contains("add --yes"), "{unasked:?}");
    let mut terminal = Terminal::start(&site, &["purge", "s1"]);
    if !terminal.read_until("permanently? [y/N] ") {
        let token = terminal.token();
        terminal.type_line(&token);
        terminal.read_until("permanently? [y/N] ");
    }
    terminal.type_line("");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("Nothing has changed."), "{seen}");
    assert!(site.run(&["journal", "export"]).out.contains("\"s1\""), "the texts are still there");
    assert_eq!(site.run_detached(&["purge", "s1", "-y"], &[]).code, Some(0));
    assert!(!site.run(&["journal", "export"]).out.contains("\"s1\""));
}
