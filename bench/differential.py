"""Feeds the same inputs to two builds of haltline and compares what they print, return and store, byte for byte.

A case is a list of commands that run in a fresh folder under a fixed clock. Both builds run every case in the same
folder, one build after the other, so every path in the output is the same. After the commands of a case, the journal
and the rows of the store are compared as well.

Intended differences are lines of `differential.expected`, separated by tabs: a group or `*`, a regular expression, what it
is replaced by on both sides before they are compared (`''` is nothing), and the reason.
"""

import argparse
import base64
import concurrent.futures
import datetime
import gzip
import json
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
HOOK_CALLS_MAX = 60
DIFFERENCES_SHOWN_MAX = 10


# --- cases ----------------------------------------------------------------------------------------------------------

class Case:
    """Commands that run in order in one project."""

    def __init__(self, group, name, project="git"):
        self.group = group
        self.name = name
        self.files = {}
        self.steps = []
        self.at = START
        self.project = project

    def later(self, **units):
        self.at += datetime.timedelta(**units)

    def run(self, *arguments, stdin="", program="haltline-at", shell=None):
        self.steps.append({"program": program, "arguments": list(arguments), "stdin": stdin,
                           "at": instant(self.at), "shell": shell})


def instant(at):
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"


def parse_instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


SPAN = re.compile(r"(\d+)(ms|d|h|m|s)")
UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def span(text):
    """`29d23h` as keyword arguments of a time delta, or None."""
    found = SPAN.findall(text)
    if not found or "".join(number + unit for number, unit in found) != text:
        return None
    return {UNITS[unit]: int(number) for number, unit in found}


# --- rules as text, as far as they are events or commands ------------------------------------------------------------

def paragraphs(path):
    """(title, lines) of each paragraph of a rule file."""
    for block in re.split(r"\n\s*\n", path.read_text()):
        lines = [line for line in block.splitlines() if line and not line.startswith(">")]
        if lines and lines[0].startswith("# "):
            yield lines[0][2:], lines[1:]


def expanded(line):
    """The events of a line without its outcomes: `5 times after 6m EVENT -> …` is five waits and events."""
    event = line.split(" -> ")[0].strip()
    if event.startswith("then "):
        return
    many = re.match(r"(\d+) times (.*)$", event)
    count, event = (int(many[1]), many[2]) if many else (1, event)
    for number in range(1, min(count, 60) + 1):
        yield event.replace("{n}", str(number))


def words_of(event):
    try:
        return [word.replace("\\n", "\n") for word in shlex.split(event, posix=True)]
    except ValueError:
        return event.split()


def take_time(case, words):
    """Moves the clock of the case by leading `at …` and `after …`; the words that are left."""
    while len(words) >= 2 and words[0] in ("at", "after"):
        if words[0] == "at":
            try:
                case.at = parse_instant(words[1])
            except ValueError:
                return words
        else:
            delta = span(words[1])
            if delta is None:
                return words
            case.later(**delta)
        words = words[2:]
    return words


TOOLS = {"run": ("Bash", "command"), "read": ("Read", "file_path"), "search": ("Grep", "pattern"),
         "spawn": ("Task", "prompt")}


