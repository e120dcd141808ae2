//! One stream of a command on its way to our own output: byte for byte, told to the run before it is written.
//!
//! Each stream has a thread, so that an output of ours that nobody reads (a pager, Ctrl-S) holds up nothing but the
//! command's own writing, as it would without us. Limits and signals are another thread's business.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::Shown;
use super::inbox::{Happening, Notes};

/// Bytes read at once.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces that may wait to be listened to.
const PIECES_WAITING_MAX: usize = 8;
/// What a pipe takes without blocking when it says that it takes something (PIPE_BUF).
const WRITE_BYTES: usize = 4096;

/// One of a command's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Stream {
    fn own(self) -> BorrowedFd<'static> {
        match self {
            Stream::Out => rustix::stdio::stdout(),
            Stream::Err => rustix::stdio::stderr(),
        }
    }
}

/// The run's side of a stream that is being copied.
pub(super) struct Copying {
    pub stream: Stream,
    pub is_open: bool,
    source: Weak<OwnedFd>,
    is_busy: Arc<AtomicBool>,
    waiting: Receiver<()>,
    /// Closed with this value, which ends the thread.
    _stop: OwnedFd,
}

impl Copying {
    pub(super) fn start(stream: Stream, source: OwnedFd, notes: Notes, is_passed_on: bool) -> std::io::Result<Self> {
        let source = Arc::new(source);
        let weak = Arc::downgrade(&source);
        let (stopped, stop) = std::io::pipe()?;
        let is_busy = Arc::new(AtomicBool::new(false));
        let (pieces, waiting) = sync_channel(PIECES_WAITING_MAX);
        let (is_busy_there, stopped) = (Arc::clone(&is_busy), stopped.into());
        let copier = Copier { stream, source, stopped, is_busy: is_busy_there, pieces, notes, is_passed_on };
        std::thread::Builder::new().name(format!("{stream:?}")).spawn(move || copier.copy())?;
        Ok(Self { stream, is_open: true, source: weak, is_busy, waiting, _stop: stop.into() })
    }

    /// One piece was listened to; the next may come.
    pub(super) fn listened(&self) {
        // None waits where the thread has ended meanwhile.
        self.waiting.try_recv().ok();
    }

    /// Whether the command has said something that we have not taken: our own output is blocked.
    pub(super) fn is_held_up(&self) -> bool {
        self.is_busy.load(Ordering::SeqCst) && self.unread() > 0
    }

    /// Whether all that was said so far is written. The pipe is looked at first: the thread is busy from before it
    /// reads until what it read is written, so a byte is seen in one place or the other.
    pub(super) fn is_caught_up(&self) -> bool {
        self.unread() == 0 && !self.is_busy.load(Ordering::SeqCst)
    }

    fn unread(&self) -> u64 {
        self.source.upgrade().and_then(|source| rustix::io::ioctl_fionread(&*source).ok()).unwrap_or(0)
    }
}

/// The thread's side.
struct Copier {
    stream: Stream,
    source: Arc<OwnedFd>,
    stopped: OwnedFd,
    is_busy: Arc<AtomicBool>,
    pieces: SyncSender<()>,
    notes: Notes,
    /// To our own output as well.
    is_passed_on: bool,
}

impl Copier {
    fn copy(self) {
        let shown = self.copy_to_the_end();
        let Self { stream, source, notes, .. } = self;
        // First closed, then told: the command's next write must fail before anybody acts on this.
        drop(source);
        notes.send(Happening::Closed(stream, shown));
    }

    fn copy_to_the_end(&self) -> Shown {
        let mut buffer = vec![0; PIECE_BYTES];
        let mut shown = Shown::Whole;
        loop {
            if wait(&*self.source, PollFlags::IN, &self.stopped).is_stop() {
                return shown;
            }
            self.is_busy.store(true, Ordering::SeqCst);
            let piece = match rustix::io::read(&*self.source, &mut buffer) {
                Ok(0) => return shown,
                Ok(length) => &buffer[..length],
                Err(Errno::INTR | Errno::AGAIN) => {
                    self.is_busy.store(false, Ordering::SeqCst);
                    continue;
                }
                Err(_gone) => return shown,
            };
            // Nobody listens any more once the run is over.
            if self.pieces.send(()).is_err() || !self.notes.send(Happening::Heard(self.stream, piece.to_vec())) {
                return shown;
            }
            if self.is_passed_on && shown == Shown::Whole {
                shown = self.write(piece);
                if matches!(shown, Shown::ReaderGone | Shown::GivenUp) {
                    return shown;
                }
            }
            self.is_busy.store(false, Ordering::SeqCst);
        }
    }

    fn write(&self, mut piece: &[u8]) -> Shown {
        let own = self.stream.own();
        while !piece.is_empty() {
            if wait(own, PollFlags::OUT, &self.stopped).is_stop() {
                return Shown::GivenUp;
            }
            match rustix::io::write(own, &piece[..piece.len().min(WRITE_BYTES)]) {
                Ok(written) => piece = &piece[written..],
                // Somebody who shares our output may have made it non-blocking.
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(Errno::PIPE) => return Shown::ReaderGone,
                Err(other) => return Shown::Failed(std::io::Error::from(other).to_string()),
            }
        }
        Shown::Whole
    }
}

enum Woken {
    Ready,
    Stop,
}

impl Woken {
    fn is_stop(&self) -> bool {
        matches!(self, Woken::Stop)
    }
}

/// Waits until one can read or write, or the run is over.
fn wait(file: impl AsFd, flags: PollFlags, stopped: &OwnedFd) -> Woken {
    let file = file.as_fd();
    loop {
        let mut files = [PollFd::new(&file, flags), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut files, None) {
            Err(Errno::INTR) => {}
            // Out of memory, at most: the read or write itself will say more.
            Err(_other) => return Woken::Ready,
            Ok(_) if !files[1].revents().is_empty() => return Woken::Stop,
            Ok(_) if !files[0].revents().is_empty() => return Woken::Ready,
            Ok(_) => {}
        }
    }
}
