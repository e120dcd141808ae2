"""`haltline mcp` with the official client of the Model Context Protocol."""

import asyncio
import json
import os

import pytest
from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from haltline import Session, find_program

TOOLS = {
    "status", "why", "incidents", "budget", "constraint_check", "constraint_record", "phase_report",
    "attempt_begin", "attempt_check", "attempt_record", "attempt_status", "claim_round",
}  # fmt: skip


def play(scene):
    """Runs a scene with a client that is connected to haltline in the current folder."""

    async def main():
        server = StdioServerParameters(command=find_program(), args=["mcp"], env=dict(os.environ))
        async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as client:
            hello = await client.initialize()
            return await scene(client, hello)

    return asyncio.run(asyncio.wait_for(main(), 60))


def test_the_tools_are_those_of_an_agent_and_none_is_an_operator_action(project):
    async def scene(client, hello):
        assert hello.server_info.name == "haltline" and "reset" in hello.instructions
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        for tool in tools:
            assert tool.description and tool.input_schema["type"] == "object"
        with pytest.raises(MCPError):
            await client.call_tool("reset", {})
        await client.send_ping()

    play(scene)


def test_an_agent_reads_why_it_was_denied_and_an_incident_is_a_resource(project):
    session = Session("s1")
    for _ in range(3):
        verdict = session.before("bash", {"command": "make"})
        session.after(verdict, "failed", "no rule")

    async def scene(client, hello):
        status = await client.call_tool("status", {})
        assert status.structured_content["summary"]["open"] == 1
        why = await client.call_tool("why", {})
        assert not why.is_error and "HL-FAIL-01" in why.content[0].text
        listed = (await client.list_resources()).resources
        assert len(listed) == 1 and listed[0].title == "HL-FAIL-01"
        read = await client.read_resource(listed[0].uri)
        assert json.loads(read.contents[0].text)["code"] == "HL-FAIL-01"
        with pytest.raises(MCPError):
            await client.read_resource("haltline://incident/ffffffff")

    play(scene)


def test_an_agent_reports_to_the_other_breakers(project):
    rule = project / "docs/constraints/active/no-push.md"
    rule.parent.mkdir(parents=True)
    rule.write_text("---\nid: no-push\ncircuit_breaker:\n  violation_threshold: 2\n---\n# no-push\n")
    session = Session("s1")
    session.command("phase", "begin", "RED")
    session.command("claim", "add", "C-1", "--text", "it is the cache", "--confidence", "0.5")

    async def scene(client, hello):
        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.content[0].text
            return result.structured_content

        for action in ("git push a", "git push b"):
            await call("constraint_record", constraint="no-push", action=action)
        assert (await call("constraint_check", constraint="no-push"))["verdict"] in ("pass", "deny")
        phase = await call("phase_report", metrics={"tests_passing": 6})
        assert phase["course"]["metrics"] == {"tests_passing": 6}
        await call("attempt_begin", slice="S-1", in_scope=["src/"])
        await call("attempt_record", slice="S-1", test="adds tax", result="fail", strategy="--force")
        assert (await call("attempt_status"))["slice"] == "S-1"
        await call("claim_round", claim="C-1", objection="run the harness", answer="it was run", confidence=0.6)
        await call("budget")

    play(scene)


def test_what_haltline_rejects_is_a_result_that_says_what_to_do(project):
    async def scene(client, hello):
        for tool, arguments, text in [
            ("constraint_check", {}, "constraint is missing"),
            ("constraint_check", {"constraint": 7}, "expected a string"),
            ("constraint_check", {"constraint": "--help"}, "constraint"),
            ("why", {"incident": "ffffffff"}, "ffffffff"),
            ("why", {"incident": "--version"}, "--version"),
            ("status", {"folder": "/"}, "folder"),
        ]:
            result = await client.call_tool(tool, arguments)
            assert result.is_error and text in result.content[0].text, (tool, arguments, result.content)

    play(scene)
