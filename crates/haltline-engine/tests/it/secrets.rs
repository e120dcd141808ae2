//! Kinds of secrets and places where secrets stand, each with texts made in the test: how many are masked (E10).
//!
//! The tokens are random, so no scanner takes this file for a leak, and every run of a kind tries several.

use std::borrow::Cow;
use std::fmt::Write as _;

use haltline_core::identity::{CallResult, Outcome};
use haltline_engine::redact::{mask, storable};
use proptest::prelude::*;

/// Kinds that are recognised by their form, wherever they stand. `{a36}` is 36 letters and digits; see [`Chance::fill`].
const KINDS: &str = include_str!("secrets/kinds.txt");
/// Kinds that are recognised beside the name of their issuer.
const NAMED_KINDS: &str = include_str!("secrets/named_kinds.txt");
/// Places where a secret `{s}` stands.
const CONTEXTS: &str = include_str!("secrets/contexts.txt");
/// Texts without a secret.
const PLAIN: &str = include_str!("secrets/plain.txt");

/// Random numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// Replaces `{a36}` by 36 random characters: `a` letters and digits, `l` small letters and digits, `u` capital letters
    /// and digits, `h` hex, `d` digits, `w` also `_` and `-`, `b` base 64, `x` small letters, `k` letters.
    fn fill(&mut self, form: &str) -> String {
        let mut filled = String::new();
        let mut rest = form;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let Some((hole, after)) = after.split_once('}') else { panic!("an open hole in {form}") };
            let Ok(length) = hole[1..].parse::<usize>() else { panic!("no length in {form}") };
            let characters = match &hole[..1] {
                "a" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "l" => "abcdefghijklmnopqrstuvwxyz0123456789",
                "u" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
                "h" => "0123456789abcdef",
                "d" => "123456789",
                "w" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
                "b" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                "x" => "abcdefghijklmnopqrstuvwxyz",
                "k" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                other => panic!("unknown hole {other} in {form}"),
            };
            for index in 0..length {
                // The first character is a letter or digit, and so is the last, as in real ones.
                let limit = if index == 0 || index + 1 == length { characters.len().min(62) } else { characters.len() };
                filled.push_str(&characters[..][self.below(limit)..][..1]);
            }
            rest = after;
        }
        filled + rest
    }
}

/// The lines of a list, without its comments; `⏎` is a line break.
fn entries(list: &str) -> impl Iterator<Item = String> {
    list.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")).map(|line| line.replace('⏎', "\n"))
}

/// True if no part of the secret that is long enough to be of use is left.
fn is_masked(text: &str, secret: &str) -> bool {
    let masked = mask(text);
    let left = |from: usize, to: usize| secret.get(from..to).is_some_and(|part| masked.contains(part));
    let length = secret.len().min(12);
    matches!(masked, Cow::Owned(_)) && !(0..=secret.len() - length).any(|from| left(from, from + length))
}

/// Counts what was masked, prints the rate and names what was not.
#[derive(Default)]
struct Rate {
    all: usize,
    leaked: String,
}

impl Rate {
    fn count(&mut self, kind: &str, text: &str, secret: &str) {
        self.all += 1;
        if !is_masked(text, secret) {
            writeln!(self.leaked, "{kind}: {text}\n    → {}", mask(text)).expect("a String takes everything");
        }
    }

    fn report(self, what: &str) {
        let leaked = self.leaked.matches("\n    → ").count();
        println!("{what}: {} of {} masked", self.all - leaked, self.all);
        assert!(leaked == 0, "{leaked} of {} {what} leaked:\n{}", self.all, self.leaked);
    }
}

/// A kind in the texts where tokens turn up without a name that gives them away.
#[test]
fn every_kind_of_token_is_masked_by_its_form() {
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let mut rate = Rate::default();
    for line in entries(KINDS) {
        let (kind, form) = line.split_once(' ').expect("a kind and its form");
        for _ in 0..4 {
            let filled = chance.fill(form);
            // Of an address only a part is secret.
            let secret = filled.split('§').nth(usize::from(filled.contains('§'))).expect("a part");
            let token = filled.replace('§', "");
            for place in
                ["{}", "using {} for the call", "x=\"{}\"", "[{}]", "a\\n{}\\nb", "log: {}.", "({})", "f('{}')", "X={}"]
            {
                rate.count(kind, &place.replace("{}", &token), secret);
            }
        }
    }
    rate.report("tokens by their form");
}

