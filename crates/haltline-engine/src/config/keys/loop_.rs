//! Keys of the loop breaker's patterns.

use haltline_core::loop_::Preset;

use super::{count, join, number, switch};
use crate::config::key::{Key, Kind, Looser};
use crate::config::setter::Setter;

const COUNT_MAX: u32 = 10_000;

/// The key of a pattern that sets the policy's field of the same name.
macro_rules! number_key {
    ($pattern:ident.$field:ident, $default:literal, $looser:expr, $help:literal) => {
        number(concat!("loop.", stringify!($pattern), ".", stringify!($field)), 1, COUNT_MAX, $default, $looser)
            .help($help)
            .sets(Setter::Number(|policy| &mut policy.loop_.$pattern.$field))
    };
}

macro_rules! enabled_key {
    ($pattern:ident, $default:literal, $help:literal) => {
        switch(concat!("loop.", stringify!($pattern), ".enabled"), $default)
            .help($help)
            .sets(Setter::Flag(|policy| &mut policy.loop_.$pattern.enabled))
    };
}

macro_rules! cooldown_key {
    ($pattern:ident, $default:literal) => {
        number(concat!("loop.", stringify!($pattern), ".cooldown_base_seconds"), 1, 3600, $default, Looser::Lower)
            .help("First cooldown in seconds. Later trips in a row wait 2, 6, 12 and 60 times as long.")
            .sets(Setter::Number(|policy| &mut policy.loop_.$pattern.cooldown_s))
    };
}

/// The keys of a pattern that counts within a window of turns.
macro_rules! window_keys {
    (
        $pattern:ident: $help:literal,
        threshold $threshold:literal: $threshold_help:literal,
        window_turns $window:literal,
        cooldown $cooldown:literal
    ) => {
        &[
            enabled_key!($pattern, true, $help),
            number_key!($pattern.threshold, $threshold, Looser::Higher, $threshold_help),
            number(concat!("loop.", stringify!($pattern), ".window_turns"), 1, COUNT_MAX, $window, Looser::Lower)
                .help("haltline counts within this many turns, including the current one.")
                .sets(Setter::Number(|policy| &mut policy.loop_.$pattern.window)),
            cooldown_key!($pattern, $cooldown),
        ]
    };
}

/// The keys of a pattern that warns first and denies later.
macro_rules! warn_deny_keys {
    ($pattern:ident: $help:literal, warn $warn:literal, deny $deny:literal) => {
        warn_deny_keys!(
            $pattern, enabled true: $help,
            warn $warn: "haltline warns at this occurrence.",
            deny $deny: "haltline denies this occurrence; the next one ends the turn."
        )
    };
    (
        $pattern:ident, enabled $enabled:literal: $help:literal,
        warn $warn:literal: $warn_help:literal,
        deny $deny:literal: $deny_help:literal
    ) => {
        &[
            enabled_key!($pattern, $enabled, $help),
            number_key!($pattern.warn, $warn, Looser::Higher, $warn_help),
            number_key!($pattern.deny, $deny, Looser::Higher, $deny_help),
            cooldown_key!($pattern, 5),
        ]
    };
}

pub(super) const KEYS: &[Key] = &join::<{ count(TABLES) }>(TABLES);

