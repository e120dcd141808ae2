//! Slices of work, and the sessions whose agents work on them, in a test world: rows, journal and clocks.

use haltline_core::attempt::{AttemptEvent, CaseSensitivity, FileLocation, Slice, SliceId, Touched};
use haltline_core::identity::{Action, CallResult, Outcome};
use haltline_core::{CircuitName, Decision, Event, Rejection, State};

use crate::loop_::world::Sessions;

/// Everything that a decision sees, and everything that the decisions so far produced.
#[derive(Clone, Debug)]
pub struct World {
    pub sessions: Sessions,
    /// The slice that events and checks are about.
    pub name: CircuitName,
    /// The session that events on slices come from.
    pub session: Option<String>,
    pub case_sensitivity: CaseSensitivity,
    /// The client names the model response of each call; otherwise it only reports when all calls of one have ended.
    pub is_named: bool,
    /// The model response that the last edit belonged to.
    pub response: Option<String>,
    /// All messages of verdicts, in order.
    pub messages: Vec<String>,
}

impl World {
    /// 1 January 2026, a machine that was just started, slice S-1, and nothing has begun.
    pub fn new() -> Self {
        let name = slice_name("S-1").expect("a valid name");
        Self {
            sessions: Sessions::new(),
            name,
            session: None,
            case_sensitivity: CaseSensitivity::Sensitive,
            is_named: true,
            response: None,
            messages: Vec::new(),
        }
    }

    pub fn event(&self, event: AttemptEvent) -> Event {
        Event::Attempt {
            slice: self.name.clone(),
            session: self.session.clone(),
            case_sensitivity: self.case_sensitivity,
            others: self.slices().filter(|name| *name != self.name).collect(),
            event,
        }
    }

    /// Decides an event on the slice now and commits the decision.
    pub fn handle(&mut self, event: AttemptEvent) -> Result<Decision, Rejection> {
        let event = self.event(event);
        let decision = self.sessions.handle(&event)?;
        assert!(
            decision.facts.iter().all(|recorded| recorded.circuit == self.name),
            "an event of one slice is no fact of another"
        );
        self.messages.extend(decision.verdict.reason().map(|reason| reason.text.clone()));
        Ok(decision)
    }

    /// An agent's tool is about to change a file; the hook names the slices that have begun. A call that is not denied
    /// runs.
    pub fn edit(&mut self, path: &str, location: FileLocation, message: Option<String>) -> Decision {
        let slices = self.slices().collect();
        let sessions = &mut self.sessions;
        sessions.count += 1;
        let call = format!("call {}", sessions.count);
        let response = message.or_else(|| Some(format!("response {}", sessions.count)));
        if !self.is_named && response != self.response {
            sessions.batch(&[]);
        }
        sessions.message = response.clone().filter(|_| self.is_named);
        self.response = response;
        sessions.touched =
            vec![Touched { slices, path: path.to_owned(), location, case_sensitivity: self.case_sensitivity }];
        let input = serde_json::json!({"file_path": path, "old_string": "old", "new_string": call});
        let decision = sessions.start(&call, Action::new("Edit", &input.to_string(), Some("/project")));
        sessions.touched = Vec::new();
        if !decision.verdict.denies() {
            sessions.end(&call, CallResult::new(Outcome::Ok, None, "done"));
        }
        self.messages.extend(decision.verdict.reason().map(|reason| reason.text.clone()));
        decision
    }

    /// All slices that are known.
    fn slices(&self) -> impl Iterator<Item = CircuitName> {
        let rows = self.sessions.rows.iter();
        rows.filter(|(_, state)| state.as_slice().is_some()).map(|(name, _)| name.clone())
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
