//! The language of `testdata/loop/*.txt`: one line of it, taken apart and played.
//!
//! Nothing is guessed and nothing left over: a word that is not understood is an error.

use haltline_core::identity::{Action, Answer, By, Outcome, Said};
use haltline_core::loop_::{BatchEnd, Board, Happening, Limits, Naming, Passage, Stage, Standing, Usage, Verb};
use haltline_core::{Decision, Mode, Moment, Rejection, Retry};

use crate::sessions::{Sessions, show};
use crate::words::{Words, parse_number, signed};

/// A world and the last decision in it.
pub struct Play {
    pub world: Sessions,
    last: Option<Result<Decision, Rejection>>,
}

impl Play {
    pub fn new() -> Self {
        Self { world: Sessions::new(), last: None }
    }

    /// Plays a line, and compares what it expects.
    pub fn line(&mut self, text: &str, compare: impl Fn(&str, &str) -> Result<(), String>) -> Result<(), String> {
        if let Some(expected) = text.strip_prefix("then ") {
            return self.parts(expected, &compare);
        }
        let (event, expected) = match text.split_once("->") {
            Some((event, expected)) => (event, Some(expected.trim())),
            None => (text, None),
        };
        let Some(expected) = expected else { return self.setting(event) };
        let (headline, parts) = expected.split_once(" | ").unwrap_or((expected, ""));
        if headline.is_empty() {
            return Err("an outcome is missing after `->`".to_owned());
        }
        let mut words = Words::split(event)?;
        let times = if words.peek_second() == Some("times") { words.times()? } else { 1 };
        let wait = if words.take("after") { words.duration()? } else { 0 };
        let rest = words;
        for _ in 0..times {
            let mut words = rest.clone();
            self.world.clock.advance(wait);
            self.last = Some(self.event(&mut words)?);
            words.end()?;
        }
        let actual = match &self.last {
            Some(Ok(decision)) => show(&decision.verdict),
            Some(Err(rejection)) => format!("rejected {rejection:?}"),
            None => "nothing".to_owned(),
        };
        compare(headline, &actual)?;
        self.parts(parts, &compare)
    }

    fn parts(&self, expected: &str, compare: &impl Fn(&str, &str) -> Result<(), String>) -> Result<(), String> {
        for part in expected.split(" | ").map(str::trim).filter(|part| !part.is_empty()) {
            compare(part, &self.part(part).ok_or_else(|| format!("{part:?} is nothing that can be compared"))?)?;
        }
        Ok(())
    }

    fn setting(&mut self, text: &str) -> Result<(), String> {
        let mut words = Words::split(text)?;
        let world = &mut self.world;
        match words.next()?.as_str() {
            "session" => {
                world.stream.session = words.next()?;
                world.stream.agent = None;
                world.stream.root = if words.take("inside") { Some(words.next()?) } else { None };
            }
            "agent" => world.stream.agent = Some(words.next()?).filter(|name| name != "main"),
            "client" => {
                world.stream.door = None;
                (world.stream.is_batched, world.stream.naming) = match words.next()?.as_str() {
                    "marks-batches" => (true, Naming::Own),
                    "plain" => (false, Naming::Own),
                    "names-starts" => (false, Naming::Begun),
                    "counted" => {
                        world.stream.door = Some(words.next()?);
                        (false, Naming::Counted)
                    }
                    unknown => {
                        return Err(format!(
                            "{unknown:?}: expected marks-batches, plain, names-starts or counted DOOR"
                        ));
                    }
                };
            }
            "set" => {
                let (key, value) = text.trim_start_matches("set ").trim().split_once(' ').ok_or("expected a value")?;
                world.policy.loop_ = set(&world.policy.loop_, key, value.trim())?;
                return Ok(());
            }
            "door" => world.stream.door = Some(words.next()?),
            "message" => world.message = Some(words.next()?),
            "observe" => world.policy.mode = Mode::Observe,
            "enforce" => world.policy.mode = Mode::Enforce,
            "after" => world.clock.advance(words.duration()?),
            "reboot" => world.clock.reboot(),
            "clock" if words.take("steps") => {
                let sign = match words.next()?.as_str() {
                    "back" => -1,
                    "forward" => 1,
                    _other => return Err("expected `clock steps back` or `clock steps forward`".to_owned()),
                };
                let millis = sign * signed(words.duration()?)?;
                world.clock.step_wall(millis);
            }
            unknown => return Err(format!("{unknown:?} is no setting, and an event needs `->` and its outcome")),
        }
        words.end()
    }

