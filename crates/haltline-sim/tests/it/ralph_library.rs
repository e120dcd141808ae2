//! The shell library that replaces Ralph's own, run by bash as Ralph runs it, with a clock that the test sets.
//!
//! Each scenario is a short script; `at INSTANT` sets the clock, `state` and `field NAME` read the state file as other
//! programs do.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/ralph/circuit_breaker.sh");

/// The start of every scenario.
const PRELUDE: &str = r#"
set -u
source "$LIBRARY"
at() { export HALTLINE_AT="$1"; }
field() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" .ralph/.circuit_breaker_state; }
state() { field state; }
# What Ralph found in the output of loop $1; $2 is the rest of the object.
found() { echo "{\"loop_number\": $1, \"analysis\": {$2}}" > .ralph/.response_analysis; }
# The agent's output of one loop.
output() { mkdir -p .ralph/logs; printf '%s\n' "$2" > ".ralph/logs/claude_output_$1.log"; }
fail() { echo "line ${BASH_LINENO[1]}: $*" >&2; exit 1; }
is() { [[ "$1" == "$2" ]] || fail "$1, not $2"; }
# Ralph's functions answer by their exit code.
yes() { "$@" || fail "$* says no"; }
no() { ! "$@" || fail "$* says yes"; }
# The history: where each change led, and why the last one came.
changes() { sed -n 's/^ *"to_state": "\([A-Z_]*\)".*/\1/p' .ralph/.circuit_breaker_history | xargs; }
last_reason() { sed -n 's/^ *"reason": "\(.*\)"$/\1/p' .ralph/.circuit_breaker_history | tail -1; }
at 2026-03-01T10:00:00Z
"#;

struct Folder {
    folder: TempDir,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temp folder");
        for below in ["project/.git", "bin"] {
            fs::create_dir_all(folder.path().join(below)).expect("created");
        }
        symlink(env!("CARGO_BIN_EXE_haltline-at"), folder.path().join("bin/haltline")).expect("linked");
        Self { folder }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Runs a scenario and returns its output, both streams.
    fn play(&self, variables: &[(&str, &str)], script: &str) -> String {
        let home = self.folder.path();
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("setsid")
            .args(["--wait", "bash", "-c", &format!("exec 2>&1\n{PRELUDE}\n{script}")])
            .current_dir(self.project())
            .env_clear()
            .env("PATH", format!("{}:{path}", home.join("bin").display()))
            .env("HOME", home)
            .env("USER", "ana")
            .env("LIBRARY", Path::new(LIBRARY))
            .env("HALTLINE_STATE_DIR", home.join("state"))
            .env("HALTLINE_CONFIG", home.join("config.toml"))
            .envs(variables.iter().copied())
            .output()
            .expect("setsid of util-linux and bash are there");
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{out}");
        out
    }
}

/// Plays a scenario in a new folder.
fn play(script: &str) -> String {
    Folder::new().play(&[], script)
}

#[test]
fn a_loop_that_works_stays_closed() {
    play(
        "init_circuit_breaker
        is \"$(get_circuit_state)\" CLOSED
        for loop in 1 2 3 4 5 6; do yes record_loop_result $loop 2 false 5000; done
        is \"$(state)\" CLOSED; is \"$(field last_progress_loop)\" 6; is \"$(field current_loop)\" 6
        yes can_execute
        no should_halt_execution
        is \"$(cat .ralph/.circuit_breaker_history)\" '[]'",
    );
}

#[test]
fn two_loops_without_progress_are_half_open_and_the_third_trips() {
    let out = play(
        "init_circuit_breaker
        yes record_loop_result 1 0 false 100; is \"$(state)\" CLOSED
        yes record_loop_result 2 0 false 100; is \"$(state)\" HALF_OPEN
        yes can_execute
        no record_loop_result 3 0 false 100; is \"$(state)\" OPEN
        is \"$(field total_opens)\" 1; is \"$(field opened_at)\" 2026-03-01T10:00:00Z
        no can_execute
        yes should_halt_execution
        no record_loop_result 4 9 false 100; is \"$(state)\" OPEN
        show_circuit_status",
    );
    for line in [
        "CIRCUIT BREAKER: Monitoring mode: 2 loops without progress",
        "CIRCUIT BREAKER OPENED: No progress detected in 3 consecutive loops",
        "EXECUTION HALTED: the circuit breaker is open.",
        "State:                 OPEN",
        "Cooldown:              30 min left, until 2026-03-01T10:30:00Z",
    ] {
        assert!(out.lines().any(|seen| seen == line), "{line:?} is not in\n{out}");
    }
}

