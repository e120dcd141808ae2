//! Text of `haltline backtest`, and of `haltline why` for its trips.

use haltline_core::loop_::dollars;

use super::{count, escape_line, fit, heading, wrap};
use crate::view::backtest::{CorpusView, ReportView, TripToReviewView, VerdictsView};
use crate::view::incident::ReplayWhyView;

/// Maximum width of a path under its trip.
const PATH_WIDTH: usize = 66;

/// `haltline backtest`.
pub fn backtest(view: &ReportView) -> String {
    let corpus = &view.corpus;
    let title = format!("BACKTEST: {}, {}", count(corpus.sessions, "session"), count(corpus.calls, "call"));
    let mut out = heading(&title);
    out.push_str(&corpus_lines(corpus));
    match view.verdicts.as_slice() {
        [one] => out.push_str(&verdicts(corpus, one)),
        several => out.push_str(&side_by_side(several)),
    }
    out
}

fn corpus_lines(corpus: &CorpusView) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| out.push_str(&wrap(&format!("{label:<11}"), text));
    let mut read = format!("{}, {}", count(corpus.files, "file"), size(corpus.bytes));
    if corpus.damaged > 0 {
        read.push_str(&format!(", {} passed over", count(corpus.damaged, "damaged line")));
    }
    if corpus.files_unknown > 0 {
        read.push_str(&format!(", {} in no known format", count(corpus.files_unknown, "file")));
    }
    if corpus.files_broken > 0 {
        read.push_str(&format!(", {} not readable", count(corpus.files_broken, "file")));
    }
    line("Read", &read);
    if corpus.sessions_before > 0 {
        line("Left out", &format!("{} that ended before", count(corpus.sessions_before, "session")));
    }
    if corpus.sessions_untimed > 0 {
        line("Kept", &format!("{} of unknown age", count(corpus.sessions_untimed, "session")));
    }
    let cost = match corpus.cost_micros {
        Some(micros) => {
            let whose = match corpus.sessions_priced == corpus.sessions {
                true => String::new(),
                false => format!(" in the {} whose price is known", count(corpus.sessions_priced, "session")),
            };
            format!("{}{whose}, by list prices of {} or as recorded", money(micros), corpus.prices)
        }
        None => "unknown: no transcript tells a price or a model whose price is known".to_owned(),
    };
    line("Cost", &cost);
    out
}

fn verdicts(corpus: &CorpusView, verdicts: &VerdictsView) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| out.push_str(&wrap(&format!("{label:<11}"), text));
    let share = |part: u64| format!("{} ({})", count(part, "session"), percent(part, corpus.sessions));
    line("Judged by", &escape_line(&verdicts.judged_by));
    line("Warned", &share(verdicts.sessions_warned));
    let denied = match verdicts.likely_false_positives {
        0 => share(verdicts.sessions_denied),
        some => format!("{}, {some} of them went on and committed work", share(verdicts.sessions_denied)),
    };
    line("Refused", &denied);
    line("Stopped", &share(verdicts.sessions_stopped));
    let cost = verdicts.cost_after_denial_micros.map(|micros| format!(", {}", money(micros))).unwrap_or_default();
    let after = verdicts.calls_after_denial;
    let after = format!("{} ({}){cost} after the first refusal", count(after, "call"), percent(after, corpus.calls));
    line("Saved", &after);
    if verdicts.limits_reached > 0 {
        let (times, sessions) = (verdicts.limits_reached, verdicts.limits_reached_sessions);
        let text = format!("{} in {}, for want of room", count(times, "refusal"), count(sessions, "session"));
        line("Limits", &format!("reached (not loops): {text}"));
    }
    if !verdicts.circuits.is_empty() {
        out.push_str("\nSessions by pattern      code          warned   refused   stopped\n");
    }
    for circuit in &verdicts.circuits {
        out.push_str(&format!(
            "  {:<22} {:<12} {:>7}   {:>7}   {:>7}\n",
            fit(&escape_line(&circuit.pattern), 22),
            circuit.code,
            circuit.warned,
            circuit.denied,
            circuit.stopped
        ));
    }
    if !verdicts.review_first.is_empty() {
        out.push_str("\nLook at these first: haltline why ID\n");
    }
    verdicts.review_first.iter().for_each(|one| out.push_str(&trip_to_review(one)));
    out
}

/// Rounds to whole cents.
fn money(micros: u64) -> String {
    dollars(micros.saturating_add(5_000) / 10_000 * 10_000)
}