class LoopParagraph:
    """A paragraph of the loop rules as plain events."""

    def __init__(self, case):
        self.case = case
        self.session, self.agent, self.client, self.message = "s1", None, "claude-code", None
        self.number = 0
        self.started = {}

    def event(self, kind, **fields):
        event = {"v": 1, "type": kind, "ts": instant(self.case.at), "session": self.session, "client": self.client}
        if self.agent:
            event["agent"] = self.agent
        event.update({key: value for key, value in fields.items() if value is not None})
        self.case.run("event", stdin=json.dumps(event) + "\n")

    def call(self, words):
        """(tool, input, words behind the call), or None."""
        if words[0] in TOOLS and len(words) > 1:
            tool, field = TOOLS[words[0]]
            return tool, {field: words[1]}, words[2:]
        if words[0] == "edit" and len(words) > 2:
            return "Edit", {"file_path": words[1], "old_string": "old", "new_string": words[2]}, words[3:]
        if words[0] == "use" and len(words) > 2:
            return words[1], {"argument": words[2]}, words[3:]
        return None

    def result(self, words):
        fields = {"outcome": "ok", "output": "done"}
        if words:
            fields = {"outcome": words[0].replace("-", "_"), "output": ""}
        rest = words[1:]
        while rest:
            if rest[0] == "exit" and len(rest) > 1:
                fields["exit"], rest = int(rest[1]), rest[2:]
            elif rest[0] == "cost" and len(rest) > 1:
                fields["cost_usd"], rest = float(rest[1].lstrip("$")), rest[2:]
            elif rest[0] == "by-hook":
                fields["by"], rest = "hook", rest[1:]
            elif rest[0] == "sub-agent":
                rest = rest[2:]
            elif rest[0] == "running":
                rest = rest[1:]
            else:
                fields["output"], rest = rest[0], rest[1:]
        return fields

    def line(self, words):
        word = words[0]
        if word == "session":
            self.session = words[1]
        elif word == "agent":
            self.agent = None if words[1] == "main" else words[1]
        elif word == "client":
            self.client = "claude-code" if words[1] == "marks-batches" else words[1]
        elif word == "message":
            self.message = words[1]
        elif word in ("prompt", "notice"):
            text = "go on\nSUDO PARALLEL\n" if "bypass" in words else "go on"
            self.event("prompt", source="user" if word == "prompt" else "system", text=text)
        elif word == "hook":
            self.event("hook", name=words[1])
        elif word == "stop":
            self.event("stop", blocked="blocked" in words)
        elif word == "sub-agent" and "begins" in words:
            self.event("spawn_start", child=words[1], depth=int(words[4]) if len(words) > 4 else None)
        elif word == "sub-agent" and "ends" in words:
            self.event("spawn_end", child=words[1] if words[1] != "ends" else "a1")
        elif word == "spent":
            usage = {"input": int(words[2]), "output": 0, "cache_read": 0, "cache_write": 0} if "tokens" in words else None
            cost = float(words[words.index("cost") + 1].lstrip("$")) if "cost" in words else None
            self.number += 1
            self.event("message", message=f"spent-{self.number}", usage=usage, cost_usd=cost)
        elif word in ("speaks", "says") and len(words) > 1:
            self.number += 1
            self.event("message", message=f"said-{self.number}", text=words[1])
        elif word == "compaction":
            self.event("compaction", trigger="auto")
        elif word == "begins":
            self.event("session_start")
        elif word == "ends":
            self.event("session_end", reason="other")
        elif word == "start" and len(words) > 2 and (call := self.call(words[2:])):
            self.event("tool_start", call=words[1], message=self.message, tool=call[0], input=call[1])
        elif word == "end" and len(words) > 1:
            rest = words[2:]
            if rest[:1] == ["as"]:
                return
            self.event("tool_end", call=words[1], **self.result(rest))
        elif word == "reset":
            self.case.run("reset", *(["--all"] if "all" in words else []), "--reason", "checked")
        elif word == "resume":
            self.case.run("resume", *(["--hint", words[1]] if len(words) > 1 else []))
        elif word == "false-positive":
            self.case.run("false-positive", "--reason", "healthy")
        elif call := self.call(words):
            tool, arguments, rest = call
            self.number += 1
            name = f"call-{self.number}"
            self.event("tool_start", call=name, message=self.message or f"m-{self.number}", tool=tool, input=arguments)
            self.event("tool_end", call=name, **self.result(rest[1:] if rest[:1] == ["gives"] else []))


def constraint_line(case, words, state):
    name = state.setdefault("id", "git-safety-force-push")
    word = words[0]
    if word == "constraint":
        state["id"] = words[1]
        constraint_file(case, words[1], {})
    elif word == "file":
        pairs = dict(zip(words[1::2], words[2::2]))
        constraint_file(case, name, pairs)
        case.run(shell=f"cat > docs/constraints/{name}.md", stdin=case.files[f"docs/constraints/{name}.md"])
    elif word == "no" and words[1:2] == ["file"]:
        case.run(shell=f"rm -f docs/constraints/{name}.md")
    elif word == "violation":
        case.run("constraint", "record", name, "--action", (words[1:] or ["x"])[0])
    elif word == "pass":
        extra = ["--generation", words[2]] if words[1:2] == ["generation"] else []
        case.run("constraint", "pass", name, *extra)
    elif word == "check":
        case.run("constraint", "check", name)
        case.run("constraint", "check", name, "--json")
    elif word == "enforce":
        case.run("constraint", "enforce", name, "--action", (words[2:] or ["x"])[0], f"--{words[1]}")
    elif word == "reset":
        case.run("constraint", "reset", name, "--reason", (words[1:] or ["fixed"])[0])
    elif word == "retire":
        case.run("constraint", "retire", name)
    elif word == "override":
        case.run("constraint", "override", name, *(["--for", words[1]] if len(words) > 1 else []), "--reason", "once")
    elif word == "revoke":
        case.run("constraint", "override", name, "--revoke")
    elif word == "trust":
        case.run("trust", "--reason", "agreed")


