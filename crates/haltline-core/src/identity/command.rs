//! Shell commands: what makes two of them the same, and what they do (L4).
//!
//! The program and its arguments decide. Blanks, quoting, comments, line breaks, `2>&1` at the end, a leading `cd` into the
//! current folder and what only changes what the reader sees (`noise.rs`) do not matter. Everything else does: another argument, another here-document or another
//! filter after a pipe makes a different command.

use crate::shell::lex::{self, Joint, Piece, Redirect};
use crate::shell::{Program, Script, Simple, base, simple_commands, wrapper};

use super::{Digest, Looks, looks, noise, path};

/// Longer commands are compared byte by byte.
const COMMAND_BYTES_MAX: usize = 32 * 1024;
/// The maximum number of pieces of leading `cd` commands that are examined.
const LEADING_PIECES_MAX: usize = 24;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandTraits {
    pub is_write: bool,
    pub is_search: bool,
    pub is_wait: bool,
    pub is_saving: bool,
    pub looks: Looks,
}

pub(super) struct ParsedCommand {
    /// The folder in which the command runs, if it is known.
    pub folder: Option<String>,
    /// Equal for commands that are the same.
    pub canonical: String,
    pub traits: CommandTraits,
    /// What the command would run.
    pub script: Script,
    /// The shapes of the lines that it prints only for the reader.
    pub printed: Vec<Digest>,
}

/// Parses a command that starts in `folder`.
pub(super) fn read(command: &str, folder: Option<&str>) -> ParsedCommand {
    let mut folder = folder.map(|folder| path::resolved(folder, None));
    let (pieces, read) = Script::pieces(command);
    let (mut canonical, mut printed, mut is_search) = (None, Vec::new(), None);
    if command.len() <= COMMAND_BYTES_MAX && read == command.len() {
        let mut start = 0;
        while let Some(entered) = leading_folder(&pieces[start..]).filter(|_| start < LEADING_PIECES_MAX) {
            folder = Some(path::resolved(&entered, folder.as_deref()));
            start += 3;
        }
        let essential = noise::essential(&pieces[start..]);
        if essential.pieces.len() < pieces.len() - start {
            is_search = Some(searches(&simple_commands(essential.pieces.to_vec())));
        }
        canonical = Some(lex::render(without_merged_streams(essential.pieces)));
        printed = essential.printed;
    }
    let commands = simple_commands(pieces);
    let is_search = is_search.unwrap_or_else(|| searches(&commands));
    let script = Script::from_simple(commands, command, read);
    let traits = traits(&script, is_search);
    ParsedCommand { folder, canonical: canonical.unwrap_or_else(|| command.to_owned()), traits, script, printed }
}

/// Returns the folder that a leading `cd folder &&` enters.
fn leading_folder(pieces: &[Piece]) -> Option<String> {
    let [Piece::Word(program), Piece::Word(folder), Piece::Joint(Joint::And | Joint::Sequence), _, ..] = pieces else {
        return None;
    };
    let is_plain = !folder.value.contains(['$', '`', '*', '?', '[', '{']) && folder.value != "-";
    (program.value == "cd" && is_plain).then(|| folder.value.clone())
}

/// Removes `2>&1` where it only changes what the reader sees: not before a pipe, and not next to a redirection to a
/// file that would receive both streams.
fn without_merged_streams(pieces: &[Piece]) -> impl Iterator<Item = &Piece> {
    let merges = |piece: &Piece| matches!(piece, Piece::Redirect(redirect) if redirect.operator == "2>&" && redirect.target.value == "1");
    let files =
        |piece: &Piece| matches!(piece, Piece::Redirect(redirect) if redirect.operator.contains('>')) && !merges(piece);
    let mut keeps = Vec::with_capacity(pieces.len());
    for command in pieces.split_inclusive(|piece| matches!(piece, Piece::Joint(_))) {
        let is_piped = matches!(command.last(), Some(Piece::Joint(Joint::Pipe | Joint::Close)));
        let is_seen_elsewhere = is_piped || command.iter().any(files);
        keeps.extend(command.iter().map(|piece| is_seen_elsewhere || !merges(piece)));
    }
    pieces.iter().zip(keeps).filter(|(_, keeps)| *keeps).map(|(piece, _)| piece)
}

