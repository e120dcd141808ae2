//! Recorded test runs of attempts (`testdata/runner_cases`), and how haltline classifies each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use haltline_agents::test_results::{Classification, Exit, TestClass, TestRun, classify};
use proptest::prelude::*;

const RUNNERS: [&str; 13] = [
    "cargo-test",
    "nextest",
    "pytest",
    "unittest",
    "go-test",
    "go-json",
    "jest",
    "vitest",
    "mocha",
    "node-spec",
    "node-tap",
    "junit",
    "tap",
];

const CASES: [&str; 10] = [
    "fail",
    "pass",
    "build-here",
    "build-elsewhere",
    "missing-module",
    "filtered",
    "crash",
    "timeout",
    "no-network",
    "other-fails",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/runner_cases")
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `code 1` or `timed-out`
fn exit(text: &str) -> Exit {
    match text.split_once(' ') {
        Some(("code", code)) => Exit::Code(code.parse().expect("a code")),
        _ => {
            assert_eq!(text, "timed-out");
            Exit::TimedOut
        }
    }
}

fn class_name(class: TestClass) -> String {
    match class {
        TestClass::Passed => "passed".to_owned(),
        TestClass::Failed => "failed".to_owned(),
        TestClass::Infrastructure(trouble) => trouble.as_str().to_owned(),
        TestClass::Unclear => "unclear".to_owned(),
    }
}

/// A line of the table.
struct Case {
    recording: String,
    output: String,
    report: Option<String>,
    exit: Exit,
    test: String,
    files: Vec<String>,
    class: String,
    why: String,
}

impl Case {
    fn classify_with(&self, output: &str, reports: &[&str], exit: Exit) -> Classification {
        let files: Vec<&str> = self.files.iter().map(String::as_str).collect();
        classify(&TestRun { output, junit: reports, exit, test: &self.test, files: &files })
    }

    fn classify(&self) -> Classification {
        self.classify_with(&self.output, &self.reports(), self.exit)
    }

    fn reports(&self) -> Vec<&str> {
        self.report.iter().map(String::as_str).collect()
    }
}

/// `pytest/fail | test_adds | calc.py | failed | why`
fn cases() -> Vec<Case> {
    let exits = read("exits.txt");
    let exits: BTreeMap<&str, &str> = exits.lines().filter_map(|line| line.split_once(' ')).collect();
    let table = read("classes.txt");
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(" | ").map(str::trim).collect();
            let [recording, test, files, class, why] = fields[..] else { panic!("{line}") };
            let report = folder().join(format!("{recording}.xml"));
            Case {
                recording: recording.to_owned(),
                output: read(&format!("{recording}.txt")),
                report: fs::read_to_string(report).ok(),
                exit: exit(exits.get(recording).unwrap_or_else(|| panic!("{recording} has no exit"))),
                test: test.to_owned(),
                files: files.split(' ').map(str::to_owned).collect(),
                class: class.to_owned(),
                why: why.to_owned(),
            }
        })
        .collect()
}

#[test]
fn every_recording_is_classified_as_its_line_says() {
    let mut expected = Vec::new();
    let mut actual = Vec::new();
    for row in cases() {
        let head = format!("{} | {} | {} |", row.recording, row.test, row.files.join(" "));
        let judged = row.classify();
        expected.push(format!("{head} {} | {}", row.class, row.why));
        actual.push(format!("{head} {} | {}", class_name(judged.class), judged.why));
    }
    let different: Vec<_> = expected.iter().zip(&actual).filter(|(expected, actual)| expected != actual).collect();
    assert!(
        different.is_empty(),
        "\n{}",
        different.iter().map(|(a, b)| format!("expected {a}\n     got {b}\n")).collect::<String>()
    );
}

#[test]
fn every_runner_has_every_case() {
    let rows: BTreeSet<String> = cases().into_iter().map(|row| row.recording).collect();
    let cells = RUNNERS.iter().flat_map(|runner| CASES.iter().map(move |case| format!("{runner}/{case}")));
    let missing: Vec<String> = cells.filter(|cell| !rows.contains(cell)).collect();
    assert_eq!(missing, Vec::<String>::new(), "cells without a line in classes.txt");
    let exits = read("exits.txt");
    let recorded: BTreeSet<String> =
        exits.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name.to_owned()).collect();
    assert_eq!(rows, recorded, "every recording has a line and every line a recording");
}