def constraint_file(case, name, pairs):
    keys = {"threshold": "violation_threshold", "window": "violation_window_days", "cooldown": "cooldown_hours",
            "dedup": "dedup_seconds"}
    lines = ["---", f"id: {name}", "status: active", "circuit_breaker:", "  enabled: true"]
    for key, value in pairs.items():
        if key in keys:
            lines.append(f"  {keys[key]}: {re.sub('[a-z]', '', value) or 1}")
    case.files[f"docs/constraints/{name}.md"] = "\n".join(lines + ["---", "", f"# {name}", ""])


def phase_line(case, words, state):
    word = words[0]
    if word == "begin" and len(words) > 1:
        extra = ["--new-run", "--reason", "again"] if "new" in words else []
        case.run("phase", "begin", words[1], *extra)
    elif word in ("ask", "start"):
        case.run("phase", "check")
    elif word == "report":
        arguments, rest = [], words[1:]
        while rest:
            if "=" in rest[0] and not rest[0].startswith("m1.."):
                arguments, rest = arguments + ["--metric", rest[0]], rest[1:]
            elif rest[0] == "phase" and len(rest) > 1:
                arguments, rest = arguments + ["--phase", rest[1]], rest[2:]
            elif rest[0] == "error" and len(rest) > 2:
                arguments, rest = arguments + ["--error-type", rest[1], "--error-message", rest[2]], rest[3:]
            elif rest[0] == "neutral" and len(rest) > 1:
                arguments, rest = arguments + ["--neutral", rest[1]], rest[2:]
            else:
                rest = rest[1:]
        case.run("phase", "report", *arguments)
        case.run(shell="cat .prp-session/circuit-breaker.json")
    elif word == "decide" and len(words) > 1:
        extra = ["--guidance", (words[2:] or ["mock it"])[0]] if words[1] == "modify" else []
        case.run("phase", "decide", words[1], *extra, "--reason", "looked at it")


def attempt_line(case, words, state):
    name = state.setdefault("slice", "S-1")
    word = words[0]
    if word == "slice":
        state["slice"] = words[1]
    elif word == "begin":
        arguments, rest = [], words[1:]
        if rest[:1] in (["in-scope"], ["files-in-scope"]):
            paths = []
            for path in rest[1:]:
                if path in ("checkpoint", "by-person", "graph"):
                    break
                paths.append(path)
            arguments = ["--in-scope"] + [path for path in paths if path != "nothing"]
        if "by-person" in rest:
            arguments += ["--reason", "agreed"]
        case.run("attempt", "begin", "--slice", name, *arguments)
    elif word == "ask":
        extra = ["--test", words[1]] if len(words) > 1 else []
        extra += ["--strategy", words[2]] if len(words) > 2 else []
        case.run("attempt", "check", "--slice", name, *extra)
    elif word == "run" and len(words) > 2:
        result = {"fails": "fail", "passes": "pass"}.get(words[2], "infra")
        strategy = words[3] if len(words) > 3 and words[3] not in ATTEMPT_WORDS else f"try {len(case.steps)}"
        printed = words[words.index("printed") + 1] if "printed" in words else "assertion failed"
        for path in (words[place + 1] for place, found in enumerate(words[:-1]) if found == "changed"):
            if re.fullmatch(r"[\w./-]+", path):
                case.run(shell=f"mkdir -p $(dirname {path}) && echo {len(case.steps)} > {path}")
        case.run("attempt", "record", "--slice", name, "--test", words[1], "--result", result, "--strategy", strategy,
                 "--error-file", "-", stdin=printed)
    elif word == "touch" and len(words) > 1:
        if "justified" in words:
            place = words.index("justified")
            form = words[place + 1:place + 4] + ["x"] * 3
            text = f"File: {words[1]}\nFailing test: {form[0]}\nReason: {form[1]}\nRelationship: {form[2]}\n"
            case.run("attempt", "scope", "--slice", name, words[1], "--justify", "-", stdin=text)
        elif "unjustifiable" in words:
            case.run("attempt", "scope", "--slice", name, words[1], "--unjustifiable")
        else:
            case.run("attempt", "scope", "--slice", name, words[1])
    elif word == "deviate" and len(words) > 2:
        extra = ["--path", words[4]] if words[3:4] == ["in"] else []
        case.run("attempt", "deviate", "--slice", name, "--rule", words[1], "--description", words[2], *extra)
    elif word == "report":
        case.run("attempt", "report", "--slice", name)
    elif word == "reset":
        case.run("attempt", "reset", "--slice", name, "--guidance", (words[1:] or ["other way"])[0], "--keep-tree")
    elif word == "hand-out":
        case.run("attempt", "prior", "--slice", name)
    elif word == "end":
        case.run("attempt", "end", "--slice", name, *(["--give-up", "--reason", "split"] if "by-person" in words else []))
    if word in ("run", "touch", "reset"):
        case.run("attempt", "status", "--slice", name, "--json")


