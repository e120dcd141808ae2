//! Runs one child process: writes its input and reads its output, both with limits, and leaves no process behind.
//!
//! No thread is started: `poll` watches the three pipes. The child leads its own process group, so that everything it
//! starts can be killed with it.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::clock::Deadline;

/// How much of the standard error is kept.
const COMPLAINT_BYTES_MAX: usize = 4096;
/// How often to check whether a silent child has ended: something it started may keep its pipes open.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often to check whether a child that closed its pipes has ended.
const END_POLL_INTERVAL: Duration = Duration::from_micros(200);

#[derive(Debug)]
pub(super) struct EndedChild {
    /// `None` if the child was killed because of the timeout.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// True if the limit on output was reached, for which the child was killed.
    pub(super) is_cut: bool,
}

/// Runs `command` to its end, for at most `timeout`.
pub(super) fn run(command: &mut Command, input: &[u8], timeout: Duration, stdout_max: usize) -> io::Result<EndedChild> {
    let ends_at = Deadline::new(timeout);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let mut group = ProcessGroup { child, is_reaped: false };
    let mut pipes = Pipes::new(&mut group.child, input, stdout_max)?;
    let mut is_late = false;
    while pipes.are_open() && !pipes.is_cut {
        let left = ends_at.remaining();
        if left.is_zero() {
            is_late = true;
            break;
        }
        if !pipes.wait(left.min(POLL_INTERVAL))? && group.has_ended()? {
            pipes.read_output()?;
            break;
        }
    }
    while !is_late && !pipes.is_cut && !group.has_ended()? {
        is_late = ends_at.remaining().is_zero();
        std::thread::park_timeout(END_POLL_INTERVAL);
    }
    let status = group.end()?;
    let Pipes { stdout_bytes: answer, stderr_bytes: complaint, is_cut, .. } = pipes;
    Ok(EndedChild { status: (!is_late).then_some(status), stdout: answer, stderr: complaint, is_cut })
}

/// A child and everything it started.
struct ProcessGroup {
    child: Child,
    is_reaped: bool,
}

impl ProcessGroup {
    /// True if the child itself has ended. It is not reaped, so its group keeps its id until [`Self::end`].
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?.is_some())
    }

    /// Kills what is left of the group, and reaps the child.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // On some systems a group whose only member is the ended child cannot be killed; then there is nothing to kill.
        kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
        let status = self.child.wait()?;
        self.is_reaped = true;
        Ok(status)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.end().ok();
        }
    }
}

/// Our ends of the pipes.
struct Pipes<'a> {
    input: Option<std::process::ChildStdin>,
    input_left: &'a [u8],
    output: Option<std::process::ChildStdout>,
    error: Option<std::process::ChildStderr>,
    stdout_bytes: Vec<u8>,
    stdout_max: usize,
    stderr_bytes: Vec<u8>,
    is_cut: bool,
    buffer: Vec<u8>,
}

impl<'a> Pipes<'a> {
    fn new(child: &mut Child, input: &'a [u8], stdout_max: usize) -> io::Result<Self> {
        let pipes = Self {
            input: child.stdin.take(),
            input_left: input,
            output: child.stdout.take(),
            error: child.stderr.take(),
            stdout_bytes: Vec::new(),
            stdout_max,
            stderr_bytes: Vec::new(),
            is_cut: false,
            buffer: vec![0; 64 * 1024],
        };
        for pipe in [
            pipes.input.as_ref().map(AsFd::as_fd),
            pipes.output.as_ref().map(AsFd::as_fd),
            pipes.error.as_ref().map(AsFd::as_fd),
        ]
        .into_iter()
        .flatten()
        {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(pipes)
    }

    /// True while the child can still write output.
    fn are_open(&self) -> bool {
        self.output.is_some() || self.error.is_some()
    }

    /// Waits until a pipe is ready, and uses it. Returns false if none was ready within `limit`.
    fn wait(&mut self, limit: Duration) -> io::Result<bool> {
        let mut watched = Vec::with_capacity(3);
        watched.extend(self.input.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        watched.extend(self.output.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        watched.extend(self.error.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
        let ready = match poll(&mut watched, Some(&limit)) {
            Ok(ready) => ready,
            Err(rustix::io::Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        drop(watched);
        if ready == 0 {
            return Ok(false);
        }
        self.write_input()?;
        self.read_output()?;
        Ok(true)
    }

    /// Writes as much input as the child takes without blocking.
    fn write_input(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.input else { return Ok(()) };
        while !self.input_left.is_empty() {
            match pipe.write(self.input_left) {
                Ok(written) => self.input_left = &self.input_left[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The child has read enough; its exit code says whether that was an error.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.input_left = &[],
                Err(error) => return Err(error),
            }
        }
        self.input = None;
        Ok(())
    }

    /// Reads what is available without blocking.
    fn read_output(&mut self) -> io::Result<()> {
        if let Some(pipe) = &mut self.output {
            let room = self.stdout_max.saturating_sub(self.stdout_bytes.len());
            match read_ready(pipe, &mut self.stdout_bytes, room, &mut self.buffer)? {
                PipeState::Closed => self.output = None,
                PipeState::Open => {}
                PipeState::OverLimit => self.is_cut = true,
            }
        }
        if let Some(pipe) = &mut self.error {
            let room = COMPLAINT_BYTES_MAX.saturating_sub(self.stderr_bytes.len());
            // Output beyond the limit is read and discarded, so that the child does not block.
            if read_ready(pipe, &mut self.stderr_bytes, room, &mut self.buffer)? == PipeState::Closed {
                self.error = None;
            }
        }
        Ok(())
    }
}

#[derive(PartialEq, Eq)]
enum PipeState {
    Open,
    Closed,
    OverLimit,
}

/// Reads until the pipe is empty for now, and keeps at most `room` bytes.
fn read_ready(pipe: &mut impl Read, kept: &mut Vec<u8>, mut room: usize, buffer: &mut [u8]) -> io::Result<PipeState> {
    let mut state = PipeState::Open;
    // A few rounds only: a child that writes without end must not keep us from checking the timeout.
    for _round in 0..16 {
        match pipe.read(buffer) {
            Ok(0) if state == PipeState::OverLimit => return Ok(state),
            Ok(0) => return Ok(PipeState::Closed),
            Ok(length) => {
                let fits = length.min(room);
                kept.extend_from_slice(&buffer[..fits]);
                room -= fits;
                if fits < length {
                    state = PipeState::OverLimit;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(state)
}
