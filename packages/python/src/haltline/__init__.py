"""haltline, the circuit breaker for AI agents, as a Python package.

    from haltline import Session

    with Session("fix-login") as session:
        verdict = session.before("bash", {"command": "npm test"})
        if verdict.denied:
            ...  # give verdict.reason to the model
        else:
            session.after(verdict, "failed", "500", exit=1)

Adapters: haltline.langchain, openai_agents, claude_agent_sdk, pydantic_ai, google_adk, crewai, smolagents.
"""

from ._connection import find_program
from ._session import Call, Outcome, Session, SubAgent
from ._verdict import Denied, HaltlineError, Stopped, Verdict, VerdictName

__all__ = [
    "Call", "Denied", "HaltlineError", "Outcome", "Session", "Stopped", "SubAgent", "Verdict", "VerdictName",
    "find_program",
]  # fmt: skip
