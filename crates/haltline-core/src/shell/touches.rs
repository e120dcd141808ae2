//! Detects whether a command line would change a path (E6): reading is allowed, changing is not. A program that is not
//! known as a reader may change every protected path that it names.

use crate::glob_matches;

use super::code::{code_of, is_awk, is_interpreter};
use super::{Program, Script, base};

/// Programs that change each path they name.
const CHANGERS: [&str; 31] = [
    "tee", "truncate", "chmod", "chown", "chgrp", "chattr", "touch", "mkdir", "sqlite3", "vi", "vim", "nvim", "nano",
    "ed", "ex", "emacs", "code", "patch", "sponge", "shred", "unlink", "rmdir", "rm", "mv", "trash", "gzip", "gunzip",
    "bzip2", "xz", "zstd", "setfacl",
];
/// Programs that also change everything below a folder they name.
const SUBTREE_CHANGERS: [&str; 8] = ["rm", "rmdir", "shred", "trash", "unlink", "chmod", "chown", "chattr"];
/// Programs that change only the last path they name.
const COPIERS: [&str; 7] = ["cp", "ln", "install", "rsync", "scp", "link", "mv"];
/// Programs that only look at the paths they name. Every other program that names a protected path may change it.
const READERS: [&str; 84] = [
    "cat",
    "bat",
    "less",
    "more",
    "head",
    "tail",
    "ls",
    "ll",
    "exa",
    "eza",
    "tree",
    "stat",
    "file",
    "wc",
    "du",
    "df",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "diff",
    "cmp",
    "colordiff",
    "comm",
    "jq",
    "yq",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shasum",
    "cksum",
    "b2sum",
    "xxd",
    "hexdump",
    "od",
    "strings",
    "cut",
    "tr",
    "uniq",
    "column",
    "nl",
    "tac",
    "rev",
    "fold",
    "paste",
    "join",
    "echo",
    "printf",
    "cd",
    "pushd",
    "popd",
    "pwd",
    "test",
    "[",
    "[[",
    "readlink",
    "realpath",
    "basename",
    "dirname",
    "which",
    "type",
    "command",
    "export",
    "set",
    "true",
    "false",
    ":",
    "haltline",
    "cargo",
    "lsof",
    "fuser",
    "getfacl",
    "lsattr",
    "zcat",
    "mktemp",
    "read",
    "env",
    "pytest",
    "npm",
    "make",
];
/// Options after which a program writes, as a separate word, attached, or behind `=`.
const OUTPUT_OPTIONS: [&str; 10] = [
    "-o",
    "-O",
    "--output",
    "--output-document",
    "--output-dir",
    "--out",
    "--outfile",
    "--dest",
    "--destination",
    "--log-file",
];

/// A path that haltline protects.
pub struct OwnPath(Vec<String>);

impl OwnPath {
    /// The path, with `~` for `home`.
    pub fn new(path: &str, home: Option<&str>) -> Self {
        Self(components(&expanded(path, home)))
    }
}

/// Returns whether the command would change `path` or anything below it, or delete or move a folder above it. `home` is
/// the value of `~` and `$HOME`; `folder` is where the command starts.
pub fn touches(script: &Script, path: &str, home: Option<&str>, folder: Option<&str>) -> bool {
    touched(script, &[OwnPath::new(path, home)], home, folder).is_some()
}

/// Returns the index of the first of `paths` that the command would change; the number of paths stands for haltline's own
/// program.
pub fn touched(script: &Script, paths: &[OwnPath], home: Option<&str>, folder: Option<&str>) -> Option<usize> {
    let mut folder: Option<String> = folder.map(str::to_owned);
    let mut first = None;
    for program in &script.programs {
        if program.words.first().is_some_and(|word| word == "cd" || word == "pushd") {
            let target = program.words.get(1).map_or("~", String::as_str);
            // A folder name too long for any system is not followed further.
            folder = Some(located(target, home, folder.as_deref())).filter(|folder| folder.len() < 4096);
        }
        for (index, OwnPath(path)) in paths.iter().enumerate() {
            let is_earlier = first.is_none_or(|first| index < first);
            if is_earlier && !path.is_empty() && changes(program, &Target::new(path, home, folder.as_deref())) {
                first = Some(index);
            }
        }
    }
    first.or_else(|| script.programs.iter().any(replaces_program).then_some(paths.len()))
}

