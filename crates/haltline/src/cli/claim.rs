//! The arguments of `haltline claim`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use haltline_core::claim::{ExaminationOutcome, Status, Trigger};

#[derive(Debug, Args)]
pub struct Claim {
    /// The pipeline
    #[arg(long, global = true, default_value = "main", value_name = "NAME")]
    pub pipeline: String,
    #[command(subcommand)]
    pub verb: ClaimVerb,
}

#[derive(Debug, Subcommand)]
pub enum ClaimVerb {
    /// Make a claim
    #[command(
        after_help = "Examples:\n  haltline claim add --text \"GC content explains the signal\"\n  haltline claim add C-007 --text-file claim.md --confidence 0.8 --depends-on C-001\n\nA text of - is read from standard input."
    )]
    Add(ClaimAdd),
    /// Record a review round: an objection, the answer to it, and what changed
    #[command(
        after_help = "Examples:\n  haltline claim round C-001 --objection \"run the harness\" --answer \"there is no GC column\" --reviewer R2\n  haltline claim round C-001 --objection-id FF-001 --answer-file answer.md --test-run \"harness: no bias\"\n  haltline claim round C-001 --objection \"bias was never tested\" --same-as O-1 --answer \"no data\"\n\nExit codes: 0 recorded, also where it made the claim DISPUTED; 77 refused"
    )]
    Round(Box<ClaimRound>),
    /// Begin or end a cycle; end prints what happened in it
    #[command(subcommand)]
    Cycle(ClaimCycle),
    /// Show one claim with its objections, its dispute and its history
    #[command(after_help = "Examples:\n  haltline claim show C-001\n  haltline claim show C-001 --json --verbatim")]
    Show {
        /// The claim
        claim: String,
        /// Mask no secrets and escape nothing
        #[arg(long = "verbatim")]
        is_verbatim: bool,
    },
    /// List claims with their status and the rounds counted
    #[command(after_help = "Examples:\n  haltline claim list\n  haltline claim list --status DISPUTED --json")]
    List {
        /// Only those with this status
        #[arg(long)]
        status: Option<String>,
    },
    /// Print the ledger of all claims as Markdown, or with --json as JSON
    #[command(
        after_help = "Examples:\n  haltline claim ledger > CLAIM-LEDGER.md\n  haltline claim ledger --json --verbatim > ledger.json\n  haltline claim ledger --schema > claim-ledger.schema.json"
    )]
    Ledger {
        /// Mask no secrets and escape nothing
        #[arg(long = "verbatim")]
        is_verbatim: bool,
        /// Print the JSON schema of the ledger instead
        #[arg(long = "schema", conflicts_with = "is_verbatim")]
        is_schema: bool,
    },
    /// Let a claim rise: VERIFIED, CONFIRMED or ROBUST
    #[command(after_help = "Example:\n  haltline claim promote C-001 --to CONFIRMED --reason \"second cohort\"")]
    Promote {
        /// The claim
        claim: String,
        /// To which status
        #[arg(long, default_value = "VERIFIED", value_name = "STATUS", value_parser = status)]
        to: Status,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Give a claim up for good
    #[command(after_help = "Example:\n  haltline claim kill C-001 --reason \"the table was mislabelled\"")]
    Kill {
        /// The claim
        claim: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Change a claim outside a round
    #[command(
        after_help = "Examples:\n  haltline claim edit C-001 --claim-text \"GC content explains part of the signal\"\n  haltline claim edit C-001 --status CHALLENGED --reason \"R2 found a second cause\"\n  haltline claim edit C-001 --depends-on C-004"
    )]
    Edit(Box<ClaimEdit>),
    /// End a dispute: by new data, by dropping the claim, or by a person's override
    #[command(subcommand)]
    Resolve(ClaimResolve),
    /// Bring a dispute up again, record what came of that, or both
    #[command(
        after_help = "Examples:\n  haltline claim reexamine C-001 --trigger new-data --detail \"GC track published\"\n  haltline claim reexamine C-001 --outcome unresolved --reason \"the track covers another build\"\n  haltline claim reexamine C-001 --trigger cross-model-audit --detail R3 --outcome resolved --reason \"R3: the test is not needed\""
    )]
    Reexamine(ClaimReexamine),
    /// Enter a stage; every dispute is brought up again
    #[command(after_help = "Example:\n  haltline claim advance-stage S2")]
    AdvanceStage {
        /// The stage
        stage: String,
    },
    /// Close a stage; the final one only when no claim is DISPUTED
    #[command(
        after_help = "Example:\n  haltline claim close-stage S5\n\nExit codes: 0 closed, 77 refused because claims are DISPUTED"
    )]
    CloseStage {
        /// The stage
        stage: String,
    },
}

#[derive(Debug, Args)]
pub struct ClaimAdd {
    /// Its name, such as C-001; the next number without it
    pub claim: Option<String>,
    /// What it says
    #[arg(long, value_name = "TEXT", required_unless_present = "text_file")]
    pub text: Option<String>,
    /// A file with what it says
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub text_file: Option<PathBuf>,
    /// What kind of claim it is
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// What speaks for it; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub evidence: Vec<String>,
    /// A file with what speaks for it; may be given several times
    #[arg(long, value_name = "FILE")]
    pub evidence_file: Vec<PathBuf>,
    /// What it takes for granted; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub assumption: Vec<String>,
    /// How sure its author is, from 0 to 1
    #[arg(long, value_name = "NUMBER")]
    pub confidence: Option<String>,
    /// A claim it stands on; may be given several times
    #[arg(long, value_name = "CLAIM")]
    pub depends_on: Vec<String>,
}

