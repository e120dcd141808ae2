//! A command under supervision with real processes: its end, its output, its limits, signals (P8).

mod supervised;

use std::io::Read;
use std::process::Stdio;

use rustix::process::Signal;
use supervised::{Outcome, Place, signal};

#[path = "../src/bin/stand-in-agent/pattern.rs"]
mod pattern;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// How, by whom, and whether it had to be killed.
fn end(outcome: &Outcome) -> (&str, &str, bool) {
    let word = |name: &str| outcome.report[name].as_str().unwrap_or("-");
    (word("how"), word("cause"), outcome.report["killed_hard"].as_bool().expect("reported"))
}

#[test]
fn exit_codes_and_signals_pass() {
    for (script, code, how) in [
        ("exit 0", 0, "Exited(0)"),
        ("exit 3", 3, "Exited(3)"),
        ("exit 255", 255, "Exited(255)"),
        ("die TERM", 143, "Signalled(15)"),
        ("die KILL", 137, "Signalled(9)"),
    ] {
        let outcome = Place::new(script).run(&[]);
        assert_eq!((outcome.code, end(&outcome)), (Some(code), (how, "Own", false)), "{script}");
        assert_eq!(outcome.report["left_behind"], serde_json::json!([]), "{script}");
    }
}

#[test]
fn the_command_knows_its_run_and_has_a_group_of_its_own() {
    let place = Place::new("show HALTLINE_RUN\nshell test \"$(ps -o pgid= -p $PPID)\" -eq $PPID && echo leads");
    let outcome = place.run(&[]);
    assert_eq!(text(&outcome.out), format!("HALTLINE_RUN={}\nleads\n", place.run_id()), "{outcome:?}");
}

#[test]
fn a_command_that_cannot_start_is_named() {
    let place = Place::new("");
    place.script("no-program", "plain text\n");
    place.script("no-interpreter", "#!/nowhere/interpreter\n");
    let run = |command: &str| {
        let output = place.runner(&[], &[command]).output().expect("the runner starts");
        (output.status.code(), text(&output.stderr))
    };
    let path = |name: &str| place.path(name).to_string_lossy().into_owned();
    let told = run("no-such-program-anywhere");
    assert!(told.0 == Some(1) && told.1.contains("no-such-program-anywhere: no program of this name"), "{told:?}");
    assert!(run("./missing").1.contains("./missing: no such file"));
    assert!(run(&path("no-program")).1.contains("chmod +x"));
    assert!(run(&path("")).1.contains("may not be executed"));
    let allowed = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path("no-interpreter"), allowed).expect("allowed");
    assert!(run(&path("no-interpreter")).1.contains("interpreter that its first line names"));
}

#[test]
fn both_streams_arrive_byte_for_byte_through_a_slow_reader() {
    let (out_length, err_length) = (50 << 20, 3 << 20);
    let place = Place::new(&format!("print-error {err_length}\nprint {out_length}"));
    let mut runner = place.supervised(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut out = runner.stdout.take().expect("piped");
    let slow = std::thread::spawn(move || {
        let (mut place, mut piece) = (0_u64, [0; 1500]);
        loop {
            let length = out.read(&mut piece).expect("read");
            if length == 0 {
                return place;
            }
            assert!(piece[..length] == pattern::bytes(place, length), "another byte after {place}");
            place += length as u64;
            std::thread::yield_now();
        }
    });
    let mut err = runner.stderr.take().expect("piped");
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        err.read_to_end(&mut bytes).map(|_| bytes).expect("read")
    });
    let outcome = place.finish(runner);
    assert_eq!(slow.join().expect("the same bytes"), out_length);
    assert!(errors.join().expect("read") == pattern::bytes(0, err_length as usize));
    assert_eq!(outcome.code, Some(0));
    let kept = (64 << 10) + (1 << 20);
    for (stream, length) in [("out", out_length), ("err", err_length)] {
        let told = &outcome.report[stream];
        assert_eq!((told["first"].as_u64(), told["last"].as_u64()), (Some(64 << 10), Some(1 << 20)));
        assert_eq!((told["left_out"].as_u64(), &told["shown"]), (Some(length - kept), &"Whole".into()));
    }
    assert_eq!(outcome.report["heard"], serde_json::json!([out_length, err_length]));
}