/// True if the program writes over the installed haltline: `cp x /usr/local/bin/haltline`.
fn replaces_program(program: &Program) -> bool {
    let is_own = |word: &str| base(word) == "haltline" && word.trim_end_matches("haltline").ends_with("bin/");
    let is_target =
        program.redirects.iter().any(|redirect| writes_file(&redirect.operator) && is_own(&redirect.target.value));
    let name = program.name();
    let operands = || program.words.iter().skip(1).filter(|word| !word.starts_with('-'));
    is_target
        || match name {
            // Copying the program somewhere else changes nothing.
            copier if COPIERS.contains(&copier) && copier != "mv" => {
                operands().next_back().is_some_and(|word| is_own(word))
            }
            changer if CHANGERS.contains(&changer) => operands().any(|word| is_own(word)),
            &_ => outputs(&program.words).any(is_own),
        }
}

fn writes_file(operator: &str) -> bool {
    operator.contains('>') && !operator.ends_with('&')
}

/// The protected path, and the context in which words are resolved.
struct Target<'a> {
    path: &'a [String],
    home: Option<&'a str>,
    folder: Option<&'a str>,
    /// True if a plain relative word may lead to the path: the folder lies above it, in it, or is not known exactly.
    is_near: bool,
}

impl<'a> Target<'a> {
    fn new(path: &'a [String], home: Option<&'a str>, folder: Option<&'a str>) -> Self {
        let is_near =
            folder.is_some_and(|folder| std::iter::zip(components(folder), path).all(|(part, own)| part == *own));
        Self { path, home, folder, is_near }
    }

    fn components(&self, word: &str) -> Option<Vec<String>> {
        let word = word.strip_prefix("file:").map_or(word, |path| path.split('?').next().unwrap_or(path));
        let is_relative = !word.starts_with(['/', '~', '$']);
        // Nearly every word of nearly every command ends here.
        if is_relative && !self.is_near && !word.contains("..") && !word.contains(":/") && !word.contains(":\\") {
            return None;
        }
        let word = located(word, self.home, self.folder);
        (word.starts_with('/') || word.contains(":/") || word.contains(":\\")).then(|| components(&word))
    }

    /// True if the word is the path or lies below it.
    fn is_named_by(&self, word: &str) -> bool {
        self.components(word).is_some_and(|named| named.len() >= self.path.len() && self.agrees(&named))
            || self.is_in_substitution(word)
    }

    /// True if the word is the path, lies below it or lies above it.
    fn is_within(&self, word: &str) -> bool {
        self.components(word).is_some_and(|named| self.agrees(&named)) || self.is_in_substitution(word)
    }

    /// True if the word is a folder above the path into which `source` is copied under the name of the next part.
    fn is_parent_of_copy(&self, word: &str, source: &str) -> bool {
        let Some(named) = self.components(word).filter(|named| named.len() < self.path.len()) else { return false };
        let below = &self.path[named.len()];
        let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
        self.agrees(&named) && (glob_matches(name, below) || self.is_parent(&named) && matches!(name, "." | "*"))
    }

    fn is_parent(&self, named: &[String]) -> bool {
        named.len() + 1 == self.path.len() && self.agrees(named)
    }

    /// True if the word is the folder that contains the path: whatever is unpacked there may be the path.
    fn is_parent_folder(&self, word: &str) -> bool {
        self.components(word).is_some_and(|named| self.is_parent(&named))
    }

