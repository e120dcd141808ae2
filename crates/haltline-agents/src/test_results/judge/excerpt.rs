//! The lines of an output that a verdict rests on: whole lines, in order, and not more than can be read.

/// The most lines of an excerpt.
const LINES_MAX: usize = 60;
/// The most bytes of an excerpt.
const BYTES_MAX: usize = 8 << 10;
/// The most bytes of a line; the rest of a longer one is left out.
const LINE_BYTES_MAX: usize = 1 << 10;
/// How many lines from the end are shown where nothing better is known.
pub(super) const TAIL_LINES: usize = 20;

/// The lines from `from` to the next mark.
pub(super) fn excerpt(lines: &[impl AsRef<str>], from: usize, marks: &[usize]) -> String {
    let end = marks.iter().copied().filter(|mark| *mark > from).min().unwrap_or(lines.len());
    let lines = lines.get(from..end.min(lines.len())).unwrap_or_default();
    let mut kept = String::new();
    for line in lines.iter().take(LINES_MAX) {
        let line = line.as_ref();
        let line = &line[..line.floor_char_boundary(LINE_BYTES_MAX)];
        if kept.len() + line.len() + 1 > BYTES_MAX {
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept.trim_matches('\n').to_owned()
}
