"""The capability in a real agent with PydanticAI's function model."""

import pytest

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

from haltline import Session, Stopped
from haltline.pydantic_ai import HaltlineCapability


def build(session, runs, calls, tokens=10):
    seen, waiting = [], list(calls)

    def answer(messages, info):
        seen.append(messages)
        parts = [ToolCallPart(*waiting.pop(0))] if waiting else [TextPart("done")]
        return ModelResponse(parts=parts, usage=RequestUsage(input_tokens=tokens, output_tokens=1))

    agent = Agent(FunctionModel(answer), capabilities=[HaltlineCapability(session)], retries=9)

    @agent.tool_plain
    def deploy(target: str) -> str:
        runs.append(target)
        raise ModelRetry("no such target")

    @agent.tool_plain
    def read(path: str) -> str:
        runs.append(path)
        return f"content of {path}"

    return agent, seen


def test_a_loop_ends_after_the_third_failure_with_a_reason_for_the_model(session):
    runs = []
    agent, seen = build(session, runs, [("deploy", {"target": "prod"})] * 9)
    with pytest.raises(Stopped, match="HL-FAIL-01"):
        agent.run_sync("deploy it")
    assert runs == ["prod"] * 3
    assert len(seen) == 5 and "HL-FAIL-01: denied" in str(seen[4][-1])


def test_a_healthy_run_is_untouched(session):
    runs = []
    agent, _ = build(session, runs, [("read", {"path": f"file{number}"}) for number in range(8)])
    assert agent.run_sync("read").output == "done" and len(runs) == 8


def test_a_budget_stops_it_and_sub_agents_share_it(configure, project):
    configure("[budget]\ntokens_hard = 1000\n")
    session, runs = Session("budget"), []
    with session.sub_agent("helper") as helper:
        agent, _ = build(helper, runs, [("read", {"path": "a"})], tokens=600)
        agent.run_sync("read")
    agent, _ = build(session, runs, [("read", {"path": str(number)}) for number in range(9)])
    with pytest.raises(Stopped, match="HL-BUDGET-02"):
        agent.run_sync("read")
    assert runs == ["a"]
