//! Tests of `claim/status.rs`.

use haltline_core::claim::Status;

#[test]
fn killed_is_final_and_only_promotion_raises_a_status() {
    for to in Status::ALL {
        assert!(!Status::Killed.rises_to(to) && !Status::Killed.turns_to(to), "{to}");
    }
    for from in Status::ALL {
        for to in Status::ALL {
            assert!(!(from.rises_to(to) && from.turns_to(to)), "{from} to {to} has two ways");
        }
    }
    assert!(Status::Unverified.rises_to(Status::Robust) && !Status::Rejected.rises_to(Status::Verified));
    assert!(Status::Rejected.turns_to(Status::Challenged) && !Status::Challenged.turns_to(Status::Verified));
}

#[test]
fn statuses_are_serialized_as_in_the_original_ledger() {
    for status in Status::ALL {
        assert_eq!(serde_json::to_string(&status).expect("written"), format!("\"{}\"", status.as_str()));
        assert_eq!(Status::from_name(&status.as_str().to_lowercase()), Some(status));
    }
    assert_eq!(Status::from_name("DISPUTED"), None);
}
