//! Which part of a contract's file is about a slice: the sections whose headings name its contracts, else its own
//! section, else all of it. Which one it was is told in a note.

use std::ops::Range;

/// What is looked for in a file.
pub enum Wanted<'wanted> {
    /// All of it.
    Whole,
    /// The sections of these contracts, else of this slice, else all.
    Of {
        /// The contracts' ids, as the graph names them.
        ids: &'wanted [&'wanted str],
        /// The slice's id.
        slice: &'wanted str,
    },
    /// The sections of these contracts and nothing else.
    Only {
        /// The contracts' ids.
        ids: &'wanted [&'wanted str],
    },
}

/// A part of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// The file, and the section where it is one.
    pub name: String,
    /// Its lines, from 0.
    pub lines: Range<usize>,
}

/// The wanted parts of a text.
pub fn parts(lines: &[&str], name: &str, wanted: &Wanted<'_>, notes: &mut Vec<String>) -> Vec<Part> {
    let whole = || vec![Part { name: name.to_owned(), lines: 0..lines.len() }];
    let (ids, slice) = match wanted {
        Wanted::Whole => return whole(),
        Wanted::Of { ids, slice } => (*ids, Some(*slice)),
        Wanted::Only { ids } => (*ids, None),
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
            notes.push(format!("{name}: no heading names {named}, so all of it is taken"));
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

/// Lines that begin with `#`, except within code, where that is a comment.
fn headings<'text>(lines: &[&'text str]) -> Vec<Heading<'text>> {
    let mut headings = Vec::new();
    let mut fence = Fence::default();
    for (at, line) in lines.iter().enumerate() {
        let is_code = fence.holds(line);
        let level = line.len() - line.trim_start_matches('#').len();
        if !is_code && (1..=6).contains(&level) && line[level..].starts_with([' ', '\t']) {
            headings.push(Heading { at, level, text: line[level..].trim().trim_end_matches('#').trim_end() });
        }
    }
    headings
}

/// Whether one is within fenced code.
#[derive(Default)]
pub struct Fence {
    open: Option<(char, usize)>,
}

impl Fence {
    /// Takes the next line; whether it is code, the fences themselves included.
    pub fn holds(&mut self, line: &str) -> bool {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let length = mark.map_or(0, |mark| line.len() - line.trim_start_matches(mark).len());
        match (self.open, mark) {
            (Some((open, least)), Some(mark))
                if mark == open && length >= least && line[length..].trim().is_empty() =>
            {
                self.open = None;
                true
            }
            (Some(_), _) => true,
            (None, Some(mark)) if length >= 3 => {
                self.open = Some((mark, length));
                true
            }
            (None, _) => false,
        }
    }
}

/// The sections whose heading names `id`, each up to the next heading of its level or above.
fn sections(headings: &[Heading<'_>], end: usize, name: &str, id: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        // A section within one that is taken already is no further part.
        if !names(heading.text, id) || parts.last().is_some_and(|part| part.lines.contains(&heading.at)) {
            continue;
        }
        let next = headings[at + 1..].iter().find(|next| next.level <= heading.level);
        let lines = heading.at..next.map_or(end, |next| next.at);
        parts.push(Part { name: format!("{name}, {id}"), lines });
    }
    parts
}

/// Whether the id stands in a text as a word of its own: `C-1` is not in `C-12`.
fn names(text: &str, id: &str) -> bool {
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

    fn taken(wanted: &Wanted<'_>) -> (Vec<(String, String)>, Vec<String>) {
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
        let (parts, notes) = taken(&Wanted::Of { ids: &["C-1", "C-12"], slice: "S-2" });
        assert_eq!(parts, [one.clone(), twelve]);
        assert_eq!(notes, ["only these sections were read: X.md, C-1; X.md, C-12"]);
        let (parts, notes) = taken(&Wanted::Only { ids: &["C-1", "C-9"] });
        assert_eq!(parts, [one]);
        assert_eq!(notes, ["X.md: no heading names C-9", "only these sections were read: X.md, C-1"]);
    }

    #[test]
    fn without_them_the_slices_section_and_then_the_whole_file() {
        let (parts, _) = taken(&Wanted::Of { ids: &["C-9"], slice: "S-2" });
        assert_eq!(parts, [("X.md, S-2".to_owned(), "## S-2|four".to_owned())]);
        let (parts, notes) = taken(&Wanted::Of { ids: &["C-9"], slice: "S-3" });
        assert_eq!((parts.len(), parts[0].1.lines().count()), (1, 1));
        assert_eq!(notes, ["X.md: no heading names C-9 or S-3, so all of it is taken"]);
        assert_eq!(taken(&Wanted::Only { ids: &["C-9"] }), (Vec::new(), Vec::new()));
        assert_eq!(taken(&Wanted::Whole).0[0].1, TEXT.replace('\n', "|"));
    }
}
