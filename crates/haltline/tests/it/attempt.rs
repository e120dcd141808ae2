//! Attempts through the real binary: races, classification by the runners' output, stored and masked texts, operators.

use std::process::Command;

use crate::support::{Answer, Site};
use serde_json::{Value, json};

/// A site with a failing TAP test in a git repository.
fn site() -> Site {
    let site = Site::new();
    git(&site, &["init", "-q", "."]);
    site.config("[operator]\nunattended = true\n");
    site.file("src/a.sh", "a\n");
    site.file("fail.sh", "echo 1..1\necho 'not ok 1 - adds'\necho '# expected 3'\nexit 1\n");
    site.file("pass.sh", "echo 1..1\necho 'ok 1 - adds'\n");
    site
}

fn git(site: &Site, arguments: &[&str]) {
    let mut command = Command::new("git");
    site.configure(&mut command);
    let done = command.args(arguments).output().expect("git is there");
    assert!(done.status.success(), "{done:?}");
}

fn begin(site: &Site) {
    let begun = site.run(&["attempt", "begin", "--slice", "S-1", "--in-scope", "src/"]);
    assert_eq!(begun.code, Some(0), "{begun:?}");
}

fn attempt(site: &Site, script: &str, strategy: &str) -> Answer {
    site.run(&["attempt", "run", "--test", "adds", "--strategy", strategy, "--", "sh", script])
}

fn status(site: &Site) -> Value {
    site.run(&["attempt", "status", "--slice", "S-1", "--json"]).json()
}

#[test]
fn twenty_processes_at_once_are_counted_exactly_and_trip_once() {
    let site = site();
    begin(&site);
    let children: Vec<_> = (0..20)
        .map(|number| {
            let (test, strategy) = (format!("t{number}"), format!("s{number}"));
            let arguments =
                ["attempt", "record", "--slice", "S-1", "--test", &test, "--result", "fail", "--strategy", &strategy];
            site.command(&arguments).output_later()
        })
        .collect();
    let codes: Vec<Option<i32>> =
        children.into_iter().map(|child| child.wait_with_output().expect("ended").status.code()).collect();
    let allowed = codes.iter().filter(|code| **code == Some(0)).count();
    let denied = codes.iter().filter(|code| **code == Some(77)).count();
    assert_eq!((allowed, denied), (7, 13), "the seventh opens it and is recorded: {codes:?}");
    let slice = status(&site);
    assert_eq!(slice["total_failed_attempts"], json!({"count": 7, "threshold": 7}));
    assert_eq!(
        (&slice["totals"]["failed"], &slice["totals"]["trips"], &slice["totals"]["refused"]),
        (&json!(7), &json!(1), &json!(13))
    );
    site.assert_verifies();
}

#[test]
fn the_runners_output_decides_and_the_commands_exit_code_is_passed_on() {
    let site = site();
    begin(&site);
    let failed = attempt(&site, "fail.sh", "one");
    assert_eq!(failed.code, Some(1));
    assert!(failed.out.contains("failed: 1 of 3"), "{failed:?}");
    let hidden =
        site.run(&["attempt", "run", "--test", "adds", "--strategy", "two", "--", "sh", "-c", "sh fail.sh || true"]);
    assert_eq!(hidden.code, Some(1), "a zero that hides a failure is none: {hidden:?}");
    assert!(hidden.out.contains("failed: 2 of 3"), "{hidden:?}");
    let other = site.run(&["attempt", "run", "--test", "subtracts", "--strategy", "x", "--", "sh", "fail.sh"]);
    assert!(other.out.contains("infrastructure, not counted"), "a test that is not among those that ran: {other:?}");
    let missing = site.run(&["attempt", "run", "--test", "adds", "--strategy", "x", "--", "./nothing-here"]);
    assert_eq!(missing.code, Some(127));
    assert!(missing.out.contains("infrastructure, not counted"), "{missing:?}");
    let late = site.run(&[
        "attempt",
        "run",
        "--test",
        "adds",
        "--strategy",
        "x",
        "--timeout",
        "1s",
        "--",
        "sh",
        "-c",
        "echo 1..1; exec sleep 600",
    ]);
    assert!(late.out.contains("infrastructure, not counted"), "{late:?}");
    let passed = attempt(&site, "pass.sh", "three");
    assert_eq!(passed.code, Some(0));
    let slice = status(&site);
    let test = slice["tests"]
        .as_array()
        .expect("tests")
        .iter()
        .find(|test| test["test_name"] == "adds")
        .cloned()
        .expect("adds");
    assert_eq!((&test["attempt_count"], &slice["total_failed_attempts"]["count"]), (&json!(0), &json!(2)));
    for field in [
        "slice_id",
        "test_name",
        "attempt_count",
        "files_touched",
        "description",
        "last_error",
        "checkpoint_tag",
        "total_failed_attempts",
    ] {
        assert!(!test[field].is_null(), "the seed's field {field}");
    }
}

