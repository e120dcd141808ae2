//! Bytes that agents and their clients write: hook payloads, plain events, command lines and results, transcripts.

use std::path::{Path, PathBuf};

use haltline_agents::transcript::{Entry, Format, Reader, Shape};
use haltline_agents::{Client, plain};
use haltline_core::claim::{self, NewClaim};
use haltline_core::identity::{Action, CallResult, Outcome};
use haltline_core::loop_::{AgentRef, LoopEvent};
use haltline_core::shell::{self, CommandPattern, Script};
use haltline_core::{ConstraintId, Rejection, State, Verdict};
use haltline_engine::clock::Clock;
use haltline_engine::config::Config;
use haltline_engine::journal::verify;
use haltline_engine::store::{InMemory, Store};
use haltline_engine::{CallSite, Engine, EngineError, OwnFiles};
use serde_json::Value;

use super::{assert_one_line, moments, project};

/// Values that would let a call pass the client's own permission check; haltline never answers either (E7).
const PASSES: [&str; 2] = ["allow", "approve"];
/// Lines of one input that are handled as events of one history.
const EVENTS_MAX: usize = 64;
/// Each line is repeated this often, because a trip needs several equal calls.
const REPEATS: usize = 4;

fn engine() -> Engine<InMemory> {
    let config = Config::load(Path::new("/nonexistent/config.toml"), None, || None);
    let nowhere = PathBuf::from("/nonexistent");
    let own_files = OwnFiles { user_config: nowhere.join("config.toml"), state_folder: nowhere };
    Engine::new(InMemory::default(), project(), config, Clock::Fixed(moments()[1]), own_files)
}

/// Any bytes as the standard input of hooks: as one payload, and line by line as a history.
pub fn hook(content: &[u8]) {
    let engine = engine();
    for client in Client::ALL {
        handle_payload(&engine, client, content);
        for line in content.split(|byte| *byte == b'\n').take(EVENTS_MAX) {
            for _ in 0..REPEATS {
                handle_payload(&engine, client, line);
            }
        }
    }
    assert_well_kept(&engine);
}

fn handle_payload(engine: &Engine<InMemory>, client: Client, stdin: &[u8]) {
    let mut parsed = match (client.protocol().read)(stdin) {
        Ok(parsed) => parsed,
        Err(error) => return assert_one_line(&error.to_string()),
    };
    let Some(event) = parsed.loop_event.take() else { return };
    let verdict = report(engine, &parsed.hook.agent, event);
    for notice in [None, Some("a notice")] {
        if let Some(line) = (client.protocol().answer)(&parsed.hook, &verdict, notice) {
            assert!(!line.contains('\n'), "more than a line: {line:?}");
            let answer: Value = serde_json::from_str(&line).expect("an answer is JSON");
            assert!(answer.is_object(), "{line}");
            assert_lets_nothing_pass(&answer);
        }
    }
}

fn report(engine: &Engine<InMemory>, agent_ref: &AgentRef, event: LoopEvent) -> Verdict {
    let site = CallSite { working_directory: Path::new("/nonexistent"), client_folder: None, home: None };
    match engine.handle_agent_event(agent_ref, event, site) {
        Ok(answer) => {
            for recorded in &answer.facts {
                let state = engine.store().circuit(engine.project().key, &recorded.circuit).expect("read");
                assert_survives_its_written_form(state.as_ref());
            }
            answer.verdict
        }
        Err(EngineError::Rejected(_)) => Verdict::Pass,
        Err(EngineError::Store(error)) => panic!("the store in memory failed: {error}"),
    }
}

fn assert_survives_its_written_form(state: Option<&State>) {
    let text = serde_json::to_string(&state).expect("states can be written");
    let read: Option<State> = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(read.as_ref(), state);
}

