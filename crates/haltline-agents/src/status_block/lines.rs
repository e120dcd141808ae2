//! The lines of a status block without their decoration, and the fields in them.
//!
//! Agents put blocks into quotes and code fences, write keys in bold, and lose or add indentation. The meaning of a
//! field is up to the form of the block.

/// A line without quote markers, trailing white space and code fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub indent: usize,
    /// The text without white space on either side.
    pub text: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    /// `KEY: VALUE`; a key inside a section is `SECTION.KEY`.
    Field(String, &'a str),
    /// `- TEXT` below a key.
    Item(String, &'a str),
}

/// Longer texts before a colon are not keys.
const KEY_BYTES_MAX: usize = 40;

impl<'a> Line<'a> {
    pub fn all(text: &'a str) -> Vec<Self> {
        text.lines().map(Self::parse).collect()
    }

    fn parse(line: &'a str) -> Self {
        let mut rest = line.trim_end();
        while let Some(quoted) = rest.trim_start().strip_prefix('>') {
            rest = quoted.strip_prefix(' ').unwrap_or(quoted);
        }
        let text = rest.trim_start();
        let indent = rest.len() - text.len();
        if text.starts_with("```") || text.starts_with("~~~") {
            Self { indent, text: "" }
        } else {
            Self { indent, text }
        }
    }

    /// The block that this line begins (`true`) or ends (`false`).
    pub fn delimiter(&self) -> Option<(&'static str, bool)> {
        let text = self.text.trim_matches(['*', '`']);
        let name = text.strip_prefix("---")?.strip_suffix("---")?;
        match name {
            "PRP_PHASE_STATUS" => Some(("PRP_PHASE_STATUS", true)),
            "END_PRP_PHASE_STATUS" => Some(("PRP_PHASE_STATUS", false)),
            "RALPH_STATUS" => Some(("RALPH_STATUS", true)),
            "END_RALPH_STATUS" => Some(("RALPH_STATUS", false)),
            _ => None,
        }
    }

    /// The key and the value, if the line is a field.
    fn field(&self) -> Option<(String, &'a str)> {
        let (key, value) = self.text.split_once(':')?;
        // `**KEY:** value`, `**KEY**: value` and `` `KEY`: value `` are fields too.
        let is_bold = key.starts_with("**") && !key[2..].contains("**");
        let value = if is_bold { value.strip_prefix("**").unwrap_or(value) } else { value };
        let key = key.trim_matches(['*', '`', ' ']);
        let is_key = !key.is_empty()
            && key.len() <= KEY_BYTES_MAX
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_- ".contains(&byte));
        is_key.then(|| (key.to_ascii_uppercase().replace(['-', ' '], "_"), value.trim()))
    }
}

/// The fields and list items of a block. A field belongs to the section above it when it is indented below it, or
/// when it is not a top-level field of the form (`is_own`): indentation is what agents lose first.
pub(super) fn entries<'a>(lines: &[Line<'a>], is_own: fn(&str) -> bool) -> Vec<Entry<'a>> {
    let mut found = Vec::new();
    let mut section: Option<(String, usize)> = None;
    for line in lines {
        if let Some(item) = line.text.strip_prefix("- ").or_else(|| line.text.strip_prefix("* ")) {
            if let Some((name, _)) = &section {
                found.push(Entry::Item(name.clone(), item.trim()));
            }
            continue;
        }
        let Some((key, value)) = line.field() else { continue };
        let is_below = section.as_ref().is_some_and(|(_, indent)| line.indent > *indent || !is_own(&key));
        match &section {
            Some((name, _)) if is_below => found.push(Entry::Field(format!("{name}.{key}"), value)),
            Some(_) | None => {
                section = value.is_empty().then(|| (key.clone(), line.indent));
                found.push(Entry::Field(key, value));
            }
        }
    }
    found
}

/// A single word or number without emphasis, and without a remark in brackets or after `#`.
pub(super) fn bare_value(value: &str) -> &str {
    let end = [" (", " #"].iter().filter_map(|remark| value.find(remark)).min().unwrap_or(value.len());
    value[..end].trim_matches(['*', '`', '"', '\'', ' '])
}