#[test]
fn a_junit_file_counts_only_where_this_run_wrote_it() {
    let site = site();
    begin(&site);
    let report = "<testsuite><testcase name=\"adds\"><failure>expected 3</failure></testcase></testsuite>";
    site.file("old.xml", report);
    let run = |script: &str, file: &str| {
        site.run(&["attempt", "run", "--test", "adds", "--strategy", script, "--junit", file, "--", "sh", "-c", script])
    };
    let old = run("exit 1", "old.xml");
    assert!(old.out.contains("not counted"), "{old:?}");
    let new = run(&format!("echo '{report}' > new.xml; exit 1"), "new.xml");
    assert!(new.out.contains("failed: 1 of 3"), "{new:?}");
}

#[test]
fn runner_output_is_stored_verbatim_and_masked_where_it_is_shown() {
    let site = site();
    begin(&site);
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    site.file("fail.sh", &format!("echo 1..1\necho 'not ok 1 - adds'\nprintf '# \\t token {secret}  \\n'\nexit 1\n"));
    for strategy in ["one", "two", "three"] {
        attempt(&site, "fail.sh", strategy);
    }
    let report = site.run(&["attempt", "report"]);
    assert!(report.out.contains("not ok 1 - adds") && !report.out.contains(secret), "{report:?}");
    let filled = report.out.replace("\"\"", "\"because\"");
    let file = site.home().join("report.yaml");
    std::fs::write(&file, &filled).expect("written");
    let paraphrased = filled.replace("not ok 1 - adds", "it did not add");
    let other = site.home().join("other.yaml");
    std::fs::write(&other, paraphrased).expect("written");
    let denied = site.run(&["attempt", "report", "--file", &other.display().to_string()]);
    assert_eq!(denied.code, Some(1));
    assert!(denied.err.contains("actual_error differs from what the test runner printed"), "{denied:?}");
    let filed = site.run(&["attempt", "report", "--file", &file.display().to_string()]);
    assert_eq!(filed.code, Some(0), "{filed:?}");
    assert_eq!(status(&site)["reports_owed"], Value::Null);
    let journal = site.run(&["journal", "export"]);
    assert!(journal.out.contains("attempt/S-1"), "{journal:?}");
    site.assert_verifies();
}

