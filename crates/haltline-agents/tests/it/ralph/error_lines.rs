//! Tests of `ralph/error_lines.rs`.

use haltline_agents::ralph::find_error;

fn same(one: &str, other: &str) -> bool {
    match (find_error(one), find_error(other)) {
        (Some(one), Some(other)) => one.fingerprint.is_same(&other.fingerprint),
        (Some(_) | None, _) => panic!("no error in {one:?} or {other:?}"),
    }
}

#[test]
fn the_same_error_at_another_time_is_the_same_and_another_one_is_not() {
    let first = "starting\nERROR: no answer at 10:00:00\nError: port 8080 in use (pid 4711) after 1.2s\n";
    let later = "warming up\nError: port 8080 in use (pid 5822) after 3.9s\nERROR: no answer at 11:30:12\n";
    assert!(same("Error: connect failed at 10:00:01", "Error: connect failed at 10:07:44"));
    assert!(!same("Error: connect failed", "Error: disk full"));
    assert!(!same("Error: cannot find src/a.rs", "Error: cannot find src/b.rs"));
    assert!(same(first, later));
}

#[test]
fn order_and_repeats_of_lines_do_not_matter() {
    assert!(same("Error: a\nnoise\nFatal: b\nError: a\n", "Fatal: b\nError: a\n"));
    assert!(!same("Error: a\nFatal: b", "Error: a"));
}

#[test]
fn json_fields_and_prose_about_errors_are_not_errors() {
    for quiet in [
        "",
        "all tests passed",
        "\"is_error\": false,",
        "{\"error_count\":0,\"note\":\"Exception handling added\"}",
        "{\"a\":\"b\",\"last_error\" : null, \"text\":\"Fatal\"}",
        "I fixed the error in the parser",
        "diff --git a/src/error.rs b/src/error.rs",
        "+export class ErrorHandler {",
    ] {
        assert_eq!(find_error(quiet), None, "{quiet:?}");
    }
    for loud in [
        "Error: build failed",
        "\u{1b}[31merror\u{1b}[0m: linking failed",
        "error[E0308]: mismatched types",
        "src/main.c:3:5: error: expected ';'",
        "TypeError: x is not a function",
        "java.lang.IllegalStateException: closed",
        "[build]: error while copying",
        "thread 'main' panicked at src/main.rs:3:5:",
        "fatal: not a git repository",
    ] {
        assert!(find_error(loud).is_some(), "{loud:?}");
    }
}

#[test]
fn any_text_is_read_in_time() {
    let odd = "\"".repeat(200_000) + "\nException " + &"x".repeat(10_000) + "\n" + &"Error: \"error\n".repeat(20_000);
    assert!(find_error(&odd).is_some());
}
