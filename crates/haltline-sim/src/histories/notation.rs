//! Parses the notation of `bench/corpus`; its README explains it.

use serde_json::{Map, Value};

use super::template::{Numbers, write_out};
use super::{Call, History, HistoryEvent, HistoryStep, Label, NotationError};

/// Blocks and lines are repeated at most this often, so that a history stays short enough to read.
const REPEATS_MAX: u64 = 60;
const OUTCOMES: [&str; 7] = ["ok", "failed", "rejected", "denied", "cancelled", "rate_limited", "unknown"];

/// A line with its continuation lines, and its line number.
struct Line {
    number: usize,
    text: String,
}

pub(super) fn read(file: &str, text: &str) -> Result<Vec<History>, NotationError> {
    let mut reader = Reader { file, class: None, drawn: 0 };
    let mut histories = Vec::new();
    let lines = join_lines(file, text)?;
    let mut rest = lines.as_slice();
    while let Some((line, after)) = rest.split_first() {
        if let Some(class) = line.text.strip_prefix("class ") {
            reader.class = Some(class.trim().to_owned());
            rest = after;
        } else if line.text.starts_with("history ") {
            let length = 1 + after.iter().take_while(|line| !line.text.starts_with("history ")).count();
            histories.push(reader.read_history(&rest[..length])?);
            rest = &rest[length..];
        } else {
            return Err(reader.wrong(line, "expected `class NAME` or `history NAME` first"));
        }
    }
    Ok(histories)
}

/// Lines without comments and blank ones; an indented `| text` continues the line before.
fn join_lines(file: &str, text: &str) -> Result<Vec<Line>, NotationError> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, source) in text.lines().enumerate() {
        let (number, line) = (index + 1, source.trim());
        if line.is_empty() || line.starts_with("# ") || line == "#" {
            continue;
        }
        let Some(more) = line.strip_prefix('|') else {
            lines.push(Line { number, text: line.to_owned() });
            continue;
        };
        let Some(last) = lines.last_mut() else {
            return Err(NotationError::new(file, number, "a line of output without a call before it"));
        };
        last.text.push_str("\\n");
        last.text.push_str(more.strip_prefix(' ').unwrap_or(more));
    }
    Ok(lines)
}

struct Reader<'a> {
    file: &'a str,
    class: Option<String>,
    drawn: u64,
}

