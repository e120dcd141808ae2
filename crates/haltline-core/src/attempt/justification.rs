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
    /// The test that needs the change.
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
                problems.push(format!("{label} still holds the form's own words."));
            }
        }
        if problems.is_empty() && !is_path(&self.file) {
            problems.push(format!("File names {}, but {} is to be changed.", shorten(&self.file), shorten(path)));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn honest() -> Justification {
        Justification {
            file: "lib/money/round.py".to_owned(),
            failing_test: "test_invoice_total_is_rounded_once".to_owned(),
            reason: "The rounding happens in here,\nbefore the invoice sees the amount.".to_owned(),
            relationship: "The contract's amounts are made by this function only".to_owned(),
        }
    }

    fn problems(justification: &Justification) -> Vec<String> {
        justification.problems("lib/money/round.py", |file| file == "lib/money/round.py")
    }

    #[test]
    fn a_rendered_form_is_parsed_back() {
        assert_eq!(Justification::parse_all(&honest().render()), vec![honest()]);
        assert_eq!(problems(&honest()), Vec::<String>::new());
    }

    #[test]
    fn labels_are_parsed_in_any_case_and_markup() {
        for text in [
            "file: a\nfailing test: t\nreason: r\nrelationship: s\n",
            "FILE: a\nFAILING TEST: t\nREASON: r\nRELATIONSHIP: s",
            "- **File**: `a`\n- **Failing test**: t\n- **Reason**: r\n- **Relationship**: s\n",
            "**File:** a\n**Failing test:** t\n**Reason:** r\n**Relationship:** s\n",
            "```\r\nFile: a\r\nFailing test: t\r\nReason: r\r\nRelationship: s\r\n```\r\n",
            "failing_test: t\nfile : a\nRelationship:\n  s\nReason:\n\n  r\n",
            "I have to.\n\n> File: a\n> Failing test: t\n> Reason: r\n> Relationship: s\n",
        ] {
            let [file, failing_test, reason, relationship] = ["a", "t", "r", "s"].map(str::to_owned);
            let expected = Justification { file, failing_test, reason, relationship };
            assert_eq!(Justification::parse_all(text), vec![expected], "{text:?}");
        }
    }

    #[test]
    fn one_text_may_hold_several_forms_or_none() {
        let mut other = honest();
        other.file = "b".to_owned();
        let text = format!("{}\n\n{}", honest().render(), other.render());
        assert_eq!(Justification::parse_all(&text), vec![honest(), other]);
        for text in ["", "no form", "Filed: a", "The file: a", "\u{feff}", "é: x"] {
            assert_eq!(Justification::parse_all(text), Vec::new(), "{text:?}");
        }
    }

    #[test]
    fn the_empty_form_has_a_problem_in_each_field() {
        let form = form("lib/money/round.py");
        let [empty] = Justification::parse_all(&form).try_into().expect("one form");
        assert_eq!(
            problems(&empty),
            [
                "Failing test still holds the form's own words.",
                "Reason still holds the form's own words.",
                "Relationship still holds the form's own words.",
            ]
        );
    }

    #[test]
    fn obvious_defects_are_named() {
        let with = |change: fn(&mut Justification)| {
            let mut justification = honest();
            change(&mut justification);
            problems(&justification)
        };
        assert_eq!(with(|form| form.reason = " \n".to_owned()), ["Reason is empty."]);
        assert_eq!(with(|form| form.reason = "--- ".to_owned()), ["Reason is empty."]);
        assert_eq!(with(|form| form.failing_test = "N/A".to_owned()), [r#"Failing test says only "N/A"."#]);
        assert_eq!(with(|form| form.relationship = form.reason.clone()), ["Relationship repeats Reason."]);
        assert_eq!(
            with(|form| form.file = "lib/other.py".to_owned()),
            [r#"File names "lib/other.py", but "lib/money/round.py" is to be changed."#]
        );
        assert_eq!(problems(&Justification::default()).len(), 4);
    }
}
