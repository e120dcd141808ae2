"""The session API with the real program."""

import ast
import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from haltline import Denied, HaltlineError, Session, Stopped, Verdict, find_program

EXAMPLES = Path(__file__).resolve().parents[3] / "examples/protocol"


def fail(session, times, tool="bash"):
    verdicts = []
    for _ in range(times):
        verdict = session.before(tool, {"command": "make test"})
        verdicts.append(verdict)
        if not verdict.denied:
            session.after(verdict, "failed", "no rule", exit=2)
    return verdicts


def test_a_loop_of_failures_is_warned_denied_and_stopped(session):
    verdicts = fail(session, 5)
    assert [verdict.name for verdict in verdicts] == ["pass", "pass", "warn", "deny", "stop"]
    assert verdicts[3].code == "HL-FAIL-01" and "make test" in verdicts[3].reason
    assert session.stopped == verdicts[4]
    session.resume_turn()
    assert session.stopped is None


def test_a_budget_denies_calls(configure, project):
    configure("[budget]\ntokens_hard = 1000\n")
    session = Session("budget")
    assert session.model(input=900).name == "pass"
    assert not session.before("read", {"path": "a"}).denied
    session.model(input=900)
    assert session.before("read", {"path": "b"}).code == "HL-BUDGET-02"


def test_sub_agents_share_the_budget_and_have_their_own_loops(configure, project):
    configure("[budget]\ntokens_hard = 1000\n")
    session = Session("tree")
    with session.sub_agent("researcher") as researcher:
        assert fail(researcher, 4)[3].name == "deny"
        assert fail(session, 1)[0].name == "pass"
        researcher.model(input=2000)
    assert session.before("read", {"path": "a"}).code == "HL-BUDGET-02"


def test_sessions_of_one_name_are_one_session_in_any_process(session, project):
    fail(session, 3)
    code = f"from haltline import Session; print(Session({session.name!r}).before('bash', {{'command': 'make test'}}).name)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert output.stdout == "deny\n", output.stderr


def test_guarded_functions_raise_denied_and_report_exceptions(session):
    runs = []

    @session.guarded
    def deploy(target, *, force=False):
        runs.append(target)
        raise ValueError("no such target")

    for _ in range(3):
        with pytest.raises(ValueError):
            deploy("prod", force=True)
    with pytest.raises(Denied) as denied:
        deploy("prod", force=True)
    assert not isinstance(denied.value, Stopped) and denied.value.verdict.code == "HL-FAIL-01"
    with pytest.raises(Stopped):
        deploy("prod", force=True)
    assert runs == ["prod"] * 3


def test_guarded_coroutines_run_beside_each_other_and_a_cancelled_one_is_no_failure(session):
    @session.guarded(tool="fetch")
    async def fetch(page):
        await asyncio.sleep(0)
        if page < 0:
            await asyncio.Event().wait()
        return f"page {page}"

    async def main():
        pages = await asyncio.gather(*(fetch(page) for page in range(20)))
        waiting = asyncio.create_task(fetch(-1))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return pages

    assert asyncio.run(main()) == [f"page {page}" for page in range(20)]
    # A second event loop: nothing is bound to the first, which is closed.
    assert asyncio.run(fetch(30)) == "page 30"
    assert session.stopped is None


def test_threads_share_the_process_and_every_answer_belongs_to_its_question(project):
    problems = []

    def work(number):
        session = Session(f"thread-{number}")
        for step in range(10):
            call = f"{number}-{step}"
            verdict = session.before("read", {"path": call}, call=call)
            if verdict.call != call:
                problems.append((verdict, call))
            session.after(verdict, "ok", call)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not problems and not any(thread.is_alive() for thread in threads)