ATTEMPT_WORDS = {"changed", "more", "summary", "printed", "secret", "by-hand", "checkpoint", "generation"}
CLAIM_FLAGS = {"type": "--type", "evidence": "--evidence", "assuming": "--assumption", "confidence": "--confidence",
               "on": "--depends-on", "objection": "--objection", "id": "--objection-id", "same-as": "--same-as", "by": "--reviewer",
               "answer": "--answer", "named": "--round", "generation": "--generation", "new-evidence": "--new-evidence",
               "test-run": "--test-run", "text": "--claim-text", "status": "--status", "because": "--reason", "to": "--to"}


def claim_line(case, words, state):
    case.later(minutes=1)
    pipeline = ["--pipeline", state.get("pipeline", "main")]
    words = [re.sub(r"\{(\d+) bytes\}", lambda found: "a" * int(found[1]), word) for word in words]
    if any("{" in word for word in words):
        return
    word, rest = words[0], words[1:]
    if word == "pipeline" and rest:
        state["pipeline"] = rest[0]
    elif word == "add" and rest:
        name = [rest[0]] if len(rest) > 1 and re.match(r"[A-Z]-?\d", rest[0]) else []
        rest = rest[len(name):]
        case.run("claim", "add", *name, "--text", *rest[:1], *claim_flags(rest[1:]), *pipeline)
    elif word in ("round", "edit") and rest:
        case.run("claim", word, rest[0], *claim_flags(rest[1:]), *pipeline)
    elif word == "promote" and rest:
        to = ["--to", rest[2]] if rest[1:2] == ["to"] and len(rest) > 2 else []
        reason = rest[3:4] if to else rest[1:2]
        case.run("claim", "promote", rest[0], *to, *(["--reason", *reason] if reason else []), *pipeline)
    elif word == "kill" and rest:
        case.run("claim", "kill", rest[0], "--reason", (rest[1:] or ["gone"])[0], *pipeline)
    elif word == "new-data" and len(rest) > 1:
        case.run("claim", "resolve", "new-data", rest[0], "--evidence", rest[1], *pipeline)
    elif word == "drop" and len(rest) > 1:
        case.run("claim", "resolve", "drop", rest[0], "--rationale", rest[1], *pipeline)
    elif word == "override" and len(rest) > 2:
        case.run("claim", "resolve", "override", rest[0], "--status", rest[1], "--rationale", rest[2], *pipeline)
    elif word == "reexamine" and rest:
        flags, rest_of = [], rest[1:]
        if rest_of[:1] == ["by"] and len(rest_of) > 1:
            flags, rest_of = ["--trigger", rest_of[1]], rest_of[2:]
            if rest_of and rest_of[0] not in ("resolved", "unresolved"):
                flags, rest_of = flags + ["--detail", rest_of[0]], rest_of[1:]
        if rest_of:
            flags += ["--outcome", rest_of[0]] + (["--reason", rest_of[1]] if len(rest_of) > 1 else [])
        case.run("claim", "reexamine", rest[0], *flags, *pipeline)
    elif word == "cycle" and rest:
        case.run("claim", "cycle", rest[0], *pipeline)
    elif word in ("advance-stage", "close-stage") and rest:
        case.run("claim", word, rest[0], *pipeline)
    if word in ("round", "override", "reexamine", "close-stage"):
        case.run("claim", "ledger", "--json", *pipeline)


