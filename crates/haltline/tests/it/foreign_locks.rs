//! Whatever lock another program holds on haltline's files, and for however long: a hook answers within a second, denies
//! what is OPEN, counts the event later, and tells the person who holds the lock (E2, E7).

use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use haltline_agents::self_test::AnswerEffect;
use serde_json::json;

use crate::support::hooks::{Client, HookResult, waiting};
use crate::support::{Site, names};

/// Far below what a hook took before it looked for these locks (4 to 20 seconds), and far above what it takes now, because
/// test machines are loaded.
const ANSWERED_WITHIN: Duration = Duration::from_secs(3);

/// Holds a lock in a folder until its input ends.
const HOLDER: &str = r#"
import fcntl, os, sqlite3, struct, sys
folder, kind = sys.argv[1], sys.argv[2]
path = lambda name: os.path.join(folder, name)
def flock(start, length, kind):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0)
if kind in ("exclusive", "immediate"):
    connection = sqlite3.connect(path("state.db"), isolation_level=None)
    connection.execute("BEGIN " + kind)
elif kind == "exclusive-mode":
    connection = sqlite3.connect(path("state.db"), isolation_level=None)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("BEGIN EXCLUSIVE")
elif kind in ("queue", "mirror", "spool"):
    names = {"queue": "state.lock", "spool": "spool.lock"}
    name = names.get(kind) or "mirrors/" + next(name for name in os.listdir(path("mirrors")) if name.endswith(".lock"))
    held = open(path(name), "a+b")
    fcntl.flock(held, fcntl.LOCK_EX)
elif kind.startswith("bytes"):
    _, how, name, start, length = kind.split(" ")
    held = os.open(path(name), os.O_RDWR | os.O_CREAT)
    fcntl.fcntl(held, 37 if how == "open-file" else fcntl.F_SETLK, flock(int(start), int(length), fcntl.F_RDLCK if how == "read" else fcntl.F_WRLCK))
else:
    how, name = kind.split(" ")
    held = os.open(path(name), os.O_RDWR)
    if how == "write":
        fcntl.fcntl(held, fcntl.F_SETLK, flock(0, 0, fcntl.F_WRLCK))
    elif how == "read":
        fcntl.fcntl(held, fcntl.F_SETLK, flock(0, 0, fcntl.F_RDLCK))
    elif how == "open-file":
        fcntl.fcntl(held, 37, flock(0, 0, fcntl.F_WRLCK))
    elif how == "lease":
        import signal
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
sys.stdin.read()
"#;

/// A process that holds a lock until it is dropped.
struct Holder(Child);

impl Holder {
    fn start(site: &Site, kind: &str) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", HOLDER]).arg(site.state()).arg(kind).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 is there");
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("it says when it has the lock");
        assert_eq!(line, "held\n", "{kind}");
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("it ends");
    }
}

/// A project whose constraint guards a push and is OPEN.
fn guarded_site() -> Site {
    let site = Site::new();
    site.file(
        "docs/constraints/active/no-push.md",
        "---\nid: no-push\ncircuit_breaker:\n  violation_threshold: 1\nguards:\n  - tool: Bash\n    command: \"git push*\"\n---\n",
    );
    assert!(site.record("no-push", "git push").out.contains("CIRCUIT TRIPPED"));
    Client { site: &site, session: "s" }.shell("first", "ls", Ok("a file"));
    site
}

fn timed(ask: impl FnOnce() -> HookResult) -> HookResult {
    let started = Instant::now();
    let result = ask();
    assert!(started.elapsed() < ANSWERED_WITHIN, "{:?}: {result:?}", started.elapsed());
    result
}

/// Asks for a guarded and for another call while the lock is held, and again when it is not.
fn assert_enforced_under(kind: &str) {
    let site = guarded_site();
    let client = Client { site: &site, session: "s" };
    let holder = Holder::start(&site, kind);
    let mut shown = String::new();
    for call in ["t1", "t2", "t3"] {
        let denied = timed(|| client.ask(call, "Bash", &json!({"command": "git push origin main"})));
        assert_eq!(denied.answer, AnswerEffect::Deny, "{kind}: {denied:?}");
        assert!(denied.to_agent.contains("HL-CON-02"), "{kind}: {denied:?}");
        shown += &denied.to_person;
    }
    let other = timed(|| client.ask("t4", "Bash", &json!({"command": "ls -l"})));
    assert_eq!(other.answer, AnswerEffect::Pass, "{kind}: what nothing guards passes: {other:?}");
    let check = site.run(&["constraint", "check", "no-push"]);
    assert_eq!(check.code, Some(77), "{kind}: {check:?}");
    let is_blocking = waiting(&site) > 0;
    assert_eq!(shown.contains("busy"), is_blocking, "{kind}: {shown}");
    drop(holder);
    client.ask("t5", "Bash", &json!({"command": "ls -la"}));
    assert_eq!(waiting(&site), 0, "{kind}: all events were counted");
    site.assert_verifies();
}

#[test]
fn sqlites_own_locks_neither_delay_a_hook_nor_open_a_circuit() {
    for kind in ["exclusive", "immediate", "exclusive-mode"] {
        assert_enforced_under(kind);
    }
}

#[test]
fn locks_of_the_files_neither_delay_a_hook_nor_open_a_circuit() {
    for how in ["write", "read", "open-file"] {
        for name in ["state.db", "state.db-shm", "state.db-wal"] {
            assert_enforced_under(&format!("{how} {name}"));
        }
    }
    for kind in ["queue", "mirror", "spool"] {
        assert_enforced_under(kind);
    }
}