/// The reports that haltline printed, with the fields filled in that only the author knows.
fn filled_in(printed: &str) -> String {
    let fields = ["test_expectation", "best_hypothesis", "specific_question"];
    let fill = |line: &str| match fields.iter().find(|field| line.starts_with(&format!("{field}:"))) {
        Some(field) => format!("{field}: because of reasons"),
        None => line.to_owned(),
    };
    printed.lines().map(fill).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn reports_are_filed_as_they_were_printed_and_a_missing_field_is_named() {
    let site = site();
    begin(&site);
    for test in ["t1", "t2", "t3"] {
        let script = format!("echo 1..1; echo 'not ok 1 - {test}'; exit 3");
        for strategy in ["one", "two"] {
            site.run(&["attempt", "run", "--test", test, "--strategy", strategy, "--", "sh", "-c", &script]);
        }
    }
    site.run(&[
        "attempt",
        "run",
        "--test",
        "t1",
        "--strategy",
        "three",
        "--",
        "sh",
        "-c",
        "echo 1..1; echo 'not ok 1 - t1'; exit 3",
    ]);
    let printed = site.run(&["attempt", "report"]).out;
    assert_eq!(printed.matches("exit code: 3").count(), 3, "S10: {printed}");
    let file = |text: &str| {
        site.file("report.yaml", text);
        site.run(&["attempt", "report", "--file", "report.yaml"])
    };
    let filled = filled_in(&printed);
    let without = filled.lines().filter(|line| !line.starts_with("scope_violations:")).collect::<Vec<_>>().join("\n");
    let rejected = file(&without);
    assert_eq!(
        rejected.code,
        Some(1),
        "a report that is not filed waits for its author, not for a person: {rejected:?}"
    );
    assert!(rejected.err.contains("t2: scope_violations is missing or empty."), "{rejected:?}");
    assert_eq!(status(&site)["reports_owed"].as_array().map(Vec::len), Some(3), "all or none");
    let filed = file(&filled);
    assert_eq!((filed.code, filed.out.as_str()), (Some(0), "Filed 3 reports: t1, t2, t3.\n"), "{filed:?}");
    let unidentified = filled.lines().filter(|line| !line.starts_with("# Diagnostic")).collect::<Vec<_>>().join("\n");
    let rejected = file(&unidentified);
    assert!(rejected.err.contains("does not name its test"), "{rejected:?}");
}

#[test]
fn only_changed_files_are_scope_violations() {
    let site = site();
    site.constraint("rule", "violation_threshold: 5");
    begin(&site);
    for path in ["lib/changed.sh", "lib/untouched.sh"] {
        let form = format!("File: {path}\nFailing test: adds\nReason: it is called\nRelationship: the only caller\n");
        site.file("src/form.txt", &form);
        let justified = site.run(&["attempt", "scope", path, "--justify", "src/form.txt"]);
        assert_eq!(justified.code, Some(0), "{justified:?}");
    }
    site.file("lib/changed.sh", "changed\n");
    // haltline writes the state file of this constraint itself.
    site.record("rule", "git push --force");
    attempt(&site, "fail.sh", "one");
    let report = site.run(&["attempt", "report", "--json"]).json();
    let files: Vec<&Value> = report["reports"][0]["report"]["scope_violations"]["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["file"])
        .collect();
    assert_eq!(files, [&json!("lib/changed.sh")]);
}

#[test]
fn a_run_needs_neither_strategy_nor_test_where_the_runner_names_the_failed_one() {
    let site = site();
    begin(&site);
    let run = |script: &str| site.run(&["attempt", "run", "--", "sh", "-c", script]);
    let failed = run("sh fail.sh");
    assert!(failed.code == Some(1) && failed.out.contains("failed: 1 of 3"), "{failed:?}");
    let attempt = &status(&site)["tests"][0]["attempts"][0];
    assert_eq!((&attempt["strategy"], &attempt["result"]), (&json!("not given"), &json!("fail")));
    let passed = run("sh pass.sh");
    assert!(
        passed.code == Some(0) && passed.out.contains("passed"),
        "a test of the slice that passes counts too: {passed:?}"
    );
    let nothing = run("echo hello");
    assert!(nothing.code == Some(0) && nothing.err.contains("names no failed test"), "{nothing:?}");
    let several = run("echo 1..2; echo 'not ok 1 - one'; echo 'not ok 2 - two'; exit 1");
    assert!(several.code == Some(1) && several.err.contains(r#"--test "one" | --test "two""#), "{several:?}");
    let missing = run("exec no-such-runner");
    assert_eq!(missing.code, Some(127));
    let missing = site.run(&["attempt", "run", "--test", "adds", "--", "no-such-runner"]);
    assert!(missing.out.contains("could not be started: no-such-runner: there is no"), "{missing:?}");
    assert!(!missing.out.contains("HL-ATTEMPT-06"), "no strategy is no repeated strategy: {missing:?}");
}

#[test]
fn only_a_person_resets_and_an_agent_gets_a_message() {
    let site = site();
    begin(&site);
    for strategy in ["one", "two", "three"] {
        attempt(&site, "fail.sh", strategy);
    }
    let inside = [("CLAUDECODE", "1")];
    for arguments in [
        &["attempt", "reset", "--guidance", "go on"][..],
        &["attempt", "rollback"],
        &["attempt", "end", "--give-up"],
        &["attempt", "begin", "--slice", "S-1", "--in-scope", "src/", "lib/", "--reason", "wider"],
    ] {
        let denied = site.run_detached(arguments, &inside);
        assert_eq!(denied.code, Some(77), "{arguments:?}: {denied:?}");
    }
    let ended = site.run_detached(&["attempt", "end"], &inside);
    assert_eq!(ended.code, Some(77), "{ended:?}");
    let empty = site.run_detached(&["attempt", "reset", "--guidance", " "], &[]);
    assert_eq!(empty.code, Some(1), "guidance is required: {empty:?}");
    let reset = site.run_detached(&["attempt", "reset", "--guidance", "add, do not subtract"], &[]);
    assert_eq!(reset.code, Some(0), "{reset:?}");
    assert!(reset.out.contains("<prior_attempts>") && reset.out.contains("add, do not subtract"), "{reset:?}");
    let slice = status(&site);
    assert_eq!(
        (&slice["state"], &slice["total_failed_attempts"]["count"], &slice["prior_tries"]),
        (&json!("CLOSED"), &json!(0), &json!(1))
    );
}

#[test]
fn without_git_everything_but_the_tree_works() {
    let site = Site::new();
    site.file("fail.sh", "echo 1..1\necho 'not ok 1 - adds'\nexit 1\n");
    let begun = site.run(&["attempt", "begin", "--slice", "S-1", "--in-scope", "src/"]);
    assert_eq!(begun.code, Some(0), "{begun:?}");
    assert!(begun.err.contains("haltline made no checkpoint, so you cannot roll back"), "{begun:?}");
    for (strategy, code) in [("one", 1), ("two", 1), ("three", 77)] {
        assert_eq!(attempt(&site, "fail.sh", strategy).code, Some(code));
    }
    site.config("[operator]\nunattended = true\n");
    let reset = site.run_detached(&["attempt", "reset", "--guidance", "think"], &[]);
    assert_eq!(reset.code, Some(0), "{reset:?}");
    assert!(reset.err.contains("Cannot roll back") && reset.out.contains("may still be in it"), "{reset:?}");
}

#[test]
fn work_trees_of_one_project_have_their_own_slices() {
    let site = site();
    git(&site, &["add", "."]);
    git(&site, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "start"]);
    git(&site, &["worktree", "add", "-q", "../second"]);
    begin(&site);
    attempt(&site, "fail.sh", "one");
    let second = site.home().join("second").display().to_string();
    let none = site.run(&["-C", &second, "attempt", "status"]);
    assert_eq!(none.code, Some(0));
    assert!(none.out.contains("No slice is in progress here"), "{none:?}");
    let begun = site.run(&["-C", &second, "attempt", "begin", "--slice", "S-1"]);
    assert_eq!(begun.code, Some(0), "{begun:?}");
    let other = site.run(&["-C", &second, "attempt", "status", "--json"]).json();
    assert_eq!((&other["total_failed_attempts"]["count"], &other["scope"]["lock"]), (&json!(0), &json!("off")));
}

#[test]
fn checkpoints_of_slices_that_ended_long_ago_are_deleted_and_those_in_progress_are_kept() {
    let site = site();
    begin(&site);
    for number in 0..18 {
        let slice = format!("E-{number}");
        let file = format!("e{number}.txt");
        assert_eq!(site.run(&["attempt", "begin", "--slice", &slice, "--in-scope", &file]).code, Some(0));
        assert_eq!(site.run(&["attempt", "end", "--slice", &slice]).code, Some(0));
    }
    let mut command = Command::new("git");
    site.configure(&mut command);
    let refs = command.args(["for-each-ref", "--format=%(refname)", "refs/haltline/attempt/"]).output().expect("git");
    let refs = String::from_utf8_lossy(&refs.stdout).into_owned();
    assert_eq!(refs.lines().count(), 2 * (1 + 16 + 1), "S-1, sixteen that ended, and the newest: {refs}");
    assert!(
        refs.contains("refs/haltline/attempt/main/S-1/begin")
            && site.run_detached(&["attempt", "rollback", "--slice", "S-1"], &[]).code == Some(0)
    );
}

#[test]
fn the_command_in_a_denial_works_from_a_sub_folder() {
    let site = site();
    begin(&site);
    site.file("lib/deep/x.sh", "x\n");
    let folder = site.project().join("lib/deep").display().to_string();
    let denied = site.run(&["-C", &folder, "attempt", "scope", "x.sh"]);
    assert_eq!(denied.code, Some(77));
    assert!(denied.out.contains("lib/deep/x.sh"), "{denied:?}");
    let form = "File: lib/deep/x.sh\nFailing test: adds\nReason: it is sourced\nRelationship: a part of the sum\n";
    let form_file = site.home().join("form.txt");
    std::fs::write(&form_file, form).expect("written");
    let form_file = form_file.display().to_string();
    let allowed = site.run(&["-C", &folder, "attempt", "scope", "lib/deep/x.sh", "--justify", &form_file]);
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    assert_eq!(site.run(&["-C", &folder, "attempt", "scope", "x.sh"]).code, Some(0));
}

#[test]
fn bad_input_names_the_field_and_changes_nothing() {
    let site = site();
    begin(&site);
    for (arguments, message) in [
        (&["attempt", "begin", "--slice", "a/b"][..], "slice \"a/b\": expected a name such as S-12"),
        (&["attempt", "record", "--test", " ", "--result", "fail"], "expected the name the runner reports"),
        (&["attempt", "scope", "lib/x", "--justify", "/no/such/file"], "--justify /no/such/file:"),
        (&["attempt", "deviate", "--rule", "1", "--description", " "], "--description is empty"),
        (&["attempt", "report", "--file", "-"], "no test of slice S-1 fails"),
        (&["attempt", "begin", "--slice", "S-2", "--graph", "nowhere.json"], "nowhere.json"),
        (&["attempt", "rollback", "--to", "refs/heads/main"], "no such checkpoint"),
    ] {
        let answer = site.run_detached(arguments, &[]);
        assert_eq!(answer.code, Some(1), "{arguments:?}: {answer:?}");
        assert!(answer.err.contains(message), "{arguments:?}: {answer:?}");
    }
    assert_eq!(status(&site)["totals"]["failed"], json!(0));
}

/// Starts a command without waiting for it.
trait Later {
    fn output_later(&mut self) -> std::process::Child;
}

impl Later for Command {
    fn output_later(&mut self) -> std::process::Child {
        use std::process::Stdio;
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    }
}
