"""Claude Agent SDK: `ClaudeAgentOptions(hooks=hooks(session))`.

If haltline is also installed in Claude Code on this machine and the SDK loads those settings, use only one of them.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Optional

from claude_agent_sdk import HookMatcher

from ._adapter import Guard, reason
from ._session import Outcome, Session


def hooks(session: Optional[Session] = None) -> dict[Any, list[HookMatcher]]:
    """The hooks that ask before each call and report its end. A stop ends the run."""
    guard = Guard(session)

    async def before_call(input: Any, call: Optional[str], context: Any) -> Any:
        verdict = await asyncio.to_thread(guard.start, input["tool_name"], input["tool_input"], call)
        output: dict[str, Any] = {"hookEventName": "PreToolUse"}
        if not verdict.denied:
            if not verdict.warns:
                return {}
            return {"hookSpecificOutput": {**output, "additionalContext": verdict.reason}}
        output |= {"permissionDecision": "deny", "permissionDecisionReason": reason(verdict)}
        answer: dict[str, Any] = {"hookSpecificOutput": output}
        if verdict.stops:
            answer |= {"continue_": False, "stopReason": reason(verdict)}
        return answer

    async def after_call(input: Any, call: Optional[str], context: Any) -> Any:
        verdict = guard.take(call or "")
        if verdict is not None:
            response = input.get("tool_response")
            text = response if isinstance(response, str) else json.dumps(response, default=str)
            await guard.session.aafter(verdict, "ok", text)
        return {}

    async def after_failure(input: Any, call: Optional[str], context: Any) -> Any:
        verdict = guard.take(call or "")
        if verdict is not None:
            outcome: Outcome = "cancelled" if input.get("is_interrupt") else "failed"
            await guard.session.aafter(verdict, outcome, str(input.get("error", "")))
        return {}

    async def before_turn(input: Any, call: Optional[str], context: Any) -> Any:
        guard.session.resume_turn()
        return {}

    return {
        "PreToolUse": [HookMatcher(hooks=[before_call])],
        "PostToolUse": [HookMatcher(hooks=[after_call])],
        "PostToolUseFailure": [HookMatcher(hooks=[after_failure])],
        "UserPromptSubmit": [HookMatcher(hooks=[before_turn])],
    }
