//! `haltline init`: hooks in a client's settings, shown before they are written (X2).

use std::fs;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_agents::Client;
use haltline_agents::install::{
    Entries, Form, Found, Hook, InstallError, Plan, Program, StatusLine, Trace, assumed_trace, find, install,
    shell_word,
};
use haltline_engine::store::Sqlite;

use crate::cli::Init;
use crate::diff::unified;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::installation::{
    ForeignFile, Installation, Reach, Record, digest, keep_backup, make_folder, remove_folders, user_folder,
};
use crate::operator::{Proof, confirm};
use crate::surroundings;
use crate::view::SCHEMA;
use crate::view::install::{InitOutcome, InitView, OwnFileChange, OwnFileView, StatusLineView};
use crate::workplace::Workplace;

/// Shows what would change, asks, and changes it.
pub fn run(workplace: &Workplace, command: &Init) -> Result<ExitCode, Failure> {
    let work = Work::new(workplace, command)?;
    let mut view = work.view();
    if view.outcome == InitOutcome::Unchanged {
        work.remember_unchanged()?;
        workplace.answer(&view, text::init)?;
        return Ok(exit_code::FINE);
    }
    if command.is_dry_run {
        workplace.answer(&view, text::init)?;
        return Ok(exit_code::FINE);
    }
    let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !workplace.is_json;
    if !command.is_agreed {
        workplace.answer(&view, text::init)?;
        let hint = format!("`haltline init{} --yes`", Reach::new(command.is_project).options(command.client));
        if !can_ask {
            let reason = if workplace.is_json { "JSON answers cannot ask" } else { "no terminal to ask at" };
            return Err(Failure::Plain(format!("nothing was changed: {reason}; run {hint} if this is right")));
        }
        if !is_agreed()? {
            return Err(Failure::Plain(format!("nothing was changed; run {hint} when you are ready")));
        }
    }
    if work.moves_the_store() {
        // Whoever may point the hooks at an empty store may undo everything that is in the old one.
        let verb = "init (with another state folder or configuration than the hooks have now)";
        confirm(verb, None, Proof::Presence, workplace.engine.config())?;
    }
    let done = work.carry_out()?;
    view.backup = done.backup.map(|path| path.display().to_string());
    for left_out in done.left_out {
        view.files.retain(|file| file.file != left_out.file);
        view.files.push(left_out);
    }
    view.outcome = InitOutcome::Installed;
    if command.is_agreed {
        workplace.answer(&view, text::init)?;
    } else {
        workplace.answer(&view, text::init_done)?;
    }
    Ok(exit_code::FINE)
}

fn is_agreed() -> Result<bool, Failure> {
    eprint!("Apply? [Y/n] ");
    std::io::stderr().flush()?;
    let mut line = String::new();
    let length = std::io::stdin().lock().read_line(&mut line)?;
    Ok(length > 0 && ["", "y", "yes"].contains(&line.trim().to_lowercase().as_str()))
}

/// Where this binary really is.
pub fn own_binary() -> Result<PathBuf, Failure> {
    let path = std::env::current_exe().and_then(fs::canonicalize);
    path.map_err(|error| Failure::Plain(format!("the path of this binary: {error}")))
}

/// A path as JSON can hold it.
pub fn as_text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::Plain(format!("{}: settings can hold only paths that are UTF-8", path.display())))
}

/// A client's settings of one reach.
pub fn settings_of(client: Client, reach: Reach, workplace: &Workplace) -> Result<(PathBuf, ForeignFile), Failure> {
    let path = reach.settings(client, workplace.engine.project())?;
    let file = ForeignFile::read(&path).map_err(|failure| unchanged(&failure))?;
    Ok((path, file))
}

/// A failure before anything was changed.
pub fn unchanged(failure: &Failure) -> Failure {
    Failure::Plain(format!("{failure}; nothing was changed"))
}

/// A file of haltline's own beside settings.
pub struct Beside {
    pub program: Program,
    /// The event it is the hook of.
    pub event: Option<&'static str>,
    pub path: PathBuf,
    /// Or why it cannot be read, which is told only of a file that no event needs.
    pub file: Result<ForeignFile, String>,
}

impl Beside {
    /// All of a client's, as they are; fails where one cannot be read that an event needs.
    pub fn all(client: Client, settings: &Path) -> Result<Vec<Self>, Failure> {
        let folder = settings.parent().unwrap_or(Path::new("/"));
        let own = client.protocol().layout.own_files.iter();
        own.map(|own| {
            let path = folder.join(own.path);
            let file = match (ForeignFile::read(&path), own.event) {
                (Ok(file), _) => Ok(file),
                (Err(failure), None) => Err(failure.to_string()),
                (Err(failure), Some(_)) => return Err(unchanged(&failure)),
            };
            Ok(Self { program: own.program, event: own.event, file, path })
        })
        .collect()
    }

