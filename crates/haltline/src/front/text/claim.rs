//! Text of `haltline claim`: the result of a verb, one claim, the list.

use haltline_core::claim::{ClaimEvent, Weight};

use super::{Page, audited, count, escape_lines, fit, sentence, stamp, when};
use crate::view::VerdictName;
use crate::view::claim::{ClaimAnswerView, ClaimListView, ClaimView, CycleView, DisputeView, MovedView};

/// How much of a text a line of a list shows.
const LINE_MAX: usize = 46;

/// Any verb that changes something or is denied.
pub fn claim_answer(view: &ClaimAnswerView) -> String {
    let mut page = Page::titled(title(view), 11);
    if let Some(status) = view.status {
        let own = view.moved.iter().find(|moved| view.claim.as_ref() == Some(&moved.claim));
        let from = own.map(|moved| format!("{} → ", moved.from)).unwrap_or_default();
        page.field("Status:", format_args!("{from}{status}"));
    }
    if let Some(round) = &view.round {
        let counted = format!("{} of {} without a change", round.count, round.limit);
        let note = match round.weight {
            Weight::Counted => format!("round {counted}"),
            Weight::Changed => format!("the claim changed ({}): counting starts again", round.changes.join(", ")),
            Weight::Repeated => format!("this round was reported before: {counted}"),
            Weight::Stale => "reviewed an older state of the claim: not counted".to_owned(),
        };
        page.field("Objection:", format_args!("{}, {note}", round.objection));
    }
    page.fields("Incident:", &view.incident);
    for moved in view.moved.iter().filter(|moved| view.claim.as_ref() != Some(&moved.claim)) {
        page.field("Also:", moved);
    }
    if !view.queued.is_empty() {
        page.field("Waiting:", format_args!("{} until resolved", view.queued.join(", ")));
    }
    page.listed("Examine:", &view.examinations);
    if view.requested_stage.is_some() {
        page.field("Stage:", view.stage.as_deref().unwrap_or("none yet"));
        page.listed("Closed:", &view.closed_stages);
    }
    page.fields("Reason:", view.answer.reason.iter().filter(|_| is_denied(view)).map(|reason| sentence(&reason.text)));
    page.fields("By:", view.audit.as_ref().map(audited));
    if let Some(summary) = &view.summary {
        push_cycle(&mut page, summary);
    }
    push_next_steps(&mut page, view);
    page.finish()
}

fn is_denied(view: &ClaimAnswerView) -> bool {
    view.answer.verdict.denies()
}

fn title(view: &ClaimAnswerView) -> String {
    let about = view.claim.as_deref().or(view.requested_stage.as_deref()).unwrap_or(&view.pipeline);
    if is_denied(view) {
        return format!("DENIED: {} {about}", view.answer.verb.verb());
    }
    match &view.answer.verb.0 {
        ClaimEvent::Round(_) if view.incident.is_some() => format!("CLAIM DISPUTED: {about}"),
        ClaimEvent::Round(_) => format!("ROUND RECORDED: {about}"),
        ClaimEvent::Add(_) => format!("CLAIM ADDED: {about}"),
        ClaimEvent::CycleBegin => format!("CYCLE {} BEGUN: {about}", view.cycle),
        ClaimEvent::CycleEnd => format!("CYCLE {} ENDED: {about}", view.cycle),
        ClaimEvent::Resolve { .. } => format!("DISPUTE RESOLVED: {about}"),
        ClaimEvent::Reexamine { .. } if view.incident.is_none() => format!("DISPUTE RESOLVED: {about}"),
        _other => format!("{}: {about}", view.answer.verb.verb().to_uppercase()),
    }
}

/// What the reader can do, if anything.
fn push_next_steps(page: &mut Page, view: &ClaimAnswerView) {
    let event = &view.answer.verb.0;
    let meets_dispute = matches!(
        event,
        ClaimEvent::Round(_) | ClaimEvent::Promote { .. } | ClaimEvent::Kill { .. } | ClaimEvent::Edit(_)
    );
    if !view.options.is_empty() && meets_dispute {
        let frozen = if is_denied(view) {
            ""
        } else {
            "haltline froze the claim as it is; the review of all other claims continues. "
        };
        page.line(format_args!("{frozen}Ways out:"));
        return push_ways_out(page, &view.options);
    }
    if matches!(event, ClaimEvent::CloseStage { .. }) && is_denied(view) {
        for disputed in &view.disputed {
            page.line(format_args!("{} is DISPUTED. Ways out:", disputed.claim));
            push_ways_out(page, &disputed.options);
        }
        return;
    }
    let Some(round) = view.round.as_ref().filter(|round| round.weight == Weight::Counted) else { return };
    if round.count < round.limit {
        let left = round.limit - round.count;
        let rounds = count(left, "more round");
        page.sentence(format_args!("After {rounds} on this objection without a change, the claim becomes DISPUTED."));
    } else if view.answer.verdict == VerdictName::Warn && view.incident.is_none() {
        page.line("Observe mode: the claim would be DISPUTED now; haltline freezes nothing.");
    }
}

fn push_ways_out(page: &mut Page, options: &[String]) {
    for (number, option) in (1..).zip(options) {
        let who = if number == options.len() { "a person: " } else { "" };
        page.line(format_args!("  {number}. {who}{option}"));
    }
}