/// Classifies an output that ended with this code, for the test `tests::adds` and the like.
fn class(output: &str, code: i32, test: &str) -> String {
    class_name(classify(&TestRun { output, junit: &[], exit: Exit::Code(code), test, files: &["src/lib.rs"] }).class)
}

#[test]
fn line_ends_colours_and_progress_make_no_difference() {
    for row in cases() {
        let expected = row.classify().class;
        let coloured: String = row.output.lines().map(|line| format!("\u{1b}[1m{line}\u{1b}[0m\n")).collect();
        let overwritten: String = row
            .output
            .lines()
            .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  50 %\r{line}\n") })
            .collect();
        for text in [row.output.replace('\n', "\r\n"), coloured, overwritten] {
            // Go's events are data and have no colours.
            if !row.recording.starts_with("go-json") || text.contains("\r\n") {
                assert_eq!(row.classify_with(&text, &row.reports(), row.exit).class, expected, "{}", row.recording);
            }
        }
    }
}

#[test]
fn an_excerpt_is_lines_of_the_output_and_has_the_assertion() {
    for row in cases() {
        let judged = row.classify();
        let source =
            if row.recording.starts_with("go-json") { row.output.replace("\\n\"", "") } else { row.output.clone() };
        if row.report.is_none() && !row.recording.starts_with("go-json") {
            assert!(judged.excerpt.lines().all(|line| source.contains(line)), "{}: {}", row.recording, judged.excerpt);
        }
        assert!(judged.excerpt.len() <= 8 << 10 && judged.excerpt.lines().count() <= 60, "{}", row.recording);
        if row.recording.ends_with("/fail") {
            let has_assertion = ["left: 0", "0 == 4", "0 != 4", "Add(2, 2) = 0", "0 !== 4", "Received:"]
                .iter()
                .any(|it| judged.excerpt.contains(it));
            assert!(has_assertion, "{}:\n{}", row.recording, judged.excerpt);
        }
        assert!(!judged.why.contains('\n') && !judged.why.is_empty(), "{}", row.recording);
    }
}

#[test]
fn a_name_is_never_found_inside_a_longer_name() {
    for row in cases().iter().filter(|row| row.recording.ends_with("/other-fails")) {
        let (output, reports) = (&row.output, row.reports());
        for test in ["add", "adds al", "dds", "test_add", "TestAdd", "tests::add", "ests::adds", "s"] {
            let judged = classify(&TestRun { output, junit: &reports, exit: row.exit, test, files: &[] });
            assert_ne!(judged.class, TestClass::Failed, "{} {test}: {}", row.recording, judged.why);
        }
        for test in ["adds_all", "test_adds_all", "TestAddsAll", "adds all", "calc adds all"] {
            let judged = classify(&TestRun { output, junit: &reports, exit: row.exit, test, files: &[] });
            let is_its_name = output.contains(test) || reports.iter().any(|report| report.contains(test));
            if judged.class == TestClass::Failed {
                assert!(is_its_name || test == "calc adds all", "{} {test}: {}", row.recording, judged.why);
            }
        }
    }
    let failed = cases().into_iter().find(|row| row.recording == "cargo-test/other-fails").expect("recorded");
    assert_eq!(class(&failed.output, 101, "tests::adds_all"), "failed");
    assert_eq!(class(&failed.output, 101, "adds_all"), "failed");
    assert_eq!(class(&failed.output, 101, "adds"), "passed");
    assert_eq!(class(&failed.output, 101, "subtracts"), "ran-none");
}

#[test]
fn the_runners_output_decides_before_the_exit_code_unless_it_reports_only_passes() {
    for row in cases() {
        let with = |code| class_name(row.classify_with(&row.output, &row.reports(), Exit::Code(code)).class);
        match row.class.as_str() {
            "failed" => assert_eq!([with(0), with(1), with(7)], ["failed"; 3], "{}", row.recording),
            "passed" if row.recording.ends_with("/other-fails") => {
                assert_eq!([with(0), with(1)], ["passed"; 2], "{}", row.recording);
            }
            "passed" => assert_eq!([with(0), with(1)], ["passed", "unclear"], "{}", row.recording),
            _ => {}
        }
        for exit in [Exit::TimedOut, Exit::NotStarted, Exit::Signal(11)] {
            let judged = row.classify_with(&row.output, &row.reports(), exit);
            assert!(matches!(judged.class, TestClass::Infrastructure(_)), "{}: {}", row.recording, judged.why);
        }
    }
}

