//! `--stream`: one process for a client that would otherwise start one at every event. Each line is an event and gets a
//! line, in order, as if a hook of its own had answered it: nothing is kept from one to the next. A new haltline in this
//! one's place is one that the next hook would run, so this one ends; who asked and hears no answer asks that one.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_agents::Client;
use haltline_engine::clock::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{WaitOptions, wait};

use super::{Arguments, PATIENCE, STDIN_BYTES_MAX, event, stop, told, without_panic};

/// An answer that says nothing: who asks waits for a line.
const SILENCE: &str = "{}";
/// A buffer that grew above this for one event is given back.
const BUFFER_BYTES_KEPT: usize = 1024 * 1024;

/// Answers lines until the input ends, nobody listens any more, or there is a new haltline.
pub fn run(client: Client, arguments: &Arguments, clock: Clock) {
    let Ok(input) = io::stdin().as_fd().try_clone_to_owned() else { return };
    let mut input = BufReader::new(File::from(input));
    let mut line = Vec::new();
    let mut patience = PATIENCE;
    let program = Program::own();
    while let Ok(Some(is_whole)) = next(&mut input, &mut line, STDIN_BYTES_MAX) {
        if program.as_ref().is_some_and(Program::is_replaced) {
            return;
        }
        take_back_children();
        let answer = without_panic(Some(client), || {
            if is_whole {
                event(client, arguments, &line, patience, clock).0
            } else {
                let text = "haltline was told an event that is too long to read; the agent goes on unwatched this time";
                told::complaint(Some(client), "stdin", text).into()
            }
        });
        let mut out = io::stdout().lock();
        let answered = writeln!(out, "{}", answer.line.as_deref().unwrap_or(SILENCE)).and_then(|()| out.flush());
        if let Some(client) = answer.interrupts {
            stop::interrupt(&client);
        }
        if answered.is_err() {
            return;
        }
        // A line that came meanwhile has waited for the same store already: a client that asks for eight calls at once is
        // not to wait eight times.
        patience = if answer.found_busy && is_waiting(&input) { Duration::ZERO } else { PATIENCE };
    }
}

/// The programs that told people of trips and have ended: a hook leaves them to the system, which takes over from it soon.
fn take_back_children() {
    while let Ok(Some(_ended)) = wait(WaitOptions::NOHANG) {}
}

/// The file that this process was started from.
struct Program {
    path: PathBuf,
    file: (u64, u64),
}

impl Program {
    /// By the name that the plugin calls it: behind it there may be a link to a version.
    fn own() -> Option<Self> {
        let called = std::env::args_os().next().map(PathBuf::from).filter(|path| path.components().count() > 1);
        let path = called.or_else(|| std::env::current_exe().ok())?;
        let file = Self::file(&path)?;
        Some(Self { path, file })
    }

    fn file(path: &Path) -> Option<(u64, u64)> {
        fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
    }

    /// One that is gone is replaced by nothing yet.
    fn is_replaced(&self) -> bool {
        Self::file(&self.path).is_some_and(|file| file != self.file)
    }
}

/// Whether more of the input is there already.
fn is_waiting(input: &BufReader<File>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    !input.buffer().is_empty()
        || poll(&mut [PollFd::new(input.get_ref(), PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Reads the next line into `line`, and past its end. Whether all of it is there; `None` where the input has ended.
fn next(input: &mut impl BufRead, line: &mut Vec<u8>, bytes_max: u64) -> io::Result<Option<bool>> {
    line.clear();
    line.shrink_to(BUFFER_BYTES_KEPT);
    if input.by_ref().take(bytes_max).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    if line.ends_with(b"\n") || (line.len() as u64) < bytes_max {
        return Ok(Some(true));
    }
    loop {
        let piece = input.fill_buf()?;
        let end = piece.iter().position(|&byte| byte == b'\n');
        let (length, is_over) = (end.map_or(piece.len(), |end| end + 1), end.is_some() || piece.is_empty());
        input.consume(length);
        if is_over {
            return Ok(Some(false));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
        let mut input = io::BufReader::with_capacity(4, &b"one\n123456789 and more\n\ntwo\nlast"[..]);
        let mut line = Vec::new();
        let mut lines = Vec::new();
        while let Some(is_whole) = next(&mut input, &mut line, 8).expect("a slice can be read") {
            lines.push((String::from_utf8_lossy(&line).trim_end().to_owned(), is_whole));
        }
        let expected = [("one", true), ("12345678", false), ("", true), ("two", true), ("last", true)];
        assert_eq!(lines, expected.map(|(text, is_whole)| (text.to_owned(), is_whole)));
    }
}
