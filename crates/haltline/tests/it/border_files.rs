//! What a project or an agent plants in place of a file neither hangs haltline, nor makes it write elsewhere, nor opens
//! what is OPEN (E7). `timeout` ends a command that hangs; the bound is generous because test machines are loaded.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use haltline_agents::self_test::AnswerEffect;
use serde_json::json;

use crate::support::hooks::Client;
use crate::support::{Answer, HALTLINE, Site, in_mount_namespace};

const HANG_SECONDS: &str = "20";
const TIMED_OUT: i32 = 124;

/// An active constraint that guards a push, OPEN after its first violation.
fn guarded_site() -> Site {
    let site = Site::new();
    site.file(
        "docs/constraints/active/no-push.md",
        "---\nid: no-push\ncircuit_breaker:\n  violation_threshold: 1\nguards:\n  - tool: Bash\n    command: \"git push*\"\n---\n",
    );
    assert!(site.record("no-push", "git push").out.contains("CIRCUIT TRIPPED"));
    site
}

fn push_payload(site: &Site) -> String {
    json!({
        "session_id": "s", "cwd": site.project(), "permission_mode": "default", "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "git push origin main"}, "tool_use_id": "t1",
    })
    .to_string()
}

/// Runs haltline and fails if it hangs.
fn run(site: &Site, arguments: &[&str], stdin: Option<&Path>) -> Answer {
    let mut command = Command::new("timeout");
    site.configure(&mut command);
    command.arg(HANG_SECONDS).arg(HALTLINE).args(arguments).env("XDG_RUNTIME_DIR", site.home());
    command.stdin(stdin.map_or_else(Stdio::null, |path| fs::File::open(path).expect("written").into()));
    let answer = Answer::new(&command.output().expect("timeout of coreutils is there"));
    assert_ne!(answer.code, Some(TIMED_OUT), "{arguments:?} hangs");
    answer
}

fn push(site: &Site) -> Answer {
    let payload = site.home().join("payload.json");
    fs::write(&payload, push_payload(site)).expect("written");
    run(site, &["hook", "claude"], Some(&payload))
}

type Plant = fn(&Path);

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo of coreutils").success());
}

fn device(path: &Path) {
    symlink("/dev/zero", path).expect("linked");
}

fn circle(path: &Path) {
    symlink(path, path).expect("linked");
}

fn sparse(path: &Path) {
    fs::File::create(path).and_then(|file| file.set_len(1 << 30)).expect("a sparse file");
}

fn folder(path: &Path) {
    fs::create_dir_all(path).expect("made");
}

const PLANTS: [(&str, Plant); 5] =
    [("pipe", pipe), ("device", device), ("circle", circle), ("sparse", sparse), ("folder", folder)];

#[test]
fn a_planted_file_of_the_project_hangs_nothing_and_opens_nothing() {
    let targets = [
        ".haltline.toml",
        "docs/constraints/active/planted.md",
        "docs/constraints/.circuit-state.json",
        "docs/constraints/.circuit-state-archive.json",
        ".prp-session/circuit-breaker.json",
        ".claude/memory/circuit_breaker_incidents.jsonl",
        "circuit_breaker_config.json",
        ".greenlight/GRAPH.json",
    ];
    for target in targets {
        for (kind, plant) in PLANTS {
            let site = guarded_site();
            let path = site.project().join(target);
            fs::create_dir_all(path.parent().expect("below the project")).expect("made");
            fs::remove_file(&path).ok();
            plant(&path);
            for arguments in [
                &["status"][..],
                &["constraint", "status"],
                &["phase", "status"],
                &["constraint", "record", "no-push", "--action", "again"],
            ] {
                run(&site, arguments, None);
            }
            assert_eq!(run(&site, &["constraint", "check", "no-push"], None).code, Some(77), "{target} {kind}");
            let answer = push(&site);
            assert!(answer.out.contains("HL-CON-02"), "{target} {kind}: {answer:?}");
        }
    }
}

#[test]
fn a_planted_transcript_hangs_no_hook() {
    for (kind, plant) in PLANTS {
        let site = Site::new();
        let transcript = site.home().join("transcript.jsonl");
        plant(&transcript);
        for event in ["UserPromptSubmit", "PostToolBatch", "Stop", "SessionEnd"] {
            let payload = site.home().join("payload.json");
            let text = json!({
                "session_id": "s", "cwd": site.project(), "hook_event_name": event, "prompt": "go on",
                "transcript_path": transcript, "tool_calls": [],
            });
            fs::write(&payload, text.to_string()).expect("written");
            assert_eq!(run(&site, &["hook", "claude"], Some(&payload)).code, Some(0), "{kind} {event}");
        }
    }
}

