//! Finds the paths and packages that a contract's text mentions.
//!
//! Prose is not a list, so this is a heuristic. A word with a slash is a path if it exists, has a file extension or
//! begins like a source tree; in backticks also if its folder exists or the sentence speaks of packages, folders or
//! files. `and/or` has a slash too, and one wrong word would switch the scope lock on with nothing real in scope. URLs,
//! versions, media types, placeholders, absolute paths and `..` never match. Files that a sentence says must not be
//! changed are left out, and so is a whole source tree (`src/`), which no slice can mean.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::contract::Fence;

/// Longer words are not considered, in bytes.
const PATH_BYTES_MAX: usize = 300;
/// How far a path may be after "do not change", and before "is out of scope", in bytes.
const FORBIDDEN_AFTER_BYTES_MAX: usize = 40;
const FORBIDDEN_BEFORE_BYTES_MAX: usize = 24;
/// How long a sentence may be to be checked for such phrases, in bytes: a longer one is no sentence.
const SENTENCE_BYTES_MAX: usize = 2000;
/// How many paths one part may mention.
const FOUND_MAX: usize = 2000;
/// First names of source trees. One of them alone is a whole tree.
const SOURCE_TREES: [&str; 9] = ["src", "lib", "internal", "pkg", "cmd", "app", "apps", "packages", "crates"];
/// Other names that alone are too wide, and too common as words to recognise a path in prose.
const WIDE_FOLDERS: [&str; 5] = ["test", "tests", "docs", "doc", "source"];
/// Where to find a package that is mentioned without its path.
const PACKAGE_HOMES: [&str; 8] = ["", "packages", "crates", "internal", "pkg", "src", "lib", "cmd"];
/// Extensions of files that people write about.
const ENDINGS: &str = " astro bash bats c cc cfg clj cpp cs css csv cts cxx dart erl ex exs fs go gql gradle graphql h hpp hs html ini ipynb java jl js json jsx kt kts less lock lua m md mdx mjs ml mm mts nix php pl pm proto prisma ps1 py pyi r rb rs sass scala scss sh sol sql svelte svg swift tex tf toml ts tsx txt vue xml yaml yml zig ";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mention {
    Path(String),
    /// A path that is not in scope.
    LeftOut {
        path: String,
        why: &'static str,
    },
}

static FORBIDDEN: LazyLock<Regex> = LazyLock::new(|| {
    let verbs = "modif|chang|touch|edit|alter|rewrit";
    let pattern = format!(
        r"(?i)\b(do not|don.t|does not|must not|mustn.t|may not|should not|shall not|cannot|never)\s+(be\s+)?({verbs})|\b(stays?|remains?|left|keep) (untouched|unchanged)|\bout of scope\b|\bread-only\b"
    );
    Regex::new(&pattern).expect("the pattern is a constant")
});
static PACKAGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:package|crate|module)\s+`([A-Za-z0-9_.-]+)`|`([A-Za-z0-9_.-]+)`\s+(?:package|crate|module)\b")
        .expect("the pattern is a constant")
});

static LOCATION_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(packages?|crates?|modules?|folders?|director(y|ies)|paths?|files?|creates?)\b")
        .expect("the pattern is a constant")
});

/// What the lines mention, in order of first mention, each once. A path that one sentence says to change is in scope
/// even if another sentence forbids changing it.
pub fn paths(lines: &[&str], root: &Path) -> Vec<Mention> {
    let mut finder = MentionFinder { root, found: Vec::new(), known: BTreeSet::new() };
    let mut fence = Fence::default();
    let mut is_forbidden = false;
    for line in lines {
        let is_code = fence.next_is_code(line);
        if !is_code && line.starts_with('#') {
            is_forbidden = FORBIDDEN.is_match(line);
        }
        for sentence in sentences(line) {
            finder.scan(&Sentence::new(sentence, is_code, is_forbidden));
        }
        if finder.found.len() >= FOUND_MAX {
            break;
        }
    }
    let taken: BTreeSet<Mention> =
        finder.found.iter().filter(|found| matches!(found, Mention::Path(_))).cloned().collect();
    finder.found.retain(|found| match found {
        Mention::Path(_) => true,
        Mention::LeftOut { path, .. } => !taken.contains(&Mention::Path(path.clone())),
    });
    finder.found
}

