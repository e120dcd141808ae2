//! The ledger of all claims, and the schema of its JSON, by which a closed final stage contains no dispute (D5).

use haltline_core::claim::{Claim, ClaimId, Pipeline, PipelineName, Settlement, Status};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::SCHEMA;
use super::TextDisplay;

#[derive(Debug, Serialize)]
pub struct LedgerView {
    pub schema: u32,
    pub kind: &'static str,
    pub pipeline: String,
    pub stage: Option<String>,
    pub stages_closed: Vec<String>,
    pub final_stage: String,
    pub final_stage_closed: bool,
    pub cycle: u64,
    pub disputed_claims: Vec<String>,
    pub claims: Vec<LedgerClaimView>,
    /// Something that looks like a secret is masked in it.
    pub is_masked: bool,
    #[serde(skip)]
    pub display: TextDisplay,
}

/// A claim in the ledger, with the field names of the seed.
#[derive(Debug, Serialize)]
pub struct LedgerClaimView {
    pub claim_id: String,
    pub text: String,
    pub claim_type: Option<String>,
    pub evidence: Vec<String>,
    pub tests: Vec<String>,
    pub confidence: Option<f64>,
    pub status: &'static str,
    pub status_reason: Option<String>,
    pub reviewers: Vec<String>,
    pub objections: Vec<LedgerObjectionView>,
    pub depends_on: Vec<String>,
    pub assumptions: Vec<String>,
    pub updated: String,
    pub dispute_reason: Option<String>,
    pub dispute_cycle: Option<u64>,
    pub researcher_position: Option<String>,
    pub human_override_rationale: Option<String>,
    pub resolutions: Vec<LedgerResolutionView>,
}

#[derive(Debug, Serialize)]
pub struct LedgerObjectionView {
    pub objection: String,
    pub ids: Vec<String>,
    pub text: String,
    pub rounds: u64,
}

/// How a dispute was resolved.
#[derive(Debug, Serialize)]
pub struct LedgerResolutionView {
    pub resolution: &'static str,
    pub status: Status,
    pub at: String,
    pub rationale: String,
    pub who: Option<String>,
    pub dispute_reason: String,
    pub dispute_cycle: u64,
    pub researcher_position: Option<String>,
}

impl LedgerView {
    pub fn new(name: &PipelineName, pipeline: &Pipeline, display: TextDisplay) -> Self {
        Self {
            schema: SCHEMA,
            kind: "claim-ledger",
            pipeline: name.to_string(),
            stage: pipeline.stage.as_ref().map(|stage| stage.name.to_string()),
            stages_closed: pipeline.closed.iter().map(|closed| closed.name.to_string()).collect(),
            final_stage: pipeline.final_stage.to_string(),
            final_stage_closed: pipeline.is_over(),
            cycle: pipeline.cycle_number(),
            disputed_claims: pipeline.disputed().iter().map(ToString::to_string).collect(),
            claims: Vec::new(),
            is_masked: false,
            display,
        }
    }

    /// Adds a claim; call it in the order of the claims' ids.
    pub fn add(&mut self, id: &ClaimId, claim: &Claim) {
        let (display, masked) = (self.display, &mut self.is_masked);
        let dispute = claim.dispute();
        let mut reviewers: Vec<String> = Vec::new();
        for reviewer in claim.objections.iter().flat_map(|objection| &objection.reviewers) {
            if !reviewers.contains(reviewer) {
                reviewers.push(reviewer.clone());
            }
        }
        let mut resolutions = Vec::new();
        for resolved in &claim.resolved_disputes {
            let who = match &resolved.how {
                Settlement::Overridden { who, .. } => Some(who.clone()),
                Settlement::NewData { .. } | Settlement::Dropped { .. } | Settlement::Examined { .. } => None,
            };
            resolutions.push(LedgerResolutionView {
                resolution: resolved.how.as_str(),
                status: resolved.to,
                at: resolved.at.to_seconds_text(),
                rationale: display.text(resolved.how.text(), masked),
                who,
                dispute_reason: display.text(&resolved.dispute.reason, masked),
                dispute_cycle: resolved.dispute.cycle,
                researcher_position: resolved.dispute.position.as_deref().map(|text| display.text(text, masked)),
            });
        }
        let overridden = resolutions.iter().rev().find(|resolution| resolution.resolution == "override");
        let human_override_rationale = overridden.map(|resolution| resolution.rationale.clone());
        let mut objections = Vec::new();
        for known in &claim.objections {
            objections.push(LedgerObjectionView {
                objection: known.label(),
                ids: display.texts(&known.ids, masked),
                text: display.text(&known.text, masked),
                rounds: known.rounds,
            });
        }
        self.claims.push(LedgerClaimView {
            claim_id: id.to_string(),
            text: display.text(&claim.text, masked),
            claim_type: claim.kind.as_deref().map(|kind| display.text(kind, masked)),
            evidence: display.texts(&claim.evidence, masked),
            tests: display.texts(&claim.tests, masked),
            confidence: claim.confidence.map(|number| number.number()),
            status: claim.listed_status().as_str(),
            status_reason: claim.reason.as_deref().map(|text| display.text(text, masked)),
            reviewers: display.texts(&reviewers, masked),
            objections,
            depends_on: claim.depends_on.iter().map(ToString::to_string).collect(),
            assumptions: display.texts(&claim.assumptions, masked),
            updated: claim.updated.to_seconds_text(),
            dispute_reason: dispute.map(|dispute| display.text(&dispute.reason, masked)),
            dispute_cycle: dispute.map(|dispute| dispute.cycle),
            researcher_position: dispute
                .and_then(|dispute| dispute.position.as_deref())
                .map(|text| display.text(text, masked)),
            human_override_rationale,
            resolutions,
        });
    }
}