def claim_flags(words):
    flags = []
    while len(words) > 1:
        if words[0] not in CLAIM_FLAGS:
            words = words[1:]
            continue
        flags += [CLAIM_FLAGS[words[0]], words[1]]
        words = words[2:]
    return flags


LINES = {"constraint": constraint_line, "phase": phase_line, "attempt": attempt_line, "claim": claim_line}


def rule_cases(root):
    data = root / "crates/haltline-core/testdata"
    for breaker in ("loop", *LINES):
        for path in sorted((data / breaker).glob("*.txt")):
            if path.name == "README.txt":
                continue
            for number, (title, lines) in enumerate(paragraphs(path), 1):
                case = Case(f"rules-{breaker}", f"{path.stem}/{number} {title}")
                reader = LoopParagraph(case)
                state = {}
                if breaker == "constraint":
                    constraint_file(case, "git-safety-force-push", {})
                for line in lines:
                    for event in expanded(line):
                        words = take_time(case, words_of(event))
                        if not words:
                            continue
                        try:
                            if breaker == "loop":
                                reader.line(words)
                            else:
                                LINES[breaker](case, words, state)
                        except (ValueError, IndexError):
                            # What cannot be said as an event or a command is left to the rules' own tests.
                            continue
                if case.steps:
                    yield finished(case)


def finished(case):
    """The case with the commands that read what it left behind."""
    case.run("status")
    case.run("status", "--json")
    case.run("why", "--json")
    return case


# --- golden payloads, corpus, recorded sessions, documentation -------------------------------------------------------

def payload_cases(root):
    data = root / "crates/haltline-agents/testdata"
    for version in sorted(path for path in data.glob("*/*") if path.is_dir()):
        client = version.parent.name
        payloads = sorted(version.glob("*.json"))
        if client in ("runners", "runner_cases", "transcripts") or not payloads:
            continue
        everything = Case("payloads", f"{client} {version.name}, all payloads in turn, three times")
        for _ in range(3):
            for path in payloads:
                everything.later(seconds=2)
                everything.run("hook", client, stdin=path.read_text())
        yield finished(everything)
        streamed = Case("payloads", f"{client} {version.name}, one stream")
        lines = [json.dumps(json.loads(path.read_text())) for path in payloads if is_json(path)]
        streamed.run("hook", client, "--stream", stdin="\n".join(lines) + "\n")
        yield finished(streamed)
        for path in payloads:
            case = Case("payloads", f"{client} {version.name} {path.name}, seven times")
            for _ in range(7):
                case.later(seconds=2)
                case.run("hook", client, stdin=path.read_text())
            yield finished(case)


def is_json(path):
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True


def corpus_cases(root, histories):
    folder = root / "bench/corpus"
    with tempfile.TemporaryDirectory() as scratch:
        labels = pathlib.Path(scratch) / "labels"
        run = subprocess.run([histories, folder, "--labels", labels], capture_output=True, text=True, check=True)
    sessions = {}
    for line in run.stdout.splitlines():
        sessions.setdefault(json.loads(line)["session"], []).append(line)
    for session, lines in sessions.items():
        text = "\n".join(lines) + "\n"
        case = Case("corpus", session)
        case.files["events.jsonl"] = text
        case.run("event", "--recorded", stdin=text)
        for preset in ("default", "literal"):
            case.run("backtest", "--json", "--preset", preset, "events.jsonl", program="haltline")
        case.run("backtest", "events.jsonl", program="haltline")
        yield finished(case)