fn sentences(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(". ").flat_map(|part| part.split_inclusive("; "))
}

struct Sentence<'text> {
    text: &'text str,
    is_code: bool,
    /// True in a section about what must not be changed.
    is_forbidden: bool,
    /// Where the sentence forbids changes.
    forbidden: Vec<(usize, usize)>,
    mentions_location: bool,
}

impl<'text> Sentence<'text> {
    fn new(text: &'text str, is_code: bool, is_forbidden: bool) -> Self {
        let is_prose = !is_code && text.len() <= SENTENCE_BYTES_MAX;
        let forbidden =
            if is_prose { FORBIDDEN.find_iter(text).map(|at| (at.start(), at.end())).collect() } else { Vec::new() };
        let mentions_location = is_prose && text.contains('`') && LOCATION_WORDS.is_match(text);
        Self { text, is_code, is_forbidden, forbidden, mentions_location }
    }

    /// True if the path at these offsets must not be changed. In a list, that also holds for paths after the first one.
    fn forbids(&self, start: usize, end: usize, last_forbidden: Option<usize>) -> bool {
        let is_behind = |from: usize| start >= from && start - from <= FORBIDDEN_AFTER_BYTES_MAX;
        let is_before = |to: usize| to >= end && to - end <= FORBIDDEN_BEFORE_BYTES_MAX;
        let follows = |from: usize| {
            let words = self.text.get(from..start).unwrap_or("x y").split(|letter: char| !letter.is_alphanumeric());
            words.filter(|word| !word.is_empty()).all(|word| matches!(word, "and" | "or" | "nor"))
        };
        self.is_forbidden
            || self.forbidden.iter().any(|&(from, to)| is_behind(to) || is_before(from))
            || last_forbidden.is_some_and(follows)
    }
}

struct MentionFinder<'root> {
    root: &'root Path,
    found: Vec<Mention>,
    known: BTreeSet<Mention>,
}

