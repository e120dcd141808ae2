//! Runs `testdata/identity/*.txt`: which calls are the same (L4), and what a command line would run (E6).
//! `testdata/identity/README.txt` explains the language.

mod model_text;
mod wording;

use haltline_core::constraint::Guard;
use haltline_core::identity::{Action, CallResult, DeniedBy, Outcome};
use haltline_core::shell::{self, Script};
use proptest::prelude::*;

use crate::language::paragraph;

#[test]
fn every_paragraph_of_every_file_holds() {
    let (mut failures, mut count) = (Vec::new(), 0);
    for path in paragraph::files("identity") {
        let text = paragraph::read(&path);
        let mut page = Page::default();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('>') {
                continue;
            }
            count += 1;
            if let Err(problem) = page.line(line) {
                failures.push(format!("{}:{}: {problem}\n    {line}", path.display(), number + 1));
            }
        }
    }
    assert!(count > 250, "only {count} lines");
    assert!(failures.is_empty(), "{} of {count} lines fail\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_mistake_in_a_paragraph_is_an_error_and_never_skipped() {
    for (text, problem) in [
        ("call Bash ls\nsame Bash pwd", "is another"),
        ("call Bash ls\ndiffers Bash ls", "is the same"),
        ("call Bash ls\ntraits write", "traits none"),
        ("call Bash ls\nshows pwd", "shows \"ls\""),
        ("same Bash ls", "nothing to compare with"),
        ("call Bash ls\nbecomes ok", "no result above"),
        ("result failed 1 x\nbecomes ok", "becomes failed"),
        ("result lost 1 x", "\"lost\" is no outcome"),
        ("result failed one x", "expected an exit code"),
        ("runs reset: ls", "runs nothing"),
        ("harmless: haltline reset", "runs reset"),
        ("guard git push*\ncovers git pull", "does not"),
        ("guard git push*\nspares git push", "does, for"),
        ("own /o\nleaves rm -r /o", "does, for"),
        ("program a.py\ncalls cat a.py", "does not"),
        ("cal Bash ls", "\"cal\" is nothing"),
    ] {
        let mut page = Page::default();
        let message = text.lines().map(|line| page.line(line)).find_map(Result::err).expect("must fail");
        assert!(message.contains(problem), "{text}: {message}");
    }
}

/// The state of a paragraph while its lines are checked.
#[derive(Default)]
struct Page {
    folder: Option<String>,
    /// The tool whose results the lines below are.
    tool: String,
    /// The call with which the lines below are compared.
    call: Option<Action>,
    result: Option<CallResult>,
    /// What the last line that is not a comparison was about.
    subject: Subject,
    /// The pattern of a guard, the protected path or the program that the lines below are about.
    about: String,
}

#[derive(Default)]
enum Subject {
    #[default]
    Nothing,
    Call,
    Result,
}

