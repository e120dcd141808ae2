//! Small sessions in every format, with the events that are read from each. The expected texts lie beside them, for
//! people; `UPDATE_GOLDEN=1` rewrites them. The same files, cut and damaged, must never make a reader panic.

mod locations;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use haltline_agents::claude;
use haltline_agents::transcript::{Damaged, Entry, Format, Reader, Shape};
use haltline_core::identity::CallResult;
use haltline_core::loop_::{LoopEvent, TurnEnd};
use proptest::prelude::*;

fn sessions() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/transcripts");
    let folders = fs::read_dir(root).expect("the folder is there").map(|entry| entry.expect("readable").path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).expect("a folder of sessions"));
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending != "txt"));
    files.sort();
    files
}

/// The pieces that a file is divided into.
fn pieces(content: &[u8], shape: Shape) -> Vec<&[u8]> {
    match shape {
        Shape::Lines => content.split_inclusive(|byte| *byte == b'\n').collect(),
        Shape::Document => vec![content],
    }
}

fn read(format: Format, content: &[u8]) -> Vec<(Result<(), Damaged>, Vec<Entry>)> {
    let mut reader = Reader::new(format, "file-name");
    let mut all = Vec::new();
    for piece in pieces(content, format.shape()) {
        let mut entries = Vec::new();
        let result = reader.read_piece(piece, &mut entries);
        all.push((result, entries));
    }
    all
}

fn result_text(result: &CallResult) -> String {
    let mut text = format!("{:?}", result.outcome).to_lowercase();
    if let Some(by) = result.denied_by {
        write!(text, " by {}", format!("{by:?}").to_lowercase()).expect("a String takes it");
    }
    if let Some(exit) = result.exit {
        write!(text, " exit {exit}").expect("a String takes it");
    }
    if let Some(child) = &result.sub_agent {
        write!(text, " child {child}{}", if result.is_sub_agent_running { " running" } else { "" })
            .expect("a String takes it");
    }
    write!(text, ": {}", result.shown).expect("a String takes it");
    text
}

fn event_text(event: &LoopEvent) -> String {
    let word = event.cause();
    match event {
        LoopEvent::SessionStart { model, resumed, .. } => {
            let resumed = if *resumed { ", resumed" } else { "" };
            format!("{word} model {}{resumed}", model.as_deref().unwrap_or("unknown"))
        }
        LoopEvent::Prompt { by_user, bypass } => {
            let bypass = if *bypass { ", bypass" } else { "" };
            format!("{word} by {}{bypass}", if *by_user { "a person" } else { "the client" })
        }
        LoopEvent::Message { usage, cost, last_response: last, .. } => {
            let usage = usage.unwrap_or_default();
            let cost = cost.map_or("unknown".to_owned(), |cost| cost.to_string());
            format!(
                "{word} {}: {} in, {} out, {} cached, {} to the cache, cost {cost}",
                last.as_deref().unwrap_or("unnamed"),
                usage.input,
                usage.output,
                usage.cache_read,
                usage.cache_write
            )
        }
        LoopEvent::ToolStart { call, response: message, action, .. } => {
            let traits =
                [(action.is_write, " (writes)"), (action.is_search, " (searches)"), (action.is_spawn, " (spawns)")];
            let traits: String = traits.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
            format!("{word} {call} of {}: {}{traits}", message.as_deref().unwrap_or("no message"), action.shown)
        }
        LoopEvent::ToolEnd { call, result: answer, .. } => format!("{word} {call} {}", result_text(answer)),
        LoopEvent::SpawnStart { sub_agent: child, depth } => format!("{word} {child} depth {depth:?}"),
        LoopEvent::SpawnEnd { sub_agent: child } => format!("{word} {}", child.as_deref().unwrap_or("of the oldest")),
        LoopEvent::Stop { blocked, running, end } => {
            let waiting = if *end == TurnEnd::Waiting { " waiting" } else { "" };
            format!("{word} blocked {blocked} running {running:?}{waiting}")
        }
        LoopEvent::Compaction { trigger, .. } => format!("{word} {trigger}"),
        LoopEvent::SessionEnd { reason } => format!("{word} {reason}"),
        LoopEvent::Hook { name } => format!("{word} {name}"),
        LoopEvent::Batch { .. }
        | LoopEvent::Cleanup { .. }
        | LoopEvent::HooksRemoved { .. }
        | LoopEvent::Forged { .. }
        | LoopEvent::ModelStart
        | LoopEvent::ProviderFault(_) => {
            format!("{word}: not in a transcript")
        }
    }
}

