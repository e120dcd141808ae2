//! Every fact of the loop breaker, each with its stable name and whether it needs a sync, in the order of
//! `testdata/facts.jsonl`.

use haltline_core::identity::{Digest, ModelText, Outcome, WordHash, WordSet};
use haltline_core::loop_::{
    AgentFact, AgentTreeFact, CallTraits, CircuitFact, Ending, EscalationLevel, Exemption, ExemptionFact,
    HalfOpenCause, InFlightCall, Pattern, Permit, Probe, Progress, ProviderFact, Trip, TurnEnd,
};
use haltline_core::{Fact, Moment};

const CALL: Digest = Digest(11);
const KEY: Digest = Digest(22);

type Row = (Fact, &'static str, bool);

pub fn rows(now: Moment) -> Vec<Row> {
    let agent = agent().map(|(fact, word)| (Fact::Agent(fact), word, false));
    let circuits =
        circuits(now).map(|(fact, word, needs_sync)| (Fact::Agent(AgentFact::Circuit(fact)), word, needs_sync));
    let shared = CircuitFact::Recovered { incident: incident() };
    let tree = tree(now).map(|(fact, word, needs_sync)| (Fact::Tree(fact), word, needs_sync));
    let shared = (Fact::Tree(AgentTreeFact::Circuit(shared)), "recovered", true);
    let exemptions = exemptions(now).map(|(fact, word)| (Fact::Exemption(fact), word, true));
    let words = words(now).map(|(fact, word)| (Fact::Agent(fact), word, false));
    let hook_sources = hook_sources().map(|(fact, word)| (Fact::Agent(fact), word, false));
    agent
        .into_iter()
        .chain(circuits)
        .chain(tree)
        .chain([shared])
        .chain(exemptions)
        .chain(words)
        .chain(hook_sources)
        .chain([(Fact::Agent(AgentFact::HooksRemoved), "hooks_removed", true)])
        .chain([(Fact::Agent(AgentFact::EventForged), "event_forged", true)])
        .chain(incidents(now))
        .chain(continuation().map(|(fact, word)| (Fact::Agent(fact), word, false)))
        .chain(failures().map(|(fact, word)| (Fact::Agent(fact), word, false)))
        .collect()
}

/// Facts about the tasks of sub-agents and what sub-agents cost.
pub fn fan_out(now: Moment) -> [Row; 5] {
    let task = Digest(33);
    let permit = Permit { call: CALL, depth: 1, since: now, task: Some(task) };
    let facts = [
        (AgentTreeFact::Permitted { permit, agent: KEY, turn: 4 }, "spawn_permitted"),
        (AgentTreeFact::TaskFailed { task, result: Digest(44) }, "task_failed"),
        (AgentTreeFact::TaskDone { task }, "task_done"),
        (AgentTreeFact::TaskRepeated { task }, "task_repeated"),
        (AgentTreeFact::Spent { tokens: Some(5), micros: Some(7), is_paced: false, is_sub_agent: true }, "spent"),
    ];
    facts.map(|(fact, word)| (Fact::Tree(fact), word, false))
}

/// Facts about compactions and the cache of a model service.
pub fn context(_now: Moment) -> [Row; 4] {
    let compacted = AgentFact::Compacted { trigger: "auto".to_owned(), hook_source: None, is_useless: true };
    let facts = [
        (AgentFact::PromptUncached { micros: Some(500_000) }, "prompt_uncached"),
        (AgentFact::PromptUncached { micros: None }, "prompt_uncached"),
        (AgentFact::PromptCached, "prompt_cached"),
        (compacted, "compacted"),
    ];
    facts.map(|(fact, word)| (Fact::Agent(fact), word, false))
}

/// Facts about model services.
pub fn providers(now: Moment) -> [Row; 3] {
    let circuit = |fact| Fact::Provider(ProviderFact::Circuit(fact));
    let pattern = Pattern::ProviderLimit;
    let trip = Trip {
        incident: incident(),
        pattern,
        key: KEY,
        normal: None,
        calls: Vec::new(),
        since: now,
        cooldown_ms: 3_600_000,
        count: 1,
        streak: 1,
    };
    let began = AgentFact::Began {
        client: "claude-code".to_owned(),
        root_session: None,
        is_nested: false,
        resumed: false,
        hook_source: None,
        delivered_by: None,
        missed_start: false,
        model_series: Some("claude-opus".to_owned()),
    };
    [
        (circuit(CircuitFact::Tripped { trip }), "tripped", true),
        (circuit(CircuitFact::Recovered { incident: incident() }), "recovered", true),
        (Fact::Agent(began), "began", false),
    ]
}

/// Facts about what an incident is about and about what people allow, which later versions added.
fn incidents(now: Moment) -> [Row; 6] {
    let circuit = |fact| Fact::Agent(AgentFact::Circuit(fact));
    let (who, hint) = (|| "anna".to_owned(), || Some("look at the log".to_owned()));
    let trip = Trip {
        incident: incident(),
        pattern: Pattern::Cycle,
        key: KEY,
        normal: None,
        calls: vec![Digest(1), Digest(2)],
        since: now,
        cooldown_ms: 5_000,
        count: 3,
        streak: 1,
    };
    let (cause, incident) = (HalfOpenCause::Person, incident());
    let resumed = CircuitFact::HalfOpened { incident: incident.clone(), cause, hint: None, who: Some(who()) };
    let allowed = CircuitFact::Allowed { incident: incident.clone(), who: who(), hint: hint() };
    let prompted = AgentFact::Prompted { by_user: true, is_denied: false, clears_spawns: true, hook_source: None };
    [
        (circuit(CircuitFact::Tripped { trip }), "tripped", true),
        (circuit(resumed), "half_opened", true),
        (circuit(allowed), "allowed", true),
        (circuit(CircuitFact::AllowanceUsed { incident }), "allowance_used", true),
        (Fact::Agent(prompted), "prompted", false),
        (Fact::Tree(AgentTreeFact::Prompted), "prompted", false),
    ]
}

/// Facts about what a failure says and what a command prints for the reader, which later versions added.
fn failures() -> [(AgentFact, &'static str); 2] {
    let traits = CallTraits { may_poll: true, is_reading: true, is_setup: true, ..CallTraits::default() };
    let call = InFlightCall {
        id: CALL,
        tool: "Bash".to_owned(),
        identity: KEY,
        turn: 3,
        generation: 4,
        traits,
        transcript_id: None,
        words: WordSet::default(),
        printed: vec![Digest(55)],
    };
    let ending = Ending {
        call: CALL,
        outcome: Outcome::Failed,
        normal: Digest(33),
        raw: Digest(44),
        is_failed: true,
        progress: Progress::None,
        keep: 50,
        shared_words: Vec::new(),
        quotes_call: false,
        is_terse: false,
        end_id: None,
        ends_turn: false,
        error_kind: Some(Digest(66)),
        missing_program: Some(Digest(77)),
        finds_nothing: true,
    };
    [(AgentFact::Started { call, response: None }, "started"), (AgentFact::Ended(ending), "failed")]
}

/// Facts about turns that something other than a person began, which later versions added.
fn continuation() -> [(AgentFact, &'static str); 3] {
    let ending = Ending {
        call: CALL,
        outcome: Outcome::Ok,
        normal: Digest(33),
        raw: Digest(44),
        is_failed: false,
        progress: Progress::None,
        keep: 50,
        shared_words: Vec::new(),
        quotes_call: false,
        is_terse: false,
        end_id: None,
        ends_turn: true,
        error_kind: None,
        missing_program: None,
        finds_nothing: false,
    };
    [
        (AgentFact::Stopped { blocked: true, end: TurnEnd::Waiting, hook_source: None }, "kept_going"),
        (AgentFact::SubAgentReported, "sub_agent_reported"),
        (AgentFact::Ended(ending), "ended"),
    ]
}

/// Facts with hook sources and with separate ids for ends, which later versions added.
fn hook_sources() -> [(AgentFact, &'static str); 7] {
    let hook_source = Some(Digest(88));
    let client = "copilot".to_owned();
    let (is_nested, resumed, unseen) = (false, false, false);
    let ending = Ending {
        call: CALL,
        outcome: Outcome::Ok,
        normal: Digest(33),
        raw: Digest(44),
        is_failed: false,
        progress: Progress::None,
        keep: 50,
        shared_words: Vec::new(),
        quotes_call: false,
        is_terse: false,
        end_id: Some(Digest(99)),
        ends_turn: false,
        error_kind: None,
        missing_program: None,
        finds_nothing: false,
    };
    [
        (
            AgentFact::Began {
                client,
                root_session: None,
                is_nested,
                resumed,
                hook_source: None,
                delivered_by: hook_source,
                missed_start: unseen,
                model_series: None,
            },
            "began",
        ),
        (AgentFact::Prompted { by_user: true, is_denied: false, clears_spawns: false, hook_source }, "prompted"),
        (AgentFact::Stopped { blocked: true, end: TurnEnd::Idle, hook_source }, "kept_going"),
        (AgentFact::Compacted { trigger: "auto".to_owned(), hook_source, is_useless: false }, "compacted"),
        (AgentFact::SessionEnded { reason: "exit".to_owned(), hook_source }, "over"),
        (AgentFact::Ended(ending), "ended"),
        (AgentFact::PermissionDenied { call: CALL, tool: Digest(66), end_id: Some(Digest(99)) }, "denied"),
    ]
}

/// Facts with the words of calls and errors, which later versions added.
fn words(now: Moment) -> [(AgentFact, &'static str); 8] {
    let probe = Probe { call: CALL, since: now, lease_ms: 600_000, cause: HalfOpenCause::Write };
    let traits = CallTraits { is_wait: true, is_after_idle: true, ..CallTraits::default() };
    let tool = "Bash".to_owned();
    let words = WordSet::from_text("sleep 5; curl localhost");
    let call = InFlightCall {
        id: CALL,
        tool,
        identity: KEY,
        turn: 3,
        generation: 4,
        traits,
        transcript_id: None,
        words,
        printed: Vec::new(),
    };
    let ending = Ending {
        call: CALL,
        outcome: Outcome::Failed,
        normal: Digest(33),
        raw: Digest(44),
        is_failed: true,
        progress: Progress::None,
        keep: 50,
        shared_words: vec![WordHash(7), WordHash(8)],
        quotes_call: true,
        is_terse: false,
        end_id: None,
        ends_turn: false,
        error_kind: None,
        missing_program: None,
        finds_nothing: false,
    };
    let terse = Ending {
        outcome: Outcome::Ok,
        is_failed: false,
        shared_words: Vec::new(),
        quotes_call: false,
        is_terse: true,
        ..ending.clone()
    };
    [
        (AgentFact::Started { call, response: None }, "started"),
        (AgentFact::Ended(ending), "failed"),
        (AgentFact::Ended(terse), "ended"),
        (AgentFact::Responded { spent: 1_500 }, "responded"),
        (AgentFact::Circuit(CircuitFact::Lapsed { incident: incident() }), "lapsed"),
        (
            AgentFact::Circuit(CircuitFact::HalfOpened {
                incident: incident(),
                cause: HalfOpenCause::NewResult,
                hint: None,
                who: None,
            }),
            "half_opened",
        ),
        (AgentFact::Circuit(CircuitFact::ProbeTaken { incident: incident(), probe }), "probe_taken"),
        (AgentFact::Spoke { text: ModelText { digest: Digest(77), repeats: 2 } }, "spoke"),
    ]
}

fn incident() -> String {
    "0a1b2c3d".to_owned()
}

fn agent() -> [(AgentFact, &'static str); 23] {
    let client = || "claude-code".to_owned();
    let traits = CallTraits {
        is_write: true,
        is_search: false,
        is_spawn: false,
        is_api: true,
        is_poller: false,
        is_wait: false,
        is_after_idle: false,
        is_statement: false,
        may_poll: false,
        is_reading: false,
        is_setup: false,
    };
    let call = InFlightCall {
        id: CALL,
        tool: "Bash".to_owned(),
        identity: KEY,
        turn: 3,
        generation: 4,
        traits,
        transcript_id: None,
        words: WordSet::default(),
        printed: Vec::new(),
    };
    let ended = |is_failed, progress| {
        AgentFact::Ended(Ending {
            call: CALL,
            outcome: if is_failed { Outcome::Failed } else { Outcome::Ok },
            normal: Digest(33),
            raw: Digest(44),
            is_failed,
            progress,
            keep: 50,
            shared_words: Vec::new(),
            quotes_call: false,
            is_terse: false,
            end_id: None,
            ends_turn: false,
            error_kind: None,
            missing_program: None,
            finds_nothing: false,
        })
    };
    [
        (
            AgentFact::Began {
                client: client(),
                root_session: None,
                is_nested: false,
                resumed: false,
                hook_source: None,
                delivered_by: None,
                missed_start: false,
                model_series: None,
            },
            "began",
        ),
        (
            AgentFact::Began {
                client: client(),
                root_session: Some("s0".to_owned()),
                is_nested: true,
                resumed: true,
                hook_source: None,
                delivered_by: None,
                missed_start: true,
                model_series: None,
            },
            "began",
        ),
        (
            AgentFact::Began {
                client: client(),
                root_session: None,
                is_nested: false,
                resumed: false,
                hook_source: Some(Digest(7)),
                delivered_by: None,
                missed_start: false,
                model_series: None,
            },
            "began",
        ),
        (AgentFact::PolicyChanged { policy: "abcd".to_owned() }, "policy_changed"),
        (AgentFact::Prompted { by_user: true, is_denied: false, clears_spawns: false, hook_source: None }, "prompted"),
        (AgentFact::Prompted { by_user: false, is_denied: false, clears_spawns: false, hook_source: None }, "notified"),
        (
            AgentFact::Prompted { by_user: false, is_denied: true, clears_spawns: false, hook_source: None },
            "kept_stopped",
        ),
        (AgentFact::Started { call: call.clone(), response: None }, "started"),
        (AgentFact::Started { call, response: Some(Digest(55)) }, "started"),
        (ended(false, Progress::Written), "ended"),
        (ended(true, Progress::None), "failed"),
        (AgentFact::Unended { call: CALL }, "unended"),
        (AgentFact::EndWithoutStart { call: CALL, outcome: Outcome::RateLimited }, "stray_end"),
        (AgentFact::PermissionDenied { call: CALL, tool: Digest(66), end_id: None }, "denied"),
        (AgentFact::TurnEnded, "turn_ended"),
        (AgentFact::HookRan { name: KEY, keep: 16 }, "hook_ran"),
        (AgentFact::Spawned { keep: 16 }, "spawned"),
        (AgentFact::Stopped { blocked: false, end: TurnEnd::Idle, hook_source: None }, "stopping"),
        (AgentFact::Stopped { blocked: true, end: TurnEnd::Idle, hook_source: None }, "kept_going"),
        (AgentFact::Compacted { trigger: "auto".to_owned(), hook_source: None, is_useless: false }, "compacted"),
        (AgentFact::TranscriptRead { offset: 4096, last_response: Some("msg_1".to_owned()) }, "reported"),
        (AgentFact::MemoryCleaned { files_rotated: 2, sessions_pruned: 5, bytes_freed: 123_456 }, "memory_cleaned"),
        (AgentFact::SessionEnded { reason: "exit".to_owned(), hook_source: None }, "over"),
    ]
}

fn circuits(now: Moment) -> [(CircuitFact, &'static str, bool); 14] {
    let trip = |normal| Trip {
        incident: incident(),
        pattern: Pattern::ToolFailure,
        key: KEY,
        normal,
        calls: Vec::new(),
        since: now,
        cooldown_ms: 10_000,
        count: 3,
        streak: 1,
    };
    let half_opened = |cause, hint| CircuitFact::HalfOpened { incident: incident(), cause, hint, who: None };
    let probe = Probe { call: CALL, since: now, lease_ms: 600_000, cause: HalfOpenCause::Cooldown };
    let denied = |level, call, response| CircuitFact::Denied {
        key: KEY,
        pattern: Pattern::Repeat,
        level,
        turn: 4,
        call,
        response,
    };
    let who = || "anna".to_owned();
    [
        (CircuitFact::Warned { pattern: Pattern::Cycle, key: KEY, count: 3 }, "warned", false),
        (CircuitFact::Tripped { trip: trip(Some(Digest(33))) }, "tripped", true),
        (CircuitFact::Tripped { trip: trip(None) }, "tripped", true),
        (
            CircuitFact::Limited { incident: incident(), pattern: Pattern::AgentSpawn, key: KEY, count: 5 },
            "limited",
            true,
        ),
        (half_opened(HalfOpenCause::Cooldown, None), "half_opened", false),
        (half_opened(HalfOpenCause::Person, Some("look at the log".to_owned())), "half_opened", true),
        (CircuitFact::ProbeTaken { incident: incident(), probe }, "probe_taken", false),
        (CircuitFact::ProbeAbandoned { incident: incident() }, "probe_abandoned", false),
        (CircuitFact::Recovered { incident: incident() }, "recovered", true),
        (denied(EscalationLevel::Deny, None, None), "refused", false),
        (denied(EscalationLevel::Stop, Some(CALL), Some(Digest(55))), "stopped", false),
        (CircuitFact::Reset { who: who(), incident: None }, "reset", true),
        (CircuitFact::Reset { who: who(), incident: Some(incident()) }, "reset", true),
        (CircuitFact::FalsePositive { who: who(), incident: incident() }, "false_alarm", true),
    ]
}

fn tree(now: Moment) -> [(AgentTreeFact, &'static str, bool); 17] {
    let permit = Permit { call: CALL, depth: 1, since: now, task: None };
    let id = || "a1".to_owned();
    [
        (AgentTreeFact::Bypass { on: true }, "bypassed", true),
        (AgentTreeFact::Bypass { on: false }, "bypass_over", false),
        (AgentTreeFact::Permitted { permit, agent: Digest(77), turn: 3 }, "spawn_permitted", false),
        (AgentTreeFact::Refunded { call: CALL }, "spawn_refunded", false),
        (AgentTreeFact::PermitUsed { call: CALL }, "spawn_used", false),
        (AgentTreeFact::SubAgentBegan { id: id(), depth: 1, call: Some(CALL) }, "agent_began", false),
        (AgentTreeFact::SubAgentBegan { id: id(), depth: 2, call: None }, "agent_began", false),
        (AgentTreeFact::SubAgentEnded { id: id() }, "agent_ended", false),
        (AgentTreeFact::SubAgentEnding { id: id() }, "agent_ending", false),
        (AgentTreeFact::ApiCalled { call: CALL, micros: None, keep: 10 }, "api_called", false),
        (AgentTreeFact::ApiCharged { call: CALL, micros: Some(20_000) }, "api_settled", false),
        (
            AgentTreeFact::Spent { tokens: Some(500), micros: Some(12_300), is_paced: false, is_sub_agent: false },
            "spent",
            false,
        ),
        (AgentTreeFact::Spent { tokens: None, micros: None, is_paced: false, is_sub_agent: false }, "spent", false),
        (AgentTreeFact::Turn, "turn", false),
        (AgentTreeFact::Saved, "saved", false),
        (AgentTreeFact::LimitWarned { key: KEY }, "told", false),
        (AgentTreeFact::ApiCalled { call: CALL, micros: Some(20_000), keep: 10 }, "api_called", false),
    ]
}

fn exemptions(now: Moment) -> [(ExemptionFact, &'static str); 2] {
    let who = "anna".to_owned();
    let exemption = Exemption {
        pattern: Pattern::Repeat,
        key: KEY,
        calls: Vec::new(),
        incident: incident(),
        who: who.clone(),
        at: now.at,
    };
    [
        (ExemptionFact::Exempted { exemption }, "exempted"),
        (ExemptionFact::Revoked { incident: incident(), who }, "exemption_revoked"),
    ]
}