/// A kind without a form of its own stands beside the name of its issuer, as settings, code and headers write it.
#[test]
fn every_kind_of_key_is_masked_beside_the_name_of_its_issuer() {
    let mut chance = Chance(0xD1B5_4A32_D192_ED03);
    let mut rate = Rate::default();
    for line in entries(NAMED_KINDS) {
        let (issuer, form) = line.split_once(' ').expect("an issuer and a form");
        let upper = issuer.to_ascii_uppercase();
        for _ in 0..3 {
            let key = chance.fill(form);
            for text in [
                format!("{issuer}_api_token = \"{key}\""),
                format!("{issuer}Token={key}"),
                format!("{upper}_TOKEN={key}"),
                format!("{{\n  \"{issuer}_token\": \"{key}\"\n}}"),
                format!("{{\"config.ini\": \"{upper}_TOKEN={key}\\nBACKUP_ENABLED=true\"}}"),
                format!("{{\\\"{issuer}_key\\\": \\\"{key}\\\"}}"),
                format!("<{issuer}Token>{key}</{issuer}Token>"),
                format!("<entry name=\"{issuer}Token\" value=\"{key}\" />"),
                format!("{issuer}_token: {key}"),
                format!("{issuer}_token: |\n  {key}"),
                format!("string {issuer}Token = \"{key}\";"),
                format!("var {issuer}Token string = \"{key}\""),
                format!("{issuer}Token := `{key}`"),
                format!("${issuer}Token .= \"{key}\""),
                format!("System.setProperty(\"{upper}_TOKEN\", \"{key}\")"),
                format!("  \"{issuer}Token\" => \"{key}\""),
                format!("{issuer}_TOKEN ::= \"{key}\""),
                format!("{issuer}_TOKEN ?= \"{key}\""),
                format!("https://example.org/?{issuer}Token={key}&a=b"),
                format!("{issuer}_client_id = \"{key}\""),
                format!("{upper}_SECRET={key}"),
            ] {
                rate.count(issuer, &text, &key);
            }
        }
    }
    rate.report("keys beside the name of their issuer");
}

#[test]
fn a_secret_is_masked_wherever_it_stands() {
    let mut chance = Chance(0xA076_1D64_78BD_642F);
    let mut rate = Rate::default();
    for context in entries(CONTEXTS) {
        // As people and generators choose them.
        for form in ["{a24}", "{x6}{d4}", "{k5}{d3}!{x4}", "{l10}@{l6}", "{h32}"] {
            // Where `@` ends a password's place it is written as `%40`, and a scheme takes base 64 only.
            let is_plain = context.contains("Bearer") || context.contains("Basic");
            if is_plain && form.contains(['!', '@']) || context.contains("{s}@") && form.contains('!') {
                continue;
            }
            let secret = chance.fill(form);
            rate.count("context", &context.replace("{s}", &secret), &secret);
        }
    }
    rate.report("contexts");
}

#[test]
fn a_key_of_several_lines_is_masked_whole_and_in_pieces() {
    let mut chance = Chance(0xE703_7ED1_A0B4_28DB);
    let body: Vec<String> = (0..40).map(|_| chance.fill("{b64}")).collect();
    let mut rate = Rate::default();
    for title in [
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "DSA PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
        "private key",
        "ANY PRIVATE KEY",
        "SSH2 ENCRYPTED PRIVATE KEY",
    ] {
        let (first, last) = (format!("-----BEGIN {title}-----"), format!("-----END {title}-----"));
        let whole = format!("{first}\n{}\n{last}", body.join("\n"));
        let from_middle = format!("{}\n{last}\ndone", body[20..].join("\n"));
        let to_middle = format!("cat key\n{first}\n{}", body[..20].join("\n"));
        let escaped = format!("{{\"private_key\": \"{first}\\n{}\\n{last}\\n\"}}", body.join("\\n"));
        let one_line = format!("{first} {} {last}", body.join(" "));
        let windows = whole.replace('\n', "\r\n");
        let quoted = body[3..7].iter().map(|line| format!("    \"{line}\\n\"\n")).collect::<String>();
        let middle = body[3..7].join("\n");
        let cut = format!("{}\n{}\n{}", &body[3][40..], body[4], &body[5][..20]);
        for text in [&whole, &from_middle, &to_middle, &escaped, &one_line, &windows, &quoted, &middle, &body[5]] {
            for line in body.iter().filter(|line| text.contains(*line)) {
                rate.count(title, text, line);
            }
            assert_eq!(storable(&storable(text)), storable(text));
        }
        for part in [&body[3][40..], &body[4][..], &body[5][..20]] {
            rate.count(title, &cut, part);
        }
    }
    rate.report("lines of keys");
    let public = "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----";
    assert_eq!(mask(public), public);
}