fn trip_to_review(one: &TripToReviewView) -> String {
    // One file may contain many sessions.
    let is_named = one.source.contains(&one.session);
    let location = if is_named { one.source.clone() } else { format!("{}: {}", one.source, one.session) };
    let likely = if one.is_likely_false { "; work was committed later" } else { "" };
    format!(
        "  {}  {}  {}  call {} of {}, {} after{likely}\n            {}\n",
        one.incident,
        one.code,
        one.verdict,
        one.call,
        one.calls,
        one.calls_after,
        tail(&escape_line(&location), PATH_WIDTH)
    )
}

fn side_by_side(verdicts: &[VerdictsView]) -> String {
    let mut out = String::from("\n");
    let mut row = |label: &str, cells: Vec<String>| {
        out.push_str(&format!("{:<34}", fit(label, 33)));
        cells.iter().for_each(|cell| out.push_str(&format!("  {:>18}", fit(cell, 18))));
        out.push('\n');
    };
    let each = |cell: &dyn Fn(&VerdictsView) -> String| verdicts.iter().map(cell).collect::<Vec<_>>();
    row("", each(&|one| tail(&escape_line(&one.judged_by), 18)));
    row("sessions warned", each(&|one| one.sessions_warned.to_string()));
    row("sessions refused", each(&|one| one.sessions_denied.to_string()));
    row("sessions stopped", each(&|one| one.sessions_stopped.to_string()));
    row("calls after the first refusal", each(&|one| one.calls_after_denial.to_string()));
    let cost = |one: &VerdictsView| one.cost_after_denial_micros.map_or("unknown".to_owned(), money);
    row("cost after the first refusal", each(&cost));
    row("likely false alarms", each(&|one| one.likely_false_positives.to_string()));
    row("limits reached (not loops)", each(&|one| one.limits_reached.to_string()));
    let mut kinds: Vec<(&str, &str)> =
        verdicts.iter().flat_map(|one| &one.circuits).map(|circuit| (circuit.code, circuit.pattern.as_str())).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for (code, pattern) in kinds {
        let counts = |one: &VerdictsView| {
            let found = one.circuits.iter().find(|circuit| (circuit.code, circuit.pattern.as_str()) == (code, pattern));
            found.map_or("0".to_owned(), |circuit| format!("{} / {}", circuit.warned, circuit.denied))
        };
        row(&format!("{code} {pattern}"), each(&counts));
    }
    out.push_str("\nOf each pattern: sessions warned / refused.\n");
    out
}

/// `haltline why` for a trip of the last backtest.
pub fn why_replay(view: &ReplayWhyView) -> String {
    let mut out = heading(&format!("REPLAYED {}: {} ({})", view.incident, view.pattern, view.code));
    let mut line = |label: &str, text: &str| out.push_str(&wrap(&format!("{label:<10}"), text));
    line("Found", "by the last `haltline backtest`: nobody was stopped");
    line("Source", &format!("{} ({})", escape_line(&view.source), view.format));
    line("Session", &escape_line(&view.session));
    line("Circuit", &escape_line(&view.circuit));
    let when = view.at.as_deref().map(|at| format!(", {at}")).unwrap_or_default();
    line("Call", &format!("{} of {}{when}", view.call, view.calls));
    line("Verdict", view.verdict.as_str());
    for (index, sentence) in view.reason.lines().enumerate() {
        line(if index == 0 { "Reason" } else { "" }, &fit(&escape_line(sentence), 600));
    }
    for (index, result) in view.evidence.iter().enumerate() {
        let at = result.at.as_deref().unwrap_or_default();
        line(
            if index == 0 { "Evidence" } else { "" },
            &fit(format!("{at} {}", escape_line(&result.result)).trim(), 69),
        );
    }
    let cost = view.cost_after_usd.map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
    let went_on = if view.is_committed_after { "; work was committed later" } else { "" };
    line("After it", &format!("{}{cost}{went_on}", count(view.calls_after, "call")));
    out
}

fn percent(part: u64, whole: u64) -> String {
    let tenths = (part * 1000 + whole / 2).checked_div(whole).unwrap_or_default();
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => count(bytes, "byte"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _more => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// The end of a path, which says more than its beginning.
fn tail(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return fit(text, width);
    }
    let end: String = text.chars().skip(length + 1 - width).collect();
    fit(&format!("…{end}"), width)
}
