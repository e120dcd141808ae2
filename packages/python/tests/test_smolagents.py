"""The guard in a real agent with a model that follows a script."""

import pytest

from smolagents import ChatMessage, MessageRole, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction
from smolagents.monitoring import TokenUsage
from smolagents.utils import AgentError

from haltline import Session
from haltline.smolagents import guard


class Scripted(Model):
    def __init__(self, calls, tokens):
        super().__init__(model_id="scripted")
        self.calls, self.tokens, self.requests = list(calls), tokens, []

    def generate(self, messages, **options):
        self.requests.append(str(messages))
        name, args = self.calls.pop(0) if self.calls else ("final_answer", {"answer": "done"})
        function = ChatMessageToolCallFunction(name=name, arguments=args)
        call = ChatMessageToolCall(id=f"c{len(self.requests)}", type="function", function=function)
        usage = TokenUsage(input_tokens=self.tokens, output_tokens=1)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call], token_usage=usage)


def build(runs, calls, tokens=10):
    @tool
    def deploy(target: str) -> str:
        """Deploys.

        Args:
            target: where to
        """
        runs.append(target)
        raise ValueError("no such target")

    @tool
    def read(path: str) -> str:
        """Reads.

        Args:
            path: the file
        """
        runs.append(path)
        return f"content of {path}"

    model = Scripted(calls, tokens)
    return ToolCallingAgent(tools=[deploy, read], model=model, max_steps=20, verbosity_level=0), model


def test_a_loop_ends_after_the_third_failure_with_a_reason_for_the_model(session):
    runs = []
    agent, model = build(runs, [("deploy", {"target": "prod"})] * 9)
    guard(agent, session)
    with pytest.raises(AgentError, match="interrupted"):
        agent.run("deploy it")
    assert runs == ["prod"] * 3
    assert len(model.requests) == 5 and "HL-FAIL-01: denied" in model.requests[4]


def test_a_healthy_run_is_untouched(session):
    runs = []
    agent, _ = build(runs, [("read", {"path": f"file{number}"}) for number in range(8)])
    guard(agent, session)
    assert agent.run("read") == "done" and len(runs) == 8


def test_a_budget_stops_it_and_sub_agents_share_it(configure, project):
    configure("[budget]\ntokens_hard = 1000\n")
    session, runs = Session("budget"), []
    helper, _ = build(runs, [("read", {"path": "a"})], tokens=600)
    guard(helper, session.sub_agent("helper"))
    helper.run("read")
    agent, _ = build(runs, [("read", {"path": str(number)}) for number in range(9)])
    guard(agent, session)
    with pytest.raises(AgentError):
        agent.run("read")
    assert runs == ["a"] and "HL-BUDGET-02" in session.stopped.reason
