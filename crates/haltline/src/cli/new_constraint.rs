//! Arguments of `haltline constraint new`.

use clap::Args;

/// What a new constraint guards.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  haltline constraint new no-force-push --guard 'git push --force'\n  haltline constraint new migrations --tool Edit --path 'migrations/*'"
)]
pub struct NewConstraint {
    /// The id, which is also the name of the file
    pub id: String,
    /// A command that the constraint guards; may be given several times
    #[arg(long = "guard", value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// Glob of the tools whose calls it guards
    #[arg(long, default_value = "Bash")]
    pub tool: String,
    /// Glob of files that it guards; may be given several times
    #[arg(long = "path", value_name = "GLOB")]
    pub paths: Vec<String>,
    /// How bad a violation is, such as CRITICAL
    #[arg(long, value_name = "LEVEL")]
    pub severity: Option<String>,
    /// Write the file without asking
    #[arg(long = "yes", short = 'y')]
    pub is_agreed: bool,
}