impl Reader<'_> {
    fn wrong(&self, line: &Line, text: impl Into<String>) -> NotationError {
        NotationError::new(self.file, line.number, text)
    }

    /// `history NAME`, its head (`why`, `refused` or `work`, `client`), its lines.
    fn read_history(&mut self, lines: &[Line]) -> Result<History, NotationError> {
        let Some((head, mut rest)) = lines.split_first() else {
            return Err(NotationError::new(self.file, 0, "a history without a line"));
        };
        let name = head.text.trim_start_matches("history ").trim().to_owned();
        if name.is_empty()
            || !name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
        {
            return Err(self.wrong(head, format!("history {name:?}: expected small letters, digits and -")));
        }
        let class =
            self.class.clone().ok_or_else(|| self.wrong(head, "expected `class NAME` before the first history"))?;
        let (mut label, mut why, mut client) = (None, None, "claude-code".to_owned());
        while let Some((line, after)) = rest.split_first() {
            if line.text == "work" {
                label = Some(Label::Work);
            } else if let Some(window) = line.text.strip_prefix("loop refused ") {
                label = Some(self.read_window(line, window)?);
            } else if let Some(text) = line.text.strip_prefix("why ") {
                why = Some(text.trim().to_owned());
            } else if let Some(text) = line.text.strip_prefix("client ") {
                client = text.trim().to_owned();
            } else {
                break;
            }
            rest = after;
        }
        let label = label.ok_or_else(|| self.wrong(head, "expected `work` or `loop refused A..B` below it"))?;
        let why =
            why.ok_or_else(|| self.wrong(head, "expected `why …` below it: what happens, why the label is right"))?;
        let mut history = History {
            name,
            class,
            label,
            why,
            client,
            location: format!("{}:{}", self.file, head.number),
            steps: Vec::new(),
        };
        self.drawn = 0;
        self.read_lines(rest, 1, &mut history.steps)?;
        let calls = history.calls();
        if let Label::Loop { to, .. } = label
            && to > calls
        {
            return Err(self.wrong(head, format!("refused ..{to}, but there are only {calls} calls")));
        }
        Ok(history)
    }

    fn read_window(&self, line: &Line, window: &str) -> Result<Label, NotationError> {
        let numbers =
            window.split_once("..").and_then(|(from, to)| Some((from.trim().parse().ok()?, to.trim().parse().ok()?)));
        match numbers {
            Some((from, to)) if 1 <= from && from <= to => Ok(Label::Loop { from, to }),
            _ => Err(self.wrong(
                line,
                format!("{window:?}: expected the first and last call that may be refused, such as 4..6"),
            )),
        }
    }

    /// Lines and blocks; `block` is the number of the repeat of the surrounding block.
    fn read_lines(&mut self, lines: &[Line], block: u64, steps: &mut Vec<HistoryStep>) -> Result<(), NotationError> {
        let mut rest = lines;
        while let Some((line, after)) = rest.split_first() {
            let Some(times) = line.text.strip_suffix('(').map(str::trim) else {
                self.read_repeated_line(line, block, steps)?;
                rest = after;
                continue;
            };
            let times = parse_repeat(times).ok_or_else(|| self.wrong(line, "expected a block such as `x4 (`"))?;
            let length = after.iter().position(|line| line.text == ")");
            let length = length.ok_or_else(|| self.wrong(line, "a block without its `)`"))?;
            for number in 1..=times {
                self.read_lines(&after[..length], number, steps)?;
            }
            rest = &after[length + 1..];
        }
        Ok(())
    }

    /// One line, repeated as often as it says.
    fn read_repeated_line(
        &mut self,
        line: &Line,
        block: u64,
        steps: &mut Vec<HistoryStep>,
    ) -> Result<(), NotationError> {
        let (first, tail) = line.text.split_once(' ').unwrap_or((&line.text, ""));
        let (times, text) = parse_repeat(first).map_or((None, line.text.as_str()), |times| (Some(times), tail));
        for number in 1..=times.unwrap_or(1) {
            let numbers = Numbers { line: if times.is_some() { number } else { block }, block };
            let text = write_out(text, numbers, &mut self.drawn).map_err(|text| self.wrong(line, text))?;
            let step = parse_step(&text).map_err(|text| self.wrong(line, text))?;
            if let HistoryEvent::Call(call) = &step.event {
                let follows = steps.last().is_some_and(|step| matches!(step.event, HistoryEvent::Call(_)));
                if (call.joins || call.replays) && !follows {
                    return Err(self.wrong(line, "`&` and `=` follow a call"));
                }
            }
            steps.push(step);
        }
        Ok(())
    }
}

/// `x6`.
fn parse_repeat(word: &str) -> Option<u64> {
    word.strip_prefix('x')?.parse().ok().filter(|times| (1..=REPEATS_MAX).contains(times))
}

/// One line without repeats.
fn parse_step(text: &str) -> Result<HistoryStep, String> {
    let (mut after_ms, mut agent, mut joins, mut replays) = (0, None, false, false);
    let mut rest = text.trim();
    loop {
        let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        if let Some(time) = word.strip_prefix('+') {
            after_ms =
                milliseconds(time).ok_or_else(|| format!("{word:?}: expected a time such as +30s, +5m or +2h"))?;
        } else if let Some(name) = word.strip_prefix('@') {
            agent = Some(name.to_owned());
        } else if word == "&" {
            joins = true;
        } else if word == "=" {
            replays = true;
        } else {
            break;
        }
        rest = tail.trim_start();
    }
    let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
    let tail = tail.trim();
    let event = match word {
        "" => HistoryEvent::Wait,
        ">" => HistoryEvent::Prompt { by_user: true, text: unescape(tail) },
        "system>" => HistoryEvent::Prompt { by_user: false, text: unescape(tail) },
        "spawn" => {
            let (sub_agent, depth) = tail.split_once(" depth ").unwrap_or((tail, "1"));
            let depth = depth.parse().map_err(|_other| format!("depth {depth:?}: expected a whole number"))?;
            HistoryEvent::Spawn { sub_agent: required_name(sub_agent, "spawn CHILD")?, depth }
        }
        "spawned" => HistoryEvent::SpawnEnd { sub_agent: required_name(tail, "spawned CHILD")? },
        "hook" => HistoryEvent::Hook { name: required_name(tail, "hook NAME")? },
        "stop" => HistoryEvent::Stop { blocked: tail == "blocked" },
        "compaction" => HistoryEvent::Compaction { trigger: required_name(tail, "compaction auto")? },
        "resume" => HistoryEvent::SessionStart { resumed: true },
        _ => HistoryEvent::Call(Call { joins, replays, ..parse_call(word, tail)? }),
    };
    Ok(HistoryStep { after_ms, agent, event })
}

