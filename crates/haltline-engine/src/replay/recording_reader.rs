//! Reads a recorded file line by line or as a whole, plain or gzip, recognised by content and not by name.
//!
//! At most one line is in memory at a time. A line longer than [`LINE_BYTES_MAX`] is skipped.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

/// The longest line that is read.
pub const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The longest document that is read.
const DOCUMENT_BYTES_MAX: usize = 512 * 1024 * 1024;
/// How much of a file is available for guessing its format.
const HEAD_BYTES: usize = 256 * 1024;
/// How much is read at once.
const BUFFER_BYTES: usize = 128 * 1024;

/// What a read returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A line or document, which is in the buffer.
    Whole,
    /// A line or document that was too long and was skipped.
    TooLong,
    End,
}

/// Reads a recorded file.
pub struct RecordingReader {
    input: Chain<Cursor<Vec<u8>>, BufReader<Box<dyn Read + Send>>>,
}

/// Counts the bytes read from the disk, for a progress bar.
struct CountingReader {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Returns an error once, at the point where a file cannot be read any further.
struct FailingReader(Option<io::Error>);

impl Read for FailingReader {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

impl RecordingReader {
    /// Opens a file; the number of bytes read from it is added to `bytes`.
    pub fn open(path: &Path, bytes: &Arc<AtomicU64>) -> io::Result<Self> {
        let mut file = CountingReader { file: File::open(path)?, bytes: Arc::clone(bytes) };
        let mut magic = Vec::with_capacity(2);
        (&mut file).take(2).read_to_end(&mut magic)?;
        let is_gzip = magic == [0x1f, 0x8b];
        let whole = Cursor::new(magic).chain(file);
        let mut input: Box<dyn Read + Send> =
            if is_gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
        let mut head = Vec::new();
        // A small file may be damaged within its head: what came before is used, and the error is returned when it is
        // reached.
        if let Err(error) = (&mut input).take(HEAD_BYTES as u64).read_to_end(&mut head) {
            if head.is_empty() {
                return Err(error);
            }
            input = Box::new(FailingReader(Some(error)));
        }
        Ok(Self { input: Cursor::new(head).chain(BufReader::with_capacity(BUFFER_BYTES, input)) })
    }

    /// The beginning of the file. Valid only before the first read.
    pub fn head(&self) -> &[u8] {
        self.input.get_ref().0.get_ref()
    }

    /// Reads the next line into the buffer, without its line end. Blank lines are skipped.
    pub fn read_line(&mut self, buffer: &mut Vec<u8>) -> io::Result<Piece> {
        loop {
            buffer.clear();
            // One byte more than a line may have, for its line end.
            let length = (&mut self.input).take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', buffer)?;
            if length == 0 {
                return Ok(Piece::End);
            }
            if length > LINE_BYTES_MAX && buffer.last() != Some(&b'\n') {
                *buffer = Vec::new();
                self.input.skip_until(b'\n')?;
                return Ok(Piece::TooLong);
            }
            let end = buffer.trim_ascii_end().len();
            buffer.truncate(end);
            if !buffer.is_empty() {
                return Ok(Piece::Whole);
            }
        }
    }

    /// Reads the whole file into the buffer.
    pub fn read_document(&mut self, buffer: &mut Vec<u8>) -> io::Result<Piece> {
        buffer.clear();
        let length = (&mut self.input).take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(buffer)?;
        if length > DOCUMENT_BYTES_MAX {
            *buffer = Vec::new();
            return Ok(Piece::TooLong);
        }
        Ok(if length == 0 { Piece::End } else { Piece::Whole })
    }
}
