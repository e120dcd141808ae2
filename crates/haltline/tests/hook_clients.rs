//! Every client's hooks through the real binary: told twice at once a call counts once, and nothing a hostile model puts
//! into a call loses a count, ends a hook badly, or is believed (E2, E7, L4).
//!
//! The words are those of each client's rehearsal, so a new client is tried without a line here.

mod support;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, Stdio};
use std::thread;

use haltline_agents::Client;
use haltline_agents::rehearsal::{Answer, ROUNDS, Told};
use haltline_core::loop_::Naming;
use serde_json::{Value, json};
use support::Site;
use support::hooks::facts;

/// A session of a client at a site.
struct Player<'a> {
    site: &'a Site,
    client: Client,
    session: String,
    /// How many configurations tell of each event.
    doors: usize,
    /// The words after `haltline hook` in them, in turn.
    words: Vec<&'static str>,
}

impl Player<'_> {
    fn payload(&self, event: &str, round: usize, is_denied: bool) -> Value {
        let folder = self.site.project().display().to_string();
        let told = Told { event, session: &self.session, folder: &folder, round, is_denied };
        self.client.protocol().rehearsal.payload(&told)
    }

    /// Starts the hook of one configuration.
    fn begin(&self, door: usize, payload: &[u8]) -> Child {
        // Where there are no names, only the words of a configuration tell who tells.
        let own = door.to_string();
        let mut command = self.site.command(&["hook", self.words[door % self.words.len()], "--configuration", &own]);
        command.env("XDG_RUNTIME_DIR", self.site.home());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("piped");
        let payload = payload.to_vec();
        // A large payload does not fit into the pipe; a hook that does not read it all is no failure of the client's.
        thread::spawn(move || stdin.write_all(&payload).ok());
        child
    }

    /// Whether what tells of this event is heard through one door only.
    fn is_counted(&self, event: &str) -> bool {
        let payload = self.payload(event, 1, false).to_string();
        let reading = (self.client.protocol().read)(payload.as_bytes()).expect("its own words");
        reading.asked.stream.naming == Naming::Counted
    }

    /// Tells an event through all configurations at once; the strongest answer.
    fn tell(&self, event: &str, payload: &Value) -> Answer {
        let payload = payload.to_string();
        let children: Vec<Child> = (0..self.doors).map(|door| self.begin(door, payload.as_bytes())).collect();
        let read = |child| {
            let out = finish(child);
            let answer = self.client.protocol().rehearsal.read_answer(event, &out);
            answer.unwrap_or_else(|error| panic!("{}: {error}", self.client.title()))
        };
        children.into_iter().map(read).max().expect("at least one configuration")
    }

    fn open(&self) {
        let opening = self.client.protocol().rehearsal.opening;
        // One after the other: which configuration began last is part of what is tried.
        let payload = self.payload(opening, 0, false);
        for door in 0..self.doors {
            finish(self.begin(door, payload.to_string().as_bytes()));
        }
    }

    /// One call as the client goes through it, with each payload changed before it is told.
    fn round(&self, number: usize, change: &dyn Fn(Value) -> Value) -> Answer {
        let mut strongest = Answer::Pass;
        for beat in self.client.protocol().rehearsal.round {
            let is_denied = strongest >= Answer::Deny;
            if is_denied && !beat.comes_when_denied {
                continue;
            }
            let payload = change(self.payload(beat.event, number, is_denied));
            strongest = strongest.max(self.tell(beat.event, &payload));
            if strongest == Answer::Stop {
                break;
            }
        }
        strongest
    }

    /// What each configuration says to each event of the whole rehearsal, one after the other.
    fn recital(&self) -> Vec<Vec<String>> {
        self.open();
        let mut all = Vec::new();
        for number in 1..=ROUNDS {
            let mut strongest = Answer::Pass;
            for beat in self.client.protocol().rehearsal.round {
                let is_denied = strongest >= Answer::Deny;
                if is_denied && !beat.comes_when_denied {
                    continue;
                }
                let payload = self.payload(beat.event, number, is_denied).to_string();
                let said: Vec<String> =
                    (0..self.doors).map(|door| words_of(&finish(self.begin(door, payload.as_bytes())))).collect();
                strongest =
                    strongest.max(if said.iter().any(|text| is_refusal(text)) { Answer::Deny } else { Answer::Pass });
                all.push(said);
            }
        }
        all
    }

    fn rounds(&self, change: &dyn Fn(Value) -> Value) -> Vec<Answer> {
        (1..=ROUNDS).map(|number| self.round(number, change)).collect()
    }
}

/// What a hook printed: it ends with 0 and says nothing to standard error.
fn finish(child: Child) -> String {
    let output = child.wait_with_output().expect("waited for");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), err.as_ref()), (Some(0), ""), "{out}");
    out.into_owned()
}

