//! View of `haltline demo`.

use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Serialize)]
pub struct DemoView {
    pub schema: u32,
    /// The client whose hooks were played.
    pub client: &'static str,
    pub calls: Vec<DemoCallView>,
    /// The JSON of `haltline why`.
    pub why: Value,
    /// The text of `haltline why`.
    #[serde(skip)]
    pub why_text: String,
    pub left_alone: LeftAloneView,
    /// The command that installs haltline.
    pub install: &'static str,
}

/// One call of the scripted agent.
#[derive(Debug, Serialize)]
pub struct DemoCallView {
    /// Counted from 1.
    pub number: u64,
    pub command: &'static str,
    /// `pass`, `warn`, `deny` or `stop`.
    pub verdict: &'static str,
    /// The simulated output; `None` if the call was denied.
    pub result: Option<&'static str>,
    /// What the model reads.
    pub to_agent: Option<String>,
    /// What the client shows the person.
    pub to_person: Option<String>,
}

/// An estimate of what the loop costs if nobody ends it.
#[derive(Debug, Serialize)]
pub struct LeftAloneView {
    pub hours: u64,
    pub calls: u64,
    pub tokens: u64,
    /// The length of the conversation, which every call sends again.
    pub conversation_tokens: u64,
    /// In millionths of a dollar.
    pub cost_micros: u64,
    pub model: &'static str,
    pub prices_date: &'static str,
}
