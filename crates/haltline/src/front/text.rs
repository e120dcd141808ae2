//! Text output: readable without colour; 80 columns and no colour through a pipe.

mod attempt;
mod backtest;
mod budget;
mod claim;
mod claim_ledger;
mod config;
mod constraint;
mod control;
mod demo;
mod doctor;
mod escape;
mod explain;
mod incident;
mod incidents;
mod install;
mod journal;
mod memory;
mod page;
mod phase;
mod ralph;
mod screen;
mod session;
mod status;
mod time;
mod update;

use std::io::IsTerminal;
use std::path::Path;

use haltline_engine::store::Salvage;

pub use attempt::{attempt_answer, attempt_history, attempt_scope, attempt_status};
pub use backtest::{backtest, why_replay};
pub use budget::{budgets, prices, raise};
pub use claim::{claim_answer, claim_list, claim_show};
pub use claim_ledger::claim_ledger;
pub use config::{config_change, config_check, config_path, config_show};
pub use constraint::{all, change, check, configuration, history, new_constraint, one};
pub use control::pause;
pub use demo::demo;
pub use doctor::doctor;
pub use escape::{escape_line, escape_lines};
pub use explain::explain;
pub use incident::{circuits, false_positives, why};
pub use incidents::incidents;
pub use install::{init, init_done, uninstall};
pub use journal::{show, verify};
pub use memory::{memory_clean, memory_report};
use page::{Page, Style, cut, join};
pub use page::{count, fit};
pub use phase::{BlockForm, open_block, phase_answer, phase_history, phase_report, phase_status};
pub use ralph::{ralph_halt, ralph_reset, ralph_status};
pub use screen::sentence;
pub use screen::{ColorChoice, set_screen};
use screen::{stamp, when};
pub use status::{all_projects, status, trust};
pub use time::local;
pub use update::update;

use crate::error::Failure;
use crate::view::AuditView;

/// Who acted, when, and where the journal has it.
fn audited(audit: &AuditView) -> String {
    format!("{}, {}, journal head {}", audit.who, stamp(&audit.at), audit.journal_head)
}

/// Makes the text of a page safe for a terminal: escapes what others wrote, then adds the page's colours.
pub fn for_terminal(text: &str) -> String {
    page::paint(&escape_lines(text))
}

/// Like [`for_terminal`] for standard error, which may be a file while standard output is a terminal.
pub fn for_stderr(text: &str) -> String {
    let safe = escape_lines(text);
    if std::io::stderr().is_terminal() { page::paint(&safe) } else { page::without_marks(&safe) }
}

/// The text of a page without the marks that become its colours.
pub fn without_colour(text: &str) -> String {
    page::without_marks(text)
}

/// Adds the page's colours to a text whose bytes must stay.
pub fn with_colour(text: &str) -> String {
    page::paint(text)
}

/// Prints why a command failed to standard error.
pub fn print_failure(failure: &Failure) {
    match failure {
        Failure::Silent => {}
        Failure::Plain(text) | Failure::Usage(text) | Failure::Store(text) | Failure::Closed(text) => {
            note(&format!("error: {text}"))
        }
        Failure::NotOperator(text) | Failure::Denied(text) => note(&format!("denied: {text}")),
    }
}

/// Prints a warning to standard error.
pub fn warn(text: &str) {
    note(&format!("warning: {text}"));
}

/// Prints lines to standard error.
pub fn note(text: &str) {
    eprintln!("{}", escape_lines(text));
}

/// Describes what was done about a damaged store.
pub fn salvage(salvage: &Salvage, folder: &Path) -> String {
    let Salvage { kept, circuits, latched, facts } = salvage;
    match kept {
        Some(kept) => format!(
            "the store in {} was damaged; haltline kept it as {} and rebuilt it with {circuits} circuits ({latched} of them from latches) and {facts} facts",
            folder.display(),
            kept.display()
        ),
        None => format!(
            "the store in {} was missing; haltline restored {latched} circuits that are not CLOSED from their latches",
            folder.display()
        ),
    }
}
