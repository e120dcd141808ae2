//! The arguments of `haltline claim`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use haltline_core::claim::{ExaminationOutcome, Status, Trigger};

#[derive(Debug, Args)]
pub struct Claim {
    /// The pipeline of claims
    #[arg(long, global = true, default_value = "main", value_name = "NAME", display_order = 899)]
    pub pipeline: String,
    #[command(subcommand)]
    pub verb: ClaimVerb,
}

#[derive(Debug, Subcommand)]
pub enum ClaimVerb {
    /// Add a claim
    #[command(
        after_help = "Examples:\n  haltline claim add --text \"GC content explains the signal\"\n  haltline claim add C-007 --text-file claim.md --confidence 0.8 --depends-on C-001\n\nFor a text of `-`, haltline reads standard input."
    )]
    Add(ClaimAdd),
    /// Record a review round: an objection, its answer and what changed
    #[command(
        after_help = "Examples:\n  haltline claim round C-001 --objection \"run the harness\" --answer \"there is no GC column\" --reviewer R2\n  haltline claim round C-001 --objection-id FF-001 --answer-file answer.md --test-run \"harness: no bias\"\n  haltline claim round C-001 --objection \"bias was never tested\" --same-as O-1 --answer \"no data\"\n\nExit codes: 0 recorded, even if the claim became DISPUTED; 77 denied"
    )]
    Round(Box<ClaimRound>),
    /// Begin or end a review cycle
    #[command(subcommand)]
    Cycle(ClaimCycle),
    /// Show one claim with its objections, its dispute and its history
    #[command(after_help = "Examples:\n  haltline claim show C-001\n  haltline claim show C-001 --json --verbatim")]
    Show {
        /// The claim
        claim: String,
        /// Print texts byte for byte, with their secrets
        #[arg(long = "verbatim")]
        is_verbatim: bool,
    },
    /// List claims with their status and the rounds counted
    #[command(after_help = "Examples:\n  haltline claim list\n  haltline claim list --status DISPUTED --json")]
    List {
        /// Only claims with this status
        #[arg(long)]
        status: Option<String>,
    },
    /// Print the ledger of all claims as Markdown or JSON
    #[command(
        after_help = "Examples:\n  haltline claim ledger > CLAIM-LEDGER.md\n  haltline claim ledger --json --verbatim > ledger.json\n  haltline claim ledger --schema > claim-ledger.schema.json"
    )]
    Ledger {
        /// Print texts byte for byte, with their secrets
        #[arg(long = "verbatim")]
        is_verbatim: bool,
        /// Print the JSON schema of the ledger, not the ledger
        #[arg(long = "schema", conflicts_with = "is_verbatim")]
        is_schema: bool,
    },
    /// Promote a claim to VERIFIED, CONFIRMED or ROBUST
    #[command(after_help = "Example:\n  haltline claim promote C-001 --to CONFIRMED --reason \"second cohort\"")]
    Promote {
        /// The claim
        claim: String,
        /// The new status
        #[arg(long, default_value = "VERIFIED", value_name = "STATUS", value_parser = status)]
        to: Status,
        /// Reason for the journal
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Give up a claim permanently
    #[command(after_help = "Example:\n  haltline claim kill C-001 --reason \"the table was mislabelled\"")]
    Kill {
        /// The claim
        claim: String,
        /// Reason for the journal
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Change a claim outside a round
    #[command(
        after_help = "Examples:\n  haltline claim edit C-001 --claim-text \"GC content explains part of the signal\"\n  haltline claim edit C-001 --status CHALLENGED --reason \"R2 found a second cause\"\n  haltline claim edit C-001 --depends-on C-004"
    )]
    Edit(Box<ClaimEdit>),
    /// End a dispute by new data, by dropping the claim, or by an override
    #[command(subcommand)]
    Resolve(ClaimResolve),
    /// Record that a dispute was examined again, its outcome, or both
    #[command(
        after_help = "Examples:\n  haltline claim reexamine C-001 --trigger new-data --detail \"GC track published\"\n  haltline claim reexamine C-001 --outcome unresolved --reason \"the track covers another build\"\n  haltline claim reexamine C-001 --trigger cross-model-audit --detail R3 --outcome resolved --reason \"R3: the test is not needed\""
    )]
    Reexamine(ClaimReexamine),
    /// Enter a stage; every dispute then needs another examination
    #[command(after_help = "Example:\n  haltline claim advance-stage S2")]
    AdvanceStage {
        /// The stage
        stage: String,
    },
    /// Close a stage; the last one only if no claim is DISPUTED
    #[command(
        after_help = "Example:\n  haltline claim close-stage S5\n\nExit codes: 0 closed, 77 denied because claims are DISPUTED"
    )]
    CloseStage {
        /// The stage
        stage: String,
    },
}

