//! The agent's memory folder stays small, and nothing in it is lost: not by a crash, not to a second writer (L9).

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::read::GzDecoder;
use haltline_core::Instant;
use haltline_engine::memory_protection::{Cleanup, MemoryLimits, clean, report};
use tempfile::TempDir;

const STAMP: &str = "20260212T103000000Z";

fn now() -> Instant {
    Instant::parse("2026-02-12T10:30:00Z").expect("valid")
}

struct Memory {
    folder: TempDir,
    limits: MemoryLimits,
}

impl Memory {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("temp folder"), limits: MemoryLimits::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file with a modification time of `days` days ago.
    fn write(&self, name: &str, content: impl AsRef<[u8]>, days: f64) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("created");
        fs::write(&path, content).expect("written");
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(now().as_millis().unsigned_abs());
        let file = File::options().write(true).open(&path).expect("open");
        file.set_modified(at - Duration::from_secs_f64(days * 86_400.0)).expect("set");
    }

    fn clean(&self, active: Option<&str>) -> Cleanup {
        let done = clean(self.folder.path(), &self.limits, active, now()).expect("cleaned");
        assert!(self.names().iter().all(|name| !name.contains(".haltline-tmp")), "{:?}", self.names());
        done
    }

    /// All files, as relative paths, without the lock.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        list(self.folder.path(), self.folder.path(), &mut names);
        names.retain(|name| name != ".haltline-memory.lock");
        names.sort();
        names
    }

    fn unpacked(&self, name: &str) -> String {
        let mut text = String::new();
        GzDecoder::new(File::open(self.path(name)).expect("open")).read_to_string(&mut text).expect("gzip");
        text
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("read")
    }
}

fn list(top: &Path, folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.file_type().expect("a kind").is_dir() {
            list(top, &entry.path(), names);
        } else {
            names.push(entry.path().strip_prefix(top).expect("below").display().to_string());
        }
    }
}

fn lines(count: usize) -> String {
    (0..count).map(|number| format!("{{\"n\":{number}}}\n")).collect()
}

#[test]
fn telemetry_is_rotated_when_long_large_or_old_and_not_before() {
    let old = "{\"timestamp\":\"2026-02-05T10:29:59Z\"}\n";
    let young = "{\"timestamp\":\"2026-02-05T10:30:00Z\"}\n";
    for (content, days, is_due) in [
        (lines(1000), 0.0, false),
        (lines(1001), 0.0, true),
        (format!("{}last", lines(1000)), 0.0, true),
        ("x".repeat(50 * 1024), 0.0, false),
        ("x".repeat(50 * 1024 + 1), 0.0, true),
        (old.to_owned(), 0.0, true),
        (young.to_owned(), 30.0, false),
        ("no instant\n".to_owned(), 6.9, false),
        ("no instant\n".to_owned(), 7.1, true),
        (String::new(), 30.0, false),
    ] {
        let memory = Memory::new();
        memory.write("performance_telemetry.jsonl", &content, days);
        let memory_report = report(memory.folder.path(), &memory.limits, now());
        assert_eq!(memory_report.telemetry[0].is_due, is_due, "{:.40} {days}", content);
        let done = memory.clean(None);
        assert_eq!((done.files_rotated == 1, &done.problems[..]), (is_due, &[][..]), "{:.40} {days}", content);
        if is_due {
            assert_eq!(memory.text("performance_telemetry.jsonl"), "");
            assert_eq!(memory.unpacked(&format!("performance_telemetry.{STAMP}.jsonl.gz")), content);
        } else {
            assert_eq!(memory.names(), ["performance_telemetry.jsonl"]);
        }
    }
}

