//! Tests of `verdict.rs`.

use haltline_core::{CircuitName, Reason, Retry, Verdict};

#[test]
fn severity_rises_from_pass_to_warn_to_deny_to_stop() {
    let circuit = CircuitName::trust();
    let reason = Reason { circuit, code: "HL-REPEAT-01", text: String::new(), retry: Retry::Now };
    let rising = [Verdict::Pass, Verdict::Warn(reason.clone()), Verdict::Deny(reason.clone()), Verdict::Stop(reason)];
    assert_eq!(rising.map(|verdict| verdict.severity()), [0, 1, 2, 3]);
}
