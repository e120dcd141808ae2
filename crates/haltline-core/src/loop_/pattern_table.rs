//! The table of patterns: everything that is fixed for a pattern, one row each.
//!
//! Which calls a pattern counts is in `pattern.rs` and `no_progress.rs`.

use super::messages::Explanation;
use super::{Limits, Nature, Pattern};
use crate::counted;

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
        format!("`{shown}` returned the same result {} and nothing new was written since", counted(times, "time"))
    },
    instead: "use the result you have, or change something first; after a change, haltline allows one probe.",
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
                            window if times <= window => {
                                format!("`{shown}` failed {} in {}", counted(times, "time"), counted(window, "turn"))
                            }
                            _window => format!("`{shown}` failed {}, its probes included", counted(times, "time")),
                        }
                    },
                    instead: "first change what makes it fail; after a change or the cooldown, haltline allows one probe.",
                    avoid: "run it again unchanged.",
                },
                ..calls("tool_failure", "HL-FAIL-01", ClosedBy::SuccessOrChange, |limits| {
                    limits.tool_failure.cooldown_s
                })
            },
            Pattern::SequentialTools => PatternRow {
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| format!("`{shown}` was called {} in a row", counted(times, "time")),
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
                            "`{shown}` returned the same result {}, with other calls in between, and nothing new was written since",
                            counted(times, "time")
                        )
                    },
                    instead: "use the result you have, or change something first; after a change, haltline allows one probe.",
                    avoid: "make it again between other calls.",
                },
                ..calls("interleaved", "HL-LOOP-04", ClosedBy::Change, |limits| limits.interleaved.cooldown_s)
            },
            Pattern::Cycle => PatternRow {
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| {
                        format!(
                            "a cycle of calls, `{shown}` among them, returned the same results {}",
                            counted(times, "time")
                        )
                    },
                    instead: "break the cycle: take another approach, or write down what you tried and stop.",
                    avoid: "repeat the cycle.",
                },
                ..calls("cycle", "HL-LOOP-02", ClosedBy::NewResultOrWrite, |limits| limits.cycle.cooldown_s)
            },
            Pattern::SameError => PatternRow {
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| {
                        format!("calls like `{shown}` got the same error {}", counted(times, "time"))
                    },
                    instead: "find out what the error is about: look at what is really there, then change that part.",
                    avoid: "try one more variant of the same call.",
                },
                ..calls("same_error", "HL-LOOP-05", ClosedBy::SuccessOrChange, |limits| limits.same_error.cooldown_s)
            },
            Pattern::FutileWrites => PatternRow {
                is_probed_after_write: false,
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| {
                        format!(
                            "`{shown}` failed in the same way {} although files changed in between",
                            counted(times, "time")
                        )
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
                        format!("the last {times} results were already known, and `{shown}` was called before too")
                    },
                    instead: "say what you know and what is missing, and make a call that you have not made yet.",
                    avoid: "repeat calls whose results you know.",
                },
                ..calls("retread", "HL-LOOP-07", ClosedBy::Progress, |limits| limits.retread.cooldown_s)
            },
            Pattern::Stagnation => PatternRow {
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!("{} in a row got a result that was already known", counted(times, "similar call"))
                    },
                    instead: "use the result you have, or look for something else.",
                    avoid: "rephrase the same call.",
                },
                ..calls("stagnation", "HL-LOOP-08", ClosedBy::Progress, |limits| limits.stagnation.cooldown_s)
            },
            Pattern::Cascade => PatternRow {
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!("{times} calls failed in a row, with no new result in between")
                    },
                    instead: "stop and say what you tried, what failed and what you need.",
                    avoid: "try the next thing that comes to mind.",
                },
                ..calls("cascade", "HL-LOOP-09", ClosedBy::Progress, |limits| limits.cascade.cooldown_s)
            },
            Pattern::FruitlessSearches => PatternRow {
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!("{} found nothing, and nothing else was learned", counted(times, "search"))
                    },
                    instead: "look at what is there: list a folder, read a file, or ask where it should be.",
                    avoid: "search for one more word.",
                },
                ..calls("fruitless_searches", "HL-LOOP-14", ClosedBy::Progress, |limits| {
                    limits.fruitless_searches.cooldown_s
                })
            },
            Pattern::SimilarErrors => PatternRow {
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| {
                        format!(
                            "{times} of the last calls like `{shown}` got the same error, but for names and numbers in it"
                        )
                    },
                    instead: "find out what the error is about: look at what is really there, then change that part.",
                    avoid: "try one more variant of the same call.",
                },
                ..calls("similar_errors", "HL-LOOP-15", ClosedBy::Success, |limits| limits.similar_errors.cooldown_s)
            },
            Pattern::MissingProgram => PatternRow {
                is_probed_after_write: false,
                explanation: ExplanationTexts {
                    fact: |shown, times, _limits| {
                        format!("`{shown}` calls a program that was not found {}", counted(times, "time"))
                    },
                    instead: "install the program, correct the search path, or work without it.",
                    avoid: "call it again before something is installed.",
                },
                ..calls("missing_program", "HL-LOOP-16", ClosedBy::Success, |limits| limits.missing_program.cooldown_s)
            },
            Pattern::Compaction => PatternRow {
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!(
                            "the client compacted the conversation {}, with only known results in between",
                            counted(times, "time")
                        )
                    },
                    instead: "write what you know into a file and continue from there, or stop and report.",
                    avoid: "read the same things again.",
                },
                ..calls("compaction", "HL-LOOP-10", ClosedBy::NewResult, |limits| limits.compaction.cooldown_s)
            },
            Pattern::CostGrowth => PatternRow {
                is_probed_after_write: false,
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!("the last response cost {} times as much as usual", times.saturating_add(1))
                    },
                    instead: "take a smaller step: less context, shorter output, or a summary first.",
                    avoid: "continue in the same way.",
                },
                ..calls("cost_growth", "HL-LOOP-11", ClosedBy::AnyResult, |limits| limits.cost_growth.cooldown_s)
            },
            Pattern::Chanting => PatternRow {
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!("the model wrote the same text {} in a row", counted(times.saturating_add(1), "time"))
                    },
                    instead: "say once what is missing, and stop.",
                    avoid: "say it again.",
                },
                ..calls("chanting", "HL-LOOP-12", ClosedBy::AnyResult, |limits| limits.chanting.cooldown_s)
            },
            Pattern::CacheMisses => {
                limit("cache_misses", "HL-LOOP-13", Nature::Resource, |limits| limits.repeat.cooldown_s)
            }
            Pattern::IdleContinuation => PatternRow {
                is_probed_after_write: false,
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| {
                        format!(
                            "the agent was continued {times} times in a row, and no call changed or found out anything"
                        )
                    },
                    instead: "say once what is done, or what is missing and who has to decide; then end the turn.",
                    avoid: "say again that there is nothing to do.",
                },
                ..calls("idle_continuation", "HL-IDLE-01", ClosedBy::NewResult, |limits| {
                    limits.idle_continuation.cooldown_s
                })
            },
            Pattern::Denials => PatternRow {
                explanation: ExplanationTexts {
                    fact: |_shown, times, _limits| format!("permission was denied {}", counted(times, "time")),
                    instead: "ask the person for permission, or work without it.",
                    avoid: "try the same thing in another way.",
                },
                ..limit("denials", "HL-DENY-01", Nature::Loop, |limits| limits.denials.cooldown_s)
            },
            Pattern::Budget => limit("budget", "HL-BUDGET-02", Nature::Resource, |limits| limits.repeat.cooldown_s),
            Pattern::ProviderLimit => {
                limit("provider_limit", "HL-PROVIDER-01", Nature::Resource, |limits| limits.provider.cooldown_s)
            }
            Pattern::ProviderOverload => limit("provider_overload", "HL-PROVIDER-02", Nature::Resource, |limits| {
                limits.provider.overload_cooldown_s
            }),
            Pattern::Constraint => limit("constraint", "HL-CON-02", Nature::Rule, |limits| limits.repeat.cooldown_s),
            Pattern::Tampering => limit("tampering", "HL-OWN-01", Nature::Rule, |limits| limits.repeat.cooldown_s),
        }
    }

    /// What closes a HALF_OPEN circuit, for people.
    pub fn closing_text(self) -> &'static str {
        match self.row().closed_by {
            ClosedBy::Success => "the next such call closes it unless it fails",
            ClosedBy::SuccessOrChange => "the next such call closes it unless it fails in the same way",
            ClosedBy::Change => "the next such call closes it if its result is another one",
            ClosedBy::NewResultOrWrite | ClosedBy::NewResult => "the next such call closes it if its result is new",
            ClosedBy::Progress => "the next call that learns something new closes it",
            ClosedBy::AnyResult => "the next call closes it",
        }
    }

    /// Explains the pattern for an action that occurred `times` times.
    pub(super) fn explain(self, shown: &str, times: u32, limits: &Limits) -> Explanation {
        let PatternRow { code, explanation: ExplanationTexts { fact, instead, avoid }, .. } = self.row();
        Explanation::new(self, code, fact(shown, times, limits), instead, avoid)
    }
}
