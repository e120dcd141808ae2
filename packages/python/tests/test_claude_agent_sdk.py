"""The hooks in a real client, which the SDK brings, against a local server that follows a script."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from haltline import Session
from haltline.claude_agent_sdk import hooks


class Model(ThreadingHTTPServer):
    """Answers the requests of an agent with these commands one after another, then with "done"."""

    daemon_threads = True

    def __init__(self, commands, tokens=10):
        super().__init__(("127.0.0.1", 0), Handler)
        self.commands, self.tokens, self.requests = list(commands), tokens, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def answer(self, request):
        # The client also asks for titles and the like, without tools.
        if not any(tool.get("name") == "Bash" for tool in request.get("tools", [])):
            return {"type": "text", "text": "ok"}
        self.requests.append(json.dumps(request["messages"]))
        if not self.commands:
            return {"type": "text", "text": "done"}
        name = f"toolu_{len(self.requests)}"
        return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": self.commands.pop(0)}}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    do_GET = do_HEAD

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "/messages" not in self.path or "count_tokens" in self.path:
            return self.send("application/json", json.dumps({"input_tokens": 10}))
        block = self.server.answer(request)
        is_call = block["type"] == "tool_use"
        usage = {"input_tokens": self.server.tokens, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model"), "usage": usage}
        message |= {"stop_reason": "tool_use" if is_call else "end_turn", "stop_sequence": None}
        if not request.get("stream"):
            return self.send("application/json", json.dumps({**message, "content": [block]}))
        start = {**block, "input": {}} if is_call else {"type": "text", "text": ""}
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            if is_call
            else {"type": "text_delta", "text": block["text"]}
        )
        events = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        self.send("text/event-stream", "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events))

    def send(self, kind, text):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture
def run(project):
    """Runs an agent; returns the server, and the result of the run."""

    def run(session, commands):
        server = Model(commands)
        environment = {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
            "ANTHROPIC_API_KEY": "unused",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "HOME": str(project.parent),
        }
        options = ClaudeAgentOptions(
            hooks=hooks(session), allowed_tools=["Bash"], env=environment, cwd=project, max_turns=15, setting_sources=[]
        )

        async def main():
            result = None
            async for message in query(prompt="go", options=options):
                result = message if isinstance(message, ResultMessage) else result
            return result

        result = asyncio.run(asyncio.wait_for(main(), 120))
        server.shutdown()
        return server, result

    return run


def test_a_loop_ends_after_the_third_failure_with_a_reason_for_the_model(run, session, project):
    server, result = run(session, ["echo x >> runs; exit 3"] * 9)
    assert (project / "runs").read_text() == "x\n" * 3
    assert session.stopped.code == "HL-FAIL-01"
    assert len(server.requests) == 5 and "HL-FAIL-01: denied" in server.requests[4]


def test_a_healthy_run_is_untouched(run, session):
    server, result = run(session, [f"echo {number}" for number in range(5)])
    assert result.result == "done" and "haltline" not in server.requests[-1].lower()


def test_a_budget_of_the_session_stops_it(configure, run):
    configure("[budget]\ntokens_hard = 1000\n")
    session = Session("budget")
    with session.sub_agent("helper") as helper:
        helper.model(input=2000)
    server, _ = run(session, [f"echo {number} >> runs" for number in range(9)])
    assert session.stopped.code == "HL-BUDGET-02" and len(server.requests) == 2
