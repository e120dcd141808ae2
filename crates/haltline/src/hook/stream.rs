//! `--stream`: one process for a client that would otherwise start one for every event.
//!
//! Each input line is an event and gets one output line, in order, as if a separate hook had answered it: nothing is
//! kept from one event to the next but the open store. If haltline's binary is replaced, the next hook would run the new one, so this
//! process ends; a client that gets no answer starts the new binary.

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

use super::{Arguments, STDIN_BYTES_MAX, STORE_TIMEOUT, answer_event, catch_panic, stop};

/// The answer that says nothing, because the client waits for a line.
const EMPTY_ANSWER: &str = "{}";
/// A buffer that grew above this for one event is shrunk again.
const BUFFER_BYTES_KEPT: usize = 1024 * 1024;

/// Answers lines until the input ends, nobody reads the output any more, or haltline's binary is replaced.
pub fn run(client: Client, arguments: &Arguments, clock: Clock) {
    let Ok(input) = io::stdin().as_fd().try_clone_to_owned() else { return };
    let mut input = BufReader::new(File::from(input));
    let mut line = Vec::new();
    let mut timeout = STORE_TIMEOUT;
    let program = Program::current();
    let mut store = None;
    while let Ok(Some(is_complete)) = read_line(&mut input, &mut line, STDIN_BYTES_MAX) {
        if program.as_ref().is_some_and(Program::is_replaced) {
            return;
        }
        reap_notifiers();
        let answer = catch_panic(Some(client), arguments, || {
            if is_complete {
                let (answer, hook) = answer_event(client, arguments, &line, timeout, clock, store.take());
                store = hook.map(|hook| hook.engine.into_store());
                answer
            } else {
                let text =
                    "an event was too long for haltline to read; the agent continues, and haltline did not check it";
                arguments.notice_files().failure_notice(Some(client), "stdin", text).into()
            }
        });
        let mut out = io::stdout().lock();
        let answered = writeln!(out, "{}", answer.line.as_deref().unwrap_or(EMPTY_ANSWER)).and_then(|()| out.flush());
        if let Some(client) = answer.process_to_interrupt {
            stop::interrupt(&client);
        }
        if answered.is_err() {
            return;
        }
        // A line that arrived meanwhile has waited for the same store already: a client that asks about eight calls at
        // once must not wait eight times.
        timeout = if answer.was_store_busy && has_input(&input) { Duration::ZERO } else { STORE_TIMEOUT };
    }
}

/// Reaps notification programs that have ended. A plain hook leaves them to the system, because it ends soon itself.
fn reap_notifiers() {
    while let Ok(Some(_ended)) = wait(WaitOptions::NOHANG) {}
}

/// The file that this process was started from.
struct Program {
    path: PathBuf,
    file: (u64, u64),
}

impl Program {
    /// Uses the path by which the plugin calls it, which may be a link to a versioned binary.
    fn current() -> Option<Self> {
        let called_path = std::env::args_os().next().map(PathBuf::from).filter(|path| path.components().count() > 1);
        let path = called_path.or_else(|| std::env::current_exe().ok())?;
        let file = Self::file(&path)?;
        Some(Self { path, file })
    }

    fn file(path: &Path) -> Option<(u64, u64)> {
        fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
    }

    /// False if the file is gone, because then there is no replacement yet.
    fn is_replaced(&self) -> bool {
        Self::file(&self.path).is_some_and(|file| file != self.file)
    }
}

/// True if more input is available already.
fn has_input(input: &BufReader<File>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    !input.buffer().is_empty()
        || poll(&mut [PollFd::new(input.get_ref(), PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Reads the next line into `line` and consumes all of it. False if the line was too long; `None` if the input has
/// ended.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, bytes_max: u64) -> io::Result<Option<bool>> {
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
    fn a_line_that_is_too_long_is_skipped_and_the_next_is_read() {
        let mut input = io::BufReader::with_capacity(4, &b"one\n123456789 and more\n\ntwo\nlast"[..]);
        let mut line = Vec::new();
        let mut lines = Vec::new();
        while let Some(is_complete) = read_line(&mut input, &mut line, 8).expect("a slice can be read") {
            lines.push((String::from_utf8_lossy(&line).trim_end().to_owned(), is_complete));
        }
        let expected = [("one", true), ("12345678", false), ("", true), ("two", true), ("last", true)];
        assert_eq!(lines, expected.map(|(text, is_complete)| (text.to_owned(), is_complete)));
    }
}
