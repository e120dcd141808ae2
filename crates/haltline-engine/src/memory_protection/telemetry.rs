//! Telemetry files are rotated when they are large, long or old.
//!
//! The live file is renamed first, so that whoever opens it from then on writes into a fresh one, and then packed.
//! Whoever had it open before the rename may still append: what was appended while packing is read from the same open
//! file and goes into the fresh one, once before the renamed file is removed and once after. Only a program that keeps
//! the file open for longer than a rotation takes writes into a file that is gone, as with every rotation of logs.
//!
//! A crash leaves `NAME.STAMP.jsonl.rotating`, and perhaps the packed file beside it. The next run packs it again, which
//! replaces the packed file by the same content, and removes it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use haltline_core::Instant;

use super::pack::{append_plain, open_plain, pack, sync_folder};
use super::{Cleanup, DAY_MS, Entry, MemoryLimits, modified};

const INCIDENTS: &str = "circuit_breaker_incidents.jsonl";
const ROTATING: &str = ".rotating";
const PACKED: &str = ".gz";
/// How much of a first line is read in search of its instant.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// Whether a file of this name is telemetry.
pub(super) fn is_live(name: &str) -> bool {
    name.ends_with("_telemetry.jsonl") || name == INCIDENTS
}

/// The telemetry a rotated file was part of, by its name: `NAME.STAMP.jsonl.gz`.
pub(super) fn rotated_from(name: &str) -> Option<&str> {
    stamped(name.strip_suffix(PACKED)?)
}

/// The telemetry an unfinished rotation is of.
fn rotating_from(name: &str) -> Option<&str> {
    stamped(name.strip_suffix(ROTATING)?)
}

fn stamped(name: &str) -> Option<&str> {
    let (telemetry, stamp) = name.strip_suffix(".jsonl")?.rsplit_once('.')?;
    let is_stamp = stamp.len() == 19
        && stamp.char_indices().all(|(place, letter)| match place {
            8 => letter == 'T',
            18 => letter == 'Z',
            _digit => letter.is_ascii_digit(),
        });
    (is_stamp && is_live(&format!("{telemetry}.jsonl"))).then_some(telemetry)
}

/// `20260212T103000123Z`: sorts by time.
fn stamp(at: Instant) -> String {
    at.to_string().chars().filter(|letter| !matches!(letter, '-' | ':' | '.')).collect()
}

/// What is known of a live file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measure {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    pub(super) since: Instant,
}

impl Measure {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let file = open_plain(path)?;
        let (attributes, mut reader) = (file.metadata()?, BufReader::with_capacity(64 * 1024, file));
        let mut first = Vec::new();
        reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut first)?;
        let mut lines = u64::from(first.ends_with(b"\n"));
        let mut is_ended = first.is_empty() || first.ends_with(b"\n");
        loop {
            let part = reader.fill_buf()?;
            let Some(last) = part.last() else { break };
            is_ended = *last == b'\n';
            lines += part.iter().filter(|byte| **byte == b'\n').count() as u64;
            let length = part.len();
            reader.consume(length);
        }
        let since = instant_of(&first).unwrap_or_else(|| modified(&attributes));
        Ok(Self { lines: lines + u64::from(!is_ended), bytes: attributes.len(), since })
    }

    pub(super) fn is_due(&self, limits: &MemoryLimits, now: Instant) -> bool {
        let age_ms = now.as_millis().saturating_sub(self.since.as_millis());
        self.bytes > u64::from(limits.telemetry_kb_max) * 1024
            || self.lines > u64::from(limits.telemetry_lines_max)
            || (self.bytes > 0 && age_ms > i64::from(limits.telemetry_age_days_max) * DAY_MS)
    }
}

/// When a line was written, where it says so.
fn instant_of(line: &[u8]) -> Option<Instant> {
    let line: serde_json::Value = serde_json::from_slice(line).ok()?;
    let value = ["timestamp", "ts", "time"].iter().find_map(|name| line.get(name))?;
    if let Some(text) = value.as_str() {
        return Instant::parse(text).ok();
    }
    // Seconds, with or without a fraction, or milliseconds: one such number of milliseconds is in the year 5138.
    let number = value.as_f64().filter(|number| *number > 0.0)?;
    let millis = if number < 1e11 { number * 1000.0 } else { number };
    Some(Instant::from_millis(millis as i64))
}

/// Finishes what a crash left, rotates what is due, and forgets the oldest rotations.
pub(super) fn clean(folder: &Path, entries: &[Entry], limits: &MemoryLimits, now: Instant, done: &mut Cleanup) {
    for entry in entries {
        if let Some(telemetry) = rotating_from(&entry.name) {
            let live = folder.join(format!("{telemetry}.jsonl"));
            let finished = finish(&entry.path, &live).map(|()| done.files_rotated += 1);
            done.note(&entry.path, finished);
        }
    }
    for entry in entries.iter().filter(|entry| is_live(&entry.name)) {
        let rotated = Measure::of(&entry.path).and_then(|measure| {
            if measure.is_due(limits, now) {
                rotate(&entry.path, now)?;
                done.files_rotated += 1;
            }
            Ok(())
        });
        done.note(&entry.path, rotated);
    }
    forget_oldest(folder, limits.rotations_kept, done);
}

fn rotate(live: &Path, now: Instant) -> io::Result<()> {
    let rotating = free_name(live, now);
    fs::rename(live, &rotating)?;
    sync_folder(&rotating)?;
    finish(&rotating, live)
}

