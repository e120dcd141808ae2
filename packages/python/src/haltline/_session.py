"""Sessions: what a program reports of one agent and its sub-agents."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import uuid
import warnings
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Callable, Iterator, Literal, Optional, TypeVar, Union, cast

from ._connection import Connection, shared_connection
from ._plain import shortened
from ._verdict import HaltlineError, Verdict, denial

Outcome = Literal["ok", "failed", "rejected", "denied", "cancelled", "rate_limited", "unknown"]
Function = TypeVar("Function", bound=Callable[..., Any])


class Session:
    """One session of an agent. Sessions of the same name share everything, in any process of this machine.

    `project` is the folder it works in; default: the current folder. With `memory=True`, haltline keeps nothing in files.
    While haltline cannot answer, `fail="open"` lets calls pass with a warning and `fail="closed"` denies them; default:
    `fail` of haltline's configuration.
    """

    def __init__(
        self,
        name: Optional[str] = None,
        *,
        project: Optional[Union[str, "os.PathLike[str]"]] = None,
        memory: bool = False,
        fail: Optional[Literal["open", "closed"]] = None,
        model: Optional[str] = None,
    ) -> None:
        self.name = name or f"python-{uuid.uuid4()}"
        self.agent: Optional[str] = None
        self.stopped: Optional[Verdict] = None
        """The verdict that ended the agent's turn, until `prompt` or `resume_turn`."""
        self._fail = fail
        folder = os.path.abspath(project) if project is not None else None
        self._connection: Connection = shared_connection(folder, memory)
        # Also finds out at once whether haltline is installed.
        self._report("open", model=model)

    # What an agent does.

    def before(self, tool: str, input: Any = None, *, call: Optional[str] = None) -> Verdict:
        """Asks whether a call may run. Report its end with `after`, unless the verdict denies it."""
        arguments = input if isinstance(input, (dict, str)) else {} if input is None else {"value": input}
        # haltline takes an object or a text.
        verdict = self._report("before", tool=tool, input=arguments, call=call or f"call-{uuid.uuid4()}")
        if verdict.stops:
            self.stopped = verdict
        return verdict

    def after(
        self,
        call: Union[Verdict, str],
        outcome: Outcome = "ok",
        output: Any = "",
        *,
        exit: Optional[int] = None,
        cost_usd: Optional[float] = None,
    ) -> Verdict:
        """Reports how a call ended. `call` is the verdict on its start, or its name."""
        name = call.call if isinstance(call, Verdict) else call
        text = output if isinstance(output, str) else "" if output is None else str(output)
        return self._report(
            "after", call=name, outcome=outcome, output=shortened(text), exit=exit, cost_usd=cost_usd
        )

    def model(
        self,
        *,
        input: int = 0,
        output: int = 0,
        cache_read: int = 0,
        cache_write: int = 0,
        cost_usd: Optional[float] = None,
        model: Optional[str] = None,
        text: Optional[str] = None,
    ) -> Verdict:
        """Reports a response of the model and the tokens it used. The verdict is what the budgets say."""
        usage = {"input": input, "output": output, "cache_read": cache_read, "cache_write": cache_write}
        verdict = self._report("model", usage=usage, cost_usd=cost_usd, model=model, text=text)
        if verdict.denied:
            self.stopped = verdict
        return verdict

    def prompt(self, text: Optional[str] = None, *, source: Literal["user", "system"] = "user") -> Verdict:
        """Reports a prompt. After one of a person, haltline starts all counting again."""
        self.stopped = None
        return self._report("prompt", source=source, text=text)

    def resume_turn(self) -> None:
        """Forgets `stopped`. haltline still denies what is OPEN."""
        self.stopped = None

    def end(self, reason: Optional[str] = None) -> None:
        """Reports that the session is over."""
        self._report("end", reason=reason)

    def sub_agent(self, name: str) -> SubAgent:
        """A sub-agent: it shares the budgets of this session and has its own loops."""
        self._report("spawn_start", child=name)
        return SubAgent(self, name)

    # The other breakers.

    def check(self, constraint: str) -> Verdict:
        """What an action against a constraint would meet now. haltline records nothing."""
        return Verdict.from_response(self._ask("check", constraint=constraint))

    def violation(self, constraint: str, action: str) -> Verdict:
        """Reports an action that broke the rule of a constraint."""
        return Verdict.from_response(self._ask("violation", constraint=constraint, action=action))

    def command(self, *arguments: str) -> Any:
        """Runs a command that reads or reports, and returns what it prints with --json."""
        return self._ask("command", arguments=list(arguments))["result"]

    # For code that runs calls itself.

    @contextmanager
    def call(self, tool: str, input: Any = None) -> Iterator[Call]:
        """Guards a block: raises `Denied` before it, or reports its end after it. An exception is a failure."""
        verdict = self.before(tool, input)
        if verdict.denied:
            raise denial(verdict)
        call = Call(verdict)
        try:
            yield call
        except BaseException as error:
            is_failure = isinstance(error, Exception)
            self.after(verdict, "failed" if is_failure else "cancelled", describe(error))
            raise
        self.after(verdict, call.outcome, call.output, exit=call.exit)

    def guarded(self, function: Optional[Function] = None, *, tool: Optional[str] = None) -> Any:
        """Decorates a function or coroutine function: haltline guards each call and raises `Denied`."""

        def decorate(function: Function) -> Function:
            name = tool or function.__name__
            parameters = inspect.signature(function)

            def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
                bound = parameters.bind(*args, **kwargs)
                return {key: value for key, value in bound.arguments.items() if key not in ("self", "cls")}

            if inspect.iscoroutinefunction(function):

                @functools.wraps(function)
                async def guarded_coroutine(*args: Any, **kwargs: Any) -> Any:
                    verdict = await self.abefore(name, arguments(args, kwargs))
                    if verdict.denied:
                        raise denial(verdict)
                    try:
                        result = await function(*args, **kwargs)
                    except BaseException as error:
                        # A cancelled task can await nothing more, so this report blocks for a moment.
                        self.after(verdict, "failed" if isinstance(error, Exception) else "cancelled", describe(error))
                        raise
                    await self.aafter(verdict, "ok", result)
                    return result

                return cast(Function, guarded_coroutine)

            @functools.wraps(function)
            def guarded_function(*args: Any, **kwargs: Any) -> Any:
                with self.call(name, arguments(args, kwargs)) as call:
                    call.output = function(*args, **kwargs)
                return call.output

            return cast(Function, guarded_function)

        return decorate if function is None else decorate(function)

    # The same for asyncio: a thread waits, the event loop does not.

    async def abefore(self, tool: str, input: Any = None, *, call: Optional[str] = None) -> Verdict:
        return await asyncio.to_thread(self.before, tool, input, call=call)

    async def aafter(
        self, call: Union[Verdict, str], outcome: Outcome = "ok", output: Any = "", *, exit: Optional[int] = None
    ) -> Verdict:
        return await asyncio.to_thread(self.after, call, outcome, output, exit=exit)

    async def amodel(self, **usage: Any) -> Verdict:
        return await asyncio.to_thread(functools.partial(self.model, **usage))

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.end(None if kind is None else kind.__name__)

    def _ask(self, method: str, **fields: Any) -> dict[str, Any]:
        return self._connection.ask(method, {"session": self.name, "agent": self.agent, **fields})

    def _report(self, method: str, **fields: Any) -> Verdict:
        """Reports an event of the agent's work. Only a failure of haltline itself is subject to `fail`."""
        try:
            verdict = Verdict.from_response(self._ask(method, **fields))
        except HaltlineError as error:
            if error.kind != "store":
                raise
            if (self._fail or self._connection.fail) == "closed":
                if method != "before":
                    raise
                reason = f"HALTLINE HL-OWN-04: denied, because haltline itself failed: {error}"
                return Verdict("deny", reason, "HL-OWN-04", unguarded=str(error))
            verdict = Verdict("pass", call=fields.get("call"), unguarded=str(error))
        if verdict.unguarded and self._fail == "closed" and method == "before" and not verdict.denied:
            reason = f"HALTLINE HL-OWN-04: denied, because haltline itself failed: {verdict.unguarded}"
            return Verdict("deny", reason, "HL-OWN-04", unguarded=verdict.unguarded)
        if verdict.unguarded:
            warnings.warn(f"haltline did not check or count {method}: {verdict.unguarded}", RuntimeWarning, stacklevel=3)
        return verdict


class SubAgent(Session):
    """A sub-agent of a session. Use it as a context manager, or call `end`."""

    def __init__(self, parent: Session, name: str) -> None:
        self.name = parent.name
        self.agent = name
        self.stopped = None
        self._fail = parent._fail
        self._connection = parent._connection
        self._parent = parent

    def end(self, reason: Optional[str] = None) -> None:
        """Reports that the sub-agent is done."""
        self._parent._report("spawn_end", child=self.agent)


class Call:
    """A call that runs. Set `output`, `outcome` or `exit` before the block ends."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.outcome: Outcome = "ok"
        self.output: Any = ""
        self.exit: Optional[int] = None


def describe(error: BaseException) -> str:
    """An exception as the output of a call."""
    return f"{type(error).__name__}: {error}"