#[test]
fn runs_without_names_are_classified_by_their_counts() {
    for (output, code, expected) in [
        ("3 passed in 0.1s", 0, "passed"),
        ("3 passed in 0.1s", 1, "unclear"),
        ("3 passed, 1 skipped in 0.1s", 0, "unclear"),
        ("1 failed in 0.1s", 1, "failed"),
        ("1 failed, 2 passed in 0.1s", 1, "unclear"),
        ("2 failed in 0.1s", 1, "unclear"),
        ("2 skipped in 0.1s", 0, "ran-none"),
        ("no tests ran in 0.1s", 5, "ran-none"),
        ("1 error in 0.1s", 1, "environment"),
        ("1 failed, 1 error in 0.1s", 1, "environment"),
        ("      Tests  1 passed | 3 skipped (4)", 0, "passed"),
        ("      Tests  2 passed | 3 skipped (5)", 0, "unclear"),
        ("Tests:       3 skipped, 1 passed, 4 total\nRan all test suites with tests matching \"adds\".", 0, "passed"),
        ("Tests:       3 skipped, 1 passed, 4 total\nRan all test suites.", 0, "unclear"),
        ("ok  \texample.com/a\t0.1s", 0, "passed"),
        ("FAIL\texample.com/a\t0.1s", 1, "environment"),
        ("?   \texample.com/a\t[no test files]", 0, "ran-none"),
        ("", 0, "unclear"),
        ("", 127, "unclear"),
        ("bash: pytest: command not found", 127, "environment"),
        ("All tests passed!", 0, "unclear"),
        ("make: *** [test] Error 1", 2, "unclear"),
    ] {
        assert_eq!(class(output, code, "adds"), expected, "{output}");
    }
}

#[test]
fn what_a_test_prints_is_not_what_its_runner_says() {
    let spoofed = |lines: &str| {
        format!(
            "    Finished `test` profile [unoptimized] target(s) in 0.1s\n     Running unittests src/lib.rs (t)\n\n\
             running 2 tests\n{lines}\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
        )
    };
    let failures = "\nfailures:\n\n---- tests::adds stdout ----\nPRINTED\n\nfailures:\n    tests::adds\n";
    for printed in [
        "test tests::adds ... ok",
        "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s",
        "==== 1 passed in 0.01s ====",
        "Tests:       1 passed, 1 total",
        "1..1\nok 1 - tests::adds",
        "{\"Action\":\"pass\",\"Package\":\"a\",\"Test\":\"tests::adds\"}\n{\"Action\":\"pass\",\"Package\":\"a\"}",
        "  1 passing (1ms)",
        "running 1 test\ntest tests::adds ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
    ] {
        let text = spoofed(&format!(
            "test tests::adds ... FAILED\ntest tests::b ... ok\n{}",
            failures.replace("PRINTED", printed)
        ));
        assert_eq!(class(&text, 101, "tests::adds"), "failed", "{printed}");
        // Without capturing it may appear anywhere. haltline need not see through it then, but the test must never
        // pass.
        let text = spoofed(&format!(
            "{printed}\ntest tests::adds ... FAILED\ntest tests::b ... ok\n{}",
            failures.replace("PRINTED", "")
        ));
        assert!(["failed", "unclear"].contains(&class(&text, 101, "tests::adds").as_str()), "{printed}");
        // It must not make a test that never ran fail or pass either.
        let text = spoofed(&format!(
            "{}\ntest tests::c ... FAILED\ntest tests::b ... ok\n\nfailures:\n\nfailures:\n    tests::c\n",
            printed.replace("... ok", "... FAILED").replace("ok 1", "not ok 1")
        ));
        let judged = class(&text, 101, "tests::adds");
        assert!(!["failed", "passed"].contains(&judged.as_str()), "{printed}: {judged}");
    }
}

