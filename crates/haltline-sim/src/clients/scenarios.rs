//! What every client goes through: a failing loop, a cycle, good work, sub-agents, a budget, a broken haltline, and an
//! installation that leaves no trace.
//!
//! The scenarios examine only what the model received and what really ran, so they are the same for all clients. What a
//! client cannot do is in its row of promises, and is checked as well: a row that promises too little fails too.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use haltline_agents::Client;
use serde_json::Value;

use super::drivers::{self, Driver};
use super::exchange::Exchange;
use super::outcome::Outcome;
use super::plan::{Session, Stage};
use super::sandbox::Sandbox;
use super::script::{Script, ScriptStep, shell, spawn};

/// The client under test, and the two programs whose paths cargo gives only to tests.
#[derive(Clone, Copy)]
pub struct ClientTest<'a> {
    pub client: Client,
    /// The program `client-run`.
    pub runner: &'a str,
    /// The program `haltline`.
    pub haltline: &'a str,
}

/// Cooldowns that last longer than any test: on a busy machine a turn of some clients takes longer than the built-in
/// ones, and a probe would let a call through.
const LONG_COOLDOWNS: &str = "[loop.tool_failure]\ncooldown_base_seconds = 3600\n[loop.repeat]\n\
    cooldown_base_seconds = 3600\n[loop.cycle]\ncooldown_base_seconds = 3600\n[loop.interleaved]\n\
    cooldown_base_seconds = 3600\n[loop.same_error]\ncooldown_base_seconds = 3600\n";

/// No client needs more turns until haltline ends it.
const TURNS_MAX: usize = 30;