/// Returns the JSON schema of the ledger.
pub fn ledger_schema() -> Value {
    let text = json!({"type": "string"});
    let maybe = json!({"type": ["string", "null"]});
    let list = json!({"type": "array", "items": {"type": "string"}});
    let name = json!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"});
    let names = json!({"type": "array", "items": name, "uniqueItems": true});
    let mut statuses: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
    let free = statuses.clone();
    statuses.push("DISPUTED");
    let last: Vec<&str> = Status::ALL.iter().filter(|status| status.is_final()).map(|status| status.as_str()).collect();
    let cycle = json!({"type": "integer", "minimum": 0});
    let resolution = object(
        json!({
            "resolution": {"enum": ["new_data", "drop", "override", "reexamination"]},
            "status": {"enum": free},
            "at": text,
            "rationale": {"type": "string", "minLength": 1},
            "who": maybe,
            "dispute_reason": text,
            "dispute_cycle": cycle,
            "researcher_position": maybe,
        }),
        json!({"allOf": [
            {"if": is("resolution", &json!("drop")), "then": is("status", &json!("KILLED"))},
            {
                "if": is("resolution", &json!("override")),
                "then": {"properties": {"status": {"enum": last}, "who": {"type": "string"}}},
            },
        ]}),
    );
    let objection = object(json!({"objection": text, "ids": list, "text": text, "rounds": cycle}), json!({}));
    let claim = object(
        json!({
            "claim_id": name,
            "text": {"type": "string", "minLength": 1},
            "claim_type": maybe,
            "evidence": list,
            "tests": list,
            "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            "status": {"enum": statuses},
            "status_reason": maybe,
            "reviewers": list,
            "objections": {"type": "array", "items": objection},
            "depends_on": names,
            "assumptions": list,
            "updated": text,
            "dispute_reason": maybe,
            "dispute_cycle": {"type": ["integer", "null"], "minimum": 0},
            "researcher_position": maybe,
            "human_override_rationale": maybe,
            "resolutions": {"type": "array", "items": resolution},
        }),
        json!({
            "if": is("status", &json!("DISPUTED")),
            "then": {"properties": {"dispute_reason": {"type": "string"}, "dispute_cycle": {"type": "integer"}}},
            "else": {"properties": {
                "dispute_reason": {"type": "null"},
                "dispute_cycle": {"type": "null"},
                "researcher_position": {"type": "null"},
            }},
        }),
    );
    object(
        json!({
            "schema": {"const": SCHEMA},
            "kind": {"const": "claim-ledger"},
            "pipeline": name,
            "stage": {"type": ["string", "null"]},
            "stages_closed": names,
            "final_stage": name,
            "final_stage_closed": {"type": "boolean"},
            "cycle": cycle,
            "disputed_claims": names,
            "claims": {"type": "array", "items": claim},
            "is_masked": {"type": "boolean"},
        }),
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "haltline claim ledger",
            "description": "What `haltline claim ledger --json` prints. If the final stage is closed, no claim is DISPUTED.",
            "if": is("final_stage_closed", &json!(true)),
            "then": {"properties": {
                "disputed_claims": {"maxItems": 0},
                "claims": {"items": {"properties": {"status": {"enum": free}}}},
            }},
        }),
    )
}

/// An object schema with exactly these members, and additional rules.
fn object(properties: Value, more: Value) -> Value {
    let required: Vec<&String> = properties.as_object().map(|members| members.keys().collect()).unwrap_or_default();
    let mut schema = json!({"type": "object", "required": required, "additionalProperties": false});
    schema["properties"] = properties;
    for (name, rule) in more.as_object().into_iter().flatten() {
        schema[name] = rule.clone();
    }
    schema
}

/// A schema that requires this value of a member.
fn is(member: &str, value: &Value) -> Value {
    json!({"properties": {member: {"const": value}}})
}
