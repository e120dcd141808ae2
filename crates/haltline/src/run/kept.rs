//! What is kept of a command's output: its beginning and its end, with the size of the gap.

use std::collections::VecDeque;

use super::OutputStream;

/// How much of each output stream is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepLimits {
    /// Bytes from the beginning.
    pub first_bytes_max: usize,
    /// Bytes from the end.
    pub last_bytes_max: usize,
}

impl Default for KeepLimits {
    fn default() -> Self {
        Self { first_bytes_max: 64 << 10, last_bytes_max: 1 << 20 }
    }
}

/// What is kept of both streams. Empty if the command had the terminal to itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptOutput {
    pub out: KeptStream,
    pub err: KeptStream,
}

impl KeptOutput {
    pub(super) fn new(limits: KeepLimits) -> Self {
        let stream = KeptStream { limits, ..KeptStream::default() };
        Self { out: stream.clone(), err: stream }
    }

    pub(super) fn stream_mut(&mut self, stream: OutputStream) -> &mut KeptStream {
        match stream {
            OutputStream::Out => &mut self.out,
            OutputStream::Err => &mut self.err,
        }
    }
}

/// What is kept of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptStream {
    first: Vec<u8>,
    last: VecDeque<u8>,
    left_out: u64,
    limits: KeepLimits,
    /// Whether the output was also written to our own output.
    pub forwarded: Forwarded,
}

/// What became of the copy of a stream on our own output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Forwarded {
    #[default]
    Complete,
    /// Our reader went away (`| head`). The command's pipe was closed as well, as it would have been without us.
    ReaderGone,
    /// Writing failed with this system error (a full disk, a terminal that is gone). The command's output was read to
    /// the end.
    Failed(String),
    /// Our reader did not read it before the run was over.
    GivenUp,
}

impl KeptStream {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.limits.first_bytes_max - self.first.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.first.extend_from_slice(first);
        let (dropped, rest) = rest.split_at(rest.len().saturating_sub(self.limits.last_bytes_max));
        self.last.extend(rest);
        let excess = self.last.len().saturating_sub(self.limits.last_bytes_max);
        self.last.drain(..excess);
        self.left_out += (dropped.len() + excess) as u64;
    }

    /// The beginning of the output.
    pub fn first(&self) -> &[u8] {
        &self.first
    }

    /// What came after the beginning, as far as it is kept.
    pub fn last(&self) -> Vec<u8> {
        self.last.iter().copied().collect()
    }

    /// Number of bytes between the two that are not kept.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// All that is kept; if something is left out, a line says how much.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.first).into_owned();
        if self.left_out > 0 {
            text.push_str(&format!("\n[{} bytes left out]\n", self.left_out));
        }
        text.push_str(&String::from_utf8_lossy(&self.last()));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pieces: &[&str]) -> (String, String, u64) {
        let mut stream =
            KeptStream { limits: KeepLimits { first_bytes_max: 4, last_bytes_max: 3 }, ..KeptStream::default() };
        for piece in pieces {
            stream.push(piece.as_bytes());
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(stream.first()), text(&stream.last()), stream.left_out())
    }

    #[test]
    fn the_beginning_and_the_end_are_kept_however_the_pieces_fall() {
        let whole = ("abcd".to_owned(), "hij".to_owned(), 3);
        assert_eq!(kept(&["abcdefghij"]), whole);
        assert_eq!(kept(&["abc", "defgh", "", "ij"]), whole);
        assert_eq!(kept(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]), whole);
        assert_eq!(kept(&["abcdefg"]), ("abcd".to_owned(), "efg".to_owned(), 0));
        assert_eq!(kept(&["ab"]), ("ab".to_owned(), String::new(), 0));
    }

    #[test]
    fn the_text_says_how_much_is_left_out() {
        let mut stream =
            KeptStream { limits: KeepLimits { first_bytes_max: 1, last_bytes_max: 1 }, ..KeptStream::default() };
        stream.push(b"a\xffc");
        assert_eq!(stream.text(), "a\n[1 bytes left out]\nc");
    }
}
