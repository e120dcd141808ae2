//! Plain events as docs/reference/events.md describes them, and the one-line error for each mistake (E8).

use haltline_agents::plain::{PlainError, PlainEvent, PlainEventKind, TYPES, read};
use haltline_core::attempt::{Attempt, Output, SliceId, TestName, TestResult};
use haltline_core::claim::{Changes, ClaimId, Confidence, ObjectionText, PipelineName, Round};
use haltline_core::identity::{Action, CallResult, DeniedBy, ModelText, Outcome};
use haltline_core::loop_::{AgentRef, CallContext, FaultKind, LoopEvent, ProviderFault, TurnEnd, Usage};
use haltline_core::{ConstraintId, Instant};

/// Reads an event of session `s` with these additional fields.
fn event(fields: &str) -> Result<PlainEventKind, PlainError> {
    read(&format!(r#"{{"v":1,"session":"s",{fields}}}"#)).map(|event| event.kind)
}

fn assert_reads_as(fields: &str, expected: LoopEvent) {
    assert_eq!(event(fields), Ok(PlainEventKind::Loop(expected)), "{fields}");
}

#[test]
fn an_event_has_its_time_and_its_agent() {
    let line = r#"{"v":1,"type":"stop","ts":"2026-02-12T10:30:00.250Z","session":"s1","agent":"a","root":"s0",
        "client":"aider","blocked":true,"colour":"unknown fields are passed over"}"#;
    let expected = PlainEvent {
        at: Some(Instant::parse("2026-02-12T10:30:00.250Z").expect("an instant")),
        agent_ref: AgentRef {
            session: "s1".to_owned(),
            sub_agent: Some("a".to_owned()),
            parent_session: Some("s0".to_owned()),
            client: "aider".to_owned(),
            ..AgentRef::default()
        },
        project: None,
        kind: PlainEventKind::Loop(LoopEvent::Stop { blocked: true, running: None, end: TurnEnd::Idle }),
    };
    assert_eq!(read(line), Ok(expected));
    let least = read(r#"{"v":1,"type":"stop","session":"s","agent":null}"#).expect("enough");
    assert_eq!((least.at, least.agent_ref.sub_agent, least.agent_ref.client), (None, None, String::new()));
}

#[test]
fn sessions_prompts_and_turns_are_read() {
    let model = Some("m".to_owned());
    assert_reads_as(
        r#""type":"session_start","project":"/p","model":"m","resumed":true"#,
        LoopEvent::SessionStart { model, resumed: true, is_nested: false },
    );
    let prompt = |by_user, bypass| LoopEvent::Prompt { by_user, bypass };
    assert_reads_as(r#""type":"prompt","source":"user","text":"go""#, prompt(true, false));
    assert_reads_as(r#""type":"prompt","source":"user","text":"go\nSUDO PARALLEL""#, prompt(true, true));
    assert_reads_as(r#""type":"prompt","source":"system","text":"SUDO PARALLEL""#, prompt(false, false));
    assert_reads_as(r#""type":"hook","name":"lint""#, LoopEvent::Hook { name: "lint".to_owned() });
    let compaction = |has_shrunk| LoopEvent::Compaction { trigger: "auto".to_owned(), has_shrunk };
    assert_reads_as(r#""type":"compaction","trigger":"auto""#, compaction(None));
    let sizes =
        |after: u32| format!(r#""type":"compaction","trigger":"auto","tokens_before":1000,"tokens_after":{after}"#);
    assert_reads_as(&sizes(940), compaction(Some(true)));
    assert_reads_as(&sizes(950), compaction(Some(false)));
    assert_reads_as(r#""type":"session_end""#, LoopEvent::SessionEnd { reason: String::new() });
    assert_reads_as(
        r#""type":"spawn_start","child":"c","depth":2"#,
        LoopEvent::SpawnStart { sub_agent: "c".to_owned(), depth: Some(2) },
    );
    assert_reads_as(r#""type":"spawn_end","child":"c""#, LoopEvent::SpawnEnd { sub_agent: Some("c".to_owned()) });
}

#[test]
fn a_turn_that_the_model_service_ended_says_why_and_until_when() {
    let fault = |kind, until, is_account_wide| LoopEvent::ProviderFault(ProviderFault { kind, until, is_account_wide });
    let until = Some(Instant::parse("2026-02-12T10:30:00Z").expect("an instant"));
    assert_reads_as(
        r#""type":"stop","error":"limit","resets_at":"2026-02-12T10:30:00Z","all_models":true"#,
        fault(FaultKind::Limit, until, true),
    );
    assert_reads_as(r#""type":"stop","error":"overloaded""#, fault(FaultKind::Overload, None, false));
    let error = event(r#""type":"stop","error":"tired""#).expect_err("unknown");
    assert_eq!(error.to_string(), r#"error "tired": expected one of limit, overloaded"#);
    let account = |fields: &str| {
        let event = read(&format!(r#"{{"v":1,"session":"s","type":"stop",{fields}}}"#)).expect("readable");
        event.agent_ref.account.map(|account| (account.provider, account.account))
    };
    let named = |provider: &str, account: &str| Some((provider.to_owned(), account.to_owned()));
    assert_eq!(account(r#""client":"codex""#), named("openai", "login"));
    assert_eq!(account(r#""client":"aider","provider":"mistral","account":"work""#), named("mistral", "work"));
    assert_eq!(account(r#""client":"aider""#), None);
}

#[test]
fn a_message_has_tokens_and_a_price_or_they_are_unknown() {
    let usage = Some(Usage { input: 1, output: 2, cache_read: 3, cache_write: 4 });
    let last = Some("m1".to_owned());
    assert_reads_as(
        r#""type":"message","message":"m1","usage":{"input":1,"output":2,"cache_read":3,"cache_write":4},"cost_usd":0.0123456"#,
        LoopEvent::Message { usage, cost: Some(12_346), model: None, range: None, last_response: last, text: None },
    );
    assert_reads_as(
        r#""type":"message","text":"hi""#,
        LoopEvent::Message { usage: None, cost: None, model: None, range: None, last_response: None, text: None },
    );
    assert_reads_as(
        r#""type":"message","usage":{"output":2},"cost_usd":0"#,
        LoopEvent::Message {
            usage: Some(Usage { output: 2, ..Usage::default() }),
            cost: Some(0),
            model: None,
            range: None,
            last_response: None,
            text: None,
        },
    );
    let text = "I will run the tests once more.";
    assert_reads_as(
        &format!(r#""type":"message","text":"{text}""#),
        LoopEvent::Message {
            usage: None,
            cost: None,
            model: None,
            range: None,
            last_response: None,
            text: ModelText::from_text(text),
        },
    );
}

#[test]
fn calls_begin_and_end() {
    let start = |input: &str, message: Option<&str>| LoopEvent::ToolStart {
        call: "c".to_owned(),
        response: message.map(str::to_owned),
        action: Box::new(Action::new("Bash", input, None)),
        context: CallContext::Missing,
    };
    assert_reads_as(
        r#""type":"tool_start","call":"c","tool":"Bash","input":{"command":"ls"},"message":"m""#,
        start(r#"{"command":"ls"}"#, Some("m")),
    );
    assert_reads_as(r#""type":"tool_start","call":"c","tool":"Bash","input":"ls\n""#, start("ls\n", None));
    assert_reads_as(r#""type":"tool_start","call":"c","tool":"Bash""#, start("{}", None));
    let mut answer = CallResult::new(Outcome::Denied, Some(-1), "no");
    (answer.denied_by, answer.cost) = (Some(DeniedBy::Hook), Some(1_500_000));
    assert_reads_as(
        r#""type":"tool_end","call":"c","outcome":"denied","by":"hook","exit":-1,"output":"no","cost_usd":1.5,"duration_ms":3"#,
        LoopEvent::ToolEnd { call: "c".to_owned(), action: None, result: Box::new(answer) },
    );
}

#[test]
fn constraints_are_named() {
    let id = ConstraintId::parse("no-force-push").expect("an id");
    let violated =
        PlainEventKind::Constraint { id: id.clone(), is_violation: true, action: Some("git push -f".to_owned()) };
    assert_eq!(event(r#""type":"violation","constraint":"no-force-push","action":"git push -f""#), Ok(violated));
    let clean = PlainEventKind::Constraint { id, is_violation: false, action: None };
    assert_eq!(event(r#""type":"clean","constraint":"no-force-push""#), Ok(clean));
}

#[test]
fn an_attempt_has_its_slice_its_test_and_its_result_and_nothing_is_guessed() {
    let attempt = Attempt {
        test: TestName::parse("rounds up").expect("a name"),
        strategy: "use printf".to_owned(),
        files: vec!["src/a.sh".to_owned()],
        files_more: 0,
        result: TestResult::Fail,
        is_declared: true,
        summary: String::new(),
        error: Some(Output {
            text: "no\n".to_owned(),
            excerpt: "no\n".to_owned(),
            bytes: 3,
            has_secrets: false,
            exit: None,
        }),
        checkpoint: None,
        generation: None,
    };
    let slice = SliceId::parse("S-3").expect("a name");
    let fields = r#""type":"attempt","slice":"S-3","test":"rounds up","result":"fail","strategy":"use printf","files":["src/a.sh"],"error":"no\n""#;
    assert_eq!(event(fields), Ok(PlainEventKind::Attempt { slice, attempt: Box::new(attempt) }));
    for (fields, problem) in [
        (r#""type":"attempt","test":"t","result":"fail""#, "slice is missing"),
        (r#""type":"attempt","slice":"S-3","test":"t""#, "result is missing: expected one of pass, fail, infra"),
        (r#""type":"attempt","slice":"S-3","test":"t","result":"maybe""#, "result \"maybe\": expected one of"),
        (r#""type":"attempt","slice":"S-3","test":"t","result":"fail","files":"a""#, "files \"a\": expected a list"),
    ] {
        let error = event(fields).expect_err("it is wrong").to_string();
        assert!(error.contains(problem), "{fields}: {error}");
    }
}

#[test]
fn a_round_loses_no_change_and_alters_no_text() {
    for (fields, problem) in [
        (r#""claim":"C-1","objection":"o","changes":{"newEvidence":"x"}"#, "changes \"newEvidence\": expected one of"),
        (r#""claim":"C-1","objection":"o \ud83d p""#, "objection"),
        (r#""claim":"C-1","objection":"o","answer":"\udc00""#, "answer"),
        (r#""claim":"C-1","objection":7"#, "objection 7: expected a string"),
    ] {
        let error = event(&format!(r#""type":"round",{fields}"#)).expect_err("it is wrong").to_string();
        assert!(error.starts_with(problem), "{fields}: {error}");
    }
}

#[test]
fn a_round_has_its_objection_its_answer_and_its_changes_verbatim() {
    let changes = Changes {
        new_evidence: Some(" table 2\n".to_owned()),
        test_run: Some("harness".to_owned()),
        confidence: Confidence::parse("0.65").ok(),
        claim_text: Some("x holds in mice".to_owned()),
    };
    let objection = ObjectionText {
        id: Some("FF-001".to_owned()),
        text: Some("run the harness".to_owned()),
        same_as: Some("O-2".to_owned()),
    };
    let full = Round {
        claim: ClaimId::parse("C-001").expect("a name"),
        objection,
        reviewer: Some("R2".to_owned()),
        answer: Some("no GC column".to_owned()),
        changes,
        round: Some("r7".to_owned()),
        generation: Some(3),
    };
    let pipeline = PipelineName::parse("paper").expect("a name");
    let line = r#""type":"round","pipeline":"paper","claim":"C-001","reviewer":"R2","objection":"run the harness","objection_id":"FF-001","same_as":"O-2","answer":"no GC column","round":"r7","generation":3,"changes":{"new_evidence":" table 2\n","test_run":"harness","confidence":0.65,"claim_text":"x holds in mice"}"#;
    assert_eq!(event(line), Ok(PlainEventKind::Round { pipeline, round: Box::new(full.clone()) }));
    let bare = Round {
        objection: ObjectionText { text: Some("no".to_owned()), ..ObjectionText::default() },
        reviewer: None,
        answer: None,
        changes: Changes::default(),
        round: None,
        generation: None,
        ..full
    };
    let line = r#""type":"round","claim":"C-001","objection":"no","answer":null,"changes":{}"#;
    assert_eq!(event(line), Ok(PlainEventKind::Round { pipeline: PipelineName::default(), round: Box::new(bare) }));
    for (fields, problem) in [
        (r#""objection":"no""#, "claim is missing: expected the claim's name"),
        (r#""claim":"a/b""#, "claim \"a/b\": expected letters, digits, '.', '_' or '-'"),
        (r#""claim":"C-1","pipeline":"""#, "pipeline \"\": expected letters"),
        (r#""claim":"C-1","changes":[]"#, "changes \"[]\": expected an object with new_evidence"),
        (
            r#""claim":"C-1","changes":{"confidence":"high"}"#,
            "changes.confidence \"high\": expected a number from 0 to 1",
        ),
        (r#""claim":"C-1","generation":-1"#, "generation -1: expected a whole number, 0 or more"),
    ] {
        let error = event(&format!(r#""type":"round",{fields}"#)).expect_err(fields);
        assert!(error.to_string().starts_with(problem), "{error}");
    }
}

#[test]
fn every_mistake_is_one_line_with_field_value_and_what_was_expected() {
    let types = format!("one of {} (docs/reference/events.md)", TYPES.join(", "));
    let outcomes = "one of ok, failed, rejected, denied, cancelled, rate_limited, unknown";
    let object = "a JSON object on one line";
    for (line, expected) in [
        ("", format!(r#"event "": expected {object}"#)),
        ("[1]", format!(r#"event "[1]": expected {object}"#)),
        (r#"{"v":1"#, format!(r#"event "{{\"v\":1": expected {object}; it breaks at column 6"#)),
        (r#"{"type":"stop"}"#, "v is missing: expected 1".to_owned()),
        (r#"{"v":2,"type":"stop"}"#, "v 2: expected 1, the only version there is".to_owned()),
        (r#"{"v":"1","type":"stop"}"#, r#"v "1": expected 1, the only version there is"#.to_owned()),
        (r#"{"v":1,"session":"s"}"#, "type is missing: expected the kind of event, such as tool_start".to_owned()),
        (r#"{"v":1,"session":"s","type":"dance"}"#, format!(r#"type "dance": expected {types}"#)),
        (r#"{"v":1,"type":"stop"}"#, "session is missing: expected the session's name".to_owned()),
        (r#"{"v":1,"type":"stop","session":5}"#, "session 5: expected a string".to_owned()),
        (r#"{"v":1,"type":"stop","session":""}"#, r#"session "": expected the session's name"#.to_owned()),
        (
            r#"{"v":1,"type":"stop","session":"s","ts":"noon"}"#,
            r#"ts: time "noon": expected RFC 3339, such as 2026-02-12T10:30:00Z"#.to_owned(),
        ),
        (r#"{"v":1,"type":"stop","session":"s","ts":12}"#, "ts 12: expected a string".to_owned()),
        (r#"{"v":1,"type":"stop","session":"s","agent":[]}"#, r#"agent "[]": expected a string"#.to_owned()),
        (r#"{"v":1,"type":"stop","session":"s","blocked":"no"}"#, r#"blocked "no": expected true or false"#.to_owned()),
        (r#"{"v":1,"type":"prompt","session":"s"}"#, "source is missing: expected one of user, system".to_owned()),
        (
            r#"{"v":1,"type":"prompt","session":"s","source":"me"}"#,
            r#"source "me": expected one of user, system"#.to_owned(),
        ),
        (
            r#"{"v":1,"type":"tool_start","session":"s","call":"c"}"#,
            "tool is missing: expected the tool's name".to_owned(),
        ),
        (
            r#"{"v":1,"type":"tool_start","session":"s","call":"c","tool":"t","input":[1]}"#,
            r#"input "[1]": expected an object or a string"#.to_owned(),
        ),
        (r#"{"v":1,"type":"tool_end","session":"s","call":"c"}"#, format!("outcome is missing: expected {outcomes}")),
        (
            r#"{"v":1,"type":"tool_end","session":"s","call":"c","outcome":"meh"}"#,
            format!(r#"outcome "meh": expected {outcomes}"#),
        ),
        (
            r#"{"v":1,"type":"tool_end","session":"s","call":"c","outcome":"ok","exit":1.5}"#,
            "exit 1.5: expected an exit code, a whole number".to_owned(),
        ),
        (
            r#"{"v":1,"type":"tool_end","session":"s","call":"c","outcome":"ok","cost_usd":-0.1}"#,
            "cost_usd -0.1: expected dollars, 0 or more".to_owned(),
        ),
        (
            r#"{"v":1,"type":"message","session":"s","cost_usd":1e999}"#,
            "cost_usd 1e999: expected dollars, 0 or more".to_owned(),
        ),
        (
            r#"{"v":1,"type":"message","session":"s","cost_usd":"NaN"}"#,
            r#"cost_usd "NaN": expected dollars, 0 or more"#.to_owned(),
        ),
        (
            r#"{"v":1,"type":"message","session":"s","usage":{"input":-5}}"#,
            "usage.input -5: expected a whole number of tokens, 0 or more".to_owned(),
        ),
        (
            r#"{"v":1,"type":"message","session":"s","usage":3}"#,
            "usage 3: expected an object with input, output, cache_read, cache_write".to_owned(),
        ),
        (r#"{"v":1,"type":"spawn_end","session":"s"}"#, "child is missing: expected the sub-agent's name".to_owned()),
        (
            r#"{"v":1,"type":"spawn_start","session":"s","child":"c","depth":-1}"#,
            "depth -1: expected a whole number, 0 or more".to_owned(),
        ),
        (r#"{"v":1,"type":"clean","session":"s"}"#, "constraint is missing: expected the constraint's id".to_owned()),
    ] {
        assert_eq!(read(line).expect_err(line).to_string(), expected);
    }
    let bad_id = event(r#""type":"clean","constraint":"a/b""#).expect_err("no id").to_string();
    assert!(bad_id.starts_with(r#"constraint: constraint id "a/b": expected letters"#), "{bad_id}");
    let long = event(&format!(r#""type":"{}""#, "x\\n".repeat(5000))).expect_err("no type").to_string();
    assert!(!long.contains('\n') && long.len() < 300, "{long}");
}