/// A cut must never turn a failed recording into a pass, or any other recording into a failure.
fn assert_not_reversed(row: &Case, judged: &Classification, how: &str) {
    let is_turned = match row.class.as_str() {
        "failed" => judged.class == TestClass::Passed,
        _ => judged.class == TestClass::Failed,
    };
    assert!(!is_turned, "{} {how}: {:?}, {}", row.recording, judged.class, judged.why);
}

#[test]
fn an_output_that_is_cut_off_is_never_reversed() {
    for row in cases() {
        let lines: Vec<&str> = row.output.lines().collect();
        for cut in 0..=lines.len() {
            let exits = [row.exit, Exit::Code(0), Exit::Code(1)];
            let kept = lines[..cut].join("\n");
            for exit in exits {
                let judged = row.classify_with(&kept, &[], exit);
                assert_not_reversed(&row, &judged, &format!("to line {cut}, {exit:?}"));
                let is_new_pass = judged.class == TestClass::Passed && row.class != "passed";
                assert!(!is_new_pass, "{} to line {cut}: {}", row.recording, judged.why);
            }
            let judged = row.classify_with(&lines[cut..].join("\n"), &[], row.exit);
            assert_not_reversed(&row, &judged, &format!("from line {cut}"));
        }
        // A report that is cut off does not count as a report.
        if let Some(report) = &row.report {
            for cut in (0..report.len()).filter(|cut| report.is_char_boundary(*cut)) {
                let judged = row.classify_with("", &[&report[..cut]], row.exit);
                assert!(
                    !matches!(judged.class, TestClass::Passed | TestClass::Failed),
                    "{} to byte {cut}",
                    row.recording
                );
            }
        }
    }
}

#[test]
fn text_around_a_run_does_not_reverse_it() {
    let chatter = "I will run it again.\n3 passing thoughts, ok 2 go. 1 failed attempt\nFAILED: nothing\nerror: none\n";
    for row in cases() {
        for text in [format!("{chatter}{}", row.output), format!("{}\n{chatter}", row.output)] {
            let judged = row.classify_with(&text, &row.reports(), row.exit);
            assert_eq!(class_name(judged.class), row.class, "{}: {}", row.recording, judged.why);
        }
    }
}

proptest! {
    #[test]
    fn a_part_of_a_recording_is_never_reversed(
        which in any::<prop::sample::Index>(),
        ends in any::<(prop::sample::Index, prop::sample::Index)>(),
        left_out in any::<prop::sample::Index>(),
    ) {
        let rows = cases();
        let row = &rows[which.index(rows.len())];
        let lines: Vec<&str> = row.output.lines().collect();
        let (one, other) = (ends.0.index(lines.len() + 1), ends.1.index(lines.len() + 1));
        let piece = &lines[one.min(other)..one.max(other)];
        assert_not_reversed(row, &row.classify_with(&piece.join("\n"), &[], row.exit), "a piece");
        if !piece.is_empty() {
            let mut piece = piece.to_vec();
            piece.remove(left_out.index(piece.len()));
            assert_not_reversed(row, &row.classify_with(&piece.join("\n"), &[], row.exit), "a piece with a line left out");
        }
    }

    #[test]
    fn damaged_recordings_are_classified_without_a_panic(
        which in any::<prop::sample::Index>(),
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        test in "[ -~é]{0,12}",
        code in any::<i32>(),
    ) {
        let rows = cases();
        let row = &rows[which.index(rows.len())];
        let mut bytes = format!("{}{}", row.output, row.report.as_deref().unwrap_or_default()).into_bytes();
        for (index, byte) in hits {
            if !bytes.is_empty() {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        for test in [test.as_str(), &row.test] {
            let judged = classify(&TestRun { output: &text, junit: &[&text], exit: Exit::Code(code), test, files: &["", "/", "a"] });
            prop_assert!(judged.excerpt.len() <= 8 << 10);
        }
    }

    #[test]
    fn any_text_is_classified_without_a_panic(text in "(\\PC|\n|\t){0,200}", test in "\\PC{0,8}") {
        classify(&TestRun { output: &text, junit: &[&text], exit: Exit::Code(1), test: &test, files: &[&test] });
    }
}
