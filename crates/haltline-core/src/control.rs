//! What a person controls for one project or for everything: pauses, and changes of the configuration (E6).
//!
//! A pause lets every call through and counts nothing; circuits keep their state. Its end is fixed when it begins. A
//! pause never lasts longer than stated: as soon as one clock says that it is over, or the clocks cannot be compared, it
//! has ended (E3).

use serde::{Deserialize, Serialize};

use crate::fact::{FactKind, synced};
use crate::{CircuitName, Decision, Instant, Moment, Operator, Recorded, Texts, Verdict};

/// The longest pause: no pause is forgotten for weeks.
pub const PAUSE_MS_MAX: u64 = 24 * 3_600_000;

/// What a person has switched in one scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// The pause that began last, unless a person ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
}

/// A time in which haltline lets every call through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    pub since: Moment,
    pub lifetime_ms: u64,
    /// The session that it is limited to, as rows name it; `None` is every session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The account of the person who paused.
    pub who: String,
}

impl Pause {
    /// The stated end.
    pub fn until(&self) -> Instant {
        self.since.plus_millis(self.lifetime_ms).at
    }

    /// True if the pause is not limited to another session.
    pub fn covers(&self, session: &str) -> bool {
        self.session.as_deref().is_none_or(|paused| CircuitName::agent(session, None).scope() == paused)
    }

    /// True until the stated end; see [`Moment::is_certainly_within`].
    pub fn is_in_force(&self, now: Moment) -> bool {
        now.is_certainly_within(self.since, self.lifetime_ms)
    }
}

/// What became true of a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    Paused {
        pause: Pause,
    },
    /// A person ended a pause before its time.
    Unpaused {
        who: String,
    },
    /// The session that a pause was limited to has ended.
    SessionPauseEnded,
    /// A person started a client with `HALTLINE=off`. [`Texts::session`] names its session.
    SwitchedOff,
    /// A person changed a configuration file through haltline. The old and the new value are in [`Texts::text`].
    ConfigChanged {
        file: ConfigFile,
        /// The key; `None` if the person edited the whole file.
        key: Option<String>,
        who: String,
    },
}

/// Which configuration file a person changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigFile {
    User,
    Project,
}

impl Fact {
    /// The fact's stable name in listings, and whether it is synced.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            Fact::Paused { .. } => synced("paused"),
            Fact::Unpaused { .. } => synced("unpaused"),
            Fact::SessionPauseEnded => synced("pause_ended"),
            Fact::SwitchedOff => synced("switched_off"),
            Fact::ConfigChanged { .. } => synced("config_changed"),
        }
    }
}

/// An event that concerns one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlEvent {
    /// A person pauses haltline; a new pause replaces an older one.
    Pause {
        lifetime_ms: u64,
        session: Option<String>,
        operator: Operator,
    },
    Unpause(Operator),
    SessionEnded {
        session: String,
    },
    /// The first event of a session whose client a person started with `HALTLINE=off`.
    SwitchedOff {
        session: String,
    },
    ConfigChanged {
        file: ConfigFile,
        key: Option<String>,
        /// `old → new`.
        change: String,
        operator: Operator,
    },
}

impl ControlEvent {
    /// The stable text that the journal keeps as the cause.
    pub fn cause(&self) -> &'static str {
        match self {
            ControlEvent::Pause { .. } => "pause",
            ControlEvent::Unpause(_) => "unpause",
            ControlEvent::SessionEnded { .. } => "session_end",
            ControlEvent::SwitchedOff { .. } => "switched_off",
            ControlEvent::ConfigChanged { .. } => "config",
        }
    }
}

/// Decides an event. Ending a pause that has ended already changes nothing.
pub(crate) fn decide(control: Option<&Control>, event: &ControlEvent, now: Moment) -> Decision {
    let pause = control.and_then(|control| control.pause.as_ref()).filter(|pause| pause.is_in_force(now));
    let recorded = |fact: Fact, session: Option<&String>, text: Option<&String>| {
        let texts = Texts { session: session.cloned(), text: text.cloned(), about: None };
        vec![Recorded { circuit: CircuitName::control(), at: now, fact: crate::Fact::Control(fact), texts }]
    };
    let facts = match event {
        ControlEvent::Pause { lifetime_ms, session, operator } => {
            let lifetime_ms = (*lifetime_ms).min(PAUSE_MS_MAX);
            let pause = Pause { since: now, lifetime_ms, session: session.clone(), who: operator.who.clone() };
            recorded(Fact::Paused { pause }, session.as_ref(), operator.reason.as_ref())
        }
        ControlEvent::Unpause(operator) => match pause {
            Some(_) => recorded(Fact::Unpaused { who: operator.who.clone() }, None, operator.reason.as_ref()),
            None => Vec::new(),
        },
        ControlEvent::SessionEnded { session } => match pause {
            Some(pause) if pause.session.is_some() && pause.covers(session) => {
                recorded(Fact::SessionPauseEnded, Some(session), None)
            }
            Some(_) | None => Vec::new(),
        },
        ControlEvent::SwitchedOff { session } => recorded(Fact::SwitchedOff, Some(session), None),
        ControlEvent::ConfigChanged { file, key, change, operator } => {
            let fact = Fact::ConfigChanged { file: *file, key: key.clone(), who: operator.who.clone() };
            let text = match &operator.reason {
                Some(reason) => format!("{change} ({reason})"),
                None => change.clone(),
            };
            recorded(fact, None, Some(&text))
        }
    };
    Decision { facts, verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() }
}

/// Returns the control after a fact.
pub fn apply(control: Option<Control>, fact: &Fact, _at: Moment) -> Control {
    let control = control.unwrap_or_default();
    match fact {
        Fact::Paused { pause } => Control { pause: Some(pause.clone()) },
        Fact::Unpaused { .. } | Fact::SessionPauseEnded => Control { pause: None },
        Fact::SwitchedOff | Fact::ConfigChanged { .. } => control,
    }
}