/// One line of a result is kept. It is chosen before anything is masked, and may be any line of a key.
#[test]
fn the_line_that_is_kept_of_a_result_holds_no_part_of_a_key() {
    let mut chance = Chance(0x8EBC_6AF0_9C88_C6E3);
    for length in [3, 40, 200] {
        let mut body: Vec<String> = (0..length).map(|_| chance.fill("{b64}")).collect();
        // The line that mentions a failure is the one that is shown.
        for line in [1, length / 2, length - 1] {
            body[line].replace_range(20..24, "FAIL");
        }
        let key = body.join("\n");
        for output in [
            format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----"),
            format!("{key}\n-----END PRIVATE KEY-----"),
            key.clone(),
            format!("\n\n{key}\nExit 1"),
            body[0].clone(),
        ] {
            for outcome in [Outcome::Ok, Outcome::Failed] {
                let kept = storable(&CallResult::new(outcome, None, &output).shown);
                assert!(!body.iter().any(|line| kept.contains(&line[..20]) || kept.contains(&line[44..])), "{kept}");
            }
        }
    }
}

#[test]
fn texts_without_a_secret_stay_as_they_are() {
    for text in entries(PLAIN) {
        assert_eq!(mask(&text), text);
    }
}

#[test]
fn the_time_to_mask_grows_with_the_length_alone() {
    // Each text makes some part of the search begin again and again.
    let pieces = [
        "password=$",
        "\"password\":\"",
        "a='",
        "\\\"",
        "<",
        "<password>",
        "://",
        "://a:b",
        "-----BEGIN ",
        "--password ",
        "eyJ",
        "x.",
        "key:",
        "Authorization: ",
        "Cookie: a=",
        "Bearer ",
        "curl -u ",
        "name: password ",
        "=",
        ":",
        "\n",
        "A",
        "data:\nkind: Secret\n",
        "Q~",
        "echo x | ",
        "-p",
        "`",
        "'\"",
        "token = ",
        "secret: |\n",
        "thin:",
        "1:A",
        "password: (",
        ",\"",
        "Private-Lines:\n",
        "hooks.slack.com/services/",
        "(",
        "a@://",
    ];
    let time = |text: &str| {
        let begun = std::time::Instant::now();
        let masked = mask(text).len();
        (begun.elapsed(), masked)
    };
    for piece in pieces {
        let (elapsed, masked) = time(&piece.repeat(100_000 / piece.len()));
        assert!(elapsed.as_secs() < 10, "{piece:?}: {elapsed:?} for 100 KB ({masked} bytes left)");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_masked_text_has_nothing_left_to_mask(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "password=", "token: ", "--token ", "Bearer ", "Authorization: ", "Cookie: ", "https://ana:", "@host", "[redacted]",
            "hunter2", "\"", "'", "\\\"", " ", "\n", "=", ":", ",", ";", "<password>", "</password>", "curl -u ", "mysql -p",
            "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "é", "…", "\\", "$X", "api_key", "name: ", "value: ",
            "echo ", " | ", "sudo -S", "(", ")", "Zm9vYmFyYmF6cXV4", "data:", "kind: Secret", " … [9 bytes, sha256 ab]",
        ]), 0..14),
    ) {
        let text = pieces.concat();
        let once = storable(&text);
        prop_assert_eq!(storable(&once), once);
    }
}
