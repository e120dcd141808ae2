//! Text of `haltline backtest`, and of `haltline why` for its trips.

use haltline_core::loop_::dollars;

use super::{Page, count, cut, escape_line, fit, sentence, stamp};
use crate::view::backtest::{CorpusView, ReportView, TripToReviewView, VerdictsView};
use crate::view::incident::ReplayWhyView;

/// Maximum width of a path under its trip.
const PATH_WIDTH: usize = 66;
/// How many sessions that reached a limit are named.
const LIMITED_SHOWN_MAX: usize = 5;

/// `haltline backtest`.
pub fn backtest(view: &ReportView) -> String {
    let corpus = &view.corpus;
    let (sessions, calls) = (count(corpus.sessions, "session"), count(corpus.calls, "call"));
    let mut page = Page::titled(format_args!("BACKTEST: {sessions}, {calls}"), 11);
    push_corpus(&mut page, corpus);
    match view.verdicts.as_slice() {
        [one] => push_verdicts(&mut page, corpus, one),
        several => push_side_by_side(&mut page, several),
    }
    page.finish()
}

fn push_corpus(page: &mut Page, corpus: &CorpusView) {
    let mut read = format!("{}, {}", count(corpus.files, "file"), size(corpus.bytes));
    for (number, noun, what) in [
        (corpus.damaged, "damaged line", "passed over"),
        (corpus.files_unknown, "file", "in no known format"),
        (corpus.files_broken, "file", "not readable"),
    ] {
        if number > 0 {
            read.push_str(&format!(", {} {what}", count(number, noun)));
        }
    }
    page.field("Read", read);
    if corpus.sessions_before > 0 {
        page.field("Left out", format_args!("{} that ended before", count(corpus.sessions_before, "session")));
    }
    if corpus.sessions_untimed > 0 {
        page.field("Kept", format_args!("{} of unknown age", count(corpus.sessions_untimed, "session")));
    }
    let cost = match corpus.cost_micros {
        Some(micros) => {
            let whose = match corpus.sessions_priced == corpus.sessions {
                true => String::new(),
                false => format!(" in the {} whose price is known", count(corpus.sessions_priced, "session")),
            };
            format!("{}{whose} (list prices of {} where the transcript has none)", money(micros), corpus.prices)
        }
        None => "unknown: the transcripts name no price and no model with a known price".to_owned(),
    };
    page.field("Cost", cost);
}

fn push_verdicts(page: &mut Page, corpus: &CorpusView, verdicts: &VerdictsView) {
    let share = |part: u64| format!("{} ({})", count(part, "session"), percent(part, corpus.sessions));
    page.field("Judged by", escape_line(&verdicts.judged_by));
    if verdicts.circuits.is_empty() && corpus.sessions > 0 {
        let sessions = count(corpus.sessions, "session");
        page.field(
            "Result",
            match (verdicts.limits.is_empty(), corpus.sessions) {
                (true, 1) => "haltline would have left your session alone".to_owned(),
                (true, all) => format!("haltline would have left all {all} of your sessions alone"),
                (false, _) => format!("haltline would have found no loop in {sessions}"),
            },
        );
        return push_limits(page, verdicts);
    }
    page.field("Warned", share(verdicts.sessions_warned));
    let committed = match verdicts.likely_false_positives {
        0 => String::new(),
        some => format!(", {some} of them went on and committed work"),
    };
    page.field("Denied", format_args!("{}{committed}", share(verdicts.sessions_denied)));
    page.field("Stopped", share(verdicts.sessions_stopped));
    let cost = verdicts.cost_after_denial_micros.map(|micros| format!(", {}", money(micros))).unwrap_or_default();
    let after = verdicts.calls_after_denial;
    let after = format!("{} ({}){cost} after the first denial", count(after, "call"), percent(after, corpus.calls));
    page.field("Saved", after);
    if verdicts.denials_judged > 0 {
        let (regretted, judged) = (verdicts.denials_regretted, verdicts.denials_judged);
        let share = percent(regretted, judged);
        page.field(
            "Regret",
            format_args!("{regretted} of {} ({share}) brought a new result", count(judged, "denied call")),
        );
    }
    push_limits(page, verdicts);
    if !verdicts.circuits.is_empty() {
        page.line("\nSessions by pattern      code          warned    denied   stopped   regret");
    }
    for circuit in &verdicts.circuits {
        page.line(format_args!(
            "  {:<22} {:<12} {:>7}   {:>7}   {:>7}   {:>6}",
            cut(&escape_line(&circuit.pattern), 22),
            circuit.code,
            circuit.warned,
            circuit.denied,
            circuit.stopped,
            circuit.regretted
        ));
    }
    if !verdicts.review_first.is_empty() {
        page.line("\nLook at these first: haltline why ID");
    }
    verdicts.review_first.iter().for_each(|one| push_trip_to_review(page, one));
}

