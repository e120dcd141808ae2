//! Detects whether a command line would change a path (E6): reading is allowed, changing is not.

use crate::glob_matches;

use super::operator::{inline_code, is_interpreter};
use super::{Program, base, for_each_program};

/// Programs that change each path they name.
const CHANGERS: [&str; 31] = [
    "tee", "truncate", "chmod", "chown", "chgrp", "chattr", "touch", "mkdir", "sqlite3", "vi", "vim", "nvim", "nano",
    "ed", "ex", "emacs", "code", "patch", "sponge", "shred", "unlink", "rmdir", "rm", "mv", "trash", "gzip", "gunzip",
    "bzip2", "xz", "zstd", "setfacl",
];
/// Programs that also change everything below a folder they name.
const SUBTREE_CHANGERS: [&str; 9] = ["rm", "mv", "rmdir", "shred", "trash", "unlink", "chmod", "chown", "chattr"];
/// Programs that change only the last path they name.
const COPIERS: [&str; 6] = ["cp", "ln", "install", "rsync", "scp", "link"];

/// Returns whether `command` would change `path` or anything below it, or delete or move a folder above it. `home` is
/// the value of `~` and `$HOME`. Relative words count if the command itself says which folder it is in.
pub fn touches(command: &str, path: &str, home: Option<&str>) -> bool {
    touched(command, &[path], home).is_some()
}

/// Returns the index of the first of `paths` that `command` would change. Parses the command only once.
pub fn touched(command: &str, paths: &[&str], home: Option<&str>) -> Option<usize> {
    let paths: Vec<Vec<String>> = paths.iter().map(|path| components(&expanded(path, home))).collect();
    let mut folder: Option<String> = None;
    let mut is_touched = vec![false; paths.len()];
    for_each_program(command, &mut |program| {
        if program.words.first().is_some_and(|word| word == "cd" || word == "pushd") {
            let target = program.words.get(1).map_or("~", String::as_str);
            // A folder name too long for any system is not followed further.
            folder = Some(located(target, home, folder.as_deref())).filter(|folder| folder.len() < 4096);
        }
        for (path, is_touched) in paths.iter().zip(&mut is_touched) {
            *is_touched |= !path.is_empty() && changes(program, &Target { path, home, folder: folder.as_deref() });
        }
    });
    is_touched.iter().position(|is_touched| *is_touched)
}

/// The protected path, and the context in which words are resolved.
struct Target<'a> {
    path: &'a [String],
    home: Option<&'a str>,
    folder: Option<&'a str>,
}

impl Target<'_> {
    fn components(&self, word: &str) -> Option<Vec<String>> {
        let word = located(word, self.home, self.folder);
        (word.starts_with('/') || word.contains(":/") || word.contains(":\\")).then(|| components(&word))
    }

    /// True if the word is the path or lies below it.
    fn is_named_by(&self, word: &str) -> bool {
        self.components(word).is_some_and(|named| named.len() >= self.path.len() && self.agrees(&named))
    }

    /// True if the word is the path, lies below it or lies above it.
    fn is_within(&self, word: &str) -> bool {
        self.components(word).is_some_and(|named| self.agrees(&named))
    }

    fn agrees(&self, named: &[String]) -> bool {
        named.iter().zip(self.path).all(|(pattern, component)| {
            let pattern = if pattern.contains(['[', '{']) { "*" } else { pattern };
            glob_matches(pattern, component)
        })
    }
}

fn changes(program: &Program, target: &Target<'_>) -> bool {
    let writes_into = program.redirects.iter().any(|redirect| {
        redirect.operator.contains('>')
            && !redirect.operator.ends_with('&')
            && target.is_named_by(&redirect.target.value)
    });
    let Some((name, arguments)) = program.words.split_first() else { return writes_into };
    let name = base(name);
    let operands = || arguments.iter().filter(|word| !word.starts_with('-') || word.contains('='));
    let mut named = operands().map(|word| word.split_once('=').map_or(word.as_str(), |(_, value)| value));
    let has_flag = |flags: &[&str]| arguments.iter().any(|word| flags.iter().any(|flag| word.starts_with(flag)));
    writes_into
        || match name {
            changer if SUBTREE_CHANGERS.contains(&changer) => named.any(|word| target.is_within(word)),
            changer if CHANGERS.contains(&changer) => named.any(|word| target.is_named_by(word)),
            copier if COPIERS.contains(&copier) => {
                let into = arguments.iter().skip_while(|word| *word != "-t").nth(1);
                into.or_else(|| operands().next_back()).is_some_and(|word| target.is_named_by(word))
                    || (copier == "rsync"
                        && has_flag(&["--delete", "--remove-source"])
                        && named.any(|word| target.is_within(word)))
            }
            "sed" | "gsed" => {
                has_flag(&["-i", "--in-place", "-Ei", "-ni"]) && named.any(|word| target.is_named_by(word))
            }
            "perl" | "ruby" if has_flag(&["-i", "-pi", "-ni"]) => named.any(|word| target.is_named_by(word)),
            "find" | "fd" => {
                has_flag(&["-delete", "-exec", "-ok", "-x", "-X", "--exec"]) && named.any(|word| target.is_within(word))
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
            "curl" | "wget" | "tar" | "unzip" | "bsdtar" => {
                let into = ["-o", "-O", "--output", "-C", "-d", "-P", "--directory"];
                let destinations = arguments.windows(2).filter(|pair| into.contains(&&*pair[0])).map(|pair| &pair[1]);
                destinations.into_iter().any(|word| target.is_named_by(word))
            }
            interpreter if is_interpreter(interpreter) => {
                let code = inline_code(&program.words).or(program.stdin.as_deref()).unwrap_or_default();
                names_in_code(code, target)
            }
            &_ => false,
        }
}

/// Code is not parsed, so naming the path in it is enough.
fn names_in_code(code: &str, target: &Target<'_>) -> bool {
    let code = match target.home {
        Some(home) => expanded_anywhere(code, home),
        None => code.to_owned(),
    };
    code.contains(&format!("/{}", target.path.join("/")))
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
            assert_eq!(touches(command, path, Some("/home/ann")), expected, "{command}");
        }
        assert!(!touches("rm -rf ~/.local/state", path, None), "nobody knows whose home it is");
        let paths = [path, "/home/ann/.config/haltline/config.toml", ""];
        let first = |command| touched(command, &paths, Some("/home/ann"));
        assert_eq!(first("rm ~/.config/haltline/config.toml"), Some(1));
        assert_eq!(first("rm ~/.config/haltline/config.toml; rm -r ~/.local"), Some(0));
        assert_eq!(first("ls ~/.config"), None);
    }
}
