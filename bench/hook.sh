#!/bin/bash
# What one would write without haltline, in bash and jq: counts calls per session and tool, denies at a threshold.
# No lock, no journal, no answers compared. The event is on stdin, the state in ./hook-state.
set -euo pipefail
event=$(cat)
{ read -r name; read -r session; read -r tool; } < <(jq -r '.hook_event_name, .session_id, .tool_name' <<<"$event")
mkdir -p hook-state
state=hook-state/$session.json
[[ -s $state ]] || echo '{}' >"$state"
if [[ $name == PreToolUse ]]; then
    jq -c --arg tool "$tool" 'select((.[$tool] // 0) >= 10000) | {hookSpecificOutput: {hookEventName: "PreToolUse",
        permissionDecision: "deny", permissionDecisionReason: "\($tool) was called \(.[$tool]) times"}}' "$state"
else
    jq -c --arg tool "$tool" '.[$tool] += 1' "$state" >"$state.tmp"
    mv "$state.tmp" "$state"
fi