def session_cases(folder):
    """Recorded sessions: each is replayed, plain events are also taken in, and Claude Code's also go through hooks."""
    for path in sorted(path for path in folder.rglob("*") if path.name.endswith((".jsonl", ".jsonl.gz", ".json"))):
        if path.name in ("calls.json", "labels.json"):
            continue
        case = Case("sessions", str(path.relative_to(folder)))
        for preset in ("default", "literal"):
            case.run("backtest", "--json", "--preset", preset, str(path), program="haltline")
        yield finished(case)
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", errors="replace") as lines:
            lines = lines.read().splitlines()
        if not lines:
            continue
        try:
            first = json.loads(lines[0])
        except ValueError:
            continue
        if first.get("v") == 1:
            chunk = 2000
            for start in range(0, len(lines), chunk):
                case = Case("sessions", f"{path.relative_to(folder)}, plain events from {start}")
                case.run("event", "--recorded", stdin="\n".join(lines[start:start + chunk]) + "\n")
                yield finished(case)
        elif any('"tool_use"' in line for line in lines):
            yield hooks_of_claude(path.relative_to(folder), lines)


def hooks_of_claude(name, lines):
    case = Case("sessions", f"{name}, as hooks")
    uses, count = {}, 0
    for line in lines:
        try:
            record = json.loads(line)
            message = record.get("message") or {}
            content = message.get("content")
        except (ValueError, AttributeError):
            continue
        if record.get("timestamp"):
            case.at = max(case.at, parse_instant(record["timestamp"]))
        common = {"session_id": record.get("sessionId", "s"), "cwd": "/nowhere", "permission_mode": "default",
                  "transcript_path": "/nowhere/transcript.jsonl"}
        if record.get("type") == "user" and isinstance(content, str):
            case.run("hook", "claude", stdin=json.dumps({**common, "hook_event_name": "UserPromptSubmit", "prompt": content}))
        for block in content if isinstance(content, list) else []:
            if not isinstance(block, dict) or count >= HOOK_CALLS_MAX:
                continue
            if block.get("type") == "tool_use":
                count += 1
                uses[block["id"]] = block
                call = {"tool_name": block["name"], "tool_input": block["input"], "tool_use_id": block["id"]}
                case.run("hook", "claude", stdin=json.dumps({**common, "hook_event_name": "PreToolUse", **call}))
            elif block.get("type") == "tool_result" and block.get("tool_use_id") in uses:
                use = uses.pop(block["tool_use_id"])
                call = {"tool_name": use["name"], "tool_input": use["input"], "tool_use_id": use["id"]}
                text = block.get("content")
                text = text if isinstance(text, str) else json.dumps(text)
                if block.get("is_error"):
                    event = {"hook_event_name": "PostToolUseFailure", "error": text, "is_interrupt": False}
                else:
                    event = {"hook_event_name": "PostToolUse",
                             "tool_response": {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}}
                case.run("hook", "claude", stdin=json.dumps({**common, **event, **call}))
    return finished(case)


def page_cases(root):
    """The console blocks of the documentation."""
    for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        case = Case("pages", str(path.relative_to(root)), project="folder")
        case.at = parse_instant("2026-02-01T10:00:00Z")
        lines = iter(path.read_text().splitlines())
        for line in lines:
            if found := re.match(r"<!-- at (\S+) -->", line.strip()):
                case.at = parse_instant(found[1])
            if not line.startswith("```"):
                continue
            block = []
            for inner in lines:
                if inner.startswith("```"):
                    break
                block.append(inner)
            if title := re.search(r'title="([^"]+)"', line):
                name = title[1]
                folder = str(pathlib.PurePosixPath(name).parent)
                case.run(shell=f"mkdir -p {shlex.quote(folder)} && cat > {shlex.quote(name)}", stdin="\n".join(block) + "\n")
            if line.strip() == "```console":
                for command in block:
                    if command.startswith("$ "):
                        case.run(shell=command[2:])
        if case.steps:
            yield finished(case)


# --- running --------------------------------------------------------------------------------------------------------

