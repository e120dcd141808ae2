//! Reads files of rules: paragraphs with a title that names the rules. Reports expected and actual results together.

use std::path::{Path, PathBuf};

/// A title and its lines, each with its number in the file.
pub struct Paragraph<'a> {
    pub number: usize,
    pub title: &'a str,
    pub lines: Vec<(usize, &'a str)>,
}

/// Plays every paragraph of every file of a breaker.
pub fn play_all(breaker: &str, rules: &[&str], play: impl Fn(&Path, &Paragraph<'_>) -> Result<(), String>) {
    let (mut failures, mut count) = (Vec::new(), 0);
    for path in files(breaker) {
        let text = read(&path);
        let paragraphs = match split(&text, rules) {
            Ok(paragraphs) => paragraphs,
            Err((number, problem)) => {
                failures.push(format!("{}:{number}: {problem}", path.display()));
                continue;
            }
        };
        assert!(!paragraphs.is_empty(), "{}: no paragraph", path.display());
        count += paragraphs.len();
        failures.extend(paragraphs.iter().filter_map(|paragraph| play(&path, paragraph).err()));
    }
    let failed = failures.len();
    assert!(failures.is_empty(), "{failed} of {count} paragraphs fail\n\n{}\n", failures.join("\n\n"));
}

/// The rules that no paragraph of a breaker names.
pub fn missing<'a>(breaker: &str, rules: &[&'a str]) -> Vec<&'a str> {
    let texts: Vec<String> = files(breaker).iter().map(|path| read(path)).collect();
    let paragraphs = texts.iter().flat_map(|text| split(text, rules).unwrap_or_default());
    let filed: Vec<&str> = paragraphs.flat_map(|paragraph| rules_of(&paragraph)).collect();
    rules.iter().copied().filter(|rule| !filed.contains(rule)).collect()
}

/// Plays a paragraph line by line. The error shows it up to the line that fails, with the actual result.
pub fn play_lines(
    path: &Path,
    paragraph: &Paragraph<'_>,
    mut play: impl FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    let file = path.file_name().unwrap_or_default().display();
    let mut shown = format!("{file}:{}: # {}", paragraph.number, paragraph.title);
    if paragraph.lines.is_empty() {
        return Err(format!("{shown}\n    no line in this paragraph"));
    }
    for &(number, line) in &paragraph.lines {
        shown.push_str(&format!("\n{file}:{number}: {line}"));
        play(line).map_err(|problem| format!("{shown}\n    {problem}"))?;
    }
    Ok(())
}

/// Plays a file of one paragraph that must fail, and returns the failure.
pub fn failure_of(text: &str, rules: &[&str], play: impl Fn(&Path, &Paragraph<'_>) -> Result<(), String>) -> String {
    match split(text, rules) {
        Ok(paragraphs) => play(Path::new("x.txt"), &paragraphs[0]).expect_err("must fail"),
        Err((number, failure)) => format!("x.txt:{number}: {failure}"),
    }
}

/// The files of rules in a folder of `testdata`.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder);
    let entries = folder.read_dir().expect("the folder with the rules is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.retain(|path| path.file_name().is_some_and(|name| name != "README.txt"));
    files.sort();
    assert!(!files.is_empty(), "no rules in {}", folder.display());
    files
}

#[expect(clippy::disallowed_methods, reason = "the rules are files; only the core itself reads none")]
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file of rules can be read")
}

/// Splits a file into paragraphs. Lines that start with `>` are prose, wherever they are.
pub fn split<'a>(text: &'a str, rules: &[&str]) -> Result<Vec<Paragraph<'a>>, (usize, String)> {
    let mut paragraphs: Vec<Paragraph<'a>> = Vec::new();
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() {
            is_inside = false;
        } else if let Some(title) = line.strip_prefix("# ") {
            let paragraph = Paragraph { number, title, lines: Vec::new() };
            if rules_of(&paragraph).iter().any(|rule| !rules.contains(rule)) || !title.contains(": ") {
                return Err((number, format!("{title:?}: expected rules of SPEC.md and a title, such as C2: ...")));
            }
            paragraphs.push(paragraph);
            is_inside = true;
        } else if !line.starts_with('>') {
            match paragraphs.last_mut() {
                Some(paragraph) if is_inside => paragraph.lines.push((number, line)),
                Some(_) | None => return Err((number, "a line outside a paragraph: expected `# RULE: title`".into())),
            }
        }
    }
    Ok(paragraphs)
}

/// The rules that a title names: `C2, S3: title` names C2 and S3.
fn rules_of<'a>(paragraph: &Paragraph<'a>) -> Vec<&'a str> {
    paragraph.title.split(':').next().unwrap_or_default().split(", ").collect()
}
