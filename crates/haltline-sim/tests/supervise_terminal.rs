//! A supervised command that has the terminal to itself: typing, Ctrl-C, Ctrl-Z and `fg`, as a job of a shell (P8).

mod supervised;

use std::io::{Read, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::termios::{LocalModes, tcgetattr};
use supervised::{Place, STAND_IN, SUPERVISE};

/// A pseudo terminal and the first process in it.
struct Terminal {
    device: std::fs::File,
    seen: String,
    pieces: Receiver<Vec<u8>>,
    child: Child,
}

impl Terminal {
    fn start(place: &Place, words: &[&str]) -> Self {
        let (device, side) = pty_process::blocking::open().expect("a pseudo terminal");
        let command = pty_process::blocking::Command::new(words[0]).args(&words[1..]).current_dir(place.path(""));
        let child = command.env("PS1", "prompt> ").env_remove("ENV").spawn(side).expect("starts");
        let device = std::fs::File::from(std::os::fd::OwnedFd::from(device));
        let mut reader = device.try_clone().expect("cloned");
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // A terminal whose processes are gone is an error to read on Linux.
            while let Ok(length @ 1..) = reader.read(&mut piece) {
                if sender.send(piece[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { device, seen: String::new(), pieces, child }
    }

    /// The runner itself is the first process, or a shell is and starts it.
    fn supervised(place: &Place, options: &[&str]) -> Self {
        let (report, script) = (place.path("report"), place.path("script"));
        let (report, script) = (report.to_str().expect("text"), script.to_str().expect("text"));
        let mut words = vec![SUPERVISE, report, place.run_id()];
        words.extend(options);
        words.extend(["--", STAND_IN, script]);
        Self::start(place, &words)
    }

    /// Reads on until this is seen, and forgets what came before.
    fn wait_for(&mut self, mark: &str) {
        loop {
            if let Some(place) = self.seen.find(mark) {
                self.seen.drain(..place + mark.len());
                return;
            }
            match self.pieces.recv_timeout(Duration::from_secs(60)) {
                Ok(piece) => self.seen.push_str(&String::from_utf8_lossy(&piece)),
                Err(error) => panic!("{mark:?} does not come ({error}); seen: {:?}", self.seen),
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
    let place = Place::new("shell test -t 0 && test -t 1 && test -t 2 && echo whole terminal\nsay ready\nread\nexit 4");
    let mut terminal = Terminal::supervised(&place, &["--inherit", "--idle", "1"]);
    terminal.wait_for("whole terminal");
    terminal.wait_for("ready");
    terminal.type_in("hello\r");
    terminal.wait_for("read: hello");
    assert_eq!(supervised::finish(&mut terminal.child), Some(4));
    let report = place.report();
    assert_eq!((&report["cause"], &report["out"]["text"]), (&"Own".into(), &"".into()), "idleness is not measured");
}

#[test]
fn ctrl_c_is_the_commands_own() {
    // What it reads it can only read once it has the terminal: before that moment Ctrl-C is ours, and passed on.
    let place = Place::new("read\non INT again\nsay ready\nforever\n[block again]\nsay interrupted\nexit 6");
    let mut terminal = Terminal::supervised(&place, &["--inherit"]);
    terminal.type_in("on\r");
    terminal.wait_for("ready");
    terminal.type_in("\x03");
    terminal.wait_for("interrupted");
    assert_eq!(supervised::finish(&mut terminal.child), Some(6));
    assert_eq!(place.report()["cause"], "Own");
}

#[test]
fn ctrl_z_and_fg_work_as_for_any_job_of_a_shell() {
    let place = Place::new("say ready\nread\nsay ready again\nread\nexit 3");
    let mut terminal = Terminal::start(&place, &["sh", "-i"]);
    terminal.wait_for("prompt> ");
    let (report, script) = (place.path("report"), place.path("script"));
    let line =
        format!("{SUPERVISE} {} {} --inherit -- {STAND_IN} {}", report.display(), place.run_id(), script.display());
    terminal.type_in(&format!("{line}\r"));
    for word in ["one", "two"] {
        terminal.wait_for("ready");
        terminal.type_in("\x1a");
        terminal.wait_for("Stopped");
        terminal.wait_for("prompt> ");
        terminal.type_in("echo the shell is $((40 + 2))\r");
        terminal.wait_for("the shell is 42");
        terminal.type_in("fg\r");
        terminal.wait_for(STAND_IN);
        terminal.type_in(&format!("{word}\r"));
        terminal.wait_for(&format!("read: {word}"));
    }
    terminal.wait_for("prompt> ");
    terminal.type_in("echo code $?\r");
    terminal.wait_for("code 3");
    terminal.type_in("exit\r");
    supervised::finish(&mut terminal.child);
}

#[test]
fn ctrl_z_is_nothing_where_nobody_could_continue_it() {
    let place = Place::new("say ready\nread\nexit 0");
    let mut terminal = Terminal::supervised(&place, &["--inherit"]);
    terminal.wait_for("ready");
    terminal.type_in("\x1a");
    terminal.type_in("on\r");
    terminal.wait_for("read: on");
    assert_eq!(supervised::finish(&mut terminal.child), Some(0));
}

#[test]
fn a_terminal_left_in_disorder_by_a_killed_command_is_put_back() {
    let place = Place::new("ignore TERM\nshell stty -echo -icanon\nsay ready\nforever");
    let mut terminal = Terminal::supervised(&place, &["--inherit", "--wall", "700", "--grace", "200"]);
    terminal.wait_for("ready");
    assert!(!terminal.is_echoing());
    let code = supervised::finish(&mut terminal.child);
    assert!(code == Some(137) && terminal.is_echoing(), "{code:?}");
}

#[test]
fn a_command_in_the_background_that_asks_for_the_terminal_is_ended_and_told() {
    let place = Place::new("say ready\nwait-for never");
    let (report, id) = (place.path("report"), place.run_id());
    let words = [SUPERVISE, report.to_str().expect("text"), id, "--", "sh", "-c", "read answer < /dev/tty"];
    let mut terminal = Terminal::start(&place, &words);
    supervised::finish(&mut terminal.child);
    assert_eq!(place.report()["cause"], "NeedsTerminal");
}

#[test]
fn ctrl_c_reaches_a_command_whose_output_is_piped() {
    let place = Place::new("on INT bye\nsay ready\nforever\n[block bye]\nsay saved\nexit 5");
    let mut terminal = Terminal::supervised(&place, &[]);
    terminal.wait_for("ready");
    terminal.type_in("\x03");
    terminal.wait_for("saved");
    assert_eq!(supervised::finish(&mut terminal.child), Some(5));
    assert_eq!(place.report()["cause"], "Signal(2)");
}

#[test]
fn a_terminal_that_goes_away_ends_the_run_with_all_it_has() {
    let place = Place::new(
        "start child\nwait-for there\nsay ready\nforever\n[block child]\nignore HUP\nfile there yes\nforever",
    );
    let mut terminal = Terminal::supervised(&place, &["--inherit"]);
    terminal.wait_for("ready");
    let Terminal { device, pieces, mut child, .. } = terminal;
    drop((device, pieces));
    // The reading thread holds the terminal as well: what closes a real one is the end of its window.
    supervised::signal(&child, rustix::process::Signal::HUP);
    supervised::finish(&mut child);
    assert_eq!(place.report()["cause"], "Signal(1)");
    place.assert_nothing_is_left();
}
