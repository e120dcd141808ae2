"""LangChain: `create_agent(model, tools, middleware=[HaltlineMiddleware(session)])`."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Optional

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import hook_config
from langchain_core.messages import AIMessage, ToolMessage

from ._adapter import Guard, reason, with_warning
from ._session import Session, describe
from ._verdict import Verdict


class HaltlineMiddleware(AgentMiddleware):
    """Denies calls with a tool message, and ends the agent when haltline stops it."""

    def __init__(self, session: Optional[Session] = None) -> None:
        super().__init__()
        self._guard = Guard(session)
        self.session = self._guard.session

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        verdict = self.session.before(request.tool_call["name"], request.tool_call["args"])
        if verdict.denied:
            return _denial(request, verdict)
        try:
            result = handler(request)
        except Exception as error:
            self.session.after(verdict, "failed", describe(error))
            raise
        self.session.after(verdict, *_end(result))
        return _warned(result, verdict)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        verdict = await self.session.abefore(request.tool_call["name"], request.tool_call["args"])
        if verdict.denied:
            return _denial(request, verdict)
        try:
            result = await handler(request)
        except Exception as error:
            await self.session.aafter(verdict, "failed", describe(error))
            raise
        await self.session.aafter(verdict, *_end(result))
        return _warned(result, verdict)

    def before_agent(self, state: Any, runtime: Any) -> None:
        self.session.resume_turn()

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> Optional[dict[str, Any]]:
        stopped = self.session.stopped
        if stopped is None:
            return None
        return {"jump_to": "end", "messages": [AIMessage(content=reason(stopped))]}

    def after_model(self, state: Any, runtime: Any) -> None:
        last = state["messages"][-1]
        usage = getattr(last, "usage_metadata", None)
        if usage:
            details = usage.get("input_token_details") or {}
            read, write = details.get("cache_read") or 0, details.get("cache_creation") or 0
            self.session.model(
                input=max(0, usage["input_tokens"] - read - write),
                output=usage["output_tokens"],
                cache_read=read,
                cache_write=write,
            )


def _denial(request: Any, verdict: Verdict) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(content=reason(verdict), tool_call_id=call["id"], name=call["name"], status="error")


def _end(result: Any) -> tuple[Any, str]:
    if isinstance(result, ToolMessage):
        return ("failed" if result.status == "error" else "ok"), str(result.content)
    return "ok", ""


def _warned(result: Any, verdict: Verdict) -> Any:
    if isinstance(result, ToolMessage) and verdict.warns:
        return result.model_copy(update={"content": with_warning(result.content, verdict)})
    return result
