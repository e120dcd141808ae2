//! Tests of `digest.rs`.

use haltline_core::{digest_hex, sha256};

#[test]
fn parts_do_not_run_into_each_other() {
    assert_ne!(sha256(&[b"ab", b"c"]), sha256(&[b"a", b"bc"]));
    assert_eq!(digest_hex(&[b"a"], 4).len(), 8);
    assert_eq!(digest_hex(&[b"a"], 4), digest_hex(&[b"a"], 32)[..8]);
}
