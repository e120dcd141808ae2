//! The table of patterns: everything that is fixed for a pattern, one row each.
//!
//! Which calls a pattern counts is in `pattern.rs` and `no_progress.rs`.

use super::messages::Explanation;
use super::{Limits, Nature, Pattern};

#[derive(Clone, Copy, Debug)]
pub(super) struct PatternRow {
    /// The pattern's stable name in configuration, messages and listings.
    pub name: &'static str,
    /// A stable code with a page in the docs. Limits and hooks have further codes, see [`super::code`].
    pub code: &'static str,
    pub nature: Nature,
    /// The first cooldown. Patterns that have no circuit use that of `repeat`.
    pub cooldown_s: fn(&Limits) -> u32,
    /// What closes the circuit when its probe ends; anything else re-opens it.
    pub closed_by: ClosedBy,
    /// True if a write makes an OPEN circuit HALF_OPEN, because the same call may now have another result.
    /// Not so for futile writes: that pattern is about failures in spite of writes, so a write proves nothing.
    pub is_probed_after_write: bool,
    explanation: ExplanationTexts,
}

/// The end of a probe that closes a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClosedBy {
    /// The call does not fail.
    Success,
    /// The call does not fail, or it fails in another way.
    SuccessOrChange,
    /// The call has another result, or it succeeds after a write.
    Change,
    /// The call succeeds with a new result, or it succeeds after a write.
    NewResultOrWrite,
    /// The call succeeds with a new result.
    NewResult,
    /// The agent learns something new, or the call succeeds after a write.
    Progress,
    /// A call does not cause what a response says or costs: it is enough that the call was let through.
    AnyResult,
}

/// How a pattern is explained to the agent.
#[derive(Clone, Copy, Debug)]
struct ExplanationTexts {
    /// What happened: the action as shown, how often, and the limits.
    fact: fn(&str, u32, &Limits) -> String,
    instead: &'static str,
    avoid: &'static str,
}

/// The explanation of a repeat. Patterns that explain themselves at each limit have it as well.
const REPEATED: ExplanationTexts = ExplanationTexts {
    fact: |shown, times, _limits| {
        format!("`{shown}` gave the same answer {times} times and nothing new was written since")
    },
    instead: "use the answer you have, or change something first; after a change one probe is allowed.",
    avoid: "run it again unchanged.",
};

/// A pattern that only a call without a failure ends. It explains itself at each of its limits.
fn limit(name: &'static str, code: &'static str, nature: Nature, cooldown_s: fn(&Limits) -> u32) -> PatternRow {
    PatternRow {
        name,
        code,
        nature,
        cooldown_s,
        closed_by: ClosedBy::Success,
        is_probed_after_write: false,
        explanation: REPEATED,
    }
}

/// A pattern of calls that repeat something.
fn calls(name: &'static str, code: &'static str, closed_by: ClosedBy, cooldown_s: fn(&Limits) -> u32) -> PatternRow {
    PatternRow { closed_by, is_probed_after_write: true, ..limit(name, code, Nature::Loop, cooldown_s) }
}