fn traits(script: &Script, is_search: bool) -> CommandTraits {
    let (mut is_write, mut is_wait, mut has_slept) = (false, false, false);
    let (mut saves, mut does_more) = (false, false);
    for program in &script.programs {
        is_write |= writes(program);
        is_wait |= waits(program);
        has_slept |= sleeps(program);
        match saving(program) {
            Some(true) => saves = true,
            Some(false) => {}
            None => does_more = true,
        }
    }
    // Time alone does not make a test pass, so a pause in front of one is no wait.
    is_wait |= has_slept && !script.programs.iter().any(looks::is_worker);
    let looks = looks::looks_of_script(script, is_write);
    CommandTraits { is_write, is_search, is_wait, is_saving: saves && !does_more, looks }
}

/// Returns `Some(true)` for a plain `git add` or `git commit`, and `Some(false)` for a command that may accompany it.
fn saving(program: &Program) -> Option<bool> {
    if program.redirects.iter().any(|redirect| redirect.body.is_none() && into_file(redirect)) {
        return None;
    }
    let words: Vec<&str> = program.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["cd", _] => Some(false),
        // The usual way to pass a commit message of several lines.
        ["cat"] if program.stdin.is_some() => Some(false),
        ["git", rest @ ..] => {
            let rest = if let ["-C", _, rest @ ..] = rest { rest } else { rest };
            matches!(rest.first(), Some(&("add" | "commit"))).then_some(true)
        }
        [..] => None,
    }
}

fn into_file(redirect: &Redirect) -> bool {
    let target = redirect.target.value.as_str();
    redirect.operator.contains('>')
        && !(redirect.operator.ends_with(">&") && (target == "-" || target.bytes().all(|byte| byte.is_ascii_digit())))
        && !matches!(target, "" | "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "NUL" | "$null")
        && !target.starts_with("/dev/fd/")
        && !target.starts_with(">(")
}

/// Returns whether a program changes files when it succeeds. The products of builds and tests do not count.
fn writes(program: &Program) -> bool {
    if program.redirects.iter().any(into_file) {
        return true;
    }
    let Some((name, arguments)) = program.words.split_first() else { return false };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let verb = arguments.iter().find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or_default();
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(word));
    let starts = |flag: &str| arguments.iter().any(|word| word.starts_with(flag));
    match base(name) {
        "mv" | "cp" | "rm" | "rmdir" | "mkdir" | "touch" | "ln" | "chmod" | "chown" | "patch" | "install" | "rsync"
        | "truncate" | "shred" | "unlink" | "sponge" | "unzip" | "gunzip" | "gzip" | "dd" | "apply_patch"
        | "applypatch" | "rustfmt" | "black" | "isort" | "dos2unix" | "ed" | "ex" => true,
        "tee" => arguments.iter().any(|word| !word.starts_with('-') && *word != "/dev/null" && *word != "/dev/stderr"),
        "sed" | "gsed" => starts("-i") || starts("--in-place") || has(&["-Ei", "-ni", "-ri", "-Eie"]),
        "perl" | "ruby" if starts("-i") || starts("-pi") || starts("-ni") || starts("-0pi") => true,
        "git" => git_writes(&arguments),
        "npm" | "pnpm" | "yarn" | "bun" => {
            let verbs = [
                "install",
                "i",
                "ci",
                "add",
                "uninstall",
                "remove",
                "rm",
                "update",
                "upgrade",
                "link",
                "dedupe",
                "init",
            ];
            verbs.contains(&verb) || (base(name) == "yarn" && arguments.is_empty())
        }
        "pip" | "pip3" | "pipx" | "gem" | "apt" | "apt-get" | "brew" | "dnf" | "yum" | "apk" | "pacman"
        | "composer" | "bundle" | "poetry" | "uv" | "conda" | "mise" => {
            ["install", "uninstall", "add", "remove", "sync", "update", "upgrade", "require", "lock", "use"]
                .iter()
                .any(|word| arguments.iter().take(3).any(|argument| argument == word))
        }
        "cargo" => {
            matches!(verb, "add" | "remove" | "update" | "fix" | "install" | "new" | "init" | "generate-lockfile")
                || (verb == "fmt" && !starts("--check"))
                || has(&["--fix"])
        }
        "go" => matches!(verb, "get" | "mod" | "generate" | "install" | "fmt" | "work") || has(&["-fix"]),
        "gofmt" | "goimports" | "gofumpt" | "shfmt" => has(&["-w"]),
        "prettier" => has(&["--write", "-w"]),
        "eslint" | "golangci-lint" | "stylelint" | "biome" => has(&["--fix", "--write"]),
        "ruff" => has(&["--fix"]) || (verb == "format" && !has(&["--check"])),
        "clang-format" => has(&["-i"]),
        "curl" => has(&["-o", "-O", "--output", "--remote-name", "-LO", "-sLo", "-fsSLo", "-Lo"]),
        "wget" => {
            !has(&["-O-", "-qO-", "--spider"])
                && !arguments.windows(2).any(|pair| pair[0].ends_with('O') && pair[1] == "-")
        }
        "tar" | "bsdtar" => !arguments.first().is_some_and(|mode| mode.contains('t')),
        "find" => has(&["-delete"]),
        interpreter if is_interpreter(interpreter) => {
            let piped = has(&["-m"]) && has(&["pip", "pip3"]) && has(&["install", "uninstall"]);
            let code = arguments.iter().skip_while(|word| !matches!(**word, "-c" | "-e" | "--eval")).nth(1).copied();
            piped || code.or(program.stdin.as_deref()).is_some_and(code_writes)
        }
        &_ => false,
    }
}