/// Adds the limits that sessions reached, which are no loops, with the key of each and the sessions.
fn push_limits(page: &mut Page, verdicts: &VerdictsView) {
    for limit in &verdicts.limits {
        let denied = count(limit.denied, "sub-agent start");
        let sessions = count(verdicts.limits_reached_sessions, "session");
        page.field("Limits", format_args!("{denied} denied in {sessions} ({} = {})", limit.key, limit.value));
        for one in limit.sessions.iter().take(LIMITED_SHOWN_MAX) {
            let location = if one.source.contains(&one.session) { &one.source } else { &one.session };
            page.row("", format_args!("{} denied in {}", one.denied, tail(&escape_line(location), PATH_WIDTH - 12)));
        }
        if let Some(more) = limit.sessions.len().checked_sub(LIMITED_SHOWN_MAX).filter(|more| *more > 0) {
            page.row("", format_args!("{more} more: --json --summary names them"));
        }
    }
}

/// Rounds to whole cents.
fn money(micros: u64) -> String {
    dollars(micros.saturating_add(5_000) / 10_000 * 10_000)
}

fn push_trip_to_review(page: &mut Page, one: &TripToReviewView) {
    // One file may contain many sessions.
    let is_named = one.source.contains(&one.session);
    let location = if is_named { one.source.clone() } else { format!("{}: {}", one.source, one.session) };
    let likely = if one.is_likely_false { "; work was committed later" } else { "" };
    page.line(format_args!(
        "  {}  {}  {}  call {} of {}, {} after{likely}",
        one.incident, one.code, one.verdict, one.call, one.calls, one.calls_after
    ));
    page.line(format_args!("            {}", tail(&escape_line(&location), PATH_WIDTH)));
}

fn push_side_by_side(page: &mut Page, verdicts: &[VerdictsView]) {
    page.blank();
    let mut row = |label: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("  {:>18}", cut(cell, 18))).collect();
        page.line(format_args!("{:<34}{cells}", cut(label, 33)));
    };
    let each = |cell: &dyn Fn(&VerdictsView) -> String| verdicts.iter().map(cell).collect::<Vec<_>>();
    row("", each(&|one| tail(&escape_line(&one.judged_by), 18)));
    row("sessions warned", each(&|one| one.sessions_warned.to_string()));
    row("sessions denied", each(&|one| one.sessions_denied.to_string()));
    row("sessions stopped", each(&|one| one.sessions_stopped.to_string()));
    row("calls after the first denial", each(&|one| one.calls_after_denial.to_string()));
    let cost = |one: &VerdictsView| one.cost_after_denial_micros.map_or("unknown".to_owned(), money);
    row("cost after the first denial", each(&cost));
    row("regretted denials", each(&|one| format!("{} of {}", one.denials_regretted, one.denials_judged)));
    row("likely false positives", each(&|one| one.likely_false_positives.to_string()));
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
    page.line("\nFor each pattern: sessions with a warning / with a denial.");
}

/// `haltline why` for a trip of the last backtest.
pub fn why_replay(view: &ReplayWhyView) -> String {
    let mut page = Page::titled(format_args!("REPLAYED {}: {} ({})", view.incident, view.pattern, view.code), 10);
    page.field("Found", "by the last `haltline backtest`: a replay stops nobody");
    page.field("Source", format_args!("{} ({})", escape_line(&view.source), view.format));
    page.field("Session", escape_line(&view.session));
    page.field("Circuit", escape_line(&view.circuit));
    let when = view.at.as_deref().map(|at| format!(", {}", stamp(at))).unwrap_or_default();
    page.field("Call", format_args!("{} of {}{when}", view.call, view.calls));
    page.field("Verdict", &view.verdict);
    page.fields("Reason", sentence(&view.reason).lines().map(|sentence| fit(&escape_line(sentence), 600)));
    let evidence = view.evidence.iter().map(|result| {
        let at = result.at.as_deref().map(stamp).unwrap_or_default();
        fit(format!("{at} {}", escape_line(&result.result)).trim(), 69)
    });
    page.fields("Evidence", evidence);
    let cost = view.cost_after_usd.map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
    let went_on = if view.is_committed_after { "; work was committed later" } else { "" };
    page.field("After it", format_args!("{}{cost}{went_on}", count(view.calls_after, "call")));
    page.finish()
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
        return cut(text, width);
    }
    let end: String = text.chars().skip(length + 1 - width).collect();
    cut(&format!("…{end}"), width)
}
