//! Removes programs that only run another program, so that the program that matters comes first.

use super::base;

/// What is left without wrappers.
pub(crate) enum Unwrapped<'a> {
    /// A program and its arguments.
    Program(&'a [String]),
    /// A text that a shell would run.
    Script(String),
}

/// A program that runs the rest of its words: which of its options take a separate word as their value, and how many
/// operands come before the program.
struct Wrapper {
    names: &'static [&'static str],
    valued: &'static [&'static str],
    operands: usize,
}

const WRAPPERS: [Wrapper; 23] = [
    Wrapper { names: &["ld.so"], valued: &["--library-path", "--preload", "--audit", "--argv0"], operands: 0 },
    Wrapper { names: &["env"], valued: &["-u", "--unset", "-C", "--chdir"], operands: 0 },
    Wrapper {
        names: &["sudo", "doas", "run0"],
        valued: &["-u", "--user", "-g", "--group", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "-U"],
        operands: 0,
    },
    Wrapper {
        names: &["nohup", "setsid", "builtin", "caffeinate", "chronic", "unbuffer", "busybox", "winpty", "noglob"],
        valued: &[],
        operands: 0,
    },
    Wrapper { names: &["time"], valued: &["-f", "-o"], operands: 0 },
    Wrapper { names: &["timeout", "gtimeout"], valued: &["-s", "--signal", "-k", "--kill-after"], operands: 1 },
    Wrapper { names: &["nice"], valued: &["-n", "--adjustment"], operands: 0 },
    Wrapper { names: &["ionice"], valued: &["-c", "--class", "-n", "--classdata"], operands: 0 },
    // A mask or a priority comes before the program; a list of processors may be attached to `-c`.
    Wrapper { names: &["taskset", "chrt"], valued: &[], operands: 1 },
    Wrapper { names: &["stdbuf"], valued: &["-i", "-o", "-e"], operands: 0 },
    Wrapper { names: &["command"], valued: &[], operands: 0 },
    Wrapper { names: &["exec"], valued: &["-a"], operands: 0 },
    Wrapper {
        names: &["xargs", "parallel"],
        valued: &["-I", "-n", "-P", "-d", "-L", "-a", "-E", "-s", "-j", "--max-args", "--max-procs", "--delimiter"],
        operands: 0,
    },
    Wrapper { names: &["strace", "ltrace"], valued: &["-o", "-e", "-s", "-p", "-u"], operands: 0 },
    Wrapper { names: &["gdb", "valgrind", "catchsegv", "rr"], valued: &["-ex", "-iex", "-x", "-cd"], operands: 0 },
    Wrapper { names: &["chroot"], valued: &["--userspec", "--groups"], operands: 1 },
    Wrapper {
        names: &["unshare", "nsenter"],
        valued: &[
            "--boottime",
            "--monotonic",
            "--setuid",
            "-S",
            "--setgid",
            "-G",
            "--root",
            "-R",
            "--wd",
            "-w",
            "--map-user",
            "--map-group",
            "--map-users",
            "--map-groups",
            "--propagation",
            "--setgroups",
            "--target",
            "-t",
        ],
        operands: 0,
    },
    Wrapper {
        names: &["systemd-run", "systemd-inhibit"],
        valued: &[
            "-p",
            "--property",
            "-u",
            "--unit",
            "-E",
            "--setenv",
            "-M",
            "--machine",
            "-H",
            "--host",
            "--uid",
            "--gid",
            "--slice",
            "--description",
            "--working-directory",
            "--nice",
            "--on-active",
            "--what",
            "--who",
            "--why",
            "--mode",
        ],
        operands: 0,
    },
    Wrapper {
        names: &["setpriv"],
        valued: &["--reuid", "--regid", "--groups", "--inh-caps", "--pdeathsig"],
        operands: 0,
    },
    Wrapper { names: &["faketime", "setarch", "flock"], valued: &["-w", "--timeout", "-E"], operands: 1 },
    Wrapper {
        names: &["fakeroot", "firejail", "dbus-run-session", "ssh-agent", "linux64", "daemonize", "eatmydata"],
        valued: &[],
        operands: 0,
    },
    Wrapper {
        names: &["start-stop-daemon", "prlimit", "cgexec"],
        valued: &["-g", "--pidfile", "--chuid"],
        operands: 0,
    },
    Wrapper { names: &["proot", "dtach", "abduco"], valued: &["-r", "-b", "-w", "-A", "-n", "-c"], operands: 0 },
];

/// The dynamic loader starts the program that it is given.
fn is_loader(name: &str) -> bool {
    ["ld.so", "ld-linux", "ld-musl"].iter().any(|loader| name.starts_with(loader))
}

pub(crate) fn is_shell(program: &str) -> bool {
    matches!(
        base(program),
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "mksh" | "ash" | "fish" | "rbash" | "tcsh" | "pwsh"
    )
}

