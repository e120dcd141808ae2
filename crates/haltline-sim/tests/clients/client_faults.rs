//! haltline's own faults with a real Claude Code (E7): the client runs to its normal end, and the person gets one notice.

use haltline_agents::Client;
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::script::{Script, ScriptStep, shell};

fn sandbox(config: &str) -> Sandbox {
    Sandbox::with_haltline(Client::Claude, env!("CARGO_BIN_EXE_client-run"), env!("CARGO_BIN_EXE_haltline-now"), config)
}

/// Two single calls, then two in one message; each call is several events.
fn work() -> Script {
    let both = vec![shell("echo three"), shell("echo four")];
    Script::new(
        "work",
        vec![ScriptStep::Call(shell("echo one")), ScriptStep::Call(shell("false")), ScriptStep::Calls(both)],
    )
}

/// Runs the work after a command that breaks something inside the same namespaces.
fn broken_by(sandbox: &Sandbox, command: &str) -> Outcome {
    let script = work();
    let stages = [Stage::Command(command.to_owned()), Stage::Clients(vec![Session::from_script(&script)])];
    let outcome = sandbox.run(&[script], &stages);
    assert_eq!(outcome.commands[0].exit, Some(0), "{}", outcome.commands[0].output);
    outcome
}

/// Fails unless the client did all its work and showed exactly one notice of haltline, with this phrase.
fn assert_reported_once(outcome: &Outcome, phrase: &str) {
    let session = outcome.session();
    assert_eq!((outcome.requests("work").len(), session.terminal_reason()), (4, "completed"));
    for exchange in &outcome.exchanges {
        assert_eq!(exchange.haltline_texts(), Vec::<String>::new(), "the model gets no message");
    }
    let shown = session.haltline_notices();
    assert_eq!(shown.len(), 1, "{shown:#?}");
    assert!(shown[0].contains(phrase), "{shown:#?}");
}

#[test]
fn a_file_where_the_store_should_be_blocks_nothing() {
    let sandbox = sandbox("");
    sandbox.write("state", "not a folder\n");
    let outcome = broken_by(&sandbox, "true");
    assert_reported_once(&outcome, "the agent continues, and haltline did not check this call");
}

#[test]
fn a_store_on_a_read_only_file_system_blocks_nothing() {
    let sandbox = sandbox("");
    let state = sandbox.state();
    let outcome = broken_by(&sandbox, &format!("mkdir {0} && mount -t tmpfs -o ro none {0}", state.display()));
    assert_reported_once(&outcome, "the agent continues, and haltline did not check this call");
}

#[test]
fn a_full_disk_blocks_nothing() {
    let sandbox = sandbox("");
    let state = sandbox.state();
    let fill = "mkdir STATE && mount -t tmpfs -o size=64k none STATE && { cat /dev/zero > STATE/filler || true; }";
    let outcome = broken_by(&sandbox, &fill.replace("STATE", &state.display().to_string()));
    assert_reported_once(&outcome, "the agent continues, and haltline did not check this call");
}

#[test]
fn a_disk_that_fills_up_later_blocks_nothing_and_counts_stay() {
    let sandbox = sandbox("");
    let state = sandbox.state().display().to_string();
    let script = work();
    let again = Script::new("again", work().steps);
    let mount = "mkdir STATE && mount -t tmpfs -o size=4m none STATE".replace("STATE", &state);
    let fill = "cat /dev/zero > STATE/filler || true".replace("STATE", &state);
    let verify = format!("rm {state}/filler; HALTLINE_STATE_DIR={state} haltline journal verify");
    let stages = [
        Stage::Command(mount),
        Stage::Clients(vec![Session::from_script(&script)]),
        Stage::Command(fill),
        Stage::Clients(vec![Session::from_script(&again).with_arguments(&["--continue"])]),
        Stage::Command(verify),
    ];
    let outcome = sandbox.run(&[script, again], &stages);
    assert_eq!(outcome.sessions[0].haltline_notices(), Vec::<&str>::new());
    let shown = outcome.sessions[1].haltline_notices();
    assert_eq!((outcome.requests("again").len(), shown.len()), (4, 1), "{shown:#?}");
    assert_eq!(outcome.sessions[1].terminal_reason(), "completed");
    let verified = &outcome.commands[2];
    assert_eq!(verified.exit, Some(0), "{}", verified.output);
}

#[test]
fn an_invalid_configuration_is_ignored_and_reported() {
    let sandbox = sandbox("mode = = observe\n");
    let outcome = broken_by(&sandbox, "true");
    assert_reported_once(&outcome, "config.toml");
}

#[test]
fn a_killed_hook_blocks_nothing_and_leaves_a_sound_journal() {
    let sandbox = sandbox("");
    std::fs::rename(sandbox.haltline(), sandbox.root().join("programs/haltline-itself")).expect("renamed");
    // Kills the hook while it works, sometimes before its commit and sometimes after it; its output is lost.
    sandbox.write(
        "programs/haltline",
        "#!/bin/sh\nitself=$(dirname \"$0\")/haltline-itself\ncase $1 in hook) ;; *) exec \"$itself\" \"$@\" ;; esac\n\
        cat > \"$TMPDIR/event.$$\"\n\"$itself\" \"$@\" < \"$TMPDIR/event.$$\" > /dev/null &\nsleep 0.0$(($$ % 3))\nkill -9 $!\nkill -9 $$\n",
    );
    let script = work();
    let verify = format!("HALTLINE_STATE_DIR={} haltline journal verify", sandbox.state().display());
    let stages = [Stage::Clients(vec![Session::from_script(&script)]), Stage::Command(verify)];
    let outcome = sandbox.run(&[script], &stages);
    let session = outcome.session();
    assert_eq!((outcome.requests("work").len(), session.terminal_reason()), (4, "completed"));
    let notices = session.notices();
    assert_eq!(notices, ["A hook gave no usable answer, so it didn't check this action."], "by the client itself");
    assert_eq!(outcome.commands[0].exit, Some(0), "{}", outcome.commands[0].output);
}
