//! The vocabulary of `testdata/loop/*.txt`: its settings and events.

use haltline_core::identity::{Action, CallResult, DeniedBy, ModelText, Outcome as CallOutcome};
use haltline_core::ledger::{BudgetScope, BudgetUnit};
use haltline_core::loop_::{
    BatchEnd, CallIds, FaultKind, Limits, LoopEvent, ProviderAccount, ProviderFault, ProviderRequest, TranscriptRange,
    TurnEnd, Usage, Verb,
};
use haltline_core::{Decision, Mode, Rejection};
use serde_json::json;

use crate::clock::Clock;
use crate::language::interpreter::Vocabulary;
use crate::language::outcome::Outcome;
use crate::language::words::{Words, parse_number, set_limit};
use crate::loop_::world::Sessions;

pub struct LoopRules {
    pub world: Sessions,
    pub last: Outcome,
}

impl Vocabulary for LoopRules {
    const BREAKER: &'static str = "loop";
    const RULES: &'static [&'static str] =
        &["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "L10", "E3", "E4", "E5", "E12", "E13", "E14", "E15", "X4"];

    fn new() -> Self {
        Self { world: Sessions::new(), last: Outcome::default() }
    }

    fn clock_and_mode(&mut self) -> (&mut Clock, &mut Mode) {
        (&mut self.world.clock, &mut self.world.policy.mode)
    }

    fn setting(&mut self, word: &str, words: &mut Words) -> Result<bool, String> {
        let world = &mut self.world;
        match word {
            "session" => {
                world.agent.session = words.next()?;
                world.agent.sub_agent = None;
                world.agent.parent_session = words.after("inside", Words::next)?;
            }
            "agent" => world.agent.sub_agent = Some(words.next()?).filter(|name| name != "main"),
            "client-name" => world.agent.client = words.next()?,
            "run" => world.agent.run = Some(words.next()?),
            "account" => {
                let (provider, account) = (words.next()?, words.next()?);
                world.agent.account = Some(ProviderAccount { provider, account });
            }
            "client" => {
                world.agent.hook_source = None;
                (world.agent.marks_batches, world.agent.call_ids) = match words.next()?.as_str() {
                    "marks-batches" => (true, CallIds::Stable),
                    "plain" => (false, CallIds::Stable),
                    "names-starts" => (false, CallIds::StartOnly),
                    "no-call-ids" => {
                        world.agent.hook_source = Some(words.next()?);
                        (false, CallIds::None)
                    }
                    unknown => {
                        return Err(format!(
                            "{unknown:?}: expected marks-batches, plain, names-starts or no-call-ids HOOK-SOURCE"
                        ));
                    }
                };
            }
            "set" => {
                let (key, value) = (words.next()?, words.rest());
                world.policy.loop_ = set_limit(&world.policy.loop_, &key, &value)?;
                if key == "preset" {
                    let preset = world.policy.loop_.preset;
                    world.policy.loop_.choose(preset);
                }
            }
            "budget" => {
                let (scope, unit, kind, amount) = (words.next()?, words.next()?, words.next()?, words.long()?);
                set_budget(&mut world.policy.loop_, &scope, &unit, &kind, amount)?;
            }
            "hook-source" => world.agent.hook_source = Some(words.next()?),
            "message" => world.message = Some(words.next()?),
            _unknown => return Ok(false),
        }
        Ok(true)
    }

    fn event(&mut self, words: &mut Words) -> Result<(), String> {
        self.last = Outcome { result: Some(self.play(words)?), cause: None };
        Ok(())
    }
}

