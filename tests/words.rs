//! The language of pages, help texts and messages: phrases that tidy rejects, with what to write instead.

use super::{Token, code, files, read, report, rust_files, tokens};

/// Phrases that do not say who does what, or that are not English, with what to write instead.
const UNCLEAR: &[(&str, &str)] = &[
    ("afresh", "again"),
    ("all the same", "anyway"),
    ("anew", "again"),
    ("are meant", "say what the default is"),
    ("are no", "are not"),
    ("are told", "say who tells whom"),
    ("are under way", "are in progress"),
    ("as may be", "the maximum number of …"),
    ("came of it", "the result"),
    ("cut off", "interrupted"),
    ("dear", "expensive"),
    ("dearer", "more expensive"),
    ("false alarm", "false positive"),
    ("false alarms", "false positives"),
    ("for ever", "permanently"),
    ("for good", "permanently"),
    ("for want of", "because … is missing"),
    ("goes on", "continues"),
    ("how manieth", "which"),
    ("in force", "current"),
    ("is meant", "say what the default is"),
    ("is no", "is not a"),
    ("is passed over", "haltline ignores …"),
    ("is told", "say who tells whom"),
    ("is under way", "is in progress"),
    ("knows no", "does not know a"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("of its own", "its own …, separate"),
    ("of their own", "their own …, separate"),
    ("of which nothing", "say which"),
    ("of your own", "your own …"),
    ("on trial", "HALF_OPEN"),
    ("oracle.py", "the name of the format, on its page"),
    ("refusal", "denial"),
    ("refusals", "denials"),
    ("refuse", "deny"),
    ("refused", "denied"),
    ("refuses", "denies"),
    ("rehearsal", "self-test"),
    ("seed 000", "the name of the format"),
    ("seed 001", "the name of the format"),
    ("seed 002", "the name of the format"),
    ("seed 003", "the name of the format"),
    ("seed 004", "the name of the format"),
    ("stands in", "is in"),
    ("take back", "revert, remove, revoke"),
    ("taken back", "reverted, removed, revoked"),
    ("takes back", "reverts, removes, revokes"),
    ("the one too many", "say which number"),
    ("told of", "say who tells whom"),
    ("warned of", "haltline warns …"),
    ("was to be", "say who tried what"),
    ("was told", "say who told whom"),
    ("were to be", "say who tried what"),
    ("were told", "say who told whom"),
    ("whoever", "say who"),
    ("written down", "recorded"),
    ("wrote down", "recorded"),
];

/// Texts in which an unclear phrase is right, each with the reason.
const UNCLEAR_EXCEPT: &[(&str, &str)] = &[
    ("there is no", "plain English"),
    ("there are no", "plain English"),
    ("are no longer", "plain English"),
    ("is no longer", "plain English"),
    ("instead of your own", "plain English"),
    ("connection refused", "the words of the operating system"),
    ("haltline-rehearsal", "the name of a program in stored sessions"),
    ("[\"oracle.py\", \"swarm.py\", \"research.py\"]", "a default that the format prescribes"),
];

/// Files whose messages and help texts still have unclear phrases. Remove a file from the list when it is rewritten;
/// never add one.
const NOT_YET_CLEAR: &[&str] = &[];

/// The first unclear phrase in a text.
fn unclear_phrase(text: &str) -> Option<(&'static str, &'static str)> {
    let mut text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    for (allowed, _) in UNCLEAR_EXCEPT {
        text = text.replace(allowed, "");
    }
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let is_word = |at: usize, phrase: &str| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + phrase.len()..].chars().next())
    };
    UNCLEAR.iter().copied().find(|(phrase, _)| text.match_indices(phrase).any(|(at, _)| is_word(at, phrase)))
}

/// The paragraphs of a Markdown page with their lines; fenced blocks, which tests execute or generate, and code are
/// passed over.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = vec![(1, String::new())];
    let mut is_fenced = false;
    for (number, line) in text.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        if is_fence || line.trim().is_empty() || line.starts_with('|') {
            found.push((number + 1, String::new()));
        }
        if let Some((_, paragraph)) = found.last_mut().filter(|_| !is_fence && !is_fenced) {
            let prose: Vec<&str> = line.split('`').step_by(2).collect();
            paragraph.push_str(&prose.join("…"));
            paragraph.push(' ');
        }
    }
    found
}

#[test]
fn pages_and_messages_say_who_does_what() {
    let mut findings = Vec::new();
    for path in files() {
        let is_page = path == "README.md" || (path.starts_with("docs/") && path.ends_with(".md"));
        if is_page {
            for (number, paragraph) in paragraphs(&read(&path)) {
                if let Some((phrase, instead)) = unclear_phrase(&paragraph) {
                    findings.push(format!("{path}:{number}: instead of {phrase:?}: {instead}"));
                }
                let is_rule = |word: &str| word.len() < 4 && word.starts_with(['E', 'L', 'C', 'P', 'A', 'X']);
                let words = paragraph.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
                let rule = words.filter(|word| is_rule(word)).find(|word| word[1..].parse::<u8>().is_ok());
                if let Some(rule) = rule {
                    findings.push(format!("{path}:{number}: {rule} is a rule of ours; say what it says"));
                }
            }
        }
        if path == "docs/reference/config.toml" {
            for (number, line) in read(&path).lines().enumerate() {
                if let Some((phrase, instead)) = unclear_phrase(line) {
                    findings.push(format!("{path}:{}: instead of {phrase:?}: {instead}", number + 1));
                }
            }
        }
    }
    for (path, text) in rust_files() {
        let is_shipped = path.contains("/src/") && !path.starts_with("crates/haltline-sim/");
        if !is_shipped {
            continue;
        }
        let end = code(&text).last().map_or(0, |(number, _)| number);
        // Doc comments of the command line are its help texts.
        let is_help = path.starts_with("crates/haltline/src/cli");
        let shown = |kind: Token| kind == Token::Text || (is_help && kind == Token::Comment);
        let texts = tokens(&text).into_iter().filter(|(line, kind, _)| *line <= end && shown(*kind));
        let unclear: Vec<String> = texts
            .filter_map(|(line, _, text)| {
                // A single word is a stored name.
                let (phrase, instead) = unclear_phrase(text).filter(|_| text.contains(' '))?;
                Some(format!("{path}:{line}: instead of {phrase:?}: {instead}"))
            })
            .collect();
        match (unclear.is_empty(), NOT_YET_CLEAR.contains(&path.as_str())) {
            (true, true) => findings.push(format!("{path}: is clear now; remove it from NOT_YET_CLEAR")),
            (false, false) => findings.extend(unclear),
            (true, false) | (false, true) => {}
        }
    }
    report(&findings);
}
