//! What every client goes through: a loop that fails, one that goes in a circle, good work, sub-agents, a budget, a
//! haltline that is broken, and an installation that leaves no trace.
//!
//! They look only at what the model was asked and at what really ran, so they are the same for all. What a client cannot
//! do is in its row of promises, and is held against it as well: a row that promises too little fails too.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use haltline_agents::Client;
use serde_json::Value;

use super::drivers::{self, Driver};
use super::exchange::Exchange;
use super::outcome::Outcome;
use super::place::Place;
use super::plan::{Session, Stage};
use super::script::{Script, Step, shell, spawn};

/// What a test brings: whom, and the two programs that cargo names only to tests.
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    /// The client.
    pub client: Client,
    /// The program `client-run`.
    pub runner: &'a str,
    /// haltline.
    pub haltline: &'a str,
}

/// Cooldowns that last longer than any test: on a busy machine a turn of some clients takes longer than those built in, and
/// a call would be tried again.
const UNTIL_MORNING: &str = "[loop.tool_failure]\ncooldown_base_seconds = 3600\n[loop.repeat]\n\
    cooldown_base_seconds = 3600\n[loop.cycle]\ncooldown_base_seconds = 3600\n[loop.interleaved]\n\
    cooldown_base_seconds = 3600\n[loop.same_error]\ncooldown_base_seconds = 3600\n";

/// No client needs more turns to be ended.
const TURNS_MAX: usize = 30;

