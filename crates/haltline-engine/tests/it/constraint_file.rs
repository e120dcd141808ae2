//! Tests of `constraint_file.rs`.

use haltline_core::constraint::{Limits, Rule};
use haltline_core::{ConstraintId, Instant};
use haltline_engine::constraint_file::{ConstraintFile, active_ids, find, read_front_matter};
use std::fs;
use std::path::Path;

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("below root")).expect("created");
    fs::write(path, content).expect("written");
}

fn id(text: &str) -> ConstraintId {
    ConstraintId::parse(text).expect("valid")
}

fn lookup(root: &Path, name: &str) -> Option<ConstraintFile> {
    find(root, "docs/constraints", &id(name), None, &Limits::default())
}

#[test]
fn the_seeds_example_is_read() {
    let folder = tempfile::tempdir().expect("temp folder");
    let text = "---\nid: git-safety-force-push\nseverity: CRITICAL\ncreated: 2026-01-01\ncircuit_breaker:\n  violation_threshold: 3   # More sensitive\n  window_days: 14\n  cooldown_hours: 48\n  dedup_seconds: 600\nguards:\n  - tool: Bash\n    command: \"git push*--force*\"\n---\n# Body\n";
    write(folder.path(), "docs/constraints/active/git-safety-force-push.md", text);
    let file = lookup(folder.path(), "git-safety-force-push").expect("found");
    let limits = Limits { violation_threshold: 3, window_days: 14, cooldown_hours: 48, dedup_seconds: 600 };
    assert_eq!(file.seen.rule.limits, limits);
    assert_eq!(file.seen.rule.guards[0].command.as_deref(), Some("git push*--force*"));
    assert_eq!((file.is_active, file.severity.as_deref()), (true, Some("CRITICAL")));
    assert_eq!(file.seen.source.path, "docs/constraints/active/git-safety-force-push.md");
    assert_eq!(file.seen.created.map(Instant::to_date_text), Some("2026-01-01".to_owned()));
    assert_eq!(file.problems, Vec::<String>::new());
}

#[test]
fn a_file_in_any_sub_folder_is_found_and_an_active_one_is_preferred() {
    let folder = tempfile::tempdir().expect("temp folder");
    write(folder.path(), "docs/constraints/retired/a.md", "---\nid: a\n---\n");
    assert!(!lookup(folder.path(), "a").expect("found").is_active);
    write(folder.path(), "docs/constraints/team/git/a.md", "---\nid: a\n---\n");
    assert!(lookup(folder.path(), "a").expect("found").is_active);
    write(folder.path(), "docs/constraints/b.md", "---\nstatus: Draft\n---\n");
    assert!(!lookup(folder.path(), "b").expect("found").is_active);
    write(folder.path(), "docs/constraints/c.md", "---\nstatus: retiring\n---\n");
    write(folder.path(), "docs/constraints/README.md", "notes\n");
    assert_eq!(lookup(folder.path(), "missing"), None);
    let ids = active_ids(folder.path(), "docs/constraints", &Limits::default());
    assert_eq!(ids, vec![id("a"), id("c")]);
}

#[test]
fn unreadable_values_keep_the_default_and_are_reported() {
    for (yaml, threshold, named) in [
        ("circuit_breaker:\n  violation_threshold: three\n", 5, "expected a whole number"),
        ("circuit_breaker:\n  violation_threshold: 0\n", 5, "from 1 to 10000"),
        ("circuit_breaker:\n  treshold: 2\n", 5, "unknown key"),
        ("circuit_breaker: [1, 2\n", 5, "cannot be read"),
        ("circuit_breaker:\n  violation_threshold: 2\n  window_days: -1\n", 2, "window_days = -1"),
    ] {
        let (rule, problems) = read_front_matter(format!("---\n{yaml}---\nbody").as_bytes());
        assert_eq!(rule.limits.violation_threshold, threshold, "{yaml:?}");
        assert!(problems.len() == 1 && problems[0].contains(named), "{yaml:?} gave {problems:?}");
        assert!(!problems[0].contains('\n'));
    }
    let bomb = "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ncircuit_breaker: {x: *d}\n---\n";
    assert_eq!(read_front_matter(bomb.as_bytes()).0, Rule::default());
    assert_eq!(read_front_matter(b"no front matter").1, Vec::<String>::new());
    assert_eq!(read_front_matter(b"---\nnever closed\n").1, Vec::<String>::new());
}
