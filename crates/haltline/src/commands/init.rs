//! `haltline init`: installs hooks in a client's settings, and shows the change before writing it (X2).

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_agents::Client;
use haltline_agents::install::{
    Entries, Form, GeneratedFile, Hook, InstallError, InstallTrace, InstalledHook, Plan, StatusLine, assumed_trace,
    find, install, shell_word,
};
use haltline_core::shorten;
use haltline_engine::store::Sqlite;

use crate::cli::Init;
use crate::context::Context;
use crate::diff::unified;
use crate::environment;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::installation::hook_program::HookProgram;
use crate::installation::{
    ForeignFile, FoundClient, InstallScope, Installation, InstallationRecord, digest, git_exclude, keep_backup,
    make_folder, remove_folders, user_folder,
};
use crate::question;
use crate::view::SCHEMA;
use crate::view::install::{InitAllView, InitOutcome, InitView, OwnFileChange, OwnFileView, StatusLineView};

/// Installs for the chosen clients: shows what would change, asks, and changes it.
pub fn run(context: &Context, command: &Init) -> Result<ExitCode, Failure> {
    let clients = chosen_clients(context, command)?;
    let mut is_waiting = false;
    if let ([_, _, ..], true) = (clients.as_slice(), context.is_json) {
        let views = clients.iter().map(|client| install_one(context, command, *client, |_, _| Ok(())));
        let view = InitAllView { schema: SCHEMA, clients: views.collect::<Result<_, _>>()? };
        is_waiting |= view.clients.iter().any(|view| view.outcome == InitOutcome::Planned);
        context.print(&view, |_| String::new())?;
    } else {
        for client in clients {
            let view = install_one(context, command, client, |view, render| context.print(view, render).map(drop))?;
            is_waiting |= view.outcome == InitOutcome::Planned;
        }
    }
    if is_waiting && context.is_json && !command.is_dry_run {
        return Ok(exit_code::ERROR);
    }
    if command.is_git_exclude && !command.is_dry_run {
        let changed = git_exclude::add(context.engine.project())?;
        if let Some(path) = changed.filter(|_| !context.is_json) {
            text::note(&format!("`git status` now ignores haltline's state files: {}", path.display()));
        }
    }
    Ok(exit_code::SUCCESS)
}

/// The clients that the arguments name or, at a terminal, the person chooses.
fn chosen_clients(context: &Context, command: &Init) -> Result<Vec<Client>, Failure> {
    if let Some(client) = command.client {
        return Ok(vec![client]);
    }
    let found = FoundClient::all();
    if command.is_all && found.is_empty() {
        let known = Client::ALL.map(Client::cli_name).join(", ");
        return Err(Failure::Plain(format!(
            "haltline found no client on this machine; `haltline init --client NAME` installs for one of {known}"
        )));
    }
    let is_asking = can_ask(context) && !command.is_agreed && !command.is_dry_run;
    match found.as_slice() {
        all if command.is_all => Ok(all.iter().map(|found| found.client).collect()),
        [only] if is_asking => Ok(vec![only.client]),
        [_, _, ..] if is_asking => choose(&found),
        [..] => Ok(vec![Client::Claude]),
    }
}

/// Lists the clients and reads the numbers of those to install for.
fn choose(found: &[FoundClient]) -> Result<Vec<Client>, Failure> {
    eprintln!("Clients on this machine:");
    for (number, found) in (1..).zip(found) {
        let (title, evidence) = (found.client.title(), found.evidence());
        text::note(&format!("  {number}  {title:<20} {evidence}"));
    }
    eprint!("Install for which? Numbers, or Enter for all: ");
    std::io::stderr().flush()?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(Failure::Plain("haltline changed nothing".to_owned()));
    }
    let words: Vec<&str> = line.split([' ', ',', '\t', '\n']).filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return Ok(found.iter().map(|found| found.client).collect());
    }
    let client = |word: &&str| {
        let numbered = word.parse::<usize>().ok().and_then(|number| found.get(number.checked_sub(1)?));
        let named = || Client::from_cli_name(word);
        numbered.map(|found| found.client).or_else(named).ok_or_else(|| {
            Failure::Plain(format!(
                "{}: expected numbers from 1 to {}; haltline changed nothing",
                shorten(word),
                found.len()
            ))
        })
    };
    words.iter().map(client).collect()
}

