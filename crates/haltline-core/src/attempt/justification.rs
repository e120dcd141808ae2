//! Why a file out of scope must be changed: a form with four fields that the agent fills in (A5).
//!
//! A person judges in the report whether a justification is honest. This file only finds obvious defects: a field that
//! is missing, that still has the form's placeholder, or that names another file.

use serde::{Deserialize, Serialize};

use crate::shorten;

/// Limit on the forms in one text.
const FORMS_MAX: usize = 64;

/// The form's labels, each with its placeholder in the empty form.
const FIELDS: [(&str, &str); 4] = [
    ("File", "<path of the file>"),
    ("Failing test", "<exact name of the test that cannot pass without this change>"),
    ("Reason", "<why the test cannot pass while this file stays as it is>"),
    ("Relationship", "<how this file belongs to what the slice's contract covers>"),
];

/// The four fields as the agent wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Justification {
    /// The file out of scope.
    pub file: String,
    pub failing_test: String,
    /// Why the test needs it.
    pub reason: String,
    /// What the file has to do with the slice.
    pub relationship: String,
}

/// The empty form for a path, as haltline shows it with a denial.
pub fn form(path: &str) -> String {
    let [(file, _), rest @ ..] = FIELDS;
    let mut form = format!("{file}: {path}\n");
    for (label, placeholder) in rest {
        form.push_str(&format!("{label}: {placeholder}\n"));
    }
    form
}

impl Justification {
    /// Parses all forms in a text. A form begins with its first label and ends where a label repeats; a value continues
    /// over lines that begin with no label. Text before the first label is ignored.
    pub fn parse_all(text: &str) -> Vec<Self> {
        let mut forms: Vec<[Option<String>; 4]> = Vec::new();
        let mut current: Option<usize> = None;
        for line in text.lines() {
            match label(line) {
                Some((field, value)) => {
                    let is_new = forms.last().is_none_or(|form| form[field].is_some());
                    if is_new && forms.len() == FORMS_MAX {
                        break;
                    }
                    if is_new {
                        forms.push(Default::default());
                    }
                    if let Some(form) = forms.last_mut() {
                        form[field] = Some(value.to_owned());
                    }
                    current = Some(field);
                }
                None => {
                    if let (Some(field), Some(form)) = (current, forms.last_mut())
                        && let Some(value) = &mut form[field]
                    {
                        value.push('\n');
                        value.push_str(line.trim_end());
                    }
                }
            }
        }
        forms.into_iter().map(Self::from_fields).collect()
    }

    fn from_fields(fields: [Option<String>; 4]) -> Self {
        let [file, failing_test, reason, relationship] =
            fields.map(|field| without_fence(field.as_deref().unwrap_or_default().trim()).trim().to_owned());
        // People put paths into backticks.
        let file = file.trim_matches('`').to_owned();
        Self { file, failing_test, reason, relationship }
    }

    /// The form with its fields filled in.
    pub fn render(&self) -> String {
        let values = self.values();
        FIELDS.iter().zip(values).map(|((label, _), value)| format!("{label}: {value}\n")).collect()
    }

    fn values(&self) -> [&str; 4] {
        [&self.file, &self.failing_test, &self.reason, &self.relationship]
    }

    /// Obvious defects, each as a sentence. `is_path` tells whether the named file is the one that is to be changed,
    /// since one file has many spellings; `path` is its name for messages.
    pub fn problems(&self, path: &str, is_path: impl FnOnce(&str) -> bool) -> Vec<String> {
        let mut problems = Vec::new();
        for ((label, placeholder), value) in FIELDS.iter().zip(self.values()) {
            let bare = bare(value);
            if bare.is_empty() {
                problems.push(format!("{label} is empty."));
            } else if says_nothing(&bare) {
                problems.push(format!("{label} says only {}.", shorten(value)));
            } else if is_placeholder(value, placeholder) {
                problems.push(format!("{label} still contains the form's text."));
            }
        }
        if problems.is_empty() && !is_path(&self.file) {
            problems.push(format!("The form names {}, but the change is to {}.", shorten(&self.file), shorten(path)));
        }
        if problems.is_empty() && bare(&self.reason) == bare(&self.relationship) {
            problems.push("Relationship repeats Reason.".to_owned());
        }
        problems
    }
}

/// A line's label, in any case and with any markup (`**File**:`, `- File:`), and the text after it.
fn label(line: &str) -> Option<(usize, &str)> {
    let start = line.trim_start_matches([' ', '\t', '-', '*', '>', '#']);
    FIELDS.iter().enumerate().find_map(|(field, (label, _))| {
        let head = start.get(..label.len())?;
        let is_label = head.eq_ignore_ascii_case(label)
            || (label.contains(' ') && head.replace(['_', '-'], " ").eq_ignore_ascii_case(label));
        let rest = start[label.len()..].trim_start_matches([' ', '\t', '*']);
        let value = rest.strip_prefix(':').filter(|_| is_label)?;
        Some((field, value.trim_start_matches('*').trim()))
    })
}

/// A form that was copied with its code fence has the closing fence in its last value.
fn without_fence(value: &str) -> &str {
    value.strip_suffix("```").unwrap_or(value)
}

/// The words of a value in lower case, without punctuation.
fn bare(value: &str) -> String {
    let words = value.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

fn says_nothing(bare: &str) -> bool {
    matches!(bare, "n a" | "na" | "none" | "nothing" | "not applicable" | "todo" | "tbd" | "unknown" | "null" | "xxx")
}

fn is_placeholder(value: &str, placeholder: &str) -> bool {
    let (value, placeholder) = (bare(value), bare(placeholder));
    value == placeholder
}
