"""The hooks in a real crew with a model that follows a script."""

import pytest

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool

from haltline import Session
from haltline.crewai import guard


class Scripted(BaseLLM):
    script: list = []
    requests: list = []

    def call(self, messages, *others, **options):
        self.requests.append(str(messages))
        if self.script:
            name, args = self.script.pop(0)
            return f"Thought: next\nAction: {name}\nAction Input: {args}"
        return "Thought: I now know the final answer\nFinal Answer: done"

    def supports_function_calling(self):
        return False

    def supports_stop_words(self):
        return False


def build(runs, calls):
    @tool("deploy")
    def deploy(target: str) -> str:
        """Deploys."""
        runs.append(target)
        raise ValueError("no such target")

    @tool("read")
    def read(path: str) -> str:
        """Reads."""
        runs.append(path)
        return f"content of {path}"

    for one in (deploy, read):
        one.cache_function = lambda *_: False
    model = Scripted(model="scripted", script=list(calls), requests=[])
    agent = Agent(role="worker", goal="work", backstory="works", llm=model, tools=[deploy, read], max_iter=20, max_retry_limit=0)
    task = Task(description="work", expected_output="done", agent=agent)
    return Crew(agents=[agent], tasks=[task], cache=False), model


def test_a_loop_ends_after_the_third_failure_with_a_reason_for_the_model(session):
    runs = []
    crew, model = build(runs, [("deploy", '{"target": "prod"}')] * 9)
    remove = guard(crew, session)
    with pytest.raises(Exception, match="blocked"):
        crew.kickoff()
    remove()
    # CrewAI itself runs the tool of a failed call several times; for the model and for haltline it is one call.
    assert set(runs) == {"prod"} and session.stopped.code == "HL-FAIL-01"
    assert "HL-FAIL-01: denied" in model.requests[-1]


def test_a_healthy_run_is_untouched_and_hooks_act_only_on_their_crew(session):
    runs = []
    crew, _ = build(runs, [("read", f'{{"path": "file{number}"}}') for number in range(8)])
    other, _ = build([], [("deploy", '{"target": "prod"}')] * 2)
    remove = guard(crew, session)
    assert crew.kickoff().raw == "done" and len(runs) == 8
    other.kickoff()
    remove()
    assert session.stopped is None


def test_a_budget_stops_it_and_sub_agents_share_it(configure, project):
    configure("[budget]\ntokens_hard = 1000\n")
    session, runs = Session("budget"), []
    with session.sub_agent("helper") as helper:
        helper.model(input=2000)
    crew, _ = build(runs, [("read", f'{{"path": "{number}"}}') for number in range(9)])
    remove = guard(crew, session)
    with pytest.raises(Exception, match="blocked"):
        crew.kickoff()
    remove()
    assert runs == [] and session.stopped.code == "HL-BUDGET-02"
