//! Parts of a command line that only change what the reader sees, or when (L4): `echo try 3` and `sleep 2` at either end,
//! `|| true`, and `| tail -20`. A command with other such parts is the same command. What they print is known, so it can
//! be left out of the result too.

use crate::shell::base;
use crate::shell::lex::{Joint, OPENERS, Piece, Redirect, Word};

use super::Digest;
use super::volatile::line_shape;

/// The maximum number of parts that are left out at each end.
const PARTS_MAX: usize = 8;

/// A command line without the parts that only change what the reader sees.
pub(super) struct Essential<'a> {
    pub pieces: &'a [Piece],
    /// The shapes of the lines that the other parts print.
    pub printed: Vec<Digest>,
}

pub(super) fn essential(pieces: &[Piece]) -> Essential<'_> {
    let mut essential = Essential { pieces, printed: Vec::new() };
    // Inside brackets, loops and conditions a part decides more than what is seen.
    let is_first = |index: usize| index == 0 || matches!(pieces[index - 1], Piece::Joint(_));
    let steers = |(index, piece): (usize, &Piece)| match piece {
        Piece::Word(word) if is_first(index) && !word.is_quoted => {
            OPENERS.contains(&&*word.value) || is_keyword(&word.value)
        }
        Piece::Joint(joint) => matches!(joint, Joint::Open | Joint::Close | Joint::Background),
        Piece::Word(_) | Piece::Redirect(_) => false,
    };
    if pieces.iter().enumerate().any(steers) {
        return essential;
    }
    for _ in 0..PARTS_MAX {
        let before = essential.pieces.len();
        drop_first(&mut essential);
        drop_last(&mut essential);
        if essential.pieces.len() == before {
            break;
        }
    }
    essential
}

fn is_keyword(word: &str) -> bool {
    matches!(word, "for" | "case" | "select" | "function" | "fi" | "done" | "esac" | "}")
}

fn drop_first(essential: &mut Essential<'_>) {
    let Some(end) = essential.pieces.iter().position(|piece| matches!(piece, Piece::Joint(_))) else { return };
    let (first, rest) = (&essential.pieces[..end], &essential.pieces[end + 1..]);
    let is_sequence = matches!(essential.pieces[end], Piece::Joint(Joint::And | Joint::Sequence));
    let has_more = rest.iter().any(|piece| matches!(piece, Piece::Word(_)));
    if is_sequence && has_more && is_noise(first, &mut essential.printed) {
        essential.pieces = rest;
    }
}

fn drop_last(essential: &mut Essential<'_>) {
    let mut pieces = essential.pieces;
    while let [rest @ .., Piece::Joint(Joint::Sequence)] = pieces {
        pieces = rest;
    }
    let Some(start) = pieces.iter().rposition(|piece| matches!(piece, Piece::Joint(_))) else { return };
    let (rest, last) = (&pieces[..start], &pieces[start + 1..]);
    if rest.is_empty() || last.is_empty() {
        return;
    }
    let is_left_out = match pieces[start] {
        Piece::Joint(Joint::Pipe) => only_cuts(last),
        Piece::Joint(Joint::And | Joint::Or | Joint::Sequence) => is_noise(last, &mut essential.printed),
        Piece::Joint(Joint::Background | Joint::Open | Joint::Close) | Piece::Word(_) | Piece::Redirect(_) => false,
    };
    if is_left_out {
        essential.pieces = rest;
        while let [before @ .., Piece::Joint(Joint::Sequence | Joint::And | Joint::Or)] = essential.pieces {
            essential.pieces = before;
        }
    }
}

/// The words of a simple command that writes to no file.
fn words(part: &[Piece]) -> Option<Vec<&Word>> {
    part.iter()
        .map(|piece| match piece {
            Piece::Word(word) => Some(Some(word)),
            Piece::Redirect(redirect) if only_merges(redirect) => Some(None),
            Piece::Redirect(_) | Piece::Joint(_) => None,
        })
        .collect::<Option<Vec<_>>>()
        .map(|words| words.into_iter().flatten().collect())
}

fn only_merges(redirect: &Redirect) -> bool {
    redirect.operator.ends_with(">&") && redirect.target.value.bytes().all(|byte| byte.is_ascii_digit())
}

/// True for a part that prints its own words, or lets time pass. What it prints is added to `printed`.
fn is_noise(part: &[Piece], printed: &mut Vec<Digest>) -> bool {
    let Some(words) = words(part) else { return false };
    let Some((program, arguments)) = words.split_first() else { return false };
    match base(&program.value) {
        "true" | ":" | "sync" => true,
        "sleep" => arguments.iter().all(|time| time.value.starts_with(|letter: char| letter.is_ascii_digit())),
        "date" => arguments.iter().all(|word| word.value.starts_with(['+', '-'])),
        "echo" | "printf" => {
            let texts: Option<Vec<String>> = arguments.iter().map(|word| fixed_text(word)).collect();
            let Some(texts) = texts else { return false };
            let text = texts.iter().skip_while(|text| is_flag(text)).map(String::as_str).collect::<Vec<_>>().join(" ");
            printed.push(line_shape(text.replace("\\n", " ").trim().as_bytes()));
            true
        }
        _other => false,
    }
}

fn is_flag(text: &str) -> bool {
    matches!(text, "-n" | "-e" | "-ne" | "-en" | "-E" | "--")
}

/// The text of a word whose expansions, if it has any, mean nothing: random numbers and the time.
fn fixed_text(word: &Word) -> Option<String> {
    let is_time = |command: &String| {
        matches!(command.split_whitespace().next(), Some("date" | "uuidgen" | "shuf" | "mktemp"))
            && !command.contains(['|', ';', '&', '>'])
    };
    if !word.nested.iter().all(is_time) || word.value.contains('`') {
        return None;
    }
    let mut text = word.value.clone();
    for name in ["RANDOM", "SECONDS", "BASHPID", "EPOCHSECONDS", "EPOCHREALTIME", "SRANDOM", "$"] {
        for form in [format!("${{{name}}}"), format!("${name}")] {
            text = text.replace(&form, "0");
        }
    }
    let has_expansion = text.contains('$') && word.nested.is_empty();
    (!has_expansion || word.canon.starts_with('\'')).then_some(text)
}

/// True for `head`, `tail` and `cat` that show a part of what they read.
fn only_cuts(part: &[Piece]) -> bool {
    let Some(words) = words(part) else { return false };
    let Some((program, arguments)) = words.split_first() else { return false };
    let is_count = |word: &&Word| {
        let digits = word.value.trim_start_matches("-n").trim_start_matches("-c").trim_start_matches('-');
        matches!(&*word.value, "-n" | "-c" | "--lines") || digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    match base(&program.value) {
        "head" | "tail" => arguments.iter().all(is_count),
        "cat" => arguments.is_empty(),
        _other => false,
    }
}