/// No member of an answer may let a call pass, no matter what the texts in it say.
fn assert_lets_nothing_pass(answer: &Value) {
    match answer {
        Value::Object(members) => {
            for (name, value) in members {
                let is_text = matches!(name.as_str(), "systemMessage" | "reason" | "permissionDecisionReason");
                let passes = value.as_str().is_some_and(|value| PASSES.contains(&value));
                assert!(is_text || !passes, "{name} lets a call pass");
                assert_lets_nothing_pass(value);
            }
        }
        Value::Array(values) => values.iter().for_each(assert_lets_nothing_pass),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn assert_well_kept(engine: &Engine<InMemory>) {
    let verification = verify(engine.store(), engine.project().key).expect("memory can be read");
    assert_eq!(verification.problems, Vec::<String>::new());
}

/// Any bytes as plain events, one per line.
pub fn plain_event(content: &[u8]) {
    let engine = engine();
    let text = String::from_utf8_lossy(content);
    for line in text.lines().take(EVENTS_MAX) {
        for _ in 0..REPEATS {
            handle_event(&engine, line);
        }
    }
    assert_well_kept(&engine);
}

fn handle_event(engine: &Engine<InMemory>, line: &str) {
    let event = match plain::read(line) {
        Ok(event) => event,
        Err(error) => return assert_one_line(&error.to_string()),
    };
    match event.kind {
        plain::PlainEventKind::Loop(loop_event) => {
            report(engine, &event.agent_ref, loop_event);
        }
        plain::PlainEventKind::Constraint { id, .. } => {
            assert_eq!(ConstraintId::parse(id.as_str()), Ok(id.clone()));
        }
        plain::PlainEventKind::Iteration(_) | plain::PlainEventKind::Attempt { .. } => {}
        plain::PlainEventKind::Round { pipeline, round } => {
            // The claim is added first, so that the round reaches the rules.
            let new = NewClaim { id: Some(round.claim.clone()), text: "x".to_owned(), ..NewClaim::default() };
            engine.claims(&pipeline, None, claim::ClaimEvent::Add(Box::new(new))).ok();
            if let Err(EngineError::Rejected(Rejection::Claim(problem))) =
                engine.claims(&pipeline, None, claim::ClaimEvent::Round(round))
            {
                assert_one_line(&problem.to_string());
            }
        }
    }
}

/// Any bytes as a recorded session, in the detected format and in every other.
pub fn transcript(content: &[u8]) {
    for format in Format::ALL {
        entries(format, content);
    }
    let Some(format) = Format::detect(content) else { return };
    assert_eq!(Format::from_name(format.as_str()).map(Format::as_str), Some(format.as_str()));
    let engine = engine();
    for entry in entries(format, content).into_iter().take(EVENTS_MAX) {
        assert!(format == Format::Plain || entry.agent_ref.client == format.as_str(), "{:?}", entry.agent_ref);
        report(&engine, &entry.agent_ref, entry.event);
    }
    assert_well_kept(&engine);
}

fn entries(format: Format, content: &[u8]) -> Vec<Entry> {
    let mut reader = Reader::new(format, "recorded");
    let pieces: Vec<&[u8]> = match format.shape() {
        Shape::Lines => content.split(|byte| *byte == b'\n').collect(),
        Shape::Document => vec![content],
    };
    let mut all = Vec::new();
    for piece in pieces {
        let before = all.len();
        let result = reader.read_piece(piece, &mut all);
        assert!(result.is_ok() || !piece.is_empty(), "nothing is never damaged");
        // A call has a few dozen bytes at least; the entries never outnumber the bytes.
        assert!(all.len() - before <= piece.len(), "{} entries of {} bytes", all.len() - before, piece.len());
    }
    all
}

/// Any bytes as a command line, and as the arguments and the result of a call.
pub fn shell(content: &[u8]) {
    let text = String::from_utf8_lossy(content);
    let script = Script::parse(&text);
    if let Some(verb) = shell::operator_verb(&script) {
        assert_one_line(&verb);
    }
    shell::switches_off(&script);
    for home in [None, Some("/home/ann")] {
        shell::touches(&script, "/home/ann/.local/state/haltline", home, Some("/home/ann/shop"));
    }
    for pattern in ["git push --force*", "*rm*-rf*", &text] {
        if let Some(pattern) = CommandPattern::parse(pattern) {
            pattern.matches(&script);
        }
    }
    let input = serde_json::json!({ "command": text }).to_string();
    for (tool, input) in [("Bash", input.as_str()), ("Bash", &text), ("Edit", &text), ("Task", &text), (&text, &text)] {
        let action = Action::new(tool, input, Some("/home/ann/shop"));
        assert_eq!(action, Action::new(tool, input, Some("/home/ann/shop")), "the same call is the same");
        assert!(!action.shown.contains('\n'), "more than a line is shown: {:?}", action.shown);
    }
    for outcome in [Outcome::Ok, Outcome::Failed, Outcome::Cancelled] {
        let result = CallResult::new(outcome, None, &text);
        assert_eq!(result, CallResult::new(outcome, None, &text), "the same answer is the same");
        assert!(!result.shown.contains('\n'), "more than a line is shown: {:?}", result.shown);
    }
}
