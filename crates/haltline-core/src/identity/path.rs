//! Normalizes paths by their text alone. Never checks whether a file exists.

use std::borrow::Cow;

/// Returns whether a JSON member of this name holds a path.
pub(super) fn is_path_field(name: &str) -> bool {
    matches!(
        name,
        "file_path"
            | "filePath"
            | "filepath"
            | "path"
            | "paths"
            | "notebook_path"
            | "notebookPath"
            | "file"
            | "files"
            | "filename"
            | "file_name"
            | "fileName"
            | "absolute_path"
            | "absolutePath"
            | "relative_workspace_path"
            | "target_file"
            | "targetFile"
            | "target_directory"
            | "dir"
            | "dir_path"
            | "dirPath"
            | "directory"
            | "folder"
            | "cwd"
            | "workdir"
            | "working_directory"
            | "workingDirectory"
            | "root"
    )
}

/// True for the name of a file that a running program writes: a log, a report of its state.
pub(super) fn is_log(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let name = word.rsplit('/').next().unwrap_or(&word);
    ["log", "out", "status", "progress", "pid", "result", "report", ".err", "trace"]
        .iter()
        .any(|part| name.contains(part))
        || ["/proc/", "/sys/", "/var/", "/tmp/", "/dev/"].iter().any(|root| word.starts_with(root))
}

/// Returns whether a text can be a path at all.
pub(super) fn is_path(text: &str) -> bool {
    !text.is_empty() && text.len() < 4096 && !text.contains('\n') && !text.contains("://")
}

/// Returns the path without `.` and `..`, prefixed with `folder` if it is relative.
pub(super) fn resolved(path: &str, folder: Option<&str>) -> String {
    let is_absolute = |path: &str| path.starts_with(['/', '~', '$']) || path.as_bytes().get(1) == Some(&b':');
    let whole: Cow<'_, str> = match folder {
        Some(folder) if !is_absolute(path) => Cow::Owned(format!("{folder}/{path}")),
        Some(_) | None => Cow::Borrowed(path),
    };
    let is_rooted = whole.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for component in whole.split('/') {
        match component {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            ".." if is_rooted => {}
            component => kept.push(component),
        }
    }
    let joined = kept.join("/");
    match (is_rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// Returns the path as a person would write it: relative to `folder` if it lies below it.
pub(super) fn shown(path: &str, folder: Option<&str>) -> String {
    let whole = resolved(path, folder);
    let below = folder.and_then(|folder| whole.strip_prefix(&resolved(folder, None))?.strip_prefix('/'));
    below.filter(|below| !below.is_empty()).unwrap_or(&whole).to_owned()
}
