//! A call ended: what came back is counted, probes are judged, patterns trip (L1, L2, L4, L5).

use super::*;
use crate::identity::{Action, Answer, By, Outcome};
use crate::loop_::{BatchEnd, Ending, Flight, Past, Progress, Traits};

impl Draft<'_> {
    /// Takes the end of one call.
    pub(super) fn tool_end(&mut self, name: &str, action: Option<&Action>, answer: &Answer) -> Asked<()> {
        self.end = match &self.question.stream.naming {
            Naming::Own | Naming::Counted => None,
            Naming::Begun => Some(Digest::of(&[b"end", name.as_bytes()])),
        };
        if self.end.is_some_and(|end| self.lane.closed.contains(&end)) {
            return Ok(());
        }
        let call = self.call(name);
        let (flight, is_told_before) = match (&self.question.stream.naming, action) {
            (Naming::Own, _) => (self.lane.flight(call), false),
            (Naming::Begun, Some(action)) => (self.lane.oldest_flight(action), true),
            (Naming::Begun, None) => (self.lane.flight(call), true),
            (Naming::Counted, Some(action)) => {
                // A hook of someone else may have put the words in another way since the call began.
                let same = self.lane.oldest_flight(action);
                (same.or_else(|| self.lane.only_flight(&action.tool)), false)
            }
            (Naming::Counted, None) => (self.lane.flight_named(named(name)), true),
        };
        if let Some(flight) = flight.cloned() {
            return self.land(&flight, action, answer);
        }
        if is_told_before || self.lane.has_ended(call) || self.lane.refused.contains(&call) {
            return Ok(());
        }
        match action {
            // Calls that the client itself turns down never start (L4): they are seen only here.
            Some(action) => self.land_unannounced(call, action, answer),
            None => {
                self.lane(LaneFact::Stray { call, outcome: answer.outcome });
                Ok(())
            }
        }
    }

    /// The call of this name. Where names come again with every call of the same words, its number tells it apart.
    pub(super) fn call(&self, name: &str) -> Digest {
        match &self.question.stream.naming {
            Naming::Own | Naming::Begun => named(name),
            Naming::Counted => Digest::of(&[name.as_bytes(), &self.lane.totals.calls.to_be_bytes()]),
        }
    }

    /// All calls of one response have ended; what did not is never heard of again (L3).
    pub(super) fn batch(&mut self, ends: &[BatchEnd]) -> Asked<Verdict> {
        let mut worst = Verdict::Pass;
        for end in ends {
            let call = named(&end.call);
            let is_announced =
                self.lane.flight(call).is_some() || self.lane.has_ended(call) || self.lane.refused.contains(&call);
            if is_announced || is_ours(&end.answer) {
                self.tool_end(&end.call, Some(&end.action), &end.answer)?;
                continue;
            }
            let verdict = self.too_late(&end.action)?;
            self.land_unannounced(call, &end.action, &end.answer)?;
            if verdict.severity() > worst.severity() {
                worst = verdict;
            }
        }
        self.close_flights()?;
        // Told again, nothing ended since.
        if !self.lane.is_fresh {
            self.lane(LaneFact::TurnEnded);
        }
        Ok(worst)
    }

    /// A call that ran, or failed, without asking: the agent is told, and stopped where it would have been refused.
    fn too_late(&mut self, action: &Action) -> Asked<Verdict> {
        if self.is_literal() {
            return Ok(Verdict::Pass);
        }
        let key = action.identity;
        let standing = self.lane.board.standing(key, self.now);
        if let Standing::Open(trip) | Standing::Probing(trip) = standing {
            let trip = trip.clone();
            let grounds = self.grounds_of(&trip, action);
            let refusal = Refusal { grounds, key, retry: Retry::At(trip.until()), trip: Some(trip) };
            self.need_tree()?;
            return Ok(self.refuse(refusal, Some(action.shown.clone())));
        }
        for found in self.stuck(action, Digest::of(&[action.tool.as_bytes()])) {
            let is_due = found.attempt >= found.limits.warn && !self.is_told(&found);
            if is_due && !self.is_pardoned(&found, action)? {
                let grounds = self.grounds_of_stuck(&found, action);
                return Ok(self.warn(&grounds, found.key, found.attempt, Some(action.shown.clone())));
            }
        }
        Ok(Verdict::Pass)
    }

    fn land_unannounced(&mut self, call: Digest, action: &Action, answer: &Answer) -> Asked<()> {
        if is_ours(answer) {
            return Ok(());
        }
        let traits = Traits {
            is_write: action.is_write,
            is_search: action.is_search,
            is_spawn: action.is_spawn,
            is_api: false,
            is_poller: false,
            is_wait: action.is_wait,
            is_rested: false,
        };
        let is_next = self.lane.is_fresh && !self.lane.is_unused;
        let turn = if is_next { self.lane.turn.saturating_add(1) } else { self.lane.turn };
        let generation = self.lane.board.generation;
        let (identity, words) = (action.identity, action.words);
        let (name, tool) = (None, action.tool.clone());
        let flight = Flight { call, tool, identity, turn, generation, traits, name, words };
        self.lane(LaneFact::Started { flight: flight.clone(), message: None });
        self.land(&flight, Some(action), answer)
    }

    fn land(&mut self, flight: &Flight, action: Option<&Action>, answer: &Answer) -> Asked<()> {
        if flight.traits.is_spawn {
            self.settle_spawn(flight, answer)?;
        }
        if flight.traits.is_api {
            self.settle_api(flight, answer)?;
        }
        let is_failed = match answer.outcome {
            // A search that finds nothing has answered (L4).
            Outcome::Failed => !(flight.traits.is_search && answer.exit == Some(1)),
            Outcome::Ok
            | Outcome::Rejected
            | Outcome::Denied
            | Outcome::Cancelled
            | Outcome::RateLimited
            | Outcome::Unknown => false,
        };
        // The seed's words know no progress.
        let is_progress = !self.is_literal() && self.is_new_write(flight, answer);
        let progress = if is_progress { Progress::Written } else { Progress::None };
        if answer.outcome == Outcome::Denied && !is_ours(answer) {
            return self.denied(flight);
        }
        let repeats = pattern::repeats(self.lane.since_prompt(), flight.identity);
        // Texts are kept where they may become evidence.
        let text = (is_failed || repeats > 0).then(|| answer.shown.clone());
        let (shared, is_named) = match is_failed {
            true => (answer.complaint.shared(flight.words), answer.complaint.names(flight.words)),
            false => (Vec::new(), false),
        };
        let ended = LaneFact::Ended(Ending {
            call: flight.call,
            outcome: answer.outcome,
            normal: answer.normal,
            raw: answer.raw,
            is_failed,
            progress,
            keep: self.limits.history_max,
            shared,
            is_named,
            is_terse: answer.is_terse && !is_failed,
            end: self.end,
        });
        self.lane_with(self.now, ended, text);
        if answer.outcome == Outcome::RateLimited && !flight.traits.is_api {
            self.need_tree()?;
            self.rate_limited(flight, answer)?;
        }
        self.judge_probes(flight, answer, is_failed)?;
        if is_progress {
            self.open_trials();
        } else if answer.outcome == Outcome::Ok && self.lane.rut.is_out() {
            self.leave_rut();
        }
        self.patterns(flight, action, answer, is_failed)
    }

    /// A successful write that was not made before in the same words with the same answer.
    fn is_new_write(&self, flight: &Flight, answer: &Answer) -> bool {
        let is_again = |past: &Past| past.is_same(flight.identity, answer.normal);
        flight.traits.is_write && answer.outcome == Outcome::Ok && !self.lane.since_prompt().iter().any(is_again)
    }

    /// Refusals by permission rules: so many in a row, or so many of the last calls (L6).
    fn denied(&mut self, flight: &Flight) -> Asked<()> {
        let is_probe = |stage: &Stage| matches!(stage, Stage::Probing(probe) if probe.call == flight.call);
        let is_again = self.lane.board.held.iter().any(|held| held.trip.key == denials_key() && is_probe(&held.stage));
        self.abandon_probes(flight);
        let tool = Digest::of(&[flight.tool.as_bytes()]);
        self.lane(LaneFact::Denied { call: flight.call, tool, end: self.end.or(Some(flight.call)) });
        let limits = self.limits.denials;
        let mask = if limits.recent >= 64 { u64::MAX } else { (1 << limits.recent) - 1 };
        let recent = (self.lane.denied_recent & mask).count_ones();
        let row = self.lane.denied_in_a_row;
        let key = denials_key();
        // On trial, a probe that is refused opens it again; so do refusals that nobody took for a probe.
        let may_open = match self.lane.board.standing(key, self.now) {
            Standing::Closed | Standing::Trial(..) => true,
            Standing::Open(_) | Standing::Probing(_) => false,
        };
        let is_due = is_again || row >= limits.in_a_row || recent >= limits.of_recent;
        if limits.enabled && is_due && may_open && !self.is_literal() && !self.is_exempt(Pattern::Denials, key)? {
            let count = row.max(recent);
            let grounds = grounds::of(Pattern::Denials, "", count, self.limits);
            self.trip(&grounds, key, None, count, limits.cooldown_s)?;
        }
        Ok(())
    }

    /// A probe succeeded, failed, or came to nothing (E12).
    fn judge_probes(&mut self, flight: &Flight, answer: &Answer, is_failed: bool) -> Asked<()> {
        while let Some(held) = self.lane.board.probed_by(flight.call).cloned() {
            let is_known = match answer.outcome {
                Outcome::Ok | Outcome::Failed => true,
                Outcome::Rejected | Outcome::Denied | Outcome::Cancelled | Outcome::RateLimited | Outcome::Unknown => {
                    false
                }
            };
            let incident = held.trip.incident.clone();
            if !is_known {
                self.lane(LaneFact::Board(BoardFact::ProbeAbandoned { incident }));
                continue;
            }
            let is_changed = held.trip.normal.is_some_and(|normal| normal != answer.normal);
            let is_new = !self.lane.before_last().iter().any(|past| past.is_same(flight.identity, answer.normal));
            // Whoever wrote something asks another question: that it gets an answer at all is progress.
            let is_after_write = match &held.stage {
                Stage::Probing(probe) => probe.by == Opening::Write && !is_failed,
                Stage::Open | Stage::HalfOpen(_) => false,
            };
            let is_better = match held.trip.pattern {
                Pattern::ToolFailure | Pattern::SameError | Pattern::FutileWrites => !is_failed || is_changed,
                Pattern::Repeat | Pattern::Interleaved => is_changed || is_after_write,
                Pattern::Cycle => (is_new && !is_failed) || is_after_write,
                // Only something new leads out.
                Pattern::Retread | Pattern::Stagnation | Pattern::Cascade => self.lane.rut.is_out() || is_after_write,
                Pattern::Compaction => is_new && !is_failed,
                // What a response says or costs is not the call's doing: that it was let through is the trial.
                Pattern::CostGrowth | Pattern::Chanting => true,
                Pattern::SequentialTools
                | Pattern::Denials
                | Pattern::HookRecursion
                | Pattern::AgentSpawn
                | Pattern::ExternalApi
                | Pattern::Budget
                | Pattern::Constraint
                | Pattern::Tampering => !is_failed,
            };
            if is_better {
                self.lane(LaneFact::Board(BoardFact::Recovered { incident }));
            } else {
                self.trip_again(&held.trip, flight)?;
            }
        }
        Ok(())
    }

    fn trip_again(&mut self, last: &Trip, flight: &Flight) -> Asked<()> {
        let count = last.count.saturating_add(1);
        let grounds = grounds::of(last.pattern, &short(&flight.tool), count, self.limits);
        // What had no one answer that could change has none now.
        self.trip(&grounds, last.key, last.normal, count, self.limits.cooldown_s(last.pattern))
    }

    /// Something new was learned: what was refused for leading nowhere may be tried once, and what was to be tried
    /// already is over.
    fn leave_rut(&mut self) {
        let is_rut = |pattern: Pattern| match pattern {
            Pattern::Retread | Pattern::Stagnation | Pattern::Cascade => true,
            Pattern::HookRecursion
            | Pattern::ToolFailure
            | Pattern::SequentialTools
            | Pattern::AgentSpawn
            | Pattern::ExternalApi
            | Pattern::Repeat
            | Pattern::Interleaved
            | Pattern::Cycle
            | Pattern::SameError
            | Pattern::FutileWrites
            | Pattern::Compaction
            | Pattern::CostGrowth
            | Pattern::Chanting
            | Pattern::Denials
            | Pattern::Budget
            | Pattern::Constraint
            | Pattern::Tampering => false,
        };
        self.lapse(|pattern, by| is_rut(pattern) && by != Opening::Person);
        self.half_open(Opening::Answer, |pattern| is_rut(pattern) || pattern == Pattern::SameError);
    }

    /// Puts open circuits on trial before their time.
    fn half_open(&mut self, by: Opening, is_meant: impl Fn(Pattern) -> bool) {
        let held = self.lane.board.held.iter();
        let open = held.filter(|held| held.stage == Stage::Open && held.trip.remaining_ms(self.now).is_some());
        let waiting: Vec<String> =
            open.filter(|held| is_meant(held.trip.pattern)).map(|held| held.trip.incident.clone()).collect();
        for incident in waiting {
            self.lane(LaneFact::Board(BoardFact::HalfOpened { incident, by, hint: None }));
        }
    }

    fn abandon_probes(&mut self, flight: &Flight) {
        while let Some(incident) = self.lane.board.probed_by(flight.call).map(|held| held.trip.incident.clone()) {
            self.lane(LaneFact::Board(BoardFact::ProbeAbandoned { incident }));
        }
    }

    /// Something new was written: what was asked in vain may be asked once more.
    fn open_trials(&mut self) {
        self.half_open(Opening::Write, |pattern| match pattern {
            Pattern::ToolFailure
            | Pattern::Repeat
            | Pattern::Interleaved
            | Pattern::Cycle
            | Pattern::SameError
            | Pattern::Retread
            | Pattern::Stagnation
            | Pattern::Cascade
            | Pattern::Compaction
            | Pattern::Chanting
            | Pattern::SequentialTools => true,
            // That files were written is what makes it what it is.
            Pattern::FutileWrites => false,
            Pattern::HookRecursion
            | Pattern::AgentSpawn
            | Pattern::ExternalApi
            | Pattern::CostGrowth
            | Pattern::Denials
            | Pattern::Budget
            | Pattern::Constraint
            | Pattern::Tampering => false,
        });
    }

    /// The Nth matching event opens; the next attempt is refused (L2).
    fn patterns(&mut self, flight: &Flight, action: Option<&Action>, answer: &Answer, is_failed: bool) -> Asked<()> {
        // Whoever waits may ask again; how often, the other patterns tell (L4).
        let (identity, before) = (flight.identity, self.lane.before_last());
        let has_waited = flight.traits.is_wait || pattern::has_waited(before, identity, flight.traits.is_rested);
        let is_patient = !self.is_literal() && has_waited;
        if flight.traits.is_poller || is_patient {
            return Ok(());
        }
        let tool = Digest::of(&[flight.tool.as_bytes()]);
        let key = self.key_of(tool, flight.identity);
        let is_closed = self.lane.board.standing(key, self.now) == Standing::Closed;
        if !is_closed {
            return Ok(());
        }
        let shown = short(action.map_or(flight.tool.as_str(), |action| action.shown.as_str()));
        let shown = if self.is_literal() { short(&flight.tool) } else { shown };
        let failures = self.limits.tool_failure;
        if is_failed && failures.enabled {
            let turn = self.lane.turn;
            let count = if self.is_literal() {
                pattern::failed_turns(&self.lane.past, turn, failures.window, |past| past.tool == tool)
            } else {
                let past = self.lane.since_prompt();
                pattern::failed_turns(past, turn, failures.window, |past| past.is_same(identity, answer.normal))
            };
            if count >= failures.threshold && !self.is_exempt(Pattern::ToolFailure, key)? {
                let grounds = grounds::of(Pattern::ToolFailure, &shown, count, self.limits);
                let normal = Some(answer.normal).filter(|_| !self.is_literal());
                self.trip(&grounds, key, normal, count, failures.cooldown_s)?;
                return Ok(());
            }
        }
        let sequence = self.limits.sequential_tools;
        if sequence.enabled {
            let count = if self.is_literal() {
                let row = self.lane.since_prompt().iter().rev();
                u32::try_from(row.take_while(|past| past.tool == tool && past.is_counted()).count()).unwrap_or(u32::MAX)
            } else {
                pattern::repeats(self.lane.since_prompt(), flight.identity)
            };
            if count >= sequence.threshold && !self.is_exempt(Pattern::SequentialTools, key)? {
                let normal = Some(answer.normal).filter(|_| !self.is_literal());
                let grounds = grounds::of(Pattern::SequentialTools, &shown, count, self.limits);
                self.trip(&grounds, key, normal, count, sequence.cooldown_s)?;
            }
        }
        Ok(())
    }

    /// Whatever is still in flight has no end that anybody will see.
    pub(super) fn close_flights(&mut self) -> Asked<()> {
        for flight in self.lane.flights.clone() {
            if flight.traits.is_spawn {
                self.need_tree()?;
                self.refund_spawn(flight.call);
            }
            if flight.traits.is_api {
                self.need_tree()?;
                self.tree(TreeFact::ApiSettled { call: flight.call, micros: None });
            }
            self.abandon_probes(&flight);
            self.lane(LaneFact::Unended { call: flight.call });
        }
        Ok(())
    }
}

/// A name as it is kept.
pub(super) fn named(name: &str) -> Digest {
    Digest::of(&[name.as_bytes()])
}

/// A refusal of our own that comes back as the call's answer.
fn is_ours(answer: &Answer) -> bool {
    answer.outcome == Outcome::Denied && answer.by == Some(By::Haltline)
}
