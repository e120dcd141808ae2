"""The guardrail and the hooks in a real run with the SDK's scripted model."""

import asyncio

import pytest

from agents import Agent, Runner, Usage, function_tool
from agents.testing import ScriptedModel
from agents.testing.model import assistant_message, function_call

from haltline import Session, Stopped
from haltline.openai_agents import guard


def build(runs, calls, tokens=10):
    @function_tool
    def deploy(target: str) -> str:
        runs.append(target)
        raise ValueError("no such target")

    @function_tool
    def read(path: str) -> str:
        runs.append(path)
        return f"content of {path}"

    steps = [[function_call(name, args, call_id=f"c{number}")] for number, (name, args) in enumerate(calls)]
    usage = Usage(requests=1, input_tokens=tokens, output_tokens=1, total_tokens=tokens + 1)
    model = ScriptedModel([*steps, [assistant_message("done")]], default_usage=usage)
    return Agent(name="worker", model=model, tools=[deploy, read]), model


def run(agent, session):
    return asyncio.run(Runner.run(agent, "go", hooks=guard(agent, session), max_turns=20))


def test_a_loop_ends_after_the_third_failure_with_a_reason_for_the_model(session):
    runs = []
    agent, model = build(runs, [("deploy", {"target": "prod"})] * 9)
    with pytest.raises(Stopped, match="HL-FAIL-01"):
        run(agent, session)
    assert runs == ["prod"] * 3
    assert len(model.calls) == 5 and "HL-FAIL-01: denied" in str(model.calls[4].input)


def test_a_healthy_run_is_untouched(session):
    runs = []
    agent, _ = build(runs, [("read", {"path": f"file{number}"}) for number in range(8)])
    assert run(agent, session).final_output == "done" and len(runs) == 8


def test_a_budget_stops_it_and_sub_agents_share_it(configure, project):
    configure("[budget]\ntokens_hard = 1000\n")
    session, runs = Session("budget"), []
    with session.sub_agent("helper") as helper:
        helper.model(input=2000)
    agent, _ = build(runs, [("read", {"path": str(number)}) for number in range(9)])
    with pytest.raises(Stopped, match="HL-BUDGET-02"):
        run(agent, session)
    assert runs == []
