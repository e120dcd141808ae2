//! A supervised command that owns the terminal: typing, Ctrl-C, Ctrl-Z and `fg`, as a job of a shell (P8).

use std::io::{Read, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::supervised::{STAND_IN, SUPERVISE, Site};
use rustix::termios::{LocalModes, tcgetattr};

/// A pseudo terminal and the first process in it.
struct Terminal {
    device: std::fs::File,
    seen: String,
    pieces: Receiver<Vec<u8>>,
    child: Child,
}

impl Terminal {
    fn start(site: &Site, arguments: &[&str]) -> Self {
        let (device, side) = pty_process::blocking::open().expect("a pseudo terminal");
        let command =
            pty_process::blocking::Command::new(arguments[0]).args(&arguments[1..]).current_dir(site.path(""));
        let child = command.env("PS1", "prompt> ").env_remove("ENV").spawn(side).expect("starts");
        let device = std::fs::File::from(std::os::fd::OwnedFd::from(device));
        let mut reader = device.try_clone().expect("cloned");
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // On Linux, reading a terminal whose processes are gone is an error.
            while let Ok(length @ 1..) = reader.read(&mut piece) {
                if sender.send(piece[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { device, seen: String::new(), pieces, child }
    }

    /// Starts the supervisor as the first process of the terminal.
    fn supervised(site: &Site, options: &[&str]) -> Self {
        let (report, script) = (site.path("report"), site.path("script"));
        let (report, script) = (report.to_str().expect("text"), script.to_str().expect("text"));
        let mut arguments = vec![SUPERVISE, report, site.run_id()];
        arguments.extend(options);
        arguments.extend(["--", STAND_IN, script]);
        Self::start(site, &arguments)
    }

    /// Reads until the expected text appears, and drops everything up to its end.
    fn wait_for(&mut self, expected: &str) {
        loop {
            if let Some(position) = self.seen.find(expected) {
                self.seen.drain(..position + expected.len());
                return;
            }
            match self.pieces.recv_timeout(Duration::from_secs(60)) {
                Ok(piece) => self.seen.push_str(&String::from_utf8_lossy(&piece)),
                Err(error) => panic!("{expected:?} does not come ({error}); seen: {:?}", self.seen),
            }
        }
    }

    fn type_in(&mut self, text: &str) {
        self.device.write_all(text.as_bytes()).expect("typed");
    }

    fn is_echoing(&self) -> bool {
        tcgetattr(&self.device).expect("a terminal").local_modes.contains(LocalModes::ECHO)
    }
}

#[test]
fn an_interactive_command_has_the_terminal_and_nothing_is_kept() {
    let site = Site::new("shell test -t 0 && test -t 1 && test -t 2 && echo whole terminal\nsay ready\nread\nexit 4");
    let mut terminal = Terminal::supervised(&site, &["--inherit", "--idle", "1"]);
    terminal.wait_for("whole terminal");
    terminal.wait_for("ready");
    terminal.type_in("hello\r");
    terminal.wait_for("read: hello");
    assert_eq!(crate::supervised::finish(&mut terminal.child), Some(4));
    let report = site.report();
    assert_eq!((&report["cause"], &report["out"]["text"]), (&"Command".into(), &"".into()), "idleness is not measured");
}

#[test]
fn ctrl_c_is_the_commands_own() {
    // The command can read this only once it owns the terminal. Before, the supervisor gets Ctrl-C and passes it on.
    let site = Site::new("read\non INT again\nsay ready\nforever\n[block again]\nsay interrupted\nexit 6");
    let mut terminal = Terminal::supervised(&site, &["--inherit"]);
    terminal.type_in("on\r");
    terminal.wait_for("ready");
    terminal.type_in("\x03");
    terminal.wait_for("interrupted");
    assert_eq!(crate::supervised::finish(&mut terminal.child), Some(6));
    assert_eq!(site.report()["cause"], "Command");
}

#[test]
fn ctrl_z_and_fg_work_as_for_any_job_of_a_shell() {
    let site = Site::new("say ready\nread\nsay ready again\nread\nexit 3");
    let mut terminal = Terminal::start(&site, &["sh", "-i"]);
    terminal.wait_for("prompt> ");
    let (report, script) = (site.path("report"), site.path("script"));
    let line =
        format!("{SUPERVISE} {} {} --inherit -- {STAND_IN} {}", report.display(), site.run_id(), script.display());
    terminal.type_in(&format!("{line}\r"));
    for line in ["one", "two"] {
        terminal.wait_for("ready");
        terminal.type_in("\x1a");
        terminal.wait_for("Stopped");
        terminal.wait_for("prompt> ");
        terminal.type_in("echo the shell is $((40 + 2))\r");
        terminal.wait_for("the shell is 42");
        terminal.type_in("fg\r");
        terminal.wait_for(STAND_IN);
        terminal.type_in(&format!("{line}\r"));
        terminal.wait_for(&format!("read: {line}"));
    }
    terminal.wait_for("prompt> ");
    terminal.type_in("echo code $?\r");
    terminal.wait_for("code 3");
    terminal.type_in("exit\r");
    crate::supervised::finish(&mut terminal.child);
}

#[test]
fn ctrl_z_does_nothing_where_no_shell_could_continue_it() {
    let site = Site::new("say ready\nread\nexit 0");
    let mut terminal = Terminal::supervised(&site, &["--inherit"]);
    terminal.wait_for("ready");
    terminal.type_in("\x1a");
    terminal.type_in("on\r");
    terminal.wait_for("read: on");
    assert_eq!(crate::supervised::finish(&mut terminal.child), Some(0));
}

#[test]
fn terminal_settings_changed_by_a_killed_command_are_restored() {
    let site = Site::new("ignore TERM\nshell stty -echo -icanon\nsay ready\nforever");
    let mut terminal = Terminal::supervised(&site, &["--inherit", "--wall", "700", "--grace", "200"]);
    terminal.wait_for("ready");
    assert!(!terminal.is_echoing());
    let code = crate::supervised::finish(&mut terminal.child);
    assert!(code == Some(137) && terminal.is_echoing(), "{code:?}");
}

#[test]
fn a_background_command_that_reads_the_terminal_is_ended_and_reported() {
    let site = Site::new("say ready\nwait-for never");
    let (report, id) = (site.path("report"), site.run_id());
    let arguments = [SUPERVISE, report.to_str().expect("text"), id, "--", "sh", "-c", "read answer < /dev/tty"];
    let mut terminal = Terminal::start(&site, &arguments);
    crate::supervised::finish(&mut terminal.child);
    assert_eq!(site.report()["cause"], "NeedsTerminal");
}

#[test]
fn ctrl_c_reaches_a_command_whose_output_is_piped() {
    let site = Site::new("on INT bye\nsay ready\nforever\n[block bye]\nsay saved\nexit 5");
    let mut terminal = Terminal::supervised(&site, &[]);
    terminal.wait_for("ready");
    terminal.type_in("\x03");
    terminal.wait_for("saved");
    assert_eq!(crate::supervised::finish(&mut terminal.child), Some(5));
    assert_eq!(site.report()["cause"], "Signal(2)");
}

#[test]
fn a_terminal_that_goes_away_ends_the_run_with_all_it_has() {
    let site = Site::new(
        "start child\nwait-for there\nsay ready\nforever\n[block child]\nignore HUP\nfile there yes\nforever",
    );
    let mut terminal = Terminal::supervised(&site, &["--inherit"]);
    terminal.wait_for("ready");
    let Terminal { device, pieces, mut child, .. } = terminal;
    drop((device, pieces));
    // The reading thread keeps this terminal open; a real one closes with its window, which sends SIGHUP.
    crate::supervised::signal(&child, rustix::process::Signal::HUP);
    crate::supervised::finish(&mut child);
    assert_eq!(site.report()["cause"], "Signal(1)");
    site.assert_nothing_is_left();
}