TIMES = [
    # What depends on how fast the machine is, and ids of processes.
    (re.compile(rb"\b\d+(\.\d+)? ?(ms|\xc2\xb5s|s)\b(?= *(;|:|\n|$|,|\)|\x22))"), b"TIME"),
    (re.compile(rb'"(duration_ms|wall_ms|seconds|elapsed_ms|micros|latency_ms|took_ms)": ?[0-9.]+'), rb'"\1":0'),
    (re.compile(rb"\b(pid|process) \d+"), rb"\1 N"),
    (re.compile(rb"\b[0-9a-f]{40}\b"), b"COMMIT"),
]
# Where the commands of a case measure time, the digests of their facts differ from run to run too.
DIGESTS = [(re.compile(rb'("hash": ?"|"head": ?"|head )[0-9a-f]+'), rb"\1HASH")]


def run_case(case, folder, binaries):
    """Everything the case showed, as a list of (what, bytes)."""
    shutil.rmtree(folder, ignore_errors=True)
    project, state = folder / "project", folder / "state"
    project.mkdir(parents=True)
    for name in ("runtime", "temporary"):
        (folder / name).mkdir(mode=0o700)
    (folder / "config.toml").write_text("[operator]\nunattended = true\n")
    environment = {
        "PATH": f"{binaries}/at:{os.environ['PATH']}", "HOME": str(folder), "USER": "ana", "LC_ALL": "C.UTF-8", "TZ": "UTC",
        "XDG_RUNTIME_DIR": str(folder / "runtime"), "TMPDIR": str(folder / "temporary"),
        "HALTLINE_STATE_DIR": str(state), "HALTLINE_CONFIG": str(folder / "config.toml"),
        "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
    }
    if case.project == "git":
        subprocess.run(["git", "init", "--quiet", "--initial-branch", "main"], cwd=project, env=environment, check=True)
    else:
        (project / ".git").mkdir()
    for name, text in case.files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    seen, is_timed = [], case.group == "pages"
    for number, step in enumerate(case.steps):
        command = ["sh", "-c", step["shell"]] if step["shell"] else [f"{binaries}/{step['program']}", *step["arguments"]]
        shown = step["shell"] or f"{step['program']} {shlex.join(step['arguments'])}"
        try:
            run = subprocess.run(["setsid", "--wait", *command], cwd=project, env={**environment, "HALTLINE_AT": step["at"]},
                                 input=step["stdin"].encode("utf-8", "surrogatepass"), capture_output=True, timeout=120, check=False)
            code, out, err = run.returncode, run.stdout, run.stderr
        except subprocess.TimeoutExpired:
            code, out, err = "timeout", b"", b""
        for what, value in (("exit code", str(code).encode()), ("stdout", plain(out, is_timed)), ("stderr", plain(err, is_timed))):
            seen.append((f"step {number + 1}, {step['at']}: {shown[:300]}: {what}", value))
    export = subprocess.run(["setsid", "--wait", f"{binaries}/haltline-at", "journal", "export"], cwd=project,
                            env={**environment, "HALTLINE_AT": instant(case.at)}, capture_output=True, check=False)
    seen.append(("journal export", plain(export.stdout + export.stderr, is_timed)))
    seen.extend(rows(state, is_timed))
    shutil.rmtree(folder, ignore_errors=True)
    return seen


PAST = re.compile(r'"past":"([A-Za-z0-9_-]+)"')


def plain(text, is_timed=False):
    for pattern, replacement in TIMES + (DIGESTS if is_timed else []):
        text = pattern.sub(replacement, text)
    return text


def unpacked(match):
    """An agent's completed calls as versions before schema 3 stored them: see packed_calls.rs."""
    text = match[1]
    data, calls = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), []
    while data:
        call, data = [int.from_bytes(data[at:at + 8], "little") for at in (0, 8, 16, 24)], data[32:]
        for _ in range(2):
            length = next(index for index, byte in enumerate(data) if byte < 0x80) + 1
            call.append(sum((byte & 0x7f) << 7 * index for index, byte in enumerate(data[:length])))
            data = data[length:]
        calls.append(call)
    return '"past":' + json.dumps(calls, separators=(",", ":"))


def stored(value):
    return PAST.sub(unpacked, value) if isinstance(value, str) else value


def rows(state, is_timed):
    """Each table of each store, without digests of facts where those depend on how long a command took."""
    for path in sorted(state.glob("*.db")) + sorted(state.glob("*.sqlite")):
        connection = sqlite3.connect(path)
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        for table in tables:
            found = sorted(repr(tuple(stored(value) for value in row if not (is_timed and isinstance(value, bytes)))).encode()
                           for row in connection.execute(f'SELECT * FROM "{table}"'))
            yield f"table {table}", plain(b"\n".join(found), is_timed)
        connection.close()