fn can_ask(context: &Context) -> bool {
    question::can_ask() && !context.is_json
}

/// Installs for one client, and has the plan and its result printed.
fn install_one(
    context: &Context,
    command: &Init,
    client: Client,
    print: impl Fn(&InitView, fn(&InitView) -> String) -> Result<(), Failure>,
) -> Result<InitView, Failure> {
    let plan = InstallPlan::new(context, command, client)?;
    let mut view = plan.view();
    if view.outcome == InitOutcome::Unchanged {
        plan.remember_unchanged()?;
        if !command.is_dry_run && !plan.program.would_replace() {
            plan.program.keep()?;
        }
    }
    if view.outcome == InitOutcome::Unchanged || command.is_dry_run {
        print(&view, text::init)?;
        return Ok(view);
    }
    if !command.is_agreed {
        print(&view, text::init)?;
        let hint =
            format!("`haltline init{} --yes`", InstallScope::from_project_flag(command.is_project).options(client));
        if context.is_json {
            // The plan is the one object that is printed.
            text::note(&format!("haltline changed nothing, because it cannot ask with --json; run {hint} to confirm"));
            return Ok(view);
        }
        if !can_ask(context) {
            let problem = "haltline changed nothing: there is no terminal to ask at";
            return Err(Failure::Plain(format!("{problem}; run {hint} to confirm")));
        }
        if !question::ask("Apply?", question::Default::Yes)? {
            text::note(&format!("Nothing has changed. Run {hint} when you are ready."));
            return Ok(view);
        }
    }
    if plan.program.would_replace() {
        // Hooks of other clients may run the copy: an agent must not replace it with a program of its choice.
        context.confirm("init (with another version of haltline than the hooks run now)", None)?;
    }
    if plan.moves_the_store() {
        // Pointing the hooks at an empty store undoes everything in the old one, so this needs an operator.
        let verb = "init (with another state folder or configuration than the hooks have now)";
        context.confirm(verb, None)?;
    }
    // The program is there before a hook names it.
    plan.program.keep()?;
    let done = plan.carry_out()?;
    view.backup = done.backup.map(|path| path.display().to_string());
    for left_out in done.left_out {
        view.files.retain(|file| file.file != left_out.file);
        view.files.push(left_out);
    }
    view.outcome = InitOutcome::Installed;
    print(&view, if command.is_agreed { text::init } else { text::init_done })?;
    Ok(view)
}

/// A path as text, because JSON cannot hold others.
pub fn as_text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::Plain(format!("{}: settings can hold only paths that are UTF-8", path.display())))
}

/// Reads a client's settings of one scope.
pub fn read_settings(
    client: Client,
    scope: InstallScope,
    context: &Context,
) -> Result<(PathBuf, ForeignFile), Failure> {
    let path = scope.settings_file(client, context.engine.project())?;
    let file = ForeignFile::read(&path).map_err(|failure| with_nothing_changed(&failure))?;
    Ok((path, file))
}

/// Adds to a failure that haltline changed nothing.
pub fn with_nothing_changed(failure: &Failure) -> Failure {
    Failure::Plain(format!("{failure}; haltline changed nothing"))
}

/// A file of haltline's next to a client's settings.
pub struct SidecarFile {
    pub program: GeneratedFile,
    /// The event it is the hook of, if it is one.
    pub event: Option<&'static str>,
    pub path: PathBuf,
    /// The content, or why it cannot be read. The reason is shown only for files that no event needs.
    pub file: Result<ForeignFile, String>,
}

impl SidecarFile {
    /// Reads all of a client's sidecar files; fails if one that an event needs cannot be read.
    pub fn all(client: Client, settings: &Path) -> Result<Vec<Self>, Failure> {
        let folder = settings.parent().unwrap_or(Path::new("/"));
        let own = client.protocol().layout.own_files.iter();
        own.map(|own| {
            let path = folder.join(own.path);
            let file = match (ForeignFile::read(&path), own.event) {
                (Ok(file), _) => Ok(file),
                (Err(failure), None) => Err(failure.to_string()),
                (Err(failure), Some(_)) => return Err(with_nothing_changed(&failure)),
            };
            Ok(Self { program: own.content, event: own.event, file, path })
        })
        .collect()
    }

