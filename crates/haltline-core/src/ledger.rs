//! What all agents of a machine, or of a project, use together: budgets of a day, a night, a week and a project (L7).
//!
//! A ledger is a row of the store. A decision asks for it only if such a budget is configured. Where a day begins
//! depends on the time zone, so the calendar comes with the event; the end of a period is fixed when it begins, and
//! only the boot clock ends it within one boot, so a clock that is set never un-counts anything (E3).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::circuit::keep_newest;
use crate::fact::{FactKind, synced, unsynced};
use crate::identity::Digest;
use crate::{CircuitName, Decision, Elapsed, Instant, Moment, Operator, Recorded, Texts, Verdict};

/// What a budget covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetScope {
    Session,
    /// Since the person's last prompt.
    Prompt,
    /// From midnight to midnight, local time.
    Day,
    /// The configured hours of the night, local time.
    Night,
    /// From Monday, local time.
    Week,
    Project,
}

impl BudgetScope {
    pub const ALL: [BudgetScope; 6] = [
        BudgetScope::Session,
        BudgetScope::Prompt,
        BudgetScope::Day,
        BudgetScope::Night,
        BudgetScope::Week,
        BudgetScope::Project,
    ];

    /// The name in configuration keys and commands.
    pub fn as_str(self) -> &'static str {
        match self {
            BudgetScope::Session => "session",
            BudgetScope::Prompt => "prompt",
            BudgetScope::Day => "day",
            BudgetScope::Night => "night",
            BudgetScope::Week => "week",
            BudgetScope::Project => "project",
        }
    }

    /// The row that keeps raises of this budget and, except for a session and a prompt, what is used of it.
    pub fn ledger(self) -> CircuitName {
        match self {
            BudgetScope::Project => CircuitName::project_ledger(),
            BudgetScope::Session | BudgetScope::Prompt | BudgetScope::Day | BudgetScope::Night | BudgetScope::Week => {
                CircuitName::machine_ledger()
            }
        }
    }
}

/// What a budget is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetUnit {
    /// Millionths of a dollar.
    Usd,
    /// Tokens; one that is read from the cache counts as a tenth, as it does in the price of most models.
    Tokens,
    Turns,
    Calls,
    Minutes,
}

impl BudgetUnit {
    /// The name in configuration keys.
    pub fn as_str(self) -> &'static str {
        match self {
            BudgetUnit::Usd => "usd",
            BudgetUnit::Tokens => "tokens",
            BudgetUnit::Turns => "turns",
            BudgetUnit::Calls => "calls",
            BudgetUnit::Minutes => "minutes",
        }
    }
}

/// A span of local time, from its start up to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub start: Instant,
    pub end: Instant,
}

/// The day, night and week of an instant in local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    pub day: Window,
    /// `None` outside the hours of the night.
    pub night: Option<Window>,
    pub week: Window,
}

/// An amount of everything that budgets measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Cost in millionths of a dollar, as far as prices are known.
    pub micros: u64,
    /// True if some responses had no known price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    pub tokens: u64,
    #[serde(default)]
    pub calls: u64,
    /// Minutes in which an agent worked.
    #[serde(default)]
    pub minutes: u64,
}

impl Used {
    fn charge(&mut self, charge: &Charge) {
        self.tokens = self.tokens.saturating_add(charge.tokens.unwrap_or_default());
        self.micros = self.micros.saturating_add(charge.micros.unwrap_or_default());
        self.is_partial |= charge.micros.is_none();
    }
}

/// What is used of one period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    pub scope: BudgetScope,
    /// When haltline began to count it.
    pub since: Moment,
    /// `None` for a project, which has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    pub used: Used,
    /// The last minute that counted, since the epoch.
    #[serde(default)]
    pub last_minute: i64,
}

impl Period {
    /// True once the period's length has passed. Where the clocks cannot be compared, the period goes on.
    pub fn is_over(&self, now: Moment) -> bool {
        let Some(window) = self.window else { return false };
        let left = window.end.as_millis().saturating_sub(self.since.at.as_millis());
        match now.since(self.since) {
            Elapsed::Known(elapsed) => elapsed >= u64::try_from(left).unwrap_or_default(),
            Elapsed::Unknown => false,
        }
    }
}

/// What the next model response of an agent will probably use. It ends with the response, with the turn, or with its
/// lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetReservation {
    /// Digest of the agent's row.
    pub agent: Digest,
    pub micros: u64,
    pub tokens: u64,
    pub since: Moment,
}

/// How long a reservation lasts if nothing is heard of its agent.
pub const RESERVATION_LEASE_MS: u64 = 600_000;

impl BudgetReservation {
    fn is_live(&self, now: Moment) -> bool {
        matches!(now.since(self.since), Elapsed::Known(elapsed) if elapsed < RESERVATION_LEASE_MS)
    }
}

