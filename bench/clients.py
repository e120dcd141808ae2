"""Counts the instructions of hooks before and after a shell command, in the payloads of every client. See README.md."""

import argparse
import json
import pathlib
import re
import statistics
import subprocess

CALLS_BEFORE = 10
ROUNDS = 3
LARGE_BYTES = 3_000_000

# The recorded payloads of one shell command, and where its transcript is, for clients whose hooks read one.
CLIENTS = [
    ("claude", "PreToolUse.Bash", "PostToolUse.Bash"),
    ("codex", "PreToolUse.Bash", "PostToolUse.Bash"),
    ("gemini", "BeforeTool.run_shell_command", "AfterTool.run_shell_command"),
    ("opencode", "tool.execute.before.bash", "tool.execute.after.bash"),
    ("copilot", "PreToolUse.Bash", "PostToolUse.Bash"),
    ("qwen", "PreToolUse.run_shell_command", "PostToolUse.run_shell_command"),
    ("cline", "PreToolUse.run_commands", "PostToolUse.run_commands"),
    ("cursor", "preToolUse.Shell", "postToolUse.Shell"),
]

options = argparse.ArgumentParser(prog="bench/clients")
for name in ["bin", "payloads", "work"]:
    options.add_argument(f"--{name}", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
chosen = options.parse_args()
haltline, parser = chosen.bin / "haltline", chosen.bin / "baseline-json"


def recorded(client, name):
    (version,) = (chosen.payloads / client).iterdir()
    return json.loads((version / f"{name}.json").read_text())


def changed(value, key, call, place):
    """The payload of another call: other command, other name, other moment, in this place."""
    if isinstance(value, dict):
        return {key: changed(part, key, call, place) for key, part in value.items()}
    if isinstance(value, list):
        return [changed(part, key, call, place) for part in value]
    if key in ("cwd", "folder", "workspaceRoots", "workspace_roots", "rootPath"):
        return str(place / "project")
    if key == "transcript_path" and value:
        return str(place / "transcript.jsonl")
    if key in ("command", "commands", "query"):
        return f"cargo test --workspace --test part_{call} 2>&1 | tail -n 20"
    if key in ("tool_use_id", "call", "message", "id"):
        return f"{value}-{call}"
    if key == "timestamp":
        return f"2026-02-01T10:{call // 60:02}:{call % 60:02}.000Z"
    return value


def told(client, name, call, place):
    return changed(recorded(client, name), None, call, place)


def written(client, payload, is_end):
    """What the client itself writes down around the call, and the hook reads."""
    call, usage = payload.get("tool_use_id"), {"input_tokens": 9_000, "cached_input_tokens": 8_000, "output_tokens": 90}
    if client == "codex":
        item = {"type": "CommandExecution", "id": call, "status": "completed", "exit_code": 0}
        begun = [
            {"type": "response_item", "payload": {"type": "function_call", "call_id": call, "arguments": "{}"}},
            {"type": "token_usage_record", "payload": {"response_id": f"of-{call}", "usage": usage}},
        ]
        ended = [
            {"type": "event_msg", "payload": {"type": "item_completed", "item": item}},
            {"type": "response_item", "payload": {"type": "function_call_output", "call_id": call, "output": "ok"}},
        ]
        return ended if is_end else begun
    if client == "gemini" and not is_end:
        tokens = {"input": 9_000, "output": 90, "cached": 8_000, "thoughts": 0, "tool": 0, "total": 9_090}
        name = payload["tool_input"]["command"]
        return [{"id": name.replace(" ", "-"), "type": "gemini", "content": "", "tokens": tokens, "model": "m"}]
    if client == "qwen" and not is_end:
        tokens = {"promptTokenCount": 9_000, "candidatesTokenCount": 90, "cachedContentTokenCount": 8_000}
        return [{"uuid": call, "type": "assistant", "model": "m", "message": {"parts": []}, "usageMetadata": tokens}]
    return []


def command(client, place):
    return [haltline, "hook", client, "--state", place / "state", "--config", place / "config.toml"]


def tell(words, payload, place):
    """Runs a hook; what it printed, and its instructions where it ran below valgrind."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(place), "XDG_RUNTIME_DIR": str(place)}
    done = subprocess.run(words, input=json.dumps(payload).encode(), cwd=place, env=environment, capture_output=True, check=True)
    counted = re.search(rb"Collected : (\d+)", done.stderr)
    return done.stdout, int(counted[1]) if counted else None


def count(words, payload, place):
    return tell(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *words], payload, place)[1]


def play(client, names, call, place, run):
    """One call, event by event."""
    results = []
    for is_end, name in enumerate(names):
        payload = told(client, name, call, place)
        with (place / "transcript.jsonl").open("a") as transcript:
            transcript.writelines(json.dumps(line) + "\n" for line in written(client, payload, bool(is_end)))
        results.append(run(command(client, place), payload, place))
    return results


def made(name):
    place = chosen.work / name
    (place / "project" / ".git").mkdir(parents=True)
    (place / "config.toml").touch()
    return place


def counts(client, *names):
    """Median instructions of each event of a call in a session of ten."""
    rounds = []
    for number in range(ROUNDS):
        place = made(f"{client}-{number}")
        for call in range(CALLS_BEFORE):
            for out, _ in play(client, names, call, place, tell):
                # Cursor waits for a word; nobody else is told anything of a call that passes.
                if out.strip() not in (b"", b"{}"):
                    raise SystemExit(f"bench/clients: {client} was told {out.decode()}")
        rounds.append(play(client, names, CALLS_BEFORE, place, count))
    return [int(statistics.median(each)) for each in zip(*rounds)]


rows = {client: counts(client, *names) for client, *names in CLIENTS}
unit = rows["claude"]
print("| client | before a call | × Claude Code | after it | × Claude Code |")
print("|---|---:|---:|---:|---:|")
for client, (before, after) in rows.items():
    print(f"| {client} | {before:,} | {before / unit[0]:.2f} | {after:,} | {after / unit[1]:.2f} |")

print("\n| an event of 3 MB | parsed | haltline | × |")
print("|---|---:|---:|---:|")
line = "test cart::total ... ok\n"
for name, field in [("AfterTool.run_shell_command", "llmContent"), ("BeforeModel", "messages")]:
    place = made(name)
    payload = told("gemini", name, CALLS_BEFORE, place)
    text = line * (LARGE_BYTES // len(line))
    if field == "messages":
        turns = [{"role": "user", "content": text[at : at + 30_000]} for at in range(0, len(text), 30_000)]
        payload["llm_request"]["messages"] = turns
    else:
        payload["tool_response"]["llmContent"] = text
    tell(command("gemini", place), told("gemini", "SessionStart", 0, place), place)
    parsed, asked = count([parser], payload, place), count(command("gemini", place), payload, place)
    print(f"| gemini {name.split('.')[0]} | {parsed:,} | {asked:,} | {asked / parsed:.2f} |")