    /// Returns the hook in the file, if it is one of haltline's.
    pub fn found(&self) -> Option<InstalledHook> {
        let hook = (self.program.parse_hook)(self.file.as_ref().ok()?.text.as_deref()?)?;
        Some(InstalledHook::in_generated_file(self.event?, hook))
    }

    pub fn view(&self, change: OwnFileChange) -> OwnFileView {
        let reason = self.file.as_ref().err().cloned();
        OwnFileView { reason, ..own_file(&self.program, &self.path, change) }
    }

    /// The view of a file that could not be written or deleted.
    pub fn left_out(&self, failure: &Failure) -> OwnFileView {
        OwnFileView { reason: Some(failure.to_string()), ..self.view(OwnFileChange::LeftOut) }
    }

    fn change(&self, hook: &Hook) -> OwnFileChange {
        match self.file.as_ref().map(|file| &file.text) {
            Err(_) => OwnFileChange::LeftOut,
            Ok(Some(text)) if *text == (self.program.text)(hook) => OwnFileChange::Unchanged,
            Ok(Some(text)) if (self.program.parse_hook)(text).is_none() => OwnFileChange::Foreign,
            Ok(Some(_) | None) => OwnFileChange::Written,
        }
    }

    fn write(&self, hook: &Hook) -> Result<(), Failure> {
        match &self.file {
            Ok(file) => file.replace(&(self.program.text)(hook), self.program.is_executable),
            Err(reason) => Err(Failure::Plain(reason.clone())),
        }
    }
}

fn own_file(program: &GeneratedFile, path: &Path, change: OwnFileChange) -> OwnFileView {
    let file = path.display().to_string();
    OwnFileView { file, change, reason: None, title: program.title, says: program.purpose }
}

/// Returns the clients that have a settings folder on this machine.
pub fn present_clients() -> Vec<Client> {
    let is_used = |client: &Client| user_folder(*client).is_ok_and(|folder| folder.is_dir());
    Client::ALL.into_iter().filter(is_used).collect()
}

/// Returns the other clients that have a settings folder but no hook of haltline's yet.
fn other_clients(client: Client, context: &Context, own: &str) -> Vec<&'static str> {
    let is_waiting = |other: &Client| {
        let Ok((_, file)) = read_settings(*other, InstallScope::User, context) else { return false };
        !file.text.is_some_and(|text| find(&text, *other, own).is_ok_and(|found| !found.is_empty()))
    };
    let others = present_clients().into_iter().filter(|other| *other != client);
    others.filter(is_waiting).map(Client::cli_name).collect()
}

struct InstallResult {
    /// Copy of the settings as they were.
    backup: Option<PathBuf>,
    /// Files that no event needs and that could not be written.
    left_out: Vec<OwnFileView>,
}

/// Everything that is known before anything is changed.
struct InstallPlan<'a> {
    store: &'a Sqlite,
    at: haltline_core::Instant,
    client: Client,
    scope: InstallScope,
    program: HookProgram,
    settings: PathBuf,
    file: ForeignFile,
    entries: Entries,
    plan: Plan,
    sidecars: Vec<SidecarFile>,
    also: Vec<&'static str>,
    /// Whether the client is on this machine.
    found: FoundClient,
    /// The work tree from which the client reads a project's hooks, if it is not this one.
    main_checkout: Option<PathBuf>,
}