#[test]
fn progress_closes_a_half_open_circuit() {
    play(
        "for loop in 1 2; do yes record_loop_result $loop 0 false 100; done
        is \"$(state)\" HALF_OPEN
        yes record_loop_result 3 1 false 100
        is \"$(state)\" CLOSED; is \"$(field consecutive_no_progress)\" 0; is \"$(field last_progress_loop)\" 3
        is \"$(changes)\" 'HALF_OPEN CLOSED'",
    );
}

#[test]
fn reported_progress_counts_in_its_own_loop_only() {
    play(
        "for loop in 1 2 3 4; do found $loop '\"exit_signal\": true'; yes record_loop_result $loop 0 false 9; done
        found 5 '\"has_completion_signal\": true'; yes record_loop_result 5 0 false 9
        found 6 '\"files_modified\": 3'; yes record_loop_result 6 0 false 9
        is \"$(field last_progress_loop)\" 6
        # A run that crashed leaves its analysis behind.
        yes record_loop_result 7 0 false 9
        yes record_loop_result 8 0 false 9
        no record_loop_result 9 0 false 9
        is \"$(field last_progress_loop)\" 6; is \"$(state)\" OPEN",
    );
}

#[test]
fn the_same_error_five_times_trips_although_files_change() {
    let out = play(
        "for loop in 1 2 3 4; do
            output $loop \"10:0$loop:07 compiling
Error: cannot bind to port 8080 after ${loop}.25s\"
            yes record_loop_result $loop 3 true 900
        done
        is \"$(field consecutive_same_error)\" 4; is \"$(state)\" CLOSED
        output 5 'Error: cannot bind to port 8080 after 9.75s'
        no record_loop_result 5 3 true 900
        is \"$(state)\" OPEN",
    );
    assert!(out.contains("OPENED: Same error repeated in 5 consecutive loops"), "{out}");
}

#[test]
fn different_errors_do_not_trip_and_a_loop_without_one_resets_the_count() {
    play(
        "loop=0
        for file in parser lexer printer reader writer linker loader binder; do
            loop=$((loop + 1)); output $loop \"Error: cannot compile $file\"
            yes record_loop_result $loop 3 true 900
            is \"$(field consecutive_same_error)\" 1
        done
        output 9 'Error: cannot compile binder'; yes record_loop_result 9 3 true 900
        is \"$(field consecutive_same_error)\" 2
        yes record_loop_result 10 3 false 900
        is \"$(field consecutive_same_error)\" 0; is \"$(state)\" CLOSED",
    );
}

#[test]
fn a_half_open_circuit_trips_on_errors_too() {
    play(
        "CB_NO_PROGRESS_THRESHOLD=100
        for loop in 1 2; do output $loop 'Fatal: no space left'; yes record_loop_result $loop 0 true 9; done
        is \"$(state)\" HALF_OPEN
        for loop in 3 4; do output $loop 'Fatal: no space left'; yes record_loop_result $loop 0 true 9; done
        output 5 'Fatal: no space left'; no record_loop_result 5 0 true 9",
    );
}

#[test]
fn denied_permissions_trip_at_the_second_loop_in_any_case() {
    let out = play(
        "found 1 '\"has_permission_denials\": true'; yes record_loop_result 1 4 false 9
        found 2 '\"has_permission_denials\": false'; yes record_loop_result 2 4 false 9
        is \"$(field consecutive_permission_denials)\" 0
        found 3 '\"has_permission_denials\": true'; yes record_loop_result 3 4 false 9
        found 4 '\"has_permission_denials\": true'; no record_loop_result 4 4 false 9
        is \"$(state)\" OPEN",
    );
    assert!(out.contains("OPENED: Permission denied in 2 consecutive loops"), "{out}");
}

#[test]
fn a_loop_that_asks_a_question_neither_counts_nor_resets() {
    play(
        "yes record_loop_result 1 0 false 9
        for loop in 2 3 4 5 6 7 8 9 10 11 12 13; do
            found $loop '\"asking_questions\": true'; yes record_loop_result $loop 0 false 9
        done
        is \"$(field consecutive_no_progress)\" 1; is \"$(state)\" CLOSED
        yes record_loop_result 14 0 false 9; is \"$(state)\" HALF_OPEN
        found 15 '\"asking_questions\": true'; yes record_loop_result 15 2 false 9
        is \"$(state)\" CLOSED",
    );
}