impl Page {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "#" => {
                *self = Self::default();
                if rest.split_once(": ").is_none() {
                    return Err("a title is `# RULE: title`".to_owned());
                }
                Ok(())
            }
            "folder" => {
                self.folder = Some(rest.to_owned());
                Ok(())
            }
            "tool" => {
                rest.clone_into(&mut self.tool);
                Ok(())
            }
            "call" => {
                self.call = Some(self.action(rest));
                self.subject = Subject::Call;
                Ok(())
            }
            "result" => {
                self.result = Some(parse_result(&self.tool, rest)?);
                self.subject = Subject::Result;
                Ok(())
            }
            "same" | "differs" => {
                let is_same = match (&self.subject, &self.call, &self.result) {
                    (Subject::Call, Some(call), _) => call.identity == self.action(rest).identity,
                    (Subject::Result, _, Some(above)) => above.normal == parse_result(&self.tool, rest)?.normal,
                    _ => return Err("nothing to compare with".to_owned()),
                };
                match (is_same, word) {
                    (true, "differs") => Err("is the same".to_owned()),
                    (false, "same") => Err("is another".to_owned()),
                    _ => Ok(()),
                }
            }
            "traits" => {
                self.call.as_ref().map_or(Err("no call above".to_owned()), |call| expect("traits", &traits(call), rest))
            }
            "path" => expect("path", self.call.as_ref().and_then(|call| call.path.as_deref()).unwrap_or("-"), rest),
            "shows" => match (&self.subject, &self.call, &self.result) {
                (Subject::Call, Some(call), _) => expect("shows", &format!("{:?}", call.shown), &format!("{rest:?}")),
                (Subject::Result, _, Some(result)) => {
                    expect("shows", &format!("{:?}", result.shown), &format!("{rest:?}"))
                }
                _ => Err("nothing above".to_owned()),
            },
            "becomes" => self
                .result
                .as_ref()
                .map_or(Err("no result above".to_owned()), |result| expect("becomes", &outcome(result), rest)),
            "runs" => {
                let (wanted, command) = rest.split_once(": ").ok_or("expected `runs VERB: COMMAND`")?;
                expect("runs", verb(command).as_deref().unwrap_or("nothing"), wanted)
            }
            "switches" => {
                let command = rest.strip_prefix("off: ").ok_or("expected `switches off: COMMAND`")?;
                let is_off = shell::switches_off(&Script::parse(command));
                expect("switches", if is_off { "off" } else { "nothing" }, "off")
            }
            "harmless:" => {
                let is_off = || shell::switches_off(&Script::parse(rest)).then(|| "off".to_owned());
                expect("runs", verb(rest).or_else(is_off).as_deref().unwrap_or("nothing"), "nothing")
            }
            "guard" | "own" | "program" => {
                rest.clone_into(&mut self.about);
                Ok(())
            }
            "covers" | "spares" => {
                let guard = Guard { tool: "Bash".to_owned(), command: Some(self.about.clone()), path: None };
                self.holds(word == "covers", guard.covers(&self.any_action(rest), "/p"))
            }
            "changes" | "leaves" => {
                let script = Script::parse(&lines(rest));
                let is_changed = shell::touches(&script, &self.about, Some("/home/ann"), self.folder.as_deref());
                self.holds(word == "changes", is_changed)
            }
            "calls" | "names" => self.holds(word == "calls", Script::parse(&lines(rest)).calls(&self.about)),
            other => Err(format!("{other:?} is nothing")),
        }
    }

    fn holds(&self, wanted: bool, found: bool) -> Result<(), String> {
        let verb = if found { "does" } else { "does not" };
        if wanted == found { Ok(()) } else { Err(format!("{verb}, for {:?}", self.about)) }
    }

    /// A command line of Bash, or `TOOL {…}`.
    fn any_action(&self, text: &str) -> Action {
        match text.split_once(" {").filter(|_| text.starts_with("mcp__")) {
            Some(_) => self.action(text),
            None => Action::new("Bash", &serde_json::json!({"command": lines(text)}).to_string(), None),
        }
    }

    fn action(&self, text: &str) -> Action {
        let (tool, input) = text.split_once(' ').unwrap_or((text, ""));
        Action::new(tool, input, self.folder.as_deref())
    }
}

/// The text with its line breaks, which these files write as `⏎`.
fn lines(text: &str) -> String {
    text.replace('⏎', "\n")
}

fn verb(command: &str) -> Option<String> {
    shell::operator_verb(&Script::parse(&lines(command)))
}

fn expect(what: &str, found: &str, wanted: &str) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what} {found}")) }
}

fn traits(call: &Action) -> String {
    let all = [
        ("write", call.is_write),
        ("search", call.is_search),
        ("wait", call.is_wait),
        ("saving", call.is_saving),
        ("spawn", call.is_spawn),
    ];
    let named: Vec<&str> = all.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
    if named.is_empty() { "none".to_owned() } else { named.join(" ") }
}