impl MentionFinder<'_> {
    fn scan(&mut self, sentence: &Sentence<'_>) {
        let text = sentence.text;
        if text.len() <= SENTENCE_BYTES_MAX && text.contains('`') && !sentence.is_code {
            for captures in PACKAGE.captures_iter(text) {
                let Some(name) = captures.get(1).or_else(|| captures.get(2)) else { continue };
                if let Some(path) = self.package(name.as_str()) {
                    self.push(path, sentence.forbids(name.start(), name.end(), None));
                }
            }
        }
        let mut start = 0;
        let mut last_forbidden = None;
        for (at, part) in text.split('`').enumerate() {
            let is_quoted = at % 2 == 1 && !sentence.is_code;
            let mut offset = start;
            for word in part.split_inclusive(char::is_whitespace).flat_map(|word| word.split_inclusive("](")) {
                let end = offset + word.len();
                let word = word.trim_end_matches("](").trim();
                if let Some(path) = self.path(word, is_quoted, sentence.mentions_location) {
                    let is_forbidden = sentence.forbids(offset, end, last_forbidden);
                    last_forbidden = is_forbidden.then_some(end);
                    self.push(path, is_forbidden);
                }
                offset = end;
            }
            start += part.len() + 1;
        }
    }

    fn push(&mut self, path: String, is_forbidden: bool) {
        let first = path.trim_end_matches('/');
        let found = if is_forbidden {
            Mention::LeftOut { path, why: "the contract says that it must not change" }
        } else if SOURCE_TREES.contains(&first) || WIDE_FOLDERS.contains(&first) {
            Mention::LeftOut { path, why: "it is a whole tree; to include it, list it as a file in scope" }
        } else {
            Mention::Path(path)
        };
        if self.known.insert(found.clone()) {
            self.found.push(found);
        }
    }

    fn package(&self, name: &str) -> Option<String> {
        if matches!(name, "" | "." | "..") {
            return None;
        }
        let homes =
            PACKAGE_HOMES.iter().map(|home| if home.is_empty() { name.to_owned() } else { format!("{home}/{name}") });
        homes.into_iter().find(|path| self.root.join(path).is_dir()).map(|path| format!("{path}/"))
    }

    /// The word as a path, if it is one.
    fn path(&self, word: &str, is_quoted: bool, mentions_location: bool) -> Option<String> {
        let word = strip_punctuation(word);
        let is_odd = |letter: char| letter.is_control() || "<>{}|\"'=\\^&;,`!%".contains(letter);
        if word.is_empty()
            || word.len() > PATH_BYTES_MAX
            || word.contains("//")
            || word.starts_with(['/', '~', '-', '$', ':'])
            || word.contains(is_odd)
        {
            return None;
        }
        let names: Vec<&str> = word.split('/').filter(|name| !name.is_empty()).collect();
        let is_number =
            |name: &&str| name.chars().all(|letter| letter.is_ascii_digit() || matches!(letter, '.' | 'v' | 'x'));
        if names.is_empty() || names.contains(&"..") || names.contains(&".") || names.iter().all(is_number) {
            return None;
        }
        let is_there = self.root.join(word).exists();
        let is_path = if names.len() == 1 && !word.ends_with('/') {
            is_quoted && is_there && self.root.join(word).is_file()
        } else {
            is_there || self.is_likely(word, &names, is_quoted, mentions_location)
        };
        is_path.then(|| word.to_owned())
    }

    /// True if a word with a slash probably names a file that is yet to be created.
    fn is_likely(&self, word: &str, names: &[&str], is_quoted: bool, mentions_location: bool) -> bool {
        let (first, last) = (names[0], names[names.len() - 1]);
        let is_folder_there = self.root.join(first).is_dir();
        let is_media = matches!(first, "application" | "text" | "image" | "audio" | "video" | "font" | "multipart");
        // `example.org/x` is a URL, `.github/x` is not.
        let is_address = first.trim_start_matches('.').contains('.') && names.len() > 1;
        let is_shouted = !word.chars().any(char::is_lowercase);
        if (is_media && !is_folder_there) || is_address || is_shouted || (first.starts_with('@') && !is_folder_there) {
            return false;
        }
        let ending = last.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let is_file = !word.ends_with('/') && ending.is_some_and(|ending| ENDINGS.contains(&format!(" {ending} ")));
        let is_tree = SOURCE_TREES.contains(&first);
        let is_folder = word.ends_with('/') && (is_quoted || is_folder_there);
        is_file || is_folder || (is_tree && names.len() > 1) || (is_quoted && (is_folder_there || mentions_location))
    }
}

