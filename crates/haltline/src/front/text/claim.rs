//! Text of `haltline claim`: the result of a verb, one claim, the list.

use haltline_core::claim::Weight;

use super::{count, escape_lines, fit, heading, wrap};
use crate::view::claim::{ClaimAnswerView, ClaimListView, ClaimView, CycleView, DisputeView, MovedView};
use crate::view::verdict::VerdictName;

/// How much of a text a line of a list shows.
const LINE_MAX: usize = 46;

/// Any verb that changes something or is denied.
pub fn claim_answer(view: &ClaimAnswerView) -> String {
    let mut out = heading(&title(view));
    let mut line = |label: &str, text: &str| out.push_str(&wrap(&format!("{label:<11}"), text));
    if let Some(status) = view.status {
        let own = view.moved.iter().filter(|moved| view.claim.as_ref() == Some(&moved.claim));
        let from = own.clone().next().map(|moved| format!("{} → ", moved.from)).unwrap_or_default();
        line("Status:", &format!("{from}{status}"));
    }
    if let Some(round) = &view.round {
        let note = match round.weight {
            Weight::Counted => format!("round {} of {} without a change", round.count, round.limit),
            Weight::Changed => format!("the claim changed ({}): counting begins anew", round.changes.join(", ")),
            Weight::Repeated => {
                format!("this round was reported before: {} of {} without a change", round.count, round.limit)
            }
            Weight::Stale => "reviewed an older state of the claim: nothing is counted".to_owned(),
        };
        line("Objection:", &format!("{}, {note}", round.objection));
    }
    if let Some(incident) = &view.incident {
        line("Incident:", incident);
    }
    for moved in view.moved.iter().filter(|moved| view.claim.as_ref() != Some(&moved.claim)) {
        line("Also:", &format!("{} {} → {}", moved.claim, moved.from, moved.to));
    }
    if !view.queued.is_empty() {
        line("Waiting:", &format!("{} until resolved", view.queued.join(", ")));
    }
    if !view.examinations.is_empty() {
        line("Examine:", &view.examinations.join(", "));
    }
    match view.verb {
        "advance-stage" | "close-stage" => {
            line("Stage:", view.stage.as_deref().unwrap_or("none yet"));
            if !view.closed_stages.is_empty() {
                line("Closed:", &view.closed_stages.join(", "));
            }
        }
        _other => {}
    }
    if let Some(reason) = view.reason.as_ref().filter(|_| is_denied(view)) {
        line("Reason:", &reason.text);
    }
    if let Some(audit) = &view.audit {
        line("By:", &format!("{} at {}, journal head {}", audit.who, audit.when, audit.journal_head));
    }
    if let Some(summary) = &view.summary {
        out.push_str(&cycle(summary));
    }
    out.push_str(&next_steps(view));
    out
}

fn is_denied(view: &ClaimAnswerView) -> bool {
    view.verdict.denies()
}

fn title(view: &ClaimAnswerView) -> String {
    let about = view.claim.as_deref().or(view.requested_stage.as_deref()).unwrap_or(&view.pipeline);
    if is_denied(view) {
        return format!("REFUSED: {} {about}", view.verb);
    }
    match view.verb {
        "round" if view.incident.is_some() => format!("CLAIM DISPUTED: {about}"),
        "round" => format!("ROUND RECORDED: {about}"),
        "add" => format!("CLAIM ADDED: {about}"),
        "cycle begin" => format!("CYCLE {} BEGUN: {about}", view.cycle),
        "cycle end" => format!("CYCLE {} ENDED: {about}", view.cycle),
        verb if verb.starts_with("resolve") => format!("DISPUTE RESOLVED: {about}"),
        "reexamine" if view.incident.is_none() => format!("DISPUTE RESOLVED: {about}"),
        verb => format!("{}: {about}", verb.to_uppercase()),
    }
}

/// What the reader can do, if anything.
fn next_steps(view: &ClaimAnswerView) -> String {
    let mut out = String::new();
    if !view.options.is_empty() && matches!(view.verb, "round" | "promote" | "kill" | "edit") {
        if !is_denied(view) {
            out.push_str("The claim is frozen as it stands; all other claims go on. Ways out:\n");
        } else {
            out.push_str("Ways out:\n");
        }
        out.push_str(&ways_out(&view.options));
        return out;
    }
    if view.verb == "close-stage" && is_denied(view) {
        for disputed in &view.disputed {
            out.push_str(&format!("{} is DISPUTED. Ways out:\n{}", disputed.claim, ways_out(&disputed.options)));
        }
        return out;
    }
    match &view.round {
        Some(round) if round.weight == Weight::Counted && round.count < round.limit => {
            let left = round.limit - round.count;
            let goes = if left == 1 { "makes" } else { "make" };
            let more = count(left, "more round");
            out.push_str(&wrap("", &format!("{more} on it without a change {goes} the claim DISPUTED.")));
        }
        Some(round)
            if round.weight == Weight::Counted && view.verdict == VerdictName::Warn && view.incident.is_none() =>
        {
            out.push_str("Observe mode: it would be DISPUTED now; nothing is frozen.\n");
        }
        Some(_) | None => {}
    }
    out
}

fn ways_out(options: &[String]) -> String {
    let person = options.len();
    let line = |(index, option): (usize, &String)| {
        let who = if index + 1 == person { "a person: " } else { "" };
        format!("  {}. {who}{option}\n", index + 1)
    };
    options.iter().enumerate().map(line).collect()
}

