//! The writer of all text output: lines, labelled fields, headings, colour, and what makes a text fit.
//!
//! Only a page adds colour. It marks where a style begins and ends with characters that no text may contain, and
//! removes them from every text that it is given; [`paint`] turns the marks into escape sequences after everything else
//! was escaped. So a text of an agent can neither contain an escape sequence nor a style.

use std::fmt::Display;

use anstyle::{AnsiColor, Style as AnsiStyle};

use super::escape_line;
use super::screen::{PLAIN_WIDTH, screen};

/// Sentences wrap here even where the terminal is wider: longer lines are hard to read.
const SENTENCE_WIDTH_MAX: usize = 100;
/// A text that is cut keeps at least this many columns.
const FIT_MIN: usize = 12;

/// Ends the current style. The marks are Unicode noncharacters, which no text may contain.
const STYLE_END: char = '\u{fdd0}';

/// How a part of a page looks on a terminal with colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Heading,
    /// OPEN, and removed lines.
    Bad,
    /// HALF_OPEN.
    Warning,
    /// CLOSED, and added lines.
    Good,
    /// Details that matter less.
    Dim,
}

impl Style {
    const ALL: [Style; 5] = [Style::Heading, Style::Bad, Style::Warning, Style::Good, Style::Dim];

    /// The style of a circuit's state; `None` if the word is no state.
    pub fn of_state(word: &str) -> Option<Self> {
        match word {
            "OPEN" | "DISPUTED" => Some(Style::Bad),
            "HALF_OPEN" | "HALF-OPEN" => Some(Style::Warning),
            "CLOSED" => Some(Style::Good),
            _other => None,
        }
    }

    fn mark(self) -> char {
        match self {
            Style::Heading => '\u{fdd1}',
            Style::Bad => '\u{fdd2}',
            Style::Warning => '\u{fdd3}',
            Style::Good => '\u{fdd4}',
            Style::Dim => '\u{fdd5}',
        }
    }

    fn ansi(self) -> AnsiStyle {
        match self {
            Style::Heading => AnsiStyle::new().bold(),
            Style::Bad => AnsiColor::Red.on_default().bold(),
            Style::Warning => AnsiColor::Yellow.on_default(),
            Style::Good => AnsiColor::Green.on_default(),
            Style::Dim => AnsiStyle::new().dimmed(),
        }
    }
}

/// Turns the marks of a page into escape sequences. A page without colour has none.
pub fn paint(text: &str) -> String {
    if !text.contains(is_mark) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 64);
    for letter in text.chars() {
        match Style::ALL.into_iter().find(|style| style.mark() == letter) {
            Some(style) => out.push_str(&style.ansi().render().to_string()),
            None if letter == STYLE_END => out.push_str("\u{1b}[0m"),
            None => out.push(letter),
        }
    }
    out
}

/// The text of a page without its marks.
pub fn without_marks(text: &str) -> String {
    text.replace(is_mark, "")
}

fn is_mark(letter: char) -> bool {
    matches!(letter, STYLE_END..='\u{fdef}')
}

/// Text that grows line by line. Its labels share one width.
pub struct Page {
    text: String,
    label_width: usize,
    width: usize,
    is_colored: bool,
}

impl Page {
    /// An empty page whose labels have this width.
    pub fn new(label_width: usize) -> Self {
        let screen = screen();
        Self { text: String::new(), label_width, width: screen.width, is_colored: screen.is_colored }
    }

    /// Adds text as it is, without marks.
    fn push(&mut self, text: &str) {
        if text.contains(is_mark) {
            self.text.extend(text.chars().map(|letter| if is_mark(letter) { '\u{fffd}' } else { letter }));
        } else {
            self.text.push_str(text);
        }
    }

    /// Adds text in a style.
    fn push_styled(&mut self, style: Style, text: &str) {
        if self.is_colored {
            self.text.push(style.mark());
            self.push(text);
            self.text.push(STYLE_END);
        } else {
            self.push(text);
        }
    }

    /// Adds text; if it starts with the name of a state, that name has the state's colour.
    fn push_with_state(&mut self, text: &str) {
        let start = text.len() - text.trim_start().len();
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
        let end = text[start..].find(|letter| !is_part(letter)).map_or(text.len(), |length| start + length);
        match Style::of_state(&text[start..end]) {
            Some(style) => {
                self.push(&text[..start]);
                self.push_styled(style, &text[start..end]);
                self.push(&text[end..]);
            }
            None => self.push(text),
        }
    }

    /// Adds a line in one style.
    pub fn styled(&mut self, style: Style, line: impl Display) {
        self.push_styled(style, &line.to_string());
        self.text.push('\n');
    }

    /// Adds a blank line and a section's title.
    pub fn section(&mut self, title: impl Display) {
        self.blank();
        self.styled(Style::Heading, title);
    }

    /// Adds another page with its styles.
    pub fn append(&mut self, other: Page) {
        self.text.push_str(&other.text);
    }

    /// A page that begins with a heading and a rule under it.
    pub fn titled(title: impl Display, label_width: usize) -> Self {
        let mut page = Self::new(label_width);
        page.heading(title);
        page
    }

    /// Adds a heading with a rule under it.
    pub fn heading(&mut self, title: impl Display) {
        let title = title.to_string();
        self.styled(Style::Heading, &title);
        self.line("-".repeat(title.chars().count().min(self.width)));
    }

