"""smolagents: `guard(agent, session)` before `agent.run(task)`."""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional

from smolagents import ActionStep, MultiStepAgent, Tool

from ._adapter import with_warning
from ._session import Session, describe
from ._verdict import denial


def guard(agent: MultiStepAgent, session: Optional[Session] = None) -> Session:
    """Guards the tools of an agent and of those it manages, and interrupts it once haltline stops it."""
    own = session if session is not None else Session()
    for name, tool in agent.tools.items():
        if isinstance(tool, Tool) and name != "final_answer":
            # The class checks the signature of `forward`; an instance's attribute is what `Tool.__call__` finds.
            object.__setattr__(tool, "forward", _guarded(own, name, tool.forward))

    def after_step(step: ActionStep, agent: MultiStepAgent) -> None:
        usage = step.token_usage
        if usage is not None and (usage.input_tokens or usage.output_tokens):
            own.model(input=usage.input_tokens, output=usage.output_tokens)
        if own.stopped is not None:
            agent.interrupt()

    agent.step_callbacks.register(ActionStep, after_step)
    for name, managed in agent.managed_agents.items():
        if isinstance(managed, MultiStepAgent):
            guard(managed, own.sub_agent(name))
    return own


def _guarded(session: Session, name: str, forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        verdict = session.before(name, kwargs if not args else {**kwargs, "args": list(args)})
        if verdict.denied:
            raise denial(verdict)
        try:
            result = forward(*args, **kwargs)
        except Exception as error:
            session.after(verdict, "failed", describe(error))
            raise
        session.after(verdict, "ok", result)
        return with_warning(result, verdict)

    return guarded
