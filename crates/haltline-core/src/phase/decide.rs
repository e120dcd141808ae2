//! What follows from an event on a course (P1–P4, P6).

use super::{
    Bounds, Choice, Course, Fact, Foreign, ForeignStand, Happening, Iterated, Joining, Kind, Over, Override, PhaseName,
    Report, Signal, Source, Stand, Start, Trip, TripCause, Weighed, apply, log_line, trip_text,
};
use crate::{
    CircuitName, Decision, Effect, Fact as AnyFact, Moment, Operator, Policy, Reason, Recorded, Rejection, Retry, Step,
    Texts, Verdict, digest_hex,
};

/// An event with everything the decision needs to know of it.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The course's name.
    pub name: CircuitName,
    /// The session, where there is one.
    pub session: Option<&'a str>,
    /// Limits that take the place of the policy's: Ralph's come from its own variables.
    pub bounds: Option<Bounds>,
    /// What happened.
    pub what: &'a Happening,
}

/// Decides one event.
pub fn decide(course: Option<&Course>, policy: &Policy, question: &Question<'_>, now: Moment) -> Step {
    let known = course.is_some();
    let mut draft = Draft {
        question,
        policy,
        now,
        course: course.cloned().unwrap_or_else(|| Course::new(now)),
        is_known: known,
        facts: Vec::new(),
    };
    draft.see_cooldown_end();
    let outcome = match question.what {
        Happening::Begin { phase, joining, operator } => Ok(draft.begin(phase, *joining, operator.as_ref(), known)),
        // An iteration belongs to a phase.
        Happening::Ask { start: Some(_) } if !known => Err(Rejection::NoCourse),
        Happening::Ask { start } => Ok(draft.ask(*start)),
        Happening::Report(report) => draft.report(report, known),
        Happening::Decide { choice, operator } if known => draft.choose(choice, operator),
        Happening::Decide { .. } => Err(Rejection::NoCourse),
        Happening::AutoReset => {
            // Also a circuit whose cooldown is just over: it was open when it was asked for.
            if course.is_some_and(|course| course.trip().is_some()) {
                draft.push(Fact::Reset { who: "auto-reset".to_owned(), opens_too: false });
            }
            Ok(draft.told())
        }
        Happening::Finish(how) => {
            draft.push(Fact::Finished { how: *how });
            Ok(Verdict::Pass)
        }
        Happening::Found(foreign) => {
            draft.find(foreign, known);
            Ok(draft.told())
        }
    };
    match outcome {
        Ok(verdict) => Step::Decided(draft.into_decision(verdict)),
        Err(rejection) => Step::Rejected(rejection),
    }
}

/// A decision in the making: each fact is applied at once, so that the next thought sees it.
struct Draft<'a> {
    question: &'a Question<'a>,
    policy: &'a Policy,
    now: Moment,
    course: Course,
    /// Whether anything is written down of it: the first fact is applied to nothing, as a store does.
    is_known: bool,
    facts: Vec<Recorded>,
}

