//! Tests of `file.rs`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use haltline_core::Instant;
use haltline_engine::file::{
    Access, Durability, Links, append_regular, open_lock_file, open_regular, read_regular, reject_linked_folder,
    replace_file, set_aside, set_aside_files, with_suffix, write_atomically, write_privately,
};

#[test]
fn a_file_is_replaced_whole_and_leaves_no_other_file() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("state.json");
    for content in ["one", "two"] {
        write_atomically(&path, content.as_bytes(), Durability::Synced).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("read"), content);
    }
    assert_eq!(fs::read_dir(folder.path()).expect("list").count(), 1);
    assert!(write_atomically(&folder.path().join("missing/state.json"), b"x", Durability::Rebuildable).is_err());
}

#[test]
fn a_private_file_is_never_readable_by_others() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("texts.json");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    write_privately(&path, b"secret", Durability::Rebuildable).expect("written");
    assert_eq!((mode(&path), fs::read(&path).expect("read")), (0o600, b"secret".to_vec()));
    // The old file may be open to everybody: its mode is not taken over.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("permitted");
    write_privately(&path, b"another", Durability::Synced).expect("written");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(fs::read_dir(folder.path()).expect("list").count(), 1);
}

#[test]
fn a_link_under_a_temporary_name_is_replaced_and_what_it_names_is_kept() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (path, temporary, precious) =
        (folder.path().join("state.json"), folder.path().join("fixed.tmp"), folder.path().join("precious"));
    fs::write(&precious, "precious").expect("written");
    std::os::unix::fs::symlink(&precious, &temporary).expect("linked");
    replace_file(&path, &temporary, Access::Umask, Durability::Rebuildable, |file| file.write_all(b"new"))
        .expect("written");
    std::os::unix::fs::symlink(&precious, with_suffix(&path, ".tmp")).expect("linked");
    write_atomically(&path, b"newer", Durability::Rebuildable).expect("written");
    assert_eq!(fs::read_to_string(&precious).expect("there"), "precious");
    assert!(fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()));
}

#[test]
fn a_file_that_is_a_link_is_replaced_and_not_written_through() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (path, precious) = (folder.path().join("state.json"), folder.path().join("precious"));
    fs::write(&precious, "precious").expect("written");
    std::os::unix::fs::symlink(&precious, &path).expect("linked");
    assert!(append_regular(&path).is_err() && open_lock_file(&path).is_err() && open_regular(&path).is_err());
    assert_eq!(read_regular(&path, 100, Links::Follow).expect("followed"), b"precious");
    write_atomically(&path, b"new", Durability::Rebuildable).expect("written");
    assert_eq!(fs::read_to_string(&precious).expect("there"), "precious");
}

#[test]
fn pipes_devices_folders_and_long_files_are_errors_at_once() {
    let folder = tempfile::tempdir().expect("temp folder");
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).expect("made");
    let long = folder.path().join("long");
    File::create(&long).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
    for path in [pipe.as_path(), &long, folder.path(), Path::new("/dev/zero")] {
        for links in [Links::Reject, Links::Follow] {
            assert!(read_regular(path, 1000, links).is_err(), "{}", path.display());
        }
    }
    assert!(append_regular(&pipe).is_err() && open_lock_file(&pipe).is_err());
}

#[test]
fn a_folder_behind_a_link_is_rejected() {
    let folder = tempfile::tempdir().expect("temp folder");
    let root = folder.path().join("project");
    fs::create_dir_all(root.join("docs")).expect("made");
    std::os::unix::fs::symlink(folder.path(), root.join("docs/constraints")).expect("linked");
    assert!(reject_linked_folder(&root, &root.join("docs")).is_ok());
    assert!(reject_linked_folder(&root, &root.join("missing/folder")).is_ok());
    assert!(reject_linked_folder(&root, &root.join("docs/constraints/below")).is_err());
}

#[test]
fn abandoned_temporary_files_are_removed_and_new_ones_are_not() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("state.json");
    let (old, new, other) =
        ("state.json.0123456789abcdef.tmp", "state.json.fedcba9876543210.tmp", "state.json.notes.tmp");
    for name in [old, new, other] {
        fs::write(folder.path().join(name), "x").expect("written");
    }
    let hour_ago =
        fs::metadata(folder.path()).and_then(|found| found.modified()).expect("a time") - Duration::from_secs(3600);
    File::options()
        .write(true)
        .open(folder.path().join(old))
        .and_then(|file| file.set_modified(hour_ago))
        .expect("set");
    for _ in 0..200 {
        write_atomically(&path, b"x", Durability::Rebuildable).expect("written");
    }
    let left = |name: &str| folder.path().join(name).exists();
    assert_eq!((left(old), left(new), left(other)), (false, true, true));
}

#[test]
fn a_failed_write_leaves_the_old_content_and_no_other_file() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("state.json");
    fs::write(&path, "old").expect("written");
    let temporary = with_suffix(&path, ".tmp");
    let failed = replace_file(&path, &temporary, Access::Umask, Durability::Synced, |file| {
        file.write_all(b"half")?;
        Err(io::Error::other("no space"))
    });
    assert_eq!(failed.map_err(|error| error.to_string()), Err("no space".to_owned()));
    assert_eq!(fs::read_to_string(&path).expect("read"), "old");
    assert_eq!(fs::read_dir(folder.path()).expect("list").count(), 1);
}

#[test]
fn damaged_files_are_kept_but_not_without_end() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("state.json");
    for _ in 0..8 {
        fs::write(&path, "damaged").expect("written");
        set_aside(&path, Instant::from_millis(0), 3).expect("moved");
    }
    assert!(!path.exists());
    assert_eq!(set_aside_files(folder.path(), "state.json.corrupt-").len(), 3);
}
