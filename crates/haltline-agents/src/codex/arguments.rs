//! What the arguments of a process of Codex say about it.

/// Options without a value that may stand before the subcommand. One that is not known here is taken to have one: then the
/// subcommand may be missed, and is never found where there is none.
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

/// Whether this is `codex exec`. The terminal interface keeps the terminal to itself, and a server of an editor or of other
/// agents has threads that are none of this one's business.
pub fn is_unattended(arguments: &[String]) -> bool {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            return matches!(word.as_str(), "exec" | "e");
        }
        let has_value = !word.contains('=') && !SWITCHES.contains(&word.as_str());
        if has_value {
            words.next();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_subcommand_exec_works_alone() {
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
