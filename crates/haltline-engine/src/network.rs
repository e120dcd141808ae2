//! Detects network file systems, where SQLite's shared memory cannot work.

use std::path::Path;

/// The kind of network file system that `folder` is on, if it is on one.
#[cfg(target_os = "linux")]
pub fn network_kind(folder: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(folder).ok()?.f_type;
    let kind = u32::try_from(kind & 0xffff_ffff).ok()?;
    NETWORKS.iter().find(|(magic, _)| *magic == kind).map(|(_, name)| *name)
}

/// Other systems have no portable way to find out; SQLite's own checks have to do.
#[cfg(not(target_os = "linux"))]
pub fn network_kind(_folder: &Path) -> Option<&'static str> {
    None
}

/// From the kernel's `magic.h`.
#[cfg(target_os = "linux")]
const NETWORKS: [(u32, &str); 9] = [
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x517b, "smb"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "afs"),
    (0x00c3_6400, "ceph"),
    (0x7461_636f, "ocfs2"),
    (0x0116_1970, "gfs2"),
];
