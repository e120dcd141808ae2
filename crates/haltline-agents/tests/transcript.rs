//! Small sessions in every format with what each is read as. The expected texts stand beside them, for people;
//! `UPDATE_GOLDEN=1` writes them anew. The same files, cut and damaged, must never make a reader panic.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use haltline_agents::claude;
use haltline_agents::transcript::{Damaged, Entry, Format, Reader, Shape};
use haltline_core::identity::Answer;
use haltline_core::loop_::Happening;
use proptest::prelude::*;

/// The sessions, by name.
fn sessions() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/transcripts");
    let folders = fs::read_dir(root).expect("the folder is there").map(|entry| entry.expect("readable").path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).expect("a folder of sessions"));
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending != "txt"));
    files.sort();
    files
}

/// The pieces a file is cut into.
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
        let result = reader.take(piece, &mut entries);
        all.push((result, entries));
    }
    all
}

fn told(answer: &Answer) -> String {
    let mut text = format!("{:?}", answer.outcome).to_lowercase();
    if let Some(by) = answer.by {
        write!(text, " by {}", format!("{by:?}").to_lowercase()).expect("a String takes it");
    }
    if let Some(exit) = answer.exit {
        write!(text, " exit {exit}").expect("a String takes it");
    }
    if let Some(child) = &answer.child {
        write!(text, " child {child}{}", if answer.is_running { " running" } else { "" }).expect("a String takes it");
    }
    write!(text, ": {}", answer.shown).expect("a String takes it");
    text
}

