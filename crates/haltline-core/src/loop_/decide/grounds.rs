//! Why an action is refused, pattern by pattern: the fact, what helps, what does not.

use crate::identity::Digest;
use crate::loop_::words::Grounds;
use crate::loop_::{Limits, Pattern, code};

/// What a pattern says of an action that was seen so often.
pub(super) fn of(pattern: Pattern, shown: &str, times: u32, limits: &Limits) -> Grounds {
    let (fact, instead, avoid) = match pattern {
        Pattern::ToolFailure => (
            format!("`{shown}` failed {times} times in {} turns", limits.tool_failure.window),
            "change what makes it fail first; after a change, or the cooldown, one probe is allowed.",
            "run it again unchanged.",
        ),
        Pattern::SequentialTools => (
            format!("`{shown}` was called {times} times in a row"),
            "use a scratch script, or hand the work to one agent.",
            "call it once more.",
        ),
        Pattern::Cycle => (
            format!("the same calls in turn, `{shown}` among them, gave the same answers {times} times"),
            "leave the circle: take another approach, or write down what you tried and stop.",
            "go round once more.",
        ),
        Pattern::Denials => (
            format!("permission was refused {times} times"),
            "ask the person for the permission, or do without it.",
            "try the same thing under another name.",
        ),
        Pattern::Interleaved => (
            format!(
                "`{shown}` gave the same answer {times} times, with other calls in between, and nothing new was written since"
            ),
            "use the answer you have, or change something first; after a change one probe is allowed.",
            "ask it again between other calls.",
        ),
        Pattern::SameError => (
            format!("calls like `{shown}` got the same error {times} times"),
            "find out what the error is about: look at what is really there, then change that part.",
            "try one more variant of the same call.",
        ),
        Pattern::FutileWrites => (
            format!("`{shown}` failed in the same way {times} times although files were changed in between"),
            "find out what the failure depends on before the next edit, or say what you tried and stop.",
            "edit and run it once more.",
        ),
        Pattern::Retread => (
            format!("the last {times} answers were known before, and `{shown}` was asked before as well"),
            "say what you know and what is missing; ask something that was not asked yet.",
            "go through the same questions again.",
        ),
        Pattern::Stagnation => (
            format!("{times} times in a row the same question in other words got an answer that was known"),
            "use the answer you have, or ask something else.",
            "put the same question in other words.",
        ),
        Pattern::Cascade => (
            format!("{times} calls failed one after another and nothing new was learned in between"),
            "stop and say what you tried, what failed and what you need.",
            "try the next thing that comes to mind.",
        ),
        Pattern::Compaction => (
            format!("the conversation was shortened {times} times and in between only known things were asked"),
            "write down what you know in a file, then go on from there, or stop and report.",
            "read the same things again.",
        ),
        Pattern::CostGrowth => (
            format!("the last response cost {} times the usual", times.saturating_add(1)),
            "take a smaller step: less context, shorter output, or a summary first.",
            "go on in the same way.",
        ),
        Pattern::Chanting => (
            format!("the same words were said {} times in a row", times.saturating_add(1)),
            "say once what is missing, and stop.",
            "say it again.",
        ),
        Pattern::Repeat
        | Pattern::HookRecursion
        | Pattern::AgentSpawn
        | Pattern::ExternalApi
        | Pattern::Budget
        | Pattern::Constraint
        | Pattern::Tampering => (
            format!("`{shown}` gave the same answer {times} times and nothing new was written since"),
            "use the answer you have, or change something first; after a change one probe is allowed.",
            "run it again unchanged.",
        ),
    };
    Grounds { pattern, code: code(pattern, Digest::default()), fact, instead, avoid }
}
