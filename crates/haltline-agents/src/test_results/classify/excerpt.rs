//! Cuts the lines that a classification rests on out of an output: whole lines, in order, no more than a person reads.

const LINES_MAX: usize = 60;
const BYTES_MAX: usize = 8 << 10;
/// Longer lines are cut.
const LINE_BYTES_MAX: usize = 1 << 10;
/// How many lines from the end are shown when no better place is known.
pub(super) const TAIL_LINES: usize = 20;

/// The lines from `from` to the next boundary.
pub(super) fn excerpt(lines: &[impl AsRef<str>], from: usize, boundaries: &[usize]) -> String {
    let end = boundaries.iter().copied().filter(|boundary| *boundary > from).min().unwrap_or(lines.len());
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
