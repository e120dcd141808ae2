"""CrewAI: `guard(crew, session)` before `crew.kickoff()`. CrewAI's hooks are global; these act only on their crew."""

from __future__ import annotations

from typing import Any, Callable, Optional

from crewai.hooks import (
    register_after_tool_call_hook,
    register_before_llm_call_hook,
    register_before_tool_call_hook,
    unregister_after_tool_call_hook,
    unregister_before_llm_call_hook,
    unregister_before_tool_call_hook,
)

from ._adapter import Guard, reason, with_warning
from ._session import Session
from ._verdict import Verdict

_FAILURES = ("Error executing tool", "I encountered an error")
"""The beginnings of what CrewAI hands to the model when a tool raised an exception."""


def guard(crew: Any, session: Optional[Session] = None) -> Callable[[], None]:
    """Guards the tools of a crew, and blocks its next request to the model once haltline stops it. Returns a function
    that removes the hooks."""
    own = Guard(session)
    denials: dict[int, Verdict] = {}

    def is_ours(context: Any) -> bool:
        return context.crew is crew or any(context.agent is agent for agent in crew.agents)

    def before_tool(context: Any) -> Optional[bool]:
        if not is_ours(context):
            return None
        # CrewAI names no call; the dictionary of its arguments lives as long as the call.
        call = id(context.tool_input)
        verdict = own.start(context.tool_name, dict(context.tool_input), str(call))
        if verdict.denied:
            denials[call] = verdict
            return False
        return None

    def after_tool(context: Any) -> Optional[str]:
        call = id(context.tool_input)
        denial = denials.pop(call, None)
        if denial is not None:
            return reason(denial)
        verdict = own.take(str(call))
        if verdict is None:
            return None
        result = context.tool_result or ""
        own.session.after(verdict, "failed" if result.lstrip().startswith(_FAILURES) else "ok", result)
        warned = with_warning(result, verdict)
        return warned if warned != result else None

    def before_model(context: Any) -> Optional[bool]:
        return False if is_ours(context) and own.session.stopped is not None else None

    register_before_tool_call_hook(before_tool)
    register_after_tool_call_hook(after_tool)
    register_before_llm_call_hook(before_model)

    def remove() -> None:
        unregister_before_tool_call_hook(before_tool)
        unregister_after_tool_call_hook(after_tool)
        unregister_before_llm_call_hook(before_model)

    return remove
