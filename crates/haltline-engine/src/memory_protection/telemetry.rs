//! Rotates telemetry files that have too many lines, are too large or too old.
//!
//! The live file is renamed first, so that writers that open it afterwards write into a new one; then it is packed. A
//! writer that opened it before the rename may still append: what it appends during packing is read from the same open
//! file and copied into the new one, once before the renamed file is removed and once after. As with every log
//! rotation, a line that a program appends in several writes can be split between the two files, and a program that
//! keeps the file open for longer than a rotation takes writes into a deleted file.
//!
//! A crash leaves `NAME.STAMP.jsonl.rotating`, and perhaps the packed file beside it. The next cleanup packs it again,
//! which replaces the packed file by the same content, and removes it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use haltline_core::Instant;

use super::pack::pack;
use super::{Cleanup, DAY_MS, Entry, MemoryLimits, modified};
use crate::file::{append_regular, open_regular, sync_folder};
use crate::incident::INCIDENTS_FILE;

const ROTATING: &str = ".rotating";
const PACKED: &str = ".gz";
/// How much of the first line is read to find its timestamp.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// Lines beyond this many bytes are not counted, so that a huge file delays neither a hook nor a screen.
const COUNTED_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// True if a file of this name is live telemetry.
pub(super) fn is_live(name: &str) -> bool {
    name.ends_with("_telemetry.jsonl") || name == INCIDENTS_FILE
}

/// The telemetry file that a rotated file belongs to, from its name: `NAME.STAMP.jsonl.gz`.
pub(super) fn rotated_from(name: &str) -> Option<&str> {
    telemetry_of_stamped(name.strip_suffix(PACKED)?)
}

/// The telemetry file that an unfinished rotation belongs to.
fn rotating_from(name: &str) -> Option<&str> {
    telemetry_of_stamped(name.strip_suffix(ROTATING)?)
}

fn telemetry_of_stamped(name: &str) -> Option<&str> {
    let (telemetry, stamp) = name.strip_suffix(".jsonl")?.rsplit_once('.')?;
    let is_stamp = stamp.len() == 19
        && stamp.char_indices().all(|(index, letter)| match index {
            8 => letter == 'T',
            18 => letter == 'Z',
            _digit => letter.is_ascii_digit(),
        });
    (is_stamp && is_live(&format!("{telemetry}.jsonl"))).then_some(telemetry)
}

/// `20260212T103000123Z`, which sorts by time.
fn stamp(at: Instant) -> String {
    at.to_string().chars().filter(|letter| !matches!(letter, '-' | ':' | '.')).collect()
}

/// The numbers of a live file that the limits apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileMeasure {
    /// Lines in the first `COUNTED_BYTES_MAX` bytes; a longer file is due for its size alone.
    pub(super) lines: u64,
    pub(super) bytes: u64,
    pub(super) since: Instant,
}

impl FileMeasure {
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let file = open_regular(path)?;
        let attributes = file.metadata()?;
        let mut reader = BufReader::with_capacity(64 * 1024, file.take(COUNTED_BYTES_MAX));
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
        let since = line_instant(&first).unwrap_or_else(|| modified(&attributes));
        Ok(Self { lines: lines + u64::from(!is_ended), bytes: attributes.len(), since })
    }

    pub(super) fn is_due(&self, limits: &MemoryLimits, now: Instant) -> bool {
        let age_ms = now.as_millis().saturating_sub(self.since.as_millis());
        self.bytes > u64::from(limits.telemetry_kb_max) * 1024
            || self.lines > u64::from(limits.telemetry_lines_max)
            || (self.bytes > 0 && age_ms > i64::from(limits.telemetry_age_days_max) * DAY_MS)
    }
}

/// The timestamp of a line, if it has one.
fn line_instant(line: &[u8]) -> Option<Instant> {
    let line: serde_json::Value = serde_json::from_slice(line).ok()?;
    let value = ["timestamp", "ts", "time"].iter().find_map(|name| line.get(name))?;
    if let Some(text) = value.as_str() {
        return Instant::parse(text).ok();
    }
    // Seconds, with or without a fraction, or milliseconds: as seconds, the boundary would be in the year 5138.
    let number = value.as_f64().filter(|number| *number > 0.0)?;
    let millis = if number < 1e11 { number * 1000.0 } else { number };
    Some(Instant::from_millis(millis as i64))
}

/// Finishes rotations that a crash interrupted, rotates what is due, and deletes the oldest rotations.
pub(super) fn clean(folder: &Path, entries: &[Entry], limits: &MemoryLimits, now: Instant, done: &mut Cleanup) {
    for entry in entries {
        if let Some(telemetry) = rotating_from(&entry.name) {
            let live = folder.join(format!("{telemetry}.jsonl"));
            let finished = finish_rotation(&entry.path, &live).map(|()| done.files_rotated += 1);
            done.note_result(&entry.path, finished);
        }
    }
    for entry in entries.iter().filter(|entry| is_live(&entry.name)) {
        let rotated = FileMeasure::read(&entry.path).and_then(|measure| {
            if measure.is_due(limits, now) {
                rotate(&entry.path, now)?;
                done.files_rotated += 1;
            }
            Ok(())
        });
        done.note_result(&entry.path, rotated);
    }
    delete_oldest_rotations(folder, limits.rotations_kept, done);
}

