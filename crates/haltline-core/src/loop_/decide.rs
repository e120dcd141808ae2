//! What follows from what an agent does (L1–L10). A decision in the making applies each fact at once, so that the
//! next thought sees it.

mod door;
mod end;
mod grounds;
mod hook;
mod limit;
mod model;
mod start;
mod stuck;

pub(super) use stuck::futile_key;

use super::board::{ALERT_LEVEL, Board, BoardFact, Opening, Probe, Stage, Standing, Step as RungStep, Trip};
use super::words::{self, Grounds};
use super::{
    Agent, Happening, Lane, LaneFact, Limits, Naming, Nature, Passage, Pattern, Pause, Preset, Stream, Tree, TreeFact,
    Usage, Windowed, pattern,
};
use crate::identity::{Digest, Said};
use crate::{
    CircuitName, Decision, Effect, Fact as AnyFact, Memory, Moment, Policy, Reason, Recorded, Retry, Step, Texts,
    Verdict, digest_hex,
};

/// What Stop hooks are counted under.
pub(super) const STOP_HOOK: &str = "Stop";
/// A client started inside a hook is counted under this.
const NESTED_SESSION: &str = "session inside a hook";

/// Rows that must be read before the decision can go on.
type Asked<T> = Result<T, Vec<CircuitName>>;

/// What an agent's event is decided with.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Whose doing.
    pub stream: &'a Stream,
    /// What happened.
    pub what: &'a Happening,
    /// The digest of the policy.
    pub policy: &'a str,
}

/// The key under which refusals by permission rules are counted.
pub(super) fn denials_key() -> Digest {
    Digest::of(&[b"denials"])
}

/// The key of a hook that runs too often.
pub(super) fn hook_key(name: &str) -> Digest {
    Digest::of(&[b"hook", name.as_bytes()])
}

/// The key of a limit.
pub(super) fn limit_key(name: &str) -> Digest {
    Digest::of(&[b"limit", name.as_bytes()])
}

/// Decides one event of an agent.
pub fn decide(memory: &Memory, policy: &Policy, question: &Question<'_>, now: Moment) -> Step {
    let draft = match Draft::open(memory, policy, question, now) {
        Ok(draft) => draft,
        Err(needs) => return Step::Needs(needs),
    };
    match draft.run() {
        Ok(decision) => Step::Decided(decision),
        Err(needs) => Step::Needs(needs),
    }
}

/// A decision in the making.
struct Draft<'a> {
    memory: &'a Memory,
    policy: &'a Policy,
    limits: &'a Limits,
    question: &'a Question<'a>,
    now: Moment,
    lane_name: CircuitName,
    lane: Lane,
    is_new: bool,
    tree_name: CircuitName,
    tree: Option<Tree>,
    /// The call that asks, where one does.
    call: Option<Digest>,
    /// The response it belongs to, where the client says.
    message: Option<Digest>,
    /// The end that is told, where it has a name of its own.
    end: Option<Digest>,
    /// It was answered before: what is said now is the same, and nothing comes of it.
    is_told_again: bool,
    /// The call saves work after a hard limit, if nobody else refuses it.
    is_saving: bool,
    facts: Vec<Recorded>,
    effects: Vec<Effect>,
    notices: Vec<String>,
}

/// A refusal that is to be answered.
struct Refusal {
    grounds: Grounds,
    key: Digest,
    /// The trip that refuses, where a circuit does.
    trip: Option<Trip>,
    retry: Retry,
}

