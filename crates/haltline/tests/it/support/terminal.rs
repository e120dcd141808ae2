//! A pseudo terminal with haltline in it, and a person who types.

use std::io::{Read, Write};

use crate::support::{HALTLINE, Site};

/// A terminal that runs haltline.
pub struct Terminal {
    device: pty_process::blocking::Pty,
    child: std::process::Child,
    pub seen: String,
}

impl Terminal {
    /// Starts haltline as the only program of a new terminal.
    pub fn start(site: &Site, arguments: &[&str]) -> Self {
        let plain = site.command(arguments);
        Self::start_with(site, arguments, |mut command| {
            for (name, value) in plain.get_envs() {
                command = command.env(name, value.expect("set, not removed"));
            }
            command
        })
    }

    /// The same with an environment that `set` chooses.
    pub fn start_with(
        site: &Site,
        arguments: &[&str],
        set: impl FnOnce(pty_process::blocking::Command) -> pty_process::blocking::Command,
    ) -> Self {
        Self::start_program(site, HALTLINE, arguments, set)
    }

    /// The same with another program than haltline.
    pub fn start_program(
        site: &Site,
        program: &str,
        arguments: &[&str],
        set: impl FnOnce(pty_process::blocking::Command) -> pty_process::blocking::Command,
    ) -> Self {
        let (device, side) = pty_process::blocking::open().expect("a pseudo terminal");
        device.resize(pty_process::Size::new(40, 200)).expect("resized");
        let command = set(pty_process::blocking::Command::new(program).args(arguments).env_clear());
        let child = command.current_dir(site.project()).spawn(side).expect("starts");
        Self { device, child, seen: String::new() }
    }

    /// Reads until `mark` appears or the terminal closes.
    pub fn read_until(&mut self, mark: &str) -> bool {
        let mut bytes = [0; 256];
        while !self.seen.contains(mark) {
            match self.device.read(&mut bytes) {
                Ok(count) if count > 0 => self.seen.push_str(&String::from_utf8_lossy(&bytes[..count])),
                Ok(_) | Err(_) => return false,
            }
        }
        true
    }

    /// The token that haltline asks for.
    pub fn token(&mut self) -> String {
        assert!(self.read_until("Token: ") && self.read_until("(1 of 3): "), "{}", self.seen);
        let (_, after) = self.seen.split_once("Token: ").expect("just seen");
        after.chars().take(6).collect()
    }

    /// Types a line.
    pub fn type_line(&mut self, line: &str) {
        self.device.write_all(format!("{line}\n").as_bytes()).expect("typed");
    }

    /// Waits for the end: the exit code, and everything that was shown.
    pub fn end(mut self) -> (Option<i32>, String) {
        self.read_until("\u{0}never\u{0}");
        (self.child.wait().expect("waited for").code(), self.seen)
    }
}

impl Terminal {
    /// Waits for the end of an operator action. If the tests themselves run inside an agent, haltline asks for the token.
    pub fn confirm_and_end(mut self, done: &str) -> (Option<i32>, String) {
        if !self.read_until(done) || self.seen.contains("Token: ") {
            let token = self.token();
            self.type_line(&token);
        }
        self.end()
    }
}
