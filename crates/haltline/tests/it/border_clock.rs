//! No clock that an agent can move ends a cooldown (E3): recorded instants, time namespaces, another `/proc`.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Answer, HALTLINE, Site};

/// A site with the OPEN constraint `x`, whose cooldown takes a day.
fn open_site() -> Site {
    let site = Site::new();
    site.constraint("x", "violation_threshold: 1");
    assert!(site.record("x", "git push --force").out.contains("CIRCUIT TRIPPED"));
    site
}

fn assert_open(site: &Site) {
    let check = site.run(&["constraint", "check", "x"]);
    assert_eq!(check.code, Some(77), "{check:?}");
    assert_eq!(site.status("x")["state"], "OPEN");
}

fn send(site: &Site, arguments: &[&str], input: &str) -> Answer {
    let mut command = site.command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    Answer::new(&child.wait_with_output().expect("it ends"))
}

/// Runs a script with a boot clock that is far ahead. `None` where the system allows no time namespace; in CI it must.
fn in_the_future(site: &Site, script: &str) -> Option<Answer> {
    let unshare = ["--user", "--map-root-user", "--mount", "--time", "--boottime", "1000000", "--fork"];
    let is_allowed = Command::new("unshare").args(unshare).arg("true").status().is_ok_and(|status| status.success());
    if !is_allowed {
        assert!(std::env::var_os("CI").is_none(), "time namespaces are needed: unshare of util-linux, user namespaces");
        eprintln!("not run: this system allows no time namespace (unshare)");
        return None;
    }
    let mut command = Command::new("unshare");
    site.configure(&mut command);
    command.args(unshare).args(["sh", "-euc", script]).env("HALTLINE", HALTLINE);
    Some(Answer::new(&command.output().expect("unshare starts")))
}

#[test]
fn recorded_events_touch_no_live_circuit_whatever_their_instant() {
    let site = open_site();
    let journal = site.run(&["journal", "show", "--json"]).out;
    for (kind, rest) in [
        ("clean", ",\"constraint\":\"x\""),
        ("violation", ",\"constraint\":\"x\",\"action\":\"a\""),
        ("prompt", ",\"source\":\"user\""),
        ("iteration", ",\"phase\":\"GREEN\",\"metrics\":{\"tests_passing\":1}"),
        ("attempt", ",\"slice\":\"S-1\",\"test\":\"t\",\"result\":\"fail\",\"error\":\"e\""),
        ("round", ",\"pipeline\":\"main\",\"claim\":\"C-1\",\"reviewer\":\"R\",\"objection\":\"o\",\"answer\":\"a\""),
    ] {
        let event =
            format!("{{\"v\":1,\"type\":\"{kind}\",\"ts\":\"2099-01-01T00:00:00.000Z\",\"session\":\"s\"{rest}}}\n");
        let answer = send(&site, &["event", "--recorded"], &event);
        assert!(!answer.out.is_empty(), "{kind}: {answer:?}");
    }
    assert_open(&site);
    assert_eq!(site.run(&["journal", "show", "--json"]).out, journal, "nothing was added to the journal");
    let mirror = site.project().join("docs/constraints/.circuit-state.json");
    assert!(std::fs::read_to_string(mirror).is_ok_and(|text| !text.contains("2099")), "the mirror was not rewritten");
    assert!(!site.project().join(".prp-session").exists(), "no state file was written");
}

#[test]
fn recorded_events_follow_the_rules_of_the_constraints_files() {
    let site = Site::new();
    site.constraint("x", "violation_threshold: 2");
    let violation = |minute: u32| {
        format!(
            "{{\"v\":1,\"type\":\"violation\",\"ts\":\"2026-01-01T00:{minute:02}:00.000Z\",\"session\":\"s\",\"constraint\":\"x\",\"action\":\"a\"}}\n"
        )
    };
    let answer = send(&site, &["event", "--recorded"], &(violation(0) + &violation(10) + &violation(20)));
    let verdicts: Vec<bool> = answer.out.lines().map(|line| line.contains("HL-CON")).collect();
    assert_eq!(verdicts.len(), 3, "{answer:?}");
    assert!(verdicts[2], "the third finds the circuit of the second OPEN: {answer:?}");
    assert_eq!(site.status("x")["violations"], 0, "nothing reached the store");
}

#[test]
fn a_shifted_boot_clock_ends_no_cooldown_and_says_why() {
    let site = open_site();
    for verb in ["pass x", "check x", "enforce x --action a --clean", "record x --action again"] {
        let Some(answer) = in_the_future(&site, &format!("exec \"$HALTLINE\" constraint {verb}")) else { return };
        assert!(!format!("{}{}", answer.out, answer.err).contains("HALF"), "{verb}: {answer:?}");
    }
    let check = in_the_future(&site, "exec \"$HALTLINE\" constraint check x").expect("allowed above");
    assert_eq!(check.code, Some(77), "{check:?}");
    assert!(check.out.split_whitespace().collect::<Vec<_>>().join(" ").contains("another time namespace"), "{check:?}");
    assert_open(&site);
    site.assert_verifies();
}

#[test]
fn another_proc_ends_no_cooldown() {
    let site = open_site();
    // A folder that looks like /proc names this boot and the machine's own time namespace.
    let script = "
        boot=$(cat /proc/sys/kernel/random/boot_id)
        mount -t tmpfs none /proc
        mkdir -p /proc/sys/kernel/random /proc/self/ns
        echo \"$boot\" > /proc/sys/kernel/random/boot_id
        touch /proc/self/ns/time /proc/self/ns/uts
        exec \"$HALTLINE\" constraint pass x";
    let Some(answer) = in_the_future(&site, script) else { return };
    assert_ne!(answer.code, Some(0), "{answer:?}");
    assert_open(&site);
}
