//! Real processes on the real store: nothing is lost, nothing counts twice, no acknowledged record dies (E2).

use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::support::Site;

const PROCESSES: usize = 32;
const RECORDS_EACH: usize = 100;

/// One race at a time: two at once would measure each other's load.
static TRACK: Mutex<()> = Mutex::new(());

/// Runs all records of all processes; returns how many reported that the circuit tripped.
fn race(site: &Site) -> u32 {
    let _alone = TRACK.lock().unwrap_or_else(PoisonError::into_inner);
    let tripped = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let tripped = &tripped;
            scope.spawn(move || {
                for record in 0..RECORDS_EACH {
                    let answer = site.record("race", &format!("process {process} record {record}"));
                    assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{answer:?}");
                    tripped.fetch_add(u32::from(answer.out.starts_with("CIRCUIT TRIPPED")), Ordering::Relaxed);
                }
            });
        }
    });
    tripped.load(Ordering::Relaxed)
}

#[test]
fn thirty_two_processes_trip_a_threshold_of_3200_at_the_last_record_and_not_before() {
    let site = Site::new();
    site.config("[constraint]\nmirror = false\n");
    site.constraint("race", "violation_threshold: 3200\ndedup_seconds: 0");
    assert_eq!(race(&site), 1);
    let status = site.status("race");
    assert_eq!(status["state"], "OPEN");
    assert_eq!(status["violations"], 3200);
    assert_eq!(status["totals"]["counted"], 3200);
    assert_eq!(status["totals"]["while_open"], 0, "the last record tripped it, so none came later");
    assert_eq!(status["totals"]["trips"], 1);
    site.assert_verifies();
}

#[test]
fn thirty_two_processes_trip_a_threshold_of_5_once_and_all_3200_are_in_the_totals() {
    let site = Site::new();
    site.config("[constraint]\nmirror = false\n");
    site.constraint("race", "violation_threshold: 5\ndedup_seconds: 0");
    assert_eq!(race(&site), 1);
    let status = site.status("race");
    assert_eq!(status["totals"]["violations"], 3200);
    assert_eq!(status["totals"]["counted"], 5);
    assert_eq!(status["totals"]["while_open"], 3195);
    assert_eq!(status["totals"]["trips"], 1);
    site.assert_verifies();
}

#[test]
fn the_state_file_contains_every_record_of_concurrent_processes() {
    let site = Site::new();
    site.constraint("race", "violation_threshold: 10000\ndedup_seconds: 0");
    std::thread::scope(|scope| {
        for process in 0..8 {
            let site = &site;
            scope.spawn(move || {
                for record in 0..10 {
                    let answer = site.record("race", &format!("process {process} record {record}"));
                    assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{answer:?}");
                }
            });
        }
    });
    let mirror = std::fs::read_to_string(site.project().join("docs/constraints/.circuit-state.json")).expect("written");
    let mirror: serde_json::Value = serde_json::from_str(&mirror).expect("JSON");
    assert_eq!(mirror["race"]["violations"].as_array().map(Vec::len), Some(80));
    assert_eq!(site.status("race")["totals"]["violations"], 80, "the mirror is not taken for somebody else's file");
}

#[test]
fn at_once_and_within_the_dedup_window_sixteen_processes_count_one() {
    let site = Site::new();
    site.constraint("race", "violation_threshold: 5");
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert_eq!(site.record("race", "the same").code, Some(0)));
        }
    });
    let status = site.status("race");
    assert_eq!((&status["violations"], &status["totals"]["deduplicated"]), (&1.into(), &15.into()));
}

/// A small random generator, so that one seed gives one order of kills.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Starts a record and kills it after a random time; returns whether it was acknowledged.
fn record_and_kill(site: &Site, dice: &mut Dice) -> bool {
    let mut command = site.command(&["constraint", "record", "victim", "--action", "killed half-way"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    // Spinning is not sleeping: the kill must fall anywhere between the first instruction and the last.
    for _ in 0..dice.roll(2_500_000) {
        std::hint::spin_loop();
    }
    child.kill().expect("kill -9 reaches it, or it has ended");
    let output = child.wait_with_output().expect("waited for");
    String::from_utf8_lossy(&output.stdout).contains("Violations:")
}

#[test]
fn three_hundred_kills_lose_no_acknowledged_record_and_the_journal_is_clean_after_each() {
    const KILLS: u64 = 300;
    const KILLERS: u64 = 3;
    let site = Site::new();
    site.constraint("victim", "violation_threshold: 10000\ndedup_seconds: 0");
    site.record("victim", "first");
    let _alone = TRACK.lock().unwrap_or_else(PoisonError::into_inner);
    let acknowledged = AtomicU32::new(1);
    std::thread::scope(|scope| {
        for killer in 0..KILLERS {
            let (site, acknowledged) = (&site, &acknowledged);
            scope.spawn(move || {
                let mut dice = Dice(killer);
                for _ in 0..KILLS / KILLERS {
                    let is_acknowledged = record_and_kill(site, &mut dice);
                    acknowledged.fetch_add(u32::from(is_acknowledged), Ordering::Relaxed);
                    site.assert_verifies();
                }
            });
        }
    });
    let acknowledged = u64::from(acknowledged.into_inner());
    let counted = site.status("victim")["totals"]["violations"].as_u64().expect("a number");
    assert!(counted >= acknowledged, "{acknowledged} were acknowledged, {counted} are there");
    assert!(counted <= KILLS + 1, "{counted} are there, {} were tried", KILLS + 1);
    assert!(acknowledged > 10, "the kills came too early to mean anything: {acknowledged} acknowledged");
    assert!(counted < KILLS + 1, "the kills came too late to mean anything: all {counted} were recorded");
    let last = site.record("victim", "last");
    assert_eq!((last.code, last.err.as_str()), (Some(0), ""), "{last:?}");
}
