//! Tests of `scope_path.rs`.

use haltline_core::attempt::{CaseSensitivity, Covered, Entry, Scope, Source};
use haltline_engine::scope_path::{PathError, ProjectRoot, ResolvedPath, ResolvedPaths};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

struct Site {
    _folder: tempfile::TempDir,
    top: PathBuf,
    project_root: ProjectRoot,
}

fn site() -> Site {
    let folder = tempfile::tempdir().expect("temp folder");
    let top = fs::canonicalize(folder.path()).expect("exists");
    for path in ["project/src/users", "project/shared", "elsewhere/deep"] {
        fs::create_dir_all(top.join(path)).expect("created");
    }
    let project_root = ProjectRoot::open(&top.join("project")).expect("exists");
    Site { _folder: folder, top, project_root }
}

impl Site {
    fn link(&self, at: &str, target: impl AsRef<Path>) {
        symlink(target, self.top.join("project").join(at)).expect("linked");
    }

    fn resolve(&self, path: &str) -> Result<ResolvedPath, PathError> {
        Ok(self.project_root.resolve(&self.top.join("project"), Path::new(path))?.real)
    }

    fn inside(&self, path: &str) -> String {
        match self.resolve(path).expect("it can be told") {
            ResolvedPath::Inside(path) => path,
            ResolvedPath::Outside(path) => panic!("{} is outside", path.display()),
        }
    }

    fn outside(&self, path: &str) -> PathBuf {
        match self.resolve(path).expect("it can be told") {
            ResolvedPath::Inside(path) => panic!("{path} is inside"),
            ResolvedPath::Outside(path) => path.strip_prefix(&self.top).unwrap_or(&path).to_owned(),
        }
    }
}

#[test]
fn one_file_has_one_path_however_it_is_spelled() {
    let site = site();
    let absolute = site.top.join("project/src/users/a.ts");
    let absolute = absolute.to_str().expect("text");
    for path in [
        "src/users/a.ts",
        "./src//users/./a.ts",
        "src/users/../users/a.ts",
        "new/../src/users/a.ts",
        "../project/src/users/a.ts",
        absolute,
    ] {
        assert_eq!(site.inside(path), "src/users/a.ts", "{path}");
    }
    let below = site.project_root.resolve(&site.top.join("project/src"), Path::new("../shared/x")).expect("told");
    assert_eq!(below, ResolvedPaths { real: ResolvedPath::Inside("shared/x".to_owned()), links: Vec::new() });
    assert_eq!(site.inside("."), "");
    assert_eq!(site.inside("src\\users"), "src\\users");
    assert_eq!(site.inside("not/there/yet.rs"), "not/there/yet.rs");
}

#[test]
fn a_path_that_leaves_the_root_is_outside_even_if_the_names_share_a_prefix() {
    let site = site();
    assert_eq!(site.outside("../elsewhere/x"), Path::new("elsewhere/x"));
    assert_eq!(site.outside("src/../../project2/x"), Path::new("project2/x"));
    assert_eq!(site.outside("/"), Path::new("/"));
    assert_eq!(site.outside("../../../../../../../../../../etc/x"), Path::new("/etc/x"));
}

#[test]
fn links_are_followed_to_the_written_file_even_if_it_does_not_exist_yet() {
    let site = site();
    site.link("src/users/folder", "../../../elsewhere");
    site.link("src/users/dangling.ts", "../../shared/new.ts");
    site.link("src/users/chain", "dangling.ts");
    site.link("src/users/back", "../../../elsewhere/../project/shared");
    site.link("absolute", site.top.join("elsewhere/deep"));
    assert_eq!(site.outside("src/users/folder/x.ts"), Path::new("elsewhere/x.ts"));
    assert_eq!(site.outside("src/users/folder/not/there"), Path::new("elsewhere/not/there"));
    assert_eq!(site.inside("src/users/dangling.ts"), "shared/new.ts");
    assert_eq!(site.inside("src/users/chain"), "shared/new.ts");
    assert_eq!(site.inside("src/users/back/x"), "shared/x");
    assert_eq!(site.outside("absolute"), Path::new("elsewhere/deep"));
}

#[test]
fn a_final_link_and_everything_it_leads_to_must_be_in_scope() {
    let site = site();
    site.link("src/users/out.ts", "../../shared/x.ts");
    site.link("shared/in.ts", "../src/users/x.ts");
    site.link("src/users/hop.ts", "../../shared/in.ts");
    site.link("src/users/alias.ts", "x.ts");
    site.link("mirror", "src/users");
    let inside = |path: &str| ResolvedPath::Inside(path.to_owned());
    let entry = Entry::parse("src/users/", Source::Given).expect("a path");
    let scope = Scope::explicit(vec![entry.clone()], None);
    for (path, expected) in [
        ("src/users/out.ts", (Covered::Outside, inside("shared/x.ts"))),
        ("shared/in.ts", (Covered::Outside, inside("shared/in.ts"))),
        ("src/users/hop.ts", (Covered::Outside, inside("shared/in.ts"))),
        ("src/users/alias.ts", (Covered::By(&entry), inside("src/users/x.ts"))),
        ("mirror/x.ts", (Covered::By(&entry), inside("src/users/x.ts"))),
    ] {
        let resolved = site.project_root.resolve(&site.top.join("project"), Path::new(path)).expect("told");
        let (covered, path_checked) = site.project_root.check_scope(&scope, &resolved);
        assert_eq!((covered, path_checked), (expected.0, &expected.1), "{path}");
    }
    let away = ResolvedPaths { real: ResolvedPath::Outside(PathBuf::from("/x")), links: Vec::new() };
    assert_eq!(site.project_root.check_scope(&Scope::inferred(Vec::new(), None), &away).0, Covered::LockOff);
    let everything = Scope::explicit(vec![Entry::parse(".", Source::Given).expect("a path")], None);
    assert_eq!(site.project_root.check_scope(&everything, &away).0, Covered::Outside);
}

