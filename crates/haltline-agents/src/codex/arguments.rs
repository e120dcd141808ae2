//! What the arguments of a Codex process tell about it.

/// Options without a value that may precede the subcommand. An unknown option is assumed to have a value: haltline may
/// then miss the subcommand, but never finds one where there is none.
const SWITCHES: [&str; 9] = [
    "--oss",
    "--search",
    "--strict-config",
    "--approve-for-me",
    "--full-auto",
    "--yolo",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
    "--worktree",
];

/// True for `codex exec`. The terminal interface owns its terminal, and a server for an editor or for other agents runs
/// threads that have nothing to do with this one.
pub fn is_unattended(arguments: &[String]) -> bool {
    let mut arguments_left = arguments.iter();
    while let Some(argument) = arguments_left.next() {
        if !argument.starts_with('-') {
            return matches!(argument.as_str(), "exec" | "e");
        }
        let has_value = !argument.contains('=') && !SWITCHES.contains(&argument.as_str());
        if has_value {
            arguments_left.next();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_subcommand_exec_is_unattended() {
        let unattended = |line: &str| is_unattended(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for alone in ["exec --json task", "e task", "--oss exec", "-c a=b -m o3 exec", "--config=a exec resume --last"]
        {
            assert!(unattended(alone), "{alone}");
        }
        for other in
            ["", "task", "app-server", "resume exec", "-p exec", "--profile exec task", "exec-server", "-- exec"]
        {
            assert!(!unattended(other), "{other}");
        }
    }
}
