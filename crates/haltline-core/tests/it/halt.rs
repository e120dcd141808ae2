//! Tests of `halt.rs`.

use haltline_core::{CircuitName, Halt, Memory, RowsError, decide_with_rows};

#[test]
fn a_decision_that_never_has_enough_rows_does_not_run_forever() {
    let hungry = |_memory: &Memory| Err(Halt::Needs(vec![CircuitName::trust()]));
    let read = |names: &[CircuitName]| Ok::<_, ()>(vec![None; names.len()]);
    let result = decide_with_rows(&mut Memory::default(), hungry, read);
    assert!(matches!(result, Err(RowsError::Endless)));
}
