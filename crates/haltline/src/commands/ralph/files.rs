//! Reads files of Ralph's folder, each up to a size limit.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haltline_agents::ralph::Analysis;

/// Ralph's analysis of the output of the last loop.
const ANALYSIS: &str = ".response_analysis";
/// Largest analysis that is read; it contains the agent's last message.
const ANALYSIS_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How many files of the log folder are looked at.
const LOGS_MAX: usize = 20_000;

/// Reads the analysis of this loop, if there is one.
pub fn analysis_of(folder: &Path, loop_number: u64) -> Option<Analysis> {
    let content = head_of(&folder.join(ANALYSIS), ANALYSIS_BYTES_MAX).ok()?;
    Analysis::parse(content.as_bytes()).filter(|analysis| analysis.is_about(loop_number))
}

/// Returns the newest output of an agent that Ralph kept.
pub fn newest_output(folder: &Path) -> Option<PathBuf> {
    let is_output = |name: &str| name.starts_with("claude_output_") && name.ends_with(".log");
    let logs = fs::read_dir(folder.join("logs")).ok()?.flatten().take(LOGS_MAX);
    let outputs = logs.filter(|file| file.file_name().to_str().is_some_and(is_output)).map(|file| {
        let written = file.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        // Names contain the time, so they break ties of the file system's clock.
        (written, file.path())
    });
    outputs.max().map(|(_, path)| path)
}

/// Reads the first bytes of a file as text. Only regular files are read: reading a pipe would block.
pub fn head_of(path: &Path, bytes_max: u64) -> io::Result<String> {
    text_of(open(path)?, bytes_max)
}

/// Reads the last bytes of a file as text, without a partial first line.
pub fn tail_of(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(bytes_max);
    file.seek(SeekFrom::Start(skipped))?;
    let text = text_of(file, bytes_max)?;
    // The first line may be incomplete.
    Ok(match text.split_once('\n') {
        Some((_half, whole)) if skipped > 0 => whole.to_owned(),
        Some(_) | None => text,
    })
}

fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    File::open(path)
}

fn text_of(file: File, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_of_the_end_are_read() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("out.log");
        fs::write(&path, "first line\nsecond\nthird\n").expect("written");
        assert_eq!(tail_of(&path, 1000).expect("read"), "first line\nsecond\nthird\n");
        assert_eq!(tail_of(&path, 16).expect("read"), "second\nthird\n");
        assert_eq!(head_of(&path, 5).expect("read"), "first");
        assert!(head_of(folder.path(), 5).is_err(), "a folder is no file");
    }

    #[test]
    fn the_newest_output_is_found_among_other_logs() {
        let folder = tempfile::tempdir().expect("temp folder");
        assert_eq!(newest_output(folder.path()), None);
        fs::create_dir(folder.path().join("logs")).expect("created");
        for name in ["claude_output_1.log", "claude_output_2.log", "ralph.log", "claude_output_3.txt"] {
            fs::write(folder.path().join("logs").join(name), "x").expect("written");
        }
        assert_eq!(newest_output(folder.path()), Some(folder.path().join("logs/claude_output_2.log")));
    }
}