impl Trial<'_> {
    /// A place with haltline's hooks and the programs of the scripts.
    pub fn place(&self, config: &str) -> Place {
        let place = Place::with_haltline(self.client, self.runner, self.haltline, config);
        put_programs(&place);
        place
    }

    /// Plays the first of these scripts.
    pub fn play(&self, place: &Place, scripts: &[Script]) -> Outcome {
        let outcome = place.run(scripts, &[Stage::Clients(vec![self.session(&scripts[0])])]);
        assert!(!outcome.session().is_overdue, "{}", outcome.session().errors);
        outcome
    }

    /// Plays the first of these scripts: how many responses there were in all, and how many tokens haltline counted.
    pub fn spent(&self, scripts: &[Script]) -> (usize, u64) {
        let place = self.place("");
        let export = format!("HALTLINE_STATE_DIR={} haltline journal export", place.state().display());
        let stages = [Stage::Clients(vec![self.session(&scripts[0])]), Stage::Command(export)];
        let outcome = place.run(scripts, &stages);
        let responses = scripts.iter().map(|script| outcome.requests(&script.name).len()).sum();
        let facts = outcome.commands[0].output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        (responses, facts.filter_map(|line| line["fact"]["tree"]["spent"]["tokens"].as_u64()).sum())
    }

    /// A session in which the hooks run though nobody was there to trust them.
    pub fn session(&self, script: &Script) -> Session {
        Session::of(script).with(self.driver().trusting)
    }

    fn driver(&self) -> &'static Driver {
        drivers::installed(self.client)
    }

    /// A command that fails in the same way again and again: warned of, refused, ended.
    pub fn a_failing_loop_ends(&self) {
        let promises = &self.driver().promises;
        let place = self.place(UNTIL_MORNING);
        let outcome = self.play(&place, &[Script::repeating("again", vec![one("./fail")], TURNS_MAX)]);
        let told = told(&outcome, "again");
        let texts = told.concat();
        let is_refusal = |text: &String| text.contains(": refused") || text.contains(": stopped");
        assert!(place.lines("ran.txt").len() <= 4, "{} times; {told:#?}", place.lines("ran.txt").len());
        // A failure is refused by another code than the same good answer again.
        assert_eq!(texts.iter().any(|text| text.contains("HL-FAIL-01")), promises.sees_failures.is_kept(), "{told:#?}");
        assert_eq!(texts.iter().any(|text| !is_refusal(text)), promises.warns.is_kept(), "{told:#?}");
        assert_eq!(texts.iter().any(is_refusal), promises.refuses.is_kept(), "{told:#?}");
        self.assert_ended(&outcome, "again");
        assert_no_text_twice(&texts);
    }

    /// Two commands in turn, of which neither says anything new.
    pub fn a_circle_ends(&self) {
        let place = self.place(UNTIL_MORNING);
        let outcome = self.play(&place, &[Script::repeating("circle", vec![one("./a"), one("./b")], TURNS_MAX)]);
        assert!(place.lines("ran.txt").len() <= 14, "{:?}", place.lines("ran.txt"));
        assert_no_text_twice(&told(&outcome, "circle").concat());
        self.assert_ended(&outcome, "circle");
    }

    /// Whether the client came to no end of its own.
    fn assert_ended(&self, outcome: &Outcome, script: &str) {
        let requests = outcome.requests(script).len();
        let is_ended = requests <= TURNS_MAX / 2;
        assert_eq!(is_ended, self.driver().promises.stops.is_kept(), "{requests} requests");
    }

    /// Work that moves on, with the same check failing twelve times on its way.
    pub fn good_work_is_untouched(&self) {
        let place = self.place("");
        let check = "#!/bin/sh\necho \"expected 12, found $(cat count.txt)\"\ngrep -q 'count = 12' count.txt\n";
        place.write("project/check", check);
        let turn = |number| [one("./check"), one(&format!("sed -i 's/= {number}$/= {}/' count.txt", number + 1))];
        let mut steps: Vec<Step> = (0..12).flat_map(turn).collect();
        steps.push(one("./check"));
        let turns = steps.len();
        let outcome = self.play(&place, &[Script::new("fix", steps)]);
        assert_eq!(place.lines("count.txt"), ["count = 12"]);
        assert_untouched(&outcome, "fix", turns);
    }

    /// A loop inside a sub-agent.
    pub fn a_sub_agent_in_a_loop_is_held(&self) {
        let place = self.place(UNTIL_MORNING);
        // Some clients do not wait for a sub-agent, and end it with the agent that started it.
        let wait = "for _ in $(seq 50); do [ -e finished ] && break; sleep 0.1; done";
        let parent = Script::new("parent", vec![Step::Call(spawn("child")), one(wait)]);
        let mut steps = vec![one("./fail"); 12];
        steps.push(one("touch finished"));
        let outcome = self.play(&place, &[parent, Script::new("child", steps)]);
        let told = told(&outcome, "child");
        assert!(!told.is_empty(), "the sub-agent began");
        let is_held = place.lines("ran.txt").len() <= 4;
        assert_eq!(is_held, self.driver().promises.sub_agents.is_kept(), "{:?} {told:#?}", place.lines("ran.txt"));
    }

    /// A budget of 6,000 tokens and responses of 1,000 each.
    pub fn a_budget_is_kept(&self) {
        let place = self.place("[budget]\ntokens_hard = 6000\n");
        let steps: Vec<Step> = (1..=20).map(|number| one(&format!("echo {number} >> ran.txt"))).collect();
        self.play(&place, &[Script::new("spend", steps).using(900, 100)]);
        let ran = place.lines("ran.txt").len();
        let is_kept = (4..=9).contains(&ran);
        assert!(is_kept || ran == 20, "{ran} calls ran");
        assert_eq!(is_kept, self.driver().promises.cost.is_kept(), "{ran} calls ran");
    }

    /// haltline that is missing, that crashes, that babbles, and one that cannot keep anything.
    pub fn a_broken_haltline_is_in_nobodys_way(&self) {
        let crashing = "#!/bin/sh\nkill -SEGV $$\n";
        let babbling = "#!/bin/sh\necho this is no JSON\nexit 1\n";
        for program in [None, Some(crashing), Some(babbling)] {
            let place = self.place("");
            match program {
                None => fs::remove_file(place.haltline()).expect("it was there"),
                Some(text) => place.write("programs/haltline", text),
            }
            let steps = vec![one("echo 1 >> ran.txt"), one("./fail"), one("echo 2 >> ran.txt")];
            let outcome = self.play(&place, &[Script::new("work", steps)]);
            let went_on = place.lines("ran.txt") == ["1", "ran", "2"];
            let (is_promised, ran) = (self.driver().promises.fails_open.is_kept(), place.lines("ran.txt"));
            assert_eq!(went_on, is_promised, "{program:?}: {ran:?} {:#?}", outcome.session().errors);
        }
        let place = self.place("");
        place.write("state", "not a folder\n");
        // A circle, because some clients end the very same call themselves.
        let steps = (1..=4).flat_map(|_| [one("./fail"), one("./a")]).collect();
        let outcome = self.play(&place, &[Script::new("unkept", steps)]);
        assert_eq!(place.lines("ran.txt").len(), 8);
        assert_untouched(&outcome, "unkept", 8);
    }

    /// `init` and `uninstall`, with `before` as the settings a person has; `None` where there are none.
    pub fn an_installation_leaves_no_trace(&self, before: Option<&str>) {
        // `uninstall` is for people; there is no terminal here to ask one at.
        let place = Place::with_program(self.client, self.runner, self.haltline, "[operator]\nunattended = true\n");
        if let Some(before) = before {
            place.settings(before);
        }
        let home = place.root().join("home");
        fs::create_dir_all(home.join(".local/state")).expect("created");
        let as_it_was = tree(&home);
        let word = self.client.word();
        let command = |command: String| Stage::Command(format!("haltline {command}"));
        let init = place.run(&[], &[command(format!("init --client {word} --yes")), command("doctor".to_owned())]);
        assert_eq!(init.commands[0].exit, Some(0), "{}", init.commands[0].output);
        assert_ne!(tree(&home), as_it_was, "something was installed");
        assert!(init.commands[1].output.contains("a loop is warned of"), "{}", init.commands[1].output);
        let uninstall = place.run(&[], &[command(format!("uninstall --client {word}"))]);
        assert_eq!(uninstall.commands[0].exit, Some(0), "{}", uninstall.commands[0].output);
        assert_eq!(tree(&home), as_it_was, "byte for byte");
    }
}

