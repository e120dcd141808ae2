//! Copies one output stream of a command to our own output, byte for byte. The supervisor gets each piece before it is
//! written.
//!
//! Each stream has a thread, so that an output of ours that nobody reads (a pager, Ctrl-S) blocks nothing but the
//! command's own writes, as it would without us. Another thread handles limits and signals.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::Forwarded;
use super::inbox::{EventSender, SupervisorEvent};

/// Bytes read at once.
const PIECE_BYTES: usize = 64 << 10;
/// How many pieces may wait for the supervisor.
const PIECES_WAITING_MAX: usize = 8;
/// What a pipe accepts without blocking if it is ready for writing (PIPE_BUF).
const WRITE_BYTES: usize = 4096;

/// One of a command's two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    Out,
    Err,
}

impl OutputStream {
    fn own_output(self) -> BorrowedFd<'static> {
        match self {
            OutputStream::Out => rustix::stdio::stdout(),
            OutputStream::Err => rustix::stdio::stderr(),
        }
    }
}

/// The supervisor's side of a stream that is being copied.
pub(super) struct StreamCopy {
    pub stream: OutputStream,
    pub is_open: bool,
    source: Weak<OwnedFd>,
    is_busy: Arc<AtomicBool>,
    waiting: Receiver<()>,
    /// Dropping this ends the thread.
    _stop: OwnedFd,
}

impl StreamCopy {
    pub(super) fn start(
        stream: OutputStream,
        source: OwnedFd,
        events: EventSender,
        is_forwarded: bool,
    ) -> std::io::Result<Self> {
        let source = Arc::new(source);
        let weak = Arc::downgrade(&source);
        let (stopped, stop) = std::io::pipe()?;
        let is_busy = Arc::new(AtomicBool::new(false));
        let (pieces, waiting) = sync_channel(PIECES_WAITING_MAX);
        let (is_busy_shared, stopped) = (Arc::clone(&is_busy), stopped.into());
        let copier = Copier { stream, source, stopped, is_busy: is_busy_shared, pieces, events, is_forwarded };
        std::thread::Builder::new().name(format!("{stream:?}")).spawn(move || copier.copy())?;
        Ok(Self { stream, is_open: true, source: weak, is_busy, waiting, _stop: stop.into() })
    }

    /// The supervisor has handled one piece; the next may come.
    pub(super) fn piece_handled(&self) {
        // Nothing waits if the thread has ended meanwhile.
        self.waiting.try_recv().ok();
    }

    /// True if the command has written something that we have not read because our own output is blocked.
    pub(super) fn is_blocked(&self) -> bool {
        self.is_busy.load(Ordering::SeqCst) && self.unread() > 0
    }

    /// True if all output so far is written. The pipe is checked first: the thread is busy from before it reads until
    /// it has written, so every byte is visible either in the pipe or as a busy thread.
    pub(super) fn is_caught_up(&self) -> bool {
        self.unread() == 0 && !self.is_busy.load(Ordering::SeqCst)
    }

    fn unread(&self) -> u64 {
        self.source.upgrade().and_then(|source| rustix::io::ioctl_fionread(&*source).ok()).unwrap_or(0)
    }
}

/// The thread's side.
struct Copier {
    stream: OutputStream,
    source: Arc<OwnedFd>,
    stopped: OwnedFd,
    is_busy: Arc<AtomicBool>,
    pieces: SyncSender<()>,
    events: EventSender,
    /// True if the output also goes to our own output.
    is_forwarded: bool,
}

impl Copier {
    fn copy(self) {
        let forwarded = self.copy_to_end();
        let Self { stream, source, events, .. } = self;
        // Close first, then report: the command's next write must fail before anybody acts on this.
        drop(source);
        events.send(SupervisorEvent::Closed(stream, forwarded));
    }

    fn copy_to_end(&self) -> Forwarded {
        let mut buffer = vec![0; PIECE_BYTES];
        let mut forwarded = Forwarded::Complete;
        loop {
            if wait(&*self.source, PollFlags::IN, &self.stopped).is_stop() {
                return forwarded;
            }
            self.is_busy.store(true, Ordering::SeqCst);
            let piece = match rustix::io::read(&*self.source, &mut buffer) {
                Ok(0) => return forwarded,
                Ok(length) => &buffer[..length],
                Err(Errno::INTR | Errno::AGAIN) => {
                    self.is_busy.store(false, Ordering::SeqCst);
                    continue;
                }
                Err(_gone) => return forwarded,
            };
            // Once the run is over, nobody receives any more.
            if self.pieces.send(()).is_err() || !self.events.send(SupervisorEvent::Output(self.stream, piece.to_vec()))
            {
                return forwarded;
            }
            if self.is_forwarded && forwarded == Forwarded::Complete {
                forwarded = self.write(piece);
                if matches!(forwarded, Forwarded::ReaderGone | Forwarded::GivenUp) {
                    return forwarded;
                }
            }
            self.is_busy.store(false, Ordering::SeqCst);
        }
    }

    fn write(&self, mut piece: &[u8]) -> Forwarded {
        let output = self.stream.own_output();
        while !piece.is_empty() {
            if wait(output, PollFlags::OUT, &self.stopped).is_stop() {
                return Forwarded::GivenUp;
            }
            match rustix::io::write(output, &piece[..piece.len().min(WRITE_BYTES)]) {
                Ok(written) => piece = &piece[written..],
                // Another process that shares our output may have made it non-blocking.
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(Errno::PIPE) => return Forwarded::ReaderGone,
                Err(other) => return Forwarded::Failed(std::io::Error::from(other).to_string()),
            }
        }
        Forwarded::Complete
    }
}

enum WakeReason {
    Ready,
    Stop,
}

impl WakeReason {
    fn is_stop(&self) -> bool {
        matches!(self, WakeReason::Stop)
    }
}

/// Waits until the file can be read or written, or the run is over.
fn wait(file: impl AsFd, flags: PollFlags, stopped: &OwnedFd) -> WakeReason {
    let file = file.as_fd();
    loop {
        let mut files = [PollFd::new(&file, flags), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut files, None) {
            Err(Errno::INTR) => {}
            // Out of memory, at most: the read or write itself will say more.
            Err(_other) => return WakeReason::Ready,
            Ok(_) if !files[1].revents().is_empty() => return WakeReason::Stop,
            Ok(_) if !files[0].revents().is_empty() => return WakeReason::Ready,
            Ok(_) => {}
        }
    }
}
