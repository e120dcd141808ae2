"""What one would write without haltline, in Python: counts calls per session and tool, denies at a threshold.

No lock, no journal, no answers compared. The event is on stdin, the state in ./hook-state.
"""

import json
import os
import sys

THRESHOLD = 10_000

event = json.load(sys.stdin)
os.makedirs("hook-state", exist_ok=True)
path = os.path.join("hook-state", event["session_id"] + ".json")
try:
    with open(path) as file:
        counts = json.load(file)
except FileNotFoundError:
    counts = {}
tool = event["tool_name"]
if event["hook_event_name"] == "PreToolUse":
    if counts.get(tool, 0) >= THRESHOLD:
        reason = f"{tool} was called {counts[tool]} times"
        answer = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
        print(json.dumps({"hookSpecificOutput": answer}))
else:
    counts[tool] = counts.get(tool, 0) + 1
    with open(path + ".tmp", "w") as file:
        json.dump(counts, file)
    os.replace(path + ".tmp", path)