def run_build(cases, source, work, jobs, label):
    """What each case showed with one build: the values, so that differences can be shown."""
    binaries = work / "bin"
    shutil.rmtree(binaries, ignore_errors=True)
    (binaries / "at").mkdir(parents=True)
    for name in ("haltline", "haltline-at"):
        shutil.copy(source / name, binaries / name)
    shutil.copy(source / "haltline-at", binaries / "at/haltline")
    seen = [None] * len(cases)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(run_case, case, work / f"case-{number:05}", binaries): number
                   for number, case in enumerate(cases)}
        for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
            seen[futures[future]] = future.result()
            if done % 500 == 0:
                print(f"{label}: {done} of {len(cases)} cases", file=sys.stderr, flush=True)
    return seen


# --- comparing ------------------------------------------------------------------------------------------------------

def expectations(path):
    """(group, pattern, replacement) of every intended difference: both sides are rewritten before they are compared."""
    found = []
    if path and path.exists():
        for line in path.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                group, pattern, replacement, _reason = (part.strip() for part in line.split("\t", 3))
                found.append((group, re.compile(pattern.encode()), replacement.encode().replace(b"''", b"")))
    return found


def first_difference(before, after):
    before, after = before.decode(errors="replace").splitlines(), after.decode(errors="replace").splitlines()
    for number, (left, right) in enumerate(zip(before, after), 1):
        if left != right:
            position = next((i for i, (a, b) in enumerate(zip(left, right)) if a != b), min(len(left), len(right)))
            cut = max(0, position - 60)
            return f"line {number}\n      before: …{left[cut:cut + 240]}\n      after:  …{right[cut:cut + 240]}"
    longer, name = (before, "before") if len(before) > len(after) else (after, "after")
    rest = longer[min(len(before), len(after)):]
    return f"{len(rest)} more lines {name}: {rest[0][:240] if rest else ''}"


def main():
    parser = argparse.ArgumentParser(prog="bench/differential")
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("sessions", type=pathlib.Path, nargs="?", help="a folder of recorded sessions")
    parser.add_argument("--only", action="append", help="only this group of cases; may be given several times")
    parser.add_argument("--expected", type=pathlib.Path, help="intended differences; bench/differential.expected without it")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--bench", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.before, options.after = options.before.resolve(), options.after.resolve()

    cases = [*rule_cases(options.root), *payload_cases(options.root),
             *corpus_cases(options.root, options.after / "bench-histories"), *page_cases(options.root)]
    if options.sessions:
        cases += session_cases(options.sessions.resolve())
    if options.only:
        cases = [case for case in cases if case.group in options.only]
    expected = expectations(options.expected or options.bench / "differential.expected")

    with tempfile.TemporaryDirectory(prefix="haltline-differential.") as folder:
        work = pathlib.Path(folder)
        before = run_build(cases, options.before, work, options.jobs, "before")
        after = run_build(cases, options.after, work, options.jobs, "after")

    comparisons, expected_count, different, groups = 0, 0, [], {}
    for case, left, right in zip(cases, before, after):
        count = groups.setdefault(case.group, [0, 0, 0])
        count[0] += 1
        if [what for what, _ in left] != [what for what, _ in right]:
            different.append((case, "the list of tables", b"", b""))
        for (what, old), (_, new) in zip(left, right):
            comparisons += 1
            count[1] += 1
            if old == new:
                continue
            for group, pattern, replacement in expected:
                if group in ("*", case.group):
                    old, new = pattern.sub(replacement, old), pattern.sub(replacement, new)
            if old == new:
                expected_count += 1
                continue
            count[2] += 1
            different.append((case, what, old, new))
    for group, (number, compared, differing) in groups.items():
        print(f"{group:18} {number:6} cases {compared:8} comparisons {differing:6} differences")
    for case, what, old, new in different[:DIFFERENCES_SHOWN_MAX]:
        print(f"\n{case.group}: {case.name}\n  {what}\n    {first_difference(old, new)}")
    print(f"\n{len(cases)} cases, {comparisons} comparisons, {expected_count} expected differences, {len(different)} differences")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
