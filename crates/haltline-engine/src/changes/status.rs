//! Parses `git status --porcelain=v2 -z --branch`. Accepts any bytes and skips what it does not understand.

use super::blob::Blob;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status<'a> {
    /// The checked-out commit, if there is one yet.
    pub(super) head: Option<String>,
    /// The paths that differ from it, in git's order.
    pub(super) entries: Vec<Entry<'a>>,
}

/// A path that differs from the commit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) path: &'a [u8],
    /// What the commit has there, if git says so.
    pub(super) committed: Option<Blob>,
    /// Mode and id in the index, if they differ from the commit.
    pub(super) staged: Option<String>,
    /// The work tree differs from the index.
    pub(super) is_unstaged: bool,
    pub(super) is_untracked: bool,
}

/// The arguments of the call. Submodules have their own entries in the snapshot, so git need not look inside them.
pub(super) fn arguments(has_untracked: bool) -> [&'static str; 8] {
    [
        "status",
        "--porcelain=v2",
        "-z",
        "--branch",
        "--no-ahead-behind",
        "--no-renames",
        "--ignore-submodules=dirty",
        if has_untracked { "--untracked-files=all" } else { "--untracked-files=no" },
    ]
}

/// Parses the output; if it is cut, leaves out the last record.
pub(super) fn read(output: &[u8], is_cut: bool) -> Status<'_> {
    let mut status = Status::default();
    let whole = if is_cut { output.iter().rposition(|&byte| byte == 0).map_or(0, |end| end + 1) } else { output.len() };
    let mut records = output[..whole].split(|&byte| byte == 0);
    while let Some(record) = records.next() {
        let Some((kind, rest)) = record.split_first() else { continue };
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        let entry = match kind {
            b'#' => {
                if let Some(id) = rest.strip_prefix(b"branch.oid ").filter(|id| is_id(id)) {
                    status.head = Some(text(id));
                }
                None
            }
            // XY sub mH mI mW hH hI path
            b'1' => parse_changed(rest, 7),
            // XY sub mH mI mW hH hI score path, followed by the old path as a separate record
            b'2' => {
                records.next();
                parse_changed(rest, 8)
            }
            // XY sub m1 m2 m3 mW h1 h2 h3 path
            b'u' => {
                parse_changed(rest, 9).map(|entry| Entry { committed: None, staged: None, is_unstaged: true, ..entry })
            }
            b'?' if !rest.is_empty() => Some(Entry { path: rest, is_untracked: true, ..Entry::default() }),
            _ => None,
        };
        status.entries.extend(entry);
    }
    status
}

/// A record of `fields` fields before the path: XY sub mH mI mW hH hI …
fn parse_changed(record: &[u8], fields: usize) -> Option<Entry<'_>> {
    let parts: Vec<&[u8]> = record.splitn(fields + 1, |&byte| byte == b' ').collect();
    let path = *parts.get(fields).filter(|path| !path.is_empty())?;
    let [in_index, in_tree] = *parts.first()? else { return None };
    let committed = Some(Blob { mode: text(parts[2]), id: text(parts[5]) });
    let staged = (*in_index != b'.').then(|| format!("{} {}", text(parts[3]), text(parts[6])));
    Some(Entry { path, committed, staged, is_unstaged: *in_tree != b'.', is_untracked: false })
}

/// True if it is an object id, SHA-1 or SHA-256.
pub(super) fn is_id(id: &[u8]) -> bool {
    (id.len() == 40 || id.len() == 64) && id.iter().all(u8::is_ascii_hexdigit)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn every_kind_of_record_is_read_and_a_cut_one_is_left_out() {
        let output = format!(
            "# branch.oid {ID}\0# branch.head main\0# stash 2\0\
             1 .M N... 100644 100644 100644 {ID} {ID} with space\nline\0\
             1 M. N... 100644 100755 100755 {ID} {ID} b\0\
             2 R. N... 100644 100644 100644 {ID} {ID} R100 new\0old\0\
             u UU N... 100644 100644 100644 100644 {ID} {ID} {ID} fight\0\
             ? loose\0? cut off"
        );
        let status = read(output.as_bytes(), true);
        assert_eq!(status.head.as_deref(), Some(ID));
        let committed = Blob { mode: "100644".to_owned(), id: ID.to_owned() };
        let entry = |path, staged: Option<&str>, is_unstaged, is_untracked: bool| Entry {
            path,
            committed: (path != b"fight" && !is_untracked).then(|| committed.clone()),
            staged: staged.map(|mode| format!("{mode} {ID}")),
            is_unstaged,
            is_untracked,
        };
        let expected = vec![
            entry(&b"with space\nline"[..], None, true, false),
            entry(b"b", Some("100755"), false, false),
            entry(b"new", Some("100644"), false, false),
            entry(b"fight", None, true, false),
            entry(b"loose", None, false, true),
        ];
        assert_eq!(status.entries, expected);
        assert_eq!(read(b"# branch.oid (initial)\0", false), Status::default());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>, is_cut: bool) {
            assert!(read(&bytes, is_cut).entries.len() <= bytes.len());
        }

        #[test]
        fn anything_after_a_kind_is_read(kind in "[12u?#!]", rest in "[ .MA?\\PC\0]{0,60}") {
            let record = format!("{kind} {rest}");
            assert!(read(record.as_bytes(), false).entries.len() <= record.len());
        }
    }
}
