//! `init`, `uninstall` and `doctor` with real settings files and the real binary.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::support::{Answer, HALTLINE, Site, names};
use haltline_agents::codex::trust;

const USER_SETTINGS: &str = "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\n                \"matcher\": \"Bash\",\n                \"hooks\": [{\"type\": \"command\", \"command\": \"mine.sh\"}]\n            }\n        ],\n        \"Stop\": []\n    },\n    \"env\": {}\n}";

pub fn settings(site: &Site) -> PathBuf {
    site.home().join(".claude/settings.json")
}

pub fn write_settings(site: &Site, text: &str) -> PathBuf {
    let path = settings(site);
    fs::create_dir_all(path.parent().expect("below home")).expect("created");
    fs::write(&path, text).expect("written");
    path
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn init(site: &Site, arguments: &[&str]) -> Answer {
    let answer = site.run(&[&["init", "--yes"], arguments].concat());
    assert_eq!(answer.code, Some(0), "{answer:?}");
    answer
}

pub fn uninstall(site: &Site, arguments: &[&str]) -> Answer {
    site.config("[operator]\nunattended = true\n");
    let answer = site.run_detached(&[&["uninstall"], arguments].concat(), &[]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    answer
}

/// Every file below the user's and the project's `.claude`, with its content.
fn claude_files(site: &Site) -> Vec<(PathBuf, String)> {
    let mut folders = vec![site.home().join(".claude"), site.project().join(".claude")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for name in names(&folder) {
            let path = folder.join(name);
            if path.is_dir() { folders.push(path) } else { files.push((path.clone(), read(&path))) }
        }
    }
    files
}

#[test]
fn uninstalling_a_fresh_installation_leaves_no_trace() {
    let site = Site::new();
    let answer = init(&site, &[]);
    assert!(answer.out.contains("12 hooks added") && answer.out.contains("haltline uninstall"), "{answer:?}");
    assert!(answer.out.lines().all(|line| line.starts_with("  ") || line.chars().count() <= 80), "{}", answer.out);
    let text = read(&settings(&site));
    let binary = fs::canonicalize(HALTLINE).expect("there");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let handler = &value["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(handler["command"].as_str(), binary.to_str());
    let (state, config) = (site.state(), site.home().join("config.toml"));
    let args = serde_json::json!(["hook", "claude", "--state", state, "--config", config]);
    assert_eq!(handler["args"], args);
    assert_eq!((handler["timeout"].as_u64(), value["hooks"].as_object().map(|hooks| hooks.len())), (Some(5), Some(12)));
    let command = read(&site.home().join(".claude/commands/circuit-status.md"));
    assert!(command.contains(&format!("!`{} status --verbose`", binary.display())), "{command}");

    let answer = uninstall(&site, &[]);
    assert!(answer.out.contains("so haltline deleted it"), "{answer:?}");
    assert!(!site.home().join(".claude").exists());
    assert!(!site.state().join("installed.json").exists());
}

#[test]
fn the_users_own_hooks_and_formatting_survive_and_come_back_byte_for_byte() {
    let site = Site::new();
    let path = write_settings(&site, USER_SETTINGS);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
    let answer = init(&site, &[]);
    let text = read(&path);
    assert!(
        text.starts_with("{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\n")
    );
    assert!(text.contains("\"mine.sh\"") && text.ends_with("    \"env\": {}\n}"), "{text}");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
    let backup = answer.out.lines().find_map(|line| line.strip_prefix("Backup  ")).expect("named");
    assert_eq!(read(Path::new(backup)), USER_SETTINGS);
    assert_eq!(fs::metadata(backup).expect("there").permissions().mode() & 0o777, 0o600);
    let answer = uninstall(&site, &[]);
    assert!(answer.out.contains("byte for byte"), "{answer:?}");
    assert_eq!(read(&path), USER_SETTINGS);
    assert_eq!(names(&site.home().join(".claude")), ["settings.json"]);
}

#[test]
fn a_second_init_changes_nothing() {
    let site = Site::new();
    let path = write_settings(&site, USER_SETTINGS);
    init(&site, &[]);
    let (text, written) = (read(&path), fs::metadata(&path).and_then(|file| file.modified()).expect("there"));
    let answer = site.run(&["init"]);
    assert_eq!((answer.code, answer.out.starts_with("already installed: ")), (Some(0), true), "{answer:?}");
    assert_eq!((read(&path), fs::metadata(&path).and_then(|file| file.modified()).expect("there")), (text, written));
    assert_eq!(names(&site.state().join("backup")).len(), 1);
}

#[test]
fn a_dry_run_and_an_init_without_a_terminal_change_nothing() {
    let site = Site::new();
    write_settings(&site, USER_SETTINGS);
    let before = claude_files(&site);
    let answer = site.run(&["init", "--dry-run"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.out.contains("+        \"SessionStart\": [{ \"hooks\": [{…}] }],"), "{}", answer.out);
    let answer = site.run(&["init"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.err.contains("no terminal to ask at; run `haltline init --yes`"), "{answer:?}");
    let answer = site.run(&["init", "--json"]);
    assert_eq!((answer.code, answer.json()["outcome"].as_str()), (Some(1), Some("planned")), "{answer:?}");
    assert_eq!(claude_files(&site), before);
    assert!(!site.state().join("installed.json").exists());
}

#[test]
fn a_moved_binary_is_updated_and_the_settings_are_still_restored_byte_for_byte() {
    let site = Site::new();
    let path = write_settings(&site, USER_SETTINGS);
    let other = moved_binary(&site);
    init_by(&site, &other, &[]);
    let old = read(&path);
    fs::remove_file(&other).expect("removed");
    let answer = site.run(&["doctor"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.out.contains("problem  binary") && answer.out.contains("fix: haltline init"), "{}", answer.out);
    let answer = init(&site, &[]);
    assert!(answer.out.contains("12 hooks updated"), "{answer:?}");
    let binary = fs::canonicalize(HALTLINE).expect("there");
    let moved = fs::canonicalize(site.home()).expect("there").join("haltline");
    assert_eq!(read(&path), old.replace(moved.to_str().expect("UTF-8"), binary.to_str().expect("UTF-8")));
    uninstall(&site, &[]);
    assert_eq!(read(&path), USER_SETTINGS);
}

#[test]
fn later_changes_of_the_user_survive_uninstall() {
    let site = Site::new();
    let path = write_settings(&site, USER_SETTINGS);
    init(&site, &[]);
    fs::write(&path, read(&path).replace("\"opus\"", "\"sonnet\"")).expect("written");
    let command = site.home().join(".claude/commands/circuit-status.md");
    fs::write(&command, "mine").expect("written");
    let answer = uninstall(&site, &[]);
    assert!(answer.out.contains("haltline changed nothing else in the file"), "{answer:?}");
    assert_eq!(read(&path), USER_SETTINGS.replace("\"opus\"", "\"sonnet\""));
    assert_eq!(read(&command), "mine");
}

/// Copies the binary to another path in a separate process: otherwise a test that starts a program at this moment would
/// inherit our open file, and the copy could not be executed.
fn moved_binary(site: &Site) -> PathBuf {
    let other = site.home().join("haltline");
    let copied = std::process::Command::new("cp").arg(HALTLINE).arg(&other).status().expect("cp runs");
    assert!(copied.success());
    other
}

fn init_by(site: &Site, binary: &Path, arguments: &[&str]) {
    let mut command = std::process::Command::new(binary);
    site.configure(&mut command);
    assert!(command.args(["init", "--yes"]).args(arguments).output().expect("runs").status.success());
}

#[test]
fn what_the_user_added_to_our_file_stays_whatever_init_updated_since() {
    for (is_moved, arguments) in [(true, &[][..]), (false, &["--statusline"])] {
        let site = Site::new();
        init(&site, &[]);
        let path = settings(&site);
        fs::write(&path, read(&path).replacen('{', "{\n  \"model\": \"opus\",", 1)).expect("written");
        if is_moved {
            init_by(&site, &moved_binary(&site), arguments);
        } else {
            init(&site, arguments);
        }
        let answer = uninstall(&site, &[]);
        assert!(answer.out.contains("haltline changed nothing else in the file"), "{answer:?}");
        assert_eq!(read(&path), "{\n  \"model\": \"opus\"\n}\n");
    }
}

#[test]
fn without_a_record_uninstall_removes_our_entries_and_keeps_the_users() {
    let site = Site::new();
    let path = write_settings(&site, USER_SETTINGS);
    init(&site, &[]);
    fs::remove_dir_all(site.state()).expect("removed");
    uninstall(&site, &[]);
    let left: serde_json::Value = serde_json::from_str(&read(&path)).expect("JSON");
    assert_eq!(left["hooks"].as_object().map(|hooks| hooks.len()), Some(1), "{left}");
    assert_eq!(left["hooks"]["PreToolUse"][0]["matcher"], "Bash");
}

#[test]
fn unrecorded_entries_leave_nothing_behind_after_another_init() {
    for arguments in [&[][..], &["--statusline"]] {
        let site = Site::new();
        let path = write_settings(&site, "{\n  \"model\": \"opus\"\n}\n");
        init(&site, &[]);
        fs::remove_dir_all(site.state()).expect("removed");
        init(&site, arguments);
        uninstall(&site, &[]);
        assert_eq!(read(&path), "{\n  \"model\": \"opus\"\n}\n", "{arguments:?}");
    }
}

#[test]
fn hooks_are_installed_even_if_a_command_cannot_be_written() {
    type Spoil = fn(&Path);
    let spoils: [Spoil; 3] = [
        |claude| fs::write(claude.join("commands"), "a file").expect("written"),
        |claude| {
            fs::create_dir(claude.join("commands")).expect("created");
            symlink("../gone/circuit-status.md", claude.join("commands/circuit-status.md")).expect("linked");
        },
        |claude| {
            fs::create_dir(claude.join("commands")).expect("created");
            fs::write(claude.join("commands/circuit-status.md"), b"\xff\xfe").expect("written");
        },
    ];
    for spoil in spoils {
        let site = Site::new();
        let path = write_settings(&site, USER_SETTINGS);
        spoil(path.parent().expect("below home"));
        let answer = init(&site, &[]);
        assert!(answer.out.contains("12 hooks added"), "{answer:?}");
        assert!(answer.out.contains("haltline skips /circuit-status"), "{answer:?}");
        assert!(!answer.out.contains("haltline changed nothing"), "{answer:?}");
        assert!(read(&path).contains("SessionStart"));
        uninstall(&site, &[]);
        assert_eq!(read(&path), USER_SETTINGS);
    }
}

#[test]
fn separate_hook_files_that_cannot_all_be_written_are_reported() {
    let site = Site::new();
    let hooks = site.home().join(".cline/hooks");
    fs::create_dir_all(&hooks).expect("created");
    symlink("../gone/TaskStart.bash", hooks.join("TaskStart.bash")).expect("linked");
    let answer = site.run(&["init", "--yes", "--client", "cline"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.err.contains("TaskStart.bash") && answer.err.contains("haltline has written"), "{answer:?}");
    assert!(!answer.err.contains("haltline changed nothing"), "{answer:?}");
    assert!(hooks.join("PreToolUse.bash").exists());
}

#[test]
fn separate_hook_files_are_counted_when_the_first_is_gone() {
    let site = Site::new();
    init(&site, &["--client", "cline"]);
    let hooks = site.home().join(".cline/hooks");
    fs::remove_file(hooks.join("PreToolUse.bash")).expect("removed");
    let answer = uninstall(&site, &["--client", "cline"]);
    assert!(answer.out.starts_with("3 hooks removed\n"), "{answer:?}");
    assert!(!hooks.exists());
}

#[test]
fn uninstall_in_the_home_folder_leaves_nothing() {
    let site = Site::new();
    init(&site, &["--client", "codex", "--project"]);
    site.config("[operator]\nunattended = true\n");
    let home = site.project();
    let answer = site.run_detached(&["uninstall", "--client", "codex"], &[("HOME", home.to_str().expect("UTF-8"))]);
    assert!(answer.out.contains("10 hooks removed") && !answer.out.contains("still in"), "{answer:?}");
}

#[test]
fn a_record_that_another_init_wrote_meanwhile_is_kept() {
    let site = Site::new();
    // `script` provides the terminal for the question.
    let mut waiting = std::process::Command::new("script");
    site.configure(&mut waiting);
    waiting.args(["-qec", &format!("{HALTLINE} init --client codex"), "/dev/null"]);
    waiting.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut waiting = waiting.spawn().expect("script of util-linux is there");
    let mut out = waiting.stdout.take().expect("piped");
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("Apply?") {
        let mut piece = [0; 512];
        let length = out.read(&mut piece).expect("read");
        assert!(length > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&piece[..length]);
    }
    init(&site, &[]);
    waiting.stdin.take().expect("piped").write_all(b"y\n").expect("written");
    let mut rest = Vec::new();
    out.read_to_end(&mut rest).ok();
    waiting.wait().expect("it ends");
    let record: serde_json::Value = serde_json::from_str(&read(&site.state().join("installed.json"))).expect("JSON");
    assert_eq!(record["installations"].as_array().map(Vec::len), Some(2), "{record}");
}

#[test]
fn invalid_json_is_rejected_with_its_position() {
    let site = Site::new();
    let text = "{\n  mine\n  \"model\": \"opus\"\n}\n";
    let path = write_settings(&site, text);
    let answer = site.run(&["init", "--yes"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert_eq!(answer.err.lines().count(), 1, "{answer:?}");
    assert!(answer.err.contains("line 2, column 3: not JSON"), "{answer:?}");
    assert_eq!(read(&path), text);
    assert!(!site.home().join(".claude/commands").exists());
    assert!(!site.state().exists());
}

#[test]
fn a_read_only_file_stays_as_it_is() {
    let site = Site::new();
    let path = write_settings(&site, USER_SETTINGS);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("set");
    let answer = site.run(&["init", "--yes"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.err.contains("is read-only") && answer.err.contains("haltline changed nothing"), "{answer:?}");
    assert_eq!(read(&path), USER_SETTINGS);
    assert!(!site.home().join(".claude/commands").exists());
    assert!(!site.state().join("installed.json").exists());
}

#[test]
fn a_linked_settings_file_stays_a_link() {
    let site = Site::new();
    let real = site.home().join("dotfiles.json");
    fs::write(&real, USER_SETTINGS).expect("written");
    fs::create_dir_all(site.home().join(".claude")).expect("created");
    symlink("../dotfiles.json", settings(&site)).expect("linked");
    init(&site, &[]);
    assert!(fs::symlink_metadata(settings(&site)).expect("there").is_symlink());
    assert!(read(&real).contains("SessionStart"));
    uninstall(&site, &[]);
    assert!(fs::symlink_metadata(settings(&site)).expect("there").is_symlink());
    assert_eq!(read(&real), USER_SETTINGS);
}

#[test]
fn the_projects_and_the_users_settings_are_separate() {
    let site = Site::new();
    init(&site, &["--project"]);
    assert!(!settings(&site).exists());
    let project = site.project().join(".claude/settings.json");
    assert!(read(&project).contains("SessionStart"));
    init(&site, &[]);
    let answer = uninstall(&site, &[]);
    assert!(answer.out.contains("haltline uninstall --project"), "{answer:?}");
    assert!(!settings(&site).exists() && project.exists());
    uninstall(&site, &["--project"]);
    assert!(!site.project().join(".claude").exists());
}

#[test]
fn the_clients_own_folder_variable_is_honoured() {
    let site = Site::new();
    let folder = site.home().join("elsewhere");
    let answer = site.run_detached(&["init", "--yes"], &[("CLAUDE_CONFIG_DIR", folder.to_str().expect("UTF-8"))]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(names(&folder), ["commands", "settings.json"]);
}

#[test]
fn a_client_that_keeps_its_settings_in_the_common_folder_is_found_where_that_is() {
    let site = Site::new();
    let folder = site.home().join("elsewhere");
    let variables = [("XDG_CONFIG_HOME", folder.to_str().expect("UTF-8"))];
    let answer = site.run_detached(&["init", "--yes", "--client", "opencode"], &variables);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(names(&folder.join("opencode/plugins")), ["haltline.js"]);
}

#[test]
fn variables_of_qwen_and_gemini_move_their_settings() {
    let site = Site::new();
    for (client, name, value, expected) in [
        ("qwen", "QWEN_HOME", "~/moved", "moved/settings.json"),
        (
            "gemini",
            "GEMINI_CLI_HOME",
            site.home().join("other").to_str().expect("UTF-8"),
            "other/.gemini/settings.json",
        ),
    ] {
        let answer = site.run_detached(&["init", "--yes", "--client", client], &[(name, value)]);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        assert!(read(&site.home().join(expected)).contains("SessionStart"), "{client}");
        let answer = site.run_detached(&["doctor", "--json"], &[(name, value)]);
        let says = check(&answer.json(), "hooks")["says"].as_str().map(str::to_owned).unwrap_or_default();
        assert!(says.contains(expected), "{says}");
    }
    assert!(!site.home().join(".qwen").exists() && !site.home().join(".gemini").exists());
}

/// A work tree that was added to the project, as git leaves it.
fn linked_worktree(site: &Site) -> PathBuf {
    let git = site.project().join(".git/worktrees/side");
    let side = site.home().join("side");
    fs::create_dir_all(&git).expect("created");
    fs::create_dir_all(&side).expect("created");
    fs::write(git.join("commondir"), "../..\n").expect("written");
    fs::write(side.join(".git"), format!("gitdir: {}\n", git.display())).expect("written");
    side
}

#[test]
fn in_a_linked_work_tree_codex_gets_its_hooks_where_it_reads_them() {
    let site = Site::new();
    let side = linked_worktree(&site);
    let side = side.to_str().expect("UTF-8");
    let answer = init(&site, &["-C", side, "--client", "codex", "--project"]);
    assert!(answer.out.contains("Codex CLI reads the hooks of every work tree from the main checkout"), "{answer:?}");
    let path = site.project().join(".codex/hooks.json");
    assert!(read(&path).contains("SessionStart"));
    let view = site.run(&["-C", side, "doctor", "--json"]).json();
    assert!(check(&view, "hooks")["says"].as_str().is_some_and(|says| says.contains("project/.codex")), "{view:#}");
    uninstall(&site, &["-C", side, "--client", "codex", "--project"]);
    assert!(!path.exists());
    init(&site, &["-C", side, "--project"]);
    assert!(site.home().join("side/.claude/settings.json").exists(), "others read the work tree they are in");
}

#[test]
fn a_plugin_of_someone_else_stays_and_one_of_an_older_version_is_renewed() {
    let site = Site::new();
    init(&site, &["--client", "opencode"]);
    let path = site.home().join(".config/opencode/plugins/haltline.js");
    let text = read(&path);
    fs::write(&path, text.replace("const DEADLINE_MS = 5_000", "const DEADLINE_MS = 1")).expect("written");
    init(&site, &["--client", "opencode"]);
    assert_eq!(read(&path), text);
    fs::write(&path, "export const mine = async () => ({})\n").expect("written");
    let answer = site.run(&["init", "--yes", "--client", "opencode"]);
    assert_ne!(answer.code, Some(0), "{answer:?}");
    assert_eq!(read(&path), "export const mine = async () => ({})\n");
}

#[test]
fn inside_an_agent_uninstall_and_moving_the_store_are_denied() {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n");
    let path = write_settings(&site, USER_SETTINGS);
    let inside = [("CLAUDECODE", "1")];
    assert_eq!(site.run_detached(&["init", "--yes"], &inside).code, Some(0));
    let text = read(&path);
    let answer = site.run_detached(&["uninstall"], &inside);
    assert_eq!(answer.code, Some(77), "{answer:?}");
    let elsewhere = site.home().join("empty");
    let moved = [inside[0], ("HALTLINE_STATE_DIR", elsewhere.to_str().expect("UTF-8"))];
    let answer = site.run_detached(&["init", "--yes"], &moved);
    assert_eq!(answer.code, Some(77), "{answer:?}");
    assert_eq!(read(&path), text);
}

#[test]
fn a_status_line_is_added_only_where_there_is_none() {
    let site = Site::new();
    let own = "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}}";
    let path = write_settings(&site, own);
    let answer = init(&site, &["--statusline"]);
    assert!(answer.out.contains("You already have a status line"), "{answer:?}");
    uninstall(&site, &[]);
    assert_eq!(read(&path), own);
    fs::write(&path, "{}\n").expect("written");
    init(&site, &["--statusline"]);
    assert!(
        read(&path).contains(" statusline claude --state ") && read(&path).contains("\"refreshInterval\": 2"),
        "{}",
        read(&path)
    );
    uninstall(&site, &[]);
    assert_eq!(read(&path), "{}\n");
}

/// A program called `haltline` that answers hooks by a script.
fn fake(site: &Site, script: &str) -> PathBuf {
    let path = site.home().join("bin/haltline");
    fs::create_dir_all(path.parent().expect("below home")).expect("created");
    fs::write(
        &path,
        format!("#!/bin/sh\nstate=$4\nevent=$(sed 's/.*\"hook_event_name\":\"\\([A-Za-z]*\\)\".*/\\1/')\n{script}\n"),
    )
    .expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
    path
}

/// Installs the real hooks, but with another program.
fn installed_with(site: &Site, program: &Path) {
    init(site, &[]);
    let binary = fs::canonicalize(HALTLINE).expect("there");
    let text = read(&settings(site)).replace(binary.to_str().expect("UTF-8"), program.to_str().expect("UTF-8"));
    fs::write(settings(site), text).expect("written");
}

const COUNTS_TO_FIVE: &str = r#"
[ "$event" = PreToolUse ] || exit 0
echo >> "$state/calls"
case $(wc -l < "$state/calls") in
3) echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"again"}}' ;;
4) echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}' ;;
5) echo '{"continue":false,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}' ;;
esac"#;

fn check<'a>(view: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let all = view["checks"].as_array().expect("an array");
    all.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no check {name}: {view}"))
}

#[test]
fn doctor_plays_a_loop_through_the_installed_command_line() {
    let site = Site::new();
    installed_with(&site, &fake(&site, COUNTS_TO_FIVE));
    let answer = site.run(&["doctor", "--json"]);
    let view = answer.json();
    let rounds = view["rehearsals"][0]["rounds"].as_array().expect("rounds");
    let verdicts: Vec<&str> = rounds.iter().filter_map(|round| round["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["pass", "pass", "warn", "deny", "stop"], "{view:#}");
    // A start, three calls in each of three rounds, two in the denied one, one in the last.
    assert_eq!(view["rehearsals"][0]["hook_calls"], 13);
    assert_eq!(check(&view, "loop")["is_fine"], true);
    assert_eq!(check(&view, "binary")["is_fine"], false, "it is not this binary");
    assert_eq!(check(&view, "store")["is_fine"], true);
    assert!(!site.state().join("calls").exists(), "the loop has a store of its own");
}

#[test]
fn doctor_reports_what_is_wrong_with_the_hooks() {
    for (script, expected) in [
        ("exit 0", "haltline did not notice the loop"),
        ("echo oops", "not JSON"),
        ("echo broken >&2; exit 3", "ended with exit status: 3: broken"),
    ] {
        let site = Site::new();
        installed_with(&site, &fake(&site, script));
        let answer = site.run(&["doctor", "--json"]);
        assert_eq!(answer.code, Some(1), "{answer:?}");
        let says = check(&answer.json(), "loop")["says"].as_str().map(str::to_owned).unwrap_or_default();
        assert!(says.contains(expected), "{script}: {says}");
    }
}

#[test]
fn doctor_finds_switches_that_disable_hooks_and_a_readable_store() {
    let site = Site::new();
    installed_with(&site, &fake(&site, COUNTS_TO_FIVE));
    site.file(".claude/settings.local.json", "{\"disableAllHooks\": true, \"sandbox\": {\"enabled\": true}}");
    site.config("mode = \"maybe\"\n");
    fs::set_permissions(site.state(), fs::Permissions::from_mode(0o755)).expect("set");
    let answer = site.run(&["doctor", "--json"]);
    let view = answer.json();
    assert_eq!(answer.code, Some(1), "{answer:?}");
    for (name, expected) in [
        ("switches", "settings.local.json"),
        ("sandbox", "settings.local.json"),
        ("permissions", "mode 755"),
        ("config", "mode"),
    ] {
        let found = check(&view, name);
        assert_eq!(found["is_fine"], false, "{found}");
        assert!(found["says"].as_str().is_some_and(|says| says.contains(expected)), "{found}");
    }
    let text = site.run(&["doctor"]).out;
    let folder = site.home().display().to_string();
    assert!(text.lines().skip(1).all(|line| line.contains(&folder) || line.chars().count() <= 80), "{text}");
}

#[test]
fn doctor_without_an_installation_ends_with_three() {
    let site = Site::new();
    let answer = site.run(&["doctor"]);
    assert_eq!(answer.code, Some(3), "{answer:?}");
    assert!(answer.out.contains("haltline is not installed.") && answer.out.contains("fix: haltline init"));
}

#[test]
fn doctor_finds_switches_that_disable_hooks_of_codex_and_gemini() {
    let site = Site::new();
    init(&site, &["--client", "codex"]);
    init(&site, &["--client", "gemini"]);
    let view = site.run(&["doctor", "--json"]).json();
    assert_eq!(check(&view, "switches")["is_fine"], true, "{view:#}");
    let gemini = site.home().join(".gemini/settings.json");
    let text = read(&gemini);
    let settings: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let command = settings["hooks"]["BeforeTool"][0]["hooks"][0]["command"].clone();
    let codex = site.home().join(".codex/config.toml");
    for (path, changed, expected) in [
        (&codex, "[features]\nhooks = false\n".to_owned(), "features.hooks"),
        (&gemini, text.replacen('{', &format!("{{\"hooksConfig\":{{\"disabled\":[{command}]}},"), 1), "BeforeTool"),
    ] {
        let before = fs::read_to_string(path).ok();
        fs::write(path, changed).expect("written");
        let view = site.run(&["doctor", "--json"]).json();
        let found = check(&view, "switches");
        assert_eq!(found["is_fine"], false, "{view:#}");
        assert!(found["says"].as_str().is_some_and(|says| says.contains(expected)), "{found}");
        fs::write(path, before.unwrap_or_default()).expect("written");
    }
}

#[test]
fn a_file_that_haltline_cannot_read_is_a_problem_only_where_its_hooks_should_be() {
    let site = Site::new();
    init(&site, &[]);
    let gemini = site.home().join(".gemini/settings.json");
    fs::create_dir_all(gemini.parent().expect("below home")).expect("created");
    fs::write(&gemini, "{\n  mine\n}\n").expect("written");
    let answer = site.run(&["doctor", "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let view = answer.json();
    let found = check(&view, "settings");
    assert_eq!(found["is_fine"], true, "{found}");
    assert!(found["says"].as_str().is_some_and(|says| says.starts_with("haltline cannot read ")), "{found}");
    fs::write(&gemini, "{}\n").expect("written");
    init(&site, &["--client", "gemini"]);
    fs::write(&gemini, read(&gemini) + "mine\n").expect("written");
    let answer = site.run(&["doctor", "--json"]);
    assert_eq!((answer.code, &check(&answer.json(), "settings")["is_fine"]), (Some(1), &false.into()), "{answer:?}");
}

/// What Codex writes once a person has trusted these hooks, under the path it stores for their file.
fn trusted(hooks: &Path, stored_path: &Path) -> String {
    let own = fs::canonicalize(HALTLINE).expect("there");
    let hooks = trust::hooks(&read(hooks), stored_path.to_str().expect("UTF-8"), "", own.to_str().expect("UTF-8"));
    let state =
        |hook: &trust::TrustedHook| format!("[hooks.state.\"{}\"]\ntrusted_hash = \"{}\"\n", hook.key, hook.hash);
    hooks.iter().map(state).collect()
}

#[test]
fn doctor_finds_trusted_hooks_by_the_path_that_codex_stores() {
    let site = Site::new();
    let real = fs::canonicalize(site.home()).expect("there").join("real");
    let link = site.home().join("link");
    fs::create_dir(&real).expect("created");
    symlink(&real, &link).expect("linked");
    let variables = [("CODEX_HOME", link.to_str().expect("UTF-8"))];
    let answer = site.run_detached(&["init", "--yes", "--client", "codex"], &variables);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let hooks = real.join("hooks.json");
    for (called, is_fine) in [(&hooks, true), (&link.join("hooks.json"), false)] {
        fs::write(real.join("config.toml"), trusted(&hooks, called)).expect("written");
        let view = site.run_detached(&["doctor", "--json"], &variables).json();
        assert_eq!(check(&view, "trust")["is_fine"], is_fine, "{view:#}");
    }
}

#[test]
fn doctor_reports_that_codex_does_not_load_an_untrusted_project() {
    let site = Site::new();
    init(&site, &["--client", "codex", "--project"]);
    let project = fs::canonicalize(site.project()).expect("there");
    let hooks = project.join(".codex/hooks.json");
    fs::create_dir_all(site.home().join(".codex")).expect("created");
    for (level, is_fine) in [("untrusted", false), ("trusted", true)] {
        let config = format!("[projects.\"{}\"]\ntrust_level = \"{level}\"\n", project.display());
        fs::write(site.home().join(".codex/config.toml"), config + &trusted(&hooks, &hooks)).expect("written");
        let view = site.run(&["doctor", "--json"]).json();
        assert_eq!(check(&view, "trust")["is_fine"], is_fine, "{view:#}");
    }
}