/// The programs of the scripts. Each writes down that it ran: what was refused left no line.
pub fn put_programs(place: &Place) {
    place.write("project/fail", "#!/bin/sh\necho ran >> ran.txt\necho no such table: users\nexit 1\n");
    place.write("project/a", "#!/bin/sh\necho a >> ran.txt\necho nothing new in a\n");
    place.write("project/b", "#!/bin/sh\necho b >> ran.txt\necho nothing new in b\n");
}

/// A response with one command.
pub fn one(command: &str) -> Step {
    Step::Call(shell(command))
}

/// What haltline told the model with each request.
pub fn told(outcome: &Outcome, script: &str) -> Vec<Vec<String>> {
    outcome.requests(script).into_iter().map(Exchange::told).collect()
}

/// The script came to its end and the model never heard of haltline.
pub fn assert_untouched(outcome: &Outcome, script: &str, turns: usize) {
    let told = told(outcome, script);
    assert_eq!(told.concat(), Vec::<String>::new());
    assert_eq!(told.len(), turns + 1, "one request for each turn and one for the end; {}", outcome.session().errors);
}

/// A refusal is never repeated word for word (E5).
pub fn assert_no_text_twice(texts: &[String]) {
    for (place, text) in texts.iter().enumerate() {
        assert!(!texts[..place].contains(text), "said twice: {text}");
    }
}

/// All files below a folder but haltline's own, with what is in them.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        let name = folder.display().to_string();
        if name.ends_with("/haltline") {
            continue;
        }
        all.insert(name, "a folder".to_owned());
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file() {
                let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
                all.insert(path.display().to_string(), text);
            }
        }
    }
    all
}
