"""The child process `haltline serve --stdio`, which all threads and sessions of a process share."""

from __future__ import annotations

import atexit
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path
from typing import Any, Optional

from ._plain import dumps
from ._verdict import HaltlineError

PROTOCOL = 1
ANSWER_SECONDS_MAX = 30.0
"""haltline itself waits at most 5 seconds for other writers of its store."""


def find_program() -> str:
    """The haltline command line: HALTLINE_PROGRAM, the one that this package installed, or the one on PATH."""
    given = os.environ.get("HALTLINE_PROGRAM")
    if given:
        return given
    folders = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    for scheme in ("posix_user", "osx_framework_user"):
        if scheme in sysconfig.get_scheme_names():
            folders.append(sysconfig.get_path("scripts", scheme))
    for folder in folders:
        path = Path(folder) / "haltline"
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    found = shutil.which("haltline")
    if found is None:
        raise HaltlineError(
            "the program haltline is not installed", "setup", "pip install haltline, or set HALTLINE_PROGRAM to its path"
        )
    return found


class Connection:
    """One child process. Requests are answered in order, so a lock around each is enough; waiting releases the GIL."""

    def __init__(self, folder: Optional[str], memory: bool) -> None:
        self._command = [find_program(), "serve", "--stdio"]
        self._command += ["--memory"] if memory else []
        self._command += ["-C", folder] if folder else []
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._child: Optional[subprocess.Popen[bytes]] = None
        self._rest = b""
        self.fail = "open"
        """What to do while haltline cannot answer, as its configuration said last."""

    def ask(self, method: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Sends a request and returns its response. Raises HaltlineError if there is none, or if it is an error."""
        id = next(self._ids)
        request: dict[str, Any] = {"v": PROTOCOL, "id": id, "method": method}
        request.update((name, value) for name, value in fields.items() if value is not None)
        line = dumps(request).encode() + b"\n"
        with self._lock:
            if self._child is None or self._child.poll() is not None:
                self._start()
            response = self._exchange(line, id)
        error = response.get("error")
        if error is not None:
            raise HaltlineError(error["message"], error["kind"], error.get("hint"))
        return response

    def forward(self, line: bytes) -> bytes:
        """Sends a line as it is, for the conformance script."""
        with self._lock:
            if self._child is None:
                self._start()
            self._write(line, time.monotonic() + ANSWER_SECONDS_MAX)
            return self._read_line(time.monotonic() + ANSWER_SECONDS_MAX)

    def close(self) -> None:
        """Ends the child process."""
        with self._lock:
            self._discard()

    def forget(self) -> None:
        """Lets go of a child process that belongs to the parent of a fork."""
        self._lock = threading.Lock()
        child, self._child, self._rest = self._child, None, b""
        if child is not None:
            _close_pipes(child)
            # It is no child of this process: nobody here may wait for it.
            child.returncode = 0

    def _start(self) -> None:
        self._discard()
        try:
            # Its own session: Ctrl-C is for the program, which may still want to report the end of a call.
            self._child = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
            )
        except OSError as error:
            raise HaltlineError(f"{self._command[0]}: {error.strerror}", "setup", "set HALTLINE_PROGRAM") from error
        hello = self._exchange(dumps({"v": PROTOCOL, "id": 0, "method": "hello"}).encode() + b"\n", 0)
        if hello.get("protocol") != PROTOCOL:
            self._discard()
            raise HaltlineError(f"{self._command[0]} speaks another protocol", "setup", "update haltline")
        self.fail = hello["fail"]

    def _exchange(self, line: bytes, id: int) -> dict[str, Any]:
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        try:
            self._write(line, deadline)
            response: dict[str, Any] = json.loads(self._read_line(deadline))
            if response.get("id") != id:
                raise ValueError(f"response to {response.get('id')!r}, expected {id}")
            return response
        except BaseException as error:
            # Half a request or an unread response would confuse the next request.
            self._discard()
            if isinstance(error, (OSError, ValueError)):
                raise HaltlineError(f"the haltline process failed: {error}", "store", "haltline doctor") from error
            raise

    def _write(self, line: bytes, deadline: float) -> None:
        assert self._child is not None and self._child.stdin is not None
        pipe = self._child.stdin.fileno()
        os.set_blocking(pipe, False)
        rest = memoryview(line)
        while rest:
            if not _is_ready(pipe, select.POLLOUT, deadline):
                raise TimeoutError(f"it did not read a request in {ANSWER_SECONDS_MAX:.0f} seconds")
            rest = rest[os.write(pipe, rest[: 1 << 16]) :]

    def _read_line(self, deadline: float) -> bytes:
        assert self._child is not None and self._child.stdout is not None
        pipe = self._child.stdout.fileno()
        parts = [self._rest]
        while b"\n" not in parts[-1]:
            if not _is_ready(pipe, select.POLLIN, deadline):
                raise TimeoutError(f"no answer in {ANSWER_SECONDS_MAX:.0f} seconds")
            part = os.read(pipe, 1 << 16)
            if not part:
                raise OSError("it ended")
            parts.append(part)
        line, _, self._rest = b"".join(parts).partition(b"\n")
        return line

    def _discard(self) -> None:
        child, self._child, self._rest = self._child, None, b""
        if child is None:
            return
        _close_pipes(child)
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _is_ready(pipe: int, event: int, deadline: float) -> bool:
    """Waits until a pipe can be used, or has failed. `select()` knows only the first 1,024 files of a process."""
    poll = select.poll()
    poll.register(pipe, event)
    return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))


def _close_pipes(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                pass


_connections: dict[tuple[Optional[str], bool], Connection] = {}
_connections_lock = threading.Lock()


def shared_connection(folder: Optional[str], memory: bool) -> Connection:
    """The connection of this process for a folder."""
    with _connections_lock:
        key = (folder, memory)
        if key not in _connections:
            _connections[key] = Connection(folder, memory)
        return _connections[key]


def _after_fork() -> None:
    global _connections_lock
    _connections_lock = threading.Lock()
    for connection in _connections.values():
        connection.forget()


@atexit.register
def _close_all() -> None:
    for connection in list(_connections.values()):
        connection.close()


os.register_at_fork(after_in_child=_after_fork)
