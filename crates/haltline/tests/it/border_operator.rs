//! Only a person is the person (E6): what an agent's command tries from its client's process tree, from a tree that has
//! lost its client, and with an environment of its own. The client is a script with a client's name and a recorded session.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::terminal::Terminal;
use crate::support::{HALTLINE, Site};

const RESET: &str = "constraint reset rule --reason mine";

/// A site whose files are where an account without variables has them, with an OPEN circuit.
fn tripped() -> Site {
    let site = Site::new();
    site.constraint("rule", "violation_threshold: 1");
    assert!(plain(&site, &["constraint", "record", "rule", "--action", "x"]).starts_with("CIRCUIT TRIPPED"));
    site
}

/// The environment of a person's shell in this site.
fn configure(site: &Site, command: &mut Command) {
    site.configure(command);
    command.env_remove("HALTLINE_STATE_DIR").env_remove("HALTLINE_CONFIG");
}

fn plain(site: &Site, arguments: &[&str]) -> String {
    let mut command = Command::new(HALTLINE);
    configure(site, &mut command);
    let output = command.args(arguments).output().expect("the binary starts");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn is_open(site: &Site) -> bool {
    plain(site, &["constraint", "status", "rule"]).contains("OPEN")
}

/// A client that runs until it is dropped and runs commands for its agent.
struct FakeClient {
    child: std::process::Child,
    site: PathBuf,
    commands: u32,
}

impl FakeClient {
    fn start(site: &Site) -> Self {
        let payload = json!({
            "session_id": "s1", "cwd": site.project(), "hook_event_name": "SessionStart", "source": "startup",
        });
        fs::write(site.home().join("start.json"), payload.to_string()).expect("written");
        let program = site.home().join("bin/claude");
        fs::create_dir_all(site.home().join("bin")).expect("created");
        let script = format!(
            "#!/bin/sh\n{HALTLINE} hook claude < $HOME/start.json > /dev/null\necho ready\nwhile read -r file; do sh \"$file\" > \"$file.out\" 2>&1; echo done; done\n"
        );
        fs::write(&program, script).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
        let mut command = Command::new(&program);
        configure(site, &mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = Self { child: command.spawn().expect("starts"), site: site.home().to_owned(), commands: 0 };
        client.wait_for("ready");
        client
    }

    fn wait_for(&mut self, word: &str) {
        let out = self.child.stdout.as_mut().expect("piped");
        let mut seen = String::new();
        let mut byte = [0];
        while !seen.ends_with('\n') && out.read(&mut byte).expect("the client writes") > 0 {
            seen.push(char::from(byte[0]));
        }
        assert_eq!(seen.trim(), word);
    }

    /// Runs a command as the agent does; returns what it wrote.
    fn run(&mut self, command: &str) -> String {
        self.commands += 1;
        let file = self.site.join(format!("command-{}", self.commands));
        fs::write(&file, format!("cd {}\n{command}\n", self.site.join("project").display())).expect("written");
        let input = self.child.stdin.as_mut().expect("piped");
        writeln!(input, "{}", file.display()).expect("the client reads");
        self.wait_for("done");
        fs::read_to_string(format!("{}.out", file.display())).expect("the command ran")
    }

    /// Runs a command that leaves the client's processes, and waits until it has written its exit code.
    fn run_away(&mut self, command: &str) -> String {
        let (file, exit) = (self.site.join("away"), self.site.join("exit"));
        fs::remove_file(&exit).ok();
        fs::write(
            &file,
            format!("{command} > $HOME/out 2>&1; echo $? > $HOME/exit.new; mv $HOME/exit.new $HOME/exit\n"),
        )
        .expect("written");
        self.run(&format!("setsid -f sh {}", file.display()));
        let since = Instant::now();
        while !exit.exists() {
            assert!(since.elapsed() < Duration::from_secs(30), "{command}: no end");
            std::thread::yield_now();
        }
        fs::read_to_string(self.site.join("out")).unwrap_or_default()
    }
}

impl Drop for FakeClient {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The environment that an agent builds from nothing.
const BARE: &str = "env -i HOME=$HOME PATH=$PATH";

#[test]
fn below_a_client_no_environment_makes_a_person() {
    let site = tripped();
    fs::create_dir_all(site.home().join("other/.config/haltline")).expect("created");
    fs::write(site.home().join("c.toml"), "[operator]\nunattended = true\n").expect("written");
    // The store under another name, without the record of the client.
    let state = site.home().join(".local/state/haltline");
    let mut client = FakeClient::start(&site);
    let alias = "mkdir -p $HOME/al; for f in state.db state.db-wal state.db-shm state.lock latches; do ln -sf $HOME/.local/state/haltline/$f $HOME/al/$f; done";
    client.run(alias);
    for attack in [
        format!("{BARE} {HALTLINE} {RESET}"),
        format!("{BARE} HALTLINE_CONFIG=$HOME/c.toml {HALTLINE} {RESET}"),
        format!("{BARE} HALTLINE_STATE_DIR=$HOME/al HALTLINE_CONFIG=$HOME/c.toml {HALTLINE} {RESET}"),
        format!("env -i HOME=/nowhere HALTLINE_STATE_DIR=$HOME/al HALTLINE_CONFIG=$HOME/c.toml {HALTLINE} {RESET}"),
        format!("script -qec '{BARE} {HALTLINE} {RESET}' /dev/null < /dev/null"),
        format!("rm -f {0}/clients/*; {BARE} {HALTLINE} {RESET}", state.display()),
        format!("rm -f {0}/clients/*; script -qec '{BARE} {HALTLINE} {RESET}' /dev/null < /dev/null", state.display()),
    ] {
        let shown = client.run(&format!("{attack}; echo exit $?"));
        assert!(shown.contains("exit 77") && shown.contains("haltline denies it inside an agent"), "{attack}: {shown}");
        assert!(is_open(&site), "{attack}: {shown}");
    }
}

#[test]
fn a_process_tree_that_lost_its_client_is_no_person() {
    let site = tripped();
    fs::write(site.home().join("c.toml"), "[operator]\nunattended = true\n").expect("written");
    let mut client = FakeClient::start(&site);
    let python = format!(
        "import pty,os; pty.spawn(['env','-i','HOME='+os.environ['HOME'],'PATH='+os.environ['PATH']]+'{HALTLINE} {RESET}'.split())"
    );
    for attack in [
        format!("{BARE} HALTLINE_CONFIG=$HOME/c.toml {HALTLINE} {RESET}"),
        format!(
            "{BARE} HALTLINE_CONFIG=$HOME/c.toml sh -c '(setsid {HALTLINE} {RESET}; echo $? > $HOME/inner) & wait'"
        ),
        format!("{BARE} script -qec '{HALTLINE} {RESET}' /dev/null < /dev/null"),
        format!("{BARE} sh -c 'sh -c \"script -qec \\\"{HALTLINE} {RESET}\\\" $HOME/typescript < /dev/null & wait\"'"),
        format!("{BARE} python3 -c \"{python}\""),
    ] {
        let shown = client.run_away(&attack);
        assert!(shown.contains("is for people"), "{attack}: {shown}");
        assert!(is_open(&site), "{attack}: {shown}");
    }
}

#[test]
fn a_terminal_program_under_a_borrowed_name_is_no_person() {
    let site = tripped();
    let mut client = FakeClient::start(&site);
    let attack = format!(
        "cp $(command -v script) $HOME/xterm; {BARE} $HOME/xterm -qec '{HALTLINE} {RESET}' /dev/null < /dev/null"
    );
    // For root, a file that the account made cannot be told from one of the system: its owner is the same.
    let shown = client.run_away(&attack);
    if !rustix_is_root() {
        assert!(shown.contains("is for people"), "{shown}");
        assert!(is_open(&site), "{shown}");
    }
}

fn rustix_is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

#[test]
fn another_pid_namespace_hides_no_client() {
    let site = tripped();
    let mut client = FakeClient::start(&site);
    let probe = client.run("unshare -Urpf --mount-proc true && echo can");
    if !probe.contains("can") {
        assert!(std::env::var_os("CI").is_none(), "PID namespaces are needed: {probe}");
        return;
    }
    for wrapper in ["", "script -qec "] {
        let end = if wrapper.is_empty() { "" } else { " /dev/null < /dev/null" };
        let command = if wrapper.is_empty() { format!("{HALTLINE} {RESET}") } else { format!("'{HALTLINE} {RESET}'") };
        let attack = format!("unshare -Urpf --mount-proc {BARE} {wrapper}{command}{end}");
        let shown = client.run(&attack);
        assert!(shown.contains("another PID namespace"), "{attack}: {shown}");
        assert!(is_open(&site), "{attack}: {shown}");
    }
}

#[test]
fn below_a_client_no_command_reads_paths_from_its_environment() {
    let site = tripped();
    fs::create_dir_all(site.home().join("other/.config/haltline")).expect("created");
    for file in ["loose.toml", "other/.config/haltline/config.toml"] {
        fs::write(site.home().join(file), "mode = \"observe\"\n").expect("written");
    }
    let mut client = FakeClient::start(&site);
    for variables in [
        "",
        "HALTLINE_CONFIG=$HOME/loose.toml",
        "HALTLINE_STATE_DIR=$HOME/empty",
        "HOME=$HOME/other",
        "XDG_STATE_HOME=$HOME/x XDG_CONFIG_HOME=$HOME/other/.config",
        "CLAUDECODE=1 HALTLINE_CONFIG=$HOME/loose.toml",
        "-i PATH=$PATH HALTLINE_CONFIG=$HOME/loose.toml HALTLINE_STATE_DIR=$HOME/empty",
    ] {
        for verb in ["constraint check rule", "constraint enforce rule --action y --violated"] {
            let shown = client.run(&format!("env {variables} {HALTLINE} {verb}; echo exit $?"));
            assert!(shown.contains("exit 77"), "{variables} {verb}: {shown}");
        }
        let shown = client.run(&format!("env {variables} {HALTLINE} config get mode"));
        assert_eq!(shown.trim(), "enforce", "{variables}");
    }
    assert!(!site.home().join("empty").exists() && !site.home().join("x").exists());
}

#[test]
fn a_marker_alone_takes_the_configuration_from_the_installation() {
    let site = tripped();
    fs::write(site.home().join("loose.toml"), "mode = \"observe\"\n").expect("written");
    let loosened = |variables: &[(&str, &str)]| {
        let mut command = Command::new(HALTLINE);
        configure(&site, &mut command);
        command.env("CLAUDECODE", "1").env("HALTLINE_CONFIG", site.home().join("loose.toml"));
        command.envs(variables.iter().copied()).args(["constraint", "check", "rule"]);
        command.output().expect("starts").status.code()
    };
    assert_eq!(loosened(&[]), Some(77));
}

/// A terminal in the plain environment that this program opens, so that it is older or younger than a client.
fn person(site: &Site, arguments: &[&str]) -> Terminal {
    Terminal::start_with(site, arguments, |command| {
        command.env("HOME", site.home()).env("PATH", std::env::var("PATH").unwrap_or_default()).env("USER", "ana")
    })
}

#[test]
fn a_person_in_a_terminal_opened_before_the_client_resets_and_reads_of_it_in_the_client() {
    let site = tripped();
    let mut client = FakeClient::start(&site);
    // This program opened the terminal and is older than the client.
    let (code, seen) = person(&site, &RESET.split(' ').collect::<Vec<_>>()).confirm_and_end("CIRCUIT RESET: rule");
    assert_eq!(code, Some(0), "{seen}");
    assert!(!is_open(&site));
    let payload = json!({
        "session_id": "s1", "cwd": site.project(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "ls"}, "tool_use_id": "t1",
    });
    fs::write(site.home().join("call.json"), payload.to_string()).expect("written");
    let shown = client.run(&format!("{HALTLINE} hook claude < $HOME/call.json"));
    assert!(
        shown.contains("`haltline constraint reset rule` was run at") && shown.contains("If that was not you"),
        "{shown}"
    );
}

#[test]
fn a_person_in_a_tmux_that_started_since_types_the_token_and_one_that_nobody_sees_is_denied() {
    if Command::new("tmux").arg("-V").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "tmux is needed");
        return;
    }
    let site = tripped();
    let mut client = FakeClient::start(&site);
    let socket = site.home().join("tmux.sock").display().to_string();
    let reset = format!("cd {}; {HALTLINE} {RESET}", site.project().display());
    let detached = client.run_away(&format!(
        "{BARE} tmux -S $HOME/hidden.sock new-session -d '{HALTLINE} {RESET} > $HOME/seen 2>&1; echo $? > $HOME/code'; while ! test -s $HOME/code; do :; done; cat $HOME/seen"
    ));
    assert!(detached.contains("no person's terminal shows it"), "{detached}");
    assert!(is_open(&site));
    let mut terminal = Terminal::start_program(&site, "tmux", &["-S", &socket, "new-session", &reset], |command| {
        let command = command.env("HOME", site.home()).env("TERM", "xterm").env("LANG", "C.UTF-8");
        command.env("PATH", std::env::var("PATH").unwrap_or_default()).env("SHELL", "/bin/sh")
    });
    let token = terminal.token();
    terminal.type_line(&token);
    let (_, seen) = terminal.end();
    assert!(!is_open(&site), "{seen}");
}

#[test]
fn unattended_use_waits_for_a_person_whenever_the_file_changes() {
    let site = tripped();
    let config = site.home().join(".config/haltline/config.toml");
    fs::create_dir_all(config.parent().expect("a folder")).expect("created");
    fs::write(&config, "[operator]\nunattended = true\n").expect("written");
    let detached = |arguments: &str| {
        let mut command = Command::new("setsid");
        configure(&site, &mut command);
        let output = command.args(["--wait", HALTLINE]).args(arguments.split(' ')).output().expect("setsid is there");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, shown) = detached(RESET);
    assert_eq!(code, Some(77), "{shown}");
    assert!(shown.contains("nobody has confirmed operator.unattended") && shown.contains("haltline trust"), "{shown}");
    assert!(plain(&site, &["trust", "--list"]).contains("operator.unattended"));
    let (code, seen) = person(&site, &["trust"]).confirm_and_end("Trusted:");
    assert_eq!(code, Some(0), "{seen}");
    fs::write(&config, "[operator]\nunattended = true\n# changed\n").expect("written");
    assert_eq!(detached(RESET).0, Some(77), "the file has changed");
    let (code, seen) = person(&site, &["trust"]).confirm_and_end("Trusted:");
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(detached(RESET).0, Some(0));
    assert!(!is_open(&site));
}

#[test]
fn a_person_who_sets_another_key_does_not_confirm_unattended_use() {
    let site = tripped();
    let config = site.home().join(".config/haltline/config.toml");
    fs::create_dir_all(config.parent().expect("a folder")).expect("created");
    fs::write(&config, "[operator]\nunattended = true\n").expect("written");
    let set = |key: &str, value: &str| person(&site, &["config", "set", key, value]).confirm_and_end("config.toml");
    assert_eq!(set("fail", "closed").0, Some(0));
    assert!(plain(&site, &["trust", "--list"]).contains("operator.unattended"));
    assert_eq!(set("operator.unattended", "false").0, Some(0));
    assert_eq!(set("operator.unattended", "true").0, Some(0));
    assert!(plain(&site, &["trust", "--list"]).contains("Nothing waits"));
}
