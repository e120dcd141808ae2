//! The calls by which an agent leaves what it is doing: it ends the work, reports, asks the person, or writes down its plan.
//!
//! haltline never denies them. An agent that may not say that it is blocked can only go on.

use super::Limits;
use crate::glob_matches;
use crate::identity::Action;

/// What a way out is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayOut {
    /// It ends the work, or says that the work cannot go on.
    Ends,
    /// It asks the person something.
    Asks,
    /// It says or writes down what the agent is doing.
    Reports,
}

use WayOut::{Asks, Ends, Reports};

/// The tools of one client. Case and `_` do not matter: some clients report a tool under two names.
type ClientTools = (&'static str, &'static [(&'static str, WayOut)]);

/// The table of all clients. Only a client's own tools are in it: they change nothing outside the conversation.
pub const WAYS_OUT: &[ClientTools] = &[
    (
        "claude-code",
        &[
            ("TodoWrite", Reports),
            ("TaskCreate", Reports),
            ("TaskUpdate", Reports),
            ("AskUserQuestion", Asks),
            ("ExitPlanMode", Asks),
            ("StructuredOutput", Ends),
        ],
    ),
    (
        "codex",
        &[
            ("update_goal", Ends),
            ("report_agent_job_result", Ends),
            ("update_plan", Reports),
            ("request_user_input", Asks),
        ],
    ),
    (
        "copilot",
        &[
            ("task_complete", Ends),
            ("report_intent", Reports),
            ("update_todo", Reports),
            ("TodoWrite", Reports),
            ("ask_user", Asks),
            ("AskUserQuestion", Asks),
            ("exit_plan_mode", Asks),
        ],
    ),
    ("gemini", &[("complete_task", Ends), ("write_todos", Reports), ("ask_user", Asks), ("exit_plan_mode", Asks)]),
    (
        "qwen",
        &[("structured_output", Ends), ("todo_write", Reports), ("ask_user_question", Asks), ("exit_plan_mode", Asks)],
    ),
    (
        "cline",
        &[
            ("attempt_completion", Ends),
            ("submit_and_exit", Ends),
            ("structured_output", Ends),
            ("update_todo_list", Reports),
            ("ask_followup_question", Asks),
            ("ask_question", Asks),
            ("plan_mode_respond", Asks),
        ],
    ),
    ("opencode", &[("todowrite", Reports), ("question", Asks), ("plan_exit", Asks), ("StructuredOutput", Ends)]),
    ("cursor", &[("todo_write", Reports), ("ask_question", Asks), ("create_plan", Asks)]),
    (
        "other",
        &[("finish", Ends), ("submit", Ends), ("final_answer", Ends), ("complete_task", Ends), ("message_user", Asks)],
    ),
];

/// What kind of way out a call is, if it is one. A client that is not in the table may use the names of all of them.
pub(super) fn way_out(client: &str, tool: &str, limits: &Limits) -> Option<WayOut> {
    let own = WAYS_OUT.iter().find(|(name, _)| *name == client).map(std::slice::from_ref);
    let listed = own.unwrap_or(WAYS_OUT).iter().flat_map(|(_, tools)| *tools);
    let found = listed.copied().find(|(name, _)| is_same_name(name, tool)).map(|(_, way_out)| way_out);
    found.or_else(|| limits.ways_out.iter().any(|glob| glob_matches(glob, tool)).then_some(Ends))
}

/// True if haltline never denies a call of this tool.
pub fn is_way_out(client: &str, tool: &str, limits: &Limits) -> bool {
    way_out(client, tool, limits).is_some()
}

/// True if the client itself provides the tool, so that the call cannot touch anything.
pub(super) fn is_built_in(client: &str, tool: &str) -> bool {
    let own = WAYS_OUT.iter().find(|(name, _)| *name == client);
    own.is_some_and(|(_, tools)| tools.iter().any(|(name, _)| is_same_name(name, tool)))
}

fn is_same_name(name: &str, tool: &str) -> bool {
    let first = |text: &str| text.bytes().next().map(|letter| letter.to_ascii_lowercase());
    let letter = |letter: u8| (letter != b'_').then(|| letter.to_ascii_lowercase());
    first(name) == first(tool) && name.bytes().filter_map(letter).eq(tool.bytes().filter_map(letter))
}

/// True if a command only prints what it is given, so that its result tells the agent nothing.
pub(super) fn only_prints(action: &Action) -> bool {
    let Some(command) = action.command.as_deref().filter(|_| !action.is_write) else { return false };
    let begins = ["echo", "printf", "true", ":", "sleep"].iter().any(|name| command.trim_start().starts_with(name));
    // A substitution may find something out.
    begins
        && !command.contains(['`', '<'])
        && !command.contains("$(")
        && action.script.as_deref().is_some_and(|script| {
            script.unread_bytes() == 0
                && script.programs().all(|words| {
                    words.first().is_none_or(|name| matches!(name.as_str(), "echo" | "printf" | "true" | ":" | "sleep"))
                })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_its_own_ways_out_and_an_unknown_one_those_of_all() {
        let limits = Limits::default();
        assert_eq!(way_out("codex", "update_goal", &limits), Some(Ends));
        assert_eq!(way_out("gemini", "update_goal", &limits), None);
        assert_eq!(way_out("claude-code", "mcp__tracker__TodoWrite", &limits), None);
        assert_eq!(way_out("claude-code", "Bash", &limits), None);
        assert_eq!(way_out("my-agent", "task_complete", &limits), Some(Ends));
        assert_eq!(way_out("copilot", "askUser", &limits), Some(Asks));
        let configured = Limits { ways_out: vec!["mcp__pager__*".to_owned()], ..limits };
        assert_eq!(way_out("claude-code", "mcp__pager__page", &configured), Some(Ends));
        assert!(!is_built_in("claude-code", "mcp__pager__page") && is_built_in("claude-code", "ExitPlanMode"));
    }

    #[test]
    fn only_a_command_that_prints_its_own_words_tells_nothing() {
        let prints = |command: &str| only_prints(&Action::new("Bash", command, None));
        for command in
            ["echo waiting for review", "printf '%s' done && true", "echo a; echo $RANDOM", "sleep 5; echo x"]
        {
            assert!(prints(command), "{command}");
        }
        for command in ["echo $(git status)", "echo a > b.txt", "echo a | git apply", "cat a", "echo `date`", "ls"] {
            assert!(!prints(command), "{command}");
        }
    }
}
