//! What must hold for any bytes in a place haltline reads (E7, E8): no panic, no hang, and whatever is wrong said in
//! one line.
//!
//! The fuzzer (`fuzz/`) calls these with bytes it makes up; `tests/fuzz_corpus.rs` calls them with the bytes that are
//! kept in `fuzz/corpus/`.

mod agent;
mod output;

use std::fs;
use std::path::Path;
use std::time::Duration;

use haltline_core::constraint::{Circuit, Condition, Foreign, Happening, Limits, Rule, Seen, Source, Standing};
use haltline_core::{
    CircuitName, ConstraintId, Event, Instant, Memory, Moment, Policy, Rejection, State, Step, apply, decide,
};
use haltline_engine::clock::Clock;
use haltline_engine::config::{BreakerFile, Config, Layer, PROJECT_FILE, Scope};
use haltline_engine::constraint_file::read_front_matter;
use haltline_engine::journal::verify;
use haltline_engine::mirror::read_state_file;
use haltline_engine::project::Project;
use haltline_engine::store::{Outcome, Sqlite, SqliteOptions, Store, StoreError, Writing};

pub use agent::{hook, plain_event, shell, transcript};
pub use output::output;

/// A target's name, as `cargo fuzz` and the corpus' folders spell it, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 9] = [
    ("config", config),
    ("front_matter", front_matter),
    ("state_file", state_file),
    ("database", database),
    ("hook", hook),
    ("plain_event", plain_event),
    ("shell", shell),
    ("transcript", transcript),
    ("output", output),
];

/// The longest message that still is a line, in bytes, the path in it included.
const LINE_BYTES_MAX: usize = 1000;

fn assert_one_line(message: &str) {
    assert!(!message.trim().is_empty(), "an error without a message");
    assert!(!message.contains(char::is_control), "not one line: {message:?}");
    assert!(message.len() <= LINE_BYTES_MAX, "{} bytes in one line: {message}", message.len());
}

fn assert_in_range(limits: &Limits) {
    for ((field, low, high), (_, value)) in std::iter::zip(Limits::RANGES, limits.values()) {
        assert!((low..=high).contains(&value), "{field} = {value}");
    }
}

/// Any bytes as a configuration file, the user's and the project's.
pub fn config(content: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let user_file = folder.path().join("config.toml");
    let project_file = folder.path().join(PROJECT_FILE);
    for (path, scope) in [(&user_file, Scope::User), (&project_file, Scope::Project)] {
        fs::write(path, content).expect("the temporary folder can be written");
        match Layer::read(path, scope) {
            Ok(layer) => assert_eq!(layer.expect("the file is there").content, content),
            Err(error) => assert_one_line(&error.to_string()),
        }
    }
    let breaker_file = BreakerFile::parse(content, Path::new("circuit_breaker_config.json"));
    assert!(breaker_file.warnings.len() <= 11);
    breaker_file.warnings.iter().for_each(|warning| assert_one_line(&warning.to_string()));
    let config = Config::load(&user_file, Some(folder.path()), || None);
    assert!(config.errors.len() <= 2, "one line for each file");
    config.errors.iter().for_each(|error| assert_one_line(&error.to_string()));
    assert_in_range(&config.policy().constraint);
    assert!(config.state_bytes_max() > 0 && config.journal_days() > 0);
    if config.errors.len() == 2 {
        assert_eq!(*config.policy(), Policy::default(), "a file that cannot be taken is left out whole");
    }
}

/// Any bytes as a constraint's file.
pub fn front_matter(content: &[u8]) {
    let (rule, problems) = read_front_matter(content);
    problems.iter().for_each(|problem| assert_one_line(problem));
    assert_in_range(&rule.limits);
    let in_force = Rule::default();
    let tightened = in_force.tightened_by(&rule);
    assert_eq!(in_force.loosened_by(&tightened), vec![], "what tightens does not loosen");
    for guard in &rule.guards {
        guard.covers("Bash", Some("git push --force origin main"), Some("src/main.rs"));
    }
}

/// Any bytes as a state file, taken over by a circuit that is new and by one that is OPEN.
pub fn state_file(content: &[u8]) {
    let reading = read_state_file(content);
    reading.problems.iter().for_each(|problem| assert_one_line(problem));
    for (id, foreign) in reading.circuits {
        assert_eq!(ConstraintId::parse(id.as_str()), Ok(id.clone()));
        for now in moments() {
            let adopted = take_over(&id, None, &foreign, now);
            let is_held = matches!(adopted.standing, Standing::Open(_) | Standing::HalfOpen(_));
            assert_eq!(is_held, matches!(foreign.state, Condition::Open | Condition::HalfOpen), "{adopted:?}");
            let open = open_circuit(&id, now);
            let closed = Foreign { state: Condition::Closed, ..foreign.clone() };
            let kept = take_over(&id, Some(open.clone()), &closed, now);
            assert!(
                matches!(kept.standing, Standing::Open(_) | Standing::HalfOpen(_)),
                "a file closed a circuit: {kept:?}"
            );
            assert_eq!(kept.totals.violations, open.totals.violations + foreign.violations.len() as u64);
        }
    }
}

