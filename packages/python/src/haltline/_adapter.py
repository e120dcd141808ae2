"""What the adapters share: calls under way, and texts for the model."""

from __future__ import annotations

import threading
from typing import Any, Optional

from ._session import Session
from ._verdict import Stopped, Verdict


class Guard:
    """The session of an adapter, and the verdicts on calls that a framework starts and ends in different callbacks."""

    def __init__(self, session: Optional[Session]) -> None:
        self.session = session if session is not None else Session()
        self._started: dict[str, Verdict] = {}
        self._lock = threading.Lock()

    def start(self, tool: str, arguments: Any, call: Optional[str] = None) -> Verdict:
        """Asks whether a call may run, and remembers it until `finish` if it may."""
        verdict = self.session.before(tool, arguments)
        if not verdict.denied:
            with self._lock:
                self._started[call or verdict.call or ""] = verdict
        return verdict

    def take(self, call: str) -> Optional[Verdict]:
        """The verdict on the start of a call; `None` if the call was denied, or ended before."""
        with self._lock:
            return self._started.pop(call, None)

    def raise_if_stopped(self) -> None:
        """Ends the run before the next request to the model."""
        if self.session.stopped is not None:
            raise Stopped(self.session.stopped)


def reason(verdict: Verdict) -> str:
    """The text of a denial for the model."""
    return verdict.reason or "haltline denied this call"


def with_warning(result: Any, verdict: Verdict) -> Any:
    """The result of a call with haltline's warning below it, if there is a warning and the result is a text."""
    if verdict.warns and verdict.reason and isinstance(result, str):
        return f"{result}\n\n{verdict.reason}"
    return result
