"""What haltline answers, and the errors of this package."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Mapping, Optional

VerdictName = Literal["pass", "warn", "deny", "stop"]


@dataclass(frozen=True)
class Verdict:
    """The answer to an event. Give `reason` to the model if the verdict warns or denies."""

    name: VerdictName
    reason: Optional[str] = None
    code: Optional[str] = None
    circuit: Optional[str] = None
    retry_at: Optional[str] = None
    call: Optional[str] = None
    """The call, in the verdict on its start: hand it to `Session.after`."""
    notices: tuple[str, ...] = field(default=())
    """What a person should read."""
    unguarded: Optional[str] = None
    """Why haltline could not check or count this event."""

    @property
    def warns(self) -> bool:
        return self.name == "warn"

    @property
    def denied(self) -> bool:
        """True if the call must not run."""
        return self.name in ("deny", "stop")

    @property
    def stops(self) -> bool:
        """True if the agent's turn must end."""
        return self.name == "stop"

    @classmethod
    def from_response(cls, response: Mapping[str, Any]) -> Verdict:
        return cls(
            name=response["verdict"],
            reason=response.get("reason"),
            code=response.get("code"),
            circuit=response.get("circuit"),
            retry_at=response.get("retry_at"),
            call=response.get("call"),
            notices=tuple(response.get("notices", ())),
            unguarded=response.get("unguarded"),
        )


class HaltlineError(Exception):
    """haltline could not answer. `kind` is that of the protocol; `hint` says what helps, if anything does."""

    def __init__(self, message: str, kind: str = "error", hint: Optional[str] = None) -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.kind = kind
        self.hint = hint


class Denied(Exception):
    """haltline denied a call. The text is written for the model."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason or "haltline denied this call")
        self.verdict = verdict


class Stopped(Denied):
    """haltline ended the agent's turn."""


def denial(verdict: Verdict) -> Denied:
    """The exception for a verdict that denies."""
    return Stopped(verdict) if verdict.stops else Denied(verdict)
