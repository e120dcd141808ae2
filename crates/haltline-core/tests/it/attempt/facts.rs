//! Every fact of the attempt breaker with its name and whether it needs a sync, in the order of `testdata/facts.jsonl`.

use haltline_core::attempt::{
    Attempted, DeniedPath, Deviation, Entry, Fact, Justification, Listed, LogLine, Printed, RecoveryOption, Report,
    Rollback, Rule, Scope, ScopeViolation, Source, TestName, TestResult, Trip, TripCause,
};
use haltline_core::identity::Digest;
use haltline_core::{Fact as AnyFact, Moment};

type Row = (Fact, &'static str, bool);

pub fn rows(now: Moment) -> Vec<(AnyFact, &'static str, bool)> {
    let all = scopes().into_iter().chain(attempts(now)).chain(trips(now)).chain(paths());
    let all = all.chain(reports(now)).chain(people());
    all.map(|(fact, name, needs_sync)| (AnyFact::Attempt(fact), name, needs_sync)).collect()
}

fn who() -> String {
    "anna".to_owned()
}

fn test() -> TestName {
    TestName::parse("users::rejects duplicates").expect("a name")
}

fn entry(path: &str, source: Source) -> Entry {
    Entry::parse(path, source).expect("a path")
}

fn scopes() -> [Row; 5] {
    let given = Scope::explicit(vec![entry("src/users/", Source::Given), entry(".", Source::FilesInScope)], None);
    let contract = Source::Contract { file: "C-12".to_owned() };
    let named =
        vec![entry("a.ts", contract), entry("internal/...", Source::Packages), entry("b.md", Source::Deliverables)];
    let inferred = Scope::inferred(named, Some("00ff".to_owned()));
    let off = Scope::inferred(Vec::new(), None);
    [
        (Fact::Began { scope: off.clone(), checkpoint: None, who: None }, "began", true),
        (Fact::Began { scope: inferred, checkpoint: Some("c1".to_owned()), who: None }, "began", true),
        (Fact::Began { scope: off, checkpoint: None, who: Some(who()) }, "began", true),
        (Fact::Rescoped { scope: given, who: who() }, "rescoped", true),
        (Fact::Rescoped { scope: Scope::explicit(Vec::new(), None), who: who() }, "rescoped", true),
    ]
}

fn attempts(now: Moment) -> [Row; 7] {
    let plain = |result| Attempted {
        number: 1,
        strategy: String::new(),
        files: Vec::new(),
        files_more: 0,
        result,
        is_declared: false,
        summary: String::new(),
        error: None,
        is_stale: false,
        at: now.at,
    };
    let attempted = |attempt: Attempted, checkpoint: Option<&str>, word| {
        let checkpoint = checkpoint.map(str::to_owned);
        (Fact::Attempted { test: test(), attempt: Box::new(attempt), checkpoint }, word, false)
    };
    let whole = Attempted {
        number: 3,
        strategy: "check before insert".to_owned(),
        files: vec!["src/a.ts".to_owned()],
        files_more: 2,
        summary: "1 failed".to_owned(),
        error: Some(Printed { excerpt: "expected 409\n".to_owned(), bytes: 70_000, has_secrets: true, exit: None }),
        ..plain(TestResult::Fail)
    };
    let printed = Printed { excerpt: "no network".to_owned(), bytes: 10, has_secrets: false, exit: Some(1) };
    [
        attempted(plain(TestResult::Pass), None, "passed"),
        attempted(whole, Some("c2"), "failed"),
        attempted(Attempted { error: Some(printed), ..plain(TestResult::Infra) }, None, "infrastructure"),
        attempted(Attempted { is_declared: true, ..plain(TestResult::Unclear) }, None, "unclear"),
        attempted(Attempted { is_stale: true, ..plain(TestResult::Fail) }, None, "stale"),
        (Fact::Flagged { test: test(), attempt: 2 }, "flagged", false),
        (Fact::Ignored { test: test(), result: TestResult::Pass }, "ignored", false),
    ]
}

fn trips(now: Moment) -> [Row; 5] {
    let tripped = |cause, total_failed_attempts| {
        let incident = "0a1b2c3d".to_owned();
        let trip = Trip { incident, since: now, cause, total_failed_attempts, denials: 0, first_requester: None };
        (Fact::Tripped { trip }, "tripped", true)
    };
    [
        tripped(TripCause::Test { test: test(), failed: 3 }, 5),
        tripped(TripCause::Slice, 7),
        tripped(TripCause::Architecture { description: "needs a new table".to_owned() }, 0),
        (Fact::Denied { requester: None }, "refused", false),
        (Fact::Denied { requester: Some(Digest(11)) }, "refused", false),
    ]
}

fn paths() -> [Row; 4] {
    let path = || "src/shared/errors.ts".to_owned();
    let justification = Justification {
        file: path(),
        failing_test: "rejects_duplicates".to_owned(),
        reason: "the key is made here".to_owned(),
        relationship: "the contract names its shape".to_owned(),
    };
    let denied = |requester| DeniedPath { path: path(), requester };
    [
        (Fact::Justified { justification }, "justified", false),
        (Fact::DeniedOutOfScope { denied: denied(None) }, "out_of_scope", false),
        (Fact::DeniedOutOfScope { denied: denied(Some(Digest(12))) }, "out_of_scope", false),
        (Fact::ChangedOutOfScope { paths: vec![path(), "lib/b.ts".to_owned()] }, "strayed", false),
    ]
}

fn reports(now: Moment) -> [Row; 6] {
    let line = LogLine {
        attempt: 1,
        strategy: "check before insert".to_owned(),
        files: vec!["src/a.ts".to_owned()],
        result: "still 500".to_owned(),
    };
    let violation =
        ScopeViolation { file: "src/shared/errors.ts".to_owned(), justification: "the key is made here".to_owned() };
    let recovery = RecoveryOption { option: "ask the owner".to_owned(), risk: "a day lost".to_owned() };
    let report = Report {
        test_expectation: "a second sign-up is refused".to_owned(),
        actual_error: String::new(),
        attempt_log: Listed::Items(vec![line]),
        cumulative_files_modified: Listed::Items(vec!["src/a.ts".to_owned()]),
        scope_violations: Listed::Items(vec![violation]),
        best_hypothesis: "the contract is ambiguous".to_owned(),
        specific_question: "Which key is meant?".to_owned(),
        recovery_options: Listed::Items(vec![recovery]),
    };
    let none = Listed::Text("not applicable: the runner never started".to_owned());
    let worded = Report {
        attempt_log: Listed::Items(Vec::new()),
        cumulative_files_modified: none,
        scope_violations: Listed::Items(Vec::new()),
        recovery_options: Listed::Items(Vec::new()),
        ..Report::default()
    };
    let reported = |report| (Fact::Reported { test: test(), report: Box::new(report) }, "reported", false);
    let deviated = |rule, file: Option<&str>| {
        let deviation =
            Deviation { rule, description: "off by one".to_owned(), file: file.map(str::to_owned), at: now.at };
        (Fact::Deviated { deviation }, "deviated", false)
    };
    [
        reported(report),
        reported(worded),
        deviated(Rule::BugFix, Some("src/a.ts")),
        deviated(Rule::CriticalAdd, None),
        deviated(Rule::Unblock, None),
        deviated(Rule::ArchStop, None),
    ]
}

fn people() -> [Row; 6] {
    let rollback = || Rollback { to: "c1".to_owned(), kept: "k1".to_owned() };
    let guidance = || "split the handler".to_owned();
    [
        (Fact::RolledBack { rollback: rollback(), who: who() }, "rolled_back", true),
        (Fact::Reset { guidance: guidance(), rollback: Some(rollback()), who: who() }, "reset", true),
        (Fact::Reset { guidance: guidance(), rollback: None, who: who() }, "reset", true),
        (Fact::HandedOut, "handed_out", false),
        (Fact::Ended { who: None }, "ended", true),
        (Fact::Ended { who: Some(who()) }, "ended", true),
    ]
}
