//! `haltline doctor`: finds what keeps haltline from working, and names a fix for each problem (X2).

mod self_test;
mod trusted;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use haltline_agents::Client;
use haltline_agents::install::{DisableSetting, InstalledHook, find, is_false_in_toml, without_comments};
use haltline_core::Mode;
use haltline_engine::network_kind;
use serde_json::{Value, json};

use super::init::{SidecarFile, as_text};
use super::trust;
use crate::context::Context;
use crate::environment;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::installation::hook_program::{HookProgram, own_binary};
use crate::installation::{ForeignFile, InstallScope, InstallationRecord};
use crate::unwatched;
use crate::view::SCHEMA;
use crate::view::doctor::{CheckupView, DoctorView};

/// One settings file that a client reads.
struct Layer {
    client: Client,
    path: PathBuf,
    /// The scope for which `init` would write this file, if any.
    scope: Option<InstallScope>,
    text: Option<String>,
    hooks: Vec<InstalledHook>,
    /// Why haltline cannot read the file. The client may still read it: some clients allow comments.
    problem: Option<String>,
    /// True if the file should contain haltline's hooks.
    is_expected: bool,
}

impl Layer {
    fn read(
        client: Client,
        path: PathBuf,
        scope: Option<InstallScope>,
        own: &str,
        record: Option<&InstallationRecord>,
    ) -> Self {
        let text = ForeignFile::read(&path).map(|file| file.text);
        let hooks = match &text {
            Ok(Some(text)) => find(text, client, own).map_err(|error| format!("{}: {error}", path.display())),
            Ok(None) => Ok(Vec::new()),
            Err(failure) => Err(failure.to_string()),
        };
        let problem = hooks.as_ref().err().cloned();
        let sidecars = SidecarFile::all(client, &path).unwrap_or_default();
        let mut hooks = hooks.unwrap_or_default();
        hooks.extend(sidecars.iter().filter_map(SidecarFile::found));
        let text = text.ok().flatten();
        let is_named = text.as_ref().is_some_and(|text| text.contains("haltline"));
        let is_expected = is_named || record.is_some_and(|record| record.find(&path).is_some());
        Self { client, path, scope, text, hooks, problem, is_expected }
    }

    fn value(&self) -> Value {
        let text = self.text.as_deref().unwrap_or_default();
        serde_json::from_str(without_comments(text).trim_start_matches('\u{feff}')).unwrap_or_default()
    }

    /// Returns the events whose hooks are disabled by a list of names in another layer of the same client.
    fn silenced(&self, names: &Value) -> Vec<&str> {
        let is_listed =
            |found: &&InstalledHook| names.as_array().is_some_and(|names| names.contains(&json!(found.name)));
        self.hooks.iter().filter(is_listed).map(|found| found.event.as_str()).collect()
    }

    fn init(&self) -> String {
        format!("haltline init{}", self.scope.unwrap_or(InstallScope::User).options(self.client))
    }

    fn is_installed(&self) -> bool {
        !self.hooks.is_empty()
    }
}

/// Runs all checks, and a self-test through the hooks of each client that has some.
pub fn run(context: &Context) -> Result<ExitCode, Failure> {
    let binary = own_binary()?;
    let own = as_text(&binary)?;
    let layers = layers(context, &own)?;
    let mut checks = Vec::new();
    checks.extend(layers.iter().filter_map(unreadable));
    checks.extend(hooks(&layers));
    checks.extend(binaries(&layers, &HookProgram::of_this_process()?));
    checks.extend(switches(&layers));
    checks.extend(trusted::check(&layers, &own, context.engine.project()));
    checks.extend(hook_paths(context, &layers)?);
    checks.extend(sandbox(context, &layers));
    checks.extend(store(context));
    checks.extend(sessions(context)?);
    checks.push(configuration(context)?);
    checks.extend(watching(context));
    checks.extend(constraints(context));
    let mut self_tests = Vec::new();
    for client in Client::ALL {
        if let Some(layer) = layers.iter().find(|layer| layer.client == client && layer.is_installed()) {
            let (check, self_test) = self_test::run(client, &layer.hooks, &context.engine, &layer.init());
            checks.push(check);
            self_tests.extend(self_test);
        }
    }
    let view = DoctorView {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        binary: own,
        is_installed: layers.iter().any(Layer::is_installed),
        is_fine: checks.iter().all(|check| check.is_fine),
        checks,
        self_tests,
    };
    context.print(&view, text::doctor)?;
    Ok(match (view.is_installed, view.is_fine) {
        (false, _) => exit_code::not_installed(),
        (true, false) => exit_code::ERROR,
        (true, true) => exit_code::SUCCESS,
    })
}