    fn event(&mut self, words: &mut Words) -> Result<Result<Decision, Rejection>, String> {
        if let Some(action) = words.action()? {
            let answer = if words.take("gives") { words.answer()? } else { Answer::new(Outcome::Ok, None, "done") };
            return Ok(Ok(self.world.run(action, answer)));
        }
        let word = words.next()?;
        let world = &mut self.world;
        let what = match word.as_str() {
            "start" => {
                let name = words.next()?;
                let action = words.action()?.ok_or("expected a call, such as `run \"cargo test\"`")?;
                return Ok(Ok(world.start(&name, action)));
            }
            "end" => {
                let name = words.next()?;
                if words.take("as") {
                    let action = words.action()?.ok_or("expected a call")?;
                    world.calls.insert(name.clone(), (action, None));
                }
                return Ok(Ok(world.end(&name, words.answer()?)));
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
                let action = words.action()?.ok_or("expected a call")?;
                let answer = if words.take("gives") { words.answer()? } else { Answer::new(Outcome::Ok, None, "done") };
                world.count += 1;
                let call = format!("call {}", world.count);
                Happening::Batch { ends: vec![BatchEnd { call, action, answer }] }
            }
            "prompt" => Happening::Prompt { by_user: true, bypass: words.take("bypass") },
            "notice" => Happening::Prompt { by_user: false, bypass: false },
            "hook" => Happening::Hook { name: words.quoted()? },
            "stop" => {
                let blocked = words.take("blocked");
                let running = words.take("running").then(|| words.next()).transpose()?;
                let split =
                    |names: String| names.split(',').filter(|name| *name != "none").map(str::to_owned).collect();
                Happening::Stop { blocked, running: running.map(split) }
            }
            "child" if words.take("ends") => Happening::SpawnEnd { child: None },
            "child" => {
                let child = words.next()?;
                match words.next()?.as_str() {
                    "begins" => {
                        let depth = if words.take("depth") { Some(parse_number(&words.next()?)?) } else { None };
                        Happening::SpawnStart { child, depth }
                    }
                    "ends" => Happening::SpawnEnd { child: Some(child) },
                    unknown => return Err(format!("{unknown:?}: expected begins or ends")),
                }
            }
            "spent" => {
                let usage = if words.take("tokens") {
                    Some(Usage { input: parse_number(&words.next()?)?.into(), ..Usage::default() })
                } else {
                    None
                };
                let cost = if words.take("cost") { Some(parse_dollars(&words.next()?)?) } else { None };
                Happening::Message { usage, cost, offset: None, last: None, said: None }
            }
            "transcript" => words.passage()?,
            "begins" => {
                Happening::SessionStart { model: None, resumed: words.take("resumed"), is_nested: words.take("nested") }
            }
            "speaks" => {
                let said = Said::of(&words.quoted()?);
                Happening::Message { usage: None, cost: None, offset: None, last: None, said }
            }
            "asks-model" => Happening::ModelStart,
            "ends" => Happening::SessionEnd { reason: "exit".to_owned() },
            "compaction" => Happening::Compaction { trigger: "auto".to_owned() },
            "reset" if words.take("all") => return Ok(world.reset_all()),
            "reset" => return Ok(world.act(|incident| Verb::Reset { incident: Some(incident) })),
            "resume" => {
                let hint = words.quoted_if_any()?;
                return Ok(world.act(|incident| Verb::Resume { incident, hint }));
            }
            "false-alarm" => return Ok(world.act(|incident| Verb::FalseAlarm { incident })),
            "revoke" => return Ok(world.revoke()),
            unknown => return Err(format!("{unknown:?} is no event")),
        };
        Ok(Ok(world.tell(what)))
    }