fn shown(entry: &Entry) -> String {
    let agent_ref = &entry.agent_ref;
    let at = entry.at.map_or("no time".to_owned(), |at| at.to_string());
    let agent = agent_ref.sub_agent.as_ref().map(|agent| format!("/{agent}")).unwrap_or_default();
    let echo = if entry.is_echo { "echo " } else { "" };
    format!("{at} {} {}{agent} {echo}{}", agent_ref.client, agent_ref.session, event_text(&entry.event))
}

#[test]
fn every_session_is_read_as_expected() {
    let files = sessions();
    assert!(!files.is_empty());
    for file in files {
        let content = fs::read(&file).expect("readable");
        let folder = file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).expect("a format's folder");
        let format = Format::detect(&content).unwrap_or_else(|| panic!("{}: no format", file.display()));
        assert_eq!(format.as_str(), folder, "{}", file.display());
        let mut text = String::new();
        for (result, entries) in read(format, &content) {
            entries.iter().for_each(|entry| writeln!(text, "{}", shown(entry)).expect("a String takes it"));
            if result == Err(Damaged) {
                text.push_str("(damaged)\n");
            }
        }
        let golden = file.with_extension("txt");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &text).expect("the tree can be written");
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        for (number, (found, expected)) in text.lines().zip(expected.lines()).enumerate() {
            assert_eq!(found, expected, "{}:{}: UPDATE_GOLDEN=1 if it is meant", golden.display(), number + 1);
        }
        assert_eq!(text.lines().count(), expected.lines().count(), "{}", golden.display());
    }
}

#[test]
fn the_format_is_detected_from_a_head_that_is_cut_anywhere_after_its_first_members() {
    for file in sessions() {
        let content = fs::read(&file).expect("readable");
        let format = Format::detect(&content);
        let least =
            (0..=content.len()).find(|end| Format::detect(&content[..*end]).is_some()).expect("it has a format");
        for end in least..content.len() {
            assert_eq!(Format::detect(&content[..end]), format, "{} cut at {end}", file.display());
        }
    }
}

#[test]
fn every_format_has_a_session_and_a_distinct_name() {
    let files = sessions();
    for format in Format::ALL {
        let first = Format::from_name(format.as_str()).expect("a word of a format");
        assert_eq!(first.as_str(), format.as_str());
        let has_session = files.iter().any(|file| Format::detect(&fs::read(file).expect("readable")) == Some(format));
        assert!(has_session, "{format:?}");
    }
    assert_eq!(Format::from_name("unheard-of"), None);
    for strange in [&b""[..], b"hello", b"{}", b"[]", b"{\"a\":1}\n{\"b\":2}\n", b"\xff\xfe", b"{\"type\":\"x\"}"] {
        assert_eq!(Format::detect(strange), None, "{}", String::from_utf8_lossy(strange));
    }
}

#[test]
fn a_session_cut_anywhere_says_nothing_else_before_the_cut() {
    for file in sessions() {
        let content = fs::read(&file).expect("readable");
        let format = Format::detect(&content).expect("it has a format");
        let whole: Vec<Entry> = read(format, &content).into_iter().flat_map(|(_, entries)| entries).collect();
        // Every cut of a short file; of a long one, cuts at varying positions in its lines.
        for end in (0..content.len()).step_by(1 + content.len() / 2000) {
            let cut: Vec<Entry> = read(format, &content[..end]).into_iter().flat_map(|(_, entries)| entries).collect();
            assert_eq!(cut[..], whole[..cut.len()], "{} cut at {end}", file.display());
        }
    }
}