/// Returns whether a program deliberately lets time pass before it, or the next program, looks at something.
fn waits(program: &Program) -> bool {
    let Some((name, arguments)) = program.words.split_first() else { return false };
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.as_str()));
    match base(name) {
        "wait" | "watch" | "inotifywait" | "wait-for-it" | "wait-for-it.sh" => true,
        "tail" => has(&["-f", "-F", "--follow"]),
        "journalctl" => has(&["-f", "--follow"]),
        "gh" | "glab" => has(&["watch", "--watch"]),
        "docker" | "podman" | "aws" | "gcloud" => has(&["wait"]) || (has(&["logs"]) && has(&["-f", "--follow"])),
        "kubectl" | "oc" => {
            has(&["wait", "--watch", "-w"])
                || (has(&["rollout"]) && has(&["status"]))
                || (has(&["logs"]) && has(&["-f", "--follow"]))
        }
        &_ => false,
    }
}

/// A pause of less than a second is part of a script, not a wait.
fn sleeps(program: &Program) -> bool {
    let seconds = |time: &String| time.parse::<f64>().map_or(true, |seconds| seconds >= 1.0);
    program.name() == "sleep" && program.words.get(1).is_some_and(seconds)
}

fn is_interpreter(name: &str) -> bool {
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    matches!(name, "python" | "node" | "perl" | "ruby" | "deno" | "bun" | "php")
}

/// Code is not parsed; these are the usual ways to change a file.
fn code_writes(code: &str) -> bool {
    ["write(", "write_text(", "write_bytes(", "writeFile", "writelines(", "appendFile", "os.remove(", "os.rename("]
        .iter()
        .chain(&["os.replace(", "shutil.", "unlink", "renameSync", "mkdir", "rmSync", "json.dump(", "File.write"])
        .any(|call| code.contains(call))
}

