//! A command under supervision with real processes: its end, its output, its limits, signals (P8).

use std::io::Read;
use std::process::Stdio;

use crate::supervised::{Outcome, Site, signal};
use rustix::process::Signal;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// How the run ended, what caused it, and whether the supervisor had to kill the command.
fn end(outcome: &Outcome) -> (&str, &str, bool) {
    let field = |name: &str| outcome.report[name].as_str().unwrap_or("-");
    (field("how"), field("cause"), outcome.report["killed_hard"].as_bool().expect("reported"))
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
        let outcome = Site::new(script).run(&[]);
        assert_eq!((outcome.code, end(&outcome)), (Some(code), (how, "Command", false)), "{script}");
        assert_eq!(outcome.report["left_behind"], serde_json::json!([]), "{script}");
    }
}

#[test]
fn the_command_gets_its_run_id_and_its_own_process_group() {
    let site = Site::new("show HALTLINE_RUN\nshell test \"$(ps -o pgid= -p $PPID)\" -eq $PPID && echo leads");
    let outcome = site.run(&[]);
    assert_eq!(text(&outcome.out), format!("HALTLINE_RUN={}\nleads\n", site.run_id()), "{outcome:?}");
}

#[test]
fn a_command_that_cannot_start_is_named() {
    let site = Site::new("");
    site.script("no-program", "plain text\n");
    site.script("no-interpreter", "#!/nowhere/interpreter\n");
    let run = |command: &str| {
        let output = site.runner(&[], &[command]).output().expect("the runner starts");
        (output.status.code(), text(&output.stderr))
    };
    let path = |name: &str| site.path(name).to_string_lossy().into_owned();
    let reported = run("no-such-program-anywhere");
    assert!(
        reported.0 == Some(1) && reported.1.contains("no-such-program-anywhere: there is no program of this name"),
        "{reported:?}"
    );
    assert!(run("./missing").1.contains("./missing: no such file"));
    assert!(run(&path("no-program")).1.contains("chmod +x"));
    assert!(run(&path("")).1.contains("is not executable"));
    let allowed = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(site.path("no-interpreter"), allowed).expect("allowed");
    assert!(run(&path("no-interpreter")).1.contains("the interpreter in its first line does not exist"));
}

#[test]
fn both_streams_arrive_byte_for_byte_through_a_slow_reader() {
    let (out_length, err_length) = (50 << 20, 3 << 20);
    let site = Site::new(&format!("print-error {err_length}\nprint {out_length}"));
    let mut runner = site.supervised(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut out = runner.stdout.take().expect("piped");
    let slow = std::thread::spawn(move || {
        let (mut offset, mut piece) = (0_u64, [0; 1500]);
        loop {
            let length = out.read(&mut piece).expect("read");
            if length == 0 {
                return offset;
            }
            assert!(piece[..length] == crate::pattern::bytes(offset, length), "another byte after {offset}");
            offset += length as u64;
            std::thread::yield_now();
        }
    });
    let mut err = runner.stderr.take().expect("piped");
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        err.read_to_end(&mut bytes).map(|_| bytes).expect("read")
    });
    let outcome = site.finish(runner);
    assert_eq!(slow.join().expect("the same bytes"), out_length);
    assert!(errors.join().expect("read") == crate::pattern::bytes(0, err_length as usize));
    assert_eq!(outcome.code, Some(0));
    let kept = (64 << 10) + (1 << 20);
    for (stream, length) in [("out", out_length), ("err", err_length)] {
        let reported = &outcome.report[stream];
        assert_eq!((reported["first"].as_u64(), reported["last"].as_u64()), (Some(64 << 10), Some(1 << 20)));
        assert_eq!((reported["left_out"].as_u64(), &reported["shown"]), (Some(length - kept), &"Complete".into()));
    }
    assert_eq!(outcome.report["heard"], serde_json::json!([out_length, err_length]));
}

#[test]
fn output_just_before_the_end_is_never_lost() {
    let site = Site::new("print 100000\ncomplain the last word\nmutter over\nexit 9");
    for _ in 0..20 {
        let outcome = site.run(&[]);
        assert_eq!((outcome.code, outcome.out.len(), outcome.err.as_str()), (Some(9), 100_004, "the last word\n"));
    }
}

#[test]
fn silence_ends_a_run_and_output_keeps_it_going() {
    let outcome = Site::new("say x\nforever").run(&["--idle", "300"]);
    assert_eq!(end(&outcome), ("Signalled(15)", "IdleLimit", false));
    let outcome = Site::new("repeat 40 talk\n[block talk]\ncomplain still here\nsleep 0.05").run(&["--idle", "1500"]);
    assert_eq!(end(&outcome), ("Exited(0)", "Command", false));
}

#[test]
fn an_idle_command_can_still_save_its_work() {
    let site = Site::new("on TERM save\nstop\nforever\n[block save]\nfile saved yes\nexit 4");
    let outcome = site.run(&["--idle", "300"]);
    assert_eq!((outcome.code, end(&outcome)), (Some(4), ("Exited(4)", "IdleLimit", false)));
    assert_eq!(site.wait_for("saved"), "yes");
}

#[test]
fn the_time_limit_leaves_time_to_save_the_work() {
    let site = Site::new("on TERM save\nforever\n[block save]\nsleep 0.2\nfile saved yes\nsay saved\nexit 0");
    let outcome = site.run(&["--wall", "400"]);
    assert_eq!((outcome.code, end(&outcome)), (Some(0), ("Exited(0)", "WallLimit", false)));
    assert_eq!((site.wait_for("saved").as_str(), text(&outcome.out).as_str()), ("yes", "saved\n"));
}

