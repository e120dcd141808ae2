"""Google ADK: `Runner(app_name=…, agent=…, plugins=[HaltlinePlugin(session)])`. The plugin covers all agents of the runner."""

from __future__ import annotations

import asyncio
from typing import Any, Optional

from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from ._adapter import Guard, reason
from ._session import Session, describe


class HaltlinePlugin(BasePlugin):
    """Answers denied calls with `{"error": reason}`, and answers in place of the model once haltline stops the run."""

    def __init__(self, session: Optional[Session] = None) -> None:
        super().__init__(name="haltline")
        self._guard = Guard(session)
        self.session = self._guard.session

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        self.session.resume_turn()

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> Optional[dict[str, Any]]:
        call = tool_context.function_call_id
        verdict = await asyncio.to_thread(self._guard.start, tool.name, tool_args, call)
        return {"error": reason(verdict)} if verdict.denied else None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any
    ) -> Optional[dict[str, Any]]:
        verdict = self._guard.take(tool_context.function_call_id)
        if verdict is None:
            return None
        is_failure = isinstance(result, dict) and ("error" in result or result.get("status") == "error")
        await self.session.aafter(verdict, "failed" if is_failure else "ok", result)
        if verdict.warns and isinstance(result, dict):
            return {**result, "haltline": verdict.reason}
        return None

    async def on_tool_error_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, error: Exception) -> None:
        verdict = self._guard.take(tool_context.function_call_id)
        if verdict is not None:
            await self.session.aafter(verdict, "failed", describe(error))

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> Optional[LlmResponse]:
        stopped = self.session.stopped
        if stopped is None:
            return None
        content = types.Content(role="model", parts=[types.Part(text=reason(stopped))])
        return LlmResponse(content=content)

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        usage = llm_response.usage_metadata
        if usage is not None:
            read = usage.cached_content_token_count or 0
            await self.session.amodel(
                input=max(0, (usage.prompt_token_count or 0) - read),
                output=(usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
                cache_read=read,
            )