/// The four changes that count.
#[derive(Debug, Args)]
pub struct ClaimChanges {
    /// Evidence that was not presented before
    #[arg(long, value_name = "TEXT")]
    pub new_evidence: Option<String>,
    /// A file with that evidence
    #[arg(long, value_name = "FILE", conflicts_with = "new_evidence")]
    pub new_evidence_file: Option<PathBuf>,
    /// A test that was run, and what came of it
    #[arg(long, value_name = "TEXT")]
    pub test_run: Option<String>,
    /// A file with the test that was run
    #[arg(long, value_name = "FILE", conflicts_with = "test_run")]
    pub test_run_file: Option<PathBuf>,
    /// The revised confidence, from 0 to 1
    #[arg(long, value_name = "NUMBER")]
    pub confidence: Option<String>,
    /// The modified or narrowed text of the claim
    #[arg(long, value_name = "TEXT")]
    pub claim_text: Option<String>,
    /// A file with that text
    #[arg(long, value_name = "FILE", conflicts_with = "claim_text")]
    pub claim_text_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ClaimRound {
    /// The claim
    pub claim: String,
    /// The objection, word for word
    #[arg(long, value_name = "TEXT")]
    pub objection: Option<String>,
    /// A file with the objection
    #[arg(long, value_name = "FILE", conflicts_with = "objection")]
    pub objection_file: Option<PathBuf>,
    /// The reviewer's name for the objection, such as FF-001
    #[arg(long, value_name = "ID")]
    pub objection_id: Option<String>,
    /// A known objection that this one is in other words: its id, O-1, or its words
    #[arg(long, value_name = "OBJECTION")]
    pub same_as: Option<String>,
    /// Who raised it
    #[arg(long, value_name = "NAME")]
    pub reviewer: Option<String>,
    /// What was answered, word for word
    #[arg(long, value_name = "TEXT", visible_alias = "response")]
    pub answer: Option<String>,
    /// A file with the answer
    #[arg(long, value_name = "FILE", conflicts_with = "answer", visible_alias = "response-file")]
    pub answer_file: Option<PathBuf>,
    #[command(flatten)]
    pub changes: ClaimChanges,
    /// The round's name: reports of one round on one objection count once
    #[arg(long, value_name = "NAME")]
    pub round: Option<String>,
    /// The generation `show --json` named; if the claim's status has changed since, nothing is counted
    #[arg(long, value_name = "NUMBER")]
    pub generation: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub enum ClaimCycle {
    /// Begin the next cycle
    #[command(after_help = "Example:\n  haltline claim cycle begin")]
    Begin,
    /// End the cycle and print what happened in it
    #[command(after_help = "Example:\n  haltline claim cycle end --json")]
    End,
}

#[derive(Debug, Args)]
pub struct ClaimEdit {
    /// The claim
    pub claim: String,
    #[command(flatten)]
    pub changes: ClaimChanges,
    /// Its status: UNVERIFIED, CHALLENGED, REJECTED, ARTIFACT or CONFOUNDED
    #[arg(long, value_name = "STATUS", value_parser = status)]
    pub status: Option<Status>,
    /// A claim it stands on as well; may be given several times
    #[arg(long, value_name = "CLAIM")]
    pub depends_on: Vec<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum ClaimResolve {
    /// Unfreeze a claim: evidence or a tool is there that was not
    #[command(after_help = "Example:\n  haltline claim resolve new-data C-001 --evidence \"GC track of release 2\"")]
    NewData {
        /// The claim
        claim: String,
        /// What is there now
        #[arg(long, value_name = "TEXT", required_unless_present = "evidence_file")]
        evidence: Option<String>,
        /// A file with what is there now
        #[arg(long, value_name = "FILE", conflicts_with = "evidence")]
        evidence_file: Option<PathBuf>,
    },
    /// Withdraw a claim: it is KILLED
    #[command(after_help = "Example:\n  haltline claim resolve drop C-001 --rationale \"the data will not come\"")]
    Drop {
        /// The claim
        claim: String,
        /// Why
        #[arg(long, value_name = "TEXT", required_unless_present = "rationale_file")]
        rationale: Option<String>,
        /// A file with why
        #[arg(long, value_name = "FILE", conflicts_with = "rationale")]
        rationale_file: Option<PathBuf>,
    },
    /// Decide a dispute yourself and name the final status (for people)
    #[command(
        after_help = "Example:\n  haltline claim resolve override C-001 --status CONFIRMED --rationale \"two other cohorts agree\""
    )]
    Override {
        /// The claim
        claim: String,
        /// What becomes of it: VERIFIED, CONFIRMED, ROBUST, REJECTED or KILLED
        #[arg(long, value_name = "STATUS", value_parser = status)]
        status: Status,
        /// Why
        #[arg(long, value_name = "TEXT", required_unless_present = "rationale_file")]
        rationale: Option<String>,
        /// A file with why
        #[arg(long, value_name = "FILE", conflicts_with = "rationale")]
        rationale_file: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct ClaimReexamine {
    /// The claim
    pub claim: String,
    /// What brought it up
    #[arg(long, value_enum, requires = "detail")]
    pub trigger: Option<ExaminationTrigger>,
    /// Which data, which tool, which judge
    #[arg(long, value_name = "TEXT", requires = "trigger")]
    pub detail: Option<String>,
    /// What came of it
    #[arg(long, value_enum, requires = "reason")]
    pub outcome: Option<OutcomeArgument>,
    /// Why
    #[arg(long, value_name = "TEXT", requires = "outcome")]
    pub reason: Option<String>,
}

/// What a caller can bring a dispute up by; stages do it themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExaminationTrigger {
    /// A dataset, an annotation or a tool is there
    NewData,
    /// A judge or another model looked at it
    CrossModelAudit,
}

/// What came of looking again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutcomeArgument {
    /// The objection is answered
    Resolved,
    /// It stands
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