#[test]
fn what_is_said_just_before_the_end_is_never_lost() {
    let place = Place::new("print 100000\ncomplain the last word\nmutter over\nexit 9");
    for _ in 0..20 {
        let outcome = place.run(&[]);
        assert_eq!((outcome.code, outcome.out.len(), outcome.err.as_str()), (Some(9), 100_004, "the last word\n"));
    }
}

#[test]
fn silence_ends_a_run_and_words_keep_it_going() {
    let outcome = Place::new("say x\nforever").run(&["--idle", "300"]);
    assert_eq!(end(&outcome), ("Signalled(15)", "Idle", false));
    let outcome = Place::new("repeat 40 talk\n[block talk]\ncomplain still here\nsleep 0.05").run(&["--idle", "1500"]);
    assert_eq!(end(&outcome), ("Exited(0)", "Own", false));
}

#[test]
fn a_command_that_stands_still_is_idle_and_can_still_save_its_work() {
    let place = Place::new("on TERM save\nstop\nforever\n[block save]\nfile saved yes\nexit 4");
    let outcome = place.run(&["--idle", "300"]);
    assert_eq!((outcome.code, end(&outcome)), (Some(4), ("Exited(4)", "Idle", false)));
    assert_eq!(place.wait_for("saved"), "yes");
}

#[test]
fn the_time_limit_leaves_time_to_save_the_work() {
    let place = Place::new("on TERM save\nforever\n[block save]\nsleep 0.2\nfile saved yes\nsay saved\nexit 0");
    let outcome = place.run(&["--wall", "400"]);
    assert_eq!((outcome.code, end(&outcome)), (Some(0), ("Exited(0)", "Wall", false)));
    assert_eq!((place.wait_for("saved").as_str(), text(&outcome.out).as_str()), ("yes", "saved\n"));
}

#[test]
fn a_child_of_the_command_has_the_same_grace() {
    let place = Place::new(
        "start worker\nwait-for ready\nforever\n[block worker]\non TERM save\nfile ready yes\nforever\n[block save]\nsleep 3\nfile saved yes\nexit 0",
    );
    let outcome = place.run(&["--wall", "1000"]);
    assert_eq!(end(&outcome), ("Signalled(15)", "Wall", false));
    assert_eq!(place.wait_for("saved"), "yes");
    place.assert_nothing_is_left();
}

#[test]
fn a_command_that_does_not_listen_is_killed_with_its_children() {
    let place = Place::new(
        "ignore TERM\nstart deaf\nwait-for ready\nforever\n[block deaf]\nignore TERM\nfile ready yes\nforever",
    );
    let outcome = place.run(&["--wall", "500", "--grace", "300"]);
    assert_eq!((outcome.code, end(&outcome)), (Some(137), ("Signalled(9)", "Wall", true)));
    place.assert_nothing_is_left();
}

#[test]
fn the_listener_ends_a_run_and_hears_it_out() {
    let place = Place::new("on TERM bye\nsay enough of it\nforever\n[block bye]\nsay and now the cost\nexit 6");
    let outcome = place.run(&["--end-on", "enough"]);
    assert_eq!((outcome.code, end(&outcome)), (Some(6), ("Exited(6)", "Asked", false)));
    assert_eq!(outcome.report["out"]["text"], "enough of it\nand now the cost\n");
}