/// Reports a file that haltline cannot read. That is a problem only if it should contain haltline's hooks.
fn unreadable(layer: &Layer) -> Option<CheckupView> {
    let says = format!("haltline cannot read {}", layer.problem.as_ref()?);
    Some(if layer.is_expected {
        let fix = format!("remove comments and everything else that is not JSON, then run {}", layer.init());
        CheckupView::problem("settings", says, fix)
    } else {
        CheckupView::fine("settings", format!("{says}; haltline is not installed there"))
    })
}

/// True if a client's settings contain haltline's hooks.
pub fn is_installed(context: &Context) -> Result<bool, Failure> {
    let own = as_text(&own_binary()?)?;
    Ok(layers(context, &own)?.iter().any(Layer::is_installed))
}

/// Reads all settings files that the clients read here.
fn layers(context: &Context, own: &str) -> Result<Vec<Layer>, Failure> {
    let project = context.engine.project();
    let root = &project.root;
    // `init` and `uninstall` report a record that cannot be read.
    let record = InstallationRecord::read(context.engine.store().folder()).ok();
    let mut layers: Vec<Layer> = Vec::new();
    for client in Client::ALL {
        let layout = &client.protocol().layout;
        let user = InstallScope::User.settings_file(client, project)?;
        let project = InstallScope::Project.settings_file(client, project)?;
        let more =
            layout.more_project_files.iter().map(|path| root.join(path)).chain(layout.managed.map(PathBuf::from));
        let mut paths = vec![(user.clone(), Some(InstallScope::User))];
        // In the home folder, the project's settings are the user's settings.
        paths.extend(Some((project, Some(InstallScope::Project))).filter(|(path, _)| *path != user));
        paths.extend(more.map(|path| (path, None)));
        layers.extend(paths.into_iter().map(|(path, scope)| Layer::read(client, path, scope, own, record.as_ref())));
    }
    Ok(layers)
}

/// Checks which settings contain haltline's hooks, and whether every event has one.
fn hooks(layers: &[Layer]) -> Vec<CheckupView> {
    let mut checks = Vec::new();
    for layer in layers.iter().filter(|layer| layer.is_installed()) {
        let is_handled = |event: &&str| layer.hooks.iter().any(|found| found.event == **event && !found.is_restricted);
        let layout = &layer.client.protocol().layout;
        let missing: Vec<&str> = layout.events().filter(|event| !is_handled(event)).collect();
        let path = layer.path.display();
        let hurried = layer.hooks.iter().filter(|found| found.is_hurried).map(|found| found.event.as_str());
        let hurried: Vec<&str> = hurried.collect();
        if !hurried.is_empty() {
            let says = format!("{path} gives haltline's hooks for {} too little time to answer", hurried.join(", "));
            let fix = format!("remove these hooks from {path}, then run {}", layer.init());
            checks.push(CheckupView::problem("hooks", says, fix));
        }
        checks.push(if missing.is_empty() {
            CheckupView::fine("hooks", format!("installed for all {} events in {path}", layout.listeners().count()))
        } else {
            CheckupView::problem("hooks", format!("{path} has no hook for {}", missing.join(", ")), layer.init())
        });
    }
    if checks.is_empty() {
        checks.push(CheckupView::problem("hooks", "no client has haltline's hooks", "haltline init"));
    }
    checks
}

