//! Bytes that agents and their clients write: hook payloads, plain events, command lines and answers, transcripts.

use std::path::{Path, PathBuf};

use haltline_agents::transcript::{Entry, Format, Reader, Shape};
use haltline_agents::{Client, plain};
use haltline_core::claim::{self, NewClaim};
use haltline_core::identity::{Action, Answer, Outcome};
use haltline_core::loop_::{Happening, Stream};
use haltline_core::{ConstraintId, Rejection, State, Verdict, shell};
use haltline_engine::clock::Clock;
use haltline_engine::config::Config;
use haltline_engine::journal::verify;
use haltline_engine::store::InMemory;
use haltline_engine::{Engine, EngineError};
use serde_json::Value;

use super::{assert_one_line, moments, project};

/// What a person would set to let a call pass; haltline never says either (E7).
const PASSES: [&str; 2] = ["allow", "approve"];
/// Lines of one input that are taken as events of one history.
const EVENTS_MAX: usize = 64;
/// A trip needs several of the same; so often each line comes.
const REPEATS: usize = 4;

fn engine() -> Engine<InMemory> {
    let config = Config::load(Path::new("/nonexistent/config.toml"), None, || None);
    Engine::new(InMemory::default(), project(), config, Clock::Fixed(moments()[1]), PathBuf::from("/nonexistent"))
}

/// Any bytes as what hooks got on standard input: as one payload, and line by line as a history.
pub fn hook(content: &[u8]) {
    let engine = engine();
    for client in Client::ALL {
        take_payload(&engine, client, content);
        for line in content.split(|byte| *byte == b'\n').take(EVENTS_MAX) {
            for _ in 0..REPEATS {
                take_payload(&engine, client, line);
            }
        }
    }
    assert_well_kept(&engine);
}

fn take_payload(engine: &Engine<InMemory>, client: Client, stdin: &[u8]) {
    let mut reading = match (client.protocol().read)(stdin) {
        Ok(reading) => reading,
        Err(error) => return assert_one_line(&error.to_string()),
    };
    if let Some(Happening::ToolStart { action, guarded, tampering, .. }) = &mut reading.what {
        *tampering = action.command.as_deref().and_then(shell::operator_verb);
        *guarded = engine.guarding(action);
    }
    let Some(what) = reading.what.take() else { return };
    let verdict = report(engine, &reading.asked.stream, what);
    for notice in [None, Some("a notice")] {
        if let Some(line) = (client.protocol().answer)(&reading.asked, &verdict, notice) {
            assert!(!line.contains('\n'), "more than a line: {line:?}");
            let answer: Value = serde_json::from_str(&line).expect("an answer is JSON");
            assert!(answer.is_object(), "{line}");
            assert_lets_nothing_pass(&answer);
        }
    }
}

fn report(engine: &Engine<InMemory>, stream: &Stream, what: Happening) -> Verdict {
    match engine.report(stream, what) {
        Ok(committed) => {
            for recorded in &committed.decision.facts {
                assert_survives_its_written_form(committed.after.state(&recorded.circuit));
            }
            committed.decision.verdict
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

/// No member of an answer says that a call may pass, whatever the texts in it say.
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
            take_event(&engine, line);
        }
    }
    assert_well_kept(&engine);
}

fn take_event(engine: &Engine<InMemory>, line: &str) {
    let event = match plain::read(line) {
        Ok(event) => event,
        Err(error) => return assert_one_line(&error.to_string()),
    };
    match event.what {
        plain::PlainHappening::Loop(what) => {
            report(engine, &event.stream, what);
        }
        plain::PlainHappening::Constraint { id, .. } => {
            assert_eq!(ConstraintId::parse(id.as_str()), Ok(id.clone()));
        }
        plain::PlainHappening::Iteration(_) | plain::PlainHappening::Attempt { .. } => {}
        plain::PlainHappening::Round { pipeline, round } => {
            // Its claim is made first, so that the round reaches the rules.
            let new = NewClaim { id: Some(round.claim.clone()), text: "x".to_owned(), ..NewClaim::default() };
            engine.claims(&pipeline, None, claim::Happening::Add(Box::new(new))).ok();
            if let Err(EngineError::Rejected(Rejection::Claim(problem))) =
                engine.claims(&pipeline, None, claim::Happening::Round(round))
            {
                assert_one_line(&problem.to_string());
            }
        }
    }
}

/// Any bytes as a recorded session, in the format they seem to have and in every other.
pub fn transcript(content: &[u8]) {
    for format in Format::ALL {
        entries(format, content);
    }
    let Some(format) = Format::of(content) else { return };
    assert_eq!(Format::named(format.word()).map(Format::word), Some(format.word()));
    let engine = engine();
    for entry in entries(format, content).into_iter().take(EVENTS_MAX) {
        assert!(format == Format::Plain || entry.stream.client == format.word(), "{:?}", entry.stream);
        report(&engine, &entry.stream, entry.what);
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
        let result = reader.take(piece, &mut all);
        assert!(result.is_ok() || !piece.is_empty(), "nothing is never damaged");
        // A call is a few dozen bytes at least; what is read never outgrows what was there.
        assert!(all.len() - before <= piece.len(), "{} entries of {} bytes", all.len() - before, piece.len());
    }
    all
}

/// Any bytes as a command line and as what a tool was given and gave back.
pub fn shell(content: &[u8]) {
    let text = String::from_utf8_lossy(content);
    let programs = shell::programs(&text);
    assert!(programs.iter().all(|words| !words.is_empty()), "a program without words: {programs:?}");
    if let Some(verb) = shell::operator_verb(&text) {
        assert_one_line(&verb);
    }
    for home in [None, Some("/home/ann")] {
        shell::touches(&text, "/home/ann/.local/state/haltline", home);
    }
    let input = serde_json::json!({ "command": text }).to_string();
    for (tool, input) in [("Bash", input.as_str()), ("Bash", &text), ("Edit", &text), ("Task", &text), (&text, &text)] {
        let action = Action::new(tool, input, Some("/home/ann/shop"));
        assert_eq!(action, Action::new(tool, input, Some("/home/ann/shop")), "the same call is the same");
        assert!(!action.shown.contains('\n'), "more than a line is shown: {:?}", action.shown);
    }
    for outcome in [Outcome::Ok, Outcome::Failed, Outcome::Cancelled] {
        let answer = Answer::new(outcome, None, &text);
        assert_eq!(answer, Answer::new(outcome, None, &text), "the same answer is the same");
        assert!(!answer.shown.contains('\n'), "more than a line is shown: {:?}", answer.shown);
    }
}