#[test]
fn signals_that_end_are_passed_on_and_named() {
    for (sent, name, number) in
        [(Signal::INT, "INT", 2), (Signal::TERM, "TERM", 15), (Signal::HUP, "HUP", 1), (Signal::QUIT, "QUIT", 3)]
    {
        let place = Place::new(&format!("on {name} heard\nfile ready yes\nforever\n[block heard]\nsay {name}\nexit 8"));
        let runner = place.supervised(&[]).stdout(Stdio::piped()).spawn().expect("starts");
        place.wait_for("ready");
        signal(&runner, sent);
        let outcome = place.finish(runner);
        assert_eq!(end(&outcome), ("Exited(8)", format!("Signal({number})").as_str(), false));
        assert_eq!(text(&outcome.out), format!("{name}\n"));
    }
}

#[test]
fn a_second_interrupt_ends_the_grace() {
    let script = "ignore TERM\non INT heard\nfile ready yes\nforever\n[block heard]\nfile interrupted yes";
    let place = Place::new(script);
    let runner = place.supervised(&["--grace", "100000"]).spawn().expect("starts");
    place.wait_for("ready");
    signal(&runner, Signal::INT);
    place.wait_for("interrupted");
    signal(&runner, Signal::INT);
    let outcome = place.finish(runner);
    assert_eq!(end(&outcome), ("Signalled(9)", "Signal(2)", true));
}

#[test]
fn one_that_takes_an_interrupt_for_something_else_is_asked_again_before_it_is_killed() {
    let place = Place::new("ignore INT\non TERM save\nfile ready yes\nforever\n[block save]\nexit 5");
    let runner = place.supervised(&["--grace", "2000"]).spawn().expect("starts");
    place.wait_for("ready");
    signal(&runner, Signal::INT);
    assert_eq!(end(&place.finish(runner)), ("Exited(5)", "Signal(2)", false));
}

#[test]
fn other_signals_are_the_commands_own() {
    let place = Place::new("on USR1 heard\nfile ready yes\nwait-for heard\nexit 2\n[block heard]\nfile heard yes");
    let runner = place.supervised(&[]).spawn().expect("starts");
    place.wait_for("ready");
    signal(&runner, Signal::USR1);
    signal(&runner, Signal::WINCH);
    assert_eq!(end(&place.finish(runner)), ("Exited(2)", "Own", false));
}

#[test]
fn when_our_reader_goes_the_command_is_told_as_it_would_be_without_us() {
    let place = Place::new("print 100000000\nfile never reached");
    let mut runner = place.supervised(&[]).stdout(Stdio::piped()).spawn().expect("starts");
    let mut first = [0; 10];
    runner.stdout.take().expect("piped").read_exact(&mut first).expect("read");
    let outcome = place.finish(runner);
    assert_eq!((outcome.code, end(&outcome)), (Some(141), ("Signalled(13)", "Own", false)));
    assert_eq!(outcome.report["out"]["shown"], "ReaderGone");
    assert!(!place.path("never").exists());
}

#[test]
fn an_output_that_nobody_reads_stops_no_limit_and_is_not_idleness() {
    let place = Place::new("print 10000000");
    let mut runner = place.supervised(&["--wall", "1500", "--idle", "200", "--grace", "300"]);
    let mut runner = runner.stdout(Stdio::piped()).spawn().expect("starts");
    let unread = runner.stdout.take();
    let outcome = place.finish(runner);
    assert_eq!(end(&outcome), ("Signalled(15)", "Wall", false));
    assert_eq!(outcome.report["out"]["shown"], "GivenUp");
    drop(unread);
}

#[test]
fn a_full_disk_loses_the_copy_and_not_the_run() {
    let place = Place::new("print 200000\nsay end\nexit 0");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let runner = place.supervised(&[]).stdout(full).spawn().expect("starts");
    let outcome = place.finish(runner);
    assert_eq!((outcome.code, outcome.report["heard"][0].as_u64()), (Some(0), Some(200_004)));
    assert!(outcome.report["out"]["shown"].as_str().is_some_and(|shown| shown.starts_with("Failed(")), "{outcome:?}");
}