/// A name nobody has, later than all there are: a clock that went back must not make the newest rotation the oldest.
fn free_name(live: &Path, now: Instant) -> PathBuf {
    let folder = live.parent().unwrap_or(Path::new("."));
    let telemetry = live.file_stem().and_then(|name| name.to_str());
    let taken = super::entries(folder).into_iter().filter(|entry| {
        let name = entry.name.as_str();
        rotated_from(name).or_else(|| rotating_from(name)).is_some_and(|of| Some(of) == telemetry)
    });
    let newest = taken.filter_map(|entry| unstamp(entry.name.rsplit('.').nth(2)?)).max();
    let at = newest.map_or(now, |newest| now.max(newest.plus_millis(1)));
    live.with_extension(format!("{}.jsonl{ROTATING}", stamp(at)))
}

/// The instant a stamp stands for.
fn unstamp(stamp: &str) -> Option<Instant> {
    let part = |from, to| stamp.get(from..to);
    let [year, month, day] = [part(0, 4)?, part(4, 6)?, part(6, 8)?];
    let [hour, minute, second, millis] = [part(9, 11)?, part(11, 13)?, part(13, 15)?, part(15, 18)?];
    Instant::parse(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}.{millis}Z")).ok()
}

fn packed_name(rotating: &Path) -> PathBuf {
    rotating.with_extension(PACKED.trim_start_matches('.'))
}

fn finish(rotating: &Path, live: &Path) -> io::Result<()> {
    let mut source = open_plain(rotating)?;
    fresh(live, &source)?;
    pack(&mut source, &packed_name(rotating))?;
    save_tail(&mut source, live)?;
    fs::remove_file(rotating)?;
    save_tail(&mut source, live)
}

/// The fresh file, unless a writer was quicker.
fn fresh(live: &Path, like: &File) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(live) {
        Ok(file) => file.set_permissions(like.metadata()?.permissions()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// What was appended to a file after it was packed goes on in the fresh one.
fn save_tail(source: &mut File, live: &Path) -> io::Result<()> {
    let mut tail = Vec::new();
    source.read_to_end(&mut tail)?;
    if tail.is_empty() {
        return Ok(());
    }
    let mut live = append_plain(live)?;
    live.write_all(&tail)?;
    live.sync_data()
}

fn forget_oldest(folder: &Path, keep: u32, done: &mut Cleanup) {
    let mut rotations: Vec<(String, PathBuf)> = Vec::new();
    for entry in super::entries(folder) {
        if let Some(telemetry) = rotated_from(&entry.name) {
            rotations.push((telemetry.to_owned(), entry.path));
        }
    }
    rotations.sort_by(|left, right| right.cmp(left));
    let mut kept: (&str, u32) = ("", 0);
    for (telemetry, path) in &rotations {
        kept = if kept.0 == telemetry { (kept.0, kept.1 + 1) } else { (telemetry, 1) };
        if kept.1 > keep {
            let deleted = fs::remove_file(path).map(|()| done.rotations_deleted += 1);
            done.note(path, deleted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_are_known_by_their_names_and_sort_by_time() {
        let at = Instant::parse("2026-02-12T10:30:00.123Z").expect("valid");
        assert_eq!(stamp(at), "20260212T103000123Z");
        assert_eq!(unstamp("20260212T103000123Z"), Some(at));
        let rotating = free_name(Path::new("x/performance_telemetry.jsonl"), at);
        assert_eq!(rotating, Path::new("x/performance_telemetry.20260212T103000123Z.jsonl.rotating"));
        let packed = packed_name(&rotating);
        assert_eq!(packed, Path::new("x/performance_telemetry.20260212T103000123Z.jsonl.gz"));
        assert_eq!(rotated_from("performance_telemetry.20260212T103000123Z.jsonl.gz"), Some("performance_telemetry"));
        for name in
            ["performance_telemetry.jsonl.gz", "a_telemetry.2026.jsonl.gz", "notes.20260212T103000123Z.jsonl.gz"]
        {
            assert_eq!(rotated_from(name), None, "{name}");
        }
    }

    #[test]
    fn the_first_line_says_how_old_a_file_is() {
        let second = |text: &str| instant_of(text.as_bytes()).map(|at| at.as_millis() / 1000);
        assert_eq!(second(r#"{"timestamp": "2026-02-12T10:30:00Z"}"#), Some(1_770_892_200));
        assert_eq!(second(r#"{"ts": 1770892200.5}"#), Some(1_770_892_200));
        assert_eq!(second(r#"{"time": 1770892200500}"#), Some(1_770_892_200));
        for line in ["", "{", "{}", r#"{"ts": "yesterday"}"#, r#"{"ts": -1}"#, r#"{"ts": true}"#] {
            assert_eq!(second(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_appended_while_packing_goes_on_in_the_fresh_file() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (live, renamed) = (folder.path().join("a_telemetry.jsonl"), folder.path().join("renamed"));
        fs::write(&renamed, "1\n").expect("written");
        let mut late = OpenOptions::new().append(true).open(&renamed).expect("a writer that was there before");
        let mut source = open_plain(&renamed).expect("open");
        fresh(&live, &source).expect("made");
        pack(&mut source, &folder.path().join("packed")).expect("packed");
        late.write_all(b"2\n").expect("appended");
        save_tail(&mut source, &live).expect("saved");
        fs::remove_file(&renamed).expect("removed");
        late.write_all(b"3\n").expect("appended");
        save_tail(&mut source, &live).expect("saved");
        assert_eq!(fs::read_to_string(&live).expect("read"), "2\n3\n");
    }
}