/// A person's timed raise of a budget's hard limit. It never lasts longer than stated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raise {
    pub scope: BudgetScope,
    pub unit: BudgetUnit,
    pub amount: u64,
    pub since: Moment,
    pub lifetime_ms: u64,
    /// The account of the person who raised it.
    pub who: String,
}

/// The longest raise.
pub const RAISE_MS_MAX: u64 = 7 * 24 * 3_600_000;

impl Raise {
    /// The stated end.
    pub fn until(&self) -> Instant {
        self.since.plus_millis(self.lifetime_ms).at
    }

    pub fn is_in_force(&self, now: Moment) -> bool {
        now.is_certainly_within(self.since, self.lifetime_ms)
    }
}

/// What a source has used since the ledger's shortest period began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    #[serde(default)]
    pub micros: u64,
    #[serde(default)]
    pub tokens: u64,
    #[serde(default)]
    pub calls: u64,
}

/// What was used in ten minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenMinutes {
    /// Number of the ten minutes since the epoch.
    pub number: i64,
    pub micros: u64,
    pub tokens: u64,
    pub calls: u64,
}

/// What all agents of a machine or a project have used, folded from facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    pub periods: Vec<Period>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reservations: Vec<BudgetReservation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raises: Vec<Raise>,
    /// By source, such as `model claude-opus-5-5`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shares: BTreeMap<String, Share>,
    /// The last hour, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<TenMinutes>,
}

/// Model responses that were paid for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Digest of the agent's row.
    pub agent: Digest,
    pub client: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_sub_agent: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// `None` if the price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

/// A fact about a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerFact {
    /// A period began, with nothing used.
    Began {
        scope: BudgetScope,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<Window>,
    },
    /// Model responses were paid for; as much is reserved for the agent's next one.
    Charged { charge: Charge },
    /// An agent made a call.
    Called { client: String, tool: String },
    /// The agent's turn is over, so nothing is reserved for it.
    Released { agent: Digest },
    /// A person raised a limit for a while.
    Raised { raise: Raise },
}

impl LedgerFact {
    /// The fact's stable name in listings, and whether it is synced.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            LedgerFact::Began { .. } => unsynced("budget_began"),
            LedgerFact::Charged { .. } => unsynced("budget_charged"),
            LedgerFact::Called { .. } => unsynced("budget_called"),
            LedgerFact::Released { .. } => unsynced("budget_released"),
            LedgerFact::Raised { .. } => synced("budget_raised"),
        }
    }
}

/// An event that concerns a ledger itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerEvent {
    /// A person raises a hard limit for a while.
    Raise { scope: BudgetScope, unit: BudgetUnit, amount: u64, lifetime_ms: u64, operator: Operator },
}

impl LedgerEvent {
    /// The stable text that the journal keeps as the cause.
    pub fn cause(&self) -> &'static str {
        match self {
            LedgerEvent::Raise { .. } => "budget_raise",
        }
    }

    /// The row that the event concerns.
    pub fn row(&self) -> CircuitName {
        match self {
            LedgerEvent::Raise { scope, .. } => scope.ledger(),
        }
    }
}

/// How many agents can have something reserved; more cannot run at once on one machine.
const RESERVATIONS_MAX: usize = 512;
/// How many raises are kept.
const RAISES_MAX: usize = 32;
/// How many sources are told apart; the rest counts as `other`.
const SHARES_MAX: usize = 64;
/// One hour and the ten minutes under way.
const RECENT_MAX: usize = 7;
const TEN_MINUTES_MS: i64 = 600_000;

impl Ledger {
    /// The period of a scope that is not over.
    pub fn period(&self, scope: BudgetScope, now: Moment) -> Option<&Period> {
        self.periods.iter().find(|period| period.scope == scope && !period.is_over(now))
    }

    /// What is reserved for responses in flight.
    pub fn reserved(&self, now: Moment) -> Share {
        let live = self.reservations.iter().filter(|reservation| reservation.is_live(now));
        live.fold(Share::default(), |sum, one| Share {
            micros: sum.micros.saturating_add(one.micros),
            tokens: sum.tokens.saturating_add(one.tokens),
            calls: sum.calls,
        })
    }

    /// By how much a hard limit is raised now.
    pub fn raised(&self, scope: BudgetScope, unit: BudgetUnit, now: Moment) -> u64 {
        let raises = self.raises.iter().filter(|raise| (raise.scope, raise.unit) == (scope, unit));
        raises.filter(|raise| raise.is_in_force(now)).fold(0, |sum, raise| sum.saturating_add(raise.amount))
    }

    /// What was used in the last hour.
    pub fn last_hour(&self, now: Moment) -> Share {
        let number = now.at.as_millis().div_euclid(TEN_MINUTES_MS);
        let recent = self.recent.iter().filter(|ten| (number - 6..=number).contains(&ten.number));
        recent.fold(Share::default(), |sum, ten| Share {
            micros: sum.micros.saturating_add(ten.micros),
            tokens: sum.tokens.saturating_add(ten.tokens),
            calls: sum.calls.saturating_add(ten.calls),
        })
    }