impl<'a> Draft<'a> {
    fn open(memory: &'a Memory, policy: &'a Policy, question: &'a Question<'a>, now: Moment) -> Asked<Self> {
        let stream = question.stream;
        let lane_name = CircuitName::lane(&stream.session, stream.agent.as_deref());
        let Some(row) = memory.row(&lane_name) else { return Err(vec![lane_name]) };
        let known = row.and_then(|state| state.as_lane());
        let root = match known {
            Some(lane) => lane.root.clone(),
            None => Self::root_of_new(memory, stream)?,
        };
        let tree_name = CircuitName::tree(root.as_deref().unwrap_or(&stream.session));
        let tree = memory.state(&tree_name).and_then(|state| state.as_tree()).cloned();
        let mut draft = Self {
            memory,
            policy,
            limits: &policy.loop_,
            question,
            now,
            lane_name,
            lane: known.cloned().unwrap_or_else(|| Lane::new(now)),
            is_new: known.is_none(),
            tree_name,
            tree,
            call: None,
            message: None,
            end: None,
            is_told_again: false,
            is_saving: false,
            facts: Vec::new(),
            effects: Vec::new(),
            notices: Vec::new(),
        };
        draft.is_told_again = draft.is_told_before();
        draft.begin(root);
        Ok(draft)
    }

    /// The tree of a stream nobody has seen: a sub-agent's is its session's, a nested session's its parent's.
    fn root_of_new(memory: &Memory, stream: &Stream) -> Asked<Option<String>> {
        let above = match (&stream.root, &stream.agent) {
            (Some(parent), _) => parent,
            (None, Some(_)) => &stream.session,
            (None, None) => return Ok(None),
        };
        let above_name = CircuitName::lane(above, None);
        let Some(row) = memory.row(&above_name) else { return Err(vec![above_name]) };
        // The tree of whoever started it, and so on up to the top.
        let root = row.and_then(|state| state.as_lane()).and_then(|lane| lane.root.clone());
        Ok(root.or_else(|| stream.root.clone()))
    }

    /// The first thing that is known of a stream, and whether the rules are still the same.
    fn begin(&mut self, root: Option<String>) {
        let stream = self.question.stream;
        let (starts, resumed, is_nested) = match self.question.what {
            Happening::SessionStart { resumed, is_nested, .. } => (true, *resumed, *is_nested),
            Happening::Prompt { .. }
            | Happening::Message { .. }
            | Happening::ModelStart
            | Happening::ToolStart { .. }
            | Happening::ToolEnd { .. }
            | Happening::Batch { .. }
            | Happening::SpawnStart { .. }
            | Happening::SpawnEnd { .. }
            | Happening::Hook { .. }
            | Happening::Stop { .. }
            | Happening::Compaction { .. }
            | Happening::Cleanup { .. }
            | Happening::SessionEnd { .. } => (false, false, self.lane.is_nested),
        };
        if self.is_new || (starts && !self.is_told_again) {
            let unseen = self.is_new && stream.is_batched && stream.agent.is_none() && !starts;
            let client = stream.client.clone();
            let (door, told_by) = match stream.naming {
                Naming::Own | Naming::Begun => (None, self.door()),
                Naming::Counted => (self.door(), None),
            };
            self.lane(LaneFact::Began { client, root, is_nested, resumed, door, told_by, unseen });
            if unseen {
                self.notices.push(format!(
                    "haltline has no memory of this running session ({}): it was installed while the session ran, or its store was taken away. Counting starts now.",
                    stream.session
                ));
            }
        }
        if self.lane.policy != self.question.policy {
            let is_first = self.lane.policy.is_empty();
            let held = self.lane.board.held.len();
            self.lane(LaneFact::PolicyChanged { policy: self.question.policy.to_owned() });
            if !is_first {
                let open = if held > 0 { format!("; {held} open circuit(s) stay open") } else { String::new() };
                self.notices.push(format!(
                    "haltline (HL-OWN-02): its configuration changed while this session ran{open}. See `haltline config show`."
                ));
            }
        }
    }