    /// `$(dirname ~/.local/state/haltline/x)` leads to the path as well.
    fn is_in_substitution(&self, word: &str) -> bool {
        if !word.contains("$(") && !word.contains('`') {
            return false;
        }
        let parts = word.split(|letter: char| letter.is_whitespace() || "()'\"`".contains(letter));
        parts.filter(|part| part.contains('/') || part.starts_with('~')).any(|part| {
            self.components(part).is_some_and(|named| named.len() >= self.path.len() && self.agrees(&named))
        })
    }

    fn agrees(&self, named: &[String]) -> bool {
        named.iter().zip(self.path).all(|(pattern, component)| {
            let pattern = if pattern.contains(['[', '{']) { "*" } else { pattern };
            pattern == component || pattern.contains(['*', '?']) && glob_matches(pattern, component)
        })
    }
}

/// The values of options that name a file to write.
fn outputs(words: &[String]) -> impl Iterator<Item = &str> {
    let is_short = |option: &str| option.len() == 2;
    words.iter().enumerate().skip(1).filter_map(move |(at, word)| {
        OUTPUT_OPTIONS.iter().find_map(|option| match word.strip_prefix(option)? {
            "" => words.get(at + 1).map(String::as_str),
            value if is_short(option) => Some(value),
            value => value.strip_prefix('='),
        })
    })
}

fn changes(program: &Program, target: &Target<'_>) -> bool {
    let writes_into = program
        .redirects
        .iter()
        .any(|redirect| writes_file(&redirect.operator) && target.is_named_by(&redirect.target.value));
    let Some((name, arguments)) = program.words.split_first() else { return writes_into };
    let name = base(name);
    let operands = || arguments.iter().filter(|word| !word.starts_with('-') || word.contains('='));
    let value_of = |word: &'_ String| -> usize {
        // `of=FILE` and `--file=FILE` name a file; `file:x?mode=rw` is one.
        let is_path = word.starts_with(['/', '~', '.']) || word.starts_with("file:");
        word.find('=').filter(|_| !is_path).map_or(0, |at| at + 1)
    };
    let mut named = operands().map(|word| &word[value_of(word)..]);
    let has_flag = |flags: &[&str]| arguments.iter().any(|word| flags.iter().any(|flag| word.starts_with(flag)));
    // A program that holds a lock of haltline's keeps haltline from writing.
    let wrappers = &program.wrapped[..program.wrapped.len().saturating_sub(program.words.len())];
    let locks =
        wrappers.iter().any(|word| base(word) == "flock") && wrappers.iter().any(|word| target.is_named_by(word));
    writes_into
        || locks
        || outputs(&program.words).any(|word| target.is_named_by(word))
        || match name {
            changer if SUBTREE_CHANGERS.contains(&changer) => named.any(|word| target.is_within(word)),
            copier if COPIERS.contains(&copier) => copies_onto(copier, arguments, target),
            changer if CHANGERS.contains(&changer) => named.any(|word| target.is_named_by(word)),
            "sed" | "gsed" => {
                has_flag(&["-i", "--in-place", "-Ei", "-ni"]) && named.any(|word| target.is_named_by(word))
                    || arguments.iter().any(|word| writes_in_sed(word, target))
            }
            "perl" | "ruby" if has_flag(&["-i", "-pi", "-ni"]) => named.any(|word| target.is_named_by(word)),
            "find" | "fd" => {
                has_flag(&["-delete", "-exec", "-ok", "-x", "-X", "--exec", "-fprint", "-fls"])
                    && named.any(|word| target.is_within(word))
            }
            "dd" => arguments.iter().filter_map(|word| word.strip_prefix("of=")).any(|word| target.is_named_by(word)),
            "git" => {
                let cleans = arguments.iter().any(|word| {
                    matches!(
                        word.as_str(),
                        "clean" | "rm" | "mv" | "checkout" | "restore" | "reset" | "stash" | "init" | "clone"
                    )
                });
                cleans && named.any(|word| target.is_within(word))
            }
            "curl" | "wget" | "tar" | "unzip" | "bsdtar" | "7z" | "cpio" => unpacks_into(arguments, target),
            awk if is_awk(awk) => {
                let code = code_of(&program.words, None).unwrap_or_default();
                (code.contains('>') || code.contains("system") || code.contains('|')) && names_in_code(code, target)
            }
            interpreter if is_interpreter(interpreter) => {
                let code = code_of(&program.words, program.stdin.as_deref()).unwrap_or_default();
                names_in_code(code, target) || named.any(|word| target.is_named_by(word))
            }
            "sort" | "rsync" => false,
            reader if READERS.contains(&reader) => false,
            // Nobody knows what this program does with the paths it names.
            &_ => named.any(|word| target.is_named_by(word)),
        }
}

