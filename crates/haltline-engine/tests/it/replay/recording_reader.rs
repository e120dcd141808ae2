//! Tests of `replay/recording_reader.rs`.

use flate2::Compression;
use flate2::write::GzEncoder;
use haltline_engine::replay::{LINE_BYTES_MAX, Piece, RecordingReader};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn lines(content: &[u8]) -> Vec<String> {
    let file = tempfile::NamedTempFile::new().expect("temp file");
    std::fs::write(file.path(), content).expect("written");
    let bytes = Arc::default();
    let mut pieces = RecordingReader::open(file.path(), &bytes).expect("opened");
    let (mut lines, mut buffer) = (Vec::new(), Vec::new());
    loop {
        match pieces.read_line(&mut buffer).expect("read") {
            Piece::Whole => lines.push(String::from_utf8_lossy(&buffer).into_owned()),
            Piece::TooLong => lines.push("too long".to_owned()),
            Piece::End => break,
        }
    }
    assert_eq!(bytes.load(Ordering::Relaxed), content.len() as u64);
    lines
}

fn zipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("packed");
    encoder.finish().expect("packed")
}

#[test]
fn lines_come_without_line_ends_from_plain_and_gzip_files() {
    let content = b"one\r\n\n  \ntwo\nthree";
    for content in [content.to_vec(), zipped(content), [zipped(b"one\n"), zipped(b"two\nthree")].concat()] {
        assert_eq!(lines(&content), ["one", "two", "three"]);
    }
    assert_eq!(lines(b""), [""; 0]);
    assert_eq!(lines(b"x"), ["x"]);
}

#[test]
fn a_line_that_is_too_long_is_skipped_and_one_that_just_fits_is_not() {
    let mut content = vec![b'a'; LINE_BYTES_MAX];
    content.extend_from_slice(b"\nsmall\n");
    content.extend(std::iter::repeat_n(b'b', LINE_BYTES_MAX + 1));
    content.extend_from_slice(b"\nlast\n");
    let read: Vec<String> = lines(&content).into_iter().map(|line| line.chars().take(9).collect()).collect();
    assert_eq!(read, ["aaaaaaaaa", "small", "too long", "last"]);
}

#[test]
fn the_lines_before_the_cut_of_a_truncated_gzip_file_are_read() {
    let file = tempfile::NamedTempFile::new().expect("temp file");
    let whole = zipped((0..2_000).map(|number| format!("{}\n", number * 7919)).collect::<String>().as_bytes());
    std::fs::write(file.path(), &whole[..whole.len() - 9]).expect("written");
    let mut pieces = RecordingReader::open(file.path(), &Arc::default()).expect("opened");
    let mut buffer = Vec::new();
    let mut lines = 0;
    let end = loop {
        match pieces.read_line(&mut buffer) {
            Ok(Piece::Whole) => lines += 1,
            other => break other,
        }
    };
    assert!(lines > 1_000, "{lines}");
    assert!(end.is_err(), "{end:?}");
}