    fn run(mut self) -> Asked<Decision> {
        if self.is_overheard() {
            return Ok(Decision {
                facts: Vec::new(),
                verdict: Verdict::Pass,
                effects: Vec::new(),
                notices: Vec::new(),
            });
        }
        let verdict = match self.question.what {
            Happening::SessionStart { is_nested, .. } => self.session_start(*is_nested)?,
            Happening::Prompt { by_user, bypass } => self.prompt(*by_user, *bypass)?,
            Happening::Message { usage, cost, offset, last, said } => {
                if let Some(passage) = offset
                    && !self.read_on(passage, last.as_deref())?
                {
                    return Ok(self.decided(Verdict::Pass));
                }
                if usage.is_some() || cost.is_some() {
                    self.need_tree()?;
                    self.tree(TreeFact::Spent { tokens: usage.map(|usage| usage.tokens()), micros: *cost });
                }
                self.speech(*usage, *cost, said.as_ref());
                self.soft_budget()?
            }
            Happening::ModelStart => self.model_start()?,
            Happening::ToolStart { call, message, action, guarded, touched, tampering } => {
                let start = start::Start { call, message: message.as_deref(), action, guarded, touched, tampering };
                self.tool_start(&start)?
            }
            Happening::ToolEnd { call, action, answer } => {
                self.tool_end(call, action.as_deref(), answer)?;
                Verdict::Pass
            }
            Happening::Batch { ends } => self.batch(ends)?,
            Happening::SpawnStart { child, depth } => self.spawn_start(child, *depth)?,
            Happening::SpawnEnd { child } => {
                self.need_tree()?;
                if let Some(child) = child.clone().or_else(|| self.agents().into_iter().next()) {
                    self.agent_ended(&child);
                }
                Verdict::Pass
            }
            Happening::Hook { name } => self.hook(name)?,
            Happening::Stop { blocked, running } => self.stop(*blocked, running.as_deref())?,
            Happening::Compaction { .. } | Happening::SessionEnd { .. } if self.is_told_again => Verdict::Pass,
            Happening::Compaction { trigger } => {
                self.lane(LaneFact::Compacted { trigger: trigger.clone(), door: self.door() });
                Verdict::Pass
            }
            Happening::Cleanup { files_rotated, sessions_pruned, bytes_freed } => {
                self.lane(LaneFact::MemoryCleaned {
                    files_rotated: *files_rotated,
                    sessions_pruned: *sessions_pruned,
                    bytes_freed: *bytes_freed,
                });
                Verdict::Pass
            }
            Happening::SessionEnd { reason } => {
                self.close_flights()?;
                if self.question.stream.agent.is_none() && self.lane.root.is_none() {
                    self.need_tree()?;
                    for id in self.agents() {
                        self.agent_ended(&id);
                    }
                }
                self.lane(LaneFact::Over { reason: reason.clone(), door: self.door() });
                Verdict::Pass
            }
        };
        Ok(self.decided(verdict))
    }

    fn decided(self, verdict: Verdict) -> Decision {
        Decision { facts: self.facts, verdict, effects: self.effects, notices: self.notices }
    }

    /// Takes a passage of the client's transcript, unless another hook has read on since: then it is dropped whole.
    fn read_on(&mut self, passage: &Passage, last: Option<&str>) -> Asked<bool> {
        if passage.from != self.lane.transcript || passage.known != self.lane.reported {
            return Ok(false);
        }
        if let Some(bypass) = passage.prompt
            && self.lane.pause == Pause::Kept
        {
            // It was a person after all. What there was to refuse at that prompt is over.
            self.prompt(true, bypass)?;
        }
        for (call, answer) in &passage.ended {
            if self.lane.flight_named(end::named(call)).is_some() {
                self.tool_end(call, None, answer)?;
            }
        }
        self.lane(LaneFact::Reported { offset: passage.to, last: last.map(str::to_owned) });
        Ok(true)
    }

    /// What was said and what it cost is kept only where somebody wants it watched.
    fn speech(&mut self, usage: Option<Usage>, cost: Option<u64>, said: Option<&Said>) {
        let spent = cost.or(usage.map(|usage| usage.tokens()));
        if let Some(spent) = spent.filter(|_| self.limits.cost_growth.enabled) {
            self.lane(LaneFact::Responded { spent });
        }
        if let Some(said) = said.filter(|_| self.limits.chanting.enabled) {
            self.lane(LaneFact::Spoke { said: *said });
        }
    }

