//! Commands in code that is passed to an interpreter as text. Code is not parsed: its string literals are read as
//! commands if it starts programs at all.

use super::{base, wrapper};

/// The maximum number of literals that are read.
const LITERALS_MAX: usize = 64;
/// What code calls to start a program.
const STARTERS: [&str; 12] = [
    "system",
    "subprocess",
    "popen",
    "Popen",
    "exec",
    "spawn",
    "getline",
    "qx",
    "check_call",
    "check_output",
    "shell",
    "Command",
];

/// Returns whether a program runs code that is passed as text.
pub(super) fn is_interpreter(program: &str) -> bool {
    let name = base(program);
    let known = [
        "python",
        "pypy",
        "node",
        "nodejs",
        "perl",
        "ruby",
        "php",
        "deno",
        "bun",
        "lua",
        "osascript",
        "awk",
        "gawk",
        "mawk",
        "nawk",
        "tclsh",
        "Rscript",
        "julia",
        "irb",
        "ipython",
    ];
    known.iter().any(|known| {
        name.strip_prefix(known).is_some_and(|version| version.bytes().all(|byte| b"0123456789.".contains(&byte)))
    })
}

pub(super) fn is_awk(program: &str) -> bool {
    matches!(base(program), "awk" | "gawk" | "mawk" | "nawk")
}

/// The code that an interpreter runs: among its arguments, or what it reads.
pub(super) fn code_of<'a>(words: &'a [String], stdin: Option<&'a str>) -> Option<&'a str> {
    let (program, arguments) = words.split_first()?;
    if !is_interpreter(program) {
        return None;
    }
    if is_awk(program) {
        let behind = wrapper::options_end(arguments, &["-F", "-v", "-f", "--assign", "--field-separator", "--file"]);
        return arguments.get(behind).map(String::as_str);
    }
    let inline = arguments.iter().position(|word| is_code_option(word));
    let inline = inline.and_then(|index| arguments.get(index + 1)).map(String::as_str);
    inline.or(stdin)
}

/// `-c`, `-e`, `--eval`, and clusters that end in such a letter: `-Ic`, `-lne`.
fn is_code_option(word: &str) -> bool {
    if matches!(word, "--eval" | "--execute" | "eval" | "--print" | "-p" | "-r" | "-E") {
        return true;
    }
    let flags = word.strip_prefix('-').filter(|flags| flags.len() <= 5);
    flags.is_some_and(|flags| flags.ends_with(['c', 'e']) && flags.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// The commands that code would run: its string literals, and the words of a list of literals together.
pub(super) fn commands(code: &str) -> Vec<String> {
    if !STARTERS.iter().any(|starter| code.contains(starter)) && !code.contains('`') {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut list: Vec<String> = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'', '`']).filter(|_| found.len() < LITERALS_MAX) {
        let between = &rest[..at];
        let continues = between.contains(',') && between.bytes().all(|byte| b", []\t\n\r".contains(&byte));
        if !continues {
            flush(&mut list, &mut found);
        }
        let quote = rest.as_bytes()[at];
        let (literal, behind) = literal(&rest[at + 1..], quote);
        list.push(literal);
        rest = behind;
    }
    flush(&mut list, &mut found);
    found
}

fn flush(list: &mut Vec<String>, found: &mut Vec<String>) {
    if list.len() > 1 {
        found.push(wrapper::quoted(list));
    }
    found.append(list);
}

/// The literal up to `quote`, without the backslashes before quotes, and what follows it.
fn literal(text: &str, quote: u8) -> (String, &str) {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        if letter == char::from(quote) {
            return (value, &text[at + 1..]);
        }
        match letter {
            '\\' => value.extend(letters.next().map(|(_, escaped)| if escaped == 'n' { '\n' } else { escaped })),
            letter => value.push(letter),
        }
    }
    (value, "")
}
