//! The circuits of the model service that the loop's client uses: an iteration waits until the service answers again, and
//! what it answers is reported for all agents of the machine (L7).

use std::path::Path;

use haltline_agents::Client;
use haltline_agents::headless::{Ending, HeadlessReport};
use haltline_agents::provider::{StatedFault, account_of};
use haltline_core::loop_::{ProviderAccount, ProviderEvent, ProviderRequest};
use haltline_core::{Event, Retry, Verdict};

use super::super::ending::End;
use super::super::iteration::Wait;
use super::LoopRunner;
use crate::environment::variable;
use crate::error::Failure;
use crate::local_time::stated_instant;
use crate::run::Inbox;

impl LoopRunner<'_> {
    /// The account of the client that the loop runs, if the command is a client.
    fn provider_account(&self) -> Option<ProviderAccount> {
        let program = Path::new(self.command.command.first()?).file_name()?.to_str()?;
        let client = Client::ALL.into_iter().find(|client| client.cli_name() == program)?;
        account_of(client.name(), variable)
    }

    fn report_to_provider(&self, what: ProviderRequest) -> Result<Verdict, Failure> {
        let Some(account) = self.provider_account() else { return Ok(Verdict::Pass) };
        let event = ProviderEvent { account, requester: self.run_id.clone(), what };
        let committed = self.context.engine.handle(Event::Provider(event)).map_err(Failure::for_phase_run)?;
        for notice in &committed.decision.notices {
            self.say(notice.strip_prefix("haltline: ").unwrap_or(notice));
        }
        Ok(committed.decision.verdict)
    }

    /// Waits until the service lets an iteration begin; returns the end if that is too late for this run.
    pub(super) fn await_provider(&mut self, inbox: &mut Inbox) -> Result<Option<End>, Failure> {
        loop {
            let verdict = self.report_to_provider(ProviderRequest::Begin)?;
            let Some(reason) = verdict.reason().filter(|_| verdict.denies()) else { return Ok(None) };
            let until = match reason.retry {
                Retry::At(at) => Some(at),
                Retry::Now | Retry::Person => None,
            };
            let wait = Wait { until, obstacle: "the limit of the model service", message: reason.text.clone() };
            if let Some(end) = self.wait(inbox, &wait)? {
                return Ok(Some(end));
            }
        }
    }

    /// Reports what the service answered the iteration.
    pub(super) fn report_answer(&self, client_report: &HeadlessReport) -> Result<(), Failure> {
        let what = match (StatedFault::from_ending(&client_report.ending), &client_report.ending) {
            (Some(fault), _) => {
                let now = self.context.engine.now().at;
                let until = fault.reset.as_ref().map(|reset| stated_instant(reset, now));
                ProviderRequest::Fault(fault.until(until))
            }
            (None, Ending::Finished | Ending::Hook { .. } | Ending::Turns) => ProviderRequest::Answered,
            (
                None,
                Ending::Silent | Ending::ApiLimit { .. } | Ending::Infrastructure { .. } | Ending::Failed { .. },
            ) => ProviderRequest::Unanswered,
        };
        self.report_to_provider(what).map(drop)
    }
}