    fn session_start(&mut self, is_nested: bool) -> Asked<Verdict> {
        let is_new = is_nested && !self.is_told_again;
        let Some(root) = self.question.stream.root.as_deref().filter(|_| is_new) else { return Ok(Verdict::Pass) };
        // A client inside a client: from a shell call it is an agent more; from nowhere, a hook started it.
        let parent = CircuitName::lane(root, None);
        let Some(row) = self.memory.row(&parent) else { return Err(vec![parent]) };
        // Only where no call ran since the prompt is it certain: a call may have left it behind in the background.
        let is_from_call =
            row.and_then(|state| state.as_lane()).is_some_and(|lane| !lane.flights.is_empty() || !lane.is_prompted);
        if row.is_some() && !is_from_call {
            self.at_root(|draft| draft.hook(NESTED_SESSION))?;
        }
        Ok(Verdict::Pass)
    }

    /// Decides something about the root session's own stream: what sessions inside sessions do adds up there.
    fn at_root<T>(&mut self, decide: impl FnOnce(&mut Self) -> Asked<T>) -> Asked<Option<T>> {
        let Some(root) = self.lane.root.clone() else { return Ok(None) };
        let name = CircuitName::lane(&root, None);
        let Some(row) = self.memory.row(&name) else { return Err(vec![name]) };
        let Some(lane) = row.and_then(|state| state.as_lane()).cloned() else { return Ok(None) };
        let own = (std::mem::replace(&mut self.lane_name, name), std::mem::replace(&mut self.lane, lane));
        let decided = decide(self);
        (self.lane_name, self.lane) = own;
        decided.map(Some)
    }

    /// Hooks that start sessions that run hooks: the next such session is refused its work.
    fn inside_hooks(&mut self) -> Asked<Option<Verdict>> {
        if !self.lane.is_nested {
            return Ok(None);
        }
        let key = hook_key(NESTED_SESSION);
        let open = self.at_root(|draft| {
            Ok(match draft.lane.board.standing(key, draft.now) {
                Standing::Open(trip) | Standing::Probing(trip) => Some(trip.clone()),
                Standing::Closed | Standing::Trial(..) => None,
            })
        })?;
        let Some(trip) = open.flatten() else { return Ok(None) };
        let grounds = self.hook_grounds(NESTED_SESSION, trip.count);
        let refusal = Refusal { grounds, key, retry: Retry::At(trip.until()), trip: Some(trip) };
        Ok(Some(self.refuse(refusal, None)))
    }

    fn prompt(&mut self, by_user: bool, bypass: bool) -> Asked<Verdict> {
        // What the client itself sends, such as a sub-agent's result, would set a stopped agent going again.
        let is_stopped = match self.policy.mode {
            crate::Mode::Enforce => self.lane.is_stopped,
            // Nobody was stopped.
            crate::Mode::Observe => false,
        };
        let is_refused = !by_user && is_stopped;
        if !self.is_told_again {
            self.lane(LaneFact::Prompted { by_user, is_refused, door: self.door() });
        }
        if is_refused {
            return Ok(self.still_stopped());
        }
        if !by_user {
            return Ok(Verdict::Pass);
        }
        if self.is_told_again {
            return Ok(self.inside_hooks()?.unwrap_or(Verdict::Pass));
        }
        if !self.question.stream.is_batched {
            // Whoever asks again no longer waits: a call whose end was lost must not hold the turn open (L3).
            self.close_flights()?;
        }
        if let Some(refused) = self.inside_hooks()? {
            return Ok(refused);
        }
        // A new question: what was on trial for the last one is over, unless a person wants it tried.
        self.lapse(|pattern, by| pattern.nature() == Nature::Loop && by != Opening::Person);
        self.need_tree()?;
        let is_main = self.question.stream.agent.is_none() && self.lane.root.is_none() && !self.lane.is_nested;
        // Prompts of sub-agents and of sessions inside this one are none of the user's.
        if is_main && self.tree.as_ref().is_some_and(|tree| tree.is_bypassed != bypass) {
            self.tree(TreeFact::Bypass { on: bypass });
        }
        self.soft_budget()
    }

