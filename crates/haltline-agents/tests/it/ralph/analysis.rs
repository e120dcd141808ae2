//! Tests of `ralph/analysis.rs`.

use haltline_agents::ralph::Analysis;

#[test]
fn an_analysis_is_read_in_either_layout() {
    let nested = br#"{"loop_number": 4, "output_file": "logs/a.log", "analysis": {"exit_signal": true,
            "files_modified": "3", "asking_questions": "true", "has_permission_denials": false}}"#;
    let expected = Analysis {
        loop_number: Some(4),
        output_file: Some("logs/a.log".to_owned()),
        is_complete: true,
        files_modified: 3,
        asks_question: true,
        is_permission_denied: false,
    };
    assert_eq!(Analysis::parse(nested), Some(expected));
    let flat = Analysis::parse(br#"{"has_permission_denials": true}"#).expect("an object");
    assert!(flat.is_permission_denied && !flat.is_complete && flat.loop_number.is_none());
}

#[test]
fn an_analysis_is_about_its_own_loop_only() {
    let analysis = Analysis { loop_number: Some(7), ..Analysis::default() };
    assert!(analysis.is_about(7) && !analysis.is_about(1));
    assert!(Analysis::default().is_about(1), "one without a number is taken at its word");
}

#[test]
fn anything_else_is_not_an_analysis() {
    for content in ["", "null", "[1]", "\"x\"", "{\"loop_number\": ", "\u{0}"] {
        assert_eq!(Analysis::parse(content.as_bytes()), None, "{content:?}");
    }
    let odd = br#"{"loop_number": -1, "output_file": 5, "analysis": {"files_modified": 1e99, "exit_signal": 1}}"#;
    assert_eq!(Analysis::parse(odd), Some(Analysis::default()));
}