/// True if a copy or a move lands on the path, or takes it away.
fn copies_onto(copier: &str, arguments: &[String], target: &Target<'_>) -> bool {
    let attached = arguments.iter().find_map(|word| word.strip_prefix("--target-directory="));
    let behind = arguments.iter().skip_while(|word| *word != "-t" && *word != "--target-directory").nth(1);
    // `localhost:/path` names a file of this machine.
    let here =
        |word: &'_ str| word.split_once(':').filter(|(_, path)| copier == "scp" && path.starts_with('/')).is_some();
    let without_host = |word: &'_ String| if here(word) { word.find(':').map_or(0, |at| at + 1) } else { 0 };
    let named: Vec<&str> =
        arguments.iter().filter(|word| !word.starts_with('-')).map(|word| &word[without_host(word)..]).collect();
    let into = attached.or(behind.map(String::as_str)).or(named.last().copied());
    let Some(into) = into else { return false };
    let sources = || named.iter().copied().filter(|word| *word != into);
    let removes =
        copier == "mv" || copier == "rsync" && arguments.iter().any(|word| word.starts_with("--remove-source"));
    let deletes = copier == "rsync" && arguments.iter().any(|word| word.starts_with("--delete"));
    target.is_named_by(into)
        || sources().any(|source| target.is_parent_of_copy(into, source))
        || removes && sources().any(|source| target.is_within(source))
        || deletes && target.is_within(into)
}

/// True if something is unpacked or stored into the path or into the folder that contains it.
fn unpacks_into(arguments: &[String], target: &Target<'_>) -> bool {
    let into = ["-C", "-d", "-P", "--directory", "--directory-prefix"];
    let separate = arguments.windows(2).filter(|pair| into.contains(&&*pair[0])).map(|pair| pair[1].as_str());
    let attached = arguments.iter().flat_map(|word| {
        into.iter().filter_map(move |option| word.strip_prefix(option).map(|value| value.trim_start_matches('=')))
    });
    let is_creating = arguments.first().is_some_and(|mode| !mode.starts_with("--") && mode.contains('c'))
        || arguments.iter().any(|word| word == "-c" || word == "--create");
    !is_creating
        && separate
            .chain(attached.filter(|value| !value.is_empty()))
            .any(|word| target.is_named_by(word) || target.is_parent_folder(word))
}

/// True if a sed script writes the path: `w FILE` or `s/a/b/w FILE`.
fn writes_in_sed(script: &str, target: &Target<'_>) -> bool {
    script.match_indices('w').any(|(at, _)| {
        let file = script[at + 1..].trim_start();
        let has_gap = file.len() < script.len() - at - 1;
        let file = file.split([';', '\n', '}']).next().unwrap_or(file);
        has_gap && target.is_named_by(file.trim_end())
    })
}