    /// What a part of an outcome really is.
    fn part(&self, expected: &str) -> Option<String> {
        let (kind, rest) = expected.split_once(' ').unwrap_or((expected, ""));
        let decision = self.last.as_ref().and_then(|last| last.as_ref().ok());
        let reason = decision.and_then(|decision| decision.verdict.reason());
        let (lane, tree, now) = (self.world.lane(), self.world.tree(), self.world.clock.now());
        let number = |value: Option<u64>| value.map_or("none".to_owned(), |value| format!("{kind} {value}"));
        Some(match kind {
            "circuits" => format!("circuits {}", circuits(lane.map(|lane| &lane.board), now)),
            "shared" => format!("shared {}", circuits(tree.map(|tree| &tree.board), now)),
            "facts" => {
                let facts = decision.map(|decision| decision.facts.as_slice()).unwrap_or_default();
                let words: Vec<&str> = facts.iter().map(|recorded| recorded.fact.word()).collect();
                format!("facts {}", if words.is_empty() { "none".to_owned() } else { words.join(", ") })
            }
            "says" => self.holds(expected, reason.map(|reason| reason.text.as_str()).unwrap_or_default(), rest),
            "tells" => {
                let notices = decision.map(|decision| decision.notices.join("\n")).unwrap_or_default();
                if rest == "nobody" && notices.is_empty() {
                    return Some(expected.to_owned());
                }
                self.holds(expected, &notices, rest)
            }
            "retry" => match reason.map(|reason| reason.retry) {
                Some(Retry::At(at)) => format!("retry {}", at.to_seconds_text()),
                Some(Retry::Person) => "retry by a person".to_owned(),
                Some(Retry::Now) => "retry now".to_owned(),
                None => "no reason".to_owned(),
            },
            "turn" => number(lane.map(|lane| lane.turn)),
            "calls" => number(lane.map(|lane| lane.totals.calls)),
            "failed" => number(lane.map(|lane| lane.totals.failed)),
            "unended" => number(lane.map(|lane| lane.totals.unended)),
            "refused" => number(lane.map(|lane| lane.board.refused)),
            "trips" => number(lane.map(|lane| lane.board.trips)),
            "live" => number(tree.map(|tree| tree.live() as u64)),
            "spawns" => number(tree.map(|tree| tree.spawns)),
            "api-calls" => number(tree.map(|tree| tree.api.count)),
            "turns-used" => number(tree.map(|tree| tree.spent.turns)),
            "tokens" => number(tree.map(|tree| tree.spent.tokens)),
            "saved" => number(tree.map(|tree| tree.saving.into())),
            _unknown => return None,
        })
    }

    fn holds(&self, expected: &str, text: &str, wanted: &str) -> String {
        let wanted = wanted.trim_matches('"');
        if !wanted.is_empty() && text.contains(wanted) { expected.to_owned() } else { format!("{text:?}") }
    }
}

