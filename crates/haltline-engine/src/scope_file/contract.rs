//! Finds the part of a contract file that is about a slice: the sections whose headings name its contracts, else the
//! slice's own section, else the whole file. A note says which one was used.

use std::ops::Range;

pub enum WantedSections<'wanted> {
    Whole,
    /// The sections of these contracts, else of this slice, else the whole file.
    PreferContracts {
        /// The contracts' ids, as the graph names them.
        ids: &'wanted [&'wanted str],
        slice: &'wanted str,
    },
    /// The sections of these contracts and nothing else.
    OnlyContracts {
        ids: &'wanted [&'wanted str],
    },
}

#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// The name of the file, and of the section if it is one.
    pub name: String,
    /// The lines, starting at 0.
    pub lines: Range<usize>,
}

pub fn parts(lines: &[&str], name: &str, wanted: &WantedSections<'_>, notes: &mut Vec<String>) -> Vec<Part> {
    let whole = || vec![Part { name: name.to_owned(), lines: 0..lines.len() }];
    let (ids, slice) = match wanted {
        WantedSections::Whole => return whole(),
        WantedSections::PreferContracts { ids, slice } => (*ids, Some(*slice)),
        WantedSections::OnlyContracts { ids } => (*ids, None),
    };
    let headings = headings(lines);
    let section = |id: &str| sections(&headings, lines.len(), name, id);
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for id in ids {
        let parts = section(id);
        if parts.is_empty() {
            missing.push(*id);
        }
        found.extend(parts);
    }
    if !found.is_empty() && !missing.is_empty() {
        notes.push(format!("{name}: no heading names {}", missing.join(", ")));
    }
    if found.is_empty()
        && let Some(slice) = slice
    {
        found = section(slice);
        if found.is_empty() {
            let named = if ids.is_empty() { slice.to_owned() } else { format!("{} or {slice}", ids.join(", ")) };
            notes.push(format!("{name}: no heading names {named}, so haltline uses the whole file"));
            return whole();
        }
    }
    if !found.is_empty() {
        let names: Vec<&str> = found.iter().map(|part| part.name.as_str()).collect();
        notes.push(format!("only these sections were read: {}", names.join("; ")));
    }
    found
}

/// A line that opens a section.
struct Heading<'text> {
    at: usize,
    level: usize,
    text: &'text str,
}

/// Lines that begin with `#`, except in code, where that is a comment.
fn headings<'text>(lines: &[&'text str]) -> Vec<Heading<'text>> {
    let mut headings = Vec::new();
    let mut fence = Fence::default();
    for (at, line) in lines.iter().enumerate() {
        let is_code = fence.next_is_code(line);
        let level = line.len() - line.trim_start_matches('#').len();
        if !is_code && (1..=6).contains(&level) && line[level..].starts_with([' ', '\t']) {
            headings.push(Heading { at, level, text: line[level..].trim().trim_end_matches('#').trim_end() });
        }
    }
    headings
}

/// Tracks whether the current line is in fenced code.
#[derive(Default)]
pub struct Fence {
    open: Option<(char, usize)>,
}

impl Fence {
    /// Reads the next line. Returns true if it is code, including the fences themselves.
    pub fn next_is_code(&mut self, line: &str) -> bool {
        let line = line.trim_start();
        let marker = line.chars().next().filter(|marker| matches!(marker, '`' | '~'));
        let length = marker.map_or(0, |marker| line.len() - line.trim_start_matches(marker).len());
        match (self.open, marker) {
            (Some((open, least)), Some(marker))
                if marker == open && length >= least && line[length..].trim().is_empty() =>
            {
                self.open = None;
                true
            }
            (Some(_), _) => true,
            (None, Some(marker)) if length >= 3 => {
                self.open = Some((marker, length));
                true
            }
            (None, _) => false,
        }
    }
}

/// The sections whose heading mentions `id`, each up to the next heading of its level or above.
fn sections(headings: &[Heading<'_>], end: usize, name: &str, id: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        // A section inside one that is already taken is no further part.
        if !mentions(heading.text, id) || parts.last().is_some_and(|part| part.lines.contains(&heading.at)) {
            continue;
        }
        let next = headings[at + 1..].iter().find(|next| next.level <= heading.level);
        let lines = heading.at..next.map_or(end, |next| next.at);
        parts.push(Part { name: format!("{name}, {id}"), lines });
    }
    parts
}

/// True if the text contains the id as a word: `C-1` is not in `C-12`.
fn mentions(text: &str, id: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    !id.is_empty()
        && text.match_indices(id).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + id.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# All\nC-1\n## S-1: Parcels\nintro\n### C-1: Weigh\none\n```sh\n# C-1 no heading\n```\n#### More\ntwo\n### C-12: Ship\nthree\n## S-2\nfour";

    fn taken(wanted: &WantedSections<'_>) -> (Vec<(String, String)>, Vec<String>) {
        let lines: Vec<&str> = TEXT.lines().collect();
        let mut notes = Vec::new();
        let parts = parts(&lines, "X.md", wanted, &mut notes);
        let parts = parts.into_iter().map(|part| (part.name, lines[part.lines].join("|")));
        (parts.collect(), notes)
    }

    #[test]
    fn only_the_sections_that_name_the_contracts_are_taken() {
        let one = ("X.md, C-1".to_owned(), "### C-1: Weigh|one|```sh|# C-1 no heading|```|#### More|two".to_owned());
        let twelve = ("X.md, C-12".to_owned(), "### C-12: Ship|three".to_owned());
        let (parts, notes) = taken(&WantedSections::PreferContracts { ids: &["C-1", "C-12"], slice: "S-2" });
        assert_eq!(parts, [one.clone(), twelve]);
        assert_eq!(notes, ["only these sections were read: X.md, C-1; X.md, C-12"]);
        let (parts, notes) = taken(&WantedSections::OnlyContracts { ids: &["C-1", "C-9"] });
        assert_eq!(parts, [one]);
        assert_eq!(notes, ["X.md: no heading names C-9", "only these sections were read: X.md, C-1"]);
    }

    #[test]
    fn without_them_the_slices_section_and_then_the_whole_file() {
        let (parts, _) = taken(&WantedSections::PreferContracts { ids: &["C-9"], slice: "S-2" });
        assert_eq!(parts, [("X.md, S-2".to_owned(), "## S-2|four".to_owned())]);
        let (parts, notes) = taken(&WantedSections::PreferContracts { ids: &["C-9"], slice: "S-3" });
        assert_eq!((parts.len(), parts[0].1.lines().count()), (1, 1));
        assert_eq!(notes, ["X.md: no heading names C-9 or S-3, so haltline uses the whole file"]);
        assert_eq!(taken(&WantedSections::OnlyContracts { ids: &["C-9"] }), (Vec::new(), Vec::new()));
        assert_eq!(taken(&WantedSections::Whole).0[0].1, TEXT.replace('\n', "|"));
    }
}