fn git_writes(arguments: &[&str]) -> bool {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-')) {
        at += if matches!(*word, "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace") { 2 } else { 1 };
    }
    let Some((verb, rest)) = arguments.get(at..).and_then(<[&str]>::split_first) else { return false };
    let names_something = rest.iter().any(|word| !word.starts_with('-'));
    match *verb {
        "add" | "commit" | "checkout" | "switch" | "restore" | "merge" | "rebase" | "pull" | "push" | "reset"
        | "revert" | "cherry-pick" | "rm" | "mv" | "clean" | "am" | "init" | "clone" | "submodule" | "update-ref"
        | "update-index" | "filter-branch" | "gc" => true,
        "apply" => !rest.iter().any(|word| matches!(*word, "--check" | "--stat" | "--numstat" | "--summary")),
        "stash" => !matches!(rest.first(), Some(&("list" | "show"))),
        "worktree" | "remote" | "notes" | "bisect" => {
            matches!(
                rest.first(),
                Some(
                    &("add"
                        | "remove"
                        | "move"
                        | "prune"
                        | "rename"
                        | "set-url"
                        | "append"
                        | "good"
                        | "bad"
                        | "start"
                        | "reset")
                )
            )
        }
        "branch" | "tag" => {
            let only_lists =
                ["-l", "--list", "--contains", "--merged", "--no-merged", "--points-at", "-r", "-a", "--show-current"];
            names_something && !rest.iter().any(|word| only_lists.contains(word))
        }
        "config" => {
            rest.iter().filter(|word| !word.starts_with('-')).count() > 1
                && !rest.iter().any(|word| word.starts_with("--get"))
        }
        &_ => false,
    }
}

/// Returns whether exit code 1 is a regular answer: the last program looks something up, and nothing before it can
/// fail.
fn searches(commands: &[Simple]) -> bool {
    let Some((last, before)) = commands.split_last() else { return false };
    if !looks_up(last) {
        return false;
    }
    // Only commands joined to the last one with `&&` can end the line with their own failure.
    for command in before.iter().rev() {
        match command.after {
            Joint::And if looks_up(command) || cannot_fail(command) => {}
            Joint::And => return false,
            // The exit code of a pipe is that of its last program.
            Joint::Pipe => {}
            Joint::Sequence | Joint::Or | Joint::Background | Joint::Open | Joint::Close => break,
        }
    }
    true
}

fn cannot_fail(command: &Simple) -> bool {
    let first = command.words.first().map(|word| word.value.as_str()).unwrap_or_default();
    matches!(first, "cd" | "echo" | "export" | "set" | "pwd" | "true" | "ls" | "cat" | "printf" | "source" | ".")
}

fn looks_up(command: &Simple) -> bool {
    let words: Vec<String> = command.words.iter().map(|word| word.value.clone()).collect();
    let wrapper::Unwrapped::Program(words) = wrapper::unwrap(&words) else { return false };
    let Some((name, arguments)) = words.split_first() else { return false };
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.as_str()));
    match base(name) {
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "pgrep" | "pidof" | "diff" | "cmp"
        | "colordiff" | "find" | "fd" | "which" | "type" | "command" | "test" | "[" | "[[" | "lsof" | "locate"
        | "hash" => true,
        "git" => {
            let verb = arguments.iter().find(|word| !word.starts_with('-') && !word.contains('/'));
            match verb.map(String::as_str) {
                Some("grep" | "check-ignore" | "show-ref" | "merge-base" | "ls-remote") => true,
                Some("diff" | "diff-index" | "diff-files" | "diff-tree") => {
                    has(&["--exit-code", "--quiet", "--no-index", "--check"])
                }
                Some("config") => starts_with_get(arguments),
                Some("rev-parse") => has(&["--verify", "-q", "--quiet"]),
                Some("ls-files") => has(&["--error-unmatch"]),
                Some(_) | None => false,
            }
        }
        "jq" => has(&["-e", "--exit-status"]),
        "kill" => has(&["-0"]),
        "systemctl" => has(&["is-active", "is-enabled"]),
        &_ => false,
    }
}

fn starts_with_get(arguments: &[String]) -> bool {
    arguments.iter().any(|word| word.starts_with("--get"))
}