fn rotate(live: &Path, now: Instant) -> io::Result<()> {
    let rotating = unused_name(live, now);
    fs::rename(live, &rotating)?;
    sync_folder(&rotating)?;
    finish_rotation(&rotating, live)
}

/// An unused name, later than all existing ones: a clock that went back must not make the newest rotation the oldest.
fn unused_name(live: &Path, now: Instant) -> PathBuf {
    let folder = live.parent().unwrap_or(Path::new("."));
    let telemetry = live.file_stem().and_then(|name| name.to_str());
    let rotations = super::entries(folder).into_iter().filter(|entry| {
        let name = entry.name.as_str();
        rotated_from(name).or_else(|| rotating_from(name)).is_some_and(|of| Some(of) == telemetry)
    });
    let newest = rotations.filter_map(|entry| parse_stamp(entry.name.rsplit('.').nth(2)?)).max();
    let at = newest.map_or(now, |newest| now.max(newest.plus_millis(1)));
    live.with_extension(format!("{}.jsonl{ROTATING}", stamp(at)))
}

fn parse_stamp(stamp: &str) -> Option<Instant> {
    let part = |from, to| stamp.get(from..to);
    let [year, month, day] = [part(0, 4)?, part(4, 6)?, part(6, 8)?];
    let [hour, minute, second, millis] = [part(9, 11)?, part(11, 13)?, part(13, 15)?, part(15, 18)?];
    Instant::parse(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}.{millis}Z")).ok()
}

fn packed_name(rotating: &Path) -> PathBuf {
    rotating.with_extension(PACKED.trim_start_matches('.'))
}

fn finish_rotation(rotating: &Path, live: &Path) -> io::Result<()> {
    let mut source = open_regular(rotating)?;
    create_live_file(live, &source)?;
    pack(&mut source, &packed_name(rotating))?;
    save_tail(&mut source, live)?;
    fs::remove_file(rotating)?;
    save_tail(&mut source, live)
}

/// Creates the new live file, unless a writer already did.
fn create_live_file(live: &Path, like: &File) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(live) {
        Ok(file) => file.set_permissions(like.metadata()?.permissions()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Appends to the new live file what was appended to the old one after it was packed.
fn save_tail(source: &mut File, live: &Path) -> io::Result<()> {
    let mut tail = Vec::new();
    source.read_to_end(&mut tail)?;
    if tail.is_empty() {
        return Ok(());
    }
    let mut live = append_regular(live)?;
    live.write_all(&tail)?;
    live.sync_data()
}

fn delete_oldest_rotations(folder: &Path, keep: u32, done: &mut Cleanup) {
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
            done.note_result(path, deleted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_are_recognised_by_their_names_and_sort_by_time() {
        let at = Instant::parse("2026-02-12T10:30:00.123Z").expect("valid");
        assert_eq!(stamp(at), "20260212T103000123Z");
        assert_eq!(parse_stamp("20260212T103000123Z"), Some(at));
        let rotating = unused_name(Path::new("x/performance_telemetry.jsonl"), at);
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
        let second = |text: &str| line_instant(text.as_bytes()).map(|at| at.as_millis() / 1000);
        assert_eq!(second(r#"{"timestamp": "2026-02-12T10:30:00Z"}"#), Some(1_770_892_200));
        assert_eq!(second(r#"{"ts": 1770892200.5}"#), Some(1_770_892_200));
        assert_eq!(second(r#"{"time": 1770892200500}"#), Some(1_770_892_200));
        for line in ["", "{", "{}", r#"{"ts": "yesterday"}"#, r#"{"ts": -1}"#, r#"{"ts": true}"#] {
            assert_eq!(second(line), None, "{line}");
        }
    }

    #[test]
    fn lines_beyond_a_bound_are_not_counted() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("a_telemetry.jsonl");
        fs::write(&path, "1\n2\n").expect("written");
        let mut file = OpenOptions::new().append(true).open(&path).expect("there");
        file.set_len(COUNTED_BYTES_MAX + 1).expect("a sparse file");
        file.write_all(b"\n\n\n").expect("appended");
        let measure = FileMeasure::read(&path).expect("read");
        assert_eq!((measure.lines, measure.bytes), (3, COUNTED_BYTES_MAX + 4));
        assert!(measure.is_due(&MemoryLimits::default(), measure.since), "for its size");
    }

    #[test]
    fn lines_appended_while_packing_continue_in_the_new_live_file() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (live, renamed) = (folder.path().join("a_telemetry.jsonl"), folder.path().join("renamed"));
        fs::write(&renamed, "1\n").expect("written");
        let mut late = OpenOptions::new().append(true).open(&renamed).expect("a writer that was there before");
        let mut source = open_regular(&renamed).expect("open");
        create_live_file(&live, &source).expect("made");
        pack(&mut source, &folder.path().join("packed")).expect("packed");
        late.write_all(b"2\n").expect("appended");
        save_tail(&mut source, &live).expect("saved");
        fs::remove_file(&renamed).expect("removed");
        late.write_all(b"3\n").expect("appended");
        save_tail(&mut source, &live).expect("saved");
        assert_eq!(fs::read_to_string(&live).expect("read"), "2\n3\n");
    }
}
