//! Slices of work, and the sessions whose agents work on them: rows, journal and clocks, moved by hand.

// Each test file uses its part of this.
#![allow(dead_code, reason = "shared by the rules and the properties of the attempt family")]

use haltline_core::attempt::{Happening, Letters, Place, Slice, SliceId, Touched};
use haltline_core::identity::{Action, Answer, Outcome};
use haltline_core::{CircuitName, Decision, Event, Operator, Rejection, State};

use crate::sessions::Sessions;

/// Everything a decision sees, and everything that came of the decisions so far.
#[derive(Clone, Debug)]
pub struct World {
    pub sessions: Sessions,
    /// The slice that is looked at.
    pub name: CircuitName,
    /// The session that events of slices come from.
    pub session: Option<String>,
    pub letters: Letters,
    /// The client says which response a call belongs to; else it only says when all calls of one have ended.
    pub is_named: bool,
    /// The response that the last edit belonged to.
    pub response: Option<String>,
    /// What anybody was told, in order.
    pub said: Vec<String>,
}

impl World {
    /// New Year 2026, a machine that was just started, slice S-1, and nothing has begun.
    pub fn new() -> Self {
        let name = slice_name("S-1").expect("a valid name");
        Self {
            sessions: Sessions::new(),
            name,
            session: None,
            letters: Letters::Distinct,
            is_named: true,
            response: None,
            said: Vec::new(),
        }
    }

    pub fn event(&self, what: Happening) -> Event {
        Event::Attempt { slice: self.name.clone(), session: self.session.clone(), letters: self.letters, what }
    }

    /// Something happens to the slice now. What is decided is committed.
    pub fn tell(&mut self, what: Happening) -> Result<Decision, Rejection> {
        let event = self.event(what);
        let decision = self.sessions.handle(&event)?;
        assert!(
            decision.facts.iter().all(|recorded| recorded.circuit == self.name),
            "an event of one slice is no fact of another"
        );
        self.said.extend(decision.verdict.reason().map(|reason| reason.text.clone()));
        Ok(decision)
    }

    /// An agent's tool is about to change a file; the hook names the slices that have begun. What is not refused runs.
    pub fn edit(&mut self, path: &str, place: Place, message: Option<String>) -> Decision {
        let rows = self.sessions.rows.iter();
        let slices = rows.filter(|(_, state)| state.as_slice().is_some()).map(|(name, _)| name.clone()).collect();
        let sessions = &mut self.sessions;
        sessions.count += 1;
        let call = format!("call {}", sessions.count);
        let response = message.or_else(|| Some(format!("response {}", sessions.count)));
        if !self.is_named && response != self.response {
            sessions.batch(&[]);
        }
        sessions.message = response.clone().filter(|_| self.is_named);
        self.response = response;
        sessions.touched = vec![Touched { slices, path: path.to_owned(), place, letters: self.letters }];
        let input = serde_json::json!({"file_path": path, "old_string": "old", "new_string": call});
        let decision = sessions.start(&call, Action::new("Edit", &input.to_string(), Some("/project")));
        sessions.touched = Vec::new();
        if !decision.verdict.refuses() {
            sessions.end(&call, Answer::new(Outcome::Ok, None, "done"));
        }
        self.said.extend(decision.verdict.reason().map(|reason| reason.text.clone()));
        decision
    }

    pub fn slice(&self) -> Option<&Slice> {
        self.slice_of(&self.name)
    }

    pub fn slice_of(&self, name: &CircuitName) -> Option<&Slice> {
        self.sessions.rows.get(name).and_then(State::as_slice)
    }
}

/// The circuit of a slice.
pub fn slice_name(id: &str) -> Result<CircuitName, String> {
    let id = SliceId::parse(id).map_err(|error| error.to_string())?;
    Ok(CircuitName::slice(&id, None))
}

/// The person of these tests.
pub fn operator(reason: Option<String>) -> Operator {
    Operator { who: "anna".to_owned(), reason }
}