    /// The hook of ours that it is.
    pub fn found(&self) -> Option<Found> {
        let hook = (self.program.hook)(self.file.as_ref().ok()?.text.as_deref()?)?;
        Some(Found::program(self.event?, hook))
    }

    /// What becomes of it.
    pub fn view(&self, change: OwnFileChange) -> OwnFileView {
        let reason = self.file.as_ref().err().cloned();
        OwnFileView { reason, ..own_file(&self.program, &self.path, change) }
    }

    /// The same where nothing can become of it.
    pub fn left_out(&self, failure: &Failure) -> OwnFileView {
        OwnFileView { reason: Some(failure.to_string()), ..self.view(OwnFileChange::LeftOut) }
    }

    fn change(&self, hook: &Hook) -> OwnFileChange {
        match self.file.as_ref().map(|file| &file.text) {
            Err(_) => OwnFileChange::LeftOut,
            Ok(Some(text)) if *text == (self.program.text)(hook) => OwnFileChange::Unchanged,
            Ok(Some(text)) if (self.program.hook)(text).is_none() => OwnFileChange::Foreign,
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

/// A file of haltline's own and what becomes of it.
fn own_file(program: &Program, path: &Path, change: OwnFileChange) -> OwnFileView {
    let file = path.display().to_string();
    OwnFileView { file, change, reason: None, title: program.title, says: program.says }
}

/// Other clients that have a settings folder and no hook of ours yet.
fn others(client: Client, workplace: &Workplace, own: &str) -> Vec<&'static str> {
    let is_waiting = |other: &Client| {
        let Ok((_, file)) = settings_of(*other, Reach::User, workplace) else { return false };
        let is_used = user_folder(*other).is_ok_and(|folder| folder.is_dir());
        is_used && !file.text.is_some_and(|text| find(&text, *other, own).is_ok_and(|found| !found.is_empty()))
    };
    let others = Client::ALL.into_iter().filter(|other| *other != client);
    others.filter(is_waiting).map(Client::word).collect()
}

/// What came of it.
struct Done {
    /// The settings as they were.
    backup: Option<PathBuf>,
    /// Files that no event needs and that could not be written.
    left_out: Vec<OwnFileView>,
}

/// Everything that is known before anything is changed.
struct Work<'a> {
    store: &'a Sqlite,
    at: haltline_core::Instant,
    client: Client,
    reach: Reach,
    settings: PathBuf,
    file: ForeignFile,
    entries: Entries,
    plan: Plan,
    beside: Vec<Beside>,
    also: Vec<&'static str>,
    /// Where the client reads a project's hooks, where that is another work tree than this.
    main_checkout: Option<PathBuf>,
}

impl<'a> Work<'a> {
    fn new(workplace: &'a Workplace, command: &Init) -> Result<Self, Failure> {
        let reach = Reach::new(command.is_project);
        let client = command.client;
        let layout = &client.protocol().layout;
        let (settings, file) = settings_of(client, reach, workplace)?;
        let store = workplace.engine.store();
        let binary = as_text(&own_binary()?)?;
        let (state, config) = (as_text(store.folder())?, as_text(&surroundings::user_config()?)?);
        let status_line = (command.is_status_line && layout.has_status_line).then(|| {
            let words = [&binary, "statusline", client.word(), "--state", &state, "--config", &config];
            words.map(shell_word).join(" ")
        });
        let entries = Entries { client, hook: Hook::new(client, &binary, &state, &config), status_line };
        let plan = install(file.text.as_deref(), &entries)
            .map_err(|error| file.refused(format!("{error}; nothing was changed")))?;
        let beside = Beside::all(client, &settings)?;
        let is_taken =
            |beside: &&Beside| beside.event.is_some() && beside.change(&entries.hook) == OwnFileChange::Foreign;
        if let Some(taken) = beside.iter().find(is_taken) {
            let error = InstallError::Foreign { title: taken.program.title };
            return Err(Failure::Plain(format!("{}: {error}; nothing was changed", taken.path.display())));
        }
        let also = others(client, workplace, &binary);
        let at = workplace.engine.now().at;
        let project = workplace.engine.project();
        let is_elsewhere = reach == Reach::Project && !settings.starts_with(&project.root);
        let main_checkout = is_elsewhere.then(|| project.main_checkout().to_owned());
        Ok(Self { store, at, client, reach, settings, file, entries, plan, beside, also, main_checkout })
    }

    /// The files of haltline's own that are to be written.
    fn unwritten(&self) -> impl Iterator<Item = &Beside> {
        let hook = &self.entries.hook;
        self.beside.iter().filter(move |beside| beside.change(hook) == OwnFileChange::Written)
    }