/// Every circuit that is not CLOSED, by pattern, with the time that is left.
fn circuits(board: Option<&Board>, now: Moment) -> String {
    let held = board.map(|board| board.held.as_slice()).unwrap_or_default();
    let shown = held.iter().filter_map(|held| {
        let state = match board?.standing(held.trip.key, now) {
            Standing::Open(trip) => {
                let left = trip.remaining_ms(now).unwrap_or_default();
                format!("OPEN {}s", left.div_ceil(1000))
            }
            Standing::Trial(..) => "HALF_OPEN".to_owned(),
            Standing::Probing(_) => "PROBING".to_owned(),
            Standing::Closed => return None,
        };
        let is_told = match &held.stage {
            Stage::HalfOpen(haltline_core::loop_::Opening::Write) => " by a write",
            Stage::HalfOpen(haltline_core::loop_::Opening::Person) => " by a person",
            Stage::HalfOpen(haltline_core::loop_::Opening::Answer) => " by an answer",
            Stage::HalfOpen(haltline_core::loop_::Opening::Cooldown) | Stage::Open | Stage::Probing(_) => "",
        };
        Some(format!("{} {state}{is_told}", held.trip.pattern.word()))
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

/// The limits with one of them changed, named by its path: `agents.concurrent_max`.
fn set(limits: &Limits, key: &str, value: &str) -> Result<Limits, String> {
    let mut whole = serde_json::to_value(limits).map_err(|error| error.to_string())?;
    let place = whole.pointer_mut(&format!("/{}", key.replace('.', "/"))).ok_or(format!("{key:?} is no limit"))?;
    *place = serde_json::from_str(value).unwrap_or_else(|_| serde_json::Value::from(value));
    serde_json::from_value(whole).map_err(|error| format!("{key} {value}: {error}"))
}

/// `$0.50` in millionths of a dollar.
fn parse_dollars(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?}: expected dollars and cents, such as $0.50");
    let (whole, cents) = text.strip_prefix('$').and_then(|sum| sum.split_once('.')).ok_or_else(wrong)?;
    if cents.len() != 2 {
        return Err(wrong());
    }
    Ok(u64::from(parse_number(whole)?) * 1_000_000 + u64::from(parse_number(cents)?) * 10_000)
}

impl Words {
    /// A call, where the next word begins one.
    fn action(&mut self) -> Result<Option<Action>, String> {
        let text = |value: &str| serde_json::Value::from(value).to_string();
        Ok(Some(match () {
            () if self.take("run") => {
                let command = text(&self.quoted()?);
                Action::new("Bash", &format!("{{\"command\": {command}}}"), Some("/project"))
            }
            () if self.take("read") => {
                let path = text(&self.quoted()?);
                Action::new("Read", &format!("{{\"file_path\": {path}}}"), Some("/project"))
            }
            () if self.take("edit") => {
                let (path, new) = (text(&self.quoted()?), text(&self.quoted()?));
                let input = format!("{{\"file_path\": {path}, \"old_string\": \"old\", \"new_string\": {new}}}");
                Action::new("Edit", &input, Some("/project"))
            }
            () if self.take("search") => {
                let pattern = text(&self.quoted()?);
                Action::new("Grep", &format!("{{\"pattern\": {pattern}}}"), Some("/project"))
            }
            () if self.take("spawn") => {
                let task = text(&self.quoted()?);
                Action::new("Task", &format!("{{\"description\": {task}, \"prompt\": {task}}}"), Some("/project"))
            }
            () if self.take("use") => {
                let (tool, argument) = (self.next()?, text(&self.quoted()?));
                Action::new(&tool, &format!("{{\"argument\": {argument}}}"), Some("/project"))
            }
            () => return Ok(None),
        }))
    }

    /// A passage of a transcript: from where to where, what it took, one call that ended in it. Where a passage ends says also
    /// which response was the last.
    fn passage(&mut self) -> Result<Happening, String> {
        let place = |words: &mut Self| Ok::<u64, String>(parse_number(&words.next()?)?.into());
        let (from, to) = (place(self)?, place(self)?);
        let usage = match self.take("tokens") {
            true => Some(Usage { input: place(self)?, ..Usage::default() }),
            false => None,
        };
        let ended = if self.take("ended") { vec![(self.next()?, self.answer()?)] } else { Vec::new() };
        let response = |at: u64| (at > 0).then(|| format!("response at {at}"));
        let passage = Passage { from, known: response(from), to, prompt: None, ended };
        Ok(Happening::Message { usage, cost: None, offset: Some(passage), last: response(to), said: None })
    }

    /// What came back: the outcome, then an exit code, a text, a price, a sub-agent.
    fn answer(&mut self) -> Result<Answer, String> {
        let word = self.next()?;
        let mut by = None;
        let outcome = match word.as_str() {
            "ok" => Outcome::Ok,
            "failed" => Outcome::Failed,
            "denied" => {
                by = Some(if self.take("by-hook") { By::Hook } else { By::Permission });
                Outcome::Denied
            }
            "rejected" => Outcome::Rejected,
            "cancelled" => Outcome::Cancelled,
            "rate-limited" => Outcome::RateLimited,
            "unknown" => Outcome::Unknown,
            unknown => return Err(format!("{unknown:?} is no outcome")),
        };
        let exit = if self.take("exit") {
            let exit = parse_number(&self.next()?)?;
            Some(i32::try_from(exit).map_err(|error| error.to_string())?)
        } else {
            None
        };
        let text = self.quoted_if_any()?.unwrap_or_default();
        let mut answer = Answer::new(outcome, exit, &text);
        if answer.outcome != outcome {
            return Err(format!("{text:?} reads as {:?}, not as {word}", answer.outcome));
        }
        answer.by = by;
        answer.cost = if self.take("cost") { Some(parse_dollars(&self.next()?)?) } else { None };
        answer.child = if self.take("child") { Some(self.next()?) } else { None };
        answer.is_running = self.take("running");
        Ok(answer)
    }
}