#[test]
fn the_newest_rotations_are_kept_for_each_file() {
    let memory = Memory::new();
    for round in 0..7 {
        for name in ["a_telemetry.jsonl", "circuit_breaker_incidents.jsonl"] {
            memory.write(name, format!("{round}\n{}", lines(1001)), 0.0);
        }
        memory.clean(None);
    }
    let names = memory.names();
    let rotations: Vec<&String> = names.iter().filter(|name| name.starts_with("a_telemetry.2")).collect();
    assert_eq!((names.len(), rotations.len()), (12, 5), "{names:?}");
    let rounds: Vec<String> = rotations.iter().map(|name| memory.unpacked(name)[..1].to_owned()).collect();
    assert_eq!(rounds, ["2", "3", "4", "5", "6"]);
}

#[test]
fn a_clock_that_went_back_does_not_make_the_newest_rotation_the_oldest() {
    let memory = Memory { limits: MemoryLimits { rotations_kept: 1, ..MemoryLimits::default() }, ..Memory::new() };
    memory.write("a_telemetry.20270101T000000999Z.jsonl.gz", "of another time", 0.0);
    memory.write("a_telemetry.jsonl", lines(1001), 0.0);
    memory.clean(None);
    assert_eq!(memory.unpacked("a_telemetry.20270101T000001000Z.jsonl.gz"), lines(1001));
    assert_eq!(memory.names().len(), 2, "{:?}", memory.names());
}

#[test]
fn a_rotation_interrupted_by_a_crash_is_finished_and_loses_no_line() {
    let rotating = format!("a_telemetry.{STAMP}.jsonl.rotating");
    let packed = format!("a_telemetry.{STAMP}.jsonl.gz");
    let whole = {
        let memory = Memory::new();
        memory.write("a_telemetry.jsonl", lines(1001), 0.0);
        memory.clean(None);
        fs::read(memory.path(&packed)).expect("read")
    };
    type Crash<'a> = (&'a str, &'a dyn Fn(&Memory));
    let crashes: [Crash<'_>; 4] = [
        ("after the rename", &|_memory| {}),
        ("after the fresh file, already written to", &|memory| memory.write("a_telemetry.jsonl", "new\n", 0.0)),
        ("while packing", &|memory| memory.write(&format!("{packed}.haltline-tmp"), &whole[..20], 0.0)),
        ("before the renamed file was removed", &|memory| memory.write(&packed, &whole, 0.0)),
    ];
    for (crash, leave) in crashes {
        let memory = Memory::new();
        memory.write(&rotating, lines(1001), 0.0);
        leave(&memory);
        let done = memory.clean(None);
        assert_eq!((done.files_rotated, &done.problems[..]), (1, &[][..]), "{crash}");
        assert_eq!(memory.names(), [packed.clone(), "a_telemetry.jsonl".to_owned()], "{crash}");
        assert_eq!(memory.unpacked(&packed), lines(1001), "{crash}");
        let live = if crash.contains("written to") { "new\n" } else { "" };
        assert_eq!(memory.text("a_telemetry.jsonl"), live, "{crash}");
    }
}

#[test]
fn lines_that_others_append_while_files_rotate_are_all_there() {
    let memory = Memory { limits: MemoryLimits { rotations_kept: 1000, ..MemoryLimits::default() }, ..Memory::new() };
    let live = memory.path("a_telemetry.jsonl");
    // The lines whose file was already deleted once they were written: the writer held it open for longer than a
    // rotation takes, which a busy machine can do to any thread.
    let writer = std::thread::spawn(move || {
        let mut written_late = Vec::new();
        for number in 0..20_000 {
            let mut file = OpenOptions::new().append(true).create(true).open(&live).expect("open");
            file.write_all(format!("{number}\n").as_bytes()).expect("appended");
            if file.metadata().expect("an open file").nlink() == 0 {
                written_late.push(number);
            }
        }
        written_late
    });
    while !writer.is_finished() {
        memory.clean(None);
    }
    let mut lost = writer.join().expect("the writer ends");
    assert!(lost.len() < 2_000, "{} lines were written late", lost.len());
    let mut found: Vec<u32> = Vec::new();
    for name in memory.names() {
        let text = if name.ends_with(".gz") { memory.unpacked(&name) } else { memory.text(&name) };
        found.extend(text.lines().map(|line| line.parse::<u32>().expect("a whole line")));
    }
    lost.retain(|number| !found.contains(number));
    found.extend(lost);
    found.sort_unstable();
    assert_eq!(found, (0..20_000).collect::<Vec<_>>());
}

