//! Tests of `spool.rs`.

use std::time::Duration;

use haltline_core::{Instant, Moment};
use haltline_engine::clock::Deadline;
use haltline_engine::project::ProjectKey;
use haltline_engine::spool::{Drained, bytes_waiting, drain, forget_lost, has_events, put};

fn soon() -> Deadline {
    Deadline::new(Duration::from_secs(60))
}

#[test]
fn waiting_events_are_drained_once_and_in_order_and_the_folder_is_removed() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (here, elsewhere) = (ProjectKey(1), ProjectKey(2));
    assert!(!has_events(folder.path(), here));
    for (at, text) in [(2, "second"), (2, "third"), (1, "first")] {
        put(folder.path(), here, Moment::from_wall_clock(Instant::from_millis(at)), text.as_bytes()).expect("kept");
    }
    let mut events = Vec::new();
    drain(folder.path(), elsewhere, &soon(), |_| panic!("another project's events"));
    drain(folder.path(), here, &soon(), |content| {
        events.push(String::from_utf8_lossy(content).into_owned());
        events.len() != 2
    });
    assert_eq!(events, ["first", "second"]);
    assert!(!has_events(folder.path(), elsewhere));
    assert!(has_events(folder.path(), here), "what was not taken stays");
    drain(folder.path(), here, &soon(), |content| {
        events.push(String::from_utf8_lossy(content).into_owned());
        true
    });
    assert_eq!(events[2..], ["second", "third"]);
    assert!(!folder.path().join("spool").exists());
}

#[test]
fn without_time_one_event_is_taken_in_and_the_rest_waits() {
    let (folder, here) = (tempfile::tempdir().expect("temp folder"), ProjectKey(1));
    for at in 1..=3 {
        put(folder.path(), here, Moment::from_wall_clock(Instant::from_millis(at)), b"event").expect("kept");
    }
    let over = Deadline::new(Duration::ZERO);
    for is_partial in [true, true, false] {
        let mut count = 0;
        let drained = drain(folder.path(), here, &over, |_| {
            count += 1;
            true
        });
        assert_eq!((drained, count), (Drained { is_partial, lost: 0 }, 1));
    }
}

#[test]
fn what_does_not_fit_is_counted_and_the_number_is_reported_once() {
    let (folder, here) = (tempfile::tempdir().expect("temp folder"), ProjectKey(1));
    let large = vec![b' '; 1 << 20];
    let kept = (1..=40)
        .filter(|at| put(folder.path(), here, Moment::from_wall_clock(Instant::from_millis(*at)), &large).is_ok());
    assert_eq!(kept.count(), 16, "the spool has a limit in bytes");
    let mut count = 0;
    let drained = drain(folder.path(), here, &soon(), |_| {
        count += 1;
        true
    });
    assert_eq!((drained, count), (Drained { is_partial: false, lost: 24 }, 16));
    assert_eq!(drain(folder.path(), here, &soon(), |_| true), drained, "until the person will read of it");
    forget_lost(folder.path(), here, 20);
    assert_eq!(drain(folder.path(), here, &soon(), |_| true).lost, 4, "what was lost meanwhile");
    forget_lost(folder.path(), here, 4);
    assert!(!folder.path().join("spool").exists());
    assert_eq!(drain(folder.path(), here, &soon(), |_| true), Drained::default());
}

#[test]
fn many_writers_and_many_projects_at_once_stay_within_the_limits_and_lose_nothing_uncounted() {
    let folder = tempfile::tempdir().expect("temp folder");
    let large = vec![b' '; 3 << 20];
    let kept: usize = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..40)
            .map(|number| {
                let (folder, large) = (folder.path(), &large);
                let project = ProjectKey(number % 4);
                scope.spawn(move || put(folder, project, Moment::from_wall_clock(Instant::from_millis(number)), large))
            })
            .collect();
        writers.into_iter().map(|writer| usize::from(writer.join().expect("no panic").is_ok())).sum()
    });
    assert!(bytes_waiting(folder.path()) <= 4 * (16 << 20), "{}", bytes_waiting(folder.path()));
    let mut drained = (0, 0);
    for project in (0..4).map(ProjectKey) {
        let mut count = 0;
        let done = drain(folder.path(), project, &soon(), |_| {
            count += 1;
            true
        });
        drained = (drained.0 + count, drained.1 + done.lost);
    }
    assert_eq!(drained.0, kept);
    assert_eq!(drained.0 as u64 + drained.1, 40);
}

#[test]
fn a_pipe_or_a_link_among_the_events_hangs_nothing_and_is_removed() {
    let (folder, here) = (tempfile::tempdir().expect("temp folder"), ProjectKey(1));
    put(folder.path(), here, Moment::from_wall_clock(Instant::from_millis(1)), b"event").expect("kept");
    let events = folder.path().join("spool").join(format!("{:016x}", here.0));
    std::os::unix::fs::symlink("/dev/zero", events.join("000000000000002.json")).expect("linked");
    let pipe = std::process::Command::new("mkfifo").arg(events.join("000000000000003.json")).status();
    assert!(pipe.expect("mkfifo is there").success());
    let mut count = 0;
    drain(folder.path(), here, &soon(), |_| {
        count += 1;
        true
    });
    assert_eq!(count, 1);
    assert!(!folder.path().join("spool").exists());
}
