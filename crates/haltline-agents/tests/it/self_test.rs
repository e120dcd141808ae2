//! Tests of `self_test.rs`.

use haltline_agents::self_test::{AnswerEffect, SelfTestEvent, describe_mismatch};
use haltline_agents::{Client, claude};

#[test]
fn every_template_is_a_json_object() {
    let self_tests = Client::ALL.map(|client| (client, &client.protocol().self_test));
    for (client, self_test) in self_tests.into_iter().chain([(Client::Claude, &claude::DEMO)]) {
        let events = self_test.round.iter().map(|step| step.event).chain([self_test.first_event]);
        for event in events {
            for is_denied in [false, true] {
                let event =
                    SelfTestEvent { event, session: "s", folder: "/a \"quoted\" \\ folder", round: 1, is_denied };
                let payload = self_test.payload(&event).to_string();
                assert!(payload.contains(r#"/a \"quoted\" \\ folder"#) && !payload.contains('$'), "{payload}");
                assert!((client.protocol().read)(payload.as_bytes()).is_ok(), "{payload}");
            }
        }
    }
}

#[test]
fn a_mismatch_names_the_strongest_effect_and_both_lists() {
    let expected = [AnswerEffect::Pass, AnswerEffect::Pass, AnswerEffect::Warn, AnswerEffect::Deny, AnswerEffect::Stop];
    assert_eq!(describe_mismatch(&expected, &expected), None);
    let mismatch = |rounds: &[AnswerEffect]| describe_mismatch(rounds, &expected).unwrap_or_default();
    assert!(
        mismatch(&[AnswerEffect::Pass; 5])
            .starts_with("haltline did not notice the loop: pass, pass, pass, pass, pass ")
    );
    assert!(mismatch(&[]).contains("nothing instead of pass, pass, warn, deny, stop"));
    assert!(
        mismatch(&[AnswerEffect::Pass, AnswerEffect::Warn, AnswerEffect::Stop])
            .starts_with("haltline stopped the loop at another")
    );
}