#[test]
fn a_child_of_the_command_has_the_same_grace() {
    let site = Site::new(
        "start worker\nwait-for ready\nforever\n[block worker]\non TERM save\nfile ready yes\nforever\n[block save]\nsleep 3\nfile saved yes\nexit 0",
    );
    let outcome = site.run(&["--wall", "1000"]);
    assert_eq!(end(&outcome), ("Signalled(15)", "WallLimit", false));
    assert_eq!(site.wait_for("saved"), "yes");
    site.assert_nothing_is_left();
}

#[test]
fn a_command_that_ignores_signals_is_killed_with_its_children() {
    let site = Site::new(
        "ignore TERM\nstart deaf\nwait-for ready\nforever\n[block deaf]\nignore TERM\nfile ready yes\nforever",
    );
    let outcome = site.run(&["--wall", "500", "--grace", "300"]);
    assert_eq!((outcome.code, end(&outcome)), (Some(137), ("Signalled(9)", "WallLimit", true)));
    site.assert_nothing_is_left();
}

#[test]
fn the_listener_ends_a_run_and_gets_all_its_output() {
    let site = Site::new("on TERM bye\nsay enough of it\nforever\n[block bye]\nsay and now the cost\nexit 6");
    let outcome = site.run(&["--end-on", "enough"]);
    assert_eq!((outcome.code, end(&outcome)), (Some(6), ("Exited(6)", "Listener", false)));
    assert_eq!(outcome.report["out"]["text"], "enough of it\nand now the cost\n");
}

#[test]
fn signals_that_end_are_passed_on_and_named() {
    for (sent, name, number) in
        [(Signal::INT, "INT", 2), (Signal::TERM, "TERM", 15), (Signal::HUP, "HUP", 1), (Signal::QUIT, "QUIT", 3)]
    {
        let site = Site::new(&format!("on {name} heard\nfile ready yes\nforever\n[block heard]\nsay {name}\nexit 8"));
        let runner = site.supervised(&[]).stdout(Stdio::piped()).spawn().expect("starts");
        site.wait_for("ready");
        signal(&runner, sent);
        let outcome = site.finish(runner);
        assert_eq!(end(&outcome), ("Exited(8)", format!("Signal({number})").as_str(), false));
        assert_eq!(text(&outcome.out), format!("{name}\n"));
    }
}

#[test]
fn a_second_interrupt_ends_the_grace() {
    let script = "ignore TERM\non INT heard\nfile ready yes\nforever\n[block heard]\nfile interrupted yes";
    let site = Site::new(script);
    let runner = site.supervised(&["--grace", "100000"]).spawn().expect("starts");
    site.wait_for("ready");
    signal(&runner, Signal::INT);
    site.wait_for("interrupted");
    signal(&runner, Signal::INT);
    let outcome = site.finish(runner);
    assert_eq!(end(&outcome), ("Signalled(9)", "Signal(2)", true));
}

#[test]
fn a_command_that_ignores_the_first_interrupt_gets_another_before_it_is_killed() {
    let site = Site::new("ignore INT\non TERM save\nfile ready yes\nforever\n[block save]\nexit 5");
    let runner = site.supervised(&["--grace", "2000"]).spawn().expect("starts");
    site.wait_for("ready");
    signal(&runner, Signal::INT);
    assert_eq!(end(&site.finish(runner)), ("Exited(5)", "Signal(2)", false));
}

#[test]
fn other_signals_are_the_commands_own() {
    let site = Site::new("on USR1 heard\nfile ready yes\nwait-for heard\nexit 2\n[block heard]\nfile heard yes");
    let runner = site.supervised(&[]).spawn().expect("starts");
    site.wait_for("ready");
    signal(&runner, Signal::USR1);
    signal(&runner, Signal::WINCH);
    assert_eq!(end(&site.finish(runner)), ("Exited(2)", "Command", false));
}

#[test]
fn when_the_reader_closes_the_command_gets_a_broken_pipe() {
    let site = Site::new("print 100000000\nfile never reached");
    let mut runner = site.supervised(&[]).stdout(Stdio::piped()).spawn().expect("starts");
    let mut first = [0; 10];
    runner.stdout.take().expect("piped").read_exact(&mut first).expect("read");
    let outcome = site.finish(runner);
    assert_eq!((outcome.code, end(&outcome)), (Some(141), ("Signalled(13)", "Command", false)));
    assert_eq!(outcome.report["out"]["shown"], "ReaderGone");
    assert!(!site.path("never").exists());
}

#[test]
fn unread_output_stops_no_limit_and_is_not_idleness() {
    let site = Site::new("print 10000000");
    let mut runner = site.supervised(&["--wall", "1500", "--idle", "200", "--grace", "300"]);
    let mut runner = runner.stdout(Stdio::piped()).spawn().expect("starts");
    let unread = runner.stdout.take();
    let outcome = site.finish(runner);
    assert_eq!(end(&outcome), ("Signalled(15)", "WallLimit", false));
    assert_eq!(outcome.report["out"]["shown"], "GivenUp");
    drop(unread);
}

#[test]
fn a_full_disk_loses_the_copy_and_not_the_run() {
    let site = Site::new("print 200000\nsay end\nexit 0");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let runner = site.supervised(&[]).stdout(full).spawn().expect("starts");
    let outcome = site.finish(runner);
    assert_eq!((outcome.code, outcome.report["heard"][0].as_u64()), (Some(0), Some(200_004)));
    assert!(outcome.report["out"]["shown"].as_str().is_some_and(|shown| shown.starts_with("Failed(")), "{outcome:?}");
}
