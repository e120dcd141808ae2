//! Determines the kind of a tool from its name, for the tools of all clients.

/// The kinds of tools whose calls are compared in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolKind {
    /// Runs a command line of a POSIX shell.
    Shell,
    /// Runs a command line of another shell.
    ForeignShell,
    /// Talks to a running command, or waits for one.
    Poll,
    /// Changes a file.
    Edit,
    /// Searches names or contents.
    Search,
    /// Starts a sub-agent.
    Spawn,
    /// Queries a database.
    Query,
    Other,
}

impl ToolKind {
    pub(super) fn from_name(tool: &str) -> Self {
        // In `mcp__server__write_file` and `functions.exec_command` only the last part matters.
        let last = tool.rsplit("__").next().unwrap_or(tool);
        let last = last.rsplit(['.', '/', ':']).next().unwrap_or(last);
        let name: String =
            last.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
        match name.as_str() {
            "bash" | "shell" | "sh" | "zsh" | "execcommand" | "runshellcommand" | "executecommand"
            | "runterminalcommand" | "runterminalcmd" | "runinterminal" | "localshell" | "localshellcall"
            | "shellcommand" | "runcommand" | "runcommands" | "terminal" | "containerexec" | "executebash"
            | "unifiedexec" | "runbash" | "bashtool" => ToolKind::Shell,
            "powershell" | "pwsh" | "cmd" => ToolKind::ForeignShell,
            "writestdin" | "taskoutput" | "bashoutput" | "readbash" | "readpowershell" | "waitagent" | "wait"
            | "agentoutput" | "agentoutputtool" | "commandstatus" | "getterminaloutput" | "readagent" => ToolKind::Poll,
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
            | "movefile" => ToolKind::Edit,
            "grep" | "glob" | "rg" | "grepsearch" | "filesearch" | "searchfiles" | "searchfilecontent"
            | "findfiles" | "codebasesearch" | "greptool" | "globtool" | "searchtext" => ToolKind::Search,
            "agent" | "task" | "invokeagent" | "subagent" | "delegatetask" | "newtask" | "usesubagents"
            | "launchagent" | "runsubagent" | "delegate" | "dispatchagent" => ToolKind::Spawn,
            spawn if spawn.ends_with("spawnagent") => ToolKind::Spawn,
            wait if wait.ends_with("waitagent") => ToolKind::Poll,
            query if query.ends_with("sql") || query.ends_with("sqlquery") => ToolKind::Query,
            &_ => ToolKind::Other,
        }
    }

    /// JSON members that describe the call, or say how long to wait for it, and do not change what it does. A longer
    /// time limit is left out too: running into the limit again is the same failure.
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
            ToolKind::Shell | ToolKind::ForeignShell | ToolKind::Poll => &WAITING,
            ToolKind::Spawn => &["description", "name", "reason"],
            ToolKind::Edit => &["explanation", "instructions", "description", "instruction"],
            ToolKind::Search => &["explanation"],
            ToolKind::Query | ToolKind::Other => &["explanation", "toolExplanation"],
        }
    }
}