impl<'a> InstallPlan<'a> {
    fn new(context: &'a Context, command: &Init, client: Client) -> Result<Self, Failure> {
        let scope = InstallScope::from_project_flag(command.is_project);
        let layout = &client.protocol().layout;
        let (settings, file) = read_settings(client, scope, context)?;
        let store = context.engine.store();
        let program = HookProgram::of_this_process()?;
        let binary = as_text(&program.path)?;
        let (state, config) = (as_text(store.folder())?, as_text(&environment::user_config()?)?);
        let status_line = (command.is_status_line && layout.has_status_line).then(|| {
            let args = [&binary, "statusline", client.cli_name(), "--state", &state, "--config", &config];
            args.map(shell_word).join(" ")
        });
        let entries = Entries { client, hook: Hook::new(client, &binary, &state, &config), status_line };
        let plan = install(file.text.as_deref(), &entries)
            .map_err(|error| file.failure(format!("{error}; haltline changed nothing")))?;
        let sidecars = SidecarFile::all(client, &settings)?;
        let is_occupied =
            |sidecar: &&SidecarFile| sidecar.event.is_some() && sidecar.change(&entries.hook) == OwnFileChange::Foreign;
        if let Some(occupied) = sidecars.iter().find(is_occupied) {
            let error = InstallError::Foreign { title: occupied.program.title };
            return Err(Failure::Plain(format!("{}: {error}; haltline changed nothing", occupied.path.display())));
        }
        let found = FoundClient::look(client);
        let also = other_clients(client, context, &binary);
        let at = context.engine.now().at;
        let project = context.engine.project();
        let is_elsewhere = scope == InstallScope::Project && !settings.starts_with(&project.root);
        let main_checkout = is_elsewhere.then(|| project.main_checkout().to_owned());
        Ok(Self {
            store,
            at,
            client,
            scope,
            program,
            settings,
            file,
            entries,
            plan,
            sidecars,
            also,
            found,
            main_checkout,
        })
    }

    /// The sidecar files that have to be written.
    fn unwritten(&self) -> impl Iterator<Item = &SidecarFile> {
        let hook = &self.entries.hook;
        self.sidecars.iter().filter(move |sidecar| sidecar.change(hook) == OwnFileChange::Written)
    }

    fn view(&self) -> InitView {
        let before = self.file.text.as_deref().unwrap_or_default();
        let hook = &self.entries.hook;
        let option = |name: &str| hook.option(name).unwrap_or_default().to_owned();
        let is_unchanged = before == self.plan.text && self.unwritten().next().is_none();
        let layout = &self.client.protocol().layout;
        let mut files: Vec<OwnFileView> =
            self.sidecars.iter().map(|sidecar| sidecar.view(sidecar.change(hook))).collect();
        // Nobody wants to read a diff of a whole generated program.
        let diff = match &layout.form {
            Form::Grouped | Form::Flat { .. } => unified(before, &self.plan.text),
            Form::GeneratedFile(program) => {
                let is_same = before == self.plan.text;
                let change = if is_same { OwnFileChange::Unchanged } else { OwnFileChange::Written };
                files.insert(0, own_file(program, &self.settings, change));
                String::new()
            }
        };
        InitView {
            schema: SCHEMA,
            client: self.client.name(),
            scope: self.scope,
            settings: self.settings.display().to_string(),
            is_new_file: self.file.text.is_none(),
            binary: hook.command.clone(),
            state: option("--state"),
            config: option("--config"),
            added: self.plan.added.clone(),
            replaced: self.plan.replaced.len(),
            status_line: match self.plan.status_line {
                StatusLine::Untouched => StatusLineView::Untouched,
                StatusLine::Added => StatusLineView::Set,
                StatusLine::Present => StatusLineView::Unchanged,
                StatusLine::Foreign => StatusLineView::Foreign,
            },
            files,
            diff,
            backup: None,
            outcome: if is_unchanged { InitOutcome::Unchanged } else { InitOutcome::Planned },
            afterwards: layout.post_install_step,
            also: self.also.clone(),
            is_client_found: self.found.is_found(),
            client_evidence: self.found.evidence(),
            main_checkout: self.main_checkout.as_ref().map(|folder| folder.display().to_string()),
            client_kind: self.client,
            handlers: layout.listeners().map(|listener| layout.handler_text(hook, listener)).collect(),
        }
    }

    /// True if the installed hooks use another store or configuration.
    fn moves_the_store(&self) -> bool {
        let differs = |old: &Hook, option: &str| old.option(option) != self.entries.hook.option(option);
        self.plan.replaced.iter().any(|old| differs(old, "--state") || differs(old, "--config"))
    }

