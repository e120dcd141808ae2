//! Verdicts by which haltline protects itself, apart from denying a call that reaches for it (E6, E7).

use crate::{CircuitName, Reason, Retry, Verdict};

/// Denies the change of a settings file that weakens haltline's hooks.
pub(super) fn hooks_removed_denial(file: &str, what: &str) -> Verdict {
    let text = format!(
        "HALTLINE HL-OWN-03: denied. This change of {file} weakens haltline, which only a person may do: {what}.\nDo: tell the person what you need and why.\nDo not: look for another way to do it."
    );
    let circuit = CircuitName::from_stored("loop/settings".to_owned());
    Verdict::Deny(Reason { circuit, code: "HL-OWN-03", text, retry: Retry::Person })
}

/// What the person reads about removed, narrowed or silenced hooks.
pub(super) fn hooks_removed_notice(file: &str, what: &str) -> String {
    format!(
        "haltline (HL-OWN-03): somebody changed {file}: {what}. From the client's next start on, haltline may not see what it does. `haltline doctor` shows what to do, `haltline init` puts hooks back."
    )
}

/// What the person reads about an event that did not come from the client.
pub(super) fn forged_event_notice(name: &str) -> String {
    format!(
        "haltline (HL-OWN-05): something other than the client sent it the event {name} for this session, probably a command of the agent. haltline ignored it: it reset no count and lifted no limit. `haltline journal show` lists it as event_forged."
    )
}

/// Denies a call because haltline itself failed, for owners who set `fail = "closed"` (E7). It is not journalled: what
/// failed is the store.
pub fn denial_on_failure(session: &str, problem: &str) -> Verdict {
    let circuit = CircuitName::agent(session, None).below("own_failure");
    let text = format!("HALTLINE HL-OWN-04: denied, because haltline itself failed: {problem}");
    Verdict::Deny(Reason { circuit, code: "HL-OWN-04", text, retry: Retry::Person })
}
