"""PydanticAI: `Agent(model, capabilities=[HaltlineCapability(session)])`."""

from __future__ import annotations

from typing import Any, Optional

from pydantic_ai.capabilities import AbstractCapability

from ._adapter import Guard, reason, with_warning
from ._session import Session, describe


class HaltlineCapability(AbstractCapability[Any]):
    """Answers denied calls with the reason, and raises `Stopped` before the next request once haltline stops the run."""

    def __init__(self, session: Optional[Session] = None) -> None:
        self._guard = Guard(session)
        self.session = self._guard.session

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        verdict = await self.session.abefore(call.tool_name, args)
        if verdict.denied:
            return reason(verdict)
        try:
            result = await handler(args)
        except Exception as error:
            await self.session.aafter(verdict, "failed", describe(error))
            raise
        await self.session.aafter(verdict, "ok", result)
        return with_warning(result, verdict)

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        if ctx.run_step <= 1:
            self.session.resume_turn()
        self._guard.raise_if_stopped()
        return request_context

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        usage = response.usage
        if usage.input_tokens or usage.output_tokens:
            read, write = usage.cache_read_tokens, usage.cache_write_tokens
            await self.session.amodel(
                input=max(0, usage.input_tokens - read - write),
                output=usage.output_tokens,
                cache_read=read,
                cache_write=write,
                model=response.model_name,
            )
        return response