    /// Writes backup, record, settings and sidecar files. The record comes before the settings: without it an entry
    /// could not be undone exactly. It is read only now, because another `init` may have written it while haltline
    /// asked the person.
    fn carry_out(&self) -> Result<InstallResult, Failure> {
        let record = InstallationRecord::read(self.store.folder())?;
        let is_changed = self.file.text.as_deref() != Some(&self.plan.text);
        let backup = match &self.file.text {
            Some(text) if is_changed => Some(keep_backup(self.store.folder(), self.at, &self.settings, text)?),
            Some(_) | None => None,
        };
        let folders = self.make_folders()?;
        record.with(self.installation(&record, backup.clone(), &folders)).write(self.store.folder())?;
        let is_executable = match self.client.protocol().layout.form {
            Form::Grouped | Form::Flat { .. } => false,
            Form::GeneratedFile(program) => program.is_executable,
        };
        let written = if is_changed { self.file.replace(&self.plan.text, is_executable) } else { Ok(()) };
        if let Err(failure) = written {
            record.write(self.store.folder())?;
            remove_folders(&folders);
            return Err(with_nothing_changed(&failure));
        }
        let mut left_out = Vec::new();
        for sidecar in self.unwritten() {
            match (sidecar.write(&self.entries.hook), sidecar.event) {
                (Ok(()), _) => {}
                (Err(failure), None) => left_out.push(sidecar.left_out(&failure)),
                (Err(failure), Some(_)) => {
                    let written = self.settings.display();
                    return Err(Failure::Plain(format!(
                        "{failure}; haltline has written {written}: run the command again"
                    )));
                }
            }
        }
        Ok(InstallResult { backup, left_out })
    }

    /// Creates missing folders and returns those it created, outermost first.
    fn make_folders(&self) -> Result<Vec<PathBuf>, Failure> {
        let above = |path: &Path| make_folder(path.parent().unwrap_or(Path::new("/")));
        let mut folders = above(&self.settings).map_err(|failure| with_nothing_changed(&failure))?;
        for sidecar in self.unwritten() {
            match (above(&sidecar.path), sidecar.event) {
                (Ok(made), _) => folders.extend(made),
                // The failure to write the file is reported later.
                (Err(_), None) => {}
                (Err(failure), Some(_)) => {
                    remove_folders(&folders);
                    return Err(with_nothing_changed(&failure));
                }
            }
        }
        Ok(folders)
    }

    /// What `uninstall` has to know.
    fn installation(&self, record: &InstallationRecord, backup: Option<PathBuf>, folders: &[PathBuf]) -> Installation {
        let hook = &self.entries.hook;
        let path = |name: &str| PathBuf::from(hook.option(name).unwrap_or_default());
        let known = record.find(&self.settings);
        let text = self.file.text.as_deref();
        // The old record is still valid if nobody else has changed the file since.
        let untouched = known.filter(|known| text.is_some_and(|text| digest(text) == known.after));
        let has_ours =
            text.is_some_and(|text| find(text, self.client, &hook.command).is_ok_and(|found| !found.is_empty()));
        let (is_new_file, before, backup) = match (untouched, known) {
            (Some(known), _) => (known.is_new_file, known.before.clone(), known.backup.clone()),
            (None, Some(known)) if has_ours => (known.is_new_file, None, backup),
            (None, _) if has_ours => (false, None, backup),
            (None, _) => (text.is_none(), text.map(digest), backup),
        };
        let mut trace = match known {
            _ if !has_ours => InstallTrace::new(),
            Some(known) => known.trace.clone(),
            None => assumed_trace(self.client),
        };
        trace.extend(self.plan.trace.clone());
        let mut all_folders = known.map(|known| known.folders.clone()).unwrap_or_default();
        for folder in folders {
            if !all_folders.contains(folder) {
                all_folders.push(folder.clone());
            }
        }
        Installation {
            client: self.client.name().to_owned(),
            settings: self.settings.clone(),
            at: self.at.to_seconds_text(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            binary: PathBuf::from(&hook.command),
            state: path("--state"),
            config: path("--config"),
            is_new_file,
            before,
            after: digest(&self.plan.text),
            backup,
            trace,
            folders: all_folders,
        }
    }

    /// Records an installation that came with the settings, perhaps from another machine.
    fn remember_unchanged(&self) -> Result<(), Failure> {
        let record = InstallationRecord::read(self.store.folder())?;
        if record.find(&self.settings).is_some() {
            return Ok(());
        }
        record.with(self.installation(&record, None, &[])).write(self.store.folder())
    }
}
