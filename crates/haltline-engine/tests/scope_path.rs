//! Where a path leads, compared with where the kernel really writes: random trees of folders and links, and random
//! paths into them. What is judged to be at a place must land there, and what lands somewhere must be told.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use haltline_engine::scope_path::{Ground, Landing, PathError};
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

/// What cannot be made because of what is there already is left out: any tree will do.
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

/// A place as a full path; the project is `a`.
fn real(top: &Path, place: &Landing) -> PathBuf {
    match place {
        Landing::Inside(below) if below.is_empty() => top.join("a"),
        Landing::Inside(below) => top.join("a").join(below),
        Landing::Outside(path) => path.clone(),
    }
}

fn by_text(path: &Path) -> PathBuf {
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
    fn a_write_lands_where_it_was_said_to(
        tree in prop::collection::vec(made(), 0..12),
        folder in prop_oneof![Just("a".to_owned()), plain_path()],
        paths in prop::collection::vec((any_path(), any::<bool>()), 1..6),
    ) {
        // The project is `a`; `b` and `c` lie beside it.
        let temporary = tempfile::tempdir().expect("temp folder");
        let top = fs::canonicalize(temporary.path()).expect("exists");
        fs::create_dir(top.join("a")).expect("created");
        tree.iter().for_each(|made| make(&top, made));
        let ground = Ground::of(&top.join("a")).expect("exists");
        let folder = top.join(&folder);
        prop_assume!(folder.is_dir());
        for (path, is_absolute) in &paths {
            let path = if *is_absolute { top.join("a").join(path) } else { PathBuf::from(path) };
            let landings = ground.landings(&folder, &path);
            let full = folder.join(&path);
            // A tool that puts a new file in the place of a link changes the link's own place.
            for reading in [full.clone(), by_text(&full)] {
                let own = replaced(&reading);
                if let (Ok(landings), Some(own)) = (&landings, own) {
                    let mut places = landings.links.iter().chain([&landings.real]);
                    prop_assert!(places.any(|place| real(&top, place) == own), "{} not in {landings:?}", own.display());
                }
            }
            let told = landings.map(|landings| landings.real);
            // The kernel first, then a program that takes `..` from the text.
            let landings = [written(&full), written(&by_text(&full))];
            for landing in landings.iter().flatten() {
                match &told {
                    Ok(told) => {
                        prop_assert_eq!(landing, &real(&top, told));
                        prop_assert_eq!(landing.starts_with(top.join("a")), matches!(told, Landing::Inside(_)));
                    }
                    Err(PathError::Ambiguous { one, other, .. }) => prop_assert!(one != other),
                    // Text alone may make a way out of a loop (`loop/../x`), and still nobody knows who reads it.
                    Err(PathError::TooManyLinks(_)) => prop_assert_eq!(landings[0].as_ref(), None),
                    Err(error) => prop_assert!(false, "{error}"),
                }
            }
            // No false stop: whoever reads the path, it leads to one place, and so that place was told.
            if let [Some(one), Some(other)] = &landings && one == other && fs::canonicalize(&folder).ok() == Some(folder.clone()) {
                prop_assert!(told.is_ok(), "{told:?} for {}", path.display());
            }
        }
    }
}
