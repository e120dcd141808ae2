//! The tools of `haltline mcp`: each is a command, and its parameters are options of the command.

use haltline_core::shorten;
use serde_json::{Map, Value, json};

pub struct Tool {
    name: &'static str,
    description: &'static str,
    command: &'static [&'static str],
    is_reading: bool,
    parameters: &'static [Parameter],
}

struct Parameter {
    name: &'static str,
    /// The option of the command; `None` for an argument without a name.
    option: Option<&'static str>,
    kind: Kind,
    is_required: bool,
    description: &'static str,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Texts,
    Number,
    /// An object of numbers, each of which becomes `--option=name=number`.
    Numbers,
    Flag,
}

const fn required(name: &'static str, option: Option<&'static str>, description: &'static str) -> Parameter {
    Parameter { name, option, kind: Kind::Text, is_required: true, description }
}

const fn optional(name: &'static str, option: &'static str, kind: Kind, description: &'static str) -> Parameter {
    Parameter { name, option: Some(option), kind, is_required: false, description }
}

const SLICE: Parameter = optional("slice", "slice", Kind::Text, "The slice; default: the only one in progress");

const TOOLS: &[Tool] = &[
    Tool {
        name: "status",
        description: "Show which circuits are OPEN, what needs a person, and the sessions with their budgets",
        command: &["status"],
        is_reading: true,
        parameters: &[],
    },
    Tool {
        name: "why",
        description: "Explain an incident: the evidence and what to do next",
        command: &["why"],
        is_reading: true,
        parameters: &[Parameter {
            name: "incident",
            option: None,
            kind: Kind::Text,
            is_required: false,
            description: "The incident's id; default: the newest",
        }],
    },
    Tool {
        name: "incidents",
        description: "List incidents of all breakers, open ones first",
        command: &["incidents"],
        is_reading: true,
        parameters: &[
            optional("all", "all", Kind::Flag, "Also those of other projects"),
            optional("limit", "limit", Kind::Number, "At most this many; default: 20"),
        ],
    },
    Tool {
        name: "budget",
        description: "Show what this session, day and project used of their budgets",
        command: &["budget"],
        is_reading: true,
        parameters: &[],
    },
    Tool {
        name: "constraint_check",
        description: "Ask before an action whether a constraint allows it now. Records nothing",
        command: &["constraint", "check"],
        is_reading: true,
        parameters: &[required("constraint", None, "The constraint's id")],
    },
    Tool {
        name: "constraint_record",
        description: "Record that an action broke the rule of a constraint",
        command: &["constraint", "record"],
        is_reading: false,
        parameters: &[
            required("constraint", None, "The constraint's id"),
            required("action", Some("action"), "What was done, such as the command"),
        ],
    },
    Tool {
        name: "phase_report",
        description: "Report how an iteration of the current phase ended; the answer says whether work may continue",
        command: &["phase", "report"],
        is_reading: false,
        parameters: &[
            optional("metrics", "metric", Kind::Numbers, "Numbers by name, such as {\"tests_passing\": 6}"),
            optional("phase", "phase", Kind::Text, "The phase, if it is not the current one"),
            optional("error_type", "error-type", Kind::Text, "Type of the error that ended the iteration"),
            optional("error_message", "error-message", Kind::Text, "Text of the error"),
            optional("neutral", "neutral", Kind::Text, "Do not judge this iteration, for this reason"),
        ],
    },
    Tool {
        name: "attempt_begin",
        description: "Begin a slice of work: set the files in scope and save a checkpoint",
        command: &["attempt", "begin"],
        is_reading: false,
        parameters: &[
            required("slice", Some("slice"), "The slice"),
            optional("in_scope", "in-scope", Kind::Texts, "Paths in scope; default: those of the graph of slices"),
        ],
    },
    Tool {
        name: "attempt_check",
        description: "Ask whether work on a slice may continue, and whether a strategy for a test is new",
        command: &["attempt", "check"],
        is_reading: false,
        parameters: &[
            SLICE,
            optional("test", "test", Kind::Text, "The exact name of the test"),
            optional("strategy", "strategy", Kind::Text, "The strategy, in one sentence"),
        ],
    },
    Tool {
        name: "attempt_record",
        description: "Record an attempt at a test of a slice",
        command: &["attempt", "record"],
        is_reading: false,
        parameters: &[
            SLICE,
            required("test", Some("test"), "The exact name of the test"),
            required("result", Some("result"), "pass, fail or infra (the test did not run)"),
            optional("strategy", "strategy", Kind::Text, "The strategy, in one sentence"),
        ],
    },
    Tool {
        name: "attempt_status",
        description: "Show the counts, the tests and the scope of a slice",
        command: &["attempt", "status"],
        is_reading: true,
        parameters: &[SLICE],
    },
    Tool {
        name: "claim_round",
        description: "Record a review round on a claim: an objection, its answer and what changed",
        command: &["claim", "round"],
        is_reading: false,
        parameters: &[
            required("claim", None, "The claim's id"),
            optional("objection", "objection", Kind::Text, "The objection, verbatim"),
            optional("objection_id", "objection-id", Kind::Text, "The reviewer's id of the objection"),
            optional("same_as", "same-as", Kind::Text, "The known objection that this one repeats"),
            optional("reviewer", "reviewer", Kind::Text, "The reviewer"),
            optional("answer", "answer", Kind::Text, "The answer, verbatim"),
            optional("new_evidence", "new-evidence", Kind::Text, "New evidence"),
            optional("test_run", "test-run", Kind::Text, "A test that was run, with its result"),
            optional("confidence", "confidence", Kind::Number, "The author's confidence after the round, 0 to 1"),
        ],
    },
];

pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// The tools as `tools/list` returns them.
pub fn list() -> Vec<Value> {
    TOOLS.iter().map(Tool::definition).collect()
}

impl Tool {
    fn definition(&self) -> Value {
        let properties: Map<String, Value> =
            self.parameters.iter().map(|parameter| (parameter.name.to_owned(), parameter.schema())).collect();
        let required: Vec<&str> =
            self.parameters.iter().filter(|parameter| parameter.is_required).map(|parameter| parameter.name).collect();
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
            "annotations": { "readOnlyHint": self.is_reading, "destructiveHint": false, "openWorldHint": false },
        })
    }

    /// The command with these parameters. A value cannot become an option: it follows `=`, or `--`.
    pub fn command_line(&self, given: &Value) -> Result<Vec<String>, String> {
        let none = Map::new();
        let given = match given {
            Value::Null => &none,
            Value::Object(given) => given,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err("arguments: expected an object".to_owned());
            }
        };
        if let Some(unknown) = given.keys().find(|name| self.parameters.iter().all(|known| known.name != **name)) {
            let known: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
            return Err(format!("{}: {} knows only {}", shorten(unknown), self.name, known.join(", ")));
        }
        let mut line: Vec<String> = self.command.iter().map(|word| (*word).to_owned()).collect();
        let mut arguments = Vec::new();
        for parameter in self.parameters {
            let value = given.get(parameter.name).filter(|value| !value.is_null());
            let values = match value {
                Some(value) => parameter.words(value)?,
                None if parameter.is_required => {
                    return Err(format!("{} is missing: {}", parameter.name, parameter.description));
                }
                None => continue,
            };
            match (parameter.option, parameter.kind) {
                (None, _) => arguments.extend(values),
                // An empty list is a choice too: the option without a value.
                (Some(option), Kind::Texts) if values.is_empty() => line.push(format!("--{option}")),
                (Some(option), Kind::Flag) => line.extend(values.iter().map(|_set| format!("--{option}"))),
                (Some(option), Kind::Text | Kind::Texts | Kind::Number | Kind::Numbers) => {
                    line.extend(values.iter().map(|value| format!("--{option}={value}")));
                }
            }
        }
        if !arguments.is_empty() {
            line.push("--".to_owned());
            line.extend(arguments);
        }
        Ok(line)
    }
}

impl Parameter {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text => json!({ "type": "string" }),
            Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Kind::Number => json!({ "type": "number" }),
            Kind::Numbers => json!({ "type": "object", "additionalProperties": { "type": "number" } }),
            Kind::Flag => json!({ "type": "boolean" }),
        };
        schema["description"] = self.description.into();
        schema
    }

    /// The value as words of a command line.
    fn words(&self, value: &Value) -> Result<Vec<String>, String> {
        let words = match (self.kind, value) {
            (Kind::Text, Value::String(text)) => Some(vec![text.clone()]),
            (Kind::Texts, Value::Array(texts)) => {
                texts.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<_>>()
            }
            (Kind::Number, Value::Number(number)) => Some(vec![number.to_string()]),
            (Kind::Numbers, Value::Object(numbers)) => numbers
                .iter()
                .map(|(name, number)| number.is_number().then(|| format!("{name}={number}")))
                .collect::<Option<_>>(),
            (Kind::Flag, Value::Bool(true)) => Some(vec![String::new()]),
            (Kind::Flag, Value::Bool(false)) => Some(Vec::new()),
            (Kind::Text | Kind::Texts | Kind::Number | Kind::Numbers | Kind::Flag, _) => None,
        };
        words.ok_or_else(|| format!("{}: expected {}", self.name, self.expected()))
    }

    fn expected(&self) -> &'static str {
        match self.kind {
            Kind::Text => "a string",
            Kind::Texts => "a list of strings",
            Kind::Number => "a number",
            Kind::Numbers => "an object of numbers",
            Kind::Flag => "true or false",
        }
    }
}