impl LoopRules {
    fn play(&mut self, words: &mut Words) -> Result<Result<Decision, Rejection>, String> {
        if let Some(action) = action(words)? {
            let result = gives(words)?;
            return Ok(Ok(self.world.run(action, result)));
        }
        let word = words.next()?;
        let world = &mut self.world;
        let event = match word.as_str() {
            "start" => {
                let name = words.next()?;
                let action = action(words)?.ok_or("expected a call, such as `run \"cargo test\"`")?;
                return Ok(Ok(world.start(&name, action)));
            }
            "end" => {
                let name = words.next()?;
                if words.take("as") {
                    let action = action(words)?.ok_or("expected a call")?;
                    world.calls.insert(name.clone(), (action, None));
                }
                return Ok(Ok(world.end(&name, result(words)?)));
            }
            "batch" => {
                let mut names = Vec::new();
                while let Ok(name) = words.next() {
                    names.push(name);
                }
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                return Ok(Ok(world.batch(&names)));
            }
            "unannounced" => {
                let action = action(words)?.ok_or("expected a call")?;
                let result = gives(words)?;
                world.count += 1;
                let call = format!("call {}", world.count);
                LoopEvent::Batch { ends: vec![BatchEnd { call, action, result }] }
            }
            "prompt" => LoopEvent::Prompt { by_user: true, bypass: words.take("bypass") },
            "notice" => LoopEvent::Prompt { by_user: false, bypass: false },
            "hook" => LoopEvent::Hook { name: words.quoted()? },
            "stop" => {
                let blocked = words.take("blocked");
                let running = words.after("running", Words::next)?;
                let split =
                    |names: String| names.split(',').filter(|name| *name != "none").map(str::to_owned).collect();
                let end = if words.take("waiting") { TurnEnd::Waiting } else { TurnEnd::Idle };
                LoopEvent::Stop { blocked, running: running.map(split), end }
            }
            "sub-agent" if words.take("ends") => LoopEvent::SpawnEnd { sub_agent: None },
            "sub-agent" => {
                let sub_agent = words.next()?;
                match words.next()?.as_str() {
                    "begins" => LoopEvent::SpawnStart { sub_agent, depth: words.after("depth", Words::number)? },
                    "ends" => LoopEvent::SpawnEnd { sub_agent: Some(sub_agent) },
                    unknown => return Err(format!("{unknown:?}: expected begins or ends")),
                }
            }
            "spent" => {
                let (usage, cached) = (words.after("tokens", usage)?, words.after("cached", Words::long)?);
                let written = words.after("written", Words::long)?;
                let usage = usage.map(|usage| Usage {
                    cache_read: cached.unwrap_or_default(),
                    cache_write: written.unwrap_or_default(),
                    ..usage
                });
                let cost = words.after("cost", dollars)?;
                LoopEvent::Message { usage, cost, model: None, range: None, last_response: None, text: None }
            }
            "transcript" => transcript_range(words)?,
            "begins" => {
                let model = words.after("with", Words::next)?;
                LoopEvent::SessionStart { model, resumed: words.take("resumed"), is_nested: words.take("nested") }
            }
            "speaks" => {
                let text = ModelText::from_text(&words.quoted()?);
                LoopEvent::Message { usage: None, cost: None, model: None, range: None, last_response: None, text }
            }
            "asks-model" => LoopEvent::ModelStart,
            "limit" | "overload" => LoopEvent::ProviderFault(provider_fault(&word, words, world)?),
            "loop" => {
                let what = match words.next()?.as_str() {
                    "begins" => ProviderRequest::Begin,
                    "answered" => ProviderRequest::Answered,
                    "unanswered" => ProviderRequest::Unanswered,
                    kind => ProviderRequest::Fault(provider_fault(kind, words, world)?),
                };
                return Ok(Ok(world.loop_request(what)));
            }
            "ends" => LoopEvent::SessionEnd { reason: "exit".to_owned() },
            "compaction" => {
                let trigger = if words.take("manual") { "manual" } else { "auto" }.to_owned();
                let has_shrunk = if words.take("unshrunk") { Some(false) } else { None };
                LoopEvent::Compaction { trigger, has_shrunk }
            }
            "raises" => {
                let (scope, amount) = (budget_scope(&words.next()?)?, words.long()?);
                let lifetime_ms = words.after("for", Words::long)?.unwrap_or(60) * 60_000;
                return Ok(Ok(world.raise(scope, BudgetUnit::Tokens, amount, lifetime_ms)));
            }
            "reset" if words.take("all") => return Ok(world.reset_all()),
            "reset" => return Ok(world.act(|incident| Verb::Reset { incident: Some(incident) })),
            "resume" => {
                let hint = words.quoted_if_any()?;
                return Ok(world.act(|incident| Verb::Resume { incident, hint }));
            }
            "false-positive" => return Ok(world.act(|incident| Verb::FalsePositive { incident, subject: None })),
            "revoke" => return Ok(world.revoke()),
            unknown => return Err(format!("{unknown:?} is no event")),
        };
        Ok(Ok(world.report(event)))
    }
}

/// `limit until 3h`, `limit until 3h for-all`, `overload`.
fn provider_fault(kind: &str, words: &mut Words, world: &Sessions) -> Result<ProviderFault, String> {
    let kind = match kind {
        "limit" => FaultKind::Limit,
        "overload" => FaultKind::Overload,
        unknown => return Err(format!("{unknown:?}: expected limit or overload")),
    };
    let until = words.after("until", Words::duration)?.map(|wait| world.clock.now().plus_millis(wait).at);
    Ok(ProviderFault { kind, until, is_account_wide: words.take("for-all") })
}

fn budget_scope(name: &str) -> Result<BudgetScope, String> {
    BudgetScope::ALL.into_iter().find(|scope| scope.as_str() == name).ok_or(format!("{name:?} is no budget"))
}

