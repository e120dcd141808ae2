#!/bin/bash
# What one would write without haltline: no lock, no journal, no window. Event on stdin, state in ./breaker.json.
set -euo pipefail
state=breaker.json
event=$(cat)
[[ -s $state ]] || echo '{}' >"$state"
case $1 in
    check)
        jq -e --argjson event "$event" '.[$event.constraint].state != "OPEN"' "$state" >/dev/null || exit 77
        ;;
    record)
        jq --argjson event "$event" --argjson threshold 10000 '.[$event.constraint] |= (
            .violations += [$event | {timestamp: .ts, action, session}]
            | .state = if (.violations | length) >= $threshold then "OPEN" else "CLOSED" end)' "$state" >"$state.tmp"
        mv "$state.tmp" "$state"
        ;;
esac