impl Pattern {
    pub(super) fn row(self) -> PatternRow {
        match self {
            Pattern::HookRecursion => {
                limit("hook_recursion", "HL-HOOK-01", Nature::Loop, |limits| limits.hook_recursion.cooldown_s)
            }
            Pattern::ToolFailure => PatternRow {
                explanation: ExplanationTexts {
                    fact: |shown, times, limits| {
                        match limits.tool_failure.window {
                            // Probes of earlier trips count as well, so there may be more failures than turns.
                            window if times <= window => format!("`{shown}` failed {times} times in {window} turns"),
                            _window => format!("`{shown}` failed {times} times, its probes included"),
                        }
                    },
                    instead: "change what makes it fail first; after a change, or the cooldown, one probe is allowed.",
                    avoid: "run it again unchanged.",
                },
                ..calls("tool_failure", "HL-FAIL-01", ClosedBy::SuccessOrChange, |limits| {
                    limits.tool_failure.cooldown_s
                })
            },
            Pattern::SequentialTools => PatternRow {
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| format!("`{shown}` was called {times} times in a row"),
                    instead: "use a scratch script, or hand the work to one agent.",
                    avoid: "call it once more.",
                },
                ..calls("sequential_tools", "HL-LOOP-03", ClosedBy::Success, |limits| {
                    limits.sequential_tools.cooldown_s
                })
            },
            Pattern::AgentSpawn => {
                limit("agent_spawn", "HL-SPAWN-01", Nature::Resource, |limits| limits.agent_spawn.cooldown_s)
            }
            Pattern::ExternalApi => {
                limit("external_api", "HL-API-01", Nature::Resource, |limits| limits.external_api.cooldown_s)
            }
            Pattern::Repeat => calls("repeat", "HL-LOOP-01", ClosedBy::Change, |limits| limits.repeat.cooldown_s),
            Pattern::Interleaved => PatternRow {
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| {
                        format!(
                            "`{shown}` gave the same answer {times} times, with other calls in between, and nothing new was written since"
                        )
                    },
                    instead: "use the answer you have, or change something first; after a change one probe is allowed.",
                    avoid: "ask it again between other calls.",
                },
                ..calls("interleaved", "HL-LOOP-04", ClosedBy::Change, |limits| limits.interleaved.cooldown_s)
            },
            Pattern::Cycle => PatternRow {
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| {
                        format!("the same calls in turn, `{shown}` among them, gave the same answers {times} times")
                    },
                    instead: "leave the circle: take another approach, or write down what you tried and stop.",
                    avoid: "go round once more.",
                },
                ..calls("cycle", "HL-LOOP-02", ClosedBy::NewResultOrWrite, |limits| limits.cycle.cooldown_s)
            },
            Pattern::SameError => PatternRow {
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| format!("calls like `{shown}` got the same error {times} times"),
                    instead: "find out what the error is about: look at what is really there, then change that part.",
                    avoid: "try one more variant of the same call.",
                },
                ..calls("same_error", "HL-LOOP-05", ClosedBy::SuccessOrChange, |limits| limits.same_error.cooldown_s)
            },
            Pattern::FutileWrites => PatternRow {
                is_probed_after_write: false,
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| {
                        format!("`{shown}` failed in the same way {times} times although files were changed in between")
                    },
                    instead: "find out what the failure depends on before the next edit, or say what you tried and stop.",
                    avoid: "edit and run it once more.",
                },
                ..calls("futile_writes", "HL-LOOP-06", ClosedBy::SuccessOrChange, |limits| {
                    limits.futile_writes.cooldown_s
                })
            },
            Pattern::Retread => PatternRow {
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| {
                        format!("the last {times} answers were known before, and `{shown}` was asked before as well")
                    },
                    instead: "say what you know and what is missing; ask something that was not asked yet.",
                    avoid: "go through the same questions again.",
                },
                ..calls("retread", "HL-LOOP-07", ClosedBy::Progress, |limits| limits.retread.cooldown_s)
            },
            Pattern::Stagnation => PatternRow {
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!("{times} times in a row the same question in other words got an answer that was known")
                    },
                    instead: "use the answer you have, or ask something else.",
                    avoid: "put the same question in other words.",
                },
                ..calls("stagnation", "HL-LOOP-08", ClosedBy::Progress, |limits| limits.stagnation.cooldown_s)
            },
            Pattern::Cascade => PatternRow {
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!("{times} calls failed one after another and nothing new was learned in between")
                    },
                    instead: "stop and say what you tried, what failed and what you need.",
                    avoid: "try the next thing that comes to mind.",
                },
                ..calls("cascade", "HL-LOOP-09", ClosedBy::Progress, |limits| limits.cascade.cooldown_s)
            },
            Pattern::Compaction => PatternRow {
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!(
                            "the conversation was shortened {times} times and in between only known things were asked"
                        )
                    },
                    instead: "write down what you know in a file, then go on from there, or stop and report.",
                    avoid: "read the same things again.",
                },
                ..calls("compaction", "HL-LOOP-10", ClosedBy::NewResult, |limits| limits.compaction.cooldown_s)
            },
            Pattern::CostGrowth => PatternRow {
                is_probed_after_write: false,
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!("the last response cost {} times the usual", times.saturating_add(1))
                    },
                    instead: "take a smaller step: less context, shorter output, or a summary first.",
                    avoid: "go on in the same way.",
                },
                ..calls("cost_growth", "HL-LOOP-11", ClosedBy::AnyResult, |limits| limits.cost_growth.cooldown_s)
            },
            Pattern::Chanting => PatternRow {
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!("the same words were said {} times in a row", times.saturating_add(1))
                    },
                    instead: "say once what is missing, and stop.",
                    avoid: "say it again.",
                },
                ..calls("chanting", "HL-LOOP-12", ClosedBy::AnyResult, |limits| limits.chanting.cooldown_s)
            },
            Pattern::Denials => PatternRow {
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| format!("permission was refused {times} times"),
                    instead: "ask the person for the permission, or do without it.",
                    avoid: "try the same thing under another name.",
                },
                ..limit("denials", "HL-DENY-01", Nature::Loop, |limits| limits.denials.cooldown_s)
            },
            Pattern::Budget => limit("budget", "HL-BUDGET-02", Nature::Resource, |limits| limits.repeat.cooldown_s),
            Pattern::Constraint => limit("constraint", "HL-CON-02", Nature::Rule, |limits| limits.repeat.cooldown_s),
            Pattern::Tampering => limit("tampering", "HL-OWN-01", Nature::Rule, |limits| limits.repeat.cooldown_s),
        }
    }

    /// Explains the pattern for an action that occurred `times` times.
    pub(super) fn explain(self, shown: &str, times: u32, limits: &Limits) -> Explanation {
        let PatternRow { code, explanation: ExplanationTexts { fact, instead, avoid }, .. } = self.row();
        Explanation::new(self, code, fact(shown, times, limits), instead, avoid)
    }
}
