//! haltline's own faults with a real Claude Code (E7): the client goes on to its normal end, and the person is told once.

use haltline_agents::Client;
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::script::{Script, Step, shell};

fn place(config: &str) -> Place {
    Place::with_haltline(Client::Claude, env!("CARGO_BIN_EXE_client-run"), env!("CARGO_BIN_EXE_haltline-now"), config)
}

/// Calls one after the other, and two in one message: each is several events.
fn work() -> Script {
    let both = vec![shell("echo three"), shell("echo four")];
    Script::new("work", vec![Step::Call(shell("echo one")), Step::Call(shell("false")), Step::Calls(both)])
}

/// The work after a command that breaks something, typed inside the same namespaces.
fn broken_by(place: &Place, command: &str) -> Outcome {
    let script = work();
    let stages = [Stage::Command(command.to_owned()), Stage::Clients(vec![Session::of(&script)])];
    let outcome = place.run(&[script], &stages);
    assert_eq!(outcome.commands[0].exit, Some(0), "{}", outcome.commands[0].output);
    outcome
}

/// The client did all its work, and said this once and nothing else of haltline.
fn assert_told_once(outcome: &Outcome, words: &str) {
    let session = outcome.session();
    assert_eq!((outcome.requests("work").len(), session.terminal_reason()), (4, "completed"));
    for exchange in &outcome.exchanges {
        assert_eq!(exchange.told(), Vec::<String>::new(), "the model is not troubled");
    }
    let shown = session.shown();
    assert_eq!(shown.len(), 1, "{shown:#?}");
    assert!(shown[0].contains(words), "{shown:#?}");
}

#[test]
fn a_file_where_the_store_should_be_is_in_nobodys_way() {
    let place = place("");
    place.write("state", "not a folder\n");
    let outcome = broken_by(&place, "true");
    assert_told_once(&outcome, "the agent goes on unwatched");
}

#[test]
fn a_store_on_a_read_only_file_system_is_in_nobodys_way() {
    let place = place("");
    let state = place.state();
    let outcome = broken_by(&place, &format!("mkdir {0} && mount -t tmpfs -o ro none {0}", state.display()));
    assert_told_once(&outcome, "the agent goes on unwatched");
}

#[test]
fn a_full_disk_is_in_nobodys_way() {
    let place = place("");
    let state = place.state();
    let fill = "mkdir STATE && mount -t tmpfs -o size=64k none STATE && { cat /dev/zero > STATE/filler || true; }";
    let outcome = broken_by(&place, &fill.replace("STATE", &state.display().to_string()));
    assert_told_once(&outcome, "the agent goes on unwatched");
}

#[test]
fn a_disk_that_fills_up_later_is_in_nobodys_way_and_what_was_counted_stays() {
    let place = place("");
    let state = place.state().display().to_string();
    let script = work();
    let again = Script::new("again", work().steps);
    let mount = "mkdir STATE && mount -t tmpfs -o size=4m none STATE".replace("STATE", &state);
    let fill = "cat /dev/zero > STATE/filler || true".replace("STATE", &state);
    let verify = format!("rm {state}/filler; HALTLINE_STATE_DIR={state} haltline journal verify");
    let stages = [
        Stage::Command(mount),
        Stage::Clients(vec![Session::of(&script)]),
        Stage::Command(fill),
        Stage::Clients(vec![Session::of(&again).with(&["--continue"])]),
        Stage::Command(verify),
    ];
    let outcome = place.run(&[script, again], &stages);
    assert_eq!(outcome.sessions[0].shown(), Vec::<&str>::new());
    let shown = outcome.sessions[1].shown();
    assert_eq!((outcome.requests("again").len(), shown.len()), (4, 1), "{shown:#?}");
    assert_eq!(outcome.sessions[1].terminal_reason(), "completed");
    let verified = &outcome.commands[2];
    assert_eq!(verified.exit, Some(0), "{}", verified.output);
}

#[test]
fn a_configuration_that_is_no_toml_is_left_out_and_told_of() {
    let place = place("mode = = observe\n");
    let outcome = broken_by(&place, "true");
    assert_told_once(&outcome, "config.toml");
}

#[test]
fn a_hook_that_is_killed_is_in_nobodys_way_and_leaves_a_sound_journal() {
    let place = place("");
    std::fs::rename(place.haltline(), place.root().join("programs/haltline-itself")).expect("renamed");
    // Killed while it works, now before its commit, now after it; nobody hears its answer.
    place.write(
        "programs/haltline",
        "#!/bin/sh\nitself=$(dirname \"$0\")/haltline-itself\ncase $1 in hook) ;; *) exec \"$itself\" \"$@\" ;; esac\n\
        cat > \"$TMPDIR/event.$$\"\n\"$itself\" \"$@\" < \"$TMPDIR/event.$$\" > /dev/null &\nsleep 0.0$(($$ % 3))\nkill -9 $!\nkill -9 $$\n",
    );
    let script = work();
    let verify = format!("HALTLINE_STATE_DIR={} haltline journal verify", place.state().display());
    let stages = [Stage::Clients(vec![Session::of(&script)]), Stage::Command(verify)];
    let outcome = place.run(&[script], &stages);
    let session = outcome.session();
    assert_eq!((outcome.requests("work").len(), session.terminal_reason()), (4, "completed"));
    let said = session.notices();
    assert_eq!(said, ["A hook gave no usable answer, so it didn't check this action."], "by the client itself");
    assert_eq!(outcome.commands[0].exit, Some(0), "{}", outcome.commands[0].output);
}
