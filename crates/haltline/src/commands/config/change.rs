//! `haltline config get`, `set`, `unset` and `edit`. Nothing is written before the new content has been checked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use haltline_core::control::{ConfigFile, ControlEvent};
use haltline_core::trust::TrustEvent;
use haltline_core::{Event, Operator};
use haltline_engine::config::{Config, ConfigChange, PROJECT_FILE, Scope, Setting, check, set_key, unset_key};
use haltline_engine::control::ControlScope;
use haltline_engine::file::{Access, Durability, replace_file};
use haltline_engine::load_trust;

use crate::cli::{ConfigEdit, ConfigSet, ConfigUnset};
use crate::context::Context;
use crate::environment::{self, variable};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::Unattended;
use crate::question;
use crate::view::config::{ChangeView, GetView, ValueView};
use crate::view::{AuditView, SCHEMA};

/// Prints the value of a key that is in force.
pub fn get(context: &Context, name: &str) -> Result<ExitCode, Failure> {
    let settings = context.engine.config().settings();
    let setting = settings.iter().find(|setting| setting.key.name == name).ok_or_else(|| unknown_key(name))?;
    let view = GetView { schema: SCHEMA, value: ValueView::new(setting) };
    context.print(&view, |_| format!("{}\n", plain(setting)))
}

