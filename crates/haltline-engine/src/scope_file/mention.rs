//! Paths and packages that a contract's text names.
//!
//! A text is no list, so this is a judgement. A word with a slash is a path if it is there, has a file's ending or begins
//! like a source tree; in backticks also if its folder is there or the sentence speaks of packages, folders or files.
//! `and/or` has a slash too, and one word taken wrongly would switch the lock on with nothing real in scope.
//! Addresses, versions, media types, placeholders, absolute paths and `..` are never taken. What a sentence says must
//! not be changed is left out, and so is a whole source tree (`src/`), which no slice can mean.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::contract::Fence;

/// How long a path is looked at, in bytes.
const PATH_BYTES_MAX: usize = 300;
/// How far a path may stand behind "do not change", and before "is out of scope", in bytes.
const HANDS_OFF_REACH_BEHIND: usize = 40;
const HANDS_OFF_REACH_BEFORE: usize = 24;
/// How much of a sentence is looked at for such words, in bytes: a longer one is no sentence.
const SENTENCE_BYTES_MAX: usize = 2000;
/// How many paths one part may name.
const FOUND_MAX: usize = 2000;
/// First names of source trees. One alone is a whole tree.
const TREES: [&str; 9] = ["src", "lib", "internal", "pkg", "cmd", "app", "apps", "packages", "crates"];
/// Others that alone are too much, and too common as words to tell a path in prose.
const WIDE: [&str; 5] = ["test", "tests", "docs", "doc", "source"];
/// Where a package that is named without its path is looked for.
const PACKAGE_HOMES: [&str; 8] = ["", "packages", "crates", "internal", "pkg", "src", "lib", "cmd"];
/// Endings of files that people write about.
const ENDINGS: &str = " astro bash bats c cc cfg clj cpp cs css csv cts cxx dart erl ex exs fs go gql gradle graphql h hpp hs html ini ipynb java jl js json jsx kt kts less lock lua m md mdx mjs ml mm mts nix php pl pm proto prisma ps1 py pyi r rb rs sass scala scss sh sol sql svelte svg swift tex tf toml ts tsx txt vue xml yaml yml zig ";

/// Something a text names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// A path of the project.
    Path(String),
    /// A path that is not taken.
    LeftOut {
        /// The path.
        path: String,
        /// Why.
        why: &'static str,
    },
}

static HANDS_OFF: LazyLock<Regex> = LazyLock::new(|| {
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

static MEANS_A_PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(packages?|crates?|modules?|folders?|director(y|ies)|paths?|files?|creates?)\b")
        .expect("the pattern is a constant")
});

/// What some lines name, in order of first mention, each once. A path that is named as one to change is taken even if
/// another sentence says hands off.
pub fn paths(lines: &[&str], root: &Path) -> Vec<Found> {
    let mut seen = Seen { root, found: Vec::new(), known: BTreeSet::new() };
    let mut fence = Fence::default();
    let mut is_off = false;
    for line in lines {
        let is_code = fence.holds(line);
        if !is_code && line.starts_with('#') {
            is_off = HANDS_OFF.is_match(line);
        }
        for sentence in sentences(line) {
            seen.look(&Sentence::new(sentence, is_code, is_off));
        }
        if seen.found.len() >= FOUND_MAX {
            break;
        }
    }
    let taken: BTreeSet<Found> = seen.found.iter().filter(|found| matches!(found, Found::Path(_))).cloned().collect();
    seen.found.retain(|found| match found {
        Found::Path(_) => true,
        Found::LeftOut { path, .. } => !taken.contains(&Found::Path(path.clone())),
    });
    seen.found
}

fn sentences(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(". ").flat_map(|part| part.split_inclusive("; "))
}

struct Sentence<'text> {
    text: &'text str,
    is_code: bool,
    /// It stands in a section about what is not to be changed.
    is_off: bool,
    /// Where it says hands off.
    hands_off: Vec<(usize, usize)>,
    means_a_place: bool,
}

impl<'text> Sentence<'text> {
    fn new(text: &'text str, is_code: bool, is_off: bool) -> Self {
        let is_prose = !is_code && text.len() <= SENTENCE_BYTES_MAX;
        let hands_off =
            if is_prose { HANDS_OFF.find_iter(text).map(|at| (at.start(), at.end())).collect() } else { Vec::new() };
        let means_a_place = is_prose && text.contains('`') && MEANS_A_PLACE.is_match(text);
        Self { text, is_code, is_off, hands_off, means_a_place }
    }

    /// Whether a path at this place is one that is not to be changed; in a list, each but the first follows another.
    fn forbids(&self, start: usize, end: usize, last_forbidden: Option<usize>) -> bool {
        let is_behind = |from: usize| start >= from && start - from <= HANDS_OFF_REACH_BEHIND;
        let is_before = |to: usize| to >= end && to - end <= HANDS_OFF_REACH_BEFORE;
        let follows = |from: usize| {
            let words = self.text.get(from..start).unwrap_or("x y").split(|letter: char| !letter.is_alphanumeric());
            words.filter(|word| !word.is_empty()).all(|word| matches!(word, "and" | "or" | "nor"))
        };
        self.is_off
            || self.hands_off.iter().any(|&(from, to)| is_behind(to) || is_before(from))
            || last_forbidden.is_some_and(follows)
    }
}

