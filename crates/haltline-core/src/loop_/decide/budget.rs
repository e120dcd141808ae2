//! Decides what budgets deny and warn of, and counts what many agents share (L7).

use super::*;
use crate::identity::Action;
use crate::ledger::{BudgetScope, BudgetUnit, Charge, Ledger, LedgerFact, Window};
use crate::loop_::budget::{BudgetLine, budget_lines};

/// The ledgers that a decision has read. A ledger is read only if a budget needs it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledgers {
    machine: Option<Ledger>,
    project: Option<Ledger>,
}

/// A hard limit that is reached.
pub(super) enum Exceeded {
    Limit(BudgetLine),
    /// The minute under way has cost too much: what it has cost, and when it ends.
    SpendRate(u64, crate::Instant),
    /// The sub-agents that run have cost too much: what they have cost, and the limit.
    FanOut(u64, u64),
}

const SAVE: &str = "save your work with edits and `git commit`, say what is left to do, and stop.";
const NOTHING_NEW: &str = "start anything new.";

impl AgentDraft<'_> {
    /// True if any budget is set, so that calls must be compared with it.
    pub(super) fn has_budget(&self) -> bool {
        self.limits.budget.is_set() || self.limits.budgets.is_set() || self.limits.spend_rate.hard_micros.is_some()
    }

    /// Reads the rows that the configured budgets need.
    fn need_budget_rows(&mut self) -> Result<(), Halt> {
        self.need_tree()?;
        let read = |row: CircuitName| -> Result<Option<Ledger>, Halt> {
            Ok(self.memory.require(&row)?.and_then(|state| state.as_ledger()).cloned())
        };
        // The machine's ledger also keeps the raises of the budgets of sessions and prompts.
        if self.ledgers.machine.is_none() {
            self.ledgers.machine = Some(read(CircuitName::machine_ledger())?.unwrap_or_default());
        }
        if self.ledgers.project.is_none() && self.limits.budgets.project.is_set() {
            self.ledgers.project = Some(read(CircuitName::project_ledger())?.unwrap_or_default());
        }
        Ok(())
    }

    /// Counts in every ledger whose budgets are set, after beginning the periods that have come.
    fn record_in_ledgers(&mut self, fact: &LedgerFact) -> Result<(), Halt> {
        self.need_budget_rows()?;
        if self.limits.budgets.is_machine_set()
            && let Some(calendar) = self.request.calendar
        {
            let periods = [
                (BudgetScope::Day, Some(calendar.day)),
                (BudgetScope::Night, calendar.night),
                (BudgetScope::Week, Some(calendar.week)),
            ];
            for (scope, window) in periods {
                if let Some(window) = window {
                    self.begin_period(scope, Some(window));
                }
            }
            self.record_in_ledger(BudgetScope::Day, fact.clone());
        }
        if self.limits.budgets.project.is_set() {
            self.begin_period(BudgetScope::Project, None);
            self.record_in_ledger(BudgetScope::Project, fact.clone());
        }
        Ok(())
    }

    fn begin_period(&mut self, scope: BudgetScope, window: Option<Window>) {
        let ledger = if scope == BudgetScope::Project { &self.ledgers.project } else { &self.ledgers.machine };
        if ledger.as_ref().is_some_and(|ledger| ledger.period(scope, self.now).is_none()) {
            self.record_in_ledger(scope, LedgerFact::Began { scope, window });
        }
    }

    fn record_in_ledger(&mut self, scope: BudgetScope, fact: LedgerFact) {
        let (row, now) = (scope.ledger(), self.now);
        let slot = if scope == BudgetScope::Project { &mut self.ledgers.project } else { &mut self.ledgers.machine };
        let ledger = slot.take();
        *slot = Some(self.draft.record(&row, ledger, now, fact, Texts::default()));
    }

    /// Counts model responses that were paid for.
    pub(super) fn count_spending(
        &mut self,
        usage: Option<Usage>,
        micros: Option<u64>,
        model: Option<&str>,
    ) -> Result<(), Halt> {
        let tokens = usage.map(|usage| usage.weighted_tokens());
        self.need_tree()?;
        let is_paced = micros.is_some();
        let is_sub_agent = self.request.agent_ref.sub_agent.is_some() && self.limits.budgets.fan_out_micros.is_some();
        self.record_in_tree(AgentTreeFact::Spent { tokens, micros, is_paced, is_sub_agent });
        if self.limits.budgets.is_shared_set() {
            let charge = Charge {
                agent: self.agent_digest(),
                client: self.request.agent_ref.client.clone(),
                is_sub_agent: self.request.agent_ref.sub_agent.is_some(),
                model: model.map(short),
                tokens,
                micros,
            };
            self.record_in_ledgers(&LedgerFact::Charged { charge })?;
        }
        Ok(())
    }

    /// Counts a call in the budgets that count calls.
    pub(super) fn count_budget_call(&mut self, tool: &str) -> Result<(), Halt> {
        let budgets = &self.limits.budgets;
        if self.limits.budget.calls != super::super::Bound::default()
            || budgets.prompt.calls != super::super::Bound::default()
        {
            self.need_tree()?;
            self.record_in_tree(AgentTreeFact::Called);
        }
        if budgets.is_shared_set() {
            let client = self.request.agent_ref.client.clone();
            self.record_in_ledgers(&LedgerFact::Called { client, tool: short(tool) })?;
        }
        Ok(())
    }

    /// Releases what is reserved for an agent whose turn is over.
    pub(super) fn release_reservation(&mut self, row: &CircuitName) -> Result<(), Halt> {
        if !self.limits.budgets.is_shared_set() || self.is_duplicate {
            return Ok(());
        }
        self.need_budget_rows()?;
        let agent = Digest::from_parts(&[row.as_str().as_bytes()]);
        let holds = |ledger: &Option<Ledger>| {
            ledger.as_ref().is_some_and(|ledger| ledger.reservations.iter().any(|one| one.agent == agent))
        };
        let scopes =
            [(BudgetScope::Day, holds(&self.ledgers.machine)), (BudgetScope::Project, holds(&self.ledgers.project))];
        for (scope, _) in scopes.into_iter().filter(|(_, holds)| *holds) {
            self.record_in_ledger(scope, LedgerFact::Released { agent });
        }
        Ok(())
    }

    /// A prompt of the person begins the budget of the prompt.
    pub(super) fn begin_prompt_budget(&mut self) -> Result<(), Halt> {
        if self.limits.budgets.prompt.is_set() {
            self.need_tree()?;
            self.record_in_tree(AgentTreeFact::PromptBudgetBegan);
            self.lapse_limits(&["budget prompt"]);
        }
        Ok(())
    }

    fn budget_lines(&self) -> Vec<BudgetLine> {
        let Ledgers { machine, project } = &self.ledgers;
        budget_lines(self.tree.as_ref(), machine.as_ref(), project.as_ref(), self.limits, self.now)
    }

    /// Once a hard limit is reached, denies every call that does not save work. Work that needs further responses is
    /// denied as soon as those in flight will probably use up the rest.
    pub(super) fn check_hard_budget(&mut self, action: &Action, is_spawn: bool) -> Result<Option<Verdict>, Halt> {
        if !self.has_budget() {
            return Ok(None);
        }
        self.need_budget_rows()?;
        let Some(exceeded) = self.exceeded(is_spawn) else { return Ok(None) };
        if self.has_allowance(Pattern::Budget, exceeded.limit_key()) {
            return Ok(None);
        }
        let saved = self.tree.as_ref().map_or(0, |tree| tree.saving_calls_used);
        if action.is_saving && saved < self.limits.budget.saving_calls {
            self.is_saving = true;
            return Ok(None);
        }
        Ok(Some(self.deny_over_budget(exceeded)))
    }

    /// The first hard limit that is reached.
    fn exceeded(&self, is_new_work: bool) -> Option<Exceeded> {
        let rate = self.tree.as_ref().and_then(|tree| tree.spend_rate.as_ref());
        let rate = rate.and_then(|rate| rate.too_fast(&self.limits.spend_rate, self.now));
        let is_over = |line: &BudgetLine| line.is_exceeded() || (is_new_work && line.is_reserved_up());
        let line = self.budget_lines().into_iter().find(is_over);
        let fan_out = self.fan_out_exceeded(is_new_work);
        line.map(Exceeded::Limit).or(fan_out).or(rate.map(|(micros, until)| Exceeded::SpendRate(micros, until)))
    }

    /// What the sub-agents that run have cost, if that is too much: it concerns them, and every agent that starts another one.
    fn fan_out_exceeded(&self, is_new_work: bool) -> Option<Exceeded> {
        let hard = self.limits.budgets.fan_out_micros?;
        let spent = self.tree.as_ref().map_or(0, |tree| tree.fan_out_micros);
        let is_concerned = is_new_work || self.request.agent_ref.sub_agent.is_some();
        let is_over = self.tree.as_ref().is_some_and(|tree| tree.live() > 0) && spent >= hard;
        (is_concerned && is_over).then_some(Exceeded::FanOut(spent, hard))
    }

    /// The denial once a hard limit is reached and the calls allowed for saving work are used up.
    pub(super) fn exhausted_budget(&mut self) -> Result<Option<Verdict>, Halt> {
        if !self.has_budget() {
            return Ok(None);
        }
        self.need_budget_rows()?;
        let is_saved = self.tree.as_ref().is_some_and(|tree| tree.saving_calls_used >= self.limits.budget.saving_calls);
        let exceeded = self.exceeded(false).filter(|exceeded| is_saved && matches!(exceeded, Exceeded::Limit(_)));
        Ok(exceeded.map(|exceeded| self.deny_over_budget(exceeded)))
    }

    /// Denies because a hard limit is reached.
    fn deny_over_budget(&mut self, exceeded: Exceeded) -> Verdict {
        let key = exceeded.limit_key();
        let saved = self.tree.as_ref().map_or(0, |tree| tree.saving_calls_used);
        let (explanation, retry) = match exceeded {
            Exceeded::Limit(line) => {
                let hard = line.show(line.hard.unwrap_or_default());
                let fact = match line.is_exceeded() {
                    true => format!("{} is spent: {} of {hard}", line.subject(), line.shown),
                    false => format!(
                        "{} is taken: {} used and {} reserved for agents at work, of {hard}",
                        line.subject(),
                        line.shown,
                        line.show(line.reserved)
                    ),
                };
                let code = if line.scope == BudgetScope::Session { "HL-BUDGET-02" } else { "HL-BUDGET-04" };
                let explanation = Explanation::new(Pattern::Budget, code, fact, SAVE, NOTHING_NEW);
                (explanation.raise(&format!("{}_hard", line.key()), hard), line.until.map_or(Retry::Person, Retry::At))
            }
            Exceeded::FanOut(micros, hard) => {
                let (spent, hard) = (messages::dollars(micros), messages::dollars(hard));
                let fact = format!("the sub-agents that run together have cost {spent} of {hard}");
                let explanation =
                    Explanation::new(Pattern::Budget, "HL-BUDGET-07", fact, SAVE, "start another sub-agent.");
                (explanation.raise("budget.fan_out.usd_hard", hard), Retry::Person)
            }
            Exceeded::SpendRate(micros, until) => {
                let hard = messages::dollars(self.limits.spend_rate.hard_micros.unwrap_or_default());
                let fact = format!("this minute has cost {} of {hard}", messages::dollars(micros));
                let explanation = Explanation::new(
                    Pattern::Budget,
                    "HL-BUDGET-06",
                    fact,
                    "wait until the minute is over, then go on with fewer calls at once.",
                    "start anything new before that.",
                );
                (explanation.raise("budget.velocity.usd_hard", hard), Retry::At(until))
            }
        };
        self.deny_at_limit(explanation, key, saved, retry)
    }

    /// Warns the agent once for each soft or hard limit that is reached.
    pub(super) fn warn_of_budget(&mut self) -> Result<Verdict, Halt> {
        if !self.limits.budget.is_set() && !self.limits.budgets.is_set() {
            return Ok(Verdict::Pass);
        }
        self.need_budget_rows()?;
        for line in self.budget_lines() {
            for (kind, limit) in [("hard", line.hard), ("soft", line.soft)] {
                let key = warned_key(&line, kind);
                let is_warned = self.tree.as_ref().is_some_and(|tree| tree.warned_limits.contains(&key));
                let Some(limit) = limit.filter(|&limit| line.used >= limit && !is_warned) else { continue };
                self.record_in_tree(AgentTreeFact::LimitWarned { key });
                let is_session = line.scope == BudgetScope::Session;
                let (code, instead, avoid) = match kind {
                    "hard" => (
                        if is_session { "HL-BUDGET-02" } else { "HL-BUDGET-04" },
                        "save your work now: only edits and `git commit` are let through, and not for long.",
                        NOTHING_NEW,
                    ),
                    _soft => (
                        if is_session { "HL-BUDGET-01" } else { "HL-BUDGET-03" },
                        "finish what matters most.",
                        "begin anything new.",
                    ),
                };
                let limit = line.show(limit);
                let fact = match line.scope {
                    BudgetScope::Session => format!("the session has used {} of {limit} ({kind} limit)", line.shown),
                    BudgetScope::Prompt
                    | BudgetScope::Day
                    | BudgetScope::Night
                    | BudgetScope::Week
                    | BudgetScope::Project => {
                        format!("{} has {} of {limit} used ({kind} limit)", line.subject(), line.shown)
                    }
                };
                // The person reads about the hard limit in the notice of the first denial, so not here as well (E16).
                if kind == "soft" {
                    self.draft.notices.push(format!("haltline ({code}): {fact}"));
                }
                let explanation = Explanation::new(Pattern::Budget, code, fact, instead, avoid);
                return Ok(self.warn(&explanation, key, 1, None));
            }
        }
        Ok(Verdict::Pass)
    }

    /// Warns the agent and the person, once in a session, that it spends many times as fast as usual.
    pub(super) fn warn_of_spend_rate(&mut self) -> Option<Verdict> {
        let tree = self.tree.as_ref()?;
        let (current, median) = tree.spend_rate.as_ref()?.unusual(&self.limits.spend_rate)?;
        let key = limit_key("spend rate");
        if tree.warned_limits.contains(&key) {
            return None;
        }
        self.record_in_tree(AgentTreeFact::LimitWarned { key });
        let (current, median) = (messages::dollars(current), messages::dollars(median));
        let fact = format!("this session now spends {current} per minute; its median is {median}");
        self.draft.notices.push(format!("haltline (HL-BUDGET-05): {fact}"));
        let instead = "check that what runs now is worth it, and start less at once.";
        let explanation =
            Explanation::new(Pattern::Budget, "HL-BUDGET-05", fact, instead, "go on without looking at the cost.");
        Some(self.warn(&explanation, key, 1, None))
    }

    /// Ends the incidents of budgets: the call has passed them.
    pub(super) fn lapse_budgets(&mut self) {
        self.lapse_limits(&[
            "budget",
            "budget prompt",
            "budget day",
            "budget night",
            "budget week",
            "budget project",
            "budget velocity",
            "budget fan_out",
        ]);
    }
}

impl Exceeded {
    fn limit_key(&self) -> Digest {
        match self {
            Exceeded::Limit(line) if line.scope == BudgetScope::Session => limit_key("budget"),
            Exceeded::Limit(line) => limit_key(&format!("budget {}", line.scope.as_str())),
            Exceeded::SpendRate(..) => limit_key("budget velocity"),
            Exceeded::FanOut(..) => limit_key("budget fan_out"),
        }
    }
}

/// Under what a warning is kept, so that it is given once in a session and, for a period, once in each of them.
fn warned_key(line: &BudgetLine, kind: &str) -> Digest {
    let unit = if line.unit == BudgetUnit::Usd { "cost" } else { line.unit.as_str() };
    match (line.scope, line.until) {
        (BudgetScope::Session, _) => limit_key(&format!("budget {kind} {unit}")),
        (scope, until) => {
            let until = until.map_or(0, crate::Instant::as_millis);
            limit_key(&format!("budget {} {kind} {unit} {until}", scope.as_str()))
        }
    }
}