    /// The state after a fact.
    pub(crate) fn apply(ledger: Option<Ledger>, fact: &LedgerFact, at: Moment) -> Ledger {
        let mut ledger = ledger.unwrap_or_default();
        match fact {
            LedgerFact::Began { scope, window } => {
                ledger.periods.retain(|period| period.scope != *scope);
                let period =
                    Period { scope: *scope, since: at, window: *window, used: Used::default(), last_minute: i64::MIN };
                ledger.periods.push(period);
                if matches!(scope, BudgetScope::Day | BudgetScope::Project) {
                    ledger.shares.clear();
                }
            }
            LedgerFact::Charged { charge } => ledger.charge(charge, at),
            LedgerFact::Called { client, tool } => {
                ledger.count_in_periods(at, |used| used.calls = used.calls.saturating_add(1));
                for source in [client_source(client), format!("tool {tool}")] {
                    let share = ledger.share(source);
                    share.calls = share.calls.saturating_add(1);
                }
                let ten = ledger.ten_minutes(at);
                ten.calls = ten.calls.saturating_add(1);
            }
            LedgerFact::Released { agent } => {
                ledger.reservations.retain(|reservation| reservation.agent != *agent);
            }
            LedgerFact::Raised { raise } => {
                ledger.raises.retain(|known| known.is_in_force(at));
                ledger.raises.push(raise.clone());
                keep_newest(&mut ledger.raises, RAISES_MAX);
            }
        }
        ledger
    }

    fn charge(&mut self, charge: &Charge, at: Moment) {
        self.count_in_periods(at, |used| used.charge(charge));
        let (micros, tokens) = (charge.micros.unwrap_or_default(), charge.tokens.unwrap_or_default());
        let agent = if charge.is_sub_agent { "sub-agents" } else { "main agents" };
        let sources = [Some(client_source(&charge.client)), Some(agent.to_owned())];
        let model = charge.model.as_ref().map(|model| format!("model {model}"));
        for source in sources.into_iter().chain([model]).flatten() {
            let share = self.share(source);
            share.micros = share.micros.saturating_add(micros);
            share.tokens = share.tokens.saturating_add(tokens);
        }
        let ten = self.ten_minutes(at);
        ten.micros = ten.micros.saturating_add(micros);
        ten.tokens = ten.tokens.saturating_add(tokens);
        self.reservations.retain(|reservation| reservation.agent != charge.agent && reservation.is_live(at));
        self.reservations.push(BudgetReservation { agent: charge.agent, micros, tokens, since: at });
        keep_newest(&mut self.reservations, RESERVATIONS_MAX);
    }

    fn count_in_periods(&mut self, at: Moment, count: impl Fn(&mut Used)) {
        let minute = at.at.as_millis().div_euclid(60_000);
        for period in self.periods.iter_mut().filter(|period| !period.is_over(at)) {
            count(&mut period.used);
            if period.last_minute != minute {
                period.last_minute = minute;
                period.used.minutes = period.used.minutes.saturating_add(1);
            }
        }
    }

    fn share(&mut self, source: String) -> &mut Share {
        let is_known = self.shares.contains_key(&source) || self.shares.len() < SHARES_MAX;
        self.shares.entry(if is_known { source } else { "other".to_owned() }).or_default()
    }

    fn ten_minutes(&mut self, at: Moment) -> &mut TenMinutes {
        let number = at.at.as_millis().div_euclid(TEN_MINUTES_MS);
        let index = self.recent.iter().position(|ten| ten.number == number).unwrap_or_else(|| {
            self.recent.push(TenMinutes { number, micros: 0, tokens: 0, calls: 0 });
            keep_newest(&mut self.recent, RECENT_MAX);
            self.recent.len() - 1
        });
        &mut self.recent[index]
    }
}

/// The source of what a client's agents use; programs that send plain events need not say who they are.
fn client_source(client: &str) -> String {
    if client.is_empty() { "other programs".to_owned() } else { format!("client {client}") }
}

/// Decides an event of a ledger. The operator's rights were checked before.
pub(crate) fn decide(event: &LedgerEvent, now: Moment) -> Decision {
    let LedgerEvent::Raise { scope, unit, amount, lifetime_ms, operator } = event;
    let raise = Raise {
        scope: *scope,
        unit: *unit,
        amount: *amount,
        since: now,
        lifetime_ms: (*lifetime_ms).min(RAISE_MS_MAX),
        who: operator.who.clone(),
    };
    let texts = Texts { text: operator.reason.clone(), ..Texts::default() };
    let fact = crate::Fact::Ledger(LedgerFact::Raised { raise });
    let facts = vec![Recorded { circuit: event.row(), at: now, fact, texts }];
    Decision { facts, verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() }
}