/// Code is not parsed, so naming the path in it is enough.
fn names_in_code(code: &str, target: &Target<'_>) -> bool {
    let code = match target.home {
        Some(home) => expanded_anywhere(code, home),
        None => code.to_owned(),
    };
    // Code puts a path together: `process.env.HOME + '/.local/state/haltline'`.
    let home = target.home.map(components).filter(|home| target.path.starts_with(home)).map_or(0, |home| home.len());
    let below_home = target.path.get(home..).filter(|below| home > 0 && below.len() > 1);
    code.contains(&format!("/{}", target.path.join("/")))
        || below_home.is_some_and(|below| code.contains(&format!("/{}", below.join("/"))))
}

fn expanded_anywhere(text: &str, home: &str) -> String {
    let home = home.trim_end_matches('/');
    text.replace("${HOME}", home).replace("$HOME", home).replace("~/", &format!("{home}/"))
}

/// Replaces a leading `~`, `$HOME` or `${HOME}`.
fn expanded(word: &str, home: Option<&str>) -> String {
    if let Some(home) = home {
        for start in ["~", "$HOME", "${HOME}"] {
            if let Some(rest) = word.strip_prefix(start).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                return format!("{}{rest}", home.trim_end_matches('/'));
            }
        }
    }
    word.to_owned()
}

fn located(word: &str, home: Option<&str>, folder: Option<&str>) -> String {
    let word = expanded(word, home);
    match folder {
        Some(folder) if !word.starts_with(['/', '~', '$']) => format!("{folder}/{word}"),
        Some(_) | None => word,
    }
}

fn components(path: &str) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for component in path.split(['/', '\\']) {
        match component {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            component => kept.push(component.to_owned()),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changing_touches_and_looking_does_not() {
        let path = "/home/ann/.local/state/haltline";
        for (command, expected) in [
            ("rm -rf ~/.local/state/haltline", true),
            ("rm -rf ~/.local/state", true),
            ("rm -rf $HOME/.local/state/*", true),
            ("rm -rf \"${HOME}/.local\"", true),
            ("mv ~/.local/state/haltline /elsewhere", true),
            ("echo x > ~/.local/state/haltline/a.db", true),
            ("echo x >> /home/ann/.local/state/../state/haltline/a.db", true),
            ("sqlite3 ~/.local/state/haltline/a.db 'delete from fact'", true),
            ("python3 -c \"open('/home/ann/.local/state/haltline/a','w')\"", true),
            ("sh -c 'sed -i s/a/b/ ~/.local/state/haltline/a'", true),
            ("cd ~/.local/state && rm -rf haltline", true),
            ("cp x ~/.local/state/haltline/a", true),
            ("find ~/.local -name '*.db' -delete", true),
            ("env -i tee /home/ann/.local/state/haltline/a", true),
            ("cp ~/.local/state/haltline/a x", false),
            ("ls -l ~/.local/state/haltline", false),
            ("cat /home/ann/.local/state/haltline/a > copy", false),
            ("sed -n 1p ~/.local/state/haltline/a", false),
            ("echo rm -rf ~/.local/state/haltline", false),
            ("rm -rf ~/.local/state/other", false),
            ("rm -rf ~/.local/state/haltline2", false),
            ("mkdir -p ~/.local/state", false),
            ("git commit -m 'rm -rf ~/.local/state/haltline'", false),
            ("rm -rf target", false),
        ] {
            assert_eq!(touches(&Script::parse(command), path, Some("/home/ann"), Some("/work")), expected, "{command}");
        }
        assert!(!touches(&Script::parse("rm -rf ~/.local/state"), path, None, None), "nobody knows whose home it is");
        let home = Some("/home/ann");
        let paths = [path, "/home/ann/.config/haltline/config.toml", ""].map(|path| OwnPath::new(path, home));
        let first = |command| touched(&Script::parse(command), &paths, home, None);
        assert_eq!(first("rm ~/.config/haltline/config.toml"), Some(1));
        assert_eq!(first("rm ~/.config/haltline/config.toml; rm -r ~/.local"), Some(0));
        assert_eq!(first("ls ~/.config"), None);
    }
}