/// The summary of a cycle.
fn cycle(view: &CycleView) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| out.push_str(&wrap(&format!("{label:<11}"), text));
    let claims = count(view.reviewed.len() as u64, "claim");
    line("Rounds:", &format!("{} on {claims}", view.rounds));
    let mut listed = |label: &str, items: &[String]| {
        if !items.is_empty() {
            line(label, &items.join(", "));
        }
    };
    let moved = |moved: &MovedView| format!("{} {} → {}", moved.claim, moved.from, moved.to);
    let (disputed, others): (Vec<&MovedView>, Vec<&MovedView>) =
        view.moved.iter().partition(|moved| moved.to == "DISPUTED");
    listed("Added:", &view.added);
    listed("Moved:", &others.into_iter().map(moved).collect::<Vec<_>>());
    listed("DISPUTED:", &disputed.into_iter().map(|moved| moved.claim.clone()).collect::<Vec<_>>());
    listed("Waiting:", &view.queued);
    listed("Refused:", &view.denied);
    if view.left_out > 0 {
        listed("Left out:", &[count(view.left_out, "note")]);
    }
    out
}

/// `claim show`.
pub fn claim_show(view: &ClaimView) -> String {
    let tag = if view.dispute.is_some() { " [DISPUTED]" } else { "" };
    let mut out = heading(&format!("{}{tag}", view.id));
    let is_raw = view.is_verbatim;
    field(&mut out, "Text", &view.text, is_raw);
    field(&mut out, "Status", view.status, is_raw);
    for (label, text) in [("Type", &view.kind), ("Reason", &view.reason)] {
        text.iter().for_each(|text| field(&mut out, label, text, is_raw));
    }
    if let Some(confidence) = view.confidence {
        field(&mut out, "Confidence", &confidence.to_string(), is_raw);
    }
    for (label, texts) in [("Evidence", &view.evidence), ("Test", &view.tests), ("Assumes", &view.assumptions)] {
        texts.iter().for_each(|text| field(&mut out, label, text, is_raw));
    }
    if !view.depends_on.is_empty() {
        field(&mut out, "Depends on", &view.depends_on.join(", "), is_raw);
    }
    for known in &view.objections {
        let names = [known.ids.join(", "), known.reviewers.join(", ")];
        let names: Vec<&str> = names.iter().map(String::as_str).filter(|names| !names.is_empty()).collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", fit(&names.join(" by "), 60)) };
        field(&mut out, &format!("Objection {}{names}", known.objection), &known.text, is_raw);
        out.push_str(&format!(
            "  {} of {} rounds without a change, {} in all\n",
            known.count, known.limit, known.rounds
        ));
    }
    if let Some(dispute) = &view.dispute {
        out.push_str(&self::dispute(dispute, is_raw));
    }
    for ended in &view.resolved_disputes {
        let who = ended.who.as_deref().map(|who| format!(" by {who}")).unwrap_or_default();
        out.push_str(&format!(
            "Dispute {} of cycle {} ended {} by {}{who}: {}\n",
            ended.dispute.incident, ended.dispute.dispute_cycle, ended.resolved, ended.resolution, ended.status
        ));
        field(&mut out, "  It was about", &ended.dispute.dispute_reason, is_raw);
        field(&mut out, "  Said", &ended.explanation, is_raw);
    }
    out.push_str(&format!("Generation: {}\n", view.generation));
    out.push_str("History:\n");
    for line in &view.history {
        out.push_str(&format!("  {} {}\n", line.at, fit(&line.text, 200)));
    }
    out
}

fn dispute(view: &DisputeView, is_raw: bool) -> String {
    let mut out = format!(
        "DISPUTED since {}, cycle {}, incident {}, {} before\n",
        view.since, view.dispute_cycle, view.incident, view.before
    );
    field(&mut out, "  Objection", &view.dispute_reason, is_raw);
    if let Some(position) = &view.researcher_position {
        field(&mut out, "  Position", position, is_raw);
    }
    for queued in &view.queued {
        out.push_str(&format!(
            "  Waiting: CHALLENGED, because {} is {} since {}\n",
            queued.base, queued.fell, queued.at
        ));
    }
    for open in &view.examinations {
        field(&mut out, &format!("  To look at again ({})", open.trigger.as_str()), &open.detail, is_raw);
    }
    for over in &view.examined {
        field(&mut out, &format!("  Looked at again {}, {}", over.at, over.outcome.as_str()), &over.reason, is_raw);
    }
    out.push_str(&ways_out(&view.options));
    out
}

/// Appends a label and a text; a text of several lines is indented below the label.
fn field(out: &mut String, label: &str, text: &str, is_raw: bool) {
    let text = if is_raw { text.into() } else { escape_lines(text) };
    if text.contains('\n') {
        out.push_str(&format!("{label}:\n"));
        for line in text.split('\n') {
            out.push_str(&format!("    {line}\n"));
        }
    } else {
        out.push_str(&format!("{label}: {text}\n"));
    }
}

/// `claim list`.
pub fn claim_list(view: &ClaimListView) -> String {
    let mut out = heading(&format!("CLAIMS: {}", view.pipeline));
    let stage = view.stage.as_deref().unwrap_or("none yet");
    let end = if view.final_stage_closed { "closed" } else { "open" };
    out.push_str(&format!("Stage {stage}, final stage {} {end}, cycle {}\n", view.final_stage, view.cycle));
    for line in &view.claims {
        out.push_str(&format!(
            "{:<10} {:<11} {}/{}  {}\n",
            fit(&line.id, 30),
            line.status,
            line.count,
            line.limit,
            fit(&line.text, LINE_MAX)
        ));
    }
    if !view.disputed.is_empty() {
        out.push_str(&wrap("DISPUTED: ", &view.disputed.join(", ")));
    }
    out
}