/// Removes assignments and wrappers.
pub(crate) fn unwrap(words: &[String]) -> Unwrapped<'_> {
    let mut rest = words;
    loop {
        rest = &rest[rest.iter().take_while(|word| is_assignment(word)).count()..];
        let Some((program, arguments)) = rest.split_first() else {
            return Unwrapped::Program(rest);
        };
        let name = base(program);
        if let Some(script) = script_of(name, arguments) {
            return Unwrapped::Script(script);
        }
        let name = if is_loader(name) { "ld.so" } else { name };
        let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name)) else {
            return Unwrapped::Program(rest);
        };
        let only_looks_up = name == "command" && arguments.first().is_some_and(|word| word == "-v" || word == "-V");
        let behind = options_end(arguments, wrapper.valued);
        let assigned = arguments[behind..].iter().take_while(|word| is_assignment(word)).count();
        let inner = arguments.get(behind + assigned + wrapper.operands..).unwrap_or_default();
        if only_looks_up || inner.is_empty() {
            return Unwrapped::Program(rest);
        }
        rest = inner;
    }
}

/// The text that a program would run as a command line.
fn script_of(name: &str, arguments: &[String]) -> Option<String> {
    match name {
        "eval" => Some(arguments.join(" ")),
        "env" => {
            let index =
                arguments.iter().take_while(|word| word.starts_with('-') || is_assignment(word)).position(|word| {
                    word.starts_with("--split-string")
                        || (!word.starts_with("--") && word.starts_with('-') && word.contains('S'))
                })?;
            let word = &arguments[index];
            let attached = word.strip_prefix("--split-string=").or_else(|| word.split_once('S').map(|(_, text)| text));
            let attached = attached.filter(|text| !text.is_empty() && !word.ends_with("string"));
            let behind = &arguments[index + 1..];
            Some(match attached {
                Some(text) => format!("{text} {}", quoted(behind)),
                None => {
                    let (text, behind) = behind.split_first()?;
                    format!("{text} {}", quoted(behind))
                }
            })
        }
        "script" | "su" | "runuser" | "flock" => {
            let index = arguments.iter().position(|word| {
                word == "--command" || word.starts_with("--command=") || is_cluster_ending_in(word, 'c')
            })?;
            match arguments[index].strip_prefix("--command=") {
                Some(text) => Some(text.to_owned()),
                None => arguments.get(index + 1).cloned(),
            }
        }
        "ssh" => {
            let behind = options_end(arguments, &["-p", "-l", "-i", "-o", "-F", "-J", "-L", "-R", "-D", "-c", "-m"]);
            let (host, command) = arguments.get(behind..)?.split_first()?;
            let is_here = ["localhost", "127.0.0.1", "::1"].contains(&host.rsplit('@').next().unwrap_or(host));
            (is_here && !command.is_empty()).then(|| command.join(" "))
        }
        "watch" => {
            let behind = options_end(arguments, &["-n", "--interval"]);
            arguments.get(behind..).filter(|rest| !rest.is_empty()).map(|rest| rest.join(" "))
        }
        "tmux" | "screen" => {
            // What is typed into another terminal runs there.
            let texts: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| word.contains(' ')).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        shell if is_shell(shell) => {
            let mut at = 0;
            while let Some(word) = arguments.get(at).filter(|word| word.starts_with(['-', '+']) && word.len() > 1) {
                if !word.starts_with("--") && word.starts_with('-') && word.contains('c') {
                    let behind = &arguments[at + 1..];
                    return behind.get(options_end(behind, &["-o", "-O"])).cloned();
                }
                at += if matches!(&**word, "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file") { 2 } else { 1 };
            }
            None
        }
        &_ => None,
    }
}

