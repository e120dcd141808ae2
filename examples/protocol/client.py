"""Guards one tool of an agent with `haltline serve --stdio`. Usage: client.py [HALTLINE]"""

import itertools
import json
import subprocess
import sys


class Haltline:
    def __init__(self, program):
        command = [program, "serve", "--stdio", "--memory"]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ids = itertools.count(1)

    def ask(self, method, **fields):
        request = {"v": 1, "id": next(self.ids), "method": method, **fields}
        self.child.stdin.write(json.dumps(request).encode() + b"\n")
        self.child.stdin.flush()
        response = json.loads(self.child.stdout.readline())
        if "error" in response:
            raise RuntimeError(response["error"]["message"])
        return response


def run_tests():
    return 2, "2 tests failed: login expects 200, got 500"


haltline = Haltline(sys.argv[1] if len(sys.argv) > 1 else "haltline")
haltline.ask("open", session="example")
for attempt in range(1, 10):
    call = {"tool": "bash", "input": {"command": "make test"}}
    verdict = haltline.ask("before", session="example", **call)
    if verdict["verdict"] in ("deny", "stop"):
        print(f"attempt {attempt}: {verdict['verdict']} {verdict['code']}")
        break
    status, output = run_tests()
    outcome = "ok" if status == 0 else "failed"
    haltline.ask("after", session="example", call=verdict["call"], outcome=outcome, exit=status, output=output)
    print(f"attempt {attempt}: {outcome}")
haltline.ask("end", session="example")