/// Checks that the binary the hooks run exists and is this haltline.
fn binaries(layers: &[Layer], program: &HookProgram) -> Vec<CheckupView> {
    let mut seen: Vec<&str> = Vec::new();
    let mut checks = Vec::new();
    for (layer, found) in layers.iter().flat_map(|layer| layer.hooks.iter().map(move |found| (layer, found))) {
        let command = found.hook.command.as_str();
        if seen.contains(&command) {
            continue;
        }
        seen.push(command);
        let path = Path::new(command);
        let version = || {
            let output = Command::new(path).arg("--version").output().ok()?;
            let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            (!version.is_empty()).then_some(version)
        };
        checks.push(match fs::metadata(path) {
            _ if !path.is_absolute() => CheckupView::problem(
                "binary",
                format!("the hooks run {command}, which is not an absolute path"),
                layer.init(),
            ),
            Err(error) => CheckupView::problem("binary", format!("the hooks run {command}: {error}"), layer.init()),
            Ok(file) if !file.is_file() || file.permissions().mode() & 0o111 == 0 => {
                CheckupView::problem("binary", format!("the hooks run {command}: not executable"), layer.init())
            }
            Ok(_) if fs::canonicalize(path).is_ok_and(|path| program.is_run_by(&path)) => CheckupView::fine(
                "binary",
                format!("the hooks run this haltline, version {}", env!("CARGO_PKG_VERSION")),
            ),
            Ok(_) => {
                let version = version().unwrap_or_else(|| "unknown version".to_owned());
                let says = format!("the hooks run {command} ({version}), not this haltline");
                let fix = if path == program.path { "haltline update".to_owned() } else { layer.init() };
                CheckupView::problem("binary", says, fix)
            }
        });
    }
    checks
}

/// Returns the value at a dotted key.
fn value_at<'a>(value: &'a Value, key: &str) -> &'a Value {
    key.split('.').fold(value, |value, key| &value[key])
}

/// Reports the hooks that a switch in one file disables.
fn switched_off(switch: DisableSetting, layer: &Layer, layers: &[Layer]) -> Option<CheckupView> {
    let all = |key: &str, is_off: bool, path: &Path| {
        let path = path.display();
        let says = format!("{key} in {path} disables all your hooks");
        is_off.then(|| CheckupView::problem("switches", says, format!("remove {key} from {path}")))
    };
    match switch {
        DisableSetting::IfTrue(key) => all(key, *value_at(&layer.value(), key) == true, &layer.path),
        DisableSetting::IfFalse(key) => all(key, *value_at(&layer.value(), key) == false, &layer.path),
        DisableSetting::IfFalseInToml { file, key } => {
            let path = layer.path.with_file_name(file);
            let is_off = fs::read_to_string(&path).is_ok_and(|text| is_false_in_toml(&text, key));
            all(key, is_off, &path)
        }
        DisableSetting::IfListed(key) => {
            let value = layer.value();
            let of_client = layers.iter().filter(|other| other.client == layer.client);
            let events: Vec<&str> = of_client.flat_map(|other| other.silenced(value_at(&value, key))).collect();
            let path = layer.path.display();
            let says = format!("{key} in {path} disables haltline's hooks: {}", events.join(", "));
            (!events.is_empty()).then(|| CheckupView::problem("switches", says, format!("remove them from {key}")))
        }
    }
}