    /// Whether a person declared this a false alarm.
    fn is_exempt(&self, pattern: Pattern, key: Digest) -> Asked<bool> {
        let name = CircuitName::exempt();
        let Some(row) = self.memory.row(&name) else { return Err(vec![name]) };
        Ok(row.and_then(|state| state.as_exempt()).is_some_and(|exempt| exempt.covers(pattern, key)))
    }

    fn need_tree(&mut self) -> Asked<()> {
        if self.tree.is_none() {
            if self.memory.row(&self.tree_name).is_none() {
                return Err(vec![self.tree_name.clone()]);
            }
            self.tree = Some(Tree::new(self.now));
        }
        Ok(())
    }

    fn lane(&mut self, fact: LaneFact) {
        self.lane_with(self.now, fact, None);
    }

    fn lane_with(&mut self, at: Moment, fact: LaneFact, text: Option<String>) {
        let lane = std::mem::replace(&mut self.lane, Lane::new(at));
        self.lane = Lane::apply(Some(lane), &fact, at);
        let texts = Texts { session: None, text };
        self.facts.push(Recorded { circuit: self.lane_name.clone(), at, fact: AnyFact::Lane(fact), texts });
    }

    fn tree(&mut self, fact: TreeFact) {
        self.tree_with(self.now, fact, None);
    }

    fn tree_with(&mut self, at: Moment, fact: TreeFact, text: Option<String>) {
        self.tree = Some(Tree::apply(self.tree.take(), &fact, at));
        let texts = Texts { session: None, text };
        self.facts.push(Recorded { circuit: self.tree_name.clone(), at, fact: AnyFact::Tree(fact), texts });
    }

    /// Opens a circuit of this stream, and tells the person once.
    fn trip(
        &mut self,
        grounds: &Grounds,
        key: Digest,
        normal: Option<Digest>,
        count: u32,
        cooldown_s: u32,
    ) -> Asked<()> {
        // What it cost is the tree's to tell.
        self.need_tree()?;
        let trip = self.new_trip(&self.lane.board, &self.lane_name, grounds.pattern, key, normal, count, cooldown_s);
        let wait = words::cooldown(&trip, self.now);
        self.tell(grounds, &trip.incident, Some(&wait), trip.level);
        self.effects.push(Effect::Notify { circuit: self.lane_name.clone(), incident: trip.incident.clone() });
        self.lane_with(self.now, LaneFact::Board(BoardFact::Tripped { trip }), Some(grounds.fact.clone()));
        Ok(())
    }

    /// Opens a circuit of the tree.
    fn trip_tree(&mut self, grounds: &Grounds, key: Digest, count: u32, limits: Windowed) {
        let Some(tree) = &self.tree else { return };
        let trip = self.new_trip(&tree.board, &self.tree_name, grounds.pattern, key, None, count, limits.cooldown_s);
        let wait = words::cooldown(&trip, self.now);
        self.tell(grounds, &trip.incident, Some(&wait), trip.level);
        self.effects.push(Effect::Notify { circuit: self.tree_name.clone(), incident: trip.incident.clone() });
        let text = Some(grounds.fact.clone());
        self.tree_with(self.now, TreeFact::Board(BoardFact::Tripped { trip }), text);
    }

