//! Progress is plural: wherever something new stays, the loop goes on, and the report says where it was seen.

use crate::place::Place;

const FOUR: &str = "budget after 4 iterations: 4 iterations used up";

/// Four iterations, one more than may pass without progress, each with this sign.
#[track_caller]
fn assert_each_progresses(place: &Place, sign: &str) {
    let outcome = place.run(&["--max-iterations", "4"]);
    outcome.assert(75, FOUR);
    assert_eq!(outcome.judged(), ["progress"; 4], "{outcome:#?}");
    assert_eq!(outcome.signs(), [sign; 4], "{outcome:#?}");
    assert_eq!(outcome.report["course"]["no_progress"]["count"], 0);
    assert_eq!((place.starts(), outcome.report["course"]["finish"].as_str()), (4, Some("budget")));
}

#[test]
fn a_new_file_each_time() {
    assert_each_progresses(&Place::new("file made-{run}.txt new"), "untracked 1 weighs 2");
}

#[test]
fn a_changed_file_each_time() {
    assert_each_progresses(&Place::new("append tracked.txt line {run}"), "unstaged 1 weighs 2");
}

#[test]
fn something_staged_each_time() {
    let place = Place::new("file staged-{run}.txt new\ngit add --all");
    assert_each_progresses(&place, "staged 1 weighs 2");
}

#[test]
fn a_commit_each_time_that_leaves_nothing_behind_in_the_tree() {
    let place = Place::new("file made-{run}.txt new\ncommit step {run}");
    assert_each_progresses(&place, "commits 1 weighs 2");
}

#[test]
fn work_in_a_repository_below() {
    let place = Place::new("in below/library\nappend begun.txt line {run}");
    place.repository("work/below/library");
    assert_each_progresses(&place, "repositories 1 weighs 2");
    let place = Place::new("in below/library\nfile made-{run}.txt new\ncommit step {run}");
    place.repository("work/below/library");
    assert_each_progresses(&place, "repositories 1 weighs 2");
}

#[test]
fn work_in_another_worktree_below() {
    let place = Place::new("in trees/other\nfile made-{run}.txt new");
    place.git("work", &["worktree", "add", "--quiet", "-b", "other", "trees/other"]);
    assert_each_progresses(&place, "worktrees 1 weighs 2");
}

#[test]
fn work_where_there_is_no_git() {
    assert_each_progresses(&Place::without_git("file notes/made-{run}.txt new"), "files 1 weighs 2");
}

#[test]
fn what_is_done_and_undone_for_ever_is_no_progress() {
    let script = "[run 1]\nfile a.txt one\n[run 2]\nfile a.txt two\n[run 3]\nfile a.txt one\n[run 4]\nfile a.txt two\n[run 5]\nremove a.txt";
    let outcome = Place::new(script).run(&["--max-iterations", "9"]);
    outcome.assert(77, "tripped after 5 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!(outcome.judged(), ["progress", "progress", "no_progress", "no_progress", "no_progress"]);
    assert_eq!(outcome.signs()[2..], ["untracked 1 weighs 0"; 3], "it is seen, and weighs nothing");
    assert_eq!(outcome.report["course"]["last"]["undone"], true);
}

#[test]
fn a_change_that_is_gone_at_the_end_of_its_iteration_was_never_there() {
    let outcome = Place::new("file a.txt {now}\nremove a.txt\nshell touch tracked.txt").run(&["--max-iterations", "9"]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!((outcome.judged(), outcome.signs()), (vec!["no_progress"; 3], vec![String::new(); 3]));
}

#[test]
fn empty_commits_and_ignored_files_are_no_progress() {
    let place = Place::new("git commit --quiet --allow-empty --message=step-{run}\nappend noise/log.txt line {run}");
    place.write("work/.gitignore", "noise/\n");
    let outcome = place.run(&["--max-iterations", "9"]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
    let place = Place::new("append noise/log.txt line {run}");
    let outcome = place.run(&["--max-iterations", "9", "--ignore", "noise"]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
}

#[test]
fn what_the_agent_says_of_itself_is_not_enough_alone() {
    let block = "say ---RALPH_STATUS---\nsay STATUS: IN_PROGRESS\nsay FILES_MODIFIED: 7\nsay EXIT_SIGNAL: false\nsay ---END_RALPH_STATUS---";
    let outcome = Place::new(block).run(&["--max-iterations", "9"]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!(outcome.signs(), ["status 7 weighs 1"; 3]);
    let place = Place::new(block).configured("[run.progress]\nstatus = 2\n");
    assert_each_progresses(&place, "status 7 weighs 2");
}

#[test]
fn the_weights_are_shown() {
    let place = Place::new("file made-{run}.txt new");
    place.run(&["--max-iterations", "2"]).assert(75, "budget after 2 iterations: 2 iterations used up");
    let course = place.course();
    assert_eq!((&course["last"]["weight"], &course["last"]["enough"]), (&2.into(), &2.into()), "{course:#}");
    let sign = serde_json::json!([{ "source": "untracked", "count": 1, "weight": 2 }]);
    assert_eq!(course["last"]["signs"], sign, "{course:#}");
    let text = place.ask(&["phase", "status", "--run"]).well().out;
    assert!(text.contains("untracked"), "{text}");
    let status = place.ask(&["status", "--json"]).well().json();
    assert_eq!(status["courses"][0]["last"], course["last"], "{status:#}");
    let text = place.ask(&["status"]).well().out;
    assert!(text.contains("2 iterations"), "{text}");
}

#[test]
fn every_iteration_gets_its_input_and_leaves_what_it_said() {
    let place =
        Place::new("read\nfile made-{run}.txt new\nsay the key is sk-ant-api03-aaaabbbbccccddddeeeeffff00001111");
    place.write("task.md", "do the next task\n");
    let mut runner = place.agent(&["--loop", "--max-iterations", "5"]);
    runner.stdin(std::fs::File::open(place.path("task.md")).expect("there"));
    let outcome = place.begin(runner).finish();
    outcome.assert(75, "budget after 5 iterations: 5 iterations used up");
    assert_eq!(outcome.out.matches("read: do the next task\n").count(), 5, "{}", outcome.out);
    let kept: Vec<bool> = outcome
        .rounds()
        .iter()
        .map(|round| {
            let said = std::fs::read_to_string(round["output"].as_str().expect("named")).unwrap_or_default();
            assert!(!said.contains("aaaabbbbcccc"), "secrets are not kept: {said}");
            said.contains("do the next task")
        })
        .collect();
    assert_eq!(kept, [false, false, true, true, true], "the newest three are kept");
}
