#!/usr/bin/env bash
# Ralph's circuit breaker, kept by haltline: takes the place of lib/circuit_breaker.sh.
# Ralph's files, its CB_ variables and RALPH_DIR stay what they are.

RALPH_DIR="${RALPH_DIR:-.ralph}"
CB_STATE_CLOSED="CLOSED"
CB_STATE_HALF_OPEN="HALF_OPEN"
CB_STATE_OPEN="OPEN"
CB_STATE_FILE="$RALPH_DIR/.circuit_breaker_state"
CB_HISTORY_FILE="$RALPH_DIR/.circuit_breaker_history"

command -v haltline >/dev/null || echo "haltline is not installed: nothing stops a loop that goes nowhere" >&2

# Ralph keeps its settings in shell variables; haltline finds them in its environment.
_haltline_ralph() {
    (
        export RALPH_DIR CB_NO_PROGRESS_THRESHOLD CB_SAME_ERROR_THRESHOLD CB_PERMISSION_DENIAL_THRESHOLD
        export CB_COOLDOWN_MINUTES CB_AUTO_RESET CB_OUTPUT_DECLINE_THRESHOLD
        haltline ralph "$@"
    )
}

init_circuit_breaker() {
    _haltline_ralph init || true
}

get_circuit_state() {
    local state
    state=$(_haltline_ralph status | sed -n 's/^State: *//p')
    echo "${state:-$CB_STATE_CLOSED}"
}

can_execute() {
    ! _haltline_ralph halt >/dev/null
}

# Arguments: loop number, files changed, whether there were errors, length of the output.
record_loop_result() {
    local code=0
    _haltline_ralph record "$1" "${2:-0}" "${3:-false}" "${4:-0}" || code=$?
    # Only 1 means that the circuit is open.
    [[ $code -ne 1 ]]
}

show_circuit_status() {
    _haltline_ralph status
}

reset_circuit_breaker() {
    _haltline_ralph reset "${1:-Manual reset}"
}

# Returns 0 when the loop must halt.
should_halt_execution() {
    _haltline_ralph halt
}

export -f _haltline_ralph init_circuit_breaker get_circuit_state can_execute record_loop_result
export -f show_circuit_status reset_circuit_breaker should_halt_execution