    #[expect(clippy::too_many_arguments, reason = "a trip is made of exactly these")]
    fn new_trip(
        &self,
        board: &Board,
        name: &CircuitName,
        pattern: Pattern,
        key: Digest,
        normal: Option<Digest>,
        count: u32,
        cooldown_s: u32,
    ) -> Trip {
        let level = board.next_level(pattern, self.now);
        let cooldown_ms = Board::cooldown_ms(cooldown_s, level);
        let incident = self.incident(name, board.trips, key);
        Trip { incident, pattern, key, normal, since: self.now, cooldown_ms, count, level }
    }

    fn incident(&self, name: &CircuitName, trips: u64, key: Digest) -> String {
        let (at, trips, key) = (self.now.at.as_millis().to_be_bytes(), trips.to_be_bytes(), key.0.to_be_bytes());
        digest_hex(&[name.as_str().as_bytes(), &trips, &at, &key], 4)
    }

    fn tell(&mut self, grounds: &Grounds, incident: &str, wait: Option<&str>, level: u32) {
        let cost = match &self.tree {
            Some(tree) => words::cost(tree.spent.micros, tree.spent.is_priced, tree.spent.is_partial),
            None => "unknown".to_owned(),
        };
        let mut notice = words::notice(grounds, incident, wait, &cost);
        if level >= ALERT_LEVEL {
            notice.push_str(&format!("\n  alert  trip {level} in a row: a person should look"));
        }
        self.notices.push(notice);
    }

    /// Lets a call through as the probe of a circuit that is on trial.
    fn take_trial(&mut self, key: Digest, call: Digest) {
        let Some(held) = self.lane.board.held.iter().find(|held| held.trip.key == key).cloned() else { return };
        let incident = held.trip.incident.clone();
        match held.stage {
            Stage::Open => {
                // It became true when the cooldown ended, not when somebody looked.
                let at = held.trip.since.plus_millis(held.trip.cooldown_ms);
                let opened = BoardFact::HalfOpened { incident: incident.clone(), by: Opening::Cooldown, hint: None };
                self.lane_with(at, LaneFact::Board(opened), None);
            }
            Stage::Probing(_) => {
                self.lane(LaneFact::Board(BoardFact::ProbeAbandoned { incident: incident.clone() }));
            }
            Stage::HalfOpen(_) => {}
        }
        let by = match held.stage {
            Stage::HalfOpen(by) => by,
            Stage::Open | Stage::Probing(_) => Opening::Cooldown,
        };
        let lease_ms = u64::from(self.limits.probe_lease_s) * 1000;
        let probe = Probe { call, since: self.now, lease_ms, by };
        self.lane(LaneFact::Board(BoardFact::ProbeTaken { incident, probe }));
    }

    /// Closes circuits of this stream that are on trial and that nobody goes on with.
    fn lapse(&mut self, is_over: impl Fn(Pattern, Opening) -> bool) {
        let trials =
            self.lane.board.held.iter().filter(|held| match self.lane.board.standing(held.trip.key, self.now) {
                Standing::Trial(trip, by) => is_over(trip.pattern, by),
                Standing::Closed | Standing::Open(_) | Standing::Probing(_) => false,
            });
        let over: Vec<String> = trials.map(|held| held.trip.incident.clone()).collect();
        for incident in over {
            self.lane(LaneFact::Board(BoardFact::Lapsed { incident }));
        }
    }

    fn recover(&mut self, key: Digest) {
        let held = self.lane.board.held.iter().find(|held| held.trip.key == key);
        if let Some(incident) = held.map(|held| held.trip.incident.clone()) {
            self.lane(LaneFact::Board(BoardFact::Recovered { incident }));
        }
    }

