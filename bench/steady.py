"""What a Claude Code call costs in the steady state: see README.md."""
import json, os, re, shutil, socket, sys, tempfile

WARM, TRACED, COUNTED = 60, 24, 4
WAYS = ("PreToolUse", "PostToolUse", "PostToolBatch")


class Session:
    def __init__(self, binary):
        self.folder = tempfile.mkdtemp(prefix="haltline-steady.", dir="/tmp")
        self.binary = os.path.join(self.folder, "haltline")
        shutil.copy(binary, self.binary)
        self.project = os.path.join(self.folder, "project")
        os.makedirs(os.path.join(self.project, ".git"))
        self.transcript = os.path.join(self.folder, "transcript.jsonl")
        open(os.path.join(self.folder, "config.toml"), "w").close()
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": self.folder}
        self.number = 0

    def line(self, kind, message, extra=""):
        record = {"type": kind, "sessionId": "steady", "uuid": f"{kind}-{self.number}", "cwd": self.project,
                  "timestamp": "2026-07-01T10:00:00.000Z", "message": message, **({"toolUseResult": extra} if extra else {})}
        with open(self.transcript, "a") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")

    def events(self):
        """The payloads of the next call; what the client writes meanwhile is in the transcript. 14.6 KB a call."""
        self.number += 1
        number = self.number
        call = f"toolu_{number:06}"
        tool, arguments = [
            ("Bash", {"command": f"cd shop && cargo test -p cart total_{number} 2>&1 | tail -n 20"}),
            ("Read", {"file_path": f"{self.project}/src/cart_{number}.rs"}),
            ("Grep", {"pattern": f"fn total_{number}", "path": f"{self.project}/src"}),
            ("Edit", {"file_path": f"{self.project}/src/cart.rs", "old_string": str(number), "new_string": "total"}),
        ][number % 4]
        text = "".join(f"test cart::total_{number}_{line} ... ok\n" for line in range(140))
        output = {"stdout": text, "stderr": "", "interrupted": False}
        common = {"session_id": "steady", "transcript_path": self.transcript, "cwd": self.project, "permission_mode": "default"}
        one = {"tool_name": tool, "tool_input": arguments, "tool_use_id": call}
        self.line("assistant", {"id": f"msg_{number}", "model": "claude-sonnet-4-5", "role": "assistant",
                                "content": [{"type": "text", "text": "I look. " * 250},
                                            {"type": "tool_use", "id": call, "name": tool, "input": arguments}],
                                "usage": {"input_tokens": 4, "cache_creation_input_tokens": 900,
                                          "cache_read_input_tokens": 20000, "output_tokens": 150}})
        yield {**common, "hook_event_name": "PreToolUse", **one}
        self.line("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}, output)
        yield {**common, "hook_event_name": "PostToolUse", **one, "tool_response": output, "duration_ms": 903}
        yield {**common, "hook_event_name": "PostToolBatch", "tool_calls": [{**one, "tool_response": output}]}

    def run(self, event, before=()):
        """Runs a hook as Claude Code does, which hands the event to it through a socket. Returns its resources, and what it
        and the program before it wrote to standard error."""
        own, hooks = socket.socketpair()
        line = [*before, self.binary, "hook", "claude", "--state", os.path.join(self.folder, "state"),
                "--config", os.path.join(self.folder, "config.toml")]
        names = [os.path.join(self.folder, name) for name in ("out", "err")]
        out, err = (os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC) for name in names)
        own.sendall(json.dumps(event).encode())
        own.shutdown(socket.SHUT_WR)
        os.chdir(self.project)
        # Without a fork, whose page faults would be counted too.
        process = os.posix_spawn(line[0], line, self.environment, file_actions=[
            (os.POSIX_SPAWN_DUP2, hooks.fileno(), 0), (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2)])
        _, status, used = os.wait4(process, 0)
        for file in (out, err):
            os.close(file)
        own.close(), hooks.close()
        out, err = (open(name).read() for name in names)
        if status or (out and self.number > 1):
            sys.exit(f"{event['hook_event_name']} {self.number}: {status} {out} {err}")
        return used, err


def mean(values):
    return sum(values) / max(len(values), 1)


def measure(binary):
    session = Session(binary)
    rows = {way: {"instructions": [], "calls": [], "faults": [], "syncs": [], "pages": []} for way in WAYS}
    detail = {}
    session.run({"session_id": "steady", "transcript_path": session.transcript, "cwd": session.project,
                 "hook_event_name": "SessionStart", "source": "startup", "model": "claude-sonnet-4-5"})
    for _ in range(WARM):
        for event in session.events():
            session.run(event)
    trace = os.path.join(session.folder, "trace")
    for _ in range(TRACED):
        for event in session.events():
            session.run(event, ("/usr/bin/strace", "-f", "-o", trace))
            names = [name for name in re.findall(r"^\d+ +(\w+)\(", open(trace).read(), re.M) if name not in ("execve", "exit_group")]
            row = rows[event["hook_event_name"]]
            row["calls"].append(len(names))
            row["syncs"].append(sum(name in ("fsync", "fdatasync") for name in names))
            row["pages"].append(sum(name == "pwrite64" for name in names))
            for name in names:
                detail[name] = detail.get(name, 0) + 1
    for _ in range(TRACED):
        for event in session.events():
            rows[event["hook_event_name"]]["faults"].append(session.run(event)[0].ru_minflt)
    if "--no-instructions" not in sys.argv:
        for _ in range(COUNTED):
            for event in session.events():
                _, report = session.run(event, ("/usr/bin/valgrind", "--tool=callgrind", "--trace-children=yes",
                                             "--callgrind-out-file=" + os.environ.get("OUT", "/dev/null")))
                rows[event["hook_event_name"]]["instructions"].append(int(re.search(r"Collected : (\d+)", report)[1]))
    if os.environ.get("KEEP"): print("kept", session.folder)
    else: shutil.rmtree(session.folder)
    return rows, detail


for binary in [os.path.realpath(argument) for argument in sys.argv[1:] if not argument.startswith("--")]:
    rows, detail = measure(binary)
    print(f"{binary}: {os.path.getsize(binary):,} bytes")
    print("| hook | instructions | system calls | of those pwrite | syncs | page faults |")
    print("|---|---:|---:|---:|---:|---:|")
    for way, row in rows.items():
        print(f"| {way} | {mean(row['instructions']):,.0f} | {mean(row['calls']):.0f} | {mean(row['pages']):.1f} |"
              f" {mean(row['syncs']):.2f} | {mean(row['faults']):.0f} |")
    if "--detail" in sys.argv:
        print(", ".join(f"{name} {count / TRACED / 3:.1f}" for name, count in sorted(detail.items(), key=lambda one: -one[1])))