impl ClientTest<'_> {
    /// A sandbox with haltline's hooks and the programs of the scripts.
    pub fn sandbox(&self, config: &str) -> Sandbox {
        let sandbox = Sandbox::with_haltline(self.client, self.runner, self.haltline, config);
        put_programs(&sandbox);
        sandbox
    }

    /// Runs the first of these scripts.
    pub fn play(&self, sandbox: &Sandbox, scripts: &[Script]) -> Outcome {
        let outcome = sandbox.run(scripts, &[Stage::Clients(vec![self.session(&scripts[0])])]);
        assert!(!outcome.session().is_overdue, "{}", outcome.session().errors);
        outcome
    }

    /// Runs the first of these scripts; returns the number of responses in total, and the tokens that haltline counted.
    pub fn spent(&self, scripts: &[Script]) -> (usize, u64) {
        let sandbox = self.sandbox("");
        let export = format!("HALTLINE_STATE_DIR={} haltline journal export", sandbox.state().display());
        let stages = [Stage::Clients(vec![self.session(&scripts[0])]), Stage::Command(export)];
        let outcome = sandbox.run(scripts, &stages);
        let responses = scripts.iter().map(|script| outcome.requests(&script.name).len()).sum();
        let facts = outcome.commands[0].output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        (responses, facts.filter_map(|line| line["fact"]["tree"]["spent"]["tokens"].as_u64()).sum())
    }

    /// A session in which the hooks run although nobody has trusted them.
    pub fn session(&self, script: &Script) -> Session {
        Session::from_script(script).with_arguments(self.driver().trust_arguments)
    }

    fn driver(&self) -> &'static Driver {
        drivers::installed(self.client)
    }

    /// A command that fails in the same way again and again: haltline warns, denies, and ends the turn.
    pub fn a_failing_loop_ends(&self) {
        let promises = &self.driver().promises;
        let sandbox = self.sandbox(LONG_COOLDOWNS);
        let outcome = self.play(&sandbox, &[Script::repeating("again", vec![shell_step("./fail")], TURNS_MAX)]);
        let texts_by_request = haltline_texts(&outcome, "again");
        let texts = texts_by_request.concat();
        let is_denial = |text: &String| text.contains(": denied") || text.contains(": stopped");
        assert!(sandbox.lines("ran.txt").len() <= 4, "{} times; {texts_by_request:#?}", sandbox.lines("ran.txt").len());
        // haltline denies a repeated failure with another code than a repeated equal result.
        assert_eq!(
            texts.iter().any(|text| text.contains("HL-FAIL-01")),
            promises.sees_failures.is_kept(),
            "{texts_by_request:#?}"
        );
        assert_eq!(texts.iter().any(|text| !is_denial(text)), promises.warns.is_kept(), "{texts_by_request:#?}");
        assert_eq!(texts.iter().any(is_denial), promises.denies.is_kept(), "{texts_by_request:#?}");
        self.assert_ended(&outcome, "again");
        assert_no_text_twice(&texts);
    }

    /// Two alternating commands, neither of which prints anything new.
    pub fn a_circle_ends(&self) {
        let sandbox = self.sandbox(LONG_COOLDOWNS);
        let outcome =
            self.play(&sandbox, &[Script::repeating("circle", vec![shell_step("./a"), shell_step("./b")], TURNS_MAX)]);
        assert!(sandbox.lines("ran.txt").len() <= 14, "{:?}", sandbox.lines("ran.txt"));
        assert_no_text_twice(&haltline_texts(&outcome, "circle").concat());
        self.assert_ended(&outcome, "circle");
    }

    /// Checks whether haltline ended the client before the script did, as the client's row promises.
    fn assert_ended(&self, outcome: &Outcome, script: &str) {
        let requests = outcome.requests(script).len();
        let is_ended = requests <= TURNS_MAX / 2;
        assert_eq!(is_ended, self.driver().promises.stops.is_kept(), "{requests} requests");
    }

    /// Work that makes progress, with the same check failing twelve times on the way.
    pub fn good_work_is_untouched(&self) {
        let sandbox = self.sandbox("");
        let check = "#!/bin/sh\necho \"expected 12, found $(cat count.txt)\"\ngrep -q 'count = 12' count.txt\n";
        sandbox.write("project/check", check);
        let turn = |number| {
            [shell_step("./check"), shell_step(&format!("sed -i 's/= {number}$/= {}/' count.txt", number + 1))]
        };
        let mut steps: Vec<ScriptStep> = (0..12).flat_map(turn).collect();
        steps.push(shell_step("./check"));
        let turns = steps.len();
        let outcome = self.play(&sandbox, &[Script::new("fix", steps)]);
        assert_eq!(sandbox.lines("count.txt"), ["count = 12"]);
        assert_untouched(&outcome, "fix", turns);
    }

    /// A loop inside a sub-agent.
    pub fn a_sub_agent_in_a_loop_is_stopped(&self) {
        let sandbox = self.sandbox(LONG_COOLDOWNS);
        // Some clients do not wait for a sub-agent, and end it together with the agent that started it.
        let wait = "for _ in $(seq 50); do [ -e finished ] && break; sleep 0.1; done";
        let parent = Script::new("parent", vec![ScriptStep::Call(spawn("child")), shell_step(wait)]);
        let mut steps = vec![shell_step("./fail"); 12];
        steps.push(shell_step("touch finished"));
        let outcome = self.play(&sandbox, &[parent, Script::new("child", steps)]);
        let texts_by_request = haltline_texts(&outcome, "child");
        assert!(!texts_by_request.is_empty(), "the sub-agent began");
        let is_stopped = sandbox.lines("ran.txt").len() <= 4;
        assert_eq!(
            is_stopped,
            self.driver().promises.sub_agents.is_kept(),
            "{:?} {texts_by_request:#?}",
            sandbox.lines("ran.txt")
        );
    }

    /// A budget of 6,000 tokens and responses of 1,000 each.
    pub fn a_budget_is_kept(&self) {
        let sandbox = self.sandbox("[budget]\ntokens_hard = 6000\n");
        let steps: Vec<ScriptStep> = (1..=20).map(|number| shell_step(&format!("echo {number} >> ran.txt"))).collect();
        self.play(&sandbox, &[Script::new("spend", steps).using(900, 100)]);
        let ran = sandbox.lines("ran.txt").len();
        let is_kept = (4..=9).contains(&ran);
        assert!(is_kept || ran == 20, "{ran} calls ran");
        assert_eq!(is_kept, self.driver().promises.cost.is_kept(), "{ran} calls ran");
    }

    /// A haltline that is missing, one that crashes, one that prints garbage, and one that cannot write its state.
    pub fn a_broken_haltline_is_in_nobodys_way(&self) {
        let crashing = "#!/bin/sh\nkill -SEGV $$\n";
        let babbling = "#!/bin/sh\necho this is no JSON\nexit 1\n";
        for program in [None, Some(crashing), Some(babbling)] {
            let sandbox = self.sandbox("");
            match program {
                None => fs::remove_file(sandbox.haltline()).expect("it was there"),
                Some(text) => sandbox.write("programs/haltline", text),
            }
            let steps = vec![shell_step("echo 1 >> ran.txt"), shell_step("./fail"), shell_step("echo 2 >> ran.txt")];
            let outcome = self.play(&sandbox, &[Script::new("work", steps)]);
            let went_on = sandbox.lines("ran.txt") == ["1", "ran", "2"];
            let (is_promised, ran) = (self.driver().promises.fails_open.is_kept(), sandbox.lines("ran.txt"));
            assert_eq!(went_on, is_promised, "{program:?}: {ran:?} {:#?}", outcome.session().errors);
        }
        let sandbox = self.sandbox("");
        sandbox.write("state", "not a folder\n");
        // A cycle, because some clients themselves end a run that repeats the same call.
        let steps = (1..=4).flat_map(|_| [shell_step("./fail"), shell_step("./a")]).collect();
        let outcome = self.play(&sandbox, &[Script::new("unkept", steps)]);
        assert_eq!(sandbox.lines("ran.txt").len(), 8);
        assert_untouched(&outcome, "unkept", 8);
    }

    /// `init` and `uninstall`, with `before` as the user's settings; `None` if there are none.
    pub fn an_installation_leaves_no_trace(&self, before: Option<&str>) {
        // `uninstall` is an operator action, and there is no terminal here on which to ask the operator.
        let sandbox = Sandbox::with_program(self.client, self.runner, self.haltline, "[operator]\nunattended = true\n");
        if let Some(before) = before {
            sandbox.settings(before);
        }
        let home = sandbox.root().join("home");
        fs::create_dir_all(home.join(".local/state")).expect("created");
        let as_it_was = tree(&home);
        let word = self.client.cli_name();
        let command = |command: String| Stage::Command(format!("haltline {command}"));
        let init = sandbox.run(&[], &[command(format!("init --client {word} --yes")), command("doctor".to_owned())]);
        assert_eq!(init.commands[0].exit, Some(0), "{}", init.commands[0].output);
        assert_ne!(tree(&home), as_it_was, "something was installed");
        assert!(init.commands[1].output.contains("haltline warned the agent"), "{}", init.commands[1].output);
        let uninstall = sandbox.run(&[], &[command(format!("uninstall --client {word}"))]);
        assert_eq!(uninstall.commands[0].exit, Some(0), "{}", uninstall.commands[0].output);
        assert_eq!(tree(&home), as_it_was, "byte for byte");
    }
}