struct Seen<'root> {
    root: &'root Path,
    found: Vec<Found>,
    known: BTreeSet<Found>,
}

impl Seen<'_> {
    fn look(&mut self, sentence: &Sentence<'_>) {
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
            let mut place = start;
            for word in part.split_inclusive(char::is_whitespace).flat_map(|word| word.split_inclusive("](")) {
                let end = place + word.len();
                let word = word.trim_end_matches("](").trim();
                if let Some(path) = self.path(word, is_quoted, sentence.means_a_place) {
                    let is_off = sentence.forbids(place, end, last_forbidden);
                    last_forbidden = is_off.then_some(end);
                    self.push(path, is_off);
                }
                place = end;
            }
            start += part.len() + 1;
        }
    }

    fn push(&mut self, path: String, is_off: bool) {
        let first = path.trim_end_matches('/');
        let found = if is_off {
            Found::LeftOut { path, why: "the contract says it is not to be changed" }
        } else if TREES.contains(&first) || WIDE.contains(&first) {
            Found::LeftOut { path, why: "it is a whole tree; list it as a file in scope if it is meant" }
        } else {
            Found::Path(path)
        };
        if self.known.insert(found.clone()) {
            self.found.push(found);
        }
    }

    /// A package's folder, by its name.
    fn package(&self, name: &str) -> Option<String> {
        if matches!(name, "" | "." | "..") {
            return None;
        }
        let homes =
            PACKAGE_HOMES.iter().map(|home| if home.is_empty() { name.to_owned() } else { format!("{home}/{name}") });
        homes.into_iter().find(|path| self.root.join(path).is_dir()).map(|path| format!("{path}/"))
    }

    /// A word as a path, if it is one.
    fn path(&self, word: &str, is_quoted: bool, means_a_place: bool) -> Option<String> {
        let word = bare(word);
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
            is_there || self.is_likely(word, &names, is_quoted, means_a_place)
        };
        is_path.then(|| word.to_owned())
    }

    /// Whether a word with a slash names a file that is still to be made.
    fn is_likely(&self, word: &str, names: &[&str], is_quoted: bool, means_a_place: bool) -> bool {
        let (first, last) = (names[0], names[names.len() - 1]);
        let is_folder_there = self.root.join(first).is_dir();
        let is_media = matches!(first, "application" | "text" | "image" | "audio" | "video" | "font" | "multipart");
        // `example.org/x` is an address, `.github/x` is not.
        let is_address = first.trim_start_matches('.').contains('.') && names.len() > 1;
        let is_shouted = !word.chars().any(char::is_lowercase);
        if (is_media && !is_folder_there) || is_address || is_shouted || (first.starts_with('@') && !is_folder_there) {
            return false;
        }
        let ending = last.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let is_file = !word.ends_with('/') && ending.is_some_and(|ending| ENDINGS.contains(&format!(" {ending} ")));
        let is_tree = TREES.contains(&first);
        let is_folder = word.ends_with('/') && (is_quoted || is_folder_there);
        is_file || is_folder || (is_tree && names.len() > 1) || (is_quoted && (is_folder_there || means_a_place))
    }
}

/// A word without the marks around it, a line number, an anchor or a symbol behind it.
fn bare(word: &str) -> &str {
    let word = word.trim_start_matches(['(', '[', '{', '<', '"', '\'', '*', '_', '“', '‘', '«']);
    let word = word.trim_end_matches(['"', '\'', '*', '_', ',', '.', ';', ':', '!', '?', '”', '’', '»', '>', '}']);
    // A closing bracket belongs to a path only with its opening one.
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

    fn found(text: &str) -> Vec<Found> {
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
                Found::Path(path) => Some(path),
                Found::LeftOut { .. } => None,
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
    fn what_is_not_to_be_changed_and_whole_trees_are_left_out_and_told() {
        let left_out = |text: &str, expected: &str| {
            let [Found::LeftOut { path, .. }] = &found(text)[..] else { panic!("{text:?} gave {:?}", found(text)) };
            assert_eq!(path, expected, "{text:?}");
        };
        left_out("Do not modify `shared/errors.ts`.", "shared/errors.ts");
        left_out("`shared/errors.ts` must not be changed", "shared/errors.ts");
        left_out("## Out of scope\n- `shared/errors.ts`", "shared/errors.ts");
        left_out("All of `src/` is strict", "src/");
        let list =
            found("Do not modify `a/b.ts`, `c/d.ts` or e/f.ts, but extend `g/h.ts` without changing what it returns.");
        assert_eq!(list.iter().filter(|found| matches!(found, Found::LeftOut { .. })).count(), 3, "{list:?}");
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
