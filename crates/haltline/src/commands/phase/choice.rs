//! Asks the person at the terminal what to do about an OPEN phase run (P6).

use std::io::{BufRead, IsTerminal, Read, Write};

use haltline_core::phase::Choice;
use haltline_core::shorten;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::cli::Decided;
use crate::context::Context;
use crate::error::Failure;
use crate::front::text;
use crate::operator::detect_agent;
use crate::view::phase::PhaseRunView;

/// Ctrl-C, Ctrl-D and Escape: the person decides later.
const CANCEL_KEYS: [u8; 3] = [3, 4, 27];

/// True if somebody at a terminal can be asked, and it is not an agent.
pub fn can_ask(context: &Context) -> bool {
    let is_attended =
        std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    is_attended && !context.is_json && detect_agent().is_none()
}

/// Reads one key and returns the choice; `None` if the person decides later.
pub fn ask(phase_run: &PhaseRunView) -> Result<Option<(Decided, Option<String>)>, Failure> {
    let skip = if phase_run.is_loop() { "" } else { ", [S]kip" };
    eprint!("[R]eset{skip}, [A]bort, [M]odify, any other key to decide later: ");
    std::io::stderr().flush()?;
    let key = read_key()?;
    eprintln!("{}", if key.is_ascii_graphic() { char::from(key) } else { ' ' });
    let choice = match key.to_ascii_lowercase() {
        b'r' | b'1' => Decided::Reset,
        b's' | b'2' if !phase_run.is_loop() => Decided::Skip,
        b'a' | b'3' => Decided::Abort,
        b'm' | b'4' => Decided::Modify,
        _later => return Ok(None),
    };
    let guidance = match choice {
        Decided::Modify => Some(read_guidance()?),
        Decided::Reset | Decided::Skip | Decided::Abort => None,
    };
    Ok(Some((choice, guidance)))
}

/// The choice for the core.
pub fn to_choice(decided: Decided, guidance: Option<String>) -> Result<Choice, Failure> {
    Ok(match decided {
        Decided::Reset => Choice::Reset,
        Decided::Skip => Choice::Skip,
        Decided::Abort => Choice::Abort,
        Decided::Modify => {
            let guidance = guidance.filter(|guidance| !guidance.trim().is_empty());
            let missing = || Failure::Plain("--hint TEXT is missing: what should the agent do differently?".to_owned());
            Choice::Modify { guidance: guidance.ok_or_else(missing)? }
        }
    })
}

/// Reads a choice for `phase decide` without one.
pub fn ask_for_decision(phase_run: &PhaseRunView) -> Result<(Decided, Option<String>), Failure> {
    if !std::io::stdin().is_terminal() {
        let hint =
            "expected reset, skip, abort or modify: `haltline phase decide reset`; without one it asks at a terminal";
        return Err(Failure::Plain(format!("no choice: {hint}")));
    }
    eprint!("{}", text::for_stderr(&text::open_block(phase_run, text::BlockForm::Screen)));
    ask(phase_run)?.ok_or_else(|| Failure::Plain("nobody decided anything, and haltline changed nothing".to_owned()))
}

/// One key, without waiting for Enter. The terminal's modes are restored in any case.
fn read_key() -> Result<u8, Failure> {
    let terminal = rustix::stdio::stdin();
    let modes = tcgetattr(terminal).map_err(std::io::Error::from)?;
    let mut raw = modes.clone();
    raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
    tcsetattr(terminal, OptionalActions::Now, &raw).map_err(std::io::Error::from)?;
    let mut key = [0];
    let read = std::io::stdin().lock().read(&mut key);
    tcsetattr(terminal, OptionalActions::Now, &modes).map_err(std::io::Error::from)?;
    let key = if read? == 0 { CANCEL_KEYS[0] } else { key[0] };
    Ok(if CANCEL_KEYS.contains(&key) { CANCEL_KEYS[0] } else { key })
}

fn read_guidance() -> Result<String, Failure> {
    eprint!("Guidance: ");
    std::io::stderr().flush()?;
    // Some people press Enter after the key; that is not the guidance.
    let lines = std::io::stdin().lock().lines().take(2);
    let given = lines.map_while(Result::ok).find(|line| !line.trim().is_empty());
    given.ok_or_else(|| Failure::Plain(format!("guidance {}: expected a text", shorten(""))))
}