#[test]
fn after_the_cooldown_it_is_half_open_and_keeps_its_counts() {
    let out = play(
        "for loop in 1 2; do yes record_loop_result $loop 0 false 9; done
        no record_loop_result 3 0 false 9
        at 2026-03-01T10:29:59Z; init_circuit_breaker; is \"$(state)\" OPEN
        at 2026-03-01T10:30:00Z; init_circuit_breaker; is \"$(state)\" HALF_OPEN
        is \"$(field consecutive_no_progress)\" 3; yes can_execute
        no record_loop_result 4 0 false 9; is \"$(state)\" OPEN; is \"$(field total_opens)\" 2
        at 2026-03-01T11:30:00Z; init_circuit_breaker
        yes record_loop_result 5 1 false 9; is \"$(state)\" CLOSED
        is \"$(changes)\" 'HALF_OPEN OPEN HALF_OPEN OPEN HALF_OPEN CLOSED'",
    );
    assert!(out.contains("CIRCUIT BREAKER: Monitoring mode: the cooldown is over"), "{out}");
}

#[test]
fn a_cooldown_of_nothing_is_over_at_once_and_a_later_setting_changes_no_running_one() {
    play(
        "CB_COOLDOWN_MINUTES=0
        for loop in 1 2; do yes record_loop_result $loop 0 false 9; done
        no record_loop_result 3 0 false 9; is \"$(state)\" OPEN
        init_circuit_breaker; is \"$(state)\" HALF_OPEN
        CB_COOLDOWN_MINUTES=60; no record_loop_result 4 0 false 9
        CB_COOLDOWN_MINUTES=0; at 2026-03-01T10:59:00Z; init_circuit_breaker; is \"$(state)\" OPEN
        at 2026-03-01T11:00:00Z; init_circuit_breaker; is \"$(state)\" HALF_OPEN",
    );
}

#[test]
fn auto_reset_closes_at_the_start_and_remembers_the_trips() {
    let out = play(
        "for loop in 1 2; do yes record_loop_result $loop 0 false 9; done
        no record_loop_result 3 0 false 9
        CB_AUTO_RESET=true
        no can_execute
        init_circuit_breaker; is \"$(state)\" CLOSED; yes can_execute
        is \"$(field total_opens)\" 1; is \"$(field consecutive_no_progress)\" 0
        is \"$(field reason)\" 'Auto-reset on startup'
        is \"$(last_reason)\" 'Auto-reset on startup'
        for loop in 4 5; do yes record_loop_result $loop 0 false 9; done
        no record_loop_result 6 0 false 9
        at 2026-03-01T12:00:00Z; init_circuit_breaker; is \"$(state)\" CLOSED; is \"$(field total_opens)\" 2",
    );
    assert!(out.contains("auto-reset on startup (CB_AUTO_RESET=true)"), "{out}");
}

#[test]
fn inside_an_agent_neither_reset_nor_auto_reset_closes_anything() {
    let folder = Folder::new();
    folder.play(&[], "for loop in 1 2 3; do record_loop_result $loop 0 false 9; done; is \"$(state)\" OPEN");
    let out = folder.play(
        &[("CLAUDECODE", "1"), ("CB_AUTO_RESET", "true")],
        "init_circuit_breaker; is \"$(state)\" OPEN
        reset_circuit_breaker please; is $? 77; is \"$(state)\" OPEN; yes should_halt_execution >/dev/null",
    );
    assert!(
        out.contains("CB_AUTO_RESET is for people, and haltline denies it inside an agent (CLAUDECODE is set)"),
        "{out}"
    );
    assert!(out.contains("denied: `haltline ralph reset` is for people"), "{out}");
    folder.play(&[], "reset_circuit_breaker 'a person looked'; is \"$(state)\" CLOSED");
}

