//! Verdicts by which haltline protects itself, apart from denying a call that reaches for it (E6, E7).

use crate::{CircuitName, Reason, Retry, Verdict};

/// Denies the change of a settings file that took haltline's hooks out of it.
pub(super) fn hooks_removed_denial(file: &str) -> Verdict {
    let text = format!(
        "HALTLINE HL-OWN-03: refused. This takes haltline's hooks out of {file}, which is for people only.\nDo: tell the person what you need and why.\nDo not: look for another way to do it."
    );
    let circuit = CircuitName::from_stored("loop/settings".to_owned());
    Verdict::Deny(Reason { circuit, code: "HL-OWN-03", text, retry: Retry::Person })
}

/// What the person reads about removed hooks.
pub(super) fn hooks_removed_notice(file: &str) -> String {
    format!(
        "haltline (HL-OWN-03): its hooks were taken out of {file} while a session ran. `haltline doctor` shows what is left, `haltline init` puts them back."
    )
}

/// What the person reads about an event that did not come from the client.
pub(super) fn forged_event_notice(name: &str) -> String {
    format!(
        "haltline (HL-OWN-05): something other than the client sent it the event {name} for this session, probably a command of the agent. haltline did not believe it: no count was reset and no limit lifted. `haltline journal show` lists it as event_forged."
    )
}

/// Denies a call because haltline itself failed, for owners who set `fail = "closed"` (E7). It is not journalled: what
/// failed is the store.
pub fn denial_on_failure(session: &str, problem: &str) -> Verdict {
    let circuit = CircuitName::agent(session, None).below("own_failure");
    let text = format!("HALTLINE HL-OWN-04: refused, because haltline itself failed: {problem}");
    Verdict::Deny(Reason { circuit, code: "HL-OWN-04", text, retry: Retry::Person })
}