/// A word without the punctuation around it, and without a line number, anchor or symbol after it.
fn strip_punctuation(word: &str) -> &str {
    let word = word.trim_start_matches(['(', '[', '{', '<', '"', '\'', '*', '_', '“', '‘', '«']);
    let word = word.trim_end_matches(['"', '\'', '*', '_', ',', '.', ';', ':', '!', '?', '”', '’', '»', '>', '}']);
    // A closing bracket belongs to a path only together with its opening one.
    let word = if word.contains('(') { word } else { word.trim_end_matches(')') };
    let word = if word.contains('[') { word } else { word.trim_end_matches(']') };
    let word = word.trim_end_matches([',', '.', ';', ':']);
    let word = word.split_once("::").map_or(word, |(path, _)| path);
    let word = word.split_once('#').map_or(word, |(path, _)| path);
    let word = match word.split_once(':') {
        Some((path, rest)) if rest.starts_with(|letter: char| letter.is_ascii_digit()) => path,
        Some(_) | None => word,
    };
    word.strip_prefix("./").unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn found(text: &str) -> Vec<Mention> {
        let folder = tempfile::tempdir().expect("temp folder");
        for path in ["internal/version", "billing/tax", "crates/ledger"] {
            fs::create_dir_all(folder.path().join(path)).expect("created");
        }
        fs::write(folder.path().join("main.go"), "").expect("written");
        let lines: Vec<&str> = text.lines().collect();
        paths(&lines, folder.path())
    }

    fn taken(text: &str) -> Vec<String> {
        found(text)
            .into_iter()
            .filter_map(|found| match found {
                Mention::Path(path) => Some(path),
                Mention::LeftOut { .. } => None,
            })
            .collect()
    }

    #[test]
    fn paths_and_packages_are_found_in_backticks_and_in_prose() {
        for (text, expected) in [
            ("Create `parcel/scale/weigh.ts` and test it.", "parcel/scale/weigh.ts"),
            ("Create parcel/scale/weigh.ts.", "parcel/scale/weigh.ts"),
            ("(see parcel/weigh.py:17)", "parcel/weigh.py"),
            ("**src/weigh.rs**, new", "src/weigh.rs"),
            ("[the scale](src/scale.go#L3)", "src/scale.go"),
            ("`./src/scale.go::weigh`", "src/scale.go"),
            ("the package internal/version holds it", "internal/version"),
            ("billing/tax is where it goes", "billing/tax"),
            ("src/new/thing is where it goes", "src/new/thing"),
            ("the package `parcel/scale`", "parcel/scale"),
            ("`billing/new`", "billing/new"),
            ("`parcel/`", "parcel/"),
            ("`app/[id]/page.tsx`", "app/[id]/page.tsx"),
            ("app/(auth)/page.tsx", "app/(auth)/page.tsx"),
            ("`.github/workflows/ci.yml`", ".github/workflows/ci.yml"),
            ("`src/**/*.rs`", "src/**/*.rs"),
            ("`main.go`", "main.go"),
            ("the package `ledger`", "crates/ledger/"),
            ("the `ledger` crate", "crates/ledger/"),
            ("```go\n// in internal/version/a.go\n```", "internal/version/a.go"),
            ("- | `src/a.ts` | x |", "src/a.ts"),
        ] {
            assert_eq!(taken(text), [expected], "{text:?}");
        }
    }

    #[test]
    fn what_only_looks_like_a_path_is_not_taken() {
        for text in [
            "and/or his/her input/output N/A CI/CD TCP/IP 24/7 km/h",
            "https://example.org/src/a.ts http://x.y/z.md example.org/a.md github.com/a/b",
            "`https://example.org/src/a.ts` `example.org/a/b`",
            "version 1.2.3 or v1/v2, 2026/02/13, 1.2/1.3",
            "`/etc/passwd` /usr/lib/x.so `~/x/y.ts` `$HOME/x.ts`",
            "`../shared/a.ts` src/../../a.ts `a/../b.ts`",
            "`application/json` and `text/html`",
            "`GET /users/:id` returns `user.email`",
            "targetDir/<name>.md `src/{id}.ts` a=b/c.ts",
            "`weigh` `Scale.weigh` `errors.ts`",
            "keep/replace/append, per TD-1/UD-1",
            "@scope/name",
            "one of `keep/replace`",
            "",
        ] {
            assert_eq!(found(text), Vec::new(), "{text:?}");
        }
    }

    #[test]
    fn forbidden_paths_and_whole_trees_are_left_out_and_reported() {
        let left_out = |text: &str, expected: &str| {
            let [Mention::LeftOut { path, .. }] = &found(text)[..] else { panic!("{text:?} gave {:?}", found(text)) };
            assert_eq!(path, expected, "{text:?}");
        };
        left_out("Do not modify `shared/errors.ts`.", "shared/errors.ts");
        left_out("`shared/errors.ts` must not be changed", "shared/errors.ts");
        left_out("## Out of scope\n- `shared/errors.ts`", "shared/errors.ts");
        left_out("All of `src/` is strict", "src/");
        let list =
            found("Do not modify `a/b.ts`, `c/d.ts` or e/f.ts, but extend `g/h.ts` without changing what it returns.");
        assert_eq!(list.iter().filter(|found| matches!(found, Mention::LeftOut { .. })).count(), 3, "{list:?}");
        assert_eq!(taken("The status must not change when the name is empty, for which see `a/b.ts`"), ["a/b.ts"]);
        let text = "Never touch `a/b.ts`. Create `c/d.ts`; `e/f.ts` stays unchanged\nAdd `e/f.ts`";
        assert_eq!(taken(text), ["c/d.ts", "e/f.ts"]);
    }

    #[test]
    fn a_large_text_is_no_trouble() {
        let text = format!("{} `{}`", "a/".repeat(200_000), "`x/y.ts ".repeat(50_000));
        assert!(taken(&text).len() <= 1);
    }
}