/// The value with this name, in upper or lower case; `-` and a space count as `_`.
pub(super) fn parse_name<T: Copy>(value: &str, names: &[(&'static str, T)]) -> Option<T> {
    let value = bare_value(value).replace(['-', ' '], "_");
    names.iter().find(|(name, _)| name.eq_ignore_ascii_case(&value)).map(|&(_, meaning)| meaning)
}

pub(super) fn name_of<T: Copy + PartialEq>(value: T, names: &[(&'static str, T)]) -> &'static str {
    names.iter().find(|(_, meaning)| *meaning == value).map(|(name, _)| *name).expect("every value has a name")
}

pub(super) fn parse_flag(value: &str) -> Option<bool> {
    parse_name(value, &[("true", true), ("false", false), ("yes", true), ("no", false)])
}

/// A whole number; the 3 in `3/10`, the 60 in `60%`.
pub(super) fn parse_whole(value: &str) -> Option<u64> {
    let value = bare_value(value);
    let value = value.strip_suffix('%').unwrap_or(value);
    let (number, of) = match value.split_once('/') {
        Some((number, of)) => (number.trim(), Some(of.trim())),
        None => (value, None),
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(number) && of.is_none_or(is_number)).then(|| number.parse().ok()).flatten()
}

/// A text; `None` if it is empty.
pub(super) fn parse_text(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.to_owned())
}

/// True when this value declares a list as empty.
pub(super) fn is_none(value: &str) -> bool {
    let value = bare_value(value);
    value.eq_ignore_ascii_case("none") || value == "[]"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        let own = |key: &str| ["PHASE", "TESTS", "FILES"].contains(&key);
        let each = entries(&Line::all(text), own).into_iter().map(|entry| match entry {
            Entry::Field(key, value) => format!("{key}={value}"),
            Entry::Item(list, text) => format!("{list}+{text}"),
        });
        each.collect()
    }

    #[test]
    fn quotes_fences_bold_keys_and_white_space_are_passed_over() {
        let text = "> ```yaml\r\n> **PHASE:** RED  \r\n> > `TESTS`:\r\n>\r\n>   total: 3\r\n> - one\r\n> ```\r\n";
        assert_eq!(keys(text), ["PHASE=RED", "TESTS=", "TESTS.TOTAL=3", "TESTS+one"]);
    }

    #[test]
    fn a_section_without_indentation_keeps_its_fields() {
        assert_eq!(
            keys("TESTS:\nTOTAL: 3\nFILES:\n  CREATED: 1\nPHASE: RED\nODD: 1"),
            ["TESTS=", "TESTS.TOTAL=3", "FILES=", "FILES.CREATED=1", "PHASE=RED", "ODD=1"]
        );
        // The whole block is indented.
        assert_eq!(keys("  TESTS:\n    TOTAL: 3\n  PHASE: RED"), ["TESTS=", "TESTS.TOTAL=3", "PHASE=RED"]);
    }

    #[test]
    fn prose_is_not_a_field() {
        assert!(keys("no field\n:x\nwhat (this) is: nothing").is_empty());
    }

    #[test]
    fn numbers_and_flags_are_whole_or_nothing() {
        for (value, number) in [("3", Some(3)), ("3/10", Some(3)), ("60%", Some(60)), ("**4**", Some(4))] {
            assert_eq!(parse_whole(value), number, "{value}");
        }
        for value in ["", "three", "-1", "3.5", "3/", "3/x", "/3", "99999999999999999999", "1 2", "+1"] {
            assert_eq!(parse_whole(value), None, "{value}");
        }
        assert_eq!(
            (parse_flag("TRUE"), parse_flag("`false`"), parse_flag("true (all done)")),
            (Some(true), Some(false), Some(true))
        );
        assert_eq!((parse_flag("true | false"), parse_flag(""), parse_flag("maybe")), (None, None, None));
    }
}