#[test]
fn a_trip_in_the_future_stays_open_until_its_own_cooldown_is_over() {
    play(
        "mkdir -p .ralph
        echo '{\"state\": \"OPEN\", \"opened_at\": \"2026-03-01T14:00:00+00:00\", \"total_opens\": 1}' \
            > .ralph/.circuit_breaker_state
        init_circuit_breaker; is \"$(state)\" OPEN; no can_execute
        show_circuit_status | grep -q 'the clock is behind the time of the trip' || fail 'not said'
        at 2026-03-01T14:29:00Z; init_circuit_breaker; is \"$(state)\" OPEN
        at 2026-03-01T14:30:00Z; init_circuit_breaker; is \"$(state)\" HALF_OPEN",
    );
}

#[test]
fn a_damaged_file_is_kept_and_an_open_circuit_stays_open() {
    let out = play(
        "for loop in 1 2; do yes record_loop_result $loop 0 false 9; done
        no record_loop_result 3 0 false 9
        echo '{\"state\": \"CLO' > .ralph/.circuit_breaker_state
        echo 'no list' > .ralph/.circuit_breaker_history
        init_circuit_breaker; is \"$(state)\" OPEN; no can_execute
        is \"$(cat .ralph/.circuit_breaker_state.corrupt-*)\" '{\"state\": \"CLO'
        is \"$(changes)\" 'HALF_OPEN OPEN'
        rm -r .ralph; init_circuit_breaker; is \"$(state)\" OPEN; is \"$(field total_opens)\" 1",
    );
    assert!(
        out.contains("haltline kept it as")
            && out.contains("it was missing; haltline wrote it again from the store: OPEN"),
        "{out}"
    );
}

#[test]
fn old_files_are_imported_and_completed() {
    let out = play(
        "mkdir -p .ralph
        cat > .ralph/.circuit_breaker_state <<'EOF'
{
    \"state\": \"OPEN\",
    \"last_change\": \"2026-03-01T09:20:00+00:00\",
    \"consecutive_no_progress\": \"5\",
    \"consecutive_same_error\": 0,
    \"last_progress_loop\": \" 2 \",
    \"total_opens\": 4,
    \"reason\": \"No progress detected in 5 consecutive loops\"
}
EOF
        echo '[{\"timestamp\":\"2026-03-01T09:20:00+00:00\",\"loop\":7,\"from_state\":\"CLOSED\",\"to_state\":\"OPEN\",\"reason\":\"old\"}]' \
            > .ralph/.circuit_breaker_history
        init_circuit_breaker
        is \"$(state)\" HALF_OPEN; is \"$(field consecutive_no_progress)\" 5; is \"$(field total_opens)\" 4
        is \"$(field last_progress_loop)\" 2; is \"$(field consecutive_permission_denials)\" 0
        grep -q '\"reason\": \"old\"' .ralph/.circuit_breaker_history || fail 'its history is gone'
        no record_loop_result 8 0 false 9; is \"$(field total_opens)\" 5",
    );
    assert!(out.contains("found it and imported it: OPEN"), "{out}");
}

#[test]
fn a_reset_forgets_everything_and_says_why() {
    let out = play(
        "for loop in 1 2; do output $loop 'Error: x'; yes record_loop_result $loop 0 true 9; done
        no record_loop_result 3 0 true 9
        reset_circuit_breaker 'the prompt was wrong'
        is \"$(state)\" CLOSED; is \"$(field reason)\" 'the prompt was wrong'
        for name in consecutive_no_progress consecutive_same_error consecutive_permission_denials total_opens \
            last_progress_loop; do is \"$(field $name)\" 0; done
        show_circuit_status
        yes record_loop_result 4 0 true 9
        reset_circuit_breaker; is \"$(field reason)\" 'Manual reset'
        haltline journal show --limit 1",
    );
    assert!(out.contains("Circuit breaker reset to CLOSED") && out.contains("By:      ana (uid "), "{out}");
    assert!(out.contains("Reason:                the prompt was wrong"), "{out}");
    assert!(out.contains("phase/ralph/.ralph") && out.contains("Manual reset"), "{out}");
}

#[test]
fn without_haltline_the_library_says_so_and_the_loop_goes_on() {
    let folder = Folder::new();
    let out = folder.play(
        &[("PATH", "/usr/bin:/bin")],
        "init_circuit_breaker; yes record_loop_result 1 0 false 9; no should_halt_execution; yes can_execute
        is \"$(get_circuit_state 2>/dev/null)\" CLOSED",
    );
    assert!(out.contains("haltline is not installed"), "{out}");
}
