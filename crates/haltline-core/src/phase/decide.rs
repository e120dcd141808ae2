//! Decides events on a phase run (P1–P4, P6).

use super::{
    Bounds, Choice, Fact, ForeignRun, ForeignState, Iterated, Joining, Kind, OverReason, PhaseEvent, PhaseName,
    PhaseRun, Precedence, Report, RunState, Signal, Source, Start, Trip, TripCause, WeighedSignal, log_line, trip_text,
};
use crate::circuit::{incident_id, is_stale};
use crate::draft::Draft;
use crate::{
    CircuitName, Decision, Fact as AnyFact, Halt, Moment, Operator, Policy, Reason, Recorded, Rejection, Retry, Texts,
    Verdict,
};

/// An event with everything that the decision needs.
#[derive(Clone, Debug)]
pub struct PhaseRequest<'a> {
    pub name: CircuitName,
    pub session: Option<&'a str>,
    /// Limits that replace the policy's: Ralph's come from its own variables.
    pub bounds: Option<Bounds>,
    pub event: &'a PhaseEvent,
}

pub fn decide(
    phase_run: Option<&PhaseRun>,
    policy: &Policy,
    request: &PhaseRequest<'_>,
    now: Moment,
) -> Result<Decision, Halt> {
    let known = phase_run.is_some();
    let mut draft = PhaseRunDraft {
        request,
        policy,
        now,
        phase_run: phase_run.cloned().unwrap_or_else(|| PhaseRun::new(now)),
        is_known: known,
        draft: Draft::default(),
    };
    draft.record_cooldown_end();
    let outcome = match request.event {
        PhaseEvent::Begin { phase, joining, operator } => Ok(draft.begin(phase, *joining, operator.as_ref(), known)),
        // An iteration belongs to a phase.
        PhaseEvent::Ask { start: Some(_) } if !known => Err(Rejection::NoPhaseRun),
        PhaseEvent::Ask { start } => Ok(draft.ask(*start)),
        PhaseEvent::Look => Ok(draft.verdict()),
        PhaseEvent::Report(report) => draft.report(report, known),
        PhaseEvent::Decide { choice, operator } if known => draft.choose(choice, operator),
        PhaseEvent::Decide { .. } => Err(Rejection::NoPhaseRun),
        PhaseEvent::AutoReset => {
            // This includes a circuit whose cooldown has just ended: it was OPEN when Ralph asked for the reset.
            if phase_run.is_some_and(|phase_run| phase_run.trip().is_some()) {
                draft.push(Fact::Reset { who: "auto-reset".to_owned(), clears_open_count: false });
            }
            Ok(draft.verdict())
        }
        PhaseEvent::Finish(how) => {
            draft.push(Fact::Finished { how: *how });
            Ok(Verdict::Pass)
        }
        PhaseEvent::StateFileFound(foreign) => {
            draft.adopt_state_file(foreign, known);
            Ok(draft.verdict())
        }
    };
    Ok(draft.into_decision(outcome?))
}

/// A decision in progress. Each fact is applied at once, so that the following steps see its effect.
struct PhaseRunDraft<'a> {
    request: &'a PhaseRequest<'a>,
    policy: &'a Policy,
    now: Moment,
    phase_run: PhaseRun,
    /// Whether the store has a row for the run. If not, the first fact is applied to `None`, as the store does.
    is_known: bool,
    draft: Draft,
}