impl Draft<'_> {
    fn push(&mut self, fact: Fact) {
        self.push_with(self.now, fact, None);
    }

    fn push_with(&mut self, at: Moment, fact: Fact, text: Option<String>) {
        let before = std::mem::replace(&mut self.course, Course::new(at));
        self.course = apply(self.is_known.then_some(before), &fact, at);
        self.is_known = true;
        let texts = Texts { session: self.question.session.map(str::to_owned), text: text.or_else(|| log_line(&fact)) };
        let circuit = self.question.name.clone();
        self.facts.push(Recorded { circuit, at, fact: AnyFact::Phase(fact), texts });
    }

    fn bounds(&self) -> Bounds {
        self.question.bounds.unwrap_or_else(|| {
            let phase = self.course.phase.clone().unwrap_or_else(|| PhaseName::known("OTHER"));
            self.policy.phase.bounds(&phase)
        })
    }

    /// Writes down that a cooldown has ended, with the instant at which it did.
    fn see_cooldown_end(&mut self) {
        if let Some(ended) = self.course.trip().and_then(|trip| trip.cooled(self.now)) {
            self.push_with(ended, Fact::HalfOpened, None);
        }
    }

    fn begin(&mut self, phase: &PhaseName, joining: Joining, operator: Option<&Operator>, known: bool) -> Verdict {
        let anew = |who: Option<&Operator>| Fact::Began {
            phase: phase.clone(),
            who: who.map(|operator| operator.who.clone()),
        };
        match (&self.course.stand, joining) {
            (Stand::Over(Over::Aborted), Joining::Same | Joining::New | Joining::Resumed) => match operator {
                Some(operator) => self.push_with(self.now, anew(Some(operator)), operator.reason.clone()),
                None => self.push(Fact::Refused),
            },
            (Stand::Open(_), Joining::Same | Joining::New | Joining::Resumed) => self.push(Fact::Refused),
            (Stand::Over(Over::Completed | Over::Skipped), _) | (Stand::Closed | Stand::Warned, Joining::New) => {
                self.push(anew(None));
            }
            (Stand::Closed | Stand::Warned, Joining::Resumed) if known => {
                let unfinished = self.course.underway.map(|_since| self.course.iteration);
                self.push(Fact::Resumed { unfinished });
            }
            (Stand::Closed | Stand::Warned, Joining::Resumed) => self.push(anew(None)),
            (Stand::Closed | Stand::Warned, Joining::Same) => {
                if !known {
                    self.push(anew(None));
                } else {
                    self.enter(phase);
                }
            }
        }
        self.told()
    }

    /// A loop has one phase: entering another would count it anew.
    fn enter(&mut self, phase: &PhaseName) {
        let has_one = self.question.name.is_loop() && self.course.phase.is_some();
        if !has_one && self.course.phase.as_ref() != Some(phase) {
            self.push(Fact::Entered { phase: phase.clone() });
        }
    }

    fn ask(&mut self, start: Option<Start>) -> Verdict {
        let verdict = self.told();
        if verdict.refuses() {
            self.push(Fact::Refused);
            return verdict;
        }
        if let Some(guidance) = self.course.guidance.clone() {
            self.push(Fact::Guided { guidance });
        }
        if let Some(Start { tree }) = start {
            self.push(Fact::Started { iteration: self.course.iteration.saturating_add(1), tree });
        }
        verdict
    }

    fn report(&mut self, report: &Report, known: bool) -> Result<Verdict, Rejection> {
        match &self.course.stand {
            Stand::Over(_) => return Err(Rejection::RunOver),
            // Kept and counted, and it changes nothing else (E4).
            Stand::Open(_) => {
                self.push(Fact::Ignored { spent: report.spent });
                return Ok(self.told());
            }
            Stand::Closed | Stand::Warned => {}
        }
        match &report.phase {
            Some(phase) if known => self.enter(phase),
            Some(phase) => self.push(Fact::Began { phase: phase.clone(), who: None }),
            None if self.course.phase.is_none() => return Err(Rejection::NoCourse),
            None => {}
        }
        let iterated = self.judge(report);
        let (is_progress, is_stale) = (iterated.progress, iterated.stale);
        let shown = report.error.as_ref().map(|error| error.shown.clone()).or_else(|| report.neutral.clone());
        self.push_with(self.now, Fact::Iterated(Box::new(iterated)), shown);
        if !is_stale {
            self.settle(is_progress);
        }
        Ok(self.told())
    }

    /// An iteration that was started has its number already.
    fn number(&self, report: &Report) -> u64 {
        let next = self.course.iteration.saturating_add(u64::from(self.course.underway.is_none()));
        report.iteration.unwrap_or(next)
    }

    /// Whether an iteration helped, and by what.
    fn judge(&self, report: &Report) -> Iterated {
        let kind = self.course.phase.as_ref().map_or(Kind::Other, PhaseName::kind);
        let gains = report.metrics.gains(&self.course.baseline(), kind);
        let weights = &self.policy.phase.weights;
        let trees = &self.course.trees;
        let undone = report.tree.is_some_and(|tree| trees.last() != Some(&tree) && trees.contains(&tree));
        let is_loop = kind == Kind::Loop;
        let tests =
            (is_loop && !gains.is_empty()).then_some(Signal { source: Source::Tests, count: gains.len() as u64 });
        let weigh = |signal: &Signal| {
            let counts = signal.count > 0 && !(undone && signal.source.is_of_tree());
            let weight = if counts { weights.of(signal.source) } else { 0 };
            Weighed { source: signal.source, count: signal.count, weight }
        };
        let mut signs: Vec<Weighed> = Vec::new();
        for sign in report.signals.iter().chain(&tests).map(weigh) {
            // The same sign twice is one sign.
            match signs.iter_mut().find(|known| known.source == sign.source) {
                Some(known) if known.weight < sign.weight => *known = sign,
                Some(_heavier) => {}
                None => signs.push(sign),
            }
        }
        let weight: u64 = signs.iter().map(|sign| u64::from(sign.weight)).sum();
        let is_enough = weight > 0 && weight >= u64::from(weights.enough);
        let progress = is_enough || (!is_loop && !gains.is_empty());
        Iterated {
            iteration: self.number(report),
            progress,
            // What was seen to help is believed before what is said about it.
            neutral: report.neutral.is_some() && !progress,
            denied: report.denied,
            stale: self.course.underway.is_some_and(|underway| underway.generation != self.course.generation),
            gains,
            metrics: report.metrics.clone(),
            signs,
            tree: report.tree,
            undone,
            error: report.error.as_ref().map(|error| error.mark.clone()),
            spent: report.spent,
        }
    }

    /// One report may take two transitions; both are written down (P1).
    fn settle(&mut self, is_progress: bool) {
        let bounds = self.bounds();
        let Course { no_progress, same_error, denials, neutral, .. } = self.course;
        let is_neutral = self.course.last.as_ref().is_some_and(|last| last.neutral);
        if bounds.denials.is_some_and(|limit| denials >= limit) && denials > 0 {
            return self.trip(TripCause::Denials, denials);
        }
        if is_neutral {
            if bounds.neutral.is_some_and(|limit| neutral >= limit) {
                self.trip(TripCause::Neutral, neutral);
            }
            return;
        }
        if !is_progress && no_progress >= bounds.warned_at() && self.course.stand == Stand::Closed {
            self.push(Fact::Warned { count: no_progress });
        }
        if !is_progress && no_progress >= bounds.thresholds.no_progress {
            return self.trip(TripCause::NoProgress, no_progress);
        }
        if same_error > 0 && same_error >= bounds.thresholds.same_error {
            return self.trip(TripCause::SameError, same_error);
        }
        if is_progress && self.course.stand == Stand::Warned {
            self.push(Fact::Recovered);
        }
    }

    fn trip(&mut self, cause: TripCause, count: u32) {
        let generation = self.course.generation.to_be_bytes();
        let at = self.now.at.as_millis().to_be_bytes();
        let incident = digest_hex(&[self.question.name.as_str().as_bytes(), &generation, &at], 4);
        let cooldown_ms = self.bounds().cooldown_ms;
        self.push(Fact::Tripped { trip: Trip { incident, since: self.now, cause, count, cooldown_ms } });
    }

    fn choose(&mut self, choice: &Choice, operator: &Operator) -> Result<Verdict, Rejection> {
        if let Stand::Over(_) = self.course.stand {
            return Err(Rejection::RunOver);
        }
        let who = operator.who.clone();
        let fact = match choice {
            Choice::Reset => Fact::Reset { who, opens_too: true },
            Choice::Skip => Fact::Skipped { who, to: self.course.phase.as_ref().and_then(PhaseName::next) },
            Choice::Abort => Fact::Aborted { who },
            Choice::Modify { guidance } => Fact::Modified { who, guidance: guidance.clone() },
        };
        self.push_with(self.now, fact, operator.reason.clone());
        Ok(self.told())
    }

    /// Takes over a state file: all of it where nothing is known here or the file wins, else only that it is OPEN, and
    /// only where that came after a person last closed it.
    fn find(&mut self, foreign: &Foreign, known: bool) {
        let tightens = match (&foreign.stand, &self.course.stand) {
            (ForeignStand::Open { since, .. }, Stand::Closed | Stand::Warned) => {
                self.course.closed.is_none_or(|closed| since.is_some_and(|since| since > closed))
            }
            (ForeignStand::Open { .. }, Stand::Open(_) | Stand::Over(_))
            | (ForeignStand::Closed | ForeignStand::Warned, _) => false,
        };
        if !known || tightens || foreign.wins == Override::File {
            self.push(Fact::Adopted(Box::new(foreign.clone())));
            self.see_cooldown_end();
        }
    }

    /// What the state says to whoever asked.
    fn told(&self) -> Verdict {
        let reason = |code, text, retry| Reason { circuit: self.question.name.clone(), code, text, retry };
        match &self.course.stand {
            Stand::Closed => Verdict::Pass,
            Stand::Warned => Verdict::Warn(reason("HL-PHASE-01", self.course.recommendation(), Retry::Now)),
            Stand::Open(trip) => {
                let since = trip.since.at.to_seconds_text();
                let text = format!("OPEN since {since}: {}. {}", trip_text(trip), self.course.recommendation());
                Verdict::Stop(reason(trip.cause.code(), text, trip.until().map_or(Retry::Person, Retry::At)))
            }
            Stand::Over(Over::Aborted) => {
                let text = "a person aborted this run".to_owned();
                Verdict::Stop(reason("HL-PHASE-07", text, Retry::Person))
            }
            Stand::Over(Over::Completed | Over::Skipped) => {
                let text = "this run is over; begin a phase to start another".to_owned();
                Verdict::Stop(reason("HL-PHASE-08", text, Retry::Now))
            }
        }
    }

    fn into_decision(self, verdict: Verdict) -> Decision {
        let mut effects = Vec::new();
        for Recorded { circuit, fact, .. } in &self.facts {
            let AnyFact::Phase(Fact::Tripped { .. } | Fact::Adopted(_)) = fact else { continue };
            let incident = self.course.trip().map(|trip| trip.incident.clone());
            effects.extend(incident.map(|incident| Effect::Notify { circuit: circuit.clone(), incident }));
        }
        Decision { facts: self.facts, verdict, effects, notices: Vec::new() }
    }
}
