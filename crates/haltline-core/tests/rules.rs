//! Runs `testdata/constraint/*.txt`: the rules of SPEC.md and of seed 003 as paragraphs of events and outcomes.
//!
//! A paragraph starts with `# RULE: title` and lives in a world of its own: New Year 2026, an active constraint file
//! with the default limits, no circuit. `testdata/constraint/README.txt` explains the language.

#[path = "support/screen.rs"]
mod screen;
#[path = "support/script.rs"]
mod script;
mod support;

use std::path::{Path, PathBuf};

use haltline_core::constraint::Limits;
use screen::Outcome;
use script::{Line, What};
use support::World;

/// A title and its lines, each with its number in the file.
struct Paragraph<'a> {
    number: usize,
    title: &'a str,
    lines: Vec<(usize, &'a str)>,
}

/// Every rule a paragraph may be filed under: the ids of SPEC.md, and the seed where SPEC.md is silent.
const RULES: [&str; 16] =
    ["C2", "C3", "C4", "C5", "C6", "C7", "C8", "E1", "E3", "E4", "E9", "E12", "E13", "E15", "E16", "S3"];

#[test]
fn every_paragraph_of_every_file_holds() {
    let (mut failures, mut count) = (Vec::new(), 0);
    for path in files() {
        let text = read(&path);
        let paragraphs = match split(&text) {
            Ok(paragraphs) => paragraphs,
            Err((number, problem)) => {
                failures.push(format!("{}:{number}: {problem}", path.display()));
                continue;
            }
        };
        assert!(!paragraphs.is_empty(), "{}: no paragraph", path.display());
        count += paragraphs.len();
        failures.extend(paragraphs.iter().filter_map(|paragraph| play(&path, paragraph).err()));
    }
    let failed = failures.len();
    assert!(failures.is_empty(), "{failed} of {count} paragraphs fail\n\n{}\n", failures.join("\n\n"));
}

#[test]
fn every_rule_has_a_paragraph() {
    let texts: Vec<String> = files().iter().map(|path| read(path)).collect();
    let filed: Vec<&str> = texts.iter().flat_map(|text| split(text).unwrap_or_default()).flat_map(rules_of).collect();
    let missing: Vec<&str> = RULES.into_iter().filter(|rule| !filed.contains(rule)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "rules without a paragraph");
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    for (text, problem) in [
        ("violation \"x\" -> pass CLOSED 2/5", "-- is       pass CLOSED 1/5"),
        ("violation \"x\" -> pas CLOSED 1/5", "-- is       pass CLOSED 1/5"),
        ("violation \"x\" -> pass CLOSED 1/5 | fact violated", "\"fact violated\" is nothing"),
        ("violation \"x\" -> pass CLOSED 1/5 | totals violation 1", "\"totals violation 1\" is nothing"),
        ("violation \"x\" ->", "an outcome is missing"),
        ("violation \"x\"", "an event needs `->`"),
        ("violation x -> pass CLOSED 1/5", "expected a text in quotes"),
        ("violation \"x -> pass CLOSED 1/5", "a quote is not closed"),
        ("violation \"x\" twice -> pass CLOSED 1/5", "unexpected \"twice\""),
        ("violaton \"x\" -> pass CLOSED 1/5", "\"violaton\" is no event"),
        ("after 6 violation \"x\" -> pass CLOSED 1/5", "expected a duration"),
        ("at 2025-12-31T23:59:59Z check -> pass CLOSED", "it is 2026-01-01T00:00:00.000Z already"),
        ("file treshold 3", "unexpected \"treshold\""),
        ("clock steps aside 1h", "expected `clock steps back`"),
        ("", "no line"),
    ] {
        let whole = format!("# C2: a title\n{text}\n");
        let failure = match split(&whole) {
            Ok(paragraphs) => play(Path::new("x.txt"), &paragraphs[0]).expect_err("must fail"),
            Err((number, failure)) => format!("x.txt:{number}: {failure}"),
        };
        assert!(failure.contains(problem) && failure.contains("x.txt:"), "{text}\n{failure}");
    }
    for text in ["C2: no hash\ncheck -> pass CLOSED", "# no rule\ncheck -> pass CLOSED", "# C99: none such\ncheck"] {
        assert!(split(text).is_err(), "{text}");
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/constraint");
    let entries = folder.read_dir().expect("the folder with the rules is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.retain(|path| path.file_name().is_some_and(|name| name != "README.txt"));
    files.sort();
    assert!(!files.is_empty(), "no rules in {}", folder.display());
    files
}

#[expect(clippy::disallowed_methods, reason = "the rules are files; only the core itself reads none")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file of rules can be read")
}

/// The paragraphs of a file. Lines that start with `>` are prose, wherever they stand.
fn split(text: &str) -> Result<Vec<Paragraph<'_>>, (usize, String)> {
    let mut paragraphs: Vec<Paragraph<'_>> = Vec::new();
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() {
            is_inside = false;
        } else if let Some(title) = line.strip_prefix("# ") {
            let paragraph = Paragraph { number, title, lines: Vec::new() };
            if rules_of(&paragraph).iter().any(|rule| !RULES.contains(rule)) || !title.contains(": ") {
                return Err((number, format!("{title:?}: expected rules of SPEC.md and a title, such as C2: ...")));
            }
            paragraphs.push(paragraph);
            is_inside = true;
        } else if !line.starts_with('>') {
            match paragraphs.last_mut() {
                Some(paragraph) if is_inside => paragraph.lines.push((number, line)),
                Some(_) | None => return Err((number, "a line outside a paragraph: expected `# RULE: title`".into())),
            }
        }
    }
    Ok(paragraphs)
}