impl PhaseRunDraft<'_> {
    fn push(&mut self, fact: Fact) {
        self.push_with(self.now, fact, None);
    }

    fn push_with(&mut self, at: Moment, fact: Fact, text: Option<String>) {
        let before = std::mem::replace(&mut self.phase_run, PhaseRun::new(at));
        let texts = Texts {
            session: self.request.session.map(str::to_owned),
            text: text.or_else(|| log_line(&fact)),
            ..Texts::default()
        };
        self.phase_run = self.draft.record(&self.request.name, self.is_known.then_some(before), at, fact, texts);
        self.is_known = true;
    }

    fn bounds(&self) -> Bounds {
        self.request.bounds.unwrap_or_else(|| {
            let phase = self.phase_run.phase.clone().unwrap_or_else(|| PhaseName::from_static("OTHER"));
            self.policy.phase.bounds(&phase)
        })
    }

    /// Records the end of a cooldown at the instant at which it ended.
    fn record_cooldown_end(&mut self) {
        if let Some(ended) = self.phase_run.trip().and_then(|trip| trip.cooldown_ended_at(self.now)) {
            self.push_with(ended, Fact::HalfOpened, None);
        }
    }

    fn begin(&mut self, phase: &PhaseName, joining: Joining, operator: Option<&Operator>, known: bool) -> Verdict {
        let began = |who: Option<&Operator>| Fact::Began {
            phase: phase.clone(),
            who: who.map(|operator| operator.who.clone()),
        };
        match (&self.phase_run.state, joining) {
            (RunState::Over(OverReason::Aborted), Joining::Same | Joining::New | Joining::Resumed) => match operator {
                Some(operator) => self.push_with(self.now, began(Some(operator)), operator.reason.clone()),
                None => self.push(Fact::Denied),
            },
            (RunState::Open(_), Joining::Same | Joining::New | Joining::Resumed) => self.push(Fact::Denied),
            (RunState::Over(OverReason::Completed | OverReason::Skipped), _)
            | (RunState::Closed | RunState::Warned, Joining::New) => {
                self.push(began(None));
            }
            (RunState::Closed | RunState::Warned, Joining::Resumed) if known => {
                let unfinished = self.phase_run.underway.map(|_since| self.phase_run.iteration);
                self.push(Fact::Resumed { unfinished });
            }
            (RunState::Closed | RunState::Warned, Joining::Resumed) => self.push(began(None)),
            (RunState::Closed | RunState::Warned, Joining::Same) => {
                if !known {
                    self.push(began(None));
                } else {
                    self.enter(phase);
                }
            }
        }
        self.verdict()
    }

    /// A loop has one phase: entering another one would restart its counts.
    fn enter(&mut self, phase: &PhaseName) {
        let has_one = self.request.name.is_loop() && self.phase_run.phase.is_some();
        if !has_one && self.phase_run.phase.as_ref() != Some(phase) {
            self.push(Fact::Entered { phase: phase.clone() });
        }
    }

    fn ask(&mut self, start: Option<Start>) -> Verdict {
        let verdict = self.verdict();
        if verdict.denies() {
            self.push(Fact::Denied);
            return verdict;
        }
        if let Some(guidance) = self.phase_run.guidance.clone() {
            self.push(Fact::Guided { guidance });
        }
        if let Some(Start { tree }) = start {
            self.push(Fact::Started { iteration: self.phase_run.iteration.saturating_add(1), tree });
        }
        verdict
    }

    fn report(&mut self, report: &Report, known: bool) -> Result<Verdict, Rejection> {
        match &self.phase_run.state {
            RunState::Over(_) => return Err(Rejection::RunOver),
            // The report is recorded and counted, and changes nothing else (E4).
            RunState::Open(_) => {
                self.push(Fact::Ignored { spent: report.spent });
                return Ok(self.verdict());
            }
            RunState::Closed | RunState::Warned => {}
        }
        match &report.phase {
            Some(phase) if known => self.enter(phase),
            Some(phase) => self.push(Fact::Began { phase: phase.clone(), who: None }),
            None if self.phase_run.phase.is_none() => return Err(Rejection::NoPhaseRun),
            None => {}
        }
        let iterated = self.evaluate_iteration(report);
        let (is_progress, is_stale) = (iterated.progress, iterated.stale);
        let shown = report.error.as_ref().map(|error| error.shown.clone()).or_else(|| report.neutral.clone());
        self.push_with(self.now, Fact::Iterated(Box::new(iterated)), shown);
        if !is_stale {
            self.check_thresholds(is_progress);
        }
        Ok(self.verdict())
    }

    /// An iteration whose start was recorded already has its number.
    fn number(&self, report: &Report) -> u64 {
        let next = self.phase_run.iteration.saturating_add(u64::from(self.phase_run.underway.is_none()));
        report.iteration.unwrap_or(next)
    }

    /// Evaluates whether an iteration made progress, and by which metrics and signals.
    fn evaluate_iteration(&self, report: &Report) -> Iterated {
        let kind = self.phase_run.phase.as_ref().map_or(Kind::Other, PhaseName::kind);
        let gains = report.metrics.gains(&self.phase_run.baseline(), kind);
        let weights = &self.policy.phase.weights;
        let trees = &self.phase_run.trees;
        let undone = report.tree.is_some_and(|tree| trees.last() != Some(&tree) && trees.contains(&tree));
        let is_loop = kind == Kind::Loop;
        let tests =
            (is_loop && !gains.is_empty()).then_some(Signal { source: Source::Tests, count: gains.len() as u64 });
        let weigh = |signal: &Signal| {
            let counts = signal.count > 0 && !(undone && signal.source.is_about_work_tree());
            let weight = if counts { weights.weight_of(signal.source) } else { 0 };
            WeighedSignal { source: signal.source, count: signal.count, weight }
        };
        let mut signals: Vec<WeighedSignal> = Vec::new();
        for signal in report.signals.iter().chain(&tests).map(weigh) {
            // Two signals of one source count once, with the heavier weight.
            match signals.iter_mut().find(|earlier| earlier.source == signal.source) {
                Some(earlier) if earlier.weight < signal.weight => *earlier = signal,
                Some(_heavier) => {}
                None => signals.push(signal),
            }
        }
        let weight: u64 = signals.iter().map(|signal| u64::from(signal.weight)).sum();
        let is_enough = weight > 0 && weight >= u64::from(weights.enough);
        let progress = is_enough || (!is_loop && !gains.is_empty());
        Iterated {
            iteration: self.number(report),
            progress,
            // Observed progress overrides the reporter's statement that the iteration was neutral.
            neutral: report.neutral.is_some() && !progress,
            permission_denied: report.permission_denied,
            stale: is_stale(self.phase_run.underway.map(|underway| underway.generation), self.phase_run.generation),
            gains,
            metrics: report.metrics.clone(),
            signals,
            tree: report.tree,
            undone,
            error: report.error.as_ref().map(|error| error.fingerprint.clone()),
            spent: report.spent,
        }
    }

    /// Compares the counts with the limits. One report may cause two transitions; both are recorded (P1).
    fn check_thresholds(&mut self, is_progress: bool) {
        let bounds = self.bounds();
        let PhaseRun { no_progress, same_error, permission_denials: denials, neutral, .. } = self.phase_run;
        let is_neutral = self.phase_run.last.as_ref().is_some_and(|last| last.neutral);
        if bounds.permission_denials.is_some_and(|limit| denials >= limit) && denials > 0 {
            return self.trip(TripCause::PermissionDenials, denials);
        }
        if is_neutral {
            if bounds.neutral.is_some_and(|limit| neutral >= limit) {
                self.trip(TripCause::Neutral, neutral);
            }
            return;
        }
        if !is_progress && no_progress >= bounds.warn_at() && self.phase_run.state == RunState::Closed {
            self.push(Fact::Warned { count: no_progress });
        }
        if !is_progress && no_progress >= bounds.thresholds.no_progress {
            return self.trip(TripCause::NoProgress, no_progress);
        }
        if same_error > 0 && same_error >= bounds.thresholds.same_error {
            return self.trip(TripCause::SameError, same_error);
        }
        if is_progress && self.phase_run.state == RunState::Warned {
            self.push(Fact::Recovered);
        }
    }

    fn trip(&mut self, cause: TripCause, count: u32) {
        let incident = incident_id(&self.request.name, self.phase_run.generation, self.now);
        let cooldown_ms = self.bounds().cooldown_ms;
        self.push(Fact::Tripped { trip: Trip { incident, since: self.now, cause, count, cooldown_ms } });
    }

    fn choose(&mut self, choice: &Choice, operator: &Operator) -> Result<Verdict, Rejection> {
        if let RunState::Over(_) = self.phase_run.state {
            return Err(Rejection::RunOver);
        }
        let who = operator.who.clone();
        let fact = match choice {
            Choice::Reset => Fact::Reset { who, clears_open_count: true },
            Choice::Skip => Fact::Skipped { who, to: self.phase_run.phase.as_ref().and_then(PhaseName::next) },
            Choice::Abort => Fact::Aborted { who },
            Choice::Modify { guidance } => Fact::Modified { who, guidance: guidance.clone() },
        };
        self.push_with(self.now, fact, operator.reason.clone());
        Ok(self.verdict())
    }

    /// Takes over a state file. haltline adopts all of it if it has no row for the run or if the file takes precedence;
    /// otherwise only that the circuit is OPEN, and only if it opened after a person last closed it.
    fn adopt_state_file(&mut self, foreign: &ForeignRun, known: bool) {
        let tightens = match (&foreign.state, &self.phase_run.state) {
            (ForeignState::Open { since, .. }, RunState::Closed | RunState::Warned) => {
                self.phase_run.closed.is_none_or(|closed| since.is_some_and(|since| since > closed))
            }
            (ForeignState::Open { .. }, RunState::Open(_) | RunState::Over(_))
            | (ForeignState::Closed | ForeignState::Warned, _) => false,
        };
        if !known || tightens || foreign.precedence == Precedence::File {
            self.push(Fact::Adopted(Box::new(foreign.clone())));
            self.record_cooldown_end();
        }
    }

    /// The verdict that follows from the current state.
    fn verdict(&self) -> Verdict {
        let reason = |code, text, retry| Reason { circuit: self.request.name.clone(), code, text, retry };
        match &self.phase_run.state {
            RunState::Closed => Verdict::Pass,
            RunState::Warned => Verdict::Warn(reason("HL-PHASE-01", self.phase_run.recommendation(), Retry::Now)),
            RunState::Open(trip) => {
                let since = trip.since.at.to_seconds_text();
                let text = format!("OPEN since {since}: {}. {}", trip_text(trip), self.phase_run.recommendation());
                Verdict::Stop(reason(trip.cause.code(), text, trip.until().map_or(Retry::Person, Retry::At)))
            }
            RunState::Over(OverReason::Aborted) => {
                let text = "a person aborted this run".to_owned();
                Verdict::Stop(reason("HL-PHASE-07", text, Retry::Person))
            }
            RunState::Over(OverReason::Completed | OverReason::Skipped) => {
                let text = "this run is over; begin a phase to start another".to_owned();
                Verdict::Stop(reason("HL-PHASE-08", text, Retry::Now))
            }
        }
    }

    /// Notifies the person of a trip, unless its cooldown is over already: a state file may report an old one.
    fn into_decision(mut self, verdict: Verdict) -> Decision {
        let is_trip =
            |recorded: &&Recorded| matches!(recorded.fact, AnyFact::Phase(Fact::Tripped { .. } | Fact::Adopted(_)));
        let trips = self.draft.facts.iter().filter(is_trip).count();
        if let Some(trip) = self.phase_run.trip() {
            (0..trips).for_each(|_trip| self.draft.notify(&self.request.name, &trip.incident));
        }
        self.draft.into_decision(verdict)
    }
}
