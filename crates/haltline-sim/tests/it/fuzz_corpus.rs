//! Runs the kept inputs of the fuzzer (`fuzz/README.md` explains how to keep one).

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use haltline_sim::fuzz_targets::TARGETS;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The kept files of a target, by name.
fn kept(target: &str) -> Vec<PathBuf> {
    let folder = corpus().join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

fn run(target: &str) {
    let (_, take) = TARGETS.iter().find(|(name, _)| *name == target).expect("it is a target");
    let files = kept(target);
    assert!(files.len() >= 15, "{target} has lost its corpus: {} files", files.len());
    let is_well = |file: &PathBuf| {
        let content = fs::read(file).expect("the file can be read");
        println!("{}", file.display());
        catch_unwind(AssertUnwindSafe(|| take(&content))).is_ok()
    };
    let bad: Vec<_> = files.iter().filter(|file| !is_well(file)).collect();
    assert!(bad.is_empty(), "failed: {bad:#?}");
}

#[test]
fn every_kept_config_passes() {
    run("config");
}

#[test]
fn every_kept_front_matter_passes() {
    run("front_matter");
}

#[test]
fn every_kept_state_file_passes() {
    run("state_file");
}

#[test]
fn every_kept_database_passes() {
    run("database");
}

#[test]
fn every_kept_hook_payload_passes() {
    run("hook");
}

#[test]
fn every_kept_plain_event_passes() {
    run("plain_event");
}

#[test]
fn every_kept_command_line_passes() {
    run("shell");
}

#[test]
fn every_kept_session_passes() {
    run("transcript");
}

#[test]
fn every_kept_output_passes() {
    run("output");
}

#[test]
fn every_kept_text_to_redact_passes() {
    run("redact");
}

#[test]
fn every_target_has_a_corpus_and_a_fuzzer() {
    for (target, _) in TARGETS {
        assert!(corpus().join(target).is_dir(), "{target} has no corpus");
        let fuzzer = corpus().join(format!("../fuzz_targets/{target}.rs"));
        assert!(fuzzer.is_file(), "{} is missing", fuzzer.display());
    }
    let folders = fs::read_dir(corpus()).expect("the corpus is there").count();
    assert_eq!(folders, TARGETS.len(), "a folder of the corpus belongs to no target");
}