/// The ends of the calendar, and the time in between.
fn moments() -> [Moment; 3] {
    [i64::MIN, 1_770_890_400_000, i64::MAX].map(|millis| Moment::recorded(Instant::from_millis(millis)))
}

fn take_over(id: &ConstraintId, circuit: Option<Circuit>, foreign: &Foreign, now: Moment) -> Circuit {
    take(id, circuit, Happening::Found(foreign.clone()), now)
}

fn open_circuit(id: &ConstraintId, now: Moment) -> Circuit {
    let limits = Limits { violation_threshold: 1, ..Limits::default() };
    let circuit = Circuit { rule: Rule { limits, guards: Vec::new() }, ..Circuit::default() };
    take(id, Some(circuit), Happening::Violation { action: "git push --force".to_owned() }, now)
}

/// The circuit after an event, by way of the form in which it is stored.
fn take(id: &ConstraintId, circuit: Option<Circuit>, what: Happening, now: Moment) -> Circuit {
    let mut memory = Memory::default();
    let mut state = circuit.map(|circuit| State::Constraint(Box::new(circuit)));
    memory.insert(CircuitName::constraint(id), state.clone());
    let event = Event::Constraint { id: id.clone(), session: None, seen: None, what };
    let Step::Decided(decision) = decide(&memory, &Policy::default(), &event, now) else {
        panic!("a violation or a state file is always taken")
    };
    for recorded in &decision.facts {
        state = Some(apply(state, &recorded.fact, recorded.at));
    }
    let state = state.expect("there was a fact");
    let text = serde_json::to_string(&state).expect("states can be written");
    assert_eq!(serde_json::from_str::<State>(&text).ok(), Some(state.clone()), "a state survives its written form");
    state.as_constraint().expect("it is a constraint's").clone()
}

/// Any bytes as the database: opened, written, read, verified, and opened again.
pub fn database(content: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("state.db"), content).expect("the temporary folder can be written");
    let (project, name) = (project(), circuit_name());
    let store = open(folder.path());
    let known = told(store.circuit(project.key, &name));
    match record(&store) {
        Ok(Outcome::Committed(committed)) => {
            let state = committed.after.state(&name).cloned().expect("the row was written");
            let before = committed.before.state(&name).and_then(State::as_constraint);
            let count = |circuit: &Circuit| circuit.totals.violations.saturating_add(circuit.totals.deduplicated);
            let counts = (before.map_or(0, count), state.as_constraint().map(count));
            assert_eq!(counts.1, Some(counts.0.saturating_add(1)), "counted once");
            for store in [&store, &open(folder.path())] {
                let found = store.circuit(project.key, &name).expect("what was written can be read");
                assert_eq!(found.as_ref(), Some(&state), "an acknowledged write is there");
            }
        }
        Ok(Outcome::Rejected(Rejection::NotFound { retired: Some(_) })) => {
            let state = known.flatten();
            let standing = state.as_ref().and_then(State::as_constraint).map(|circuit| &circuit.standing);
            assert!(matches!(standing, Some(Standing::Retired { .. })), "{standing:?}");
        }
        Ok(Outcome::Rejected(rejection)) => panic!("a violation was rejected: {rejection:?}"),
        Err(error @ StoreError::Newer { .. }) => assert_one_line(&error.to_string()),
        Err(error) => panic!("a damaged store was not rescued: {error}"),
    }
    if let Some(verification) = told(verify(&store, project.key)) {
        verification.problems.iter().for_each(|problem| assert_one_line(problem));
    }
    told(store.circuits(project.key));
    told(store.history(project.key, &name, usize::MAX));
    told(store.projects());
    told(store.undelivered(project.key));
    told(store.purge("s1"));
}

/// What the store says; an error is one line.
fn told<T>(answer: Result<T, StoreError>) -> Option<T> {
    answer.inspect_err(|error| assert_one_line(&error.to_string())).ok()
}

/// The project and the circuit of `crates/haltline-engine/testdata/store/v1.sql`.
fn project() -> Project {
    Project::new("/projects/main/.git".into(), "/projects/main".into())
}

fn circuit_name() -> CircuitName {
    CircuitName::constraint(&constraint_id())
}

fn constraint_id() -> ConstraintId {
    ConstraintId::parse("force-push").expect("a valid id")
}

fn open(folder: &Path) -> Sqlite {
    let options = SqliteOptions {
        patience: Duration::from_secs(5),
        bytes_max: 64 * 1024 * 1024,
        journal_days: 400,
        clock: Clock::Fixed(moments()[1]),
    };
    Sqlite::new(folder, options)
}

fn record(store: &Sqlite) -> Result<Outcome, StoreError> {
    let source = Source { path: "docs/constraints/force-push.md".to_owned(), digest: String::new() };
    let seen = Some(Seen { rule: Rule::default(), source, created: None });
    let what = Happening::Violation { action: "git push --force".to_owned() };
    let event = Event::Constraint { id: constraint_id(), session: Some("s1".to_owned()), seen, what };
    let writing = Writing { cause: event.cause(), policy: "policy" };
    store.transact(&project(), writing, &|memory| decide(memory, &Policy::default(), &event, moments()[1]))
}