fn required_name(text: &str, expected: &str) -> Result<String, String> {
    if text.is_empty() { Err(format!("expected `{expected}`")) } else { Ok(text.to_owned()) }
}

fn milliseconds(time: &str) -> Option<u64> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let (number, unit) = time.split_at(time.find(|letter: char| !letter.is_ascii_digit())?);
    let (_, length_ms) = units.iter().find(|(name, _)| *name == unit)?;
    Some(number.parse::<u64>().ok()? * length_ms)
}

/// `TOOL INPUT -> OUTCOME [EXIT] [by WHOM]: OUTPUT`
fn parse_call(tool: &str, tail: &str) -> Result<Call, String> {
    if !tool.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return Err(format!(
            "{tool:?}: expected a tool, or one of > system> spawn spawned hook stop compaction resume"
        ));
    }
    let (given, came) = match tail.strip_prefix("-> ") {
        Some(came) => ("", came),
        None => tail.split_once(" -> ").ok_or("expected `TOOL INPUT -> OUTCOME: OUTPUT`")?,
    };
    let (ending, output) = came.split_once(':').unwrap_or((came, ""));
    let mut words = ending.split_whitespace();
    let outcome = words.next().unwrap_or_default().to_owned();
    if !OUTCOMES.contains(&outcome.as_str()) {
        return Err(format!("{outcome:?}: expected one of {}", OUTCOMES.join(", ")));
    }
    let (mut exit, mut by) = (None, None);
    while let Some(word) = words.next() {
        if word == "by" {
            by = Some(words.next().ok_or("expected `by haltline`, `by permission` or `by hook`")?.to_owned());
        } else {
            exit = Some(word.parse().map_err(|_other| format!("{word:?}: expected an exit code before the colon"))?);
        }
    }
    let output = unescape(output.trim_start());
    let tool_input = parse_input(tool, given.trim())?;
    Ok(Call { tool: tool.to_owned(), input: tool_input, outcome, by, exit, output, joins: false, replays: false })
}

/// Replaces `\n` and `\t` by the characters they mean.
fn unescape(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t")
}

/// The arguments of a call: JSON, or the tool's main field and ` :: key=value` for the others.
fn parse_input(tool: &str, given: &str) -> Result<Value, String> {
    if given.starts_with("{\"") || given == "{}" {
        return serde_json::from_str(given).map_err(|error| format!("input: {error}"));
    }
    let mut fields = Map::new();
    let mut parts = given.split(" :: ");
    match main_field(tool) {
        Some("") => return Ok(Value::String(unescape(given))),
        Some(field) => {
            let main = parts.next().unwrap_or_default().trim();
            fields.insert(field.to_owned(), plain_value(main));
        }
        None if given.is_empty() => return Ok(Value::Object(fields)),
        None => {}
    }
    for part in parts {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("{part:?}: expected key=value; {tool} has no main field in this notation"))?;
        fields.insert(key.trim().to_owned(), plain_value(value));
    }
    Ok(Value::Object(fields))
}

/// Numbers and booleans as such, everything else as text.
fn plain_value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::String(unescape(text)),
    }
}