#[derive(Debug, Args)]
pub struct ClaimAdd {
    /// Its id, such as C-001; default: the next number
    pub claim: Option<String>,
    /// Its text
    #[arg(long, value_name = "TEXT", required_unless_present = "text_file")]
    pub text: Option<String>,
    /// File with its text
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub text_file: Option<PathBuf>,
    /// Its type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Evidence for it; can be repeated
    #[arg(long, value_name = "TEXT")]
    pub evidence: Vec<String>,
    /// File with evidence for it; can be repeated
    #[arg(long, value_name = "FILE")]
    pub evidence_file: Vec<PathBuf>,
    /// An assumption it makes; can be repeated
    #[arg(long, value_name = "TEXT")]
    pub assumption: Vec<String>,
    /// The author's confidence, from 0 to 1
    #[arg(long, value_name = "NUMBER")]
    pub confidence: Option<String>,
    /// A claim it depends on; can be repeated
    #[arg(long, value_name = "CLAIM")]
    pub depends_on: Vec<String>,
}

/// The four changes that count.
#[derive(Debug, Args)]
pub struct ClaimChanges {
    /// New evidence
    #[arg(long, value_name = "TEXT")]
    pub new_evidence: Option<String>,
    /// File with the new evidence
    #[arg(long, value_name = "FILE", conflicts_with = "new_evidence")]
    pub new_evidence_file: Option<PathBuf>,
    /// A test that was run, with its result
    #[arg(long, value_name = "TEXT")]
    pub test_run: Option<String>,
    /// File with the test and its result
    #[arg(long, value_name = "FILE", conflicts_with = "test_run")]
    pub test_run_file: Option<PathBuf>,
    /// The author's confidence after the round, from 0 to 1
    #[arg(long, value_name = "NUMBER")]
    pub confidence: Option<String>,
    /// The new text of the claim
    #[arg(long, value_name = "TEXT")]
    pub claim_text: Option<String>,
    /// File with the new text
    #[arg(long, value_name = "FILE", conflicts_with = "claim_text")]
    pub claim_text_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ClaimRound {
    /// The claim
    pub claim: String,
    /// The objection, verbatim
    #[arg(long, value_name = "TEXT")]
    pub objection: Option<String>,
    /// File with the objection
    #[arg(long, value_name = "FILE", conflicts_with = "objection")]
    pub objection_file: Option<PathBuf>,
    /// The reviewer's id of the objection, such as FF-001
    #[arg(long, value_name = "ID")]
    pub objection_id: Option<String>,
    /// The known objection that this one repeats: its id, O-1, or its text
    #[arg(long, value_name = "OBJECTION")]
    pub same_as: Option<String>,
    /// The reviewer
    #[arg(long, value_name = "NAME")]
    pub reviewer: Option<String>,
    /// The answer, verbatim
    #[arg(long, value_name = "TEXT", alias = "response")]
    pub answer: Option<String>,
    /// File with the answer
    #[arg(long, value_name = "FILE", conflicts_with = "answer", alias = "response-file")]
    pub answer_file: Option<PathBuf>,
    #[command(flatten)]
    pub changes: ClaimChanges,
    /// Name of the round; an objection counts once per round
    #[arg(long, value_name = "NAME")]
    pub round: Option<String>,
    /// Count nothing if the status has changed since this generation, which `show --json` prints
    #[arg(long, value_name = "NUMBER")]
    pub generation: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub enum ClaimCycle {
    /// Begin the next cycle
    #[command(after_help = "Example:\n  haltline claim cycle begin")]
    Begin,
    /// End the cycle and print a summary
    #[command(after_help = "Example:\n  haltline claim cycle end --json")]
    End,
}

#[derive(Debug, Args)]
pub struct ClaimEdit {
    /// The claim
    pub claim: String,
    #[command(flatten)]
    pub changes: ClaimChanges,
    /// Its new status: UNVERIFIED, CHALLENGED, REJECTED, ARTIFACT or CONFOUNDED
    #[arg(long, value_name = "STATUS", value_parser = status)]
    pub status: Option<Status>,
    /// Another claim it depends on; can be repeated
    #[arg(long, value_name = "CLAIM")]
    pub depends_on: Vec<String>,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum ClaimResolve {
    /// Reopen a claim because of new evidence or a new tool
    #[command(after_help = "Example:\n  haltline claim resolve new-data C-001 --evidence \"GC track of release 2\"")]
    NewData {
        /// The claim
        claim: String,
        /// The new evidence or tool
        #[arg(long, value_name = "TEXT", required_unless_present = "evidence_file")]
        evidence: Option<String>,
        /// File with the new evidence
        #[arg(long, value_name = "FILE", conflicts_with = "evidence")]
        evidence_file: Option<PathBuf>,
    },
    /// Drop a claim; its status becomes KILLED
    #[command(after_help = "Example:\n  haltline claim resolve drop C-001 --reason \"the data will not come\"")]
    Drop {
        /// The claim
        claim: String,
        /// Reason for the journal
        #[arg(long, alias = "rationale", value_name = "TEXT", required_unless_present = "reason_file")]
        reason: Option<String>,
        /// File with the reason
        #[arg(long, alias = "rationale-file", value_name = "FILE", conflicts_with = "reason")]
        reason_file: Option<PathBuf>,
    },
    /// End a dispute and set the final status (people only)
    #[command(
        after_help = "Example:\n  haltline claim resolve override C-001 --status CONFIRMED --reason \"two other cohorts agree\""
    )]
    Override {
        /// The claim
        claim: String,
        /// The final status: VERIFIED, CONFIRMED, ROBUST, REJECTED or KILLED
        #[arg(long, value_name = "STATUS", value_parser = status)]
        status: Status,
        /// Reason for the journal
        #[arg(long, alias = "rationale", value_name = "TEXT", required_unless_present = "reason_file")]
        reason: Option<String>,
        /// File with the reason
        #[arg(long, alias = "rationale-file", value_name = "FILE", conflicts_with = "reason")]
        reason_file: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct ClaimReexamine {
    /// The claim
    pub claim: String,
    /// What caused the examination: new-data or cross-model-audit
    #[arg(long, value_enum, hide_possible_values = true, requires = "detail")]
    pub trigger: Option<ExaminationTrigger>,
    /// The data, the tool or the judge
    #[arg(long, value_name = "TEXT", requires = "trigger")]
    pub detail: Option<String>,
    /// The outcome: resolved or unresolved
    #[arg(long, value_enum, hide_possible_values = true, requires = "reason")]
    pub outcome: Option<OutcomeArgument>,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT", requires = "outcome")]
    pub reason: Option<String>,
}

/// What makes somebody examine a dispute again; stages do it themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExaminationTrigger {
    /// There is a new dataset, annotation or tool
    NewData,
    /// A judge or another model examined it
    CrossModelAudit,
}

/// The outcome of an examination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutcomeArgument {
    /// The objection is answered
    Resolved,
    /// The objection remains
    Unresolved,
}

impl From<ExaminationTrigger> for Trigger {
    fn from(by: ExaminationTrigger) -> Self {
        match by {
            ExaminationTrigger::NewData => Trigger::NewData,
            ExaminationTrigger::CrossModelAudit => Trigger::CrossModelAudit,
        }
    }
}

impl From<OutcomeArgument> for ExaminationOutcome {
    fn from(ended: OutcomeArgument) -> Self {
        match ended {
            OutcomeArgument::Resolved => ExaminationOutcome::Resolved,
            OutcomeArgument::Unresolved => ExaminationOutcome::Unresolved,
        }
    }
}

/// A status by its word.
fn status(name: &str) -> Result<Status, String> {
    let names: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
    Status::from_name(name).ok_or_else(|| match name.eq_ignore_ascii_case("DISPUTED") {
        true => "only rounds make a claim DISPUTED".to_owned(),
        false => format!("expected one of {}", names.join(", ")),
    })
}
