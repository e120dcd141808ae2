//! Tests of `phase/name.rs`.

use haltline_core::phase::{Kind, PhaseName};

#[test]
fn names_are_in_capitals_and_fit_on_a_line() {
    assert_eq!(PhaseName::parse("green").expect("a name").as_str(), "GREEN");
    assert_eq!(PhaseName::parse("spike-2").expect("a name").kind(), Kind::Other);
    for wrong in ["", "2nd", "a b", "é", "a\n", &"x".repeat(65)] {
        assert!(PhaseName::parse(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn skipping_leads_through_the_seeds_four_phases_and_ends_the_run() {
    let mut phase = Some(PhaseName::from_static("RED"));
    let mut visited = Vec::new();
    while let Some(name) = phase {
        phase = name.next();
        visited.push(name.as_str().to_owned());
    }
    assert_eq!(visited, ["RED", "GREEN", "REFACTOR", "DOCUMENT"]);
}
