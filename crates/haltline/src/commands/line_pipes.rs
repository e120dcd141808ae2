//! Standard input and output of a front that speaks a protocol of one JSON object per line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};

use serde::Serialize;

use super::event::LINE_BYTES_MAX;

/// Standard input and output, which nothing else in this process may use: a command that reads or prints by itself would
/// break the protocol.
pub struct LinePipes {
    requests: BufReader<File>,
    responses: File,
}

/// What was read.
pub enum Line {
    Whole,
    /// Longer than haltline reads.
    TooLong,
    EndOfInput,
}

impl LinePipes {
    pub fn take() -> std::io::Result<Self> {
        let requests = File::from(rustix::io::dup(rustix::stdio::stdin())?);
        let responses = File::from(rustix::io::dup(rustix::stdio::stdout())?);
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok(Self { requests: BufReader::new(requests), responses })
    }

    /// Reads the next line that is not empty into `line`.
    pub fn read_line(&mut self, line: &mut Vec<u8>) -> std::io::Result<Line> {
        loop {
            line.clear();
            if self.requests.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line)? == 0 {
                return Ok(Line::EndOfInput);
            }
            if line.len() as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
                self.requests.skip_until(b'\n')?;
                return Ok(Line::TooLong);
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Line::Whole);
            }
        }
    }

    /// False if nobody reads the responses any more.
    pub fn write_line(&mut self, response: &impl Serialize) -> bool {
        let mut line = serde_json::to_vec(response).expect("texts can be written");
        line.push(b'\n');
        self.responses.write_all(&line).is_ok()
    }
}
