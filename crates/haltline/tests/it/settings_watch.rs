//! Settings that weaken haltline are noticed by the next hook of every client, whether the client has an event for it or
//! not: journalled and told once per change (E6).

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use haltline_agents::Client;
use haltline_agents::hook::HookEvent;
use haltline_agents::install::{DisableSetting, Form};
use haltline_agents::self_test::SelfTestEvent;
use serde_json::json;

use crate::support::Site;
use crate::support::hooks;

/// A client with haltline's hooks in the user's settings.
struct Installed {
    site: Site,
    client: Client,
    rounds: std::cell::Cell<usize>,
}

impl Installed {
    fn new(client: Client) -> Self {
        let site = Site::new();
        let answer = site.run(&["init", "--yes", "--client", client.cli_name()]);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        Self { site, client, rounds: std::cell::Cell::new(0) }
    }

    fn settings(&self) -> PathBuf {
        let user = &self.client.protocol().layout.user;
        let path = self.site.home().join(user.folder).join(user.file);
        assert!(path.is_file(), "{}", path.display());
        path
    }

    /// Delivers the start of a call, or the client's first event; returns what the hook printed.
    fn deliver(&self, is_first: bool) -> String {
        self.deliver_in("s1", is_first)
    }

    fn deliver_in(&self, session: &str, is_first: bool) -> String {
        let self_test = &self.client.protocol().self_test;
        let folder = self.site.project().display().to_string();
        self.rounds.set(self.rounds.get() + 1);
        let payload = |event: &str| {
            let event = SelfTestEvent { event, session, folder: &folder, round: self.rounds.get(), is_denied: false };
            self_test.payload(&event).to_string()
        };
        let is_start = |event: &&'static str| {
            let parsed = (self.client.protocol().read)(payload(event).as_bytes()).expect("its own words");
            parsed.hook.event == HookEvent::ToolStart
        };
        let event = match is_first {
            true => self_test.first_event,
            false => self_test.round.iter().map(|step| step.event).find(is_start).expect("calls start"),
        };
        let payload = payload(event);
        let mut command = self.site.command(&["hook", self.client.cli_name()]);
        command.env("XDG_RUNTIME_DIR", self.site.home());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        child.stdin.take().expect("piped").write_all(payload.as_bytes()).expect("the hook reads its event");
        let output = child.wait_with_output().expect("waited for");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The texts of all facts about weakened settings, oldest first.
    fn reported(&self) -> Vec<String> {
        let journal = self.site.run(&["journal", "show", "--json"]).json();
        let facts = journal["facts"].as_array().expect("a list").iter();
        let texts = facts.filter(|fact| fact["word"] == "hooks_removed").map(|fact| fact["text"].to_string());
        texts.collect()
    }

