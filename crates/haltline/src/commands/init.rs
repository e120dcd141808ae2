//! `haltline init`: hooks in Claude Code's settings, shown before they are written (X2).

use std::fs;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_agents::install::{
    Entries, Hook, Plan, StatusLine, circuit_status, find, install, is_circuit_status, shell_word,
};
use haltline_engine::store::Sqlite;

use crate::cli::Init;
use crate::diff::unified;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::installation::{ForeignFile, Installation, Reach, Record, digest, keep_backup, make_folder};
use crate::operator::{Proof, confirm};
use crate::surroundings;
use crate::view::SCHEMA;
use crate::view::install::{InitOutcome, InitView, SlashCommandChange, SlashCommandView, StatusLineView};
use crate::workplace::Workplace;

/// The client, as events spell it.
pub const CLIENT: &str = "claude-code";

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
        let hint = format!("`haltline init{} --yes`", Reach::new(command.is_project).option());
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
    view.backup = work.carry_out()?.map(|path| path.display().to_string());
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

/// The settings of one reach.
pub fn settings_of(reach: Reach, workplace: &Workplace) -> Result<(PathBuf, ForeignFile), Failure> {
    let path = reach.folder(&workplace.engine.project().root)?.join("settings.json");
    let file = ForeignFile::read(&path)?;
    Ok((path, file))
}

/// The file of the `/circuit-status` command beside settings.
pub fn slash_command_of(settings: &Path) -> PathBuf {
    settings.with_file_name("commands").join("circuit-status.md")
}

/// Everything that is known before anything is changed.
struct Work<'a> {
    store: &'a Sqlite,
    at: haltline_core::Instant,
    reach: Reach,
    settings: PathBuf,
    file: ForeignFile,
    entries: Entries,
    plan: Plan,
    slash_command: ForeignFile,
    slash_command_text: String,
    record: Record,
}

impl<'a> Work<'a> {
    fn new(workplace: &'a Workplace, command: &Init) -> Result<Self, Failure> {
        let reach = Reach::new(command.is_project);
        let (settings, file) = settings_of(reach, workplace)?;
        let store = workplace.engine.store();
        let binary = as_text(&own_binary()?)?;
        let (state, config) = (as_text(store.folder())?, as_text(&surroundings::user_config()?)?);
        let status_line = command.is_status_line.then(|| {
            let words = [&binary, "statusline", "claude", "--state", &state, "--config", &config];
            words.map(shell_word).join(" ")
        });
        let entries = Entries { hook: Hook::new(&binary, &state, &config), status_line };
        let plan = install(file.text.as_deref(), &entries)
            .map_err(|error| file.refused(format!("{error}; nothing was changed")))?;
        let slash_command = ForeignFile::read(&slash_command_of(&settings))?;
        let slash_command_text = circuit_status(&binary);
        let record = Record::read(store.folder())?;
        let at = workplace.engine.now().at;
        Ok(Self { store, at, reach, settings, file, entries, plan, slash_command, slash_command_text, record })
    }

    fn slash_command_change(&self) -> SlashCommandChange {
        match &self.slash_command.text {
            Some(text) if *text == self.slash_command_text => SlashCommandChange::Unchanged,
            Some(text) if !is_circuit_status(text) => SlashCommandChange::Foreign,
            Some(_) | None => SlashCommandChange::Written,
        }
    }

    fn view(&self) -> InitView {
        let before = self.file.text.as_deref().unwrap_or_default();
        let hook = &self.entries.hook;
        let option = |name: &str| hook.option(name).unwrap_or_default().to_owned();
        let change = self.slash_command_change();
        let is_unchanged = before == self.plan.text && change != SlashCommandChange::Written;
        InitView {
            schema: SCHEMA,
            client: CLIENT,
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
            slash_command: SlashCommandView { file: slash_command_of(&self.settings).display().to_string(), change },
            diff: unified(before, &self.plan.text),
            backup: None,
            outcome: if is_unchanged { InitOutcome::Unchanged } else { InitOutcome::Planned },
            handler: hook.handler_text(),
        }
    }

    /// Whether hooks that are there use another store or configuration.
    fn moves_the_store(&self) -> bool {
        let differs = |old: &Hook, option: &str| old.option(option) != self.entries.hook.option(option);
        self.plan.replaced.iter().any(|old| differs(old, "--state") || differs(old, "--config"))
    }

    /// Backup, record, settings, command. The record comes first: without it an entry could not be undone exactly.
    fn carry_out(&self) -> Result<Option<PathBuf>, Failure> {
        let is_changed = self.file.text.as_deref() != Some(&self.plan.text);
        let backup = match &self.file.text {
            Some(text) if is_changed => Some(keep_backup(self.store.folder(), self.at, &self.settings, text)?),
            Some(_) | None => None,
        };
        let folder = self.settings.parent().unwrap_or(Path::new("/"));
        let folders = if self.slash_command_change() == SlashCommandChange::Written {
            make_folder(&folder.join("commands"))?
        } else {
            make_folder(folder)?
        };
        self.record.with(self.installation(backup.clone(), folders)).write(self.store.folder())?;
        let written = if is_changed { self.file.replace(&self.plan.text) } else { Ok(()) };
        if let Err(failure) = written {
            self.record.write(self.store.folder())?;
            return Err(failure);
        }
        if self.slash_command_change() == SlashCommandChange::Written {
            self.slash_command.replace(&self.slash_command_text)?;
        }
        Ok(backup)
    }

    /// What `uninstall` has to know.
    fn installation(&self, backup: Option<PathBuf>, folders: Vec<PathBuf>) -> Installation {
        let hook = &self.entries.hook;
        let path = |name: &str| PathBuf::from(hook.option(name).unwrap_or_default());
        let known = self.record.of(&self.settings);
        let text = self.file.text.as_deref();
        // The old record still holds where nobody else changed the file since.
        let untouched = known.filter(|known| text.is_some_and(|text| digest(text) == known.after));
        let has_ours = text.is_some_and(|text| find(text, &hook.command).is_ok_and(|found| !found.is_empty()));
        let (is_new_file, before, backup) = match (untouched, known) {
            (Some(known), _) => (known.is_new_file, known.before.clone(), known.backup.clone()),
            (None, Some(known)) if has_ours => (known.is_new_file, None, backup),
            (None, _) if has_ours => (false, None, backup),
            (None, _) => (text.is_none(), text.map(digest), backup),
        };
        let mut trace = known.filter(|_| has_ours).map(|known| known.trace.clone()).unwrap_or_default();
        trace.extend(self.plan.trace.clone());
        let mut all_folders = known.map(|known| known.folders.clone()).unwrap_or_default();
        all_folders.extend(folders.into_iter().filter(|folder| !all_folders.contains(folder)).collect::<Vec<_>>());
        Installation {
            client: CLIENT.to_owned(),
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
        if self.record.of(&self.settings).is_some() {
            return Ok(());
        }
        self.record.with(self.installation(None, Vec::new())).write(self.store.folder())
    }
}
