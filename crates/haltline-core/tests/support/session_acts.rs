//! What may happen in a running session, as small values that chance or a list can pick, and what must hold after each.

use std::collections::BTreeMap;

use haltline_core::identity::{Action, Answer, By, Outcome};
use haltline_core::loop_::{Board, BoardFact, Happening, LaneFact, Stage, Standing, TreeFact, Usage, Verb};
use haltline_core::{CircuitName, Decision, Fact, Moment, State, Verdict, apply};

use crate::sessions::Sessions;

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Act {
    /// Time passes.
    Wait(u64),
    /// Somebody sets the wall clock.
    StepWall(i64),
    Reboot,
    /// Another agent of the session acts from now on; 0 is the main one.
    Agent(u8),
    /// A whole call, alone in its response.
    Run(Call, Came),
    /// Only its start, under a name of few.
    Start(u8, Call),
    /// Only its end.
    End(u8, Came),
    /// The batch of some of the named calls.
    Batch(Vec<u8>),
    Prompt {
        by_user: bool,
        bypass: bool,
    },
    Hook,
    Stop {
        blocked: bool,
    },
    ChildBegins(u8),
    ChildEnds(u8),
    Spent {
        tokens: u64,
        cost: Option<u64>,
    },
    SessionEnds,
    Reset,
    ResetAll,
    Resume,
    FalseAlarm,
    Revoke,
}