    /// Changes a file, and checks that one hook reports it and the next does not; then restores it.
    fn assert_reported(&self, file: &Path, change: &str, content: Option<&str>, expected: &str) {
        let before = fs::read(file).ok();
        let mode = fs::metadata(file).map(|file| file.permissions()).ok();
        let known = self.reported().len();
        match content {
            Some(content) => {
                fs::create_dir_all(file.parent().expect("a folder")).expect("created");
                fs::write(file, content).expect("written");
            }
            None => fs::remove_file(file).expect("removed"),
        }
        let what = format!("{} {change}", self.client.title());
        self.deliver(false);
        let reported = self.reported();
        assert_eq!(reported.len(), known + 1, "{what}: {reported:#?}");
        assert!(reported.iter().any(|text| text.contains(expected)), "{what}: {expected:?} in {reported:#?}");
        self.deliver(false);
        assert_eq!(self.reported().len(), known + 1, "{what} is told once");
        match before {
            Some(before) => fs::write(file, before).expect("restored"),
            None => fs::remove_file(file).expect("removed again"),
        }
        if let Some(mode) = mode {
            fs::set_permissions(file, mode).expect("restored");
        }
        self.deliver(false);
        assert_eq!(self.reported().len(), known + 1, "{what}: what was put back is no change for the worse");
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn intact_settings_are_never_reported() {
    for client in Client::ALL {
        let installed = Installed::new(client);
        installed.deliver(true);
        installed.deliver(false);
        let settings = installed.settings();
        // Written again with the same content.
        fs::write(&settings, text(&settings)).expect("written");
        installed.deliver(false);
        assert_eq!(installed.reported(), Vec::<String>::new(), "{}", client.title());
        let uninstalled = {
            // The hooks took the test for the client.
            fs::remove_dir_all(installed.site.state().join("clients")).ok();
            installed.site.config("[operator]\nunattended = true\n");
            installed.site.run_detached(&["uninstall", "--client", client.cli_name()], &[])
        };
        assert_eq!(uninstalled.code, Some(0), "{uninstalled:?}");
        installed.deliver(false);
        assert_eq!(installed.reported(), Vec::<String>::new(), "{}: a person took it out", client.title());
    }
}

#[test]
fn hooks_that_are_removed_or_pointed_elsewhere_are_reported_for_every_client() {
    for client in Client::ALL {
        let installed = Installed::new(client);
        installed.deliver(true);
        let settings = installed.settings();
        let before = text(&settings);
        let state = installed.site.state().display().to_string();
        let other = before.replace(&state, "/tmp/elsewhere");
        assert_ne!(other, before, "{}", client.title());
        installed.assert_reported(
            &settings,
            "another state folder",
            Some(&other),
            "another state folder: /tmp/elsewhere",
        );
        let none = if matches!(client.protocol().layout.form, Form::GeneratedFile(_)) { "#!/bin/sh\n" } else { "{}" };
        let own = &client.protocol().layout.own_files;
        // A client with a file for each event keeps the hooks of the other files.
        let expected =
            if own.iter().any(|own| own.event.is_some()) { "it has no hook" } else { "none of haltline's hooks" };
        installed.assert_reported(&settings, "emptied", Some(none), expected);
        installed.assert_reported(&settings, "deleted", None, expected);
        let program = before.replace(crate::support::HALTLINE, "/opt/other/haltline");
        assert_ne!(program, before, "{}", client.title());
        installed.assert_reported(
            &settings,
            "another program",
            Some(&program),
            "run another program: /opt/other/haltline",
        );
        for own in own.iter().filter(|own| own.event.is_some()) {
            let path = settings.parent().expect("a folder").join(own.path);
            installed.assert_reported(&path, "file of an event deleted", None, "it has no hook");
        }
    }
}

#[test]
fn hooks_that_get_no_time_or_see_only_some_calls_are_reported() {
    for client in Client::ALL {
        let layout = &client.protocol().layout;
        if matches!(layout.form, Form::GeneratedFile(_)) {
            continue;
        }
        let installed = Installed::new(client);
        installed.deliver(true);
        let settings = installed.settings();
        let mut value: serde_json::Value = serde_json::from_str(&text(&settings)).expect("JSON");
        let event = layout.listeners().find(|listener| !listener.event.contains("ession")).expect("an event").event;
        let entry = &mut value["hooks"][event][0];
        let handler = if matches!(layout.form, Form::Grouped) { &mut entry["hooks"][0] } else { entry };
        assert!(handler[layout.spelling.timeout].is_u64(), "{}: {handler}", client.title());
        let mut hurried = value.clone();
        {
            let entry = &mut hurried["hooks"][event][0];
            let handler = if matches!(layout.form, Form::Grouped) { &mut entry["hooks"][0] } else { entry };
            handler[layout.spelling.timeout] = json!(0.001);
        }
        let hurried = hurried.to_string();
        installed.assert_reported(&settings, "no time", Some(&hurried), &format!("for {event} get too little time"));
        value["hooks"][event][0]["matcher"] = json!("Nothing");
        let narrowed = value.to_string();
        installed.assert_reported(&settings, "narrowed", Some(&narrowed), &format!("for {event} see only some calls"));
    }
}

#[test]
fn every_switch_that_silences_hooks_is_reported_in_every_file_that_the_client_reads() {
    let mut switches = 0;
    for client in Client::ALL {
        let layout = &client.protocol().layout;
        let installed = Installed::new(client);
        installed.deliver(true);
        let user = installed.settings();
        let project = installed.site.project().join(layout.project.folder).join(layout.project.file);
        let more = layout.more_project_files.iter().map(|file| installed.site.project().join(file));
        let files: Vec<PathBuf> = [user.clone(), project].into_iter().chain(more).collect();
        for switch in layout.disable_settings {
            for file in &files {
                switches += 1;
                let mut value = match fs::read_to_string(file) {
                    Ok(text) => serde_json::from_str(&text).expect("JSON"),
                    Err(_none) => json!({}),
                };
                let mut set = |key: &str, new: serde_json::Value| {
                    let at = key.split('.').fold(&mut value, |value, key| &mut value[key]);
                    *at = new;
                    value.to_string()
                };
                match switch {
                    DisableSetting::IfTrue(key) => {
                        installed.assert_reported(file, key, Some(&set(key, json!(true))), key);
                    }
                    DisableSetting::IfFalse(key) => {
                        installed.assert_reported(file, key, Some(&set(key, json!(false))), key);
                    }
                    DisableSetting::IfFalseInToml { file: name, key } => {
                        let path = file.with_file_name(name);
                        let content = format!("{key} = false\n");
                        installed.assert_reported(&path, key, Some(&content), key);
                    }
                    DisableSetting::IfListed(key) => {
                        let installed_value: serde_json::Value = serde_json::from_str(&text(&user)).expect("JSON");
                        let event = layout.events().next().expect("an event");
                        let name = installed_value["hooks"][event][0]["hooks"][0]["command"].clone();
                        installed.assert_reported(file, key, Some(&set(key, json!([name]))), key);
                    }
                }
            }
        }
    }
    assert!(switches >= 12, "{switches} switches");
}

#[test]
fn the_person_reads_it_in_the_client_and_a_change_that_the_client_asks_about_is_denied() {
    let installed = Installed::new(Client::Claude);
    let session = hooks::Client { site: &installed.site, session: "s1" };
    session.deliver("SessionStart", json!({"source": "startup"}));
    let local = installed.site.file(".claude/settings.local.json", r#"{"disableAllHooks": true}"#);
    let result = session.ask("c1", "Bash", &json!({"command": "ls"}));
    let expected = format!("{}: disableAllHooks disables all hooks", local.display());
    assert!(result.to_person.contains("HL-OWN-03") && result.to_person.contains(&expected), "{result:?}");
    assert_eq!(result.answer, haltline_agents::self_test::AnswerEffect::Pass, "the call is not to blame");
    let result = session.ask("c2", "Bash", &json!({"command": "ls"}));
    assert!(!result.to_person.contains("HL-OWN-03"), "{result:?}");
    let change = json!({"source": "local_settings", "file_path": local});
    let result = session.deliver("ConfigChange", change.clone());
    assert!(result.to_agent.contains("HALTLINE HL-OWN-03: denied"), "{result:?}");
    assert_eq!(result.to_person, "", "told already");
    fs::write(&local, "{}").expect("written");
    let result = session.deliver("ConfigChange", change);
    assert_eq!((result.to_agent.as_str(), result.to_person.as_str()), ("", ""));
}

#[test]
fn a_change_that_the_journal_did_not_take_is_reported_by_the_next_hook() {
    let installed = Installed::new(Client::Claude);
    let session = hooks::Client { site: &installed.site, session: "s1" };
    session.deliver("SessionStart", json!({"source": "startup"}));
    fs::write(installed.settings(), "{}").expect("written");
    let lock = fs::File::options().read(true).write(true).open(installed.site.state().join("state.lock"));
    let lock = lock.expect("the store has a lock");
    lock.lock().expect("locked");
    session.ask("c1", "Bash", &json!({"command": "ls"}));
    drop(lock);
    assert_eq!(installed.reported(), Vec::<String>::new());
    let result = session.ask("c2", "Bash", &json!({"command": "ls"}));
    assert!(result.to_person.contains("none of haltline's hooks is left"), "{result:?}");
}

/// A process with a client's name that does nothing, and ends with this value.
struct RunningClient(std::process::Child);

impl RunningClient {
    fn start(site: &Site, client: Client) -> Self {
        let script = site.file(client.cli_name(), "read _\n");
        let child = std::process::Command::new("sh").arg(script).stdin(std::process::Stdio::piped()).spawn();
        Self(child.expect("a shell starts"))
    }
}

impl Drop for RunningClient {
    fn drop(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("ended");
    }
}

/// What `status` and `doctor` say of a session that works without hooks: its transcript is new, and no hook reported it.
#[test]
fn a_session_that_no_hook_reports_is_found_by_its_transcript() {
    let id = "0b2c7c60-5a4f-4a1e-9a58-3f7c1d2e4b6a";
    for (client, path) in [
        (Client::Claude, format!(".claude/projects/-p/{id}.jsonl")),
        (Client::Codex, format!(".codex/sessions/2026/02/12/rollout-2026-02-12T10-00-00-{id}.jsonl")),
        (Client::Gemini, ".gemini/tmp/p/chats/session-2026-02-12T10-00-0b2c7c60.jsonl".to_owned()),
        (Client::Qwen, format!(".qwen/projects/-p/chats/{id}.jsonl")),
        (Client::Copilot, format!(".copilot/session-state/{id}/events.jsonl")),
    ] {
        let installed = Installed::new(client);
        let transcript = installed.site.home().join(path);
        fs::create_dir_all(transcript.parent().expect("a folder")).expect("created");
        fs::write(&transcript, format!("{{\"sessionId\": \"{id}\", \"type\": \"user\"}}\n")).expect("written");
        let unwatched = || installed.site.run(&["status", "--json"]).json()["unwatched"].clone();
        // A developer may run one of the other clients.
        if client == Client::Qwen {
            assert_eq!(unwatched(), json!([]), "no process of the client runs, so the session has ended");
        }
        let _client = RunningClient::start(&installed.site, client);
        let found = unwatched();
        assert_eq!((&found[0]["session"], &found[0]["last_report"]), (&json!(id), &json!(null)), "{found}");
        assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
        let text = installed.site.run(&["status"]).out;
        assert!(text.contains(&format!("Not watched: session {id}")), "{text}");
        let doctor = installed.site.run(&["doctor"]);
        assert!(doctor.out.contains("no hook reports it: none ever did"), "{doctor:?}");
        if client == Client::Claude {
            // The start of a session shows the person nothing; the next event does.
            installed.deliver_in("another", true);
            let notice = || installed.deliver_in("another", false);
            assert!(notice().contains(&format!("does not watch session {id}")), "told");
            assert!(!notice().contains(id), "once");
        }
        installed.deliver_in(id, true);
        assert_eq!(unwatched(), json!([]), "{}: a hook reported it", client.title());
        // It ended long ago, or belongs to a client without haltline.
        let old = fs::File::options().write(true).open(&transcript).expect("open");
        old.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("set");
        assert_eq!(unwatched(), json!([]));
    }
    let site = Site::new();
    let transcript = site.home().join(format!(".claude/projects/-p/{id}.jsonl"));
    fs::create_dir_all(transcript.parent().expect("a folder")).expect("created");
    fs::write(&transcript, "{}\n").expect("written");
    assert_eq!(site.run(&["status", "--json"]).json()["unwatched"], json!([]), "haltline is not installed");
}