#[test]
fn a_planted_file_of_the_state_folder_hangs_nothing_and_closes_nothing() {
    for target in ["state.db", "state.lock", "spool.lock", "installed.json"] {
        for (kind, plant) in PLANTS {
            let site = guarded_site();
            let path = site.state().join(target);
            fs::remove_file(&path).ok();
            plant(&path);
            let check = run(&site, &["constraint", "check", "no-push"], None);
            assert_ne!(check.code, Some(0), "{target} {kind}: {check:?}");
            let answer = push(&site);
            assert_eq!(answer.code, Some(0), "{target} {kind}: {answer:?}");
            assert!(!answer.out.is_empty(), "{target} {kind}: it denies, or says why it cannot: {answer:?}");
        }
    }
}

#[test]
fn nothing_is_written_through_a_planted_link() {
    let precious = "keep me";
    for target in [
        "docs/constraints/.circuit-state.json",
        "docs/constraints/.circuit-state.json.tmp",
        ".prp-session/circuit-breaker.json",
        ".prp-session/circuit-breaker.json.tmp",
        ".claude/memory/circuit_breaker_incidents.jsonl",
    ] {
        let site = guarded_site();
        let kept = site.home().join("precious");
        fs::write(&kept, precious).expect("written");
        let path = site.project().join(target);
        fs::create_dir_all(path.parent().expect("below the project")).expect("made");
        fs::remove_file(&path).ok();
        symlink(&kept, &path).expect("linked");
        let client = Client { site: &site, session: "s" };
        for call in ["a", "b", "c", "d", "e"] {
            client.shell(call, "npm test", Err("1 failing"));
            site.record("no-push", call);
            site.run(&["phase", "report", "--phase", "GREEN", "--metric", "tests_passing=1"]);
        }
        assert_eq!(fs::read_to_string(&kept).expect("there"), precious, "{target}");
    }
}

#[test]
fn nothing_is_written_through_a_linked_folder() {
    for target in ["docs/constraints", ".prp-session", ".claude/memory"] {
        let site = Site::new();
        let elsewhere = site.home().join("elsewhere");
        fs::create_dir_all(elsewhere.join("active")).expect("made");
        let old = elsewhere.join("notes.jsonl");
        fs::write(&old, "{}\n".repeat(20_000)).expect("written");
        let path = site.project().join(target);
        fs::create_dir_all(path.parent().expect("below the project")).expect("made");
        symlink(&elsewhere, &path).expect("linked");
        let client = Client { site: &site, session: "s" };
        client.deliver("SessionStart", json!({"source": "startup"}));
        for call in ["a", "b", "c", "d"] {
            client.shell(call, "npm test", Err("1 failing"));
        }
        site.run(&["phase", "report", "--phase", "GREEN", "--metric", "tests_passing=1"]);
        let mut names = crate::support::names(&elsewhere);
        names.retain(|name| name != "active");
        assert_eq!(names, ["notes.jsonl"], "{target}");
        assert_eq!(fs::read_to_string(&old).expect("there").len(), 60_000, "{target}");
    }
}

#[test]
fn a_key_of_300_kilobytes_is_an_error_at_once() {
    let site = Site::new();
    site.file(".haltline.toml", &format!("{} = 1\n", "k".repeat(300_000)));
    let check = run(&site, &["config", "check"], None);
    assert_ne!(check.code, Some(0));
    assert!(check.out.len() + check.err.len() < 10_000, "the message is short");
}

#[test]
fn an_unreadable_state_folder_is_an_error_and_never_closed() {
    // Root may read everything, so the folder is hidden from an account without rights.
    let site = guarded_site();
    let script = r#"
        chmod 000 "$HALTLINE_STATE_DIR"
        setpriv --reuid 65534 --regid 65534 --clear-groups "$HALTLINE" constraint check no-push && echo "check 0" || echo "check $?"
        chmod 700 "$HALTLINE_STATE_DIR"
    "#;
    if !rustix::process::getuid().is_root() {
        eprintln!("not run: needs root to become another account");
        return;
    }
    for folder in [site.home().to_owned(), site.project()] {
        let open: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder, open).expect("permitted");
    }
    let mut command = Command::new("sh");
    site.configure(&mut command);
    let answer = Answer::new(&command.args(["-euc", script]).env("HALTLINE", HALTLINE).output().expect("starts"));
    assert!(answer.out.contains("check 1"), "{answer:?}");
    assert!(!answer.out.contains("ALLOWED"), "{answer:?}");
}