/// What Claude Code writes to its session file about a call that its hooks received.
fn recorded(tool: &str, input: &str, response: &str, error: Option<&str>) -> String {
    let result = match error {
        Some(error) => format!(r#""content":{error},"is_error":true"#),
        None => r#""content":"text for the model""#.to_owned(),
    };
    let start = format!(r#"{{"type":"tool_use","id":"toolu_01","name":"{tool}","input":{input}}}"#);
    let end = format!(r#"{{"type":"tool_result","tool_use_id":"toolu_01",{result}}}"#);
    [
        format!(r#"{{"type":"assistant","sessionId":"s","cwd":"/home/ann/shop","message":{{"id":"m","content":[{start}]}}}}"#),
        format!(r#"{{"type":"user","sessionId":"s","message":{{"content":[{end}]}},"toolUseResult":{response}}}"#),
    ]
    .join("\n")
}

#[test]
fn a_recorded_call_equals_the_one_that_a_hook_receives() {
    let edit = r#"{"file_path":"/home/ann/shop/a.py","old_string":"1","new_string":"2"}"#;
    for (tool, input, response, error) in [
        ("Bash", r#"{"command":"make check"}"#, r#"{"stdout":"41 passed","stderr":"w","interrupted":false}"#, None),
        ("Bash", r#"{"command":"make check"}"#, r#""Error: Exit code 2""#, Some(r#""Exit code 2\nno rule""#)),
        ("Edit", edit, r#"{"filePath":"/home/ann/shop/a.py","originalFile":"1"}"#, None),
        ("Read", r#"{"file_path":"a.py"}"#, r#"{"type":"text","file":{"content":"x\n","numLines":1}}"#, None),
        ("Task", r#"{"prompt":"p"}"#, r#"{"status":"async_launched","agentId":"a1"}"#, None),
        ("mcp__a__b", "{}", r#"[{"type":"text","text":"three"}]"#, None),
    ] {
        let common = format!(
            r#""session_id":"s","cwd":"/home/ann/shop","tool_use_id":"toolu_01","tool_name":"{tool}","tool_input":{input}"#
        );
        let payload = match error {
            Some(error) => format!(r#"{{"hook_event_name":"PostToolUseFailure",{common},"error":{error}}}"#),
            None => format!(r#"{{"hook_event_name":"PostToolUse",{common},"tool_response":{response}}}"#),
        };
        let live = claude::read(payload.as_bytes()).expect("a payload").loop_event;
        let Some(LoopEvent::ToolEnd { action: Some(live_action), result: live_result, .. }) = live else {
            panic!("{tool}: {live:?}")
        };
        let content = recorded(tool, input, response, error);
        let mut entries = read(Format::Claude, content.as_bytes()).into_iter().flat_map(|(_, entries)| entries);
        let (Some(start), Some(end)) = (entries.next(), entries.next()) else { panic!("{content}") };
        assert!(matches!(start.event, LoopEvent::ToolStart { action, .. } if action == live_action), "{content}");
        assert!(matches!(end.event, LoopEvent::ToolEnd { result, .. } if result == live_result), "{content}");
    }
}

/// Values of another kind than the expected one.
const STRANGERS: [&str; 9] =
    ["null", "7", "-1e999", "true", "[]", "{}", "\"\\ud83d\"", "[[[[[[]]]]]]", "18446744073709551616"];

proptest! {
    #[test]
    fn a_damaged_session_is_read_or_rejected(
        which in any::<prop::sample::Index>(),
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let files = sessions();
        let mut content = fs::read(&files[which.index(files.len())]).expect("readable");
        let format = Format::detect(&content).expect("it has a format");
        for (index, byte) in hits {
            let index = index.index(content.len());
            content[index] = byte;
        }
        let found = Format::detect(&content).unwrap_or(format);
        drop(read(found, &content));
        drop(read(format, &content));
    }

    #[test]
    fn a_strange_value_is_read_or_rejected(
        which in any::<prop::sample::Index>(),
        field in any::<prop::sample::Index>(),
        stranger in prop::sample::select(&STRANGERS[..]),
    ) {
        let files = sessions();
        let content = fs::read_to_string(&files[which.index(files.len())]).expect("UTF-8");
        let values: Vec<usize> = content.match_indices("\":").map(|(index, _)| index + 2).collect();
        let start = values[field.index(values.len())];
        let end = start + content[start..].find([',', '}', '\n']).unwrap_or(content.len() - start);
        let changed = format!("{}{stranger}{}", &content[..start], &content[end..]);
        for format in Format::ALL {
            drop(read(format, changed.as_bytes()));
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in Format::detect(&bytes).into_iter().chain(Format::ALL) {
            drop(read(format, &bytes));
        }
    }
}
