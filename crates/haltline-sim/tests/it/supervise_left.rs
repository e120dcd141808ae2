//! No process of a supervised command stays behind: daemons, fork storms, nested runs, and a killed supervisor (P8).

use crate::supervised::{STAND_IN, SUPERVISE, Site, signal, until};
use rustix::process::Signal;
use serde_json::json;

#[test]
fn a_process_that_keeps_the_pipe_open_is_ended_without_waiting() {
    let site = Site::new("start holder\nwait-for ready\nsay done\nexit 0\n[block holder]\nfile ready yes\nforever");
    let outcome = site.run(&[]);
    assert_eq!((outcome.code, outcome.out.as_slice()), (Some(0), b"done\n".as_slice()));
    assert_eq!(outcome.report["left_behind"], json!([["stand-in-agent", "Terminated"]]));
    site.assert_nothing_is_left();
}

#[test]
fn a_process_that_ends_soon_by_itself_is_not_reported_as_left_behind() {
    let site = Site::new("start brief\nexit 0\n[block brief]\nexit 0");
    let outcome = site.run(&[]);
    assert_eq!((outcome.code, &outcome.report["left_behind"]), (Some(0), &json!([])));
}

#[test]
fn daemons_are_found_though_they_left_the_group_and_emptied_their_environment() {
    let site = Site::new(
        "detach one\ndetach-bare two\nwait-for one\nwait-for two\nexit 0\n[block one]\nfile one {pid}\nforever\n[block two]\nignore TERM\nfile two {pid}\nforever",
    );
    let outcome = site.run(&["--grace", "300"]);
    assert_eq!(outcome.code, Some(0));
    let left = outcome.report["left_behind"].to_string();
    assert!(left.contains("Terminated") && left.contains("Killed"), "{left}");
    site.assert_nothing_is_left();
}

#[test]
fn orphans_that_end_while_the_command_runs_are_reaped() {
    let site = Site::new(
        "repeat 30 orphan\nfile ready {pid}\nwait-for go\nexit 0\n[block orphan]\ndetach nothing\n[block nothing]",
    );
    let runner = site.supervised(&[]).spawn().expect("starts");
    site.wait_for("ready");
    let parent = format!(" {} ", runner.id());
    // The command is the supervisor's only child: none of the orphans is a zombie.
    until("no orphan is left as a zombie", || {
        let stats = std::fs::read_dir("/proc").expect("there").flatten();
        let stats = stats.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
        let zombies = stats.filter(|stat| {
            stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z") && rest.contains(&parent))
        });
        (zombies.count() == 0).then_some(())
    });
    site.script("go", "");
    assert_eq!(site.finish(runner).code, Some(0));
}

#[test]
fn a_fork_storm_is_ended() {
    for kind in ["storm", "roaming-storm"] {
        let site = Site::new(&format!("{kind} 6 60\nsleep 0.3\nexit 0"));
        let outcome = site.run(&["--grace", "200"]);
        assert_eq!(outcome.code, Some(0), "{kind}");
        site.assert_nothing_is_left();
        assert!(!outcome.report["left_behind"].to_string().contains("StillThere"), "{kind} {outcome:?}");
    }
}

#[test]
fn a_run_inside_a_run_ends_for_itself() {
    let site = Site::new("");
    let inner = site.path("inner").to_string_lossy().into_owned();
    let report = site.path("inner-report").to_string_lossy().into_owned();
    site.script("inner", "detach daemon\nwait-for ready\nexit 3\n[block daemon]\nfile ready yes\nforever");
    site.script("script", &format!("start neighbour\nwait-for there\nshell {SUPERVISE} {report} inner-{} -- {STAND_IN} {inner}; echo code $?\nshow HALTLINE_RUN\nexit 5\n[block neighbour]\nfile there yes\nforever", site.run_id()));
    let outcome = site.run(&[]);
    let expected = format!("code 3\nHALTLINE_RUN={}\n", site.run_id());
    assert_eq!((outcome.code, String::from_utf8_lossy(&outcome.out).into_owned()), (Some(5), expected));
    let inner: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&report).expect("the inner run reported")).expect("JSON");
    assert_eq!(inner["left_behind"], json!([["stand-in-agent", "Terminated"]]), "the neighbour is not the inner run's");
    assert_eq!(outcome.report["left_behind"], json!([["stand-in-agent", "Terminated"]]));
    site.assert_nothing_is_left();
}

#[test]
fn the_outer_run_ends_the_inner_one_with_all_it_has() {
    let site = Site::new("");
    let inner = site.path("inner").to_string_lossy().into_owned();
    let report = site.path("inner-report").to_string_lossy().into_owned();
    site.script(
        "inner",
        "ignore TERM\ndetach daemon\nwait-for ready\nforever\n[block daemon]\nignore TERM\nfile ready yes\nforever",
    );
    let inner_id = format!("inner-{}", site.run_id());
    let command = [SUPERVISE, &report, &inner_id, "--grace", "60000", "--", STAND_IN, &inner];
    let runner = site.runner(&["--grace", "300"], &command).spawn().expect("starts");
    site.wait_for("ready");
    signal(&runner, Signal::TERM);
    let outcome = site.finish(runner);
    assert_eq!(outcome.report["cause"], "Signal(15)");
    site.assert_nothing_is_left();
}

#[test]
fn a_lease_is_exclusive_and_names_what_a_killed_runner_left() {
    let script = "ignore TERM\nstart child\ndetach daemon\nwait-for child\nwait-for daemon\nfile ready yes\nforever\n[block child]\nfile child yes\nforever\n[block daemon]\nfile daemon yes\nforever";
    let site = Site::new(script);
    let lease = site.path("lease").to_string_lossy().into_owned();
    let mut first = site.supervised(&["--lease", &lease]).spawn().expect("starts");
    site.wait_for("ready");
    site.script("script", "say next\nexit 0");
    let busy = site.run(&["--lease", &lease]);
    assert_eq!((busy.code, &busy.report["busy"]), (Some(75), &json!(first.id())));
    signal(&first, Signal::KILL);
    crate::supervised::finish(&mut first);
    assert_eq!(site.survivors().len(), 3, "the command, its child and its daemon are left: {:?}", site.survivors());
    let next = site.run(&["--lease", &lease]);
    assert_eq!((next.code, next.out.as_slice()), (Some(0), b"next\n".as_slice()));
    let former = &next.report["former"];
    assert_eq!(
        (former["iteration"].as_u64(), former["names"].as_array().map(Vec::len)),
        (Some(7), Some(3)),
        "{former}"
    );
    assert!(former["ended"].to_string().contains("Killed"), "the one that ignores SIGTERM: {former}");
    site.assert_nothing_is_left();
    let after = site.run(&["--lease", &lease]);
    assert_eq!(after.report["former"], json!({"iteration": 7}), "a run that ended in order leaves nothing");
}

#[test]
fn a_damaged_lease_can_be_acquired() {
    let site = Site::new("exit 0");
    site.script("lease", "{\"schema\": 1, \"run");
    let outcome = site.run(&["--lease", &site.path("lease").to_string_lossy()]);
    assert_eq!((outcome.code, &outcome.report["former"]["iteration"]), (Some(0), &json!(null)));
}
