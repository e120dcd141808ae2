//! The escalation of denials: haltline denies the first attempt and ends the turn at a later one (E5).

use serde::{Deserialize, Serialize};

use crate::identity::Digest;

/// No row keeps more escalations.
const ESCALATIONS_MAX: usize = 32;

/// How far haltline has escalated against one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationLevel {
    /// haltline denied the call.
    Deny,
    /// haltline ended the turn.
    Stop,
}

impl EscalationLevel {
    /// haltline's reaction to the next attempt after its `last` reaction. All calls of one model response share the
    /// reaction, and a later response escalates.
    pub fn next(last: Option<EscalationLevel>, is_same_response: bool) -> EscalationLevel {
        match last {
            None => EscalationLevel::Deny,
            Some(level) if is_same_response => level,
            Some(EscalationLevel::Deny | EscalationLevel::Stop) => EscalationLevel::Stop,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    pub key: Digest,
    /// haltline's last reaction; `None` after a prompt.
    #[serde(rename = "step", default, skip_serializing_if = "Option::is_none")]
    pub level: Option<EscalationLevel>,
    /// The turn of the last denial: all calls of one turn get the same reaction.
    pub turn: u64,
    #[serde(rename = "refused")]
    pub denials: u32,
    /// The incident, if the denial comes from a limit that has no circuit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// A person's permission for one call in spite of the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Allowance>,
}

/// A person's permission for one call in spite of a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// What the person wants the agent to know when it makes the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The escalations of one row, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Escalations(Vec<Escalation>);

impl Escalations {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, key: Digest) -> Option<&Escalation> {
        self.0.iter().find(|escalation| escalation.key == key)
    }

    /// True if the incident is a limit's, and its escalation is still kept.
    pub fn has_incident(&self, incident: &str) -> bool {
        self.0.iter().any(|escalation| escalation.incident.as_deref() == Some(incident))
    }

    /// The incidents of limits because of which haltline has denied something since the last prompt.
    pub fn denying_limits(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|escalation| escalation.level.is_some()).filter_map(|one| one.incident.as_deref())
    }

    /// The escalation of a limit's incident.
    pub fn with_incident(&self, incident: &str) -> Option<&Escalation> {
        self.0.iter().find(|escalation| escalation.incident.as_deref() == Some(incident))
    }

    /// haltline's reaction to the next attempt at `key` in this turn.
    pub fn next_level(&self, key: Digest, turn: u64) -> EscalationLevel {
        let last = self.get(key);
        let is_same_turn = last.is_some_and(|escalation| escalation.turn == turn);
        EscalationLevel::next(last.and_then(|escalation| escalation.level), is_same_turn)
    }

    /// The escalation for `key`, which begins here if there is none.
    pub(crate) fn entry(&mut self, key: Digest) -> &mut Escalation {
        let index = match self.0.iter().position(|escalation| escalation.key == key) {
            Some(index) => index,
            None => {
                if self.0.len() >= ESCALATIONS_MAX {
                    self.0.remove(0);
                }
                self.0.push(Escalation { key, level: None, turn: 0, denials: 0, incident: None, allowance: None });
                self.0.len() - 1
            }
        };
        &mut self.0[index]
    }

    pub(crate) fn record(&mut self, key: Digest, level: EscalationLevel, turn: u64) {
        let escalation = self.entry(key);
        escalation.level = Some(level);
        escalation.turn = turn;
        escalation.denials = escalation.denials.saturating_add(1);
    }

    /// After a prompt, escalation starts again at the first denial. The number of denials stays, so that no two denials
    /// have the same text.
    pub(crate) fn forget_levels(&mut self) {
        for escalation in &mut self.0 {
            escalation.level = None;
        }
    }

    pub(crate) fn end_key(&mut self, key: Digest) {
        self.0.retain(|escalation| escalation.key != key);
    }

    /// The keys and incidents of the limits that were reached.
    pub fn incidents(&self) -> impl Iterator<Item = (Digest, &str)> {
        self.0.iter().filter_map(|escalation| Some((escalation.key, escalation.incident.as_deref()?)))
    }

    /// Lets one call pass the limit of this incident.
    pub(crate) fn allow(&mut self, incident: &str, hint: Option<&str>) {
        for escalation in self.0.iter_mut().filter(|escalation| escalation.incident.as_deref() == Some(incident)) {
            escalation.allowance = Some(Allowance { hint: hint.map(str::to_owned) });
        }
    }

    /// Ends a limit's incident and keeps the number of denials.
    pub(crate) fn forget_incident(&mut self, incident: &str) {
        for escalation in self.0.iter_mut().filter(|escalation| escalation.incident.as_deref() == Some(incident)) {
            escalation.incident = None;
            escalation.allowance = None;
        }
    }

    pub(crate) fn end_incident(&mut self, incident: &str) {
        self.0.retain(|escalation| escalation.incident.as_deref() != Some(incident));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_response_escalates_and_the_same_response_does_not() {
        use EscalationLevel::{Deny, Stop};
        assert_eq!(EscalationLevel::next(None, true), Deny);
        assert_eq!([Deny, Stop].map(|last| EscalationLevel::next(Some(last), true)), [Deny, Stop]);
        assert_eq!([Deny, Stop].map(|last| EscalationLevel::next(Some(last), false)), [Stop, Stop]);
    }
}