fn outcome(result: &CallResult) -> String {
    let outcome = match result.outcome {
        Outcome::Ok => "ok",
        Outcome::Failed => "failed",
        Outcome::Rejected => "rejected",
        Outcome::Denied => "denied",
        Outcome::Cancelled => "cancelled",
        Outcome::RateLimited => "rate_limited",
        Outcome::Unknown => "unknown",
    };
    match result.denied_by {
        None => outcome.to_owned(),
        Some(DeniedBy::Haltline) => format!("{outcome} by haltline"),
        Some(DeniedBy::Permission) => format!("{outcome} by permission"),
        Some(DeniedBy::Hook) => format!("{outcome} by hook"),
    }
}

fn parse_result(tool: &str, text: &str) -> Result<CallResult, String> {
    let mut words = text.splitn(3, ' ');
    let outcome = match words.next().unwrap_or_default() {
        "ok" => Outcome::Ok,
        "failed" => Outcome::Failed,
        "denied" => Outcome::Denied,
        "unknown" => Outcome::Unknown,
        other => return Err(format!("{other:?} is no outcome")),
    };
    let exit = match words.next().unwrap_or_default() {
        "-" => None,
        number => Some(number.parse().map_err(|_| "expected an exit code or `-`")?),
    };
    let output = words.next().unwrap_or_default();
    let output = output.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t").replace("\\e", "\u{1b}");
    Ok(CallResult::for_tool(tool, outcome, exit, &output))
}

#[test]
fn long_results_are_the_same_if_only_their_ends_are_volatile() {
    let long = |time: &str, middle: &str| {
        format!(
            "started {time}\n{}{middle}{}ended {time}\n",
            "a line of output\n".repeat(9000),
            "another line\n".repeat(9000)
        )
    };
    let result = |text: &str| CallResult::new(Outcome::Ok, Some(0), text);
    let one = result(&long("2026-01-02T03:04:05Z", ""));
    assert_eq!(one.normal, result(&long("2026-01-02T13:14:15.123Z", "")).normal);
    assert_ne!(one.raw, result(&long("2026-01-02T13:14:15.123Z", "")).raw);
    assert_ne!(one.normal, result(&long("2026-01-02T03:04:05Z", "news\n")).normal);
}