/// The bytes that SQLite locks: pending, reserved and shared in the database; writer, checkpoint, recovery, five readers
/// and the users of the shared memory.
const SQLITE_BYTES: [(&str, u32, u32); 9] = [
    ("state.db", 0x4000_0000, 1),
    ("state.db", 0x4000_0001, 1),
    ("state.db", 0x4000_0002, 510),
    ("state.db-shm", 120, 1),
    ("state.db-shm", 121, 1),
    ("state.db-shm", 122, 1),
    ("state.db-shm", 123, 1),
    ("state.db-shm", 124, 4),
    ("state.db-shm", 128, 1),
];

/// Any of these locks alone: at the start of a call and at its end, in a session that works.
fn assert_enforced_under_bytes(how: &str) {
    let site = guarded_site();
    let client = Client { site: &site, session: "s" };
    for (number, (name, start, length)) in SQLITE_BYTES.into_iter().enumerate() {
        let kind = format!("bytes {how} {name} {start} {length}");
        let holder = Holder::start(&site, &kind);
        let call = format!("b{number}");
        let denied = timed(|| client.ask(&call, "Bash", &json!({"command": "git push origin main"})));
        assert!(denied.answer >= AnswerEffect::Deny, "{kind}: {denied:?}");
        let other = timed(|| client.ask(&format!("o{number}"), "Bash", &json!({"command": "ls -l"})));
        assert_eq!(other.answer, AnswerEffect::Pass, "{kind}: {other:?}");
        drop(holder);
        client.shell(&format!("after{number}"), &format!("ls {number}"), Ok("a file"));
        assert_eq!(waiting(&site), 0, "{kind}: all events were counted");
    }
    site.assert_verifies();
}

/// A process that also claims to use the shared memory, and damages the index in it, makes readers wait for the writer's lock.
#[test]
fn a_damaged_index_that_nobody_can_rebuild_delays_no_hook() {
    let site = guarded_site();
    let client = Client { site: &site, session: "s" };
    for (number, place) in [12_u64, 60].into_iter().enumerate() {
        let writer = Holder::start(&site, "bytes write state.db-shm 120 1");
        let user = Holder::start(&site, "bytes read state.db-shm 128 1");
        let memory = std::fs::File::options().read(true).write(true).open(site.state().join("state.db-shm"));
        let memory = memory.expect("it is there");
        let mut byte = [0];
        memory.read_exact_at(&mut byte, place).expect("read");
        memory.write_all_at(&[byte[0] ^ 0x55], place).expect("written");
        let denied = timed(|| client.ask(&format!("b{number}"), "Bash", &json!({"command": "git push origin main"})));
        assert!(denied.answer >= AnswerEffect::Deny, "byte {place}: {denied:?}");
        let check = site.run(&["constraint", "check", "no-push"]);
        assert_eq!(check.code, Some(77), "byte {place}: {check:?}");
        drop((writer, user));
        client.shell(&format!("after{number}"), &format!("ls {number}"), Ok("a file"));
        assert_eq!(waiting(&site), 0, "byte {place}: all events were counted");
    }
    site.assert_verifies();
}

#[test]
fn a_lock_that_forbids_all_others_on_any_of_sqlites_bytes_delays_no_hook() {
    assert_enforced_under_bytes("write");
}

#[test]
fn a_shared_lock_on_any_of_sqlites_bytes_delays_no_hook() {
    assert_enforced_under_bytes("read");
}

#[test]
fn a_lock_of_an_open_file_on_any_of_sqlites_bytes_delays_no_hook() {
    assert_enforced_under_bytes("open-file");
}

#[test]
fn a_lease_neither_delays_a_hook_nor_opens_a_circuit() {
    for name in ["state.db", "state.db-shm", "state.db-wal", "state.lock"] {
        assert_enforced_under(&format!("lease {name}"));
    }
}

#[test]
fn the_person_reads_once_which_process_holds_the_lock() {
    let site = guarded_site();
    let client = Client { site: &site, session: "s" };
    let holder = Holder::start(&site, "write state.db");
    let process = format!("process {} (python3", holder.0.id());
    let first = client.ask("t1", "Bash", &json!({"command": "git push"}));
    assert!(first.to_person.contains(&process), "{first:?}");
    let started = Instant::now();
    let second = client.ask("t2", "Bash", &json!({"command": "git push"}));
    assert_eq!(second.to_person, "", "only once");
    assert!(site.state().join("stuck.json").exists(), "and it is known: {:?}", started.elapsed());
}

#[test]
fn a_planted_mark_does_not_silence_haltline() {
    let site = guarded_site();
    let client = Client { site: &site, session: "s" };
    let holder = Holder::start(&site, "queue");
    client.ask("t1", "Bash", &json!({"command": "git push"}));
    let shown = site.state().join("told");
    let marks: Vec<_> = names(&shown).iter().map(|name| shown.join(name)).collect();
    assert!(!marks.is_empty(), "haltline remembers what it showed the person");
    for mark in &marks {
        std::fs::write(mark, "").expect("planted");
    }
    let again = client.ask("t2", "Bash", &json!({"command": "git push"}));
    assert!(again.to_person.contains("busy"), "{again:?}");
    drop(holder);
}
