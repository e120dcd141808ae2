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
            .help("The first cooldown in seconds; later ones are 2, 6, 12 and 60 times as long.")
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
                .help("How many turns back they count, the present one included.")
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
            warn $warn: "The time that is warned of.",
            deny $deny: "The time that is refused; the next one stops the turn."
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
        hook_recursion: "Whether hooks that start hooks, and Stop hooks that keep the agent going, are watched.",
        threshold 5: "This many open the circuit.",
        window_turns 10,
        cooldown 5
    ),
    window_keys!(
        tool_failure: "Whether a call that fails again and again is watched.",
        threshold 3: "This many failures open the circuit.",
        window_turns 5,
        cooldown 10
    ),
    window_keys!(
        sequential_tools: "Whether the same call in a row is watched.",
        threshold 10: "This many in a row since the last prompt open the circuit.",
        window_turns 1,
        cooldown 5
    ),
    window_keys!(
        agent_spawn: "Whether the rate of new sub-agents is watched.",
        threshold 5: "This many new sub-agents open the circuit.",
        window_turns 10,
        cooldown 10
    ),
    EXTERNAL_API,
    warn_deny_keys!(repeat: "Whether the same call with the same answer is watched.", warn 3, deny 4),
    warn_deny_keys!(
        cycle: "Whether two to five calls that come round again with the same answers are watched.",
        warn 3, deny 4
    ),
    warn_deny_keys!(
        interleaved: "Whether the same call with the same answer, with other calls in between, is watched.",
        warn 3, deny 4
    ),
    warn_deny_keys!(same_error: "Whether the same error to calls with changing arguments is watched.", warn 3, deny 4),
    warn_deny_keys!(
        futile_writes: "Whether the same failure although files were written in between is watched.",
        warn 5, deny 8
    ),
    warn_deny_keys!(retread: "Whether questions that were asked and answered before are watched.", warn 4, deny 5),
    warn_deny_keys!(
        stagnation: "Whether the same question in other words with a known answer is watched.",
        warn 5, deny 6
    ),
    warn_deny_keys!(cascade: "Whether failures of any tool with nothing new in between are watched.", warn 7, deny 10),
    warn_deny_keys!(
        compaction: "Whether conversations that are shortened with nothing new in between are watched.",
        warn 3, deny 4
    ),
    warn_deny_keys!(
        cost_growth, enabled false: "Whether a model response that costs many times the usual is watched.",
        warn 3: "So many times the usual are warned of.",
        deny 10: "So many times the usual are refused; the next call stops the turn."
    ),
    warn_deny_keys!(
        chanting, enabled false: "Whether the same words of the model over and over are watched.",
        warn 3: "So many times in a row are warned of.",
        deny 6: "So many times in a row are refused; the next call stops the turn."
    ),
    &[
        enabled_key!(denials, true, "Whether calls that permission rules refuse are watched."),
        number_key!(denials.in_a_row, 3, Looser::Higher, "This many refused calls in a row open the circuit."),
        number_key!(denials.of_recent, 10, Looser::Higher, "Or this many refused calls among the recent ones."),
        number_key!(denials.recent, 50, Looser::Lower, "How many calls are recent."),
        cooldown_key!(denials, 10),
    ],
];

const GENERAL: &[Key] = &[
    Key::new("loop.preset", Kind::Choice(&["default", "literal"]))
        .looser(Looser::Choice("default"))
        .help("Whose idea of the same call counts: tool, arguments and answer; or, literally, the tool's name, and every limit refuses.")
        .sets(Setter::Choice(|policy, choice| {
            policy.loop_.preset = if choice == "literal" { Preset::Literal } else { Preset::Default }
        })),
    Key::new("loop.pollers", Kind::List(&[]))
        .help("Tools or commands that ask again by nature; globs. They do not count as repeats.")
        .sets(Setter::List(|policy| &mut policy.loop_.pollers)),
    number("loop.probe_lease_seconds", 10, 86_400, 600, Looser::Lower)
        .help("A probe without a result frees its place after this many seconds.")
        .sets(Setter::Number(|policy| &mut policy.loop_.probe_lease_s)),
    switch("loop.interrupt", true)
        .help("Whether `codex exec` and `copilot -p`, which no answer of a hook stops, are interrupted when a loop goes on after a refusal."),
];

const EXTERNAL_API: &[Key] = &[
    enabled_key!(external_api, true, "Whether calls of external services are watched."),
    number_key!(external_api.threshold, 10, Looser::Higher, "This many calls open the circuit."),
    number("loop.external_api.window_seconds", 1, 86_400, 60, Looser::Lower)
        .help("How many seconds back they count.")
        .sets(Setter::Number(|policy| &mut policy.loop_.external_api.window)),
    cooldown_key!(external_api, 30),
    number("loop.external_api.session_max", 1, 1_000_000, 50, Looser::Higher)
        .help("A session makes at most this many such calls.")
        .sets(Setter::Number(|policy| &mut policy.loop_.api.calls_max)),
    Key::new("loop.external_api.usd_per_call", Kind::Cost)
        .help("What one call costs where the event does not say.")
        .sets(Setter::Cost(|policy| &mut policy.loop_.api.call_micros)),
    Key::new("loop.external_api.commands", Kind::List(&["oracle.py", "swarm.py", "research.py"]))
        .help("Shell commands that contain one of these are such calls.")
        .sets(Setter::List(|policy| &mut policy.loop_.api.commands)),
    Key::new("loop.external_api.tools", Kind::List(&[]))
        .help("Tools with one of these names are such calls; globs.")
        .sets(Setter::List(|policy| &mut policy.loop_.api.tools)),
];