/// Finds settings that disable hooks. Clients without haltline's hooks are skipped if another client has some.
fn switches(layers: &[Layer]) -> Vec<CheckupView> {
    let has_hooks: Vec<Client> = layers.iter().filter(|layer| layer.is_installed()).map(|layer| layer.client).collect();
    let concerned = layers.iter().filter(|layer| has_hooks.is_empty() || has_hooks.contains(&layer.client));
    let switches_of = |layer: &Layer| layer.client.protocol().layout.disable_settings;
    let each = concerned.flat_map(|layer| switches_of(layer).iter().map(move |switch| (*switch, layer)));
    let mut checks: Vec<CheckupView> = each.filter_map(|(switch, layer)| switched_off(switch, layer, layers)).collect();
    if checks.is_empty() {
        checks.push(CheckupView::fine("switches", "no setting disables hooks"));
    }
    checks
}

/// Checks that the hooks and this shell use the same store and configuration.
fn hook_paths(context: &Context, layers: &[Layer]) -> Result<Vec<CheckupView>, Failure> {
    let here = [
        ("--state", context.engine.store().folder().to_owned(), "HALTLINE_STATE_DIR"),
        ("--config", environment::user_config()?, "HALTLINE_CONFIG"),
    ];
    let mut checks = Vec::new();
    for layer in layers.iter().filter(|layer| layer.is_installed()) {
        for (option, path, variable) in &here {
            let other = layer.hooks.iter().find(|found| found.hook.option(option) != path.to_str());
            if let Some(found) = other {
                let there = found.hook.option(option).unwrap_or("none");
                let says = format!("the hooks have {option} {there}, this shell has {}", path.display());
                checks.push(CheckupView::problem("paths", says, format!("{}, or set {variable}", layer.init())));
            }
        }
    }
    Ok(checks)
}

/// Checks whether a sandbox of Claude Code keeps haltline from writing when the agent itself calls it.
fn sandbox(context: &Context, layers: &[Layer]) -> Option<CheckupView> {
    let layers: Vec<&Layer> = layers.iter().filter(|layer| layer.client == Client::Claude).collect();
    let values: Vec<Value> = layers.iter().map(|layer| layer.value()).collect();
    let enabled = layers.iter().zip(&values).find(|(_, value)| value["sandbox"]["enabled"] == true)?;
    let state = context.engine.store().folder();
    let home = environment::variable("HOME").unwrap_or_default();
    let is_allowed = |path: &Value| {
        let path = path.as_str().unwrap_or_default();
        let path = path.strip_prefix("~/").map_or_else(|| PathBuf::from(path), |rest| Path::new(&home).join(rest));
        path.is_absolute() && state.starts_with(path)
    };
    let mut allowed = values.iter().flat_map(|value| value["sandbox"]["filesystem"]["allowWrite"].as_array()).flatten();
    let (path, folder) = (enabled.0.path.display(), state.display());
    Some(if allowed.any(is_allowed) {
        CheckupView::fine("sandbox", format!("commands may write to {folder}"))
    } else {
        let says = format!("{path} runs commands in a sandbox in which haltline cannot write its store");
        CheckupView::problem("sandbox", says, format!("add \"{folder}\" to sandbox.filesystem.allowWrite in {path}"))
    })
}

/// Checks that the store can be written, and read by nobody else.
fn store(context: &Context) -> Vec<CheckupView> {
    let store = context.engine.store();
    let folder = store.folder();
    let mut checks = Vec::new();
    let newer = store.newer_schema();
    checks.push(match (network_kind(folder), newer, store.check_writable()) {
        (Some(kind), _, _) => CheckupView::problem(
            "store",
            format!("{} is on a network file system ({kind}), where haltline can lose counts", folder.display()),
            "set HALTLINE_STATE_DIR to a local folder, then run haltline init",
        ),
        (None, Ok(Some(newer)), _) => CheckupView::problem(
            "store",
            format!("a newer haltline wrote the store (schema {newer}); this one can only read it"),
            "upgrade haltline, or run `haltline init` with the newer one",
        ),
        (None, Err(error), _) | (None, Ok(None), Err(error)) => {
            CheckupView::problem("store", error.to_string(), "make the folder writable, then run haltline doctor")
        }
        (None, Ok(None), Ok(())) => CheckupView::fine("store", format!("{} is writable", store.path().display())),
    });
    if let Ok(mode) = fs::metadata(folder).map(|folder| folder.permissions().mode() & 0o777) {
        checks.push(if mode & 0o077 == 0 {
            CheckupView::fine("permissions", "only you can read the state folder")
        } else {
            let says = format!("others can open the state folder (mode {mode:o})");
            CheckupView::problem("permissions", says, format!("chmod 700 {}", folder.display()))
        });
    }
    checks
}

