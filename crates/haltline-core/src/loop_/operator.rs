//! What a person does to the circuits of a session (E6, X4).

use super::{BoardFact, Exempt, ExemptFact, Exemption, Held, LaneFact, Opening, TreeFact};
use crate::{CircuitName, Decision, Fact, Memory, Moment, Operator, Recorded, Rejection, State, Step, Texts, Verdict};

/// What a person wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Close one circuit, or all of them, and forget what was counted.
    Reset {
        /// Which; `None` is all.
        incident: Option<String>,
    },
    /// Allow one probe now.
    Resume {
        /// Which.
        incident: String,
        /// What the agent should know.
        hint: Option<String>,
    },
    /// It was a false alarm: close, and never trip on it again in this project.
    FalseAlarm {
        /// Which.
        incident: String,
    },
}

impl Verb {
    /// The word the journal keeps.
    pub fn cause(&self) -> &'static str {
        match self {
            Verb::Reset { .. } => "reset",
            Verb::Resume { .. } => "resume",
            Verb::FalseAlarm { .. } => "false_positive",
        }
    }
}

/// Decides what a person wants of one row's circuits.
pub fn decide(memory: &Memory, row: &CircuitName, verb: &Verb, operator: &Operator, now: Moment) -> Step {
    let exempt = CircuitName::exempt();
    let (Some(state), Some(known)) = (memory.row(row), memory.row(&exempt)) else {
        return Step::Needs(vec![row.clone(), exempt]);
    };
    let board = match state {
        Some(State::Lane(lane)) => &lane.board,
        Some(State::Tree(tree)) => &tree.board,
        Some(
            State::Constraint(_)
            | State::Course(_)
            | State::Slice(_)
            | State::Claim(_)
            | State::Pipeline(_)
            | State::Trust(_)
            | State::Exempt(_),
        )
        | None => {
            return Step::Rejected(Rejection::NoIncident);
        }
    };
    let wrap = |fact: BoardFact| match state {
        Some(State::Tree(_)) => Fact::Tree(TreeFact::Board(fact)),
        Some(
            State::Lane(_)
            | State::Constraint(_)
            | State::Course(_)
            | State::Slice(_)
            | State::Claim(_)
            | State::Pipeline(_)
            | State::Trust(_)
            | State::Exempt(_),
        )
        | None => Fact::Lane(LaneFact::Board(fact)),
    };
    let record = |circuit: CircuitName, fact: Fact| {
        let texts = Texts { session: None, text: operator.reason.clone() };
        Recorded { circuit, at: now, fact, texts }
    };
    let who = operator.who.clone();
    let mut facts = Vec::new();
    match verb {
        Verb::Reset { incident } => {
            if incident.as_deref().is_some_and(|incident| !board.knows(incident)) {
                return Step::Rejected(Rejection::NoIncident);
            }
            facts.push(record(row.clone(), wrap(BoardFact::Reset { who, incident: incident.clone() })));
        }
        Verb::Resume { incident, hint } => {
            if board.held(incident).is_some() {
                let fact =
                    BoardFact::HalfOpened { incident: incident.clone(), by: Opening::Person, hint: hint.clone() };
                facts.push(record(row.clone(), wrap(fact)));
            } else if board.knows(incident) {
                facts.push(record(row.clone(), wrap(BoardFact::Reset { who, incident: Some(incident.clone()) })));
            } else {
                return Step::Rejected(Rejection::NoIncident);
            }
        }
        Verb::FalseAlarm { incident } => {
            let Some(Held { trip, .. }) = board.held(incident) else {
                return Step::Rejected(Rejection::NoIncident);
            };
            let exemption = Exemption {
                pattern: trip.pattern,
                key: trip.key,
                incident: incident.clone(),
                who: who.clone(),
                at: now.at,
            };
            let is_known =
                known.and_then(State::as_exempt).is_some_and(|list: &Exempt| list.covers(trip.pattern, trip.key));
            if !is_known {
                facts.push(record(exempt, Fact::Exempt(ExemptFact::Exempted { exemption })));
            }
            facts.push(record(row.clone(), wrap(BoardFact::FalseAlarm { who, incident: incident.clone() })));
        }
    }
    Step::Decided(Decision { facts, verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
}

/// Takes a false alarm back.
pub fn decide_revoke(memory: &Memory, incident: &str, operator: &Operator, now: Moment) -> Step {
    let name = CircuitName::exempt();
    let Some(row) = memory.row(&name) else { return Step::Needs(vec![name]) };
    let is_known = row
        .and_then(State::as_exempt)
        .is_some_and(|list| list.exemptions.iter().any(|exemption| exemption.incident == incident));
    if !is_known {
        return Step::Rejected(Rejection::NoIncident);
    }
    let fact = Fact::Exempt(ExemptFact::Revoked { incident: incident.to_owned(), who: operator.who.clone() });
    let texts = Texts { session: None, text: operator.reason.clone() };
    let facts = vec![Recorded { circuit: name, at: now, fact, texts }];
    Step::Decided(Decision { facts, verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
}