    /// Adds a line, or several that are separated by newlines.
    pub fn line(&mut self, line: impl Display) {
        self.push_with_state(&line.to_string());
        self.text.push('\n');
    }

    pub fn lines(&mut self, lines: impl IntoIterator<Item: Display>) {
        lines.into_iter().for_each(|line| self.line(line));
    }

    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Adds a text that brings its own newlines.
    pub fn block(&mut self, block: impl AsRef<str>) {
        self.push(block.as_ref());
    }

    /// Adds a label and a text that stays on the label's line, however long it is.
    pub fn row(&mut self, label: &str, text: impl Display) {
        let width = self.label_width;
        self.push(&format!("{label:<width$}"));
        self.line(text);
    }

    /// Adds a row for each text; only the first has the label. An `Option` is at most one row.
    pub fn rows(&mut self, label: &str, texts: impl IntoIterator<Item: Display>) {
        for (index, text) in texts.into_iter().enumerate() {
            self.row(if index == 0 { label } else { "" }, text);
        }
    }

    /// Adds a label and a sentence, which wraps under itself.
    pub fn field(&mut self, label: &str, text: impl Display) {
        let width = self.label_width;
        self.wrapped(&format!("{label:<width$}"), text);
    }

    /// Adds a field for each text; only the first has the label. An `Option` is at most one field.
    pub fn fields(&mut self, label: &str, texts: impl IntoIterator<Item: Display>) {
        for (index, text) in texts.into_iter().enumerate() {
            self.field(if index == 0 { label } else { "" }, text);
        }
    }

    /// Adds a field with the texts in one sentence, if there are any.
    pub fn listed<T: AsRef<str>>(&mut self, label: &str, texts: &[T]) {
        if !texts.is_empty() {
            self.field(label, join(texts));
        }
    }

    /// Adds a sentence without a label.
    pub fn sentence(&mut self, text: impl Display) {
        self.wrapped("", text);
    }

    /// Breaks a sentence into lines that fit the screen; later lines are indented to the width of `start`.
    pub fn wrapped(&mut self, start: &str, text: impl Display) {
        let width = self.width.min(SENTENCE_WIDTH_MAX);
        let indent = start.chars().count();
        self.push(start);
        let mut column = indent;
        for (index, word) in text.to_string().split_whitespace().enumerate() {
            let length = word.chars().count();
            if column > indent && column + 1 + length > width {
                self.text.push('\n');
                self.text.push_str(&" ".repeat(indent));
                column = indent;
            } else if column > indent {
                self.text.push(' ');
                column += 1;
            }
            if index == 0 {
                self.push_with_state(word)
            } else {
                self.push(word)
            }
            column += length;
        }
        self.text.push('\n');
    }

    pub fn finish(self) -> String {
        self.text
    }
}

/// The texts, separated by commas.
pub fn join<T: AsRef<str>>(texts: &[T]) -> String {
    texts.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
}

/// Makes a text fit on one line: escapes it for the terminal and cuts it with an ellipsis. `columns` is what the text
/// may take on a screen of 80 columns; it gets what a wider screen has more, and gives up what a narrower one lacks.
pub fn fit(text: &str, columns: usize) -> String {
    cut(text, (columns + screen().width).saturating_sub(PLAIN_WIDTH).max(FIT_MIN.min(columns)))
}

/// Makes a text fit into a column of this width, however wide the screen is.
pub fn cut(text: &str, width: usize) -> String {
    let shown = escape_line(text);
    if shown.chars().count() <= width {
        return shown.into_owned();
    }
    let mut cut: String = shown.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Formats a number with its noun: `1 violation`, `2 violations`.
pub fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_or_odd_texts_fit_on_one_line() {
        assert_eq!(fit("short", 10), "short");
        assert_eq!(fit("0123456789abc", 10), "012345678…");
        assert_eq!(fit("a\nb\u{1b}[31m", 20), "a\\nb\\u{1b}[31m");
    }

    #[test]
    fn only_the_page_adds_styles_and_foreign_marks_are_removed() {
        let mut page = Page { is_colored: true, ..Page::new(9) };
        page.row("State", "OPEN, cooldown 8 s");
        page.line("  HALF_OPEN constraint/a");
        page.line("OPENED by \u{fdd2}an agent\u{fdd0} \u{1b}[31m");
        page.styled(Style::Good, "+ \u{fdd3}");
        let text = paint(&super::super::escape_lines(&page.finish()));
        assert_eq!(
            text,
            "State    \u{1b}[1m\u{1b}[31mOPEN\u{1b}[0m, cooldown 8 s\n  \u{1b}[33mHALF_OPEN\u{1b}[0m constraint/a\n\
             OPENED by \u{fffd}an agent\u{fffd} \\u{1b}[31m\n\u{1b}[32m+ \u{fffd}\u{1b}[0m\n"
        );
    }

    #[test]
    fn a_page_without_colour_has_no_mark() {
        let mut page = Page::titled("Title", 9);
        page.row("State", "OPEN");
        page.section("More");
        assert_eq!(paint(&page.finish()), "Title\n-----\nState    OPEN\n\nMore\n");
    }

    #[test]
    fn sentences_wrap_at_eighty_columns_under_their_label() {
        let mut page = Page::new(9);
        page.field("Reason:", "word ".repeat(30));
        let text = page.finish();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("         word")), "{text}");
    }
}
