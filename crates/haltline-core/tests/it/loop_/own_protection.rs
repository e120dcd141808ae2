//! How haltline protects itself: hooks that were removed, calls without a context, and its own failures (E6, E7).

use haltline_core::identity::Action;
use haltline_core::loop_::{AgentFact, CallContext, LoopEvent, denial_on_failure};
use haltline_core::{Event, Fact, Mode, Rejection, Verdict};

use super::world::Sessions;

fn hooks_removed() -> LoopEvent {
    hooks_weakened(true)
}

fn hooks_weakened(is_preventable: bool) -> LoopEvent {
    let what = "disableAllHooks disables all hooks".to_owned();
    LoopEvent::HooksRemoved { file: "/home/ana/.claude/settings.json".to_owned(), what, is_preventable }
}

#[test]
fn removed_hooks_are_denied_journalled_and_reported_in_every_mode() {
    for mode in [Mode::Enforce, Mode::Observe] {
        let mut world = Sessions::new();
        world.policy.mode = mode;
        world.report(LoopEvent::SessionStart { model: None, resumed: false, is_nested: false });
        let decision = world.report(hooks_removed());
        let Verdict::Deny(reason) = &decision.verdict else { panic!("{mode:?}: {:?}", decision.verdict) };
        assert_eq!(reason.code, "HL-OWN-03");
        let [recorded] = decision.facts.as_slice() else { panic!("{:?}", decision.facts) };
        assert_eq!(recorded.fact, Fact::Agent(AgentFact::HooksRemoved));
        let text = "/home/ana/.claude/settings.json: disableAllHooks disables all hooks";
        assert_eq!(recorded.texts.text.as_deref(), Some(text));
        assert!(recorded.fact.needs_sync(), "a power cut must not hide it");
        assert_eq!(decision.notices.len(), 1);
    }
}

#[test]
fn hooks_that_are_weakened_already_are_journalled_and_reported_and_the_call_passes() {
    let mut world = Sessions::new();
    world.report(LoopEvent::SessionStart { model: None, resumed: false, is_nested: false });
    let decision = world.report(hooks_weakened(false));
    assert_eq!(decision.verdict, Verdict::Pass);
    assert_eq!(decision.facts.len(), 1);
    assert!(decision.notices[0].contains("disableAllHooks disables all hooks"), "{:?}", decision.notices);
}

#[test]
fn a_call_without_its_context_is_rejected_and_nothing_is_recorded() {
    let mut world = Sessions::new();
    let action = Box::new(Action::new("Bash", r#"{"command":"ls"}"#, None));
    let start = LoopEvent::ToolStart { call: "c1".to_owned(), response: None, action, context: CallContext::Missing };
    let event = Event::Loop { agent: world.agent.clone(), event: start, policy: world.policy.digest(), calendar: None };
    assert_eq!(world.handle(&event), Err(Rejection::MissingContext));
    assert_eq!(world.journal, []);
}

#[test]
fn a_failure_of_haltline_denies_with_its_cause() {
    let Verdict::Deny(reason) = denial_on_failure("s1", "the disk is full") else { panic!("denied") };
    assert_eq!(reason.code, "HL-OWN-04");
    assert!(reason.text.contains("the disk is full"));
}
