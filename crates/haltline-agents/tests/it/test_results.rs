//! Recorded outputs of test runners (`testdata/runners`), and the counts haltline reads from them.

use std::fs;
use std::path::{Path, PathBuf};

use haltline_agents::test_results::{Run, Runner, TestCounts, from_junit, from_output, last_run};
use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/runners")
}

/// Each recording: its folder, its name, its bytes and the expected counts.
fn recordings() -> Vec<(String, String, Vec<u8>, Option<TestCounts>)> {
    let mut found = Vec::new();
    let mut folders: Vec<_> =
        fs::read_dir(folder()).expect("the folder is there").map(|entry| entry.expect("an entry").path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    for path in folders {
        let expected = fs::read_to_string(path.join("expected")).expect("each folder says what is expected");
        let files = fs::read_dir(&path).expect("a folder").count() - 1;
        assert_eq!(expected.lines().count(), files, "{}: each recording has a line", path.display());
        for line in expected.lines() {
            let (name, counts) = line.split_once(' ').expect("a name and counts");
            let numbers: Vec<u64> = counts.split(' ').filter_map(|number| number.parse().ok()).collect();
            let counts = match numbers[..] {
                [total, passing, failing, skipped] => Some(TestCounts { total, passing, failing, skipped }),
                _ => None,
            };
            let folder = path.file_name().expect("a name").to_string_lossy().into_owned();
            found.push((folder, name.to_owned(), fs::read(path.join(name)).expect("the recording is there"), counts));
        }
    }
    found
}

fn runner(folder: &str) -> Runner {
    match folder {
        "cargo-test" => Runner::CargoTest,
        "nextest" => Runner::Nextest,
        "pytest" => Runner::Pytest,
        "unittest" => Runner::Unittest,
        "go-test" => Runner::GoTest,
        "jest" => Runner::Jest,
        "vitest" => Runner::Vitest,
        "mocha" => Runner::Mocha,
        "node-test" => Runner::NodeTest,
        "tap" => Runner::Tap,
        other => panic!("no runner {other}"),
    }
}

#[test]
fn every_recording_has_the_counts_its_folder_says() {
    let recordings = recordings();
    assert!(recordings.len() > 40, "{} recordings", recordings.len());
    for (folder, name, bytes, expected) in recordings {
        if folder == "junit" {
            assert_eq!(from_junit(&bytes).ok(), expected, "{folder}/{name}");
            continue;
        }
        let text = String::from_utf8(bytes).expect("UTF-8");
        let expected = expected.map(|counts| Run { runner: runner(&folder), counts });
        assert_eq!(last_run(&text), expected, "{folder}/{name}");
        assert_eq!(last_run(&text.replace('\n', "\r\n")), expected, "{folder}/{name} with CR LF");
    }
}

#[test]
fn the_last_run_counts_for_every_runner_and_whatever_text_is_around_it() {
    let texts: Vec<_> =
        recordings().into_iter().filter(|(folder, _, _, counts)| folder != "junit" && counts.is_some()).collect();
    for (_, _, first, _) in &texts {
        for (folder, name, second, expected) in &texts {
            let chatter = "I will run the tests again now.\n3 passing thoughts, ok 2 go. 1 failed attempt\n";
            let text =
                format!("{}\n{chatter}{}\n{chatter}", String::from_utf8_lossy(first), String::from_utf8_lossy(second));
            // Without cargo's own lines nothing shows where its next run begins, unless it runs the same tests again.
            let is_bare = folder == "cargo-test" && ["quiet.txt", "twice-without-cargo.txt"].contains(&name.as_str());
            if !is_bare {
                assert_eq!(from_output(&text), *expected, "{folder}/{name}");
            }
        }
    }
}

#[test]
fn prose_and_code_are_not_test_runs() {
    for text in [
        "",
        "All 12 tests passed.",
        "Tests: fine",
        "2 passed and 1 failed, I think",
        "ok\nok 1\nnot ok",
        "Ran 3 commands in 2s\nOK then",
        "test result: unknown",
        "{\"Action\":\"pass\",\"Package\":7}",
        "FAIL\tnot a package but words\t",
        "passing (3)",
        "# tests are below\n# pass the salt",
    ] {
        assert_eq!(last_run(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn damaged_recordings_are_read_or_ignored(
        which in any::<prop::sample::Index>(),
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
    ) {
        let recordings = recordings();
        let mut bytes = recordings[which.index(recordings.len())].2.clone();
        for (index, byte) in hits {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        for counts in [from_junit(&bytes).ok(), from_output(&String::from_utf8_lossy(&bytes))].into_iter().flatten() {
            prop_assert_eq!(counts.total, counts.passing.saturating_add(counts.failing).saturating_add(counts.skipped));
        }
    }
}