fn happened(what: &Happening) -> String {
    let word = what.cause();
    match what {
        Happening::SessionStart { model, resumed, .. } => {
            let resumed = if *resumed { ", resumed" } else { "" };
            format!("{word} model {}{resumed}", model.as_deref().unwrap_or("unknown"))
        }
        Happening::Prompt { by_user, bypass } => {
            let bypass = if *bypass { ", bypass" } else { "" };
            format!("{word} by {}{bypass}", if *by_user { "a person" } else { "the client" })
        }
        Happening::Message { usage, cost, last, .. } => {
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
        Happening::ToolStart { call, message, action, .. } => {
            let traits =
                [(action.is_write, " (writes)"), (action.is_search, " (searches)"), (action.is_spawn, " (spawns)")];
            let traits: String = traits.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
            format!("{word} {call} of {}: {}{traits}", message.as_deref().unwrap_or("no message"), action.shown)
        }
        Happening::ToolEnd { call, answer, .. } => format!("{word} {call} {}", told(answer)),
        Happening::SpawnStart { child, depth } => format!("{word} {child} depth {depth:?}"),
        Happening::SpawnEnd { child } => format!("{word} {}", child.as_deref().unwrap_or("of the oldest")),
        Happening::Stop { blocked, running } => format!("{word} blocked {blocked} running {running:?}"),
        Happening::Compaction { trigger } => format!("{word} {trigger}"),
        Happening::SessionEnd { reason } => format!("{word} {reason}"),
        Happening::Hook { name } => format!("{word} {name}"),
        Happening::Batch { .. } | Happening::Cleanup { .. } | Happening::ModelStart => {
            format!("{word}: not in a transcript")
        }
    }
}

fn shown(entry: &Entry) -> String {
    let stream = &entry.stream;
    let at = entry.at.map_or("no time".to_owned(), |at| at.to_string());
    let agent = stream.agent.as_ref().map(|agent| format!("/{agent}")).unwrap_or_default();
    let echo = if entry.is_echo { "echo " } else { "" };
    format!("{at} {} {}{agent} {echo}{}", stream.client, stream.session, happened(&entry.what))
}

#[test]
fn every_session_is_read_as_agreed() {
    let files = sessions();
    assert!(!files.is_empty());
    for file in files {
        let content = fs::read(&file).expect("readable");
        let folder = file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).expect("a format's folder");
        let format = Format::of(&content).unwrap_or_else(|| panic!("{}: no format", file.display()));
        assert_eq!(format.word(), folder, "{}", file.display());
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
fn the_format_is_told_by_a_head_that_is_cut_anywhere_past_its_first_members() {
    for file in sessions() {
        let content = fs::read(&file).expect("readable");
        let format = Format::of(&content);
        let least = (0..=content.len()).find(|end| Format::of(&content[..*end]).is_some()).expect("it has a format");
        for end in least..content.len() {
            assert_eq!(Format::of(&content[..end]), format, "{} cut at {end}", file.display());
        }
    }
}

#[test]
fn every_format_has_a_session_and_a_name_of_its_own() {
    let files = sessions();
    for format in Format::ALL {
        let first = Format::named(format.word()).expect("a word of a format");
        assert_eq!(first.word(), format.word());
        let has_session = files.iter().any(|file| Format::of(&fs::read(file).expect("readable")) == Some(format));
        assert!(has_session, "{format:?}");
    }
    assert_eq!(Format::named("unheard-of"), None);
    for strange in [&b""[..], b"hello", b"{}", b"[]", b"{\"a\":1}\n{\"b\":2}\n", b"\xff\xfe", b"{\"type\":\"x\"}"] {
        assert_eq!(Format::of(strange), None, "{}", String::from_utf8_lossy(strange));
    }
}

#[test]
fn a_session_cut_anywhere_says_nothing_else_before_the_cut() {
    for file in sessions() {
        let content = fs::read(&file).expect("readable");
        let format = Format::of(&content).expect("it has a format");
        let whole: Vec<Entry> = read(format, &content).into_iter().flat_map(|(_, entries)| entries).collect();
        // Every cut of a short file; of a long one those that fall on other places in its lines.
        for end in (0..content.len()).step_by(1 + content.len() / 2000) {
            let cut: Vec<Entry> = read(format, &content[..end]).into_iter().flat_map(|(_, entries)| entries).collect();
            assert_eq!(cut[..], whole[..cut.len()], "{} cut at {end}", file.display());
        }
    }
}

/// What Claude Code writes into its file of a call that its hooks were told of.
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
fn a_recorded_call_is_the_same_as_the_one_that_a_hook_is_told_of() {
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
        let live = claude::read(payload.as_bytes()).expect("a payload").what;
        let Some(Happening::ToolEnd { action: Some(live_action), answer: live_answer, .. }) = live else {
            panic!("{tool}: {live:?}")
        };
        let content = recorded(tool, input, response, error);
        let mut entries = read(Format::Claude, content.as_bytes()).into_iter().flat_map(|(_, entries)| entries);
        let (Some(start), Some(end)) = (entries.next(), entries.next()) else { panic!("{content}") };
        assert!(matches!(start.what, Happening::ToolStart { action, .. } if action == live_action), "{content}");
        assert!(matches!(end.what, Happening::ToolEnd { answer, .. } if answer == live_answer), "{content}");
    }
}

/// Values that stand where another kind is expected.
const STRANGERS: [&str; 9] =
    ["null", "7", "-1e999", "true", "[]", "{}", "\"\\ud83d\"", "[[[[[[]]]]]]", "18446744073709551616"];

proptest! {
    #[test]
    fn a_damaged_session_is_read_or_refused(
        which in any::<prop::sample::Index>(),
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let files = sessions();
        let mut content = fs::read(&files[which.index(files.len())]).expect("readable");
        let format = Format::of(&content).expect("it has a format");
        for (place, byte) in hits {
            let place = place.index(content.len());
            content[place] = byte;
        }
        let found = Format::of(&content).unwrap_or(format);
        drop(read(found, &content));
        drop(read(format, &content));
    }

    #[test]
    fn a_strange_value_is_read_or_refused(
        which in any::<prop::sample::Index>(),
        field in any::<prop::sample::Index>(),
        stranger in prop::sample::select(&STRANGERS[..]),
    ) {
        let files = sessions();
        let content = fs::read_to_string(&files[which.index(files.len())]).expect("UTF-8");
        let places: Vec<usize> = content.match_indices("\":").map(|(place, _)| place + 2).collect();
        let start = places[field.index(places.len())];
        let end = start + content[start..].find([',', '}', '\n']).unwrap_or(content.len() - start);
        let changed = format!("{}{stranger}{}", &content[..start], &content[end..]);
        for format in Format::ALL {
            drop(read(format, changed.as_bytes()));
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in Format::of(&bytes).into_iter().chain(Format::ALL) {
            drop(read(format, &bytes));
        }
    }
}
