//! Makes sure that a person, not an agent, runs operator actions (E6).
//!
//! Inside an agent they are denied, and where haltline cannot tell who opened the terminal (`origin.rs`). At a person's
//! terminal they run. In doubt, haltline shows a token on the terminal device itself, and the person must type it there.
//! Without a terminal they run only if the user's own configuration file allows it and a person confirmed the file.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use haltline_core::Operator;
use haltline_engine::clock::Deadline;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::ancestry;
use crate::environment::{self, variable};
use crate::error::Failure;
use crate::origin::{self, Origin};

/// Letters and digits that cannot be confused with each other.
const TOKEN_ALPHABET: &[u8; 31] = b"ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const TOKEN_LENGTH: usize = 6;
const TOKEN_TRIES: u32 = 3;
const TOKEN_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// How certain haltline must be that a person acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A person at a terminal is enough.
    Presence,
    /// The token is always required.
    Token,
}

/// What the configuration says about operator actions without a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unattended {
    Denied,
    /// A person confirmed the file that allows it, as it is now.
    Allowed,
    /// The file allows it, and nobody confirmed the file since it changed.
    Unconfirmed(PathBuf),
}

/// Makes sure that a person acts, and returns who it is.
pub fn confirm(
    verb: &str,
    reason: Option<&str>,
    proof: Proof,
    unattended: impl FnOnce() -> Unattended,
) -> Result<Operator, Failure> {
    let origin = origin::current();
    if let Origin::Agent(sign) = &origin {
        return Err(inside_agent(verb, sign));
    }
    let operator = Operator { who: account(), reason: reason.map(str::to_owned) };
    let Ok(terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else {
        return match (unattended(), origin) {
            (Unattended::Allowed, Origin::Lost(why)) => Err(nobody(verb, &why)),
            (Unattended::Allowed, _) => Ok(operator),
            (Unattended::Unconfirmed(file), _) => Err(Failure::NotOperator(format!(
                "`haltline {verb}` is for people: no terminal to ask at, and nobody has confirmed operator.unattended in {} since the file changed; confirm it in a terminal: haltline trust",
                file.display()
            ))),
            (Unattended::Denied, _) => Err(Failure::NotOperator(format!(
                "`haltline {verb}` is for people: no terminal to ask at; run it in a terminal, or allow unattended use there: haltline config set operator.unattended true"
            ))),
        };
    };
    let is_attended = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let doubt = match origin {
        Origin::Lost(why) | Origin::Scheduled(why) => return Err(nobody(verb, &why)),
        Origin::Doubtful(doubt) => Some(doubt),
        Origin::Person if !is_attended => Some("its input or output is not a terminal".to_owned()),
        Origin::Person | Origin::Agent(_) => None,
    };
    if proof == Proof::Presence && doubt.is_none() {
        return Ok(operator);
    }
    ask_token(verb, doubt.as_deref(), terminal).map(|()| operator)
}

/// Fails inside an agent; otherwise returns the account. Enough where another program resets for a person (Ralph
/// bridge).
pub fn reject_agent(verb: &str, reason: Option<&str>) -> Result<Operator, Failure> {
    match detect_agent() {
        Some(sign) => Err(inside_agent(verb, &sign)),
        None => Ok(Operator { who: account(), reason: reason.map(str::to_owned) }),
    }
}

fn inside_agent(verb: &str, sign: &str) -> Failure {
    Failure::NotOperator(format!(
        "`haltline {verb}` is for people, and haltline denies it inside an agent ({sign}); ask the person to run it in their own terminal"
    ))
}

fn nobody(verb: &str, why: &str) -> Failure {
    Failure::NotOperator(format!(
        "`haltline {verb}` is for people, and haltline cannot tell that a person runs it: {why}; run it in a terminal that was open before the client, in a new login (ssh, console), or when no client runs"
    ))
}

/// What shows that this process runs inside an agent.
pub fn detect_agent() -> Option<String> {
    origin::agent_sign()
}

/// True if a client started this process. Below `haltline run` alone there is no client.
pub fn is_below_client() -> bool {
    let is_set = |name: &str| name != haltline_agents::RUN_MARKER && variable(name).is_some();
    haltline_agents::marker_in(is_set).is_some()
        || environment::state_folders().iter().any(|folder| ancestry::is_below_client(folder))
}

/// The account of this process, as the journal names a person.
pub fn account() -> String {
    let name = variable("USER").or_else(|| variable("LOGNAME"));
    let number = rustix::process::getuid().as_raw();
    name.map_or_else(|| format!("uid {number}"), |name| format!("{name} (uid {number})"))
}

/// Shows the token on the terminal device and waits for it there. Nothing is stored.
fn ask_token(verb: &str, doubt: Option<&str>, mut terminal: File) -> Result<(), Failure> {
    let token = token()?;
    let deadline = Deadline::new(TOKEN_TIMEOUT);
    let why = doubt.map(|doubt| format!(" ({doubt})")).unwrap_or_default();
    write!(terminal, "\nhaltline {verb}: a person must confirm this{why}.\nToken: {token}\n")?;
    for attempt in 1..=TOKEN_TRIES {
        write!(terminal, "Type it to continue ({attempt} of {TOKEN_TRIES}): ")?;
        terminal.flush()?;
        let Some(line) = read_line(&mut terminal, &deadline)? else {
            return Err(Failure::NotOperator(format!(
                "`haltline {verb}`: the token was not typed; haltline changed nothing"
            )));
        };
        if line.trim().eq_ignore_ascii_case(&token) {
            return Ok(());
        }
    }
    Err(Failure::NotOperator(format!(
        "`haltline {verb}`: the token was wrong {TOKEN_TRIES} times; haltline changed nothing"
    )))
}

fn token() -> Result<String, Failure> {
    let mut random = File::open("/dev/urandom")?;
    let mut token = String::with_capacity(TOKEN_LENGTH);
    let mut byte = [0];
    while token.len() < TOKEN_LENGTH {
        random.read_exact(&mut byte)?;
        // 248 is the largest multiple of 31 in a byte: beyond it some characters would be more likely than others.
        if byte[0] < 248 {
            token.push(char::from(TOKEN_ALPHABET[usize::from(byte[0]) % TOKEN_ALPHABET.len()]));
        }
    }
    Ok(token)
}

/// Reads one line from the terminal; `None` if the time is over or the terminal is closed.
fn read_line(terminal: &mut File, deadline: &Deadline) -> Result<Option<String>, Failure> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        let remaining = deadline.remaining();
        let timeout = Timespec { tv_sec: remaining.as_secs().cast_signed(), tv_nsec: remaining.subsec_nanos().into() };
        let mut waiting = [PollFd::new(terminal, PollFlags::IN)];
        let ready = poll(&mut waiting, Some(&timeout)).map_err(std::io::Error::from)?;
        if ready == 0 || terminal.read(&mut byte)? == 0 {
            return Ok(None);
        }
        if byte[0] == b'\n' || byte[0] == b'\r' {
            return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
        }
        line.push(byte[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_six_plain_characters_and_is_never_the_same() {
        let tokens: std::collections::BTreeSet<String> =
            (0..50).map(|_| token().expect("random bytes are there")).collect();
        assert_eq!(tokens.len(), 50);
        assert!(
            tokens.iter().all(|token| token.len() == 6 && token.bytes().all(|byte| TOKEN_ALPHABET.contains(&byte)))
        );
    }
}
