"""OpenAI Agents SDK: `Runner.run(agent, input, hooks=guard(agent, session))`."""

from __future__ import annotations

import asyncio
from typing import Any, Optional

from agents import (
    Agent,
    FunctionTool,
    RunHooks,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
)

from ._adapter import Guard, reason
from ._session import Session

_FAILURE = "An error occurred while running the tool"
"""The beginning of what the SDK hands to the model when a tool raised an exception."""


class HaltlineHooks(RunHooks[Any]):
    """Reports the ends of calls and what responses used; raises `Stopped` before the next request once haltline stops."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self.session = guard.session

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        if context.usage.requests == 0:
            self.session.resume_turn()

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        self._guard.raise_if_stopped()

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        usage = response.usage
        if usage.total_tokens:
            read = getattr(usage.input_tokens_details, "cached_tokens", 0) or 0
            await self.session.amodel(
                input=max(0, usage.input_tokens - read), output=usage.output_tokens, cache_read=read
            )

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        verdict = self._guard.take(context.tool_call_id)
        if verdict is not None:
            is_failure = isinstance(result, str) and result.startswith(_FAILURE)
            await self.session.aafter(verdict, "failed" if is_failure else "ok", result)


def guard(agent: Agent[Any], session: Optional[Session] = None) -> HaltlineHooks:
    """Adds a guardrail to the function tools of an agent and of those it hands off to. Returns the hooks of the run."""
    own = Guard(session)

    async def before_call(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context = data.context
        verdict = await asyncio.to_thread(
            own.start, context.tool_name, context.tool_arguments or "{}", context.tool_call_id
        )
        if verdict.denied:
            return ToolGuardrailFunctionOutput.reject_content(reason(verdict), verdict.code)
        return ToolGuardrailFunctionOutput.allow(verdict.code)

    guardrail: ToolInputGuardrail[Any] = ToolInputGuardrail(guardrail_function=before_call, name="haltline")
    waiting, seen = [agent], set()
    while waiting:
        next_agent = waiting.pop()
        if id(next_agent) in seen:
            continue
        seen.add(id(next_agent))
        for tool in next_agent.tools:
            if isinstance(tool, FunctionTool):
                others = [one for one in tool.tool_input_guardrails or [] if one.name != "haltline"]
                tool.tool_input_guardrails = [*others, guardrail]
        waiting += [one for one in next_agent.handoffs if isinstance(one, Agent)]
    return HaltlineHooks(own)