/// Writes the programs of the scripts. Each appends a line when it runs, so a denied call leaves no line.
pub fn put_programs(sandbox: &Sandbox) {
    sandbox.write("project/fail", "#!/bin/sh\necho ran >> ran.txt\necho no such table: users\nexit 1\n");
    sandbox.write("project/a", "#!/bin/sh\necho a >> ran.txt\necho nothing new in a\n");
    sandbox.write("project/b", "#!/bin/sh\necho b >> ran.txt\necho nothing new in b\n");
}

/// A response with one command.
pub fn shell_step(command: &str) -> ScriptStep {
    ScriptStep::Call(shell(command))
}

/// The texts of haltline in each request.
pub fn haltline_texts(outcome: &Outcome, script: &str) -> Vec<Vec<String>> {
    outcome.requests(script).into_iter().map(Exchange::haltline_texts).collect()
}

/// The script ran to its end and the model received no text of haltline.
pub fn assert_untouched(outcome: &Outcome, script: &str, turns: usize) {
    let texts_by_request = haltline_texts(outcome, script);
    assert_eq!(texts_by_request.concat(), Vec::<String>::new());
    assert_eq!(
        texts_by_request.len(),
        turns + 1,
        "one request for each turn and one for the end; {}",
        outcome.session().errors
    );
}

/// haltline never repeats the text of a denial (E5).
pub fn assert_no_text_twice(texts: &[String]) {
    for (index, text) in texts.iter().enumerate() {
        assert!(!texts[..index].contains(text), "said twice: {text}");
    }
}

/// All files below a folder except haltline's own, with their content.
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
