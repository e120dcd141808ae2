//! What kind of tool a name means, over all clients.

/// The kinds that are compared in their own ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Runs a command line of a POSIX shell.
    Shell,
    /// Runs a command line of another shell.
    ForeignShell,
    /// Talks to a command that runs, or waits for one.
    Poll,
    /// Changes a file.
    Edit,
    /// Searches names or contents.
    Search,
    /// Starts a sub-agent.
    Spawn,
    /// Asks a database.
    Query,
    /// Anything else.
    Other,
}

impl Kind {
    pub(super) fn of(tool: &str) -> Self {
        // `mcp__server__write_file` and `functions.exec_command` are what stands last.
        let last = tool.rsplit("__").next().unwrap_or(tool);
        let last = last.rsplit(['.', '/', ':']).next().unwrap_or(last);
        let name: String =
            last.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
        match name.as_str() {
            "bash" | "shell" | "sh" | "zsh" | "execcommand" | "runshellcommand" | "executecommand"
            | "runterminalcommand" | "runterminalcmd" | "runinterminal" | "localshell" | "localshellcall"
            | "shellcommand" | "runcommand" | "runcommands" | "terminal" | "containerexec" | "executebash"
            | "unifiedexec" | "runbash" | "bashtool" => Kind::Shell,
            "powershell" | "pwsh" | "cmd" => Kind::ForeignShell,
            "writestdin" | "taskoutput" | "bashoutput" | "readbash" | "readpowershell" | "waitagent" | "wait"
            | "agentoutput" | "agentoutputtool" | "commandstatus" | "getterminaloutput" | "readagent" => Kind::Poll,
            "edit"
            | "write"
            | "multiedit"
            | "notebookedit"
            | "applypatch"
            | "applydiff"
            | "writefile"
            | "replace"
            | "strreplace"
            | "strreplaceeditor"
            | "strreplacebasededittool"
            | "createfile"
            | "editfile"
            | "editfiles"
            | "inserteditintofile"
            | "writetofile"
            | "replaceinfile"
            | "searchreplace"
            | "searchandreplace"
            | "deletefile"
            | "patch"
            | "create"
            | "insert"
            | "insertcontent"
            | "replacestringinfile"
            | "multireplacestringinfile"
            | "editnotebook"
            | "editor"
            | "fsedit"
            | "fswrite"
            | "update"
            | "movefile" => Kind::Edit,
            "grep" | "glob" | "rg" | "grepsearch" | "filesearch" | "searchfiles" | "searchfilecontent"
            | "findfiles" | "codebasesearch" | "greptool" | "globtool" | "searchtext" => Kind::Search,
            "agent" | "task" | "invokeagent" | "subagent" | "delegatetask" | "newtask" | "usesubagents"
            | "launchagent" | "runsubagent" | "delegate" | "dispatchagent" => Kind::Spawn,
            spawn if spawn.ends_with("spawnagent") => Kind::Spawn,
            wait if wait.ends_with("waitagent") => Kind::Poll,
            query if query.ends_with("sql") || query.ends_with("sqlquery") => Kind::Query,
            &_ => Kind::Other,
        }
    }

    /// Members that say something about the call, or how long to wait for it, and do not change what it does. A
    /// longer time limit is left out too: running into the limit again is the same failure.
    pub(super) fn left_out(self) -> &'static [&'static str] {
        const WAITING: [&str; 20] = [
            "description",
            "timeout",
            "timeout_ms",
            "timeoutMs",
            "timeout_seconds",
            "yield_time_ms",
            "max_output_tokens",
            "initial_wait",
            "delay",
            "wait",
            "block",
            "justification",
            "explanation",
            "reason",
            "requires_approval",
            "mode",
            "login",
            "tty",
            "goal",
            "intent",
        ];
        match self {
            Kind::Shell | Kind::ForeignShell | Kind::Poll => &WAITING,
            Kind::Spawn => &["description", "name", "reason"],
            Kind::Edit => &["explanation", "instructions", "description", "instruction"],
            Kind::Search => &["explanation"],
            Kind::Query | Kind::Other => &["explanation", "toolExplanation"],
        }
    }
}