/// A value as a shell wants it: a text without quotes.
fn plain(setting: &Setting) -> String {
    let json = serde_json::Value::from(&setting.value);
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

fn unknown_key(name: &str) -> Failure {
    let problems = unset_key("", name, Scope::User).err().unwrap_or_default();
    Failure::Plain(problems.join("; "))
}

/// Sets a key.
pub fn set(context: &Context, command: &ConfigSet) -> Result<ExitCode, Failure> {
    let ConfigSet { key, value, is_project, reason } = command;
    set_value(context, "config set", key, value, *is_project, reason.as_deref())
}

/// Sets a key as the operator action `verb`.
pub fn set_value(
    context: &Context,
    verb: &str,
    key: &str,
    value: &str,
    is_project: bool,
    reason: Option<&str>,
) -> Result<ExitCode, Failure> {
    let file = TargetFile::read(context, is_project)?;
    let change = set_key(&file.content, key, value, file.scope()).map_err(|all| file.failure(&all))?;
    file.apply(context, verb, key, change, reason)
}

/// Removes a key.
pub fn unset(context: &Context, command: &ConfigUnset) -> Result<ExitCode, Failure> {
    let file = TargetFile::read(context, command.is_project)?;
    let change = unset_key(&file.content, &command.key, file.scope()).map_err(|all| file.failure(&all))?;
    file.apply(context, "config unset", &command.key, change, command.reason.as_deref())
}

/// Opens a copy of the file in the person's editor and takes it over if it has no error.
pub fn edit(context: &Context, command: &ConfigEdit) -> Result<ExitCode, Failure> {
    let file = TargetFile::read(context, command.is_project)?;
    let operator = context.confirm("config edit", command.reason.as_deref())?;
    let copy = file.path.with_extension(format!("edit-{}.toml", std::process::id()));
    make_folder_of(&copy)?;
    fs::write(&copy, &file.content).map_err(|error| at(&copy, &error))?;
    let edited = edit_until_valid(&file, &copy);
    // The copy is haltline's own; the person's text is in it only after a failure.
    if edited.is_ok() {
        fs::remove_file(&copy).ok();
    }
    let Some(content) = edited? else {
        text::note("Nothing has changed.");
        return Ok(exit_code::SUCCESS);
    };
    let change = "edited".to_owned();
    let audit = file.write(context, &content, None, change, operator)?;
    let view = ChangeView {
        schema: SCHEMA,
        file: file.path.display().to_string(),
        key: None,
        from: None,
        to: None,
        waits: file.waits(context),
        audit,
    };
    context.print(&view, text::config_change)
}

/// The new content; `None` if the person left it as it was or gave up.
fn edit_until_valid(file: &TargetFile, copy: &Path) -> Result<Option<String>, Failure> {
    let editor = variable("VISUAL").or_else(|| variable("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    loop {
        let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(copy).status();
        match status {
            Ok(status) if status.success() => {}
            Ok(_failed) => {
                return Err(Failure::Plain(format!("the editor {editor:?} failed; haltline changed nothing")));
            }
            Err(error) => {
                return Err(Failure::Plain(format!("the editor {editor:?}: {error}; haltline changed nothing")));
            }
        }
        let content = fs::read_to_string(copy).map_err(|error| at(copy, &error))?;
        if content == file.content {
            return Ok(None);
        }
        let problems = check(&content, file.scope());
        if problems.is_empty() {
            return Ok(Some(content));
        }
        problems.iter().for_each(|problem| text::note(&format!("error: {problem}")));
        if !question::can_ask() {
            return Err(Failure::Plain(format!("haltline changed nothing; your text is in {}", copy.display())));
        }
        if !question::ask("Edit again?", question::Default::Yes)? {
            return Ok(None);
        }
    }
}

fn at(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Plain(format!("{}: {error}", path.display()))
}

fn make_folder_of(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(|error| at(folder, &error))
}

/// The configuration file that a person changes.
struct TargetFile {
    path: PathBuf,
    file: ConfigFile,
    /// Empty if there is no file yet.
    content: String,
    /// True if the project's file had nothing that waits for trust.
    was_trusted: bool,
    /// True if the user's file allows unattended use and nobody has confirmed that.
    is_unconfirmed: bool,
}

impl TargetFile {
    fn read(context: &Context, is_project: bool) -> Result<Self, Failure> {
        let (path, file) = match is_project {
            true => (context.engine.project().root.join(PROJECT_FILE), ConfigFile::Project),
            false => (environment::user_config()?, ConfigFile::User),
        };
        // A link stays a link: the file behind it is replaced.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let content = match fs::read_to_string(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(at(&path, &error)),
        };
        let was_trusted = !context.engine.config().is_waiting_for_trust();
        let is_unconfirmed = matches!(context.unattended(), Unattended::Unconfirmed(_));
        Ok(Self { path, file, content, was_trusted, is_unconfirmed })
    }

    fn scope(&self) -> Scope {
        match self.file {
            ConfigFile::User => Scope::User,
            ConfigFile::Project => Scope::Project,
        }
    }

    fn failure(&self, problems: &[String]) -> Failure {
        Failure::Plain(format!("{}; haltline changed nothing", problems.join("; ")))
    }

    /// Writes a change of one key, unless it changes nothing.
    fn apply(
        &self,
        context: &Context,
        verb: &str,
        key: &str,
        change: ConfigChange,
        reason: Option<&str>,
    ) -> Result<ExitCode, Failure> {
        let ConfigChange { content, from, to } = change;
        let mut view = ChangeView {
            schema: SCHEMA,
            file: self.path.display().to_string(),
            key: Some(key.to_owned()),
            from,
            to,
            waits: false,
            audit: None,
        };
        if content != self.content {
            let operator = context.confirm(verb, reason)?;
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
            let change = format!("{} → {}", shown(&view.from), shown(&view.to));
            view.audit = self.write(context, &content, Some(key), change, operator)?;
            view.waits = self.waits(context);
        }
        context.print(&view, text::config_change)
    }

    /// Replaces the file and leaves a fact. A person who changes the project's file trusts their own change, unless
    /// something of others waits for trust in it.
    fn write(
        &self,
        context: &Context,
        content: &str,
        key: Option<&str>,
        change: String,
        operator: Operator,
    ) -> Result<Option<AuditView>, Failure> {
        make_folder_of(&self.path)?;
        let temporary = self.path.with_extension(format!("new-{}.tmp", std::process::id()));
        let mode = fs::metadata(&self.path).ok().map(|found| found.permissions());
        replace_file(&self.path, &temporary, Access::Umask, Durability::Synced, |file| {
            mode.map_or(Ok(()), |mode| file.set_permissions(mode))?;
            std::io::Write::write_all(file, content.as_bytes())
        })
        .map_err(|error| at(&self.path, &error))?;
        let scope = match self.file {
            ConfigFile::User => ControlScope::Everywhere,
            ConfigFile::Project => ControlScope::Project,
        };
        let event = ControlEvent::ConfigChanged {
            file: self.file,
            key: key.map(str::to_owned),
            change,
            operator: operator.clone(),
        };
        let committed = context.engine.control(scope, event).map_err(Failure::for_control)?;
        if self.file == ConfigFile::User && (!self.is_unconfirmed || key.is_none_or(|key| key == "operator.unattended"))
        {
            context
                .engine
                .confirm_user_config(&environment::user_config()?, operator.clone())
                .map_err(Failure::for_control)?;
        }
        if self.file == ConfigFile::Project && self.was_trusted {
            self.trust(context, operator.clone())?;
        }
        Ok(Some(AuditView::new(&committed, operator)))
    }

    fn trust(&self, context: &Context, operator: Operator) -> Result<(), Failure> {
        let config = reload(context)?;
        if let Some((_, digest)) = config.project_file.as_ref().filter(|_| config.is_waiting_for_trust()) {
            let event = TrustEvent::TrustContent { digest: digest.clone(), operator };
            context.engine.handle(Event::Trust(event)).map_err(Failure::for_control)?;
        }
        Ok(())
    }

    /// True if something in the project's file waits for `haltline trust`.
    fn waits(&self, context: &Context) -> bool {
        self.file == ConfigFile::Project && reload(context).is_ok_and(|config| config.is_waiting_for_trust())
    }
}

fn reload(context: &Context) -> Result<Config, Failure> {
    let engine = &context.engine;
    let trusted = || load_trust(engine.store(), engine.state_folder(), engine.project());
    Ok(Config::load(&environment::user_config()?, Some(&engine.project().root), trusted))
}
