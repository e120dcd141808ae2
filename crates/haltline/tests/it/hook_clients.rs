//! Every client's hooks through the real binary: a call delivered twice at once counts once, and nothing that a hostile
//! model puts into a call loses a count, makes a hook fail, or is believed (E2, E7, L4).
//!
//! The payloads are those of each client's self-test, so a new client is tested without a change here.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, Stdio};
use std::thread;

use crate::support::Site;
use crate::support::hooks::facts;
use haltline_agents::Client;
use haltline_agents::self_test::{AnswerEffect, ROUNDS, SelfTestEvent};
use haltline_core::loop_::CallIds;
use serde_json::{Value, json};

/// A session of a client at a site.
struct Player<'a> {
    site: &'a Site,
    client: Client,
    session: String,
    /// How many hook sources deliver each event.
    sources: usize,
    /// The client names after `haltline hook` in those sources, in turn.
    client_names: Vec<&'static str>,
}

impl Player<'_> {
    fn payload(&self, event: &str, round: usize, is_denied: bool) -> Value {
        let folder = self.site.project().display().to_string();
        let self_test_event = SelfTestEvent { event, session: &self.session, folder: &folder, round, is_denied };
        self.client.protocol().self_test.payload(&self_test_event)
    }

    /// Starts the hook of one source.
    fn begin(&self, source: usize, payload: &[u8]) -> Child {
        // For clients without call ids, only the command line of a hook identifies its source.
        let own = source.to_string();
        let mut command =
            self.site.command(&["hook", self.client_names[source % self.client_names.len()], "--configuration", &own]);
        command.env("XDG_RUNTIME_DIR", self.site.home());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("piped");
        let payload = payload.to_vec();
        // A large payload does not fit into the pipe; a hook that does not read all of it is no failure of the client.
        thread::spawn(move || stdin.write_all(&payload).ok());
        child
    }

    /// True if the event has no call ids, so that haltline accepts it from one hook source only.
    fn has_no_call_ids(&self, event: &str) -> bool {
        let payload = self.payload(event, 1, false).to_string();
        let hook = (self.client.protocol().read)(payload.as_bytes()).expect("its own words");
        hook.hook.agent.call_ids == CallIds::None
    }

    /// Delivers an event through all hook sources at once; returns the strongest answer.
    fn deliver(&self, event: &str, payload: &Value) -> AnswerEffect {
        let payload = payload.to_string();
        let children: Vec<Child> = (0..self.sources).map(|source| self.begin(source, payload.as_bytes())).collect();
        let read = |child| {
            let out = finish(child);
            let answer = self.client.protocol().self_test.effect_of_output(event, &out);
            answer.unwrap_or_else(|error| panic!("{}: {error}", self.client.title()))
        };
        children.into_iter().map(read).max().expect("at least one configuration")
    }

    fn open(&self) {
        let first_event = self.client.protocol().self_test.first_event;
        // One after the other: which source began last is part of the test.
        let payload = self.payload(first_event, 0, false);
        for source in 0..self.sources {
            finish(self.begin(source, payload.to_string().as_bytes()));
        }
    }

    /// Plays one call as the client would; `change` modifies each payload before it is delivered.
    fn round(&self, number: usize, change: &dyn Fn(Value) -> Value) -> AnswerEffect {
        let mut strongest = AnswerEffect::Pass;
        for step in self.client.protocol().self_test.round {
            let is_denied = strongest >= AnswerEffect::Deny;
            if is_denied && !step.sent_when_denied {
                continue;
            }
            let payload = change(self.payload(step.event, number, is_denied));
            strongest = strongest.max(self.deliver(step.event, &payload));
            if strongest == AnswerEffect::Stop {
                break;
            }
        }
        strongest
    }

    /// Plays the whole self-test; returns the answer of each hook source to each event.
    fn play_all(&self) -> Vec<Vec<String>> {
        self.open();
        let mut all = Vec::new();
        for number in 1..=ROUNDS {
            let mut strongest = AnswerEffect::Pass;
            for step in self.client.protocol().self_test.round {
                let is_denied = strongest >= AnswerEffect::Deny;
                if is_denied && !step.sent_when_denied {
                    continue;
                }
                let payload = self.payload(step.event, number, is_denied).to_string();
                let messages: Vec<String> = (0..self.sources)
                    .map(|source| message_of(&finish(self.begin(source, payload.as_bytes()))))
                    .collect();
                strongest = strongest.max(if messages.iter().any(|text| is_denial(text)) {
                    AnswerEffect::Deny
                } else {
                    AnswerEffect::Pass
                });
                all.push(messages);
            }
        }
        all
    }

    fn rounds(&self, change: &dyn Fn(Value) -> Value) -> Vec<AnswerEffect> {
        (1..=ROUNDS).map(|number| self.round(number, change)).collect()
    }
}