def test_a_fork_gets_its_own_process_and_leaves_its_parents_alone(session):
    fail(session, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(0 if fail(session, 1)[0].name == "warn" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert fail(session, 1)[0].name == "deny"


def test_arguments_may_be_anything(session):
    class Thing:
        pass

    cycle = {}
    cycle["self"] = cycle
    deep = []
    for _ in range(5000):
        deep = [deep]
    values = [Thing(), {1, 2}, b"\xff", float("nan"), cycle, {"a": {3: Thing()}}, deep, "\ud800", "x" * (3 << 20), None, 7]
    for value in values:
        verdict = session.before("tool", {"value": value})
        assert verdict.name == "pass", verdict
        session.after(verdict, "ok", value if isinstance(value, str) else "")
    # Two equal calls look equal, although each object has an address of its own.
    names = []
    for _ in range(4):
        verdict = session.before("tool", {"thing": Thing()})
        names.append(verdict.name)
        if not verdict.denied:
            session.after(verdict, "failed", "broken")
    assert names[-1] == "deny"


def test_a_killed_process_is_an_unchecked_call_and_the_next_call_has_a_new_one(session):
    fail(session, 3)
    child = session._connection._child
    child.kill()
    child.wait()
    assert fail(session, 1)[0].name == "deny"
    child = session._connection._child
    os.kill(child.pid, signal.SIGSTOP)  # It neither answers nor ends.
    threading.Timer(0.2, child.kill).start()
    with pytest.warns(RuntimeWarning, match="did not check"):
        verdict = session.before("read", {"path": "a"})
    assert verdict.name == "pass" and "haltline doctor" in verdict.unguarded
    assert session.before("read", {"path": "b"}).unguarded is None


def test_with_fail_closed_an_unchecked_call_is_denied(project):
    session = Session("closed", fail="closed")
    child = session._connection._child
    os.kill(child.pid, signal.SIGSTOP)
    threading.Timer(0.2, child.kill).start()
    assert session.before("read", {"path": "a"}).code == "HL-OWN-04"


def test_without_the_program_the_error_says_what_to_do(project, monkeypatch):
    monkeypatch.setenv("HALTLINE_PROGRAM", "/no/such/haltline")
    with pytest.raises(HaltlineError, match="HALTLINE_PROGRAM"):
        Session("nobody")


def test_a_mistake_of_the_caller_is_an_exception(session):
    with pytest.raises(HaltlineError, match="usage|expected"):
        session.after("call", "broken")
    with pytest.raises(HaltlineError):
        session.command("reset", "--all")
    assert session.command("status")["schema"] == 1
    assert session.check("no-force-push").name == "pass"


def test_a_store_in_memory_writes_no_file(project):
    session = Session("memory", memory=True)
    assert fail(session, 4)[3].name == "deny"
    assert not (project.parent / "state").exists()


def test_the_end_of_a_session_is_reported(project):
    with Session("whole") as session:
        fail(session, 1)
    assert isinstance(session.before("bash", {"command": "ls"}), Verdict)


def test_the_client_passes_the_conformance_script(project):
    program = "import sys\nfrom haltline._connection import Connection\nconnection = Connection(None, True)\n"
    program += "for line in sys.stdin.buffer:\n    sys.stdout.buffer.write(connection.forward(line) + b'\\n')\n"
    program += "    sys.stdout.buffer.flush()\n"
    script = [sys.executable, str(EXAMPLES / "conformance.py"), sys.executable, "-c", program]
    output = subprocess.run(script, capture_output=True, text=True, timeout=120)
    assert output.returncode == 0, output.stdout + output.stderr


def test_the_command_line_is_a_module(project):
    output = subprocess.run([sys.executable, "-m", "haltline", "--version"], capture_output=True, text=True, timeout=60)
    assert output.stdout.startswith("haltline "), output.stderr
    assert os.access(find_program(), os.X_OK)
    json.loads(subprocess.run([find_program(), "status", "--json"], capture_output=True, timeout=60).stdout)


def test_the_example_runs_as_it_says(project):
    script = EXAMPLES.parent / "python/by_hand.py"
    output = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    expected = ["failed"] * 3 + ["denied (HL-FAIL-01)", "the agent's turn ends (HL-FAIL-01)"]
    assert output.stdout.splitlines() == [f"turn {turn}: {text}" for turn, text in enumerate(expected, start=1)]


def test_the_guide_shows_code_that_compiles_and_names_that_exist():
    guide = (EXAMPLES.parents[1] / "docs/guides/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    assert len(blocks) >= 8
    for block in blocks:
        compile(block, "docs/guides/python.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for module, name in re.findall(r"from (haltline[.\w]*) import (\w+)", guide):
        path = EXAMPLES.parents[1] / "packages/python/src" / module.replace(".", "/")
        source = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
        assert re.search(rf"\b{name}\b", source.read_text()), f"{module} has no {name}"


def test_a_program_with_many_open_files_is_guarded(project):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2048, limits[1]), limits[1]))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        session = Session("many", memory=True)
        assert session._connection._child.stdin.fileno() > 1024
        assert fail(session, 4)[3].name == "deny"
    finally:
        for file in opened:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