#[test]
fn a_project_reached_through_a_link_is_the_same_project() {
    let site = site();
    symlink(site.top.join("project"), site.top.join("short")).expect("linked");
    let folder = site.top.join("short/src");
    for path in ["users/a.ts", "./users/a.ts", "../src/users/a.ts"] {
        let resolved = site.project_root.resolve(&folder, Path::new(path)).expect("told").real;
        assert_eq!(resolved, ResolvedPath::Inside("src/users/a.ts".to_owned()), "{path}");
    }
    assert_eq!(ProjectRoot::open(&site.top.join("short")).expect("exists"), site.project_root);
}

#[test]
fn every_link_at_the_end_of_any_reading_counts() {
    let site = site();
    site.link("src/users/away", "../../shared");
    site.link("one.ts", "src/users/x.ts");
    site.link("src/users/one.ts", "x.ts");
    // To the kernel this ends at `one.ts` at the top of the project; textually it ends at `src/users/one.ts`.
    let resolved = site.project_root.resolve(&site.top.join("project"), Path::new("src/users/away/../one.ts"));
    let resolved = resolved.expect("told");
    let inside = |path: &str| ResolvedPath::Inside(path.to_owned());
    assert_eq!(
        resolved,
        ResolvedPaths { real: inside("src/users/x.ts"), links: vec![inside("one.ts"), inside("src/users/one.ts")] }
    );
}

#[test]
fn link_loops_end_and_ambiguous_paths_are_rejected() {
    let site = site();
    site.link("one", "two");
    site.link("two", "one");
    site.link("self", "self/deeper");
    site.link("src/users/out", site.top.join("elsewhere/deep"));
    assert!(matches!(site.resolve("one/x"), Err(PathError::TooManyLinks(_))));
    assert!(matches!(site.resolve("self"), Err(PathError::TooManyLinks(_))));
    assert!(matches!(site.resolve("src/users/out/../a.ts"), Err(PathError::Ambiguous { .. })));
    assert!(matches!(site.resolve(" /etc/passwd"), Err(PathError::Ambiguous { .. })));
    assert!(matches!(site.resolve("~/x"), Err(PathError::Expandable(_))));
    assert!(matches!(site.resolve("~root/x"), Err(PathError::Expandable(_))));
    assert!(matches!(site.resolve("file:///etc/passwd"), Err(PathError::Expandable(_))));
    assert!(matches!(site.resolve(""), Err(PathError::Empty)));
    assert!(matches!(site.resolve("a\0b"), Err(PathError::Unwritable)));
    assert!(matches!(site.resolve(&"a".repeat(300)), Err(PathError::Unwritable)));
    assert!(matches!(site.resolve(&"a/".repeat(3000)), Err(PathError::Unwritable)));
    fs::write(site.top.join("project/~notes"), "").expect("written");
    assert_eq!(site.inside("~notes"), "~notes");
    assert_eq!(site.inside("src/~/x"), "src/~/x");
}

#[test]
fn paths_in_proc_are_never_inside_the_project() {
    let site = site();
    site.link("src/users/me", "/proc/self/cwd");
    assert_eq!(site.outside("/proc/self/cwd/src/users/a.ts"), Path::new("/proc/self/cwd/src/users/a.ts"));
    assert_eq!(site.outside("src/users/me/x"), Path::new("/proc/self/cwd/x"));
    let under = format!("/proc/self/root{}", site.top.join("project/src/x").display());
    assert!(matches!(site.resolve(&under), Ok(ResolvedPath::Outside(_))));
}

#[test]
fn case_sensitivity_is_detected_on_this_file_system() {
    let site = site();
    let is_alike = site.top.join("PROJECT").exists();
    assert_eq!(
        site.project_root.case_sensitivity,
        if is_alike { CaseSensitivity::Insensitive } else { CaseSensitivity::Sensitive }
    );
    fs::create_dir(site.top.join("project/Src")).or_else(|_| fs::create_dir(site.top.join("project/x"))).ok();
    assert_eq!(
        ProjectRoot::open(&site.top.join("project")).expect("exists").case_sensitivity,
        site.project_root.case_sensitivity
    );
}
