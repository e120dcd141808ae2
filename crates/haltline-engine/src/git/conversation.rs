//! One child process: its input written, its output read, both with limits, and nothing left behind.
//!
//! No thread is started: the three pipes are watched by `poll`. The child leads a process group of its own, so that
//! whatever it starts can be ended with it.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::clock::Patience;

/// How much of the standard error is kept.
const COMPLAINT_BYTES_MAX: usize = 4096;
/// How often a silent child is asked whether it has ended: something it started may hold its pipes open.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often a child that closed its pipes is asked whether it has ended.
const END_LOOK_EVERY: Duration = Duration::from_micros(200);

/// How a child ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// `None`: it was killed because its time was over.
    pub(super) status: Option<ExitStatus>,
    pub(super) answer: Vec<u8>,
    pub(super) complaint: Vec<u8>,
    /// The answer's limit was reached, and the child was killed for it.
    pub(super) is_cut: bool,
}

/// Starts `command` and stays until it has ended, at most `deadline`.
pub(super) fn hold(command: &mut Command, input: &[u8], deadline: Duration, answer_max: usize) -> io::Result<Ended> {
    let patience = Patience::new(deadline);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let mut group = Group { child, is_reaped: false };
    let mut pipes = Pipes::of(&mut group.child, input, answer_max)?;
    let mut is_late = false;
    while pipes.are_open() && !pipes.is_cut {
        let left = patience.left();
        if left.is_zero() {
            is_late = true;
            break;
        }
        if !pipes.wait(left.min(LOOK_EVERY))? && group.has_ended()? {
            pipes.drain()?;
            break;
        }
    }
    while !is_late && !pipes.is_cut && !group.has_ended()? {
        is_late = patience.left().is_zero();
        std::thread::park_timeout(END_LOOK_EVERY);
    }
    let status = group.end()?;
    let Pipes { answer, complaint, is_cut, .. } = pipes;
    Ok(Ended { status: (!is_late).then_some(status), answer, complaint, is_cut })
}

/// A child and all it started.
struct Group {
    child: Child,
    is_reaped: bool,
}

impl Group {
    /// Whether the child itself has ended. It is not reaped, so that its group keeps its name until [`Self::end`].
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?.is_some())
    }

    /// Kills whoever is left of the group, and reaps the child.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // A group whose only member is the ended child cannot be killed on every system; there is nothing to kill.
        kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
        let status = self.child.wait()?;
        self.is_reaped = true;
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.end().ok();
        }
    }
}

/// The ends of the pipes that are ours.
struct Pipes<'a> {
    input: Option<std::process::ChildStdin>,
    input_left: &'a [u8],
    output: Option<std::process::ChildStdout>,
    error: Option<std::process::ChildStderr>,
    answer: Vec<u8>,
    answer_max: usize,
    complaint: Vec<u8>,
    is_cut: bool,
    buffer: Vec<u8>,
}

impl<'a> Pipes<'a> {
    fn of(child: &mut Child, input: &'a [u8], answer_max: usize) -> io::Result<Self> {
        let pipes = Self {
            input: child.stdin.take(),
            input_left: input,
            output: child.stdout.take(),
            error: child.stderr.take(),
            answer: Vec::new(),
            answer_max,
            complaint: Vec::new(),
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

    /// Whether the child may still say something.
    fn are_open(&self) -> bool {
        self.output.is_some() || self.error.is_some()
    }

    /// Waits until a pipe can be used, and uses it. `false`: none could within `limit`.
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
        self.feed()?;
        self.drain()?;
        Ok(true)
    }

    /// Writes what the child takes without making us wait.
    fn feed(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.input else { return Ok(()) };
        while !self.input_left.is_empty() {
            match pipe.write(self.input_left) {
                Ok(written) => self.input_left = &self.input_left[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A child that has heard enough; its end says whether that was right.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.input_left = &[],
                Err(error) => return Err(error),
            }
        }
        self.input = None;
        Ok(())
    }

    /// Reads what is there without waiting.
    fn drain(&mut self) -> io::Result<()> {
        if let Some(pipe) = &mut self.output {
            let room = self.answer_max.saturating_sub(self.answer.len());
            match read_ready(pipe, &mut self.answer, room, &mut self.buffer)? {
                Heard::All => self.output = None,
                Heard::Some => {}
                Heard::TooMuch => self.is_cut = true,
            }
        }
        if let Some(pipe) = &mut self.error {
            let room = COMPLAINT_BYTES_MAX.saturating_sub(self.complaint.len());
            // What goes beyond the limit is read and forgotten, so that the child is not held up.
            if read_ready(pipe, &mut self.complaint, room, &mut self.buffer)? == Heard::All {
                self.error = None;
            }
        }
        Ok(())
    }
}

#[derive(PartialEq, Eq)]
enum Heard {
    Some,
    All,
    TooMuch,
}

/// Reads once or more until the pipe is empty, keeping `room` bytes.
fn read_ready(pipe: &mut impl Read, kept: &mut Vec<u8>, mut room: usize, buffer: &mut [u8]) -> io::Result<Heard> {
    let mut heard = Heard::Some;
    // A few turns only: whoever writes without end must not keep us from looking at the clock.
    for _turn in 0..16 {
        match pipe.read(buffer) {
            Ok(0) if heard == Heard::TooMuch => return Ok(heard),
            Ok(0) => return Ok(Heard::All),
            Ok(length) => {
                let fits = length.min(room);
                kept.extend_from_slice(&buffer[..fits]);
                room -= fits;
                if fits < length {
                    heard = Heard::TooMuch;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(heard)
}