/// The summary of a cycle.
fn push_cycle(page: &mut Page, view: &CycleView) {
    page.field("Rounds:", format_args!("{} on {}", view.rounds, count(view.reviewed.len(), "claim")));
    let (disputed, others): (Vec<&MovedView>, Vec<&MovedView>) =
        view.moved.iter().partition(|moved| moved.to == "DISPUTED");
    page.listed("Added:", &view.added);
    page.listed("Moved:", &others.into_iter().map(ToString::to_string).collect::<Vec<_>>());
    page.listed("DISPUTED:", &disputed.into_iter().map(|moved| &moved.claim).collect::<Vec<_>>());
    page.listed("Waiting:", &view.queued);
    page.listed("Denied:", &view.denied);
    if view.left_out > 0 {
        page.field("Left out:", count(view.left_out, "note"));
    }
}

/// `claim show`.
pub fn claim_show(view: &ClaimView) -> String {
    let tag = if view.dispute.is_some() { " [DISPUTED]" } else { "" };
    let mut page = Page::titled(format_args!("{}{tag}", view.id), 0);
    let is_raw = view.is_verbatim;
    let out = &mut page;
    field(out, "Text", &view.text, is_raw);
    field(out, "Status", view.status, is_raw);
    for (label, text) in [("Type", &view.kind), ("Reason", &view.reason)] {
        text.iter().for_each(|text| field(out, label, text, is_raw));
    }
    if let Some(confidence) = view.confidence {
        field(out, "Confidence", &confidence.to_string(), is_raw);
    }
    for (label, texts) in [("Evidence", &view.evidence), ("Test", &view.tests), ("Assumes", &view.assumptions)] {
        texts.iter().for_each(|text| field(out, label, text, is_raw));
    }
    if !view.depends_on.is_empty() {
        field(out, "Depends on", &view.depends_on.join(", "), is_raw);
    }
    for known in &view.objections {
        let names = [known.ids.join(", "), known.reviewers.join(", ")];
        let names: Vec<&str> = names.iter().map(String::as_str).filter(|names| !names.is_empty()).collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", fit(&names.join(" by "), 60)) };
        field(out, &format!("Objection {}{names}", known.objection), &known.text, is_raw);
        out.line(format_args!("  {} of {} rounds without a change, {} in all", known.count, known.limit, known.rounds));
    }
    let totals = &view.totals;
    if totals.after_change > 0 {
        let (about, all) = (totals.about_change, totals.after_change);
        let percent = about * 100 / all;
        field(
            out,
            "After changes",
            &format!(
                "{} first raised, {about} ({percent} %) about what the last change added",
                count(all, "objection")
            ),
            is_raw,
        );
    }
    if let Some(dispute) = &view.dispute {
        push_dispute(out, dispute, is_raw);
    }
    for ended in &view.resolved_disputes {
        let who = ended.who.as_deref().map(|who| format!(" by {who}")).unwrap_or_default();
        out.line(format_args!(
            "Dispute {} of cycle {} ended {} by {}{who}: {}",
            ended.dispute.incident,
            ended.dispute.dispute_cycle,
            stamp(&ended.resolved),
            ended.resolution,
            ended.status
        ));
        field(out, "  It was about", &ended.dispute.dispute_reason, is_raw);
        field(out, "  Said", &ended.explanation, is_raw);
    }
    out.line(format_args!("Generation: {}", view.generation));
    out.line("History:");
    for line in &view.history {
        out.line(format_args!("  {} {}", stamp(&line.at), fit(&line.text, 200)));
    }
    page.finish()
}

fn push_dispute(out: &mut Page, view: &DisputeView, is_raw: bool) {
    out.line(format_args!(
        "DISPUTED since {}, cycle {}, incident {}, {} before",
        when(&view.since),
        view.dispute_cycle,
        view.incident,
        view.before
    ));
    field(out, "  Objection", &view.dispute_reason, is_raw);
    if let Some(position) = &view.researcher_position {
        field(out, "  Position", position, is_raw);
    }
    for queued in &view.queued {
        out.line(format_args!(
            "  Waiting: CHALLENGED, because {} is {} since {}",
            queued.base,
            queued.fell,
            stamp(&queued.at)
        ));
    }
    for open in &view.examinations {
        field(out, &format!("  To examine again ({})", open.trigger.as_str()), &open.detail, is_raw);
    }
    for over in &view.examined {
        field(out, &format!("  Looked at again {}, {}", stamp(&over.at), over.outcome.as_str()), &over.reason, is_raw);
    }
    push_ways_out(out, &view.options);
}

/// Appends a label and a text; a text of several lines is indented below the label.
fn field(out: &mut Page, label: &str, text: &str, is_raw: bool) {
    let text = if is_raw { text.into() } else { escape_lines(text) };
    if text.contains('\n') {
        out.line(format_args!("{label}:"));
        for line in text.split('\n') {
            out.line(format_args!("    {line}"));
        }
    } else {
        out.line(format_args!("{label}: {text}"));
    }
}

/// `claim list`.
pub fn claim_list(view: &ClaimListView) -> String {
    let mut page = Page::titled(format_args!("CLAIMS: {}", view.pipeline), 10);
    let stage = view.stage.as_deref().unwrap_or("none yet");
    let end = if view.final_stage_closed { "closed" } else { "open" };
    page.line(format_args!("Stage {stage}, final stage {} {end}, cycle {}", view.final_stage, view.cycle));
    for line in &view.claims {
        let (id, text) = (fit(&line.id, 30), fit(&line.text, LINE_MAX));
        page.line(format_args!("{id:<10} {:<11} {}/{}  {text}", line.status, line.count, line.limit));
    }
    page.listed("DISPUTED:", &view.disputed);
    page.finish()
}