/// Waits for a hook and returns its output; the hook must exit with 0 and write nothing to standard error.
fn finish(child: Child) -> String {
    let output = child.wait_with_output().expect("waited for");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), err.as_ref()), (Some(0), ""), "{out}");
    out.into_owned()
}

/// The message in an answer, without the remaining time.
fn message_of(out: &str) -> String {
    let answer: Value = serde_json::from_str(out).unwrap_or_default();
    let message = text_in(&answer).unwrap_or_default();
    message.split("Cooldown").next().unwrap_or_default().to_owned()
}

/// The first text for the agent in an answer, wherever the client expects it.
fn text_in(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => text.starts_with("HALTLINE").then_some(text),
        Value::Array(elements) => elements.iter().find_map(text_in),
        Value::Object(members) => members.values().find_map(text_in),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn is_denial(text: &str) -> bool {
    [": denied", ": stopped", ": still stopped"].iter().any(|marker| text.contains(marker))
}

/// How often each kind of fact is in the journal.
fn totals(site: &Site) -> BTreeMap<String, usize> {
    let mut totals = BTreeMap::new();
    for fact in facts(site) {
        *totals.entry(fact["word"].to_string()).or_default() += 1;
    }
    totals
}

fn assert_same_through_all(client: Client, client_names: &[&'static str]) {
    let (alone, together) = (Site::new(), Site::new());
    let own = vec![client.cli_name()];
    let one = Player { site: &alone, client, session: "doors".to_owned(), sources: 1, client_names: own };
    let many = Player {
        site: &together,
        client,
        session: "doors".to_owned(),
        sources: 3,
        client_names: client_names.to_vec(),
    };
    let (expected, answers) = (one.play_all(), many.play_all());
    assert_eq!(answers.len(), expected.len(), "{}: {answers:#?}", client.title());
    let self_test = &client.protocol().self_test;
    let has_call_ids = self_test.round.iter().any(|step| !many.has_no_call_ids(step.event));
    for (expected, answers) in expected.iter().flatten().zip(&answers) {
        let received: Vec<&String> = answers.iter().filter(|text| !text.is_empty()).collect();
        // Every source gets a denial; a message that only accompanies a call is delivered once.
        let times = match (expected.is_empty(), is_denial(expected) && has_call_ids) {
            (true, _) => 0,
            (false, true) => 3,
            (false, false) => 1,
        };
        assert_eq!(received, vec![expected; times], "{}: {answers:#?}", client.title());
    }
    let (mut expected, mut counted) = (totals(&alone), totals(&together));
    if many.has_no_call_ids(self_test.first_event) {
        // Each source delivers its own session start; the last one is chosen.
        expected.remove("\"began\"");
        counted.remove("\"began\"");
    }
    assert_eq!(counted, expected, "{}", client.title());
    together.assert_verifies();
}

#[test]
fn three_hook_sources_give_every_client_the_same_answers_and_counts_as_one() {
    for client in Client::ALL {
        assert_same_through_all(client, &[client.cli_name()]);
    }
}

#[test]
fn copilot_gets_the_same_answers_through_its_own_hooks_and_through_claudes() {
    assert_same_through_all(Client::Copilot, &["copilot", "claude"]);
    assert_same_through_all(Client::Copilot, &["claude", "copilot"]);
}

fn players(site: &Site, sources: usize, session: impl Fn(Client) -> String) -> Vec<Player<'_>> {
    let player = |client: Client| Player {
        site,
        client,
        session: session(client),
        sources,
        client_names: vec![client.cli_name()],
    };
    Client::ALL.into_iter().map(player).collect()
}

fn as_it_is(payload: Value) -> Value {
    payload
}

#[test]
fn fifty_calls_delivered_twice_at_once_count_as_fifty_in_every_client() {
    for client in Client::ALL {
        let site = Site::new();
        for session in 0..50 / ROUNDS {
            let (session_name, client_names) = (format!("twice-{session}"), vec![client.cli_name()]);
            let player = Player { site: &site, client, session: session_name, sources: 2, client_names };
            player.open();
            let expected = client.protocol().self_test.expected;
            assert_eq!(player.rounds(&as_it_is), expected, "{}, session {session}", client.title());
        }
        let mut starts: BTreeMap<String, usize> = BTreeMap::new();
        for fact in facts(&site) {
            if let Some(call) = fact["fact"].pointer("/lane/started/flight/call") {
                *starts.entry(format!("{} {call}", fact["circuit"])).or_default() += 1;
            }
        }
        assert!(starts.values().all(|count| *count == 1), "{}: {starts:?}", client.title());
        site.assert_verifies();
    }
}

/// Collects the JSON pointers of everything in a value.
fn pointers(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                pointers(value, &format!("{here}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(elements) => {
            for (number, value) in elements.iter().enumerate() {
                pointers(value, &format!("{here}/{number}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn no_payload_makes_the_hook_fail_and_the_next_loop_is_found() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let odd: [Value; 6] = [
        Value::Null,
        json!(-7.5e300),
        json!(""),
        json!("\u{0}\u{7}\u{1b}[2J\u{202e} ${HOME} `id` '\"\\"),
        json!([{ "": [[]] }]),
        serde_json::from_str(&deep).expect("JSON"),
    ];
    for player in players(&Site::new(), 1, |client| format!("odd-{}", client.cli_name())) {
        player.open();
        for step in player.client.protocol().self_test.round {
            let whole = player.payload(step.event, 1, false);
            let mut all = Vec::new();
            pointers(&whole, "", &mut all);
            for pointer in all {
                let changed: Vec<Child> = odd
                    .iter()
                    .map(|odd| {
                        let mut changed = whole.clone();
                        if let Some(value) = changed.pointer_mut(&pointer) {
                            value.clone_from(odd);
                        }
                        player.begin(0, changed.to_string().as_bytes())
                    })
                    .collect();
                for child in changed {
                    let out = finish(child);
                    let is_object =
                        out.is_empty() || serde_json::from_str::<Value>(&out).is_ok_and(|out| out.is_object());
                    assert!(is_object, "{} {pointer}: {out}", player.client.title());
                }
            }
        }
        let next = Player { session: format!("next-{}", player.client.cli_name()), ..player };
        next.open();
        assert_eq!(next.rounds(&as_it_is), next.client.protocol().self_test.expected, "{}", next.client.title());
    }
}

/// Replaces `old` by `new` in every text of a value.
fn replaced(value: Value, old: &str, new: &str) -> Value {
    match value {
        Value::String(text) => json!(text.replace(old, new)),
        Value::Array(elements) => elements.into_iter().map(|element| replaced(element, old, new)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, member)| (name, replaced(member, old, new))).collect()
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

#[test]
fn a_loop_of_huge_calls_is_found_like_any_other() {
    let huge = format!("haltline-rehearsal {}", "é".repeat(1_500_000));
    for player in players(&Site::new(), 1, |client| format!("huge-{}", client.cli_name())) {
        player.open();
        let expected = player.client.protocol().self_test.expected;
        let found = player.rounds(&|payload| replaced(payload, "haltline-rehearsal --fail", &huge));
        assert_eq!(found, expected, "{}", player.client.title());
    }
}

/// The same payload with another tool name, whatever the client calls that member.
fn of_another_tool(value: Value) -> Value {
    match value {
        Value::Array(elements) => elements.into_iter().map(of_another_tool).collect(),
        Value::Object(members) => {
            let rename = |(name, member): (String, Value)| match name.as_str() {
                "tool_name" | "toolName" | "tool" | "name" if member.is_string() => (name, json!("no_such_tool")),
                _other => (name, of_another_tool(member)),
            };
            members.into_iter().map(rename).collect()
        }
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}

#[test]
fn a_loop_of_an_unknown_tool_is_denied_in_the_end() {
    for player in players(&Site::new(), 1, |client| format!("unknown-{}", client.cli_name())) {
        player.open();
        let answers: Vec<AnswerEffect> = (1..=12).map(|number| player.round(number, &of_another_tool)).collect();
        assert!(answers.iter().any(|answer| *answer >= AnswerEffect::Deny), "{} {answers:?}", player.client.title());
    }
}

#[test]
fn sessions_and_calls_with_odd_names_are_kept_apart_and_counted() {
    for (number, odd) in
        ["../../x", "a/b\n", "\u{202e}'; DROP TABLE facts; --", &"n".repeat(70_000)].into_iter().enumerate()
    {
        for player in players(&Site::new(), 1, |client| format!("{odd}{number}{}", client.cli_name())) {
            player.open();
            let expected = player.client.protocol().self_test.expected;
            assert_eq!(player.rounds(&as_it_is), expected, "{} {:.20}", player.client.title(), odd);
        }
    }
}

#[test]
fn calls_that_all_have_the_same_id_are_still_counted() {
    for player in players(&Site::new(), 1, |client| format!("alike-{}", client.cli_name())) {
        let self_test = &player.client.protocol().self_test;
        // Codex separates responses only in its transcript, and the self-test has none.
        if player.client == Client::Codex || player.client == Client::Qwen {
            continue;
        }
        player.open();
        let answers: Vec<AnswerEffect> = (1..=ROUNDS)
            .map(|number| {
                let own = |payload: Value| {
                    let own = format!("toolu_{}_{number}", player.session);
                    let payload = replaced(payload, &own, "toolu_alike");
                    replaced(payload, &format!("call_{number}"), "call")
                };
                player.round(number, &own)
            })
            .collect();
        assert_eq!(answers, self_test.expected, "{}", player.client.title());
    }
}

/// The start and the end of a call of a wide response.
fn wide_call(player: &Player<'_>, number: usize) -> [Value; 2] {
    let name = format!("wide_{number}");
    let named =
        |payload| replaced(replaced(replaced(payload, "--fail", &name), "toolu_wide_1", &name), "call_1", &name);
    let before = named(player.payload("PreToolUse", 1, false));
    let mut after = before.clone();
    match player.client {
        Client::Claude => {
            after["hook_event_name"] = json!("PostToolUse");
            after["tool_response"] = json!({ "stdout": name });
        }
        _cline => {
            after["hookName"] = json!("tool_result");
            after["tool_result"] = before["tool_call"].clone();
            after["tool_result"]["output"] = json!([{ "query": name, "result": name, "success": true }]);
        }
    }
    [before, after]
}

#[test]
fn two_hundred_calls_of_one_response_are_two_hundred_calls_without_a_warning() {
    const CALLS: usize = 200;
    const AT_ONCE: usize = 5;
    for client in [Client::Claude, Client::Cline] {
        let site = Site::new();
        let client_names = vec![client.cli_name()];
        let player = Player { site: &site, client, session: "wide".to_owned(), sources: 2, client_names };
        player.open();
        let calls: Vec<[Value; 2]> = (0..CALLS).map(|number| wide_call(&player, number)).collect();
        let count = || facts(&site).iter().filter(|fact| fact["fact"].pointer("/lane/ended/call").is_some()).count();
        for moment in 0..2 {
            for some in calls.chunks(AT_ONCE) {
                let both = some.iter().chain(some).map(|call| call[moment].to_string());
                let children: Vec<Child> = both.map(|payload| player.begin(0, payload.as_bytes())).collect();
                for child in children {
                    assert_eq!(finish(child), "", "{}", client.title());
                }
            }
        }
        assert_eq!(count(), CALLS, "{}", client.title());
        if client == Client::Claude {
            let mut batch = player.payload("PostToolBatch", 1, false);
            batch["tool_calls"] = calls.iter().map(|[_, after]| after.clone()).collect();
            assert_eq!(player.deliver("PostToolBatch", &batch), AnswerEffect::Pass);
            assert_eq!(count(), CALLS, "the batch lists what was told");
        }
        site.assert_verifies();
    }
}

/// Cursor's documentation has the name of a sub-agent at its start, but not at its end.
#[test]
fn sub_agents_that_end_without_a_name_make_room() {
    let site = Site::new();
    let player = Player {
        site: &site,
        client: Client::Cursor,
        session: "room".to_owned(),
        sources: 2,
        client_names: vec!["cursor"],
    };
    player.open();
    for number in 0..7 {
        let mut start = player.payload("subagentStart", number, false);
        start["subagent_id"] = json!(format!("agent-{number}"));
        start["parent_conversation_id"] = json!(player.session);
        assert_eq!(player.deliver("subagentStart", &start), AnswerEffect::Pass, "{number}");
        player.deliver("subagentStop", &player.payload("subagentStop", number, false));
    }
    let ends = facts(&site).into_iter().filter(|fact| fact["fact"].pointer("/tree/agent_ended").is_some());
    assert_eq!(ends.count(), 7);
}

/// For a client that may take silence for a denial, haltline answers every unreadable payload.
#[test]
fn every_unreadable_payload_is_answered_where_the_client_waits() {
    let site = Site::new();
    let player = Player {
        site: &site,
        client: Client::Cursor,
        session: String::new(),
        sources: 1,
        client_names: vec!["cursor"],
    };
    for _again in 0..3 {
        assert_eq!(finish(player.begin(0, b"[]")), "{}\n");
    }
}
