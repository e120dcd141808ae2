"""The plugin in a real runner with a model that follows a script."""

import asyncio

import pytest

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from haltline import Session
from haltline.google_adk import HaltlinePlugin


class Scripted(BaseLlm):
    calls: list = []
    requests: list = []
    tokens: int = 10

    async def generate_content_async(self, llm_request, stream=False):
        self.requests.append(llm_request.model_dump_json())
        if self.calls:
            name, args = self.calls.pop(0)
            part = types.Part(function_call=types.FunctionCall(name=name, args=args))
        else:
            part = types.Part(text="done")
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=self.tokens, candidates_token_count=1, total_token_count=self.tokens + 1
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)


def run(session, runs, calls, tokens=10):
    """Returns the model and the last text."""

    def deploy(target: str) -> dict:
        """Deploys."""
        runs.append(target)
        return {"status": "error", "message": "no such target"}

    def read(path: str) -> dict:
        """Reads."""
        runs.append(path)
        return {"content": f"content of {path}"}

    model = Scripted(model="scripted", calls=list(calls), requests=[], tokens=tokens)
    agent = LlmAgent(name="worker", model=model, tools=[deploy, read])
    runner = InMemoryRunner(agent=agent, app_name="test", plugins=[HaltlinePlugin(session)])

    async def main():
        chat = await runner.session_service.create_session(app_name="test", user_id="u")
        message, last = types.Content(role="user", parts=[types.Part(text="go")]), ""
        async for event in runner.run_async(user_id="u", session_id=chat.id, new_message=message):
            for part in (event.content.parts if event.content else None) or []:
                last = part.text or last
        return last

    return model, asyncio.run(main())


def test_a_loop_ends_after_the_third_failure_with_a_reason_for_the_model(session):
    runs = []
    model, last = run(session, runs, [("deploy", {"target": "prod"})] * 9)
    assert runs == ["prod"] * 3 and "HL-FAIL-01" in last
    assert len(model.requests) == 5 and "HL-FAIL-01: denied" in model.requests[4]


def test_a_healthy_run_is_untouched(session):
    runs = []
    _, last = run(session, runs, [("read", {"path": f"file{number}"}) for number in range(8)])
    assert last == "done" and len(runs) == 8


def test_a_budget_stops_it_and_sub_agents_share_it(configure, project):
    configure("[budget]\ntokens_hard = 1000\n")
    session, runs = Session("budget"), []
    with session.sub_agent("helper") as helper:
        run(helper, runs, [("read", {"path": "a"})], tokens=600)
    _, last = run(session, runs, [("read", {"path": str(number)}) for number in range(9)])
    assert runs == ["a"] and "HL-BUDGET-02" in last
