//! Compares resolved paths with where the kernel really writes: random trees of folders and links, and random paths
//! into them. A write must change the path that was resolved, and a path that can be written must be resolved.

mod written_path;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use haltline_engine::scope_path::{PathError, ProjectRoot, ResolvedPath};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Made {
    Folder(String),
    File(String),
    Link { at: String, target: String, is_absolute: bool },
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c"])
}

fn plain_path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

fn any_path() -> impl Strategy<Value = String> {
    let part = prop_oneof![6 => name(), 2 => Just(".."), 1 => Just(".")];
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.join("/"))
}

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![
        2 => plain_path().prop_map(Made::Folder),
        1 => plain_path().prop_map(Made::File),
        3 => (plain_path(), any_path(), any::<bool>())
            .prop_map(|(at, target, is_absolute)| Made::Link { at, target, is_absolute }),
    ]
}

/// Ignores what cannot be created because something else is in the way: any tree will do.
fn make(top: &Path, made: &Made) {
    let parent = |path: &str| top.join(path).parent().map(fs::create_dir_all);
    match made {
        Made::Folder(path) => drop(fs::create_dir_all(top.join(path))),
        Made::File(path) => drop((parent(path), fs::write(top.join(path), "old"))),
        Made::Link { at, target, is_absolute } => {
            let target = if *is_absolute { top.join(target) } else { PathBuf::from(target) };
            drop((parent(at), symlink(target, top.join(at))));
        }
    }
}

/// Where the kernel writes, if it does.
fn written(path: &Path) -> Option<PathBuf> {
    OpenOptions::new().append(true).create(true).open(path).ok()?;
    fs::canonicalize(path).ok()
}

/// Which name a rename to this path would replace.
fn replaced(path: &Path) -> Option<PathBuf> {
    Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?))
}

/// A resolved path as an absolute one; the project is `a`.
fn real(top: &Path, resolved: &ResolvedPath) -> PathBuf {
    match resolved {
        ResolvedPath::Inside(below) if below.is_empty() => top.join("a"),
        ResolvedPath::Inside(below) => top.join("a").join(below),
        ResolvedPath::Outside(path) => path.clone(),
    }
}

fn normalize_lexically(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
        plain
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_write_changes_the_path_that_was_resolved(
        tree in prop::collection::vec(made(), 0..12),
        folder in prop_oneof![Just("a".to_owned()), plain_path()],
        paths in prop::collection::vec((any_path(), any::<bool>()), 1..6),
    ) {
        // The project is `a`; `b` and `c` are beside it.
        let temporary = tempfile::tempdir().expect("temp folder");
        // Deep enough that no path with `..` leaves the temporary folder.
        let top = fs::canonicalize(temporary.path()).expect("exists").join("1/2/3/4/5/6/7/8/9/10/11/12");
        fs::create_dir_all(top.join("a")).expect("created");
        tree.iter().for_each(|made| make(&top, made));
        let project_root = ProjectRoot::open(&top.join("a")).expect("exists");
        let folder = top.join(&folder);
        prop_assume!(folder.is_dir());
        for (path, is_absolute) in &paths {
            let path = if *is_absolute { top.join("a").join(path) } else { PathBuf::from(path) };
            let resolved = project_root.resolve(&folder, &path);
            let full = folder.join(&path);
            // A tool that replaces a link by a new file changes the link's own path.
            for reading in [full.clone(), normalize_lexically(&full)] {
                let own = replaced(&reading);
                if let (Ok(resolved), Some(own)) = (&resolved, own) {
                    let mut paths = resolved.links.iter().chain([&resolved.real]);
                    prop_assert!(paths.any(|path| real(&top, path) == own), "{} not in {resolved:?}", own.display());
                }
            }
            let resolved_real = resolved.map(|resolved| resolved.real);
            // First the kernel, then a program that resolves `..` textually.
            let written_paths = [written(&full), written(&normalize_lexically(&full))];
            for written_path in written_paths.iter().flatten() {
                match &resolved_real {
                    Ok(resolved_real) => {
                        prop_assert_eq!(written_path, &real(&top, resolved_real));
                        prop_assert_eq!(written_path.starts_with(top.join("a")), matches!(resolved_real, ResolvedPath::Inside(_)));
                    }
                    Err(PathError::Ambiguous { one, other, .. }) => prop_assert!(one != other),
                    // One reader may find a way around a link loop (`loop/../x`), but the reader is unknown.
                    Err(PathError::TooManyLinks(_)) => prop_assert!(written_paths.iter().any(Option::is_none)),
                    Err(error) => prop_assert!(false, "{error}"),
                }
            }
            // No false denial: if every program reads the path as the same file, it must have been resolved.
            if let [Some(one), Some(other)] = &written_paths && one == other && fs::canonicalize(&folder).ok() == Some(folder.clone()) {
                prop_assert!(resolved_real.is_ok(), "{resolved_real:?} for {}", path.display());
            }
        }
    }
}