/// Names the sessions that run although no hook reports them.
fn sessions(context: &Context) -> Result<Vec<CheckupView>, Failure> {
    let found = unwatched::find(&context.engine)?;
    let check = |one: &unwatched::Unwatched| {
        let last = match one.last_report {
            Some(at) => format!("the last report was at {at}"),
            None => "none ever did".to_owned(),
        };
        let (client, session) = (one.client.title(), &one.session);
        let transcript = one.transcript.display();
        let says = format!("{client} works in session {session} ({transcript}) and no hook reports it: {last}");
        let fix = format!("look at the checks above, then start {client} again");
        CheckupView::problem("sessions", says, fix)
    };
    Ok(found.iter().map(check).collect())
}

/// Names the constraints that deny nothing because they have no guard. That may be meant so, and is no fault.
fn constraints(context: &Context) -> Option<CheckupView> {
    let circuits = super::constraint::all_circuits(context).ok()?;
    let unguarded: Vec<&str> =
        circuits.iter().filter(|circuit| !circuit.has_guard).map(|circuit| circuit.id.as_str()).take(5).collect();
    let says = match unguarded.as_slice() {
        [] if circuits.is_empty() => return None,
        [] => format!("{} with guards", text::count(circuits.len() as u64, "constraint")),
        ids => format!("warning: no guard, so haltline denies no call for: {}", ids.join(", ")),
    };
    Some(CheckupView::fine("constraints", says))
}

/// Says when haltline lets every call pass although nothing is broken: a pause, observe mode, or a client that a person
/// started with `HALTLINE=off`.
fn watching(context: &Context) -> Vec<CheckupView> {
    const NAME: &str = "watching";
    let engine = &context.engine;
    let mut checks: Vec<CheckupView> = Vec::new();
    for paused in super::pause::paused(context).unwrap_or_default() {
        let says = format!("warning: {}, so every call passes; haltline unpause ends this", paused.sentence());
        checks.push(CheckupView::fine(NAME, says));
    }
    if engine.config().policy().mode == Mode::Observe {
        let says = "warning: observe mode: haltline records what it would deny, and denies nothing; `haltline config set mode enforce` ends this";
        checks.push(CheckupView::fine(NAME, says));
    }
    let clients_off = crate::unwatched::clients_off(context.engine.state_folder());
    if clients_off > 0 {
        let clients = text::count(clients_off as u64, "running client");
        checks.push(CheckupView::fine(NAME, format!("warning: off in {clients}, started with HALTLINE=off")));
    }
    checks
}

/// Reports what `config check` finds.
fn configuration(context: &Context) -> Result<CheckupView, Failure> {
    let errors = &context.engine.config().errors;
    if let Some(error) = errors.first() {
        return Ok(CheckupView::problem("config", error.to_string(), "fix the file, then run haltline config check"));
    }
    // An unreadable store is reported by its own check, not here again.
    let waiting = trust::waiting(context).map(|waiting| waiting.len()).unwrap_or_default();
    Ok(if waiting == 0 {
        CheckupView::fine("config", "no errors")
    } else {
        let settings = text::count(waiting as u64, "setting");
        CheckupView::fine("config", format!("no errors; {settings} wait for `haltline trust`"))
    })
}