/// `C2, S3: title` is filed under C2 and S3.
fn rules_of<'a>(paragraph: impl std::borrow::Borrow<Paragraph<'a>>) -> Vec<&'a str> {
    let title: &'a str = paragraph.borrow().title;
    title.split(':').next().unwrap_or_default().split(", ").collect()
}

/// Plays a paragraph. The error shows it up to the line that does not hold, with what really is.
fn play(path: &Path, paragraph: &Paragraph<'_>) -> Result<(), String> {
    let mut world = World::new(Limits::default());
    let mut outcome = Outcome::default();
    let file = path.file_name().unwrap_or_default().display();
    let mut shown = format!("{file}:{}: # {}", paragraph.number, paragraph.title);
    if paragraph.lines.is_empty() {
        return Err(format!("{shown}\n    no line in this paragraph"));
    }
    for &(number, line) in &paragraph.lines {
        shown.push_str(&format!("\n{file}:{number}: {line}"));
        play_line(&mut world, &mut outcome, line).map_err(|problem| format!("{shown}\n    {problem}"))?;
    }
    Ok(())
}

fn play_line(world: &mut World, outcome: &mut Outcome, line: &str) -> Result<(), String> {
    match Line::parse(line)? {
        Line::Setting(setting) => setting.apply(world),
        Line::Event { times, wait, what, expected } => {
            for _ in 0..times {
                wait.apply(world)?;
                *outcome = match &what {
                    What::Check => Outcome::of_check(world),
                    What::Happening(happening) => Outcome::of_step(world.tell(happening.clone())),
                };
            }
            let (headline, parts) = expected.split_once(" | ").unwrap_or((&expected, ""));
            if headline.is_empty() {
                return Err("an outcome is missing after `->`".to_owned());
            }
            let actual = outcome.headline(world, headline);
            compare(headline, &actual)?;
            compare_parts(world, outcome, parts)
        }
        Line::Then(expected) => compare_parts(world, outcome, &expected),
    }
}

fn compare_parts(world: &World, outcome: &Outcome, expected: &str) -> Result<(), String> {
    for part in expected.split(" | ").filter(|part| !part.is_empty()) {
        let actual = outcome.part(world, part).ok_or_else(|| format!("{part:?} is nothing that can be compared"))?;
        compare(part, &actual)?;
    }
    Ok(())
}

fn compare(expected: &str, actual: &str) -> Result<(), String> {
    let is_same = expected.split_whitespace().eq(actual.split_whitespace());
    if is_same { Ok(()) } else { Err(format!("-- expected {expected}\n    -- is       {actual}")) }
}