/// The texts among the arguments of a program that it would run as commands, besides those of [`unwrap`].
pub(crate) fn nested_scripts(words: &[String]) -> Vec<String> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let behind = |option: &str| -> Option<String> {
        let at = arguments.iter().position(|word| word == option)?;
        arguments.get(at + 1).cloned()
    };
    let attached = |option: &str| -> Vec<String> {
        arguments.iter().filter_map(|word| word.strip_prefix(option)).map(str::to_owned).collect()
    };
    match base(program) {
        "git" => {
            // `-c alias.x='!cmd'`, `config alias.x '!cmd'`, and settings that name a program.
            let value = |word: &String| word.split_once('=').map_or(word.clone(), |(_, value)| value.to_owned());
            let has_alias = |word: &&String| word.contains("!");
            let mut found: Vec<String> = arguments
                .iter()
                .filter(has_alias)
                .filter_map(|word| value(word).strip_prefix('!').map(str::to_owned))
                .collect();
            let names_program = |word: &&String| {
                ["core.pager=", "core.editor=", "core.sshcommand=", "sequence.editor=", "core.fsmonitor="]
                    .iter()
                    .any(|key| word.to_ascii_lowercase().starts_with(key))
            };
            found.extend(arguments.iter().filter(names_program).map(value));
            // `-c alias.p='push --force' p origin`
            found.extend(arguments.iter().enumerate().filter_map(|(at, word)| {
                let (name, text) =
                    word.strip_prefix("alias.")?.split_once('=').filter(|(_, text)| !text.starts_with('!'))?;
                let behind = &arguments[at + 1..];
                let used = behind.iter().position(|word| word == name)?;
                Some(format!("git {text} {}", quoted(&behind[used + 1..])))
            }));
            found.extend(attached("--exec="));
            found.extend(
                ["--exec", "-x"]
                    .into_iter()
                    .filter(|_| arguments.iter().any(|word| word == "rebase"))
                    .filter_map(behind),
            );
            for (verb, keyword) in [("bisect", "run"), ("submodule", "foreach")] {
                let at = arguments.iter().position(|word| word == keyword);
                if let Some(at) = at.filter(|_| arguments.iter().any(|word| word == verb)) {
                    found.push(arguments[at + 1..].join(" "));
                }
            }
            found
        }
        "tar" | "bsdtar" => {
            let options = ["--checkpoint-action=exec=", "--to-command=", "--use-compress-program="].map(attached);
            options.concat().into_iter().chain(behind("-I")).collect()
        }
        "rsync" => attached("--rsh=").into_iter().chain(behind("-e")).collect(),
        "ssh" | "scp" | "sftp" => ["ProxyCommand=", "-oProxyCommand=", "LocalCommand="].map(attached).concat(),
        "sqlite3" => [".shell ", ".system "].map(attached).concat(),
        "make" | "gmake" if arguments.iter().any(|word| word.starts_with("SHELL=")) => attached("SHELL="),
        "make" | "gmake" => [attached("--eval="), behind("--eval").into_iter().collect()].concat(),
        "alias" => arguments.iter().filter_map(|word| word.split_once('=')).map(|(_, text)| text.to_owned()).collect(),
        "trap" => arguments.first().cloned().into_iter().collect(),
        "npx" | "npm" => ["-c", "--call"].into_iter().filter_map(behind).collect(),
        "vim" | "vi" | "nvim" | "ex" => {
            let commands = arguments.iter().filter_map(|word| word.trim_start_matches(['+', ':']).strip_prefix('!'));
            commands.map(str::to_owned).collect()
        }
        "expect" => behind("-c").map(|script| script.replace("spawn ", "")).into_iter().collect(),
        "nodemon" | "entr" | "hyperfine" => arguments.iter().filter(|word| word.contains(' ')).cloned().collect(),
        &_ => Vec::new(),
    }
}

/// Returns whether a program, called with these words, reads its commands from standard input.
pub(crate) fn reads_script(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    match base(program) {
        "at" | "batch" => return true,
        "crontab" => return arguments.iter().any(|word| word == "-"),
        "make" | "gmake" => {
            return arguments.windows(2).any(|pair| pair[0] == "-f" && pair[1] == "-")
                || arguments.iter().any(|word| matches!(&**word, "-f-" | "--file=-" | "--makefile=-" | "/dev/stdin"));
        }
        &_ => {}
    }
    is_shell(program) && arguments.iter().all(|word| word.starts_with(['-', '+']) || word == "/dev/stdin")
        || arguments.first().is_some_and(|word| is_shell(program) && word == "-s")
}

/// The commands that `find` would run.
pub(crate) fn executed(words: &[String]) -> Vec<&[String]> {
    let starts = |word: &String| {
        matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "--exec" | "-X" | "--exec-batch")
    };
    let mut found = Vec::new();
    let mut rest = words;
    while let Some(index) = rest.iter().position(starts) {
        rest = &rest[index + 1..];
        let end = rest.iter().position(|word| word == ";" || word == "+").unwrap_or(rest.len());
        found.push(&rest[..end]);
        rest = &rest[end..];
    }
    found
}

/// Where the options end and the operands begin.
pub(crate) fn options_end(arguments: &[String], valued: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-')) {
        at += if valued.contains(&word.as_str()) { 2 } else { 1 };
        if word == "--" {
            break;
        }
    }
    at.min(arguments.len())
}

fn is_cluster_ending_in(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|flags| {
        flags.ends_with(letter) && flags.len() <= 4 && flags.bytes().all(|byte| byte.is_ascii_alphabetic())
    })
}

pub(crate) fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name.strip_suffix('+').unwrap_or(name));
    name.is_some_and(|name| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Joins words into one command line that splits into the same words again.
pub(crate) fn quoted(words: &[String]) -> String {
    let quote = |word: &String| {
        let is_plain =
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte));
        if is_plain { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}