    /// Refuses, one rung higher than the last time in an earlier turn (E5).
    fn refuse(&mut self, refusal: Refusal, text: Option<String>) -> Verdict {
        let Refusal { grounds, key, trip, retry } = refusal;
        let step = self.lane.board.next_step(key, self.lane.turn);
        self.refused(key, grounds.pattern, step, text);
        let refused = self.lane.board.rung(key).map_or(1, |rung| rung.refused);
        let wait = trip.map(|trip| words::cooldown(&trip, self.now));
        let said = words::refusal(&grounds, wait.as_deref(), step, refused);
        let reason = Reason { circuit: self.circuit(grounds.pattern), code: grounds.code, text: said, retry };
        match step {
            RungStep::Deny => Verdict::Deny(reason),
            RungStep::Stop => {
                self.stopped();
                Verdict::Stop(reason)
            }
        }
    }

    /// Writes a refusal down, unless it was before.
    fn refused(&mut self, key: Digest, pattern: Pattern, step: RungStep, text: Option<String>) {
        if self.is_told_again {
            return;
        }
        let (call, message, turn) = (self.call, self.message, self.lane.turn);
        let fact = BoardFact::Refused { key, pattern, step, turn, call, message };
        self.lane_with(self.now, LaneFact::Board(fact), text);
    }

    /// A sub-agent that is stopped sends no word of its end.
    fn stopped(&mut self) {
        if let (Some(agent), Some(_)) = (self.question.stream.agent.clone(), &self.tree) {
            self.agent_ended(&agent);
        }
    }

    /// Refuses at a limit that holds no circuit: the first time is an incident, and the person is told.
    fn limit(&mut self, grounds: Grounds, key: Digest, count: u32, retry: Retry) -> Verdict {
        if self.lane.board.rung(key).is_none_or(|rung| rung.incident.is_none()) {
            let incident = self.incident(&self.lane_name, self.lane.board.trips, key);
            self.tell(&grounds, &incident, None, 0);
            self.effects.push(Effect::Notify { circuit: self.lane_name.clone(), incident: incident.clone() });
            let fact = BoardFact::Limited { incident, pattern: grounds.pattern, key, count };
            self.lane_with(self.now, LaneFact::Board(fact), Some(grounds.fact.clone()));
        }
        self.refuse(Refusal { grounds, key, trip: None, retry }, None)
    }

    /// Tells the agent, which goes on.
    fn warn(&mut self, grounds: &Grounds, key: Digest, count: u32, text: Option<String>) -> Verdict {
        let fact = BoardFact::Warned { pattern: grounds.pattern, key, count };
        self.lane_with(self.now, LaneFact::Board(fact), text.or(Some(grounds.fact.clone())));
        let text = words::warning(grounds);
        Verdict::Warn(Reason { circuit: self.circuit(grounds.pattern), code: grounds.code, text, retry: Retry::Now })
    }

    fn circuit(&self, pattern: Pattern) -> CircuitName {
        self.lane_name.below(pattern.word())
    }

    fn agents(&self) -> Vec<String> {
        self.tree.iter().flat_map(|tree| tree.agents.iter().map(|agent| agent.id.clone())).collect()
    }

    /// The agents that have ended, by the main agent's list of those that run. It names only its own: what is deeper
    /// goes on while any of them does.
    fn not_among(&self, running: &[String]) -> Vec<String> {
        let agents = || self.tree.iter().flat_map(|tree| &tree.agents);
        let any_runs = agents().any(|agent| running.contains(&agent.id));
        let is_over = |agent: &&Agent| !running.contains(&agent.id) && (agent.depth <= 1 || !any_runs);
        agents().filter(is_over).map(|agent| agent.id.clone()).collect()
    }

    fn agent_ended(&mut self, id: &str) {
        if self.tree.as_ref().is_some_and(|tree| tree.agents.iter().any(|agent| agent.id == id)) {
            self.tree(TreeFact::AgentEnded { id: id.to_owned() });
        }
    }

    fn is_literal(&self) -> bool {
        match self.limits.preset {
            Preset::Default => false,
            Preset::Literal => true,
        }
    }
}

/// A name on one short line.
fn short(name: &str) -> String {
    let line: String = name.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(81).collect();
    if line.chars().count() > 80 { line.chars().take(79).chain(['…']).collect() } else { line }
}