/// The field that a tool's arguments are written to when no key is given; empty if the arguments are a text.
fn main_field(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "Bash" | "run_shell_command" | "shell" | "execute_command" | "bash" => "command",
        "exec_command" => "cmd",
        "apply_patch" => "",
        "write_stdin" => "session_id",
        "Read" | "Edit" | "Write" | "MultiEdit" | "read_file" | "replace" | "write_file" => "file_path",
        "NotebookEdit" => "notebook_path",
        "Grep" | "Glob" | "grep_search" | "glob" | "search_file_content" => "pattern",
        "LS" | "list_directory" => "path",
        "WebFetch" | "web_fetch" => "url",
        "WebSearch" | "google_web_search" => "query",
        "Task" | "Agent" => "prompt",
        "TaskOutput" | "AgentOutput" => "task_id",
        "BashOutput" => "bash_id",
        "wait_agent" => "agent_id",
        "execute" => "action",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HEAD: &str = "class demo\nhistory one\nwork\nwhy it is short\n";

    fn calls(lines: &str) -> Vec<(String, Value, String)> {
        let histories = read("demo.txt", &format!("{HEAD}{lines}")).expect("it is well formed");
        let steps = histories.into_iter().flat_map(|history| history.steps);
        steps
            .filter_map(|step| match step.event {
                HistoryEvent::Call(call) => Some((call.tool, call.input, call.output)),
                _ => None,
            })
            .collect()
    }

    fn error(text: &str) -> String {
        read("demo.txt", text).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_line_is_a_call_and_a_repeat_writes_it_out() {
        assert_eq!(
            calls("x2 Bash make t{n} | tail -> failed 2: no rule\nRead a.rs :: offset=10 -> ok: fn main"),
            [
                ("Bash".into(), json!({"command": "make t1 | tail"}), "no rule".into()),
                ("Bash".into(), json!({"command": "make t2 | tail"}), "no rule".into()),
                ("Read".into(), json!({"file_path": "a.rs", "offset": 10}), "fn main".into()),
            ]
        );
    }

    #[test]
    fn a_block_is_repeated_and_output_may_have_several_lines() {
        let calls = calls("x2 (\nBash go test -> failed 1: FAIL\n   | ok {m}\n)");
        let outputs: Vec<&str> = calls.iter().map(|(_, _, output)| output.as_str()).collect();
        assert_eq!(outputs, ["FAIL\nok 1", "FAIL\nok 2"]);
    }

    #[test]
    fn calls_of_one_response_begin_before_any_of_them_ends() {
        let text = format!("{HEAD}Read a -> ok: 1\n& Read b -> ok: 2\nRead c -> ok: 3\n= Read c -> ok: 3");
        let history = read("demo.txt", &text).expect("it is well formed").remove(0);
        let kinds: Vec<String> = history.events(0)[1..]
            .iter()
            .map(|event| format!("{} {} {}", event["type"], event["call"], event["message"]).replace('"', ""))
            .collect();
        assert_eq!(
            kinds,
            [
                "tool_start c1 m1",
                "tool_start c2 m1",
                "tool_end c1 null",
                "tool_end c2 null",
                "tool_start c3 m2",
                "tool_end c3 null",
                "tool_start c3 m2",
                "tool_end c3 null",
            ]
        );
        assert_eq!(history.calls(), 3);
    }

    #[test]
    fn errors_name_the_file_the_line_and_what_was_expected() {
        assert_eq!(error("Bash ls -> ok"), "demo.txt:1: expected `class NAME` or `history NAME` first");
        assert_eq!(error(&format!("{HEAD}Bash ls")), "demo.txt:5: expected `TOOL INPUT -> OUTCOME: OUTPUT`");
        assert_eq!(
            error(&format!("{HEAD}Bash ls -> fine: a")),
            "demo.txt:5: \"fine\": expected one of ok, failed, rejected, denied, cancelled, rate_limited, unknown"
        );
        assert_eq!(error(&format!("{HEAD}x2 (\nBash ls -> ok")), "demo.txt:5: a block without its `)`");
        assert_eq!(
            error("class demo\nhistory one\nloop refused 4..9\nwhy it ends\nBash ls -> ok"),
            "demo.txt:2: refused ..9, but there are only 1 calls"
        );
    }
}
