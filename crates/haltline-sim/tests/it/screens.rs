//! No screen contradicts another: random histories over all five breakers, played through the binary, after which
//! `status`, `statusline`, `why`, the breakers' own screens and the journal are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use haltline_core::Instant;
use haltline_sim::chance::Chance;
use serde_json::Value;
use tempfile::TempDir;

const HISTORIES: u64 = 6;
const STEPS: u64 = 24;
/// The screens are compared after this many steps.
const COMPARED_EVERY: u64 = 6;
const DAY_MS: i64 = 86_400_000;
const RULE: &str = "---\nid: ID\nstatus: active\ncircuit_breaker:\n  violation_threshold: 2\n---\n";

struct World {
    folder: TempDir,
    now: Instant,
    calls: u64,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temp folder");
        let project = folder.path().join("project");
        fs::create_dir_all(project.join(".git")).expect("created");
        fs::create_dir_all(project.join("docs/constraints/active")).expect("created");
        for id in ["no-a", "no-b", "no-c"] {
            let file = project.join(format!("docs/constraints/active/{id}.md"));
            fs::write(file, RULE.replace("ID", id)).expect("written");
        }
        fs::write(folder.path().join("config.toml"), "[operator]\nunattended = true\n").expect("written");
        let now = Instant::parse("2026-02-01T10:00:00.250Z").expect("an instant");
        let world = Self { folder, now, calls: 0 };
        let trust = format!("{} trust", env!("CARGO_BIN_EXE_haltline-at"));
        let confirmed = world.output("script", &["-qec", &trust, "/dev/null"], "");
        assert!(confirmed.starts_with("Trusted:"), "{confirmed}");
        world
    }

    fn run_with(&self, arguments: &[&str], input: &str) -> String {
        self.output("setsid", &[&["--wait", env!("CARGO_BIN_EXE_haltline-at")], arguments].concat(), input)
    }

    fn output(&self, program: &str, arguments: &[&str], input: &str) -> String {
        let home = self.folder.path();
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(home.join("project"))
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("TZ", "UTC")
            .env("HALTLINE_AT", self.now.to_string())
            .env("HALTLINE_STATE_DIR", home.join("state"))
            .env("HALTLINE_CONFIG", home.join("config.toml"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("setsid of util-linux is there");
        // A command that needs no input may be over already.
        child.stdin.take().expect("piped").write_all(input.as_bytes()).ok();
        let output = child.wait_with_output().expect("it ends");
        String::from_utf8(output.stdout).expect("text")
    }

    fn run(&self, arguments: &[&str]) -> String {
        self.run_with(arguments, "")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.run(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
    }

    /// A session runs the same failing command.
    fn fail(&mut self, session: &str, command: &str) {
        self.calls += 1;
        let (at, call) = (self.now, self.calls);
        let both = format!(r#""v":1,"ts":"{at}","session":"{session}","call":"c{call}""#);
        let start = format!(r#"{{{both},"type":"tool_start","tool":"Bash","input":{{"command":"{command}"}}}}"#);
        let end = format!(r#"{{{both},"type":"tool_end","outcome":"failed","exit":1,"output":"error of {command}"}}"#);
        self.run_with(&["event"], &format!("{start}\n{end}\n"));
    }

    fn prompt(&self, session: &str) {
        let at = self.now;
        let event =
            format!(r#"{{"v":1,"ts":"{at}","session":"{session}","type":"prompt","source":"user","text":"go"}}"#);
        self.run_with(&["event"], &format!("{event}\n"));
    }

    fn step(&mut self, chance: &mut Chance) {
        let millis = [10, 1_500, 7_000, 400_000, 3_700_000, DAY_MS / 2][chance.index(6)];
        self.now = self.now.plus_millis(millis);
        let id = ["no-a", "no-b"][chance.index(2)];
        let session = ["one", "two"][chance.index(2)];
        match chance.index(14) {
            0..=2 => (0..4).for_each(|_| self.fail(session, "npm test")),
            3 => self.fail(session, "make"),
            4 => self.prompt(session),
            5..=6 => drop(self.run(&["constraint", "record", id, "--action", "x"])),
            7 => drop(self.run(&["constraint", ["pass", "reset"][chance.index(2)], id])),
            8..=9 => {
                self.run(&["phase", "begin", "GREEN"]);
                for _ in 0..3 {
                    self.run(&["phase", "report", "--metric", "tests_passing=3", "--metric", "tests_total=9"]);
                }
            }
            10 => drop(self.run(&["phase", "decide", ["reset", "skip", "abort"][chance.index(3)]])),
            11 => {
                self.run(&["attempt", "begin", "--slice", "S-1", "--in-scope", "src/"]);
                for strategy in ["one", "two", "three"] {
                    let test = ["attempt", "record", "--slice", "S-1", "--test", "t", "--result", "fail", "--strategy"];
                    self.run(&[&test[..], &[strategy]].concat());
                }
            }
            12 => drop(self.run(&["attempt", "reset", "--slice", "S-1", "--guidance", "think"])),
            _claims => {
                self.run(&["claim", "advance-stage", "S1"]);
                self.run(&["claim", "add", "C-1", "--text", "T"]);
                for _ in 0..3 {
                    self.run(&["claim", "round", "C-1", "--objection", "same thing", "--answer", "no"]);
                }
                if chance.index(3) == 0 {
                    self.run(&["claim", "resolve", "drop", "C-1", "--rationale", "enough"]);
                }
            }
        }
    }

    /// The incidents that began in the last 24 hours, as the exported journal records them.
    fn recorded_trips(&self) -> BTreeSet<String> {
        let since = self.now.plus_millis(-DAY_MS);
        let mut trips = BTreeSet::new();
        for line in self.run(&["journal", "export"]).lines() {
            let entry: Value = serde_json::from_str(line).expect("a line of JSON");
            let (kind, at) = (entry["word"].as_str(), entry["at"].as_str().expect("a time"));
            if matches!(kind, Some("tripped" | "limited" | "disputed")) && Instant::parse(at).expect("a time") > since {
                trips.extend(find_incident(&entry["fact"]));
            }
        }
        trips
    }

    fn compare(&self, history: &str) {
        let status = self.json(&["status"]);
        let line = self.json(&["statusline"]);
        let circuits = |value: &Value| -> BTreeMap<String, String> {
            let list = value.as_array().expect("a list");
            list.iter().map(|one| (key(one), one["state"].to_string())).collect()
        };
        let (needs, half_open) = (circuits(&status["needs"]), circuits(&status["half_open"]));
        let all: BTreeMap<String, String> = needs.clone().into_iter().chain(half_open.clone()).collect();
        assert_eq!(all, circuits(&line["circuits"]), "{history}: status and statusline");
        assert_eq!(status["summary"]["open"], line["open"], "{history}");
        assert_eq!(status["summary"]["half_open"], line["half_open"], "{history}");
        assert_eq!(needs.len() as u64, status["summary"]["open"], "{history}");
        assert_eq!(half_open.len() as u64, status["summary"]["half_open"], "{history}");
        let short = self.run(&["statusline", "--segment"]);
        assert_eq!(short.starts_with("stopped: "), !needs.is_empty(), "{history}: {short}");
        assert_eq!(short.starts_with("half-open: "), needs.is_empty() && !half_open.is_empty(), "{history}: {short}");
        let text = self.run(&["status"]);
        let first = match needs.len() {
            0 => "Nothing needs you.".to_owned(),
            1 => "1 thing needs you:".to_owned(),
            more => format!("{more} things need you:"),
        };
        assert_eq!(text.lines().next(), Some(first.as_str()), "{history}: {text}");
        for circuit in status["needs"].as_array().into_iter().chain(status["half_open"].as_array()).flatten() {
            let Some(incident) = circuit["incident"].as_str() else { continue };
            let why = self.json(&["why", incident]);
            for name in ["incident", "circuit", "state", "code", "pattern", "remaining_s"] {
                // `why` knows the rest of a cooldown for sessions only.
                if name == "remaining_s" && circuit["breaker"] != "loop" {
                    continue;
                }
                assert_eq!(circuit[name], why[name], "{history}: {name} of {incident}: {circuit} {why}");
            }
            assert!(text.contains(incident) || needs.len() > 8, "{history}: {incident}: {text}");
        }
        self.compare_with_breakers(&status, history);
        self.assert_times_hold(&status, history);
        let trips = self.compare_incidents(&status, history);
        assert_eq!(status["incidents_24h"], trips.len() as u64, "{history}: {trips:?}");
        let by_breaker = status["breakers"].as_array().expect("a list").iter().map(|one| one["incidents_24h"].as_u64());
        assert_eq!(by_breaker.flatten().sum::<u64>(), trips.len() as u64, "{history}");
        let everywhere = self.json(&["status", "--all"]);
        assert_eq!(everywhere["projects"][0]["needs"], status["needs"], "{history}");
    }

    /// Compares `incidents` with `status`, `why` and the journal; returns the causes of the last 24 hours.
    fn compare_incidents(&self, status: &Value, history: &str) -> BTreeSet<String> {
        let list = self.json(&["incidents", "--limit", "1000"]);
        let incidents = list["incidents"].as_array().expect("a list");
        let id_of = |one: &Value| one["incident"].as_str().unwrap_or_default().to_owned();
        let unclosed = |name: &str| -> BTreeSet<String> {
            let listed = status[name].as_array().expect("a list").iter().map(&id_of);
            listed.filter(|id| !id.is_empty()).collect()
        };
        let of_status: BTreeSet<String> = unclosed("needs").union(&unclosed("half_open")).cloned().collect();
        let open: BTreeSet<String> = incidents.iter().filter(|one| one["is_open"] == true).map(&id_of).collect();
        assert!(of_status.is_subset(&open), "{history}: {of_status:?} {open:?}");
        assert_eq!(list["open"], open.len() as u64, "{history}");
        let mut causes = BTreeMap::new();
        for one in incidents {
            let id = id_of(one);
            for earlier in one["earlier"].as_array().expect("a list") {
                causes.insert(earlier.as_str().expect("an id").to_owned(), id.clone());
            }
            let why = self.json(&["why", &id]);
            for name in
                ["incident", "breaker", "circuit", "pattern", "code", "state", "tripped", "why", "about", "earlier"]
            {
                // `why` also reads the journal, where a later denial may name the call.
                if name == "about" && one[name].is_null() {
                    continue;
                }
                assert_eq!(one[name], why[name], "{history}: {name} of {id}: {one} {why}");
            }
            assert_eq!(one["is_open"] == false, why["ended"].is_object(), "{history}: {one} {why}");
            assert!(why["evidence"].as_array().is_some_and(|list| !list.is_empty()), "{history}: {why}");
            causes.insert(id.clone(), id);
        }
        let cause = |id: String| causes.get(&id).cloned().unwrap_or_else(|| panic!("{history}: {id} is not listed"));
        self.recorded_trips().into_iter().map(cause).collect()
    }

    /// No screen names the end of a cooldown that is over, and what is HALF_OPEN says since when and what closes it.
    fn assert_times_hold(&self, status: &Value, history: &str) {
        let at = |value: &Value| value.as_str().map(|text| Instant::parse(text).expect("an instant"));
        for circuit in status["needs"].as_array().into_iter().chain(status["half_open"].as_array()).flatten() {
            assert!(at(&circuit["until"]).is_none_or(|until| until > self.now), "{history}: {circuit}");
            assert!(at(&circuit["since"]).is_some_and(|since| since <= self.now), "{history}: {circuit}");
            let is_half_open = circuit["state"] == "HALF_OPEN";
            assert_eq!(circuit["closes"].is_string(), is_half_open, "{history}: {circuit}");
            if let (true, Some(incident)) = (is_half_open, circuit["incident"].as_str()) {
                let why = self.json(&["why", incident]);
                assert_eq!(
                    (&why["half_open_since"], &why["closes"]),
                    (&circuit["since"], &circuit["closes"]),
                    "{history}"
                );
                assert!(why["until"].is_null(), "{history}: {why}");
            }
        }
    }

    /// Compares `status` with what each breaker shows of itself.
    fn compare_with_breakers(&self, status: &Value, history: &str) {
        let of = |breaker: &str, list: &str| {
            let listed = status[list].as_array().expect("a list").iter();
            listed.filter(|one| one["breaker"] == breaker).count() as u64
        };
        let constraints = self.json(&["constraint", "status", "--all"]);
        assert_eq!(constraints["summary"]["open"], of("constraint", "needs"), "{history}: {constraints}");
        assert_eq!(constraints["summary"]["half_open"], of("constraint", "half_open"), "{history}: {constraints}");
        for run in status["courses"].as_array().expect("a list") {
            let expected = match run["state"].as_str() {
                Some("OPEN") => (1, 0),
                Some("HALF_OPEN") => (0, 1),
                _closed_or_over => (0, 0),
            };
            assert_eq!((of("phase", "needs"), of("phase", "half_open")), expected, "{history}: {run}");
        }
        let open = status["slices"].as_array().expect("a list").iter().filter(|slice| slice["state"] == "OPEN").count();
        assert_eq!(of("attempt", "needs"), open as u64, "{history}");
        assert_eq!(of("claim", "needs"), status["disputes"].as_array().expect("a list").len() as u64, "{history}");
    }
}

fn key(circuit: &Value) -> String {
    format!("{} {} {}", circuit["breaker"], circuit["circuit"], circuit["incident"])
}

/// The first value under the key `incident`, at any depth.
fn find_incident(value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("incident").and_then(Value::as_str).map(str::to_owned);
            own.or_else(|| fields.values().find_map(find_incident))
        }
        Value::Array(values) => values.iter().find_map(find_incident),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[test]
fn no_screen_contradicts_another_over_random_histories() {
    let mut tripped = BTreeSet::new();
    for seed in 0..HISTORIES {
        let mut chance = Chance::new(seed);
        let mut world = World::new();
        for step in 1..=STEPS {
            world.step(&mut chance);
            if step % COMPARED_EVERY == 0 {
                world.compare(&format!("seed {seed}, step {step}"));
            }
        }
        let breakers = world.json(&["status"]);
        for one in breakers["breakers"].as_array().expect("a list") {
            if one["open"] != 0 || one["half_open"] != 0 || one["incidents_24h"] != 0 {
                tripped.insert(one["breaker"].to_string());
            }
        }
    }
    assert_eq!(tripped.len(), 5, "every breaker trips in some history: {tripped:?}");
}