const TABLES: &[&[Key]] = &[
    GENERAL,
    window_keys!(
        hook_recursion: "Detects hooks that start hooks, and Stop hooks that keep the agent going.",
        threshold 5: "The circuit trips at this many runs of one hook.",
        window_turns 10,
        cooldown 5
    ),
    window_keys!(
        tool_failure: "Detects a call that keeps failing in the same way.",
        threshold 3: "The circuit trips at this many failures.",
        window_turns 5,
        cooldown 10
    ),
    window_keys!(
        sequential_tools: "Detects the same call many times in a row.",
        threshold 10: "The circuit trips at this many such calls in a row since the last prompt.",
        window_turns 1,
        cooldown 5
    ),
    window_keys!(
        agent_spawn: "Limits the rate of new sub-agents.",
        threshold 10: "haltline warns at this many new sub-agents; in the preset `literal` the circuit trips, and the default is 5.",
        window_turns 10,
        cooldown 10
    ),
    EXTERNAL_API,
    warn_deny_keys!(repeat: "Detects the same call with the same result, in a row.", warn 3, deny 4),
    warn_deny_keys!(
        cycle: "Detects two to five calls that repeat in the same order with the same results.",
        warn 3, deny 4
    ),
    warn_deny_keys!(
        interleaved: "Detects the same call with the same result, with other calls in between.",
        warn 3, deny 4
    ),
    warn_deny_keys!(same_error: "Detects variations of a call that all get the same error.", warn 3, deny 4),
    warn_deny_keys!(
        futile_writes: "Detects a call that keeps failing in the same way although the agent writes files.",
        warn 5, deny 8
    ),
    warn_deny_keys!(retread: "Detects calls whose results the agent already has.", warn 4, deny 5),
    warn_deny_keys!(
        stagnation: "Detects similar calls whose result the agent already has.",
        warn 5, deny 6
    ),
    warn_deny_keys!(cascade: "Detects failures in a row, of any tool, with no new result in between.", warn 7, deny 10),
    warn_deny_keys!(
        fruitless_searches: "Detects searches that find nothing, one after another.",
        warn 9, deny 17
    ),
    warn_deny_keys!(
        similar_errors: "Detects that most of a tool's last eight calls get the same error, apart from names and numbers in it.",
        warn 5, deny 6
    ),
    warn_deny_keys!(missing_program: "Detects calls of a program that the shell did not find.", warn 2, deny 3),
    warn_deny_keys!(
        compaction: "Detects that the client compacts the conversation again and again while the agent learns nothing new.",
        warn 3, deny 4
    ),
    warn_deny_keys!(
        cost_growth, enabled false: "Detects a model response that costs many times as much as the mean.",
        warn 3: "haltline warns at this multiple of the mean.",
        deny 10: "haltline denies calls at this multiple of the mean; the next call ends the turn."
    ),
    warn_deny_keys!(
        chanting, enabled false: "Detects a model that repeats the same text.",
        warn 3: "haltline warns at this many repetitions.",
        deny 6: "haltline denies calls at this many repetitions; the next call ends the turn."
    ),
    &[
        enabled_key!(
            cache_misses,
            true,
            "Warns of large prompts in a row that the model service did not find in its cache, where the client reports cache use."
        ),
        number_key!(cache_misses.warn, 5, Looser::Higher, "haltline warns at this many in a row."),
        number("loop.cache_misses.tokens_min", 1, 10_000_000, 20_000, Looser::Higher)
            .help("Prompts with fewer tokens outside the cache do not count.")
            .sets(Setter::Number(|policy| &mut policy.loop_.cache_misses.tokens_min)),
    ],
    &[
        enabled_key!(
            idle_continuation,
            true,
            "Detects an agent that something continues turn after turn although no call changes or finds out anything."
        ),
        number_key!(idle_continuation.warn, 2, Looser::Higher, "haltline warns at this many such turn ends in a row."),
        number("loop.idle_continuation.stop", 1, COUNT_MAX, 4, Looser::Higher)
            .help("haltline ends the turn at this many. A turn in which the agent waited, or that began after a rest, counts a fifth.")
            .sets(Setter::Number(|policy| &mut policy.loop_.idle_continuation.deny)),
        cooldown_key!(idle_continuation, 5),
    ],
    &[
        enabled_key!(denials, true, "Detects calls that permission rules keep denying."),
        number_key!(denials.in_a_row, 3, Looser::Higher, "The circuit trips at this many denied calls in a row."),
        number_key!(
            denials.of_recent,
            10,
            Looser::Higher,
            "The circuit also trips at this many denied calls among the recent calls."
        ),
        number_key!(denials.recent, 50, Looser::Lower, "Number of calls that count as recent calls."),
        cooldown_key!(denials, 10),
    ],
];

const GENERAL: &[Key] = &[
    Key::new("loop.preset", Kind::Choice(&["default", "literal"]))
        .looser(Looser::Choice("default"))
        .help("default: calls are the same if tool, arguments and result are. literal: only the tool's name counts, and every limit denies.")
        .sets(Setter::Choice(|policy, choice| {
            policy.loop_.choose(if choice == "literal" { Preset::Literal } else { Preset::Default });
        })),
    Key::new("loop.pollers", Kind::List(&[]))
        .help("Globs of tools and commands that poll. haltline never counts them as repeats.")
        .sets(Setter::List(|policy| &mut policy.loop_.pollers)),
    Key::new("loop.ways_out", Kind::List(&[]))
        .help("Globs of further tools by which an agent ends its work, reports, asks a person or saves. haltline never denies them.")
        .sets(Setter::List(|policy| &mut policy.loop_.ways_out)),
    number("loop.probe_lease_seconds", 10, 86_400, 600, Looser::Lower)
        .help("haltline allows another probe if a probe has no result after this many seconds.")
        .sets(Setter::Number(|policy| &mut policy.loop_.probe_lease_s)),
    switch("loop.interrupt", true)
        .help("Interrupts `codex exec` and `copilot -p` when a loop continues after a denial; no hook can end their turn."),
];

const EXTERNAL_API: &[Key] = &[
    enabled_key!(external_api, true, "Limits calls of external services."),
    number_key!(external_api.threshold, 10, Looser::Higher, "The circuit trips at this many calls."),
    number("loop.external_api.window_seconds", 1, 86_400, 60, Looser::Lower)
        .help("haltline counts within this many seconds.")
        .sets(Setter::Number(|policy| &mut policy.loop_.external_api.window)),
    cooldown_key!(external_api, 30),
    number("loop.external_api.session_max", 1, 1_000_000, 50, Looser::Higher)
        .help("Maximum number of calls of external services in a session.")
        .sets(Setter::Number(|policy| &mut policy.loop_.api.calls_max)),
    Key::new("loop.external_api.usd_per_call", Kind::Cost)
        .help("Cost of one call of an external service, if the event does not report it.")
        .sets(Setter::Cost(|policy| &mut policy.loop_.api.call_micros)),
    Key::new("loop.external_api.commands", Kind::List(&["oracle.py", "swarm.py", "research.py"]))
        .help("Programs that count as external services when they run. In preset \"literal\", a command that contains the name counts too.")
        .sets(Setter::List(|policy| &mut policy.loop_.api.commands)),
    Key::new("loop.external_api.tools", Kind::List(&[]))
        .help("Globs of tools that count as external services.")
        .sets(Setter::List(|policy| &mut policy.loop_.api.tools)),
];