#[test]
fn long_commands_and_long_contents_are_read_too() {
    let content = "line \\\"quoted\\\"\\n".repeat(20_000);
    let write = |content: &str, order: bool| {
        let (one, two) = (format!("\"content\":\"{content}\""), "\"file_path\":\"./a\"".to_owned());
        let input = if order { format!("{{{one},{two}}}") } else { format!("{{ {two} , {one} }}") };
        Action::new("Write", &input, Some("/p"))
    };
    // How far the words are read depends on the order of the members.
    let words = write(&content, true).words;
    assert_eq!(write(&content, true), Action { words, ..write(&content, false) });
    assert_ne!(write(&content, true).identity, write(&format!("{content}."), true).identity);
    assert_eq!(write(&content, true).path.as_deref(), Some("/p/a"));
    let command = format!("cat > a <<'E'\n{}E\n", "text\n".repeat(20_000));
    assert!(Action::new("Bash", &command, None).is_write);
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        "[ -~éß\\n]{0,12}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec(("[a-z_]{1,9}", inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Returns the value with the members of all its objects in the opposite order.
fn reversed(value: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(members) => {
            members.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect()
        }
        serde_json::Value::Array(elements) => elements.iter().map(reversed).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_command_of_any_size_is_read_in_bounded_work_and_says_what_it_left_unread() {
    let megabytes = |unit: &str| unit.repeat(10_000_000 / unit.len());
    for text in [
        megabytes("a;"),
        megabytes("eval '"),
        megabytes("$("),
        megabytes("{a,b}"),
        megabytes("a=$a$a "),
        megabytes("xargs sh -c '{}' <<< "),
        "(".repeat(100_000),
    ] {
        let script = Script::parse(&text);
        let words: usize = script.programs().flatten().map(String::len).sum();
        assert!(script.programs().count() <= 5000 && words < 4_000_000, "{} programs", script.programs().count());
        assert!(text.len() < 200_000 || script.unread_bytes() > 0, "{} bytes are all read", text.len());
    }
    let hidden = format!("{} git push --force", "a;".repeat(100_000));
    let guard = |command: &str| Guard { tool: "Bash".to_owned(), command: Some(command.to_owned()), path: None };
    let action = Action::new("Bash", &serde_json::json!({ "command": hidden }).to_string(), None);
    assert!(guard("git push --force").covers(&action, "/p"), "what was not read may be the push");
    assert!(!guard("svn commit").covers(&action, "/p"), "the rest does not name the program");
}

const SHELLISH: &str = "([a-z$/~. =-]|['\"`\\\\;&|<>(){}#\\n\\[]|<<|\\$\\(|\\$\\{|é|sh -c |eval |haltline |rm ){0,40}";

proptest! {
    #[test]
    fn any_text_can_be_read_without_failing(text in SHELLISH, any in any::<String>(), output in "(\\PC|[\\x00-\\x1f]|/tmp/|0x|12:|-){0,60}") {
        for tool in ["Bash", "Edit", "sql", "PowerShell", "x"] {
            for input in [&text, &any] {
                let action = Action::new(tool, input, Some("/p"));
                prop_assert!(action.shown.chars().count() <= 160);
                prop_assert_eq!(action.clone(), Action::new(tool, input, Some("/p")));
            }
        }
        let script = Script::parse(&text);
        shell::operator_verb(&script);
        shell::switches_off(&script);
        shell::touches(&script, "~/.local/state", Some("/home/ann"), Some("/home/ann/p"));
        for pattern in ["git push --force*", "*", &text, &any] {
            if let Some(pattern) = shell::CommandPattern::parse(pattern) {
                pattern.matches(&script);
            }
        }
        for output in [&output, &any, &text] {
            for outcome in [Outcome::Ok, Outcome::Failed, Outcome::Unknown] {
                let result = CallResult::new(outcome, None, output);
                prop_assert!(result.shown.chars().count() <= 160);
                prop_assert!(!result.shown.contains('\n'));
            }
        }
    }

    #[test]
    fn the_spelling_of_json_does_not_matter(value in json(), tool in "Read|Bash|Edit|mcp__a__b") {
        let identity = |text: String| Action::new(&tool, &text, Some("/p")).identity;
        let compact = identity(value.to_string());
        prop_assert_eq!(compact, identity(serde_json::to_string_pretty(&value).expect("prints")));
        prop_assert_eq!(compact, identity(reversed(&value).to_string()));
    }

    #[test]
    fn different_json_is_a_different_call(one in json(), two in json()) {
        let input = |value: &serde_json::Value| serde_json::json!({"value": value}).to_string();
        let identity = |value: &serde_json::Value| Action::new("mcp__a__b", &input(value), None).identity;
        // Members that are null, name a path or carry no information are compared more generously.
        let is_plain = |value: &serde_json::Value| !value.to_string().contains(['_', '.', '/']);
        prop_assume!(one != two && one != reversed(&two) && is_plain(&one) && is_plain(&two));
        prop_assert_ne!(identity(&one), identity(&two));
    }

    #[test]
    fn quoting_each_word_does_not_change_a_command(words in prop::collection::vec("[a-zA-Z0-9/._-]{1,8}", 1..6)) {
        let plain = words.join(" ");
        let single = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join("  ");
        let double = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" \\\n ");
        let identity = |command: &str| Action::new("Bash", command, None).identity;
        prop_assume!(!["cd", "if", "do", "for", "time"].contains(&words[0].as_str()));
        prop_assume!(serde_json::from_str::<serde_json::Value>(&plain).is_err());
        prop_assert_eq!(identity(&plain), identity(&single));
        prop_assert_eq!(identity(&plain), identity(&double));
        prop_assert!(Script::parse(&plain).programs().eq(Script::parse(&single).programs()));
    }
}
