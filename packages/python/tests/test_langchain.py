"""HaltlineMiddleware in a real agent with LangChain's fake model."""

import asyncio

import pytest

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from haltline import Session
from haltline.langchain import HaltlineMiddleware


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **options):
        return self


def model(calls, tokens=10):
    """Makes these calls one after another, then says "done"."""
    usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
    messages = [
        AIMessage(content="", tool_calls=[{"name": name, "args": args, "id": f"c{number}"}], usage_metadata=usage)
        for number, (name, args) in enumerate(calls)
    ]
    return Model(messages=iter([*messages, AIMessage(content="done", usage_metadata=usage)]))


def tools(runs):
    @tool
    def deploy(target: str) -> str:
        """Deploys."""
        runs.append(target)
        raise ValueError("no such target")

    @tool
    def read(path: str) -> str:
        """Reads."""
        runs.append(path)
        return f"content of {path}"

    def shown(error):
        return f"failed: {error}"

    deploy.handle_tool_error = shown
    return [deploy, read]


def failing_tool(runs):
    @tool
    def deploy(target: str) -> str:
        """Deploys."""
        runs.append(target)
        from langchain_core.tools import ToolException

        raise ToolException("no such target")

    deploy.handle_tool_error = True
    return deploy


def agent(session, runs, calls, tokens=10):
    return create_agent(
        model(calls, tokens), [failing_tool(runs), tools(runs)[1]], middleware=[HaltlineMiddleware(session)]
    )


@pytest.mark.parametrize("is_async", [False, True])
def test_a_loop_ends_after_the_third_failure_with_a_reason_for_the_model(session, is_async):
    runs = []
    built = agent(session, runs, [("deploy", {"target": "prod"})] * 9)
    question = {"messages": [("user", "deploy it")]}
    state = asyncio.run(built.ainvoke(question)) if is_async else built.invoke(question)
    results = [message for message in state["messages"] if message.type == "tool"]
    assert runs == ["prod"] * 3
    assert [message.status for message in results] == ["error"] * 5
    assert "HL-FAIL-01" in results[2].content and "denied" in results[3].content
    assert "HL-FAIL-01" in state["messages"][-1].content and len(state["messages"]) == 12


def test_a_healthy_run_is_untouched(session):
    runs = []
    calls = [("read", {"path": f"file{number}"}) for number in range(8)]
    state = agent(session, runs, calls).invoke({"messages": [("user", "read")]})
    assert len(runs) == 8 and state["messages"][-1].content == "done"
    assert not any("haltline" in str(message.content).lower() for message in state["messages"])


def test_a_budget_stops_it_and_sub_agents_share_it(configure, project):
    configure("[budget]\ntokens_hard = 1000\n")
    session, runs = Session("budget"), []
    with session.sub_agent("helper") as helper:
        agent(helper, runs, [("read", {"path": "a"})], tokens=600).invoke({"messages": [("user", "read")]})
    state = agent(session, runs, [("read", {"path": str(n)}) for n in range(9)], tokens=10).invoke(
        {"messages": [("user", "read")]}
    )
    assert runs == ["a"] and "HL-BUDGET-02" in state["messages"][-1].content