/// What haltline says in an answer, up to the time that is left.
fn words_of(out: &str) -> String {
    let answer: Value = serde_json::from_str(out).unwrap_or_default();
    let said = text_in(&answer).unwrap_or_default();
    said.split("Cooldown").next().unwrap_or_default().to_owned()
}

/// The first text that is haltline's to the agent, wherever the client wants it.
fn text_in(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => text.starts_with("HALTLINE").then_some(text),
        Value::Array(elements) => elements.iter().find_map(text_in),
        Value::Object(members) => members.values().find_map(text_in),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn is_refusal(text: &str) -> bool {
    [": refused", ": stopped", ": still stopped"].iter().any(|word| text.contains(word))
}

/// How often each word stands in the journal.
fn totals(site: &Site) -> BTreeMap<String, usize> {
    let mut totals = BTreeMap::new();
    for fact in facts(site) {
        *totals.entry(fact["word"].to_string()).or_default() += 1;
    }
    totals
}

fn assert_same_through_all(client: Client, words: &[&'static str]) {
    let (alone, together) = (Site::new(), Site::new());
    let own = vec![client.word()];
    let one = Player { site: &alone, client, session: "doors".to_owned(), doors: 1, words: own };
    let many = Player { site: &together, client, session: "doors".to_owned(), doors: 3, words: words.to_vec() };
    let (expected, said) = (one.recital(), many.recital());
    assert_eq!(said.len(), expected.len(), "{}: {said:#?}", client.title());
    let rehearsal = &client.protocol().rehearsal;
    let has_names = rehearsal.round.iter().any(|beat| !many.is_counted(beat.event));
    for (expected, said) in expected.iter().flatten().zip(&said) {
        let heard: Vec<&String> = said.iter().filter(|text| !text.is_empty()).collect();
        // A refusal is everybody's; a word that goes along with a call is said once.
        let times = match (expected.is_empty(), is_refusal(expected) && has_names) {
            (true, _) => 0,
            (false, true) => 3,
            (false, false) => 1,
        };
        assert_eq!(heard, vec![expected; times], "{}: {said:#?}", client.title());
    }
    let (mut expected, mut counted) = (totals(&alone), totals(&together));
    if many.is_counted(rehearsal.opening) {
        // Each door says that it begins; the last one is heard.
        expected.remove("\"began\"");
        counted.remove("\"began\"");
    }
    assert_eq!(counted, expected, "{}", client.title());
    together.assert_verifies();
}

#[test]
fn through_three_doors_every_client_hears_and_counts_what_it_does_through_one() {
    for client in Client::ALL {
        assert_same_through_all(client, &[client.word()]);
    }
}

#[test]
fn copilot_hears_the_same_through_its_own_hooks_and_through_claudes() {
    assert_same_through_all(Client::Copilot, &["copilot", "claude"]);
    assert_same_through_all(Client::Copilot, &["claude", "copilot"]);
}

fn players(site: &Site, doors: usize, session: impl Fn(Client) -> String) -> Vec<Player<'_>> {
    let player = |client: Client| Player { site, client, session: session(client), doors, words: vec![client.word()] };
    Client::ALL.into_iter().map(player).collect()
}

fn as_it_is(payload: Value) -> Value {
    payload
}

#[test]
fn fifty_calls_told_twice_at_once_are_fifty_calls_in_every_client() {
    for client in Client::ALL {
        let site = Site::new();
        for session in 0..50 / ROUNDS {
            let (session_name, words) = (format!("twice-{session}"), vec![client.word()]);
            let player = Player { site: &site, client, session: session_name, doors: 2, words };
            player.open();
            let expected = client.protocol().rehearsal.expected;
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

/// All places of a value, as JSON pointers.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                places(value, &format!("{here}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(elements) => {
            for (number, value) in elements.iter().enumerate() {
                places(value, &format!("{here}/{number}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn whatever_stands_in_a_payload_the_hook_ends_well_and_the_next_loop_is_found() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let odd: [Value; 6] = [
        Value::Null,
        json!(-7.5e300),
        json!(""),
        json!("\u{0}\u{7}\u{1b}[2J\u{202e} ${HOME} `id` '\"\\"),
        json!([{ "": [[]] }]),
        serde_json::from_str(&deep).expect("JSON"),
    ];
    for player in players(&Site::new(), 1, |client| format!("odd-{}", client.word())) {
        player.open();
        for beat in player.client.protocol().rehearsal.round {
            let whole = player.payload(beat.event, 1, false);
            let mut all = Vec::new();
            places(&whole, "", &mut all);
            for place in all {
                let changed: Vec<Child> = odd
                    .iter()
                    .map(|odd| {
                        let mut changed = whole.clone();
                        if let Some(value) = changed.pointer_mut(&place) {
                            value.clone_from(odd);
                        }
                        player.begin(0, changed.to_string().as_bytes())
                    })
                    .collect();
                for child in changed {
                    let out = finish(child);
                    let is_object =
                        out.is_empty() || serde_json::from_str::<Value>(&out).is_ok_and(|out| out.is_object());
                    assert!(is_object, "{} {place}: {out}", player.client.title());
                }
            }
        }
        let next = Player { session: format!("next-{}", player.client.word()), ..player };
        next.open();
        assert_eq!(next.rounds(&as_it_is), next.client.protocol().rehearsal.expected, "{}", next.client.title());
    }
}

/// The same with every text that holds `old` changed.
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
    for player in players(&Site::new(), 1, |client| format!("huge-{}", client.word())) {
        player.open();
        let expected = player.client.protocol().rehearsal.expected;
        let found = player.rounds(&|payload| replaced(payload, "haltline-rehearsal --fail", &huge));
        assert_eq!(found, expected, "{}", player.client.title());
    }
}

/// The same payload about another tool, whatever its client calls the member that names it.
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
fn a_loop_of_a_tool_nobody_knows_is_refused_in_the_end() {
    for player in players(&Site::new(), 1, |client| format!("unknown-{}", client.word())) {
        player.open();
        let answers: Vec<Answer> = (1..=12).map(|number| player.round(number, &of_another_tool)).collect();
        assert!(answers.iter().any(|answer| *answer >= Answer::Deny), "{} {answers:?}", player.client.title());
    }
}

#[test]
fn sessions_and_calls_with_odd_names_are_kept_apart_and_counted() {
    for (number, odd) in
        ["../../x", "a/b\n", "\u{202e}'; DROP TABLE facts; --", &"n".repeat(70_000)].into_iter().enumerate()
    {
        for player in players(&Site::new(), 1, |client| format!("{odd}{number}{}", client.word())) {
            player.open();
            let expected = player.client.protocol().rehearsal.expected;
            assert_eq!(player.rounds(&as_it_is), expected, "{} {:.20}", player.client.title(), odd);
        }
    }
}

#[test]
fn whoever_names_every_call_alike_is_counted_all_the_same() {
    for player in players(&Site::new(), 1, |client| format!("alike-{}", client.word())) {
        let rehearsal = &player.client.protocol().rehearsal;
        // Codex tells responses apart in its transcript only, and a rehearsal has none.
        if player.client == Client::Codex || player.client == Client::Qwen {
            continue;
        }
        player.open();
        let answers: Vec<Answer> = (1..=ROUNDS)
            .map(|number| {
                let own = |payload: Value| {
                    let own = format!("toolu_{}_{number}", player.session);
                    let payload = replaced(payload, &own, "toolu_alike");
                    replaced(payload, &format!("call_{number}"), "call")
                };
                player.round(number, &own)
            })
            .collect();
        assert_eq!(answers, rehearsal.expected, "{}", player.client.title());
    }
}

/// A call of a wide response, before and after.
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
fn two_hundred_calls_of_one_response_are_two_hundred_calls_and_nobody_is_warned() {
    const CALLS: usize = 200;
    const AT_ONCE: usize = 5;
    for client in [Client::Claude, Client::Cline] {
        let site = Site::new();
        let words = vec![client.word()];
        let player = Player { site: &site, client, session: "wide".to_owned(), doors: 2, words };
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
            assert_eq!(player.tell("PostToolBatch", &batch), Answer::Pass);
            assert_eq!(count(), CALLS, "the batch lists what was told");
        }
        site.assert_verifies();
    }
}

/// Cursor's documentation names a sub-agent when it begins, and not when it ends.
#[test]
fn sub_agents_that_end_without_a_name_make_room() {
    let site = Site::new();
    let player =
        Player { site: &site, client: Client::Cursor, session: "room".to_owned(), doors: 2, words: vec!["cursor"] };
    player.open();
    for number in 0..7 {
        let mut start = player.payload("subagentStart", number, false);
        start["subagent_id"] = json!(format!("agent-{number}"));
        start["parent_conversation_id"] = json!(player.session);
        assert_eq!(player.tell("subagentStart", &start), Answer::Pass, "{number}");
        player.tell("subagentStop", &player.payload("subagentStop", number, false));
    }
    let ends = facts(&site).into_iter().filter(|fact| fact["fact"].pointer("/tree/agent_ended").is_some());
    assert_eq!(ends.count(), 7);
}

/// Where silence may count as a refusal, a payload that says nothing is answered every time.
#[test]
fn an_unreadable_payload_is_answered_as_often_as_it_comes_where_the_client_waits() {
    let site = Site::new();
    let player =
        Player { site: &site, client: Client::Cursor, session: String::new(), doors: 1, words: vec!["cursor"] };
    for _again in 0..3 {
        assert_eq!(finish(player.begin(0, b"[]")), "{}\n");
    }
}