/// Sets a limit of a budget.
fn set_budget(limits: &mut Limits, scope: &str, unit: &str, kind: &str, amount: u64) -> Result<(), String> {
    if scope == "fan-out" {
        limits.budgets.fan_out_micros = Some(amount);
        return Ok(());
    }
    if scope == "minute" {
        limits.spend_rate.hard_micros = Some(amount);
        return Ok(());
    }
    let budgets = &mut limits.budgets;
    let budget = match budget_scope(scope)? {
        BudgetScope::Session => return Err("set the budget of a session with `set`".to_owned()),
        BudgetScope::Prompt => &mut budgets.prompt,
        BudgetScope::Day => &mut budgets.day,
        BudgetScope::Night => &mut budgets.night,
        BudgetScope::Week => &mut budgets.week,
        BudgetScope::Project => &mut budgets.project,
    };
    let bound = match unit {
        "usd" => &mut budget.micros,
        "tokens" => &mut budget.tokens,
        "calls" => &mut budget.calls,
        "minutes" => &mut budget.minutes,
        unknown => return Err(format!("{unknown:?} is no unit")),
    };
    match kind {
        "soft" => bound.soft = Some(amount),
        "hard" => bound.hard = Some(amount),
        unknown => return Err(format!("{unknown:?}: expected soft or hard")),
    }
    Ok(())
}

/// Parses `$0.50` into millionths of a dollar.
fn dollars(words: &mut Words) -> Result<u64, String> {
    let text = words.next()?;
    let wrong = || format!("{text:?}: expected dollars and cents, such as $0.50");
    let (whole, cents) = text.strip_prefix('$').and_then(|sum| sum.split_once('.')).ok_or_else(wrong)?;
    if cents.len() != 2 {
        return Err(wrong());
    }
    Ok(u64::from(parse_number(whole)?) * 1_000_000 + u64::from(parse_number(cents)?) * 10_000)
}

fn usage(words: &mut Words) -> Result<Usage, String> {
    Ok(Usage { input: words.long()?, ..Usage::default() })
}

/// The result that a call gives.
fn gives(words: &mut Words) -> Result<CallResult, String> {
    let result = words.after("gives", result)?;
    Ok(result.unwrap_or_else(|| CallResult::new(CallOutcome::Ok, None, "done")))
}

/// A call, if the next word starts one.
fn action(words: &mut Words) -> Result<Option<Action>, String> {
    let (tool, input) = match () {
        () if words.take("run") => ("Bash".to_owned(), json!({"command": words.quoted()?})),
        () if words.take("read") => ("Read".to_owned(), json!({"file_path": words.quoted()?})),
        () if words.take("edit") => {
            let (path, new) = (words.quoted()?, words.quoted()?);
            ("Edit".to_owned(), json!({"file_path": path, "old_string": "old", "new_string": new}))
        }
        () if words.take("search") => ("Grep".to_owned(), json!({"pattern": words.quoted()?})),
        () if words.take("spawn") => {
            let task = words.quoted()?;
            ("Task".to_owned(), json!({"description": task, "prompt": task}))
        }
        () if words.take("use") => (words.next()?, json!({"argument": words.quoted()?})),
        () => return Ok(None),
    };
    Ok(Some(Action::new(&tool, &input.to_string(), Some("/project"))))
}

/// A range of a transcript: from where to where, the tokens, and one call that ended in it. The end of the range
/// also gives the id of the last response.
fn transcript_range(words: &mut Words) -> Result<LoopEvent, String> {
    let (from, to) = (words.long()?, words.long()?);
    let usage = words.after("tokens", usage)?;
    let ended = words.after("ended", |words| Ok((words.next()?, result(words)?)))?.into_iter().collect();
    let response = |at: u64| (at > 0).then(|| format!("response at {at}"));
    let range = TranscriptRange { from, last_response: response(from), to, prompt: None, ended };
    Ok(LoopEvent::Message {
        usage,
        cost: None,
        model: None,
        range: Some(range),
        last_response: response(to),
        text: None,
    })
}

/// The result of a call: the outcome, then an exit code, a text, a price, a sub-agent.
fn result(words: &mut Words) -> Result<CallResult, String> {
    let word = words.next()?;
    let mut by = None;
    let outcome = match word.as_str() {
        "ok" => CallOutcome::Ok,
        "failed" => CallOutcome::Failed,
        "denied" => {
            by = Some(if words.take("by-hook") { DeniedBy::Hook } else { DeniedBy::Permission });
            CallOutcome::Denied
        }
        "rejected" => CallOutcome::Rejected,
        "cancelled" => CallOutcome::Cancelled,
        "rate-limited" => CallOutcome::RateLimited,
        "unknown" => CallOutcome::Unknown,
        unknown => return Err(format!("{unknown:?} is no outcome")),
    };
    let exit = words.after("exit", Words::number)?.map(i32::try_from).transpose().map_err(|error| error.to_string())?;
    let text = words.quoted_if_any()?.unwrap_or_default();
    let mut result = CallResult::new(outcome, exit, &text);
    if result.outcome != outcome {
        return Err(format!("{text:?} reads as {:?}, not as {word}", result.outcome));
    }
    result.denied_by = by;
    result.cost = words.after("cost", dollars)?;
    result.sub_agent = words.after("sub-agent", Words::next)?;
    result.is_sub_agent_running = words.take("running");
    Ok(result)
}
