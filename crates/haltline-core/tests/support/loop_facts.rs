//! Every fact of the loop family, each with its word and whether it is momentous, in the order of
//! `testdata/facts.jsonl`.

use haltline_core::identity::{Digest, Outcome, Said, Word, Words};
use haltline_core::loop_::{
    BoardFact, Ending, ExemptFact, Exemption, Flight, LaneFact, Opening, Pattern, Permit, Probe, Progress, Step,
    Traits, TreeFact, Trip,
};
use haltline_core::{Fact, Moment};

const CALL: Digest = Digest(11);
const KEY: Digest = Digest(22);

type Row = (Fact, &'static str, bool);

pub fn rows(now: Moment) -> Vec<Row> {
    let lane = lane().map(|(fact, word)| (Fact::Lane(fact), word, false));
    let board = board(now).map(|(fact, word, is_momentous)| (Fact::Lane(LaneFact::Board(fact)), word, is_momentous));
    let shared = BoardFact::Recovered { incident: incident() };
    let tree = tree(now).map(|(fact, word, is_momentous)| (Fact::Tree(fact), word, is_momentous));
    let shared = (Fact::Tree(TreeFact::Board(shared)), "recovered", true);
    let exempt = exempt(now).map(|(fact, word)| (Fact::Exempt(fact), word, true));
    let words = words(now).map(|(fact, word)| (Fact::Lane(fact), word, false));
    let doors = doors().map(|(fact, word)| (Fact::Lane(fact), word, false));
    lane.into_iter().chain(board).chain(tree).chain([shared]).chain(exempt).chain(words).chain(doors).collect()
}

/// Since events without names are known by the door that told of them, and ends may have names of their own.
fn doors() -> [(LaneFact, &'static str); 7] {
    let door = Some(Digest(88));
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
        shared: Vec::new(),
        is_named: false,
        is_terse: false,
        end: Some(Digest(99)),
    };
    [
        (LaneFact::Began { client, root: None, is_nested, resumed, door: None, told_by: door, unseen }, "began"),
        (LaneFact::Prompted { by_user: true, is_refused: false, door }, "prompted"),
        (LaneFact::Stopped { blocked: true, door }, "kept_going"),
        (LaneFact::Compacted { trigger: "auto".to_owned(), door }, "compacted"),
        (LaneFact::Over { reason: "exit".to_owned(), door }, "over"),
        (LaneFact::Ended(ending), "ended"),
        (LaneFact::Denied { call: CALL, tool: Digest(66), end: Some(Digest(99)) }, "denied"),
    ]
}

/// Since calls have words, and what came back is held against them.
fn words(now: Moment) -> [(LaneFact, &'static str); 8] {
    let probe = Probe { call: CALL, since: now, lease_ms: 600_000, by: Opening::Write };
    let traits = Traits { is_wait: true, is_rested: true, ..Traits::default() };
    let tool = "Bash".to_owned();
    let words = Words::of("sleep 5; curl localhost");
    let flight = Flight { call: CALL, tool, identity: KEY, turn: 3, generation: 4, traits, name: None, words };
    let ending = Ending {
        call: CALL,
        outcome: Outcome::Failed,
        normal: Digest(33),
        raw: Digest(44),
        is_failed: true,
        progress: Progress::None,
        keep: 50,
        shared: vec![Word(7), Word(8)],
        is_named: true,
        is_terse: false,
        end: None,
    };
    let terse = Ending {
        outcome: Outcome::Ok,
        is_failed: false,
        shared: Vec::new(),
        is_named: false,
        is_terse: true,
        ..ending.clone()
    };
    [
        (LaneFact::Started { flight, message: None }, "started"),
        (LaneFact::Ended(ending), "failed"),
        (LaneFact::Ended(terse), "ended"),
        (LaneFact::Responded { spent: 1_500 }, "responded"),
        (LaneFact::Board(BoardFact::Lapsed { incident: incident() }), "lapsed"),
        (
            LaneFact::Board(BoardFact::HalfOpened { incident: incident(), by: Opening::Answer, hint: None }),
            "half_opened",
        ),
        (LaneFact::Board(BoardFact::ProbeTaken { incident: incident(), probe }), "probe_taken"),
        (LaneFact::Spoke { said: Said { text: Digest(77), repeats: 2 } }, "spoke"),
    ]
}

fn incident() -> String {
    "0a1b2c3d".to_owned()
}

fn lane() -> [(LaneFact, &'static str); 23] {
    let client = || "claude-code".to_owned();
    let traits = Traits {
        is_write: true,
        is_search: false,
        is_spawn: false,
        is_api: true,
        is_poller: false,
        is_wait: false,
        is_rested: false,
    };
    let flight = Flight {
        call: CALL,
        tool: "Bash".to_owned(),
        identity: KEY,
        turn: 3,
        generation: 4,
        traits,
        name: None,
        words: Words::default(),
    };
    let ended = |is_failed, progress| {
        LaneFact::Ended(Ending {
            call: CALL,
            outcome: if is_failed { Outcome::Failed } else { Outcome::Ok },
            normal: Digest(33),
            raw: Digest(44),
            is_failed,
            progress,
            keep: 50,
            shared: Vec::new(),
            is_named: false,
            is_terse: false,
            end: None,
        })
    };
    [
        (
            LaneFact::Began {
                client: client(),
                root: None,
                is_nested: false,
                resumed: false,
                door: None,
                told_by: None,
                unseen: false,
            },
            "began",
        ),
        (
            LaneFact::Began {
                client: client(),
                root: Some("s0".to_owned()),
                is_nested: true,
                resumed: true,
                door: None,
                told_by: None,
                unseen: true,
            },
            "began",
        ),
        (
            LaneFact::Began {
                client: client(),
                root: None,
                is_nested: false,
                resumed: false,
                door: Some(Digest(7)),
                told_by: None,
                unseen: false,
            },
            "began",
        ),
        (LaneFact::PolicyChanged { policy: "abcd".to_owned() }, "policy_changed"),
        (LaneFact::Prompted { by_user: true, is_refused: false, door: None }, "prompted"),
        (LaneFact::Prompted { by_user: false, is_refused: false, door: None }, "notified"),
        (LaneFact::Prompted { by_user: false, is_refused: true, door: None }, "kept_stopped"),
        (LaneFact::Started { flight: flight.clone(), message: None }, "started"),
        (LaneFact::Started { flight, message: Some(Digest(55)) }, "started"),
        (ended(false, Progress::Written), "ended"),
        (ended(true, Progress::None), "failed"),
        (LaneFact::Unended { call: CALL }, "unended"),
        (LaneFact::Stray { call: CALL, outcome: Outcome::RateLimited }, "stray_end"),
        (LaneFact::Denied { call: CALL, tool: Digest(66), end: None }, "denied"),
        (LaneFact::TurnEnded, "turn_ended"),
        (LaneFact::HookRan { name: KEY, keep: 16 }, "hook_ran"),
        (LaneFact::Spawned { keep: 16 }, "spawned"),
        (LaneFact::Stopped { blocked: false, door: None }, "stopping"),
        (LaneFact::Stopped { blocked: true, door: None }, "kept_going"),
        (LaneFact::Compacted { trigger: "auto".to_owned(), door: None }, "compacted"),
        (LaneFact::Reported { offset: 4096, last: Some("msg_1".to_owned()) }, "reported"),
        (LaneFact::MemoryCleaned { files_rotated: 2, sessions_pruned: 5, bytes_freed: 123_456 }, "memory_cleaned"),
        (LaneFact::Over { reason: "exit".to_owned(), door: None }, "over"),
    ]
}

fn board(now: Moment) -> [(BoardFact, &'static str, bool); 14] {
    let trip = |normal| Trip {
        incident: incident(),
        pattern: Pattern::ToolFailure,
        key: KEY,
        normal,
        since: now,
        cooldown_ms: 10_000,
        count: 3,
        level: 1,
    };
    let half_opened = |by, hint| BoardFact::HalfOpened { incident: incident(), by, hint };
    let probe = Probe { call: CALL, since: now, lease_ms: 600_000, by: Opening::Cooldown };
    let refused =
        |step, call, message| BoardFact::Refused { key: KEY, pattern: Pattern::Repeat, step, turn: 4, call, message };
    let who = || "anna".to_owned();
    [
        (BoardFact::Warned { pattern: Pattern::Cycle, key: KEY, count: 3 }, "warned", false),
        (BoardFact::Tripped { trip: trip(Some(Digest(33))) }, "tripped", true),
        (BoardFact::Tripped { trip: trip(None) }, "tripped", true),
        (
            BoardFact::Limited { incident: incident(), pattern: Pattern::AgentSpawn, key: KEY, count: 5 },
            "limited",
            true,
        ),
        (half_opened(Opening::Cooldown, None), "half_opened", false),
        (half_opened(Opening::Person, Some("look at the log".to_owned())), "half_opened", true),
        (BoardFact::ProbeTaken { incident: incident(), probe }, "probe_taken", false),
        (BoardFact::ProbeAbandoned { incident: incident() }, "probe_abandoned", false),
        (BoardFact::Recovered { incident: incident() }, "recovered", true),
        (refused(Step::Deny, None, None), "refused", false),
        (refused(Step::Stop, Some(CALL), Some(Digest(55))), "stopped", false),
        (BoardFact::Reset { who: who(), incident: None }, "reset", true),
        (BoardFact::Reset { who: who(), incident: Some(incident()) }, "reset", true),
        (BoardFact::FalseAlarm { who: who(), incident: incident() }, "false_alarm", true),
    ]
}

fn tree(now: Moment) -> [(TreeFact, &'static str, bool); 17] {
    let permit = Permit { call: CALL, depth: 1, since: now };
    let id = || "a1".to_owned();
    [
        (TreeFact::Bypass { on: true }, "bypassed", true),
        (TreeFact::Bypass { on: false }, "bypass_over", false),
        (TreeFact::Permitted { permit, lane: Digest(77), turn: 3 }, "spawn_permitted", false),
        (TreeFact::Refunded { call: CALL }, "spawn_refunded", false),
        (TreeFact::PermitUsed { call: CALL }, "spawn_used", false),
        (TreeFact::AgentBegan { id: id(), depth: 1, call: Some(CALL) }, "agent_began", false),
        (TreeFact::AgentBegan { id: id(), depth: 2, call: None }, "agent_began", false),
        (TreeFact::AgentEnded { id: id() }, "agent_ended", false),
        (TreeFact::AgentEnding { id: id() }, "agent_ending", false),
        (TreeFact::ApiCalled { call: CALL, micros: None, keep: 10 }, "api_called", false),
        (TreeFact::ApiSettled { call: CALL, micros: Some(20_000) }, "api_settled", false),
        (TreeFact::Spent { tokens: Some(500), micros: Some(12_300) }, "spent", false),
        (TreeFact::Spent { tokens: None, micros: None }, "spent", false),
        (TreeFact::Turn, "turn", false),
        (TreeFact::Saved, "saved", false),
        (TreeFact::Told { key: KEY }, "told", false),
        (TreeFact::ApiCalled { call: CALL, micros: Some(20_000), keep: 10 }, "api_called", false),
    ]
}

fn exempt(now: Moment) -> [(ExemptFact, &'static str); 2] {
    let who = "anna".to_owned();
    let exemption =
        Exemption { pattern: Pattern::Repeat, key: KEY, incident: incident(), who: who.clone(), at: now.at };
    [
        (ExemptFact::Exempted { exemption }, "exempted"),
        (ExemptFact::Revoked { incident: incident(), who }, "exemption_revoked"),
    ]
}
