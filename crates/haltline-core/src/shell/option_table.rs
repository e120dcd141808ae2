//! Which options of a program mean the same, and which take a value: for guards that match by meaning (C8).
//! `docs/reference/guards.md` lists this table.

/// Options that mean the same for a program, and for one of its subcommands if one is named.
pub(super) struct Equivalents {
    program: &'static str,
    subcommand: Option<&'static str>,
    groups: &'static [&'static [&'static str]],
}

/// In a group, `+` stands for a word that begins with it, and so does `:`.
const TABLE: [Equivalents; 24] = [
    of("git", Some("push"), &[&["-f", "--force", "--force-with-lease", "--mirror", "+"], &["-d", "--delete", ":"]]),
    of("git", Some("commit"), &[&["-n", "--no-verify"], &["-a", "--all"], &["-m", "--message"]]),
    of(
        "git",
        Some("branch"),
        &[&["-d", "--delete", "-D"], &["-f", "--force", "-D", "-M", "-C"], &["-m", "--move", "-M"]],
    ),
    of("git", Some("clean"), &[&["-f", "--force"]]),
    of("git", Some("checkout"), &[&["-f", "--force"]]),
    of("git", Some("switch"), &[&["-f", "--force", "--discard-changes"]]),
    of("git", Some("tag"), &[&["-f", "--force"], &["-d", "--delete"]]),
    of("git", Some("rm"), &[&["-f", "--force"]]),
    of("git", Some("add"), &[&["-f", "--force"], &["-A", "--all"]]),
    of("git", Some("rebase"), &[&["-i", "--interactive"]]),
    of("git", Some("worktree"), &[&["-f", "--force"]]),
    of("rm", None, &[&["-r", "-R", "--recursive"], &["-f", "--force"]]),
    of("cp", None, &[&["-r", "-R", "--recursive", "-a", "--archive"], &["-f", "--force"]]),
    of("chmod", None, &[&["-R", "--recursive"]]),
    of("chown", None, &[&["-R", "--recursive"]]),
    of("docker", None, &[&["-f", "--force"], &["-a", "--all"], &["-v", "--volumes"]]),
    of("podman", None, &[&["-f", "--force"], &["-a", "--all"], &["-v", "--volumes"]]),
    of("kubectl", None, &[&["-n", "--namespace"], &["-f", "--filename"], &["-A", "--all-namespaces"]]),
    of("helm", None, &[&["-n", "--namespace"], &["-f", "--values"]]),
    of("npm", None, &[&["-g", "--global"], &["-f", "--force"]]),
    of("pip", None, &[&["-U", "--upgrade"], &["-r", "--requirement"]]),
    of("curl", None, &[&["-k", "--insecure"], &["-X", "--request"], &["-d", "--data"], &["-o", "--output"]]),
    of("gh", None, &[&["-d", "--delete-branch"], &["-y", "--yes"]]),
    of("terraform", None, &[&["-auto-approve", "--auto-approve"]]),
];

const fn of(
    program: &'static str,
    subcommand: Option<&'static str>,
    groups: &'static [&'static [&'static str]],
) -> Equivalents {
    Equivalents { program, subcommand, groups }
}

/// Programs whose long options begin with one dash, so `-rf` is one option and not two.
const SINGLE_DASH: [&str; 11] =
    ["find", "terraform", "tofu", "java", "go", "gcc", "clang", "openssl", "ffmpeg", "xcodebuild", "terragrunt"];

/// Programs whose first operand is a subcommand, with the options before it that take a separate word as their value.
const SUBCOMMANDS: [(&str, &[&str]); 22] = [
    ("git", &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"]),
    ("cargo", &["-C", "--config", "--manifest-path", "-Z"]),
    ("npm", &["--prefix", "-w", "--workspace"]),
    ("pnpm", &["-C", "--dir", "--filter", "-F"]),
    ("yarn", &["--cwd"]),
    ("docker", &["-H", "--host", "--context", "--config", "-c"]),
    ("podman", &["--connection", "-c"]),
    ("kubectl", &["-n", "--namespace", "--context", "--kubeconfig", "--cluster", "-s", "--server", "--user"]),
    ("helm", &["-n", "--namespace", "--kube-context", "--kubeconfig"]),
    ("gh", &["-R", "--repo"]),
    ("glab", &["-R", "--repo"]),
    ("terraform", &[]),
    ("tofu", &[]),
    ("aws", &["--profile", "--region", "--output", "--endpoint-url"]),
    ("gcloud", &["--project", "--account"]),
    ("az", &["--subscription"]),
    ("systemctl", &["-H", "-M"]),
    ("brew", &[]),
    ("apt", &["-o"]),
    ("apt-get", &["-o"]),
    ("pip", &[]),
    ("flyctl", &["-a", "-c"]),
];

/// Options behind the subcommand whose value may look like an option or a pattern's word: messages, files, authors.
const VALUED: [(&str, &[&str]); 6] = [
    (
        "git",
        &["-m", "--message", "-F", "--file", "--author", "--date", "-t", "-o", "--push-option", "--grep", "-S", "-G"],
    ),
    ("gh", &["-t", "--title", "-b", "--body", "-F", "--body-file"]),
    ("docker", &["-e", "--env", "-l", "--label"]),
    ("curl", &["-H", "--header", "-d", "--data", "--data-raw", "-A", "--user-agent"]),
    ("npm", &["-m", "--message"]),
    ("grep", &["-e", "--regexp", "-f", "--file"]),
];

/// The options before the subcommand that take a value, if the program has subcommands.
pub(super) fn subcommand_options(program: &str) -> Option<&'static [&'static str]> {
    SUBCOMMANDS.iter().find(|(name, _)| *name == program).map(|(_, valued)| *valued)
}

/// Options whose value is text and never an option itself.
pub(super) fn valued_options(program: &str) -> &'static [&'static str] {
    VALUED.iter().find(|(name, _)| *name == program).map_or(&[], |(_, valued)| *valued)
}

pub(super) fn has_clusters(program: &str) -> bool {
    !SINGLE_DASH.contains(&program)
}

/// The groups of options that mean the same as `option`.
pub(super) fn equivalents(program: &str, subcommand: Option<&str>, option: &str) -> Vec<&'static str> {
    let rows =
        TABLE.iter().filter(|row| row.program == program && row.subcommand.is_none_or(|name| Some(name) == subcommand));
    let groups = rows.flat_map(|row| row.groups).filter(|group| group.contains(&option));
    groups.flat_map(|group| group.iter().copied()).collect()
}
