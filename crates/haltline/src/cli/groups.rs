//! The groups under which `haltline --help` lists the commands.

use clap::Command;

/// The headings and their commands, in the order of the help. A name without a command is not printed.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Start", &["init", "demo", "doctor", "update", "uninstall"]),
    ("See", &["status", "incidents", "why", "explain", "serve", "backtest"]),
    ("Control", &["resume", "reset", "pause", "unpause", "budget", "prices", "false-positive", "trust", "config"]),
    ("Breakers", &["constraint", "phase", "attempt", "claim", "run", "ralph"]),
    (
        "Plumbing",
        &[
            "hook",
            "event",
            "mcp",
            "journal",
            "notify",
            "memory",
            "purge",
            "statusline",
            "completions",
            "man",
            "help",
            "version",
        ],
    ),
];

/// Width of the column with the names, including the space after them.
const NAME_WIDTH: usize = 16;

/// The command line with its commands listed by group in the help.
pub fn with_groups(command: Command) -> Command {
    let mut list = String::new();
    for (heading, names) in GROUPS {
        let known = names.iter().filter_map(|name| command.get_subcommands().find(|known| known.get_name() == *name));
        let lines: String = known.map(line).collect();
        if !lines.is_empty() {
            list.push_str(&format!("\n{heading}:\n{lines}"));
        }
    }
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}{{after-help}}"
    ))
}

fn line(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    format!("  {:<NAME_WIDTH$}{about}\n", command.get_name())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Arguments;

    #[test]
    fn every_command_is_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        assert!(grouped.windows(2).all(|pair| pair[0] != pair[1]), "{grouped:?}");
        let command = Arguments::command();
        for known in command.get_subcommands() {
            assert!(grouped.contains(&known.get_name()), "{} is in no group", known.get_name());
        }
    }

    #[test]
    fn a_line_of_the_help_fits_into_80_columns() {
        let help = with_groups(Arguments::command()).render_help().to_string();
        let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }
}