/// What a call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Shell(&'static str),
    Read(&'static str),
    Write(u8),
    Spawn(u8),
    /// Any tool with any name and any input.
    Odd(String, String),
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    Ok(&'static str),
    Failed(&'static str),
    Denied,
    Rejected,
    Cancelled,
    RateLimited,
    Unknown,
    Child(u8),
}

impl Call {
    pub fn action(&self) -> Action {
        let folder = Some("/project");
        match self {
            Call::Shell(command) => Action::new("Bash", &format!(r#"{{"command": "{command}"}}"#), folder),
            Call::Read(path) => Action::new("Read", &format!(r#"{{"file_path": "{path}"}}"#), folder),
            Call::Write(text) => {
                let input = format!(r#"{{"file_path": "a", "old_string": "x", "new_string": "{text}"}}"#);
                Action::new("Edit", &input, folder)
            }
            Call::Spawn(task) => Action::new("Task", &format!(r#"{{"prompt": "{task}"}}"#), folder),
            Call::Odd(tool, input) => Action::new(tool, input, folder),
        }
    }
}

impl Came {
    pub fn answer(&self) -> Answer {
        match self {
            Came::Ok(text) => Answer::new(Outcome::Ok, None, text),
            Came::Failed(text) => Answer::new(Outcome::Failed, Some(2), text),
            Came::Denied => Answer { by: Some(By::Permission), ..Answer::new(Outcome::Denied, None, "") },
            Came::Rejected => Answer::new(Outcome::Rejected, None, ""),
            Came::Cancelled => Answer::new(Outcome::Cancelled, None, ""),
            Came::RateLimited => Answer::new(Outcome::RateLimited, None, ""),
            Came::Unknown => Answer::new(Outcome::Unknown, None, ""),
            Came::Child(child) => Answer {
                child: Some(format!("a{child}")),
                is_running: child % 2 == 0,
                ..Answer::new(Outcome::Ok, None, "done")
            },
        }
    }
}

/// Lets it happen. The decisions that came of it are checked; the answer is the last of them.
pub fn perform(world: &mut Sessions, act: &Act) -> Option<Decision> {
    let before = world.rows.clone();
    let journal = world.journal.len();
    let told = match act {
        Act::Wait(millis) => {
            world.clock.advance(*millis);
            None
        }
        Act::StepWall(millis) => {
            world.clock.step_wall(*millis);
            None
        }
        Act::Reboot => {
            world.clock.reboot();
            None
        }
        Act::Agent(agent) => {
            world.stream.agent = (*agent > 0).then(|| format!("a{agent}"));
            None
        }
        Act::Run(call, came) => Some(world.run(call.action(), came.answer())),
        Act::Start(name, call) => Some(world.start(&format!("n{name}"), call.action())),
        Act::End(name, came) => Some(world.end(&format!("n{name}"), came.answer())),
        Act::Batch(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("n{name}")).collect();
            Some(world.batch(&names.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        Act::Prompt { by_user, bypass } => Some(world.tell(Happening::Prompt { by_user: *by_user, bypass: *bypass })),
        Act::Hook => Some(world.tell(Happening::Hook { name: "lint".to_owned() })),
        Act::Stop { blocked } => Some(world.tell(Happening::Stop { blocked: *blocked, running: None })),
        Act::ChildBegins(child) => Some(world.tell(Happening::SpawnStart { child: format!("a{child}"), depth: None })),
        Act::ChildEnds(child) => Some(world.tell(Happening::SpawnEnd { child: Some(format!("a{child}")) })),
        Act::Spent { tokens, cost } => {
            let usage = Some(Usage { input: *tokens, ..Usage::default() });
            Some(world.tell(Happening::Message { usage, cost: *cost, offset: None, last: None, said: None }))
        }
        Act::SessionEnds => Some(world.tell(Happening::SessionEnd { reason: "exit".to_owned() })),
        Act::Reset => world.act(|incident| Verb::Reset { incident: Some(incident) }).ok(),
        Act::ResetAll => world.reset_all().ok(),
        Act::Resume => world.act(|incident| Verb::Resume { incident, hint: None }).ok(),
        Act::FalseAlarm => world.act(|incident| Verb::FalseAlarm { incident }).ok(),
        Act::Revoke => world.revoke().ok(),
    };
    check_facts(before, world, journal);
    if let Some(decision) = &told {
        check_verdict(&decision.verdict);
    }
    told
}

/// A refusal names a code and says something, and not too much.
pub fn check_verdict(verdict: &Verdict) {
    if let Some(reason) = verdict.reason() {
        assert!(reason.code.starts_with("HL-"), "{reason:?}");
        assert!(!reason.text.is_empty() && reason.text.len() < 1_200, "{} bytes: {reason:?}", reason.text.len());
    }
}

/// Takes the new facts one by one, and asks of each whether the circuit it changes was in a state for it.
fn check_facts(mut before: BTreeMap<CircuitName, State>, after: &Sessions, journal: usize) {
    let now = after.clock.now();
    for recorded in &after.journal[journal..] {
        let row = before.remove(&recorded.circuit);
        let board = match &row {
            Some(State::Lane(lane)) => Some(&lane.board),
            Some(State::Tree(tree)) => Some(&tree.board),
            Some(
                State::Constraint(_)
                | State::Exempt(_)
                | State::Course(_)
                | State::Slice(_)
                | State::Claim(_)
                | State::Pipeline(_)
                | State::Trust(_),
            )
            | None => None,
        };
        if let (Some(board), Some(fact)) = (board, board_fact(&recorded.fact)) {
            check_board(board, fact, now);
        }
        let row = apply(row, &recorded.fact, recorded.at);
        before.insert(recorded.circuit.clone(), row);
    }
    assert_eq!(before, after.rows, "rows are what the facts made them");
}

fn board_fact(fact: &Fact) -> Option<&BoardFact> {
    match fact {
        Fact::Lane(LaneFact::Board(fact)) | Fact::Tree(TreeFact::Board(fact)) => Some(fact),
        Fact::Lane(_)
        | Fact::Tree(_)
        | Fact::Constraint(_)
        | Fact::Exempt(_)
        | Fact::Phase(_)
        | Fact::Attempt(_)
        | Fact::Claim(_)
        | Fact::Pipeline(_)
        | Fact::Trust(_) => None,
    }
}

fn check_board(board: &Board, fact: &BoardFact, now: Moment) {
    let standing = |incident: &str| {
        let held = board.held(incident).unwrap_or_else(|| panic!("{fact:?} of a circuit that is closed"));
        (board.standing(held.trip.key, now), &held.stage)
    };
    match fact {
        BoardFact::ProbeTaken { incident, .. } => {
            let (standing, _) = standing(incident);
            assert!(matches!(standing, Standing::Trial(..)), "{fact:?} while {standing:?}");
        }
        BoardFact::Recovered { incident } | BoardFact::ProbeAbandoned { incident } => {
            let (_, stage) = standing(incident);
            assert!(matches!(stage, Stage::Probing(_)), "{fact:?} while {stage:?}");
        }
        BoardFact::Lapsed { incident } => {
            let (standing, _) = standing(incident);
            assert!(matches!(standing, Standing::Trial(..)), "{fact:?} while {standing:?}");
        }
        BoardFact::Tripped { trip } => {
            let standing = board.standing(trip.key, now);
            assert!(!matches!(standing, Standing::Open(_)), "tripped while open: {trip:?}");
        }
        BoardFact::HalfOpened { incident, .. } => {
            standing(incident);
        }
        BoardFact::Warned { .. }
        | BoardFact::Limited { .. }
        | BoardFact::Refused { .. }
        | BoardFact::Reset { .. }
        | BoardFact::FalseAlarm { .. } => {}
    }
}