#[test]
fn old_sessions_and_those_beyond_the_newest_ten_are_packed_away() {
    let memory = Memory::new();
    for number in 0..15 {
        memory.write(
            &format!("session_s{number:02}_state.json"),
            format!("{{\"n\": {number}}}"),
            f64::from(number) / 10.0,
        );
    }
    memory.write("session_old_state.json", "{}", 7.5);
    memory.write("session_mine_state.json", "{\"mine\": true}", 30.0);
    let done = memory.clean(Some("mine"));
    assert_eq!((done.sessions_pruned, &done.problems[..]), (7, &[][..]));
    let names = memory.names();
    let states: Vec<&str> = names.iter().filter(|name| name.starts_with("session_s0")).map(String::as_str).collect();
    assert_eq!(states.len(), 9, "{names:?}");
    assert!(names.contains(&"session_mine_state.json".to_owned()), "the active one stays: {names:?}");
    assert_eq!(memory.unpacked("session_archives/2026-02-11/s14_state.json.gz"), "{\"n\": 14}");
    assert_eq!(memory.unpacked("session_archives/2026-02-04/old_state.json.gz"), "{}");
    assert_eq!(memory.clean(Some("mine")).sessions_pruned, 0);
}

#[test]
fn an_archiving_interrupted_by_a_crash_is_finished() {
    let archive = "session_archives/2026-02-02/a_state.json.gz";
    let whole = {
        let memory = Memory::new();
        memory.write("session_a_state.json", "{\"a\": 1}", 10.0);
        memory.clean(None);
        fs::read(memory.path(archive)).expect("read")
    };
    for (crash, name, content) in [
        ("while packing", format!("{archive}.haltline-tmp"), &whole[..10]),
        ("before the state was removed", archive.to_owned(), &whole[..]),
    ] {
        let memory = Memory::new();
        memory.write("session_a_state.json", "{\"a\": 1}", 10.0);
        memory.write(&name, content, 0.0);
        assert_eq!(memory.clean(None).sessions_pruned, 1, "{crash}");
        assert_eq!(memory.names(), [archive], "{crash}");
        assert_eq!(memory.unpacked(archive), "{\"a\": 1}", "{crash}");
    }
    let memory = Memory::new();
    memory.write(archive, &whole, 0.0);
    memory.write("session_a_state.json", "{\"a\": 2}", 10.0);
    memory.clean(None);
    let again = memory.unpacked("session_archives/2026-02-02/a_state.2.json.gz");
    assert_eq!((memory.unpacked(archive).as_str(), again.as_str()), ("{\"a\": 1}", "{\"a\": 2}"), "both are kept");
}

#[test]
fn lists_are_cut_but_not_those_of_the_active_session() {
    let entries: Vec<String> = (0..150).map(|number| format!("{{\"boost\": {number}}}")).collect();
    let state =
        format!("{{\"evidence_ledger\": [{}], \"tool_history\": [{}]}}", entries.join(","), "1,".repeat(79) + "1");
    let memory = Memory::new();
    for session in ["a", "mine"] {
        memory.write(&format!("session_{session}_state.json"), &state, 1.0);
    }
    fs::set_permissions(memory.path("session_a_state.json"), fs::Permissions::from_mode(0o600)).expect("set");
    memory.write("session_a_state.json.haltline-tmp", "{ half", 0.0);
    let before = fs::metadata(memory.path("session_a_state.json")).expect("there");
    let done = memory.clean(Some("mine"));
    assert_eq!((done.states_truncated, done.evidence_dropped), (1, 50), "{done:?}");
    assert_eq!(memory.text("session_mine_state.json"), state);
    let cut: serde_json::Value = serde_json::from_str(&memory.text("session_a_state.json")).expect("JSON");
    assert_eq!(cut["evidence_ledger"].as_array().map(Vec::len), Some(100));
    assert_eq!(cut["tool_history"].as_array().map(Vec::len), Some(50));
    assert_eq!(cut["evidence_summary"], serde_json::json!({"count": 50, "mean_boost": 24.5}));
    let after = fs::metadata(memory.path("session_a_state.json")).expect("there");
    assert_eq!(before.modified().expect("a time"), after.modified().expect("a time"), "it is not newer for that");
    assert_eq!(before.permissions(), after.permissions());
}

