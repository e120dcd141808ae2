//! Every remedy that a message or `why` names works in that very state: each code is brought about in a real store by the
//! real binary, each remedy is applied to a fresh copy of that state, and the next call must pass.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;

use haltline_core::CODE_PAGES;
use serde_json::Value;

use crate::support::{Answer, HALTLINE, Site};

/// How a code comes about, and what the next attempt is.
enum Case {
    /// Plain events of session `s`; the last one is denied, and is sent again after a remedy.
    Events { config: &'static str, before: Vec<String>, last: String },
    /// Commands; the last one is denied and is run again after a remedy.
    Commands { config: &'static str, before: Vec<Vec<&'static str>>, last: Vec<&'static str> },
    /// Its messages are written by the same code as those of another one that is played here.
    As(&'static str),
    /// It denies nothing that a person could lift, and names no remedy.
    Informs,
}

const OPERATOR: &str = "[operator]\nunattended = true\n";

fn event(kind: &str, fields: &str) -> String {
    format!("{{\"v\":1,\"type\":\"{kind}\",\"ts\":\"2026-02-01T10:00:00.000Z\",\"session\":\"s\"{fields}}}\n")
}

fn start(call: u32, tool: &str, input: &str) -> String {
    event("tool_start", &format!(",\"call\":\"c{call}\",\"tool\":\"{tool}\",\"input\":{input}"))
}

fn end(call: u32, tool: &str, input: &str, result: &str) -> String {
    event("tool_end", &format!(",\"call\":\"c{call}\",\"tool\":\"{tool}\",\"input\":{input},{result}"))
}

/// A whole call.
fn call(number: u32, tool: &str, input: &str, result: &str) -> String {
    start(number, tool, input) + &end(number, tool, input, result)
}

fn read(number: u32, file: &str) -> String {
    call(
        number,
        "Read",
        &format!("{{\"file_path\":\"{file}\"}}"),
        &format!("\"outcome\":\"ok\",\"output\":\"text of {file}\""),
    )
}

fn shell(command: &str) -> String {
    format!("{{\"command\":\"{command}\"}}")
}

fn failing(number: u32, command: &str, output: &str) -> String {
    call(number, "Bash", &shell(command), &format!("\"outcome\":\"failed\",\"exit\":1,\"output\":\"{output}\""))
}

fn write(number: u32) -> String {
    let input = format!("{{\"file_path\":\"a{number}\",\"content\":\"x{number}\"}}");
    call(number, "Write", &input, &format!("\"outcome\":\"ok\",\"output\":\"written {number}\""))
}

fn question(word: &str) -> String {
    format!("{{\"query\":\"how does the parser of the project {word} handle the unicode input text\"}}")
}

fn search(number: u32, word: &str) -> String {
    call(number, "WebSearch", &question(word), "\"outcome\":\"ok\",\"output\":\"no results at all\"")
}

fn spawn(number: u32, task: &str) -> String {
    let result = "\"outcome\":\"ok\",\"output\":\"done\"";
    call(number, "Task", &format!("{{\"prompt\":\"{task}\"}}"), result)
}

fn prompt(text: &str) -> String {
    event("prompt", &format!(",\"source\":\"user\",\"text\":\"{text}\""))
}

fn last_spawn() -> String {
    start(90, "Task", "{\"prompt\":\"one more\"}")
}

fn case(code: &str) -> Option<Case> {
    let events = |config, before, last| Some(Case::Events { config, before, last });
    let oracle = |number| {
        call(number, "Bash", &shell("python oracle.py"), "\"outcome\":\"ok\",\"output\":\"yes\",\"cost_usd\":1.0")
    };
    let ask_oracle = || start(90, "Bash", &shell("python oracle.py"));
    match code {
        "HL-LOOP-01" => events(
            "[loop.repeat]\ncooldown_base_seconds = 3600\n",
            (1..=3).map(|number| read(number, "a")).collect(),
            start(90, "Read", "{\"file_path\":\"a\"}"),
        ),
        "HL-LOOP-02" => events(
            "[loop.cycle]\ncooldown_base_seconds = 3600\n[loop.interleaved]\nenabled = false\n[loop.retread]\nenabled = false\n",
            (1..=6).map(|number| read(number, if number % 2 == 1 { "a" } else { "b" })).collect(),
            start(90, "Read", "{\"file_path\":\"a\"}"),
        ),
        "HL-LOOP-03" => events(
            "[loop.sequential_tools]\nthreshold = 3\ncooldown_base_seconds = 3600\n[loop.repeat]\nenabled = false\n[loop.retread]\nenabled = false\n[loop.interleaved]\nenabled = false\n",
            (1..=3).map(|number| read(number, "a")).collect(),
            start(90, "Read", "{\"file_path\":\"a\"}"),
        ),
        "HL-LOOP-04" => events(
            "[loop.interleaved]\ncooldown_base_seconds = 3600\n[loop.retread]\nenabled = false\n",
            vec![read(1, "a"), read(2, "b"), read(3, "a"), read(4, "c"), read(5, "a"), read(6, "d")],
            start(90, "Read", "{\"file_path\":\"a\"}"),
        ),
        "HL-LOOP-05" => events(
            "[loop.same_error]\ncooldown_base_seconds = 3600\n[loop.cascade]\nenabled = false\n",
            (1..)
                .zip(["npm test", "npm run test", "npx jest", "npm test -- --verbose"])
                .map(|(number, command)| failing(number, command, "error: cannot find module jsonwebtoken"))
                .collect(),
            start(90, "Bash", &shell("npm run test -- --all")),
        ),
        "HL-LOOP-06" => events(
            "[loop.futile_writes]\nwarn = 2\ndeny = 3\ncooldown_base_seconds = 3600\n[loop.tool_failure]\nenabled = false\n[loop.repeat]\nenabled = false\n",
            (1..=2).map(|number| failing(number, "npm test", "jwt is broken") + &write(number + 20)).collect(),
            start(90, "Bash", &shell("npm test")),
        ),
        "HL-LOOP-07" => events(
            "[loop.retread]\nwarn = 3\ndeny = 4\ncooldown_base_seconds = 3600\n[loop.interleaved]\nenabled = false\n[loop.cycle]\nenabled = false\n",
            (1..=13)
                .zip(["b", "c", "d", "e", "a"].into_iter().cycle())
                .map(|(number, file)| read(number, file))
                .collect(),
            start(90, "Read", "{\"file_path\":\"a\"}"),
        ),
        "HL-LOOP-08" => events(
            "[loop.stagnation]\nwarn = 2\ndeny = 3\ncooldown_base_seconds = 3600\n[loop.retread]\nenabled = false\n[loop.interleaved]\nenabled = false\n[loop.same_error]\nenabled = false\n[loop.repeat]\nenabled = false\n",
            (1..).zip(["now", "right now", "right now please"]).map(|(number, word)| search(number, word)).collect(),
            start(90, "WebSearch", &question("right now please do")),
        ),
        "HL-LOOP-10" => events(
            "[loop.compaction]\nwarn = 1\ndeny = 2\ncooldown_base_seconds = 3600\n[loop.repeat]\nenabled = false\n[loop.retread]\nenabled = false\n[loop.interleaved]\nenabled = false\n",
            vec![read(1, "a"), event("compaction", ""), read(2, "a"), event("compaction", "")],
            start(90, "Read", "{\"file_path\":\"a\"}"),
        ),
        "HL-LOOP-11" => events(
            "[loop.cost_growth]\nenabled = true\ncooldown_base_seconds = 3600\n",
            std::iter::repeat_n("0.01", 9)
                .chain(["5.0", "50.0", "500.0"])
                .map(|cost| event("message", &format!(",\"cost_usd\":{cost}")))
                .collect(),
            start(90, "Read", "{\"file_path\":\"a\"}"),
        ),
        "HL-LOOP-12" => events(
            "[loop.chanting]\nenabled = true\ncooldown_base_seconds = 3600\n",
            (0..6).map(|_| event("message", ",\"text\":\"I am not able to go on with this work now\"")).collect(),
            start(90, "Read", "{\"file_path\":\"a\"}"),
        ),
        "HL-DENY-01" => events(
            "[loop.denials]\ncooldown_base_seconds = 3600\n",
            (1..=3)
                .map(|number| {
                    let result = "\"outcome\":\"denied\",\"output\":\"permission denied by rule\"";
                    call(number, "Bash", &shell(&format!("rm f{number}")), result)
                })
                .collect(),
            start(90, "Bash", &shell("rm x")),
        ),
        "HL-HOOK-02" => events(
            "[loop.hook_recursion]\ncooldown_base_seconds = 3600\n",
            (0..5).map(|_| event("hook", ",\"name\":\"Stop\"")).collect(),
            event("hook", ",\"name\":\"Stop\""),
        ),
        "HL-SPAWN-05" => events(
            "[agents]\nmax_depth = 1\n",
            vec![event("spawn_start", ",\"child\":\"a1\"")],
            last_spawn().replace("\"session\":\"s\"", "\"session\":\"s\",\"agent\":\"a1\""),
        ),
        "HL-LOOP-09" => events(
            "[loop.cascade]\nwarn = 2\ndeny = 3\ncooldown_base_seconds = 3600\n[loop.same_error]\nenabled = false\n",
            vec![failing(1, "make", "no compiler"), failing(2, "ls /x", "no folder here")],
            start(90, "Bash", &shell("ls -a /x")),
        ),
        "HL-LOOP-14" => events(
            "[loop.fruitless_searches]\nwarn = 2\ndeny = 3\ncooldown_base_seconds = 3600\n",
            (1..)
                .zip(["alpha", "beta"])
                .map(|(number, word)| failing(number, &format!("grep -rn {word} src"), ""))
                .collect(),
            start(90, "Bash", &shell("grep -rn gamma src")),
        ),
        "HL-LOOP-15" => events(
            "[loop.similar_errors]\nwarn = 3\ndeny = 4\ncooldown_base_seconds = 3600\n[loop.same_error]\nenabled = false\n",
            (1..)
                .zip(["a", "b", "c"])
                .map(|(number, name)| {
                    failing(number, &format!("query select {name} from t"), &format!("no such column: {name}"))
                })
                .collect(),
            start(90, "Bash", &shell("query select d from t")),
        ),
        "HL-LOOP-16" => events(
            "[loop.missing_program]\ncooldown_base_seconds = 3600\n",
            (1..)
                .zip(["rg foo", "rg bar src"])
                .map(|(number, command)| {
                    let result =
                        "\"outcome\":\"failed\",\"exit\":127,\"output\":\"bash: line 1: rg: command not found\"";
                    call(number, "Bash", &shell(command), result)
                })
                .collect(),
            start(90, "Bash", &shell("rg -l baz")),
        ),
        "HL-IDLE-01" => events(
            "[loop.idle_continuation]\nwarn = 1\nstop = 2\ncooldown_base_seconds = 3600\n",
            std::iter::once(event("prompt", ",\"source\":\"user\",\"text\":\"go on\""))
                .chain((1..=3).map(|_| event("stop", "")))
                .collect(),
            event("stop", ""),
        ),
        "HL-FAIL-01" => events(
            "[loop.tool_failure]\ncooldown_base_seconds = 3600\n",
            (1..=3).map(|number| failing(number, "npm test", "jwt is broken")).collect(),
            start(90, "Bash", &shell("npm test")),
        ),
        "HL-HOOK-01" => events(
            "[loop.hook_recursion]\ncooldown_base_seconds = 3600\n",
            (1..=5).map(|_| event("hook", ",\"name\":\"lint\"")).collect(),
            event("hook", ",\"name\":\"lint\""),
        ),
        "HL-SPAWN-01" => events(
            "[loop]\npreset = \"literal\"\n[loop.agent_spawn]\nthreshold = 2\ncooldown_base_seconds = 3600\n[agents]\nspawn_cooldown_seconds = 0\n",
            vec![spawn(1, "a"), spawn(2, "b")],
            last_spawn(),
        ),
        "HL-SPAWN-02" => events(
            "[loop]\npreset = \"literal\"\n[agents]\nspawn_cooldown_seconds = 3600\n",
            vec![spawn(1, "a")],
            last_spawn(),
        ),
        "HL-SPAWN-03" => events(
            "[agents]\nmax_concurrent = 1\n",
            vec![start(1, "Task", "{\"prompt\":\"a\"}"), event("spawn_start", ",\"child\":\"a1\"")],
            last_spawn(),
        ),
        "HL-SPAWN-04" => {
            events("[agents]\nmax_per_prompt = 2\n", vec![prompt("go"), spawn(1, "a"), spawn(2, "b")], last_spawn())
        }
        "HL-API-01" => events(
            "[loop.external_api]\nthreshold = 2\ncooldown_base_seconds = 3600\n[loop.repeat]\nenabled = false\n[api]\ncost_block_usd = 99.0\n",
            vec![oracle(1), oracle(2)],
            ask_oracle(),
        ),
        "HL-API-02" => events(
            "[loop.external_api]\nsession_max = 2\n[loop.repeat]\nenabled = false\n",
            vec![oracle(1), oracle(2)],
            ask_oracle(),
        ),
        "HL-API-03" => events(
            "[api]\ncost_block_usd = 2.0\n[loop.repeat]\nenabled = false\n",
            vec![oracle(1), oracle(2)],
            ask_oracle(),
        ),
        "HL-BUDGET-02" => events(
            "[budget]\ntokens_hard = 100\n",
            vec![event("message", ",\"usage\":{\"input\":100,\"output\":0}")],
            start(90, "Read", "{\"file_path\":\"a\"}"),
        ),
        "HL-BUDGET-04" => events(
            "[budget.week]\ntokens_hard = 100\n",
            vec![event("message", ",\"usage\":{\"input\":100,\"output\":0}")],
            start(90, "Read", "{\"file_path\":\"a\"}"),
        ),
        "HL-BUDGET-06" => events(
            "[budget.velocity]\nusd_hard = 1.0\n",
            vec![event("message", ",\"cost_usd\":1.5")],
            start(90, "Read", "{\"file_path\":\"a\"}"),
        ),
        "HL-BUDGET-07" => events(
            "[budget.fan_out]\nusd_hard = 1.0\n",
            vec![
                start(1, "Task", "{\"prompt\":\"a\"}"),
                event("spawn_start", ",\"child\":\"a1\""),
                event("message", ",\"agent\":\"a1\",\"cost_usd\":1.5"),
            ],
            last_spawn(),
        ),
        "HL-SPAWN-07" => events(
            "",
            vec![
                start(1, "Task", "{\"prompt\":\"a\"}"),
                event("spawn_start", ",\"child\":\"a1\""),
                start(2, "Task", "{\"prompt\":\"a\"}"),
            ],
            start(90, "Task", "{\"prompt\":\"a\"}"),
        ),
        "HL-PROVIDER-01" | "HL-PROVIDER-02" => {
            let error = if code == "HL-PROVIDER-01" { "limit" } else { "overloaded" };
            let at_provider =
                |line: String| line.replace("\"session\":\"s\"", "\"session\":\"s\",\"provider\":\"anthropic\"");
            let fault = at_provider(event("stop", &format!(",\"error\":\"{error}\"")));
            events("[provider]\noverload_cooldown_seconds = 3600\n", vec![fault], at_provider(last_spawn()))
        }
        "HL-CON-02" => Some(Case::Commands {
            config: "[constraint]\ndedup_seconds = 0\n",
            before: vec![vec!["constraint", "record", "rule", "--action", "git push --force"]],
            last: vec!["constraint", "enforce", "rule", "--action", "git push --force", "--violated"],
        }),
        "HL-PHASE-02" => Some(Case::Commands {
            config: "",
            before: std::iter::once(vec!["phase", "begin", "GREEN"])
                .chain(
                    (0..6).map(|_| vec!["phase", "report", "--metric", "tests_passing=3", "--metric", "tests_total=9"]),
                )
                .collect(),
            last: vec!["phase", "check"],
        }),
        "HL-ATTEMPT-01" => Some(Case::Commands {
            config: "",
            before: std::iter::once(vec!["attempt", "begin", "--slice", "S-1", "--in-scope", "src/"])
                .chain(["one", "two", "three"].map(|strategy| {
                    vec![
                        "attempt",
                        "record",
                        "--slice",
                        "S-1",
                        "--test",
                        "adds",
                        "--result",
                        "fail",
                        "--strategy",
                        strategy,
                    ]
                }))
                .collect(),
            last: vec!["attempt", "check", "--slice", "S-1"],
        }),
        "HL-CLAIM-01" => Some(Case::Commands {
            config: "",
            before: std::iter::once(vec!["claim", "add", "C-1", "--text", "it holds"])
                .chain((0..3).map(|_| vec!["claim", "round", "C-1", "--objection", "no data", "--answer", "there is"]))
                .collect(),
            last: vec!["claim", "round", "C-1", "--objection", "no data", "--answer", "there is"],
        }),
        "HL-PHASE-03" | "HL-PHASE-04" | "HL-PHASE-05" | "HL-PHASE-06" => Some(Case::As("HL-PHASE-02")),
        "HL-ATTEMPT-02" | "HL-ATTEMPT-03" => Some(Case::As("HL-ATTEMPT-01")),
        "HL-CLAIM-02" | "HL-CLAIM-03" | "HL-CLAIM-06" => Some(Case::As("HL-CLAIM-01")),
        // Warnings, results of operator actions, and denials that a person lifts outside haltline.
        "HL-BUDGET-01" | "HL-BUDGET-03" | "HL-BUDGET-05" | "HL-LOOP-13" | "HL-SPAWN-06" | "HL-OWN-01" | "HL-OWN-02"
        | "HL-OWN-03" | "HL-OWN-04" | "HL-OWN-05" | "HL-RESUME-01" | "HL-STOP-01" | "HL-CON-01" | "HL-CON-03"
        | "HL-CON-04" | "HL-PHASE-01" | "HL-PHASE-07" | "HL-PHASE-08" | "HL-ATTEMPT-04" | "HL-ATTEMPT-05"
        | "HL-ATTEMPT-06" | "HL-ATTEMPT-07" | "HL-ATTEMPT-08" | "HL-CLAIM-04" | "HL-CLAIM-05" => Some(Case::Informs),
        _unknown => None,
    }
}

fn send(site: &Site, input: &str) -> Answer {
    let mut command = std::process::Command::new("setsid");
    site.configure(&mut command);
    let child = command.arg("--wait").arg(HALTLINE).arg("event");
    let mut child =
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("setsid is there");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("the input is read");
    let output = child.wait_with_output().expect("it ends");
    Answer {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Brings the state about; returns the site and everything that haltline message on the way.
fn bring_about(code: &str, case: &Case) -> (Site, String) {
    let site = Site::new();
    match case {
        Case::Events { config, before, last } => {
            site.config(&format!("{OPERATOR}{config}"));
            let message = send(&site, &(before.concat() + last));
            let verdicts: Vec<Value> =
                message.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            let denied = verdicts.last().expect("an answer");
            assert_eq!(denied["code"].as_str(), Some(code), "{code}: {message:?}");
            assert!(matches!(denied["verdict"].as_str(), Some("deny" | "stop")), "{code}: {denied}");
            (site, message.err)
        }
        Case::Commands { config, before, last } => {
            site.config(&format!("{OPERATOR}{config}"));
            site.constraint("rule", "violation_threshold: 1\ndedup_seconds: 0");
            let message: String =
                before.iter().map(|command| site.run(command)).map(|message| message.out + &message.err).collect();
            let denied = site.run(last);
            assert_eq!(denied.code, Some(77), "{code}: {denied:?} after {message}");
            (site, denied.out + &denied.err)
        }
        Case::As(_) | Case::Informs => unreachable!("only cases that are played"),
    }
}

/// The remedies that a text names: commands of haltline, keys of the configuration, and the words of a prompt.
fn remedies(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let line = line.trim().trim_start_matches("Next").trim_start_matches("next").trim();
        let command = line.split("   ").next().unwrap_or(line).replace("[--hint TEXT]", "--hint TEXT");
        let goes_on = [
            "haltline resume",
            "haltline reset",
            "haltline false-positive",
            "haltline claim resolve",
            "haltline constraint override",
        ];
        if goes_on.iter().any(|verb| command.starts_with(verb))
            || line.starts_with("change ")
            || line.starts_with("SUDO")
        {
            found.insert(command);
        }
    }
    found
}

/// Applies a remedy as a person would.
fn apply(site: &Site, config: &str, remedy: &str) {
    if let Some(change) = remedy.strip_prefix("change ") {
        let (key, rest) = change.split_once(" (now ").expect("the key and its value");
        let value: f64 = rest.split(')').next().expect("a value").trim_start_matches('$').parse().expect("a number");
        let (table, name) = key.rsplit_once('.').expect("a key of a table");
        let value = match (name, value.fract() == 0.0 && !name.ends_with("usd")) {
            ("spawn_cooldown_seconds", _) => "0".to_owned(),
            (_, true) => format!("{}", value * 10.0),
            (_, false) => format!("{:.2}", value * 10.0),
        };
        let old = config.lines().filter(|line| !line.starts_with(&format!("{name} "))).collect::<Vec<_>>().join("\n");
        let with = match old.contains(&format!("[{table}]")) {
            true => old.replace(&format!("[{table}]"), &format!("[{table}]\n{name} = {value}")),
            false => format!("{old}\n[{table}]\n{name} = {value}\n"),
        };
        site.config(&format!("{OPERATOR}{with}\n"));
        return;
    }
    if remedy.starts_with("SUDO") {
        send(site, &prompt("go on\\nSUDO PARALLEL"));
        return;
    }
    let command = remedy.replace("STATUS", "VERIFIED");
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let done = site.run_detached(&words, &[]);
    assert_eq!(done.code, Some(0), "`{remedy}`: {done:?}");
}

fn assert_passes(site: &Site, code: &str, case: &Case, remedy: &str) {
    match case {
        Case::Events { last, .. } => {
            let next = send(site, &last.replace("\"c90\"", "\"c91\""));
            let verdict: Value = serde_json::from_str(next.out.lines().next().expect("an answer")).expect("JSON");
            assert!(matches!(verdict["verdict"].as_str(), Some("pass" | "warn")), "{code} after `{remedy}`: {verdict}");
        }
        Case::Commands { last, .. } => {
            let next = site.run(last);
            assert_eq!(next.code, Some(0), "{code} after `{remedy}`: {next:?}");
        }
        Case::As(_) | Case::Informs => unreachable!("only cases that are played"),
    }
}

#[test]
fn every_remedy_that_haltline_names_lets_the_next_call_pass() {
    let mut failures = Vec::new();
    for page in CODE_PAGES {
        let code = page.code;
        let case = case(code).unwrap_or_else(|| panic!("{code} has no row here: say how it comes about"));
        match &case {
            Case::As(other) => {
                assert!(matches!(self::case(other), Some(Case::Events { .. } | Case::Commands { .. })), "{code}")
            }
            Case::Informs => {}
            Case::Events { config, .. } | Case::Commands { config, .. } => {
                let (site, message) = bring_about(code, &case);
                let why = site.run(&["why"]);
                assert!(why.out.contains(code) || code == "HL-CLAIM-01", "{code}: {}", why.out);
                let named = remedies(&format!("{message}\n{}\n{}", why.out, site.run(&["status"]).out));
                assert!(
                    named.iter().any(|remedy| remedy.contains("resume") || remedy.contains("resolve")),
                    "{code}: {named:?}"
                );
                for remedy in named {
                    let (site, _) = bring_about(code, &case);
                    // Ids depend on the moment, so this state has others.
                    let id = site.run(&["why", "--json"]).json()["incident"].as_str().expect("an id").to_owned();
                    let remedy: Vec<&str> = remedy
                        .split_whitespace()
                        .map(|word| {
                            if word.len() == 8 && word.chars().all(|one| one.is_ascii_hexdigit()) {
                                id.as_str()
                            } else {
                                word
                            }
                        })
                        .collect();
                    let remedy = remedy.join(" ");
                    if remedy.ends_with("drop C-1 --reason TEXT") {
                        continue; // It ends the dispute by ending the claim.
                    }
                    let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        apply(&site, config, &remedy);
                        assert_passes(&site, code, &case, &remedy);
                    }));
                    if let Err(panic) = tried {
                        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                        failures.push(text);
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