    fn view(&self) -> InitView {
        let before = self.file.text.as_deref().unwrap_or_default();
        let hook = &self.entries.hook;
        let option = |name: &str| hook.option(name).unwrap_or_default().to_owned();
        let is_unchanged = before == self.plan.text && self.unwritten().next().is_none();
        let layout = &self.client.protocol().layout;
        let mut files: Vec<OwnFileView> = self.beside.iter().map(|beside| beside.view(beside.change(hook))).collect();
        // Of a program of haltline's own nobody wants to read every line.
        let diff = match &layout.form {
            Form::Grouped | Form::Flat { .. } => unified(before, &self.plan.text),
            Form::Program(program) => {
                let is_same = before == self.plan.text;
                let change = if is_same { OwnFileChange::Unchanged } else { OwnFileChange::Written };
                files.insert(0, own_file(program, &self.settings, change));
                String::new()
            }
        };
        InitView {
            schema: SCHEMA,
            client: self.client.name(),
            scope: self.reach,
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
            afterwards: layout.afterwards,
            also: self.also.clone(),
            main_checkout: self.main_checkout.as_ref().map(|folder| folder.display().to_string()),
            of: self.client,
            handlers: layout.listeners.iter().map(|listener| layout.handler_text(hook, listener)).collect(),
        }
    }

    /// Whether hooks that are there use another store or configuration.
    fn moves_the_store(&self) -> bool {
        let differs = |old: &Hook, option: &str| old.option(option) != self.entries.hook.option(option);
        self.plan.replaced.iter().any(|old| differs(old, "--state") || differs(old, "--config"))
    }

    /// Backup, record, settings, command. The record comes first: without it an entry could not be undone exactly. It is
    /// read only now: while a person was asked, another `init` may have written it.
    fn carry_out(&self) -> Result<Done, Failure> {
        let record = Record::read(self.store.folder())?;
        let is_changed = self.file.text.as_deref() != Some(&self.plan.text);
        let backup = match &self.file.text {
            Some(text) if is_changed => Some(keep_backup(self.store.folder(), self.at, &self.settings, text)?),
            Some(_) | None => None,
        };
        let folders = self.make_folders()?;
        record.with(self.installation(&record, backup.clone(), &folders)).write(self.store.folder())?;
        let is_executable = match self.client.protocol().layout.form {
            Form::Grouped | Form::Flat { .. } => false,
            Form::Program(program) => program.is_executable,
        };
        let written = if is_changed { self.file.replace(&self.plan.text, is_executable) } else { Ok(()) };
        if let Err(failure) = written {
            record.write(self.store.folder())?;
            remove_folders(&folders);
            return Err(unchanged(&failure));
        }
        let mut left_out = Vec::new();
        for beside in self.unwritten() {
            match (beside.write(&self.entries.hook), beside.event) {
                (Ok(()), _) => {}
                (Err(failure), None) => left_out.push(beside.left_out(&failure)),
                (Err(failure), Some(_)) => {
                    let written = self.settings.display();
                    return Err(Failure::Plain(format!("{failure}; {written} is written: run the command again")));
                }
            }
        }
        Ok(Done { backup, left_out })
    }

    /// Makes the folders that are not there; says which ones, outermost first.
    fn make_folders(&self) -> Result<Vec<PathBuf>, Failure> {
        let above = |path: &Path| make_folder(path.parent().unwrap_or(Path::new("/")));
        let mut folders = above(&self.settings).map_err(|failure| unchanged(&failure))?;
        for beside in self.unwritten() {
            match (above(&beside.path), beside.event) {
                (Ok(made), _) => folders.extend(made),
                // It is told when the file cannot be written.
                (Err(_), None) => {}
                (Err(failure), Some(_)) => {
                    remove_folders(&folders);
                    return Err(unchanged(&failure));
                }
            }
        }
        Ok(folders)
    }

    /// What `uninstall` has to know.
    fn installation(&self, record: &Record, backup: Option<PathBuf>, folders: &[PathBuf]) -> Installation {
        let hook = &self.entries.hook;
        let path = |name: &str| PathBuf::from(hook.option(name).unwrap_or_default());
        let known = record.of(&self.settings);
        let text = self.file.text.as_deref();
        // The old record still holds where nobody else changed the file since.
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
            _ if !has_ours => Trace::new(),
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

    /// An installation that came with the settings, from another machine perhaps, is written down as well.
    fn remember_unchanged(&self) -> Result<(), Failure> {
        let record = Record::read(self.store.folder())?;
        if record.of(&self.settings).is_some() {
            return Ok(());
        }
        record.with(self.installation(&record, None, &[])).write(self.store.folder())
    }
}