#[test]
fn a_folder_that_is_too_large_loses_its_oldest_archives_and_never_a_live_file() {
    let memory =
        Memory { limits: MemoryLimits { total_bytes_max: 40_000, ..MemoryLimits::default() }, ..Memory::new() };
    for day in 1..9 {
        memory.write(&format!("session_archives/2026-02-0{day}/s_state.json.gz"), vec![0; 8000], f64::from(20 - day));
    }
    memory.write(&format!("a_telemetry.{STAMP}.jsonl.gz"), vec![0; 8000], 0.0);
    memory.write("session_live_state.json", format!("{{\"x\": \"{}\"}}", "y".repeat(8000)), 0.0);
    let done = memory.clean(None);
    assert_eq!((done.oldest_deleted, &done.problems[..]), (6, &[][..]));
    let memory_report = report(memory.folder.path(), &memory.limits, now());
    assert!(
        memory_report.bytes < 40_000
            && memory_report.archives == 2
            && memory_report.rotations == 1
            && memory_report.sessions == 1,
        "{memory_report:?}"
    );
    assert!(
        !memory.path("session_archives/2026-02-01").exists() && memory.path("session_archives/2026-02-08").exists()
    );
    assert_eq!(done.bytes_freed, 48_000);

    memory.write("notes.md", vec![b'x'; 50_000], 0.0);
    let done = memory.clean(None);
    assert!(memory.path("notes.md").exists() && memory.path("session_live_state.json").exists());
    assert!(done.problems[0].contains("of live files alone; the limit is 39 KB"), "{done:?}");
}

#[test]
fn links_are_not_followed_and_foreign_files_are_not_touched() {
    let outside = tempfile::tempdir().expect("temp folder");
    fs::write(outside.path().join("secret"), lines(2000)).expect("written");
    let memory = Memory::new();
    symlink(outside.path().join("secret"), memory.path("a_telemetry.jsonl")).expect("linked");
    symlink(outside.path().join("secret"), memory.path("session_x_state.json")).expect("linked");
    symlink(outside.path(), memory.path("session_archives")).expect("linked");
    memory.write("session_old_state.json", "{}", 30.0);
    memory.write("notes.jsonl", lines(5000), 30.0);
    let done = memory.clean(None);
    assert_eq!((done.files_rotated, done.sessions_pruned, done.problems.len()), (0, 0, 1), "{done:?}");
    assert!(done.problems[0].contains("is not a folder"), "{done:?}");
    assert_eq!(fs::read_dir(outside.path()).expect("a folder").count(), 1);
    assert_eq!(fs::read_to_string(outside.path().join("secret")).expect("read"), lines(2000));
    assert_eq!(memory.text("notes.jsonl"), lines(5000));
}

#[test]
fn one_cleaner_at_a_time() {
    let memory = Memory::new();
    memory.write("a_telemetry.jsonl", lines(1001), 0.0);
    let lock = File::create(memory.path(".haltline-memory.lock")).expect("created");
    lock.lock().expect("locked");
    assert!(memory.clean(None).is_busy);
    assert_eq!(memory.text("a_telemetry.jsonl"), lines(1001));
    drop(lock);
    assert_eq!(memory.clean(None).files_rotated, 1);
    assert!(clean(&memory.path("nowhere"), &memory.limits, None, now()).is_err());
    assert_eq!(report(&memory.path("nowhere"), &memory.limits, now()).bytes, 0);
}