#[test]
fn an_open_circuit_is_enforced_while_the_store_cannot_be_written() {
    let site = guarded_site();
    fs::write(site.home().join("payload.json"), push_payload(&site)).expect("written");
    let script = r#"
        mount --bind "$HALTLINE_STATE_DIR" "$HALTLINE_STATE_DIR"
        mount -o remount,bind,ro "$HALTLINE_STATE_DIR"
        "$HALTLINE" hook claude < "$HOME/payload.json"
    "#;
    if let Some(answer) = in_mount_namespace(&site, script) {
        assert!(answer.out.contains("\"deny\"") && answer.out.contains("HL-CON-02"), "{answer:?}");
    }
    let full = r#"
        mkdir "$HOME/small"; mount -t tmpfs -o size=400k none "$HOME/small"
        cp -a "$HALTLINE_STATE_DIR/." "$HOME/small/"
        export HALTLINE_STATE_DIR="$HOME/small"
        dd if=/dev/zero of="$HOME/small/filler" bs=1k count=1000 2>/dev/null || true
        "$HALTLINE" hook claude < "$HOME/payload.json"
    "#;
    if let Some(answer) = in_mount_namespace(&site, full) {
        assert!(answer.out.contains("\"deny\"") && answer.out.contains("HL-CON-02"), "{answer:?}");
    }
}

#[test]
fn an_open_circuit_is_enforced_while_somebody_holds_the_lock() {
    let site = guarded_site();
    let lock = fs::File::options().write(true).open(site.state().join("state.lock")).expect("there");
    lock.lock().expect("locked");
    let client = Client { site: &site, session: "s" };
    let denied = client.ask("t1", "Bash", &json!({"command": "git push origin main"}));
    assert_eq!(denied.answer, AnswerEffect::Deny, "{denied:?}");
    assert!(denied.to_person.contains("busy"), "{denied:?}");
    let other = client.ask("t2", "Bash", &json!({"command": "ls"}));
    assert_eq!(other.answer, AnswerEffect::Pass, "what nothing guards passes: {other:?}");
    drop(lock);
    client.ask("t3", "Bash", &json!({"command": "ls -l"}));
    assert_eq!(crate::support::hooks::waiting(&site), 0, "both events were counted");
}

#[test]
fn an_edited_list_of_guards_is_reported_and_guards_as_before() {
    let site = guarded_site();
    let client = Client { site: &site, session: "s" };
    client.ask("t1", "Bash", &json!({"command": "git push origin main"}));
    let folder = site.state().join("guards");
    let list = folder.join(&crate::support::names(&folder)[0]);
    let whole = fs::read_to_string(&list).expect("a list");
    for (edit, altered) in [
        ("another pattern", whole.replace("push", "pusX")),
        ("no guards", whole.split('\n').next().expect("a checksum").to_owned() + "\n{\"stamps\":[],\"guards\":[]}"),
        ("a flipped bit", whole.replacen("git", "gmt", 1)),
    ] {
        assert_ne!(altered, whole, "{edit}");
        fs::write(&list, altered).expect("written");
        let denied = client.ask("t2", "Bash", &json!({"command": "git push origin main"}));
        assert!(denied.answer >= AnswerEffect::Deny, "{edit}: {denied:?}");
        assert!(denied.to_person.contains("was changed by another program"), "{edit}: {denied:?}");
        let (again, guards) = (fs::read_to_string(&list).expect("a list"), whole.split("\"guards\"").last());
        assert_eq!(again.split("\"guards\"").last(), guards, "{edit}: made again");
    }
    // Without the rule's file and without the list, the circuit itself still says what it guards.
    fs::remove_dir_all(site.project().join("docs")).expect("removed");
    fs::remove_dir_all(&folder).expect("removed");
    let denied = client.ask("t3", "Bash", &json!({"command": "git push origin main"}));
    assert!(denied.answer >= AnswerEffect::Deny, "{denied:?}");
}
