//! Tests of `name.rs`.

use haltline_core::{CircuitName, ConstraintId};

#[test]
fn an_id_is_a_plain_file_name() {
    for good in ["git-safety-force-push", "a", "C-12.v2", "x_y"] {
        assert_eq!(ConstraintId::parse(good).expect("good").as_str(), good);
    }
    let long = "a".repeat(129);
    for bad in ["", "a/b", "..", "a..b", ".hidden", "-flag", "a\nb", "é", " a", long.as_str()] {
        assert!(ConstraintId::parse(bad).is_err(), "{bad:?} should be refused");
    }
    assert!(ConstraintId::parse(&"a".repeat(128)).is_ok());
}

#[test]
fn a_bad_id_is_shown_on_one_short_line() {
    let message = ConstraintId::parse(&"line\n".repeat(2000)).expect_err("bad").to_string();
    assert!(!message.contains('\n') && message.len() < 300, "{message}");
    assert!(message.contains("10000 bytes"), "{message}");
}

#[test]
fn a_circuit_name_has_a_prefix_and_a_scope() {
    let name = CircuitName::constraint(&ConstraintId::parse("a.b").expect("good"));
    assert_eq!((name.prefix(), name.scope(), name.as_str()), ("constraint", "a.b", "constraint/a.b"));
    assert_eq!(CircuitName::trust().prefix(), "trust");
    assert_eq!(CircuitName::agent("s1", None).as_str(), "loop/s1");
    assert_eq!(CircuitName::agent("s1", Some("a")).below("repeat").as_str(), "loop/s1/agent/a/repeat");
    assert_ne!(CircuitName::agent("s1/agent/a", None), CircuitName::agent("s1", Some("a")));
    assert!(
        CircuitName::agent("s1", Some("a")).belongs_to_session("s1")
            && CircuitName::tree("s1").belongs_to_session("s1")
    );
    assert!(!CircuitName::agent("s10", None).belongs_to_session("s1"));
    assert!(CircuitName::tree(&"x".repeat(5000)).as_str().len() < 100);
    assert_eq!(name.to_string(), "constraint/a.b");
    assert_eq!(CircuitName::from_stored("constraint/a\nb".to_owned()).to_string(), "constraint/a\\nb");
}
