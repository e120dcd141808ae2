//! Progress has many sources: the loop continues when any of them shows new work, and the report names the source.

use crate::run_loop::site::Site;

const FOUR: &str = "budget after 4 iterations: reached --max-iterations 4";

/// Runs four iterations, one more than may pass without progress, and fails unless each has this sign.
#[track_caller]
fn assert_each_progresses(site: &Site, sign: &str) {
    let outcome = site.run(&["--max-iterations", "4"]);
    outcome.assert(75, FOUR);
    assert_eq!(outcome.judged(), ["progress"; 4], "{outcome:#?}");
    assert_eq!(outcome.signs(), [sign; 4], "{outcome:#?}");
    assert_eq!(outcome.report["course"]["no_progress"]["count"], 0);
    assert_eq!((site.starts(), outcome.report["course"]["finish"].as_str()), (4, Some("budget")));
}

#[test]
fn a_new_file_each_time() {
    assert_each_progresses(&Site::new("file made-{run}.txt new"), "untracked 1 weighs 2");
}

#[test]
fn a_changed_file_each_time() {
    assert_each_progresses(&Site::new("append tracked.txt line {run}"), "unstaged 1 weighs 2");
}

#[test]
fn something_staged_each_time() {
    let site = Site::new("file staged-{run}.txt new\ngit add --all");
    assert_each_progresses(&site, "staged 1 weighs 2");
}

#[test]
fn a_commit_each_time_that_leaves_nothing_behind_in_the_tree() {
    let site = Site::new("file made-{run}.txt new\ncommit step {run}");
    assert_each_progresses(&site, "commits 1 weighs 2");
}

#[test]
fn work_in_a_repository_below() {
    let site = Site::new("in below/library\nappend begun.txt line {run}");
    site.repository("work/below/library");
    assert_each_progresses(&site, "repositories 1 weighs 2");
    let site = Site::new("in below/library\nfile made-{run}.txt new\ncommit step {run}");
    site.repository("work/below/library");
    assert_each_progresses(&site, "repositories 1 weighs 2");
}

#[test]
fn work_in_another_worktree_below() {
    let site = Site::new("in trees/other\nfile made-{run}.txt new");
    site.git("work", &["worktree", "add", "--quiet", "-b", "other", "trees/other"]);
    assert_each_progresses(&site, "worktrees 1 weighs 2");
}

#[test]
fn work_where_there_is_no_git() {
    assert_each_progresses(&Site::without_git("file notes/made-{run}.txt new"), "files 1 weighs 2");
}

#[test]
fn work_that_is_done_and_undone_is_not_progress() {
    let script = "[run 1]\nfile a.txt one\n[run 2]\nfile a.txt two\n[run 3]\nfile a.txt one\n[run 4]\nfile a.txt two\n[run 5]\nremove a.txt";
    let outcome = Site::new(script).run(&["--max-iterations", "9"]);
    outcome.assert(77, "tripped after 5 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!(outcome.judged(), ["progress", "progress", "no_progress", "no_progress", "no_progress"]);
    assert_eq!(outcome.signs()[2..], ["untracked 1 weighs 0"; 3], "it is seen, and weighs nothing");
    assert_eq!(outcome.report["course"]["last"]["undone"], true);
}

#[test]
fn a_change_that_is_gone_at_the_end_of_its_iteration_was_never_there() {
    let outcome = Site::new("file a.txt {now}\nremove a.txt\nshell touch tracked.txt").run(&["--max-iterations", "9"]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!((outcome.judged(), outcome.signs()), (vec!["no_progress"; 3], vec![String::new(); 3]));
}

#[test]
fn empty_commits_and_ignored_files_are_no_progress() {
    let site = Site::new("git commit --quiet --allow-empty --message=step-{run}\nappend noise/log.txt line {run}");
    site.write("work/.gitignore", "noise/\n");
    let outcome = site.run(&["--max-iterations", "9"]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
    let site = Site::new("append noise/log.txt line {run}");
    let outcome = site.run(&["--max-iterations", "9", "--ignore", "noise"]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
}

#[test]
fn a_status_by_the_agent_alone_is_not_enough() {
    let block = "say ---RALPH_STATUS---\nsay STATUS: IN_PROGRESS\nsay FILES_MODIFIED: 7\nsay EXIT_SIGNAL: false\nsay ---END_RALPH_STATUS---";
    let outcome = Site::new(block).run(&["--max-iterations", "9"]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!(outcome.signs(), ["status 7 weighs 1"; 3]);
    let site = Site::new(block).configured("[run.progress]\nstatus = 2\n");
    assert_each_progresses(&site, "status 7 weighs 2");
}

#[test]
fn the_weights_are_shown() {
    let site = Site::new("file made-{run}.txt new");
    site.run(&["--max-iterations", "2"]).assert(75, "budget after 2 iterations: reached --max-iterations 2");
    let phase_run = site.phase_run();
    assert_eq!((&phase_run["last"]["weight"], &phase_run["last"]["enough"]), (&2.into(), &2.into()), "{phase_run:#}");
    let sign = serde_json::json!([{ "source": "untracked", "count": 1, "weight": 2 }]);
    assert_eq!(phase_run["last"]["signs"], sign, "{phase_run:#}");
    let text = site.ask(&["phase", "status", "--run"]).well().out;
    assert!(text.contains("untracked"), "{text}");
    let status = site.ask(&["status", "--json"]).well().json();
    assert_eq!(status["courses"][0]["last"], phase_run["last"], "{status:#}");
    let text = site.ask(&["status"]).well().out;
    assert!(text.contains("2 iterations"), "{text}");
}

#[test]
fn every_iteration_gets_its_input_and_keeps_its_output() {
    let site = Site::new("read\nfile made-{run}.txt new\nsay the key is sk-ant-api03-aaaabbbbccccddddeeeeffff00001111");
    site.write("task.md", "do the next task\n");
    let mut runner = site.agent(&["--loop", "--max-iterations", "5"]);
    runner.stdin(std::fs::File::open(site.path("task.md")).expect("there"));
    let outcome = site.begin(runner).finish();
    outcome.assert(75, "budget after 5 iterations: reached --max-iterations 5");
    assert_eq!(outcome.out.matches("read: do the next task\n").count(), 5, "{}", outcome.out);
    let kept: Vec<bool> = outcome
        .iterations()
        .iter()
        .map(|iteration| {
            let output = std::fs::read_to_string(iteration["output"].as_str().expect("named")).unwrap_or_default();
            assert!(!output.contains("aaaabbbbcccc"), "secrets are not kept: {output}");
            output.contains("do the next task")
        })
        .collect();
    assert_eq!(kept, [false, false, true, true, true], "the newest three are kept");
}
