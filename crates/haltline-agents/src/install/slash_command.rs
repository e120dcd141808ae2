//! The `/circuit-status` command: a file with which Claude Code shows the output of `haltline status` (L11).

use super::{GeneratedFile, Hook};

/// The command's file, next to the settings.
pub const CIRCUIT_STATUS: GeneratedFile = GeneratedFile {
    title: "/circuit-status",
    purpose: "shows `haltline status`",
    text: |hook| circuit_status_text(&hook.command),
    parse_hook: parse_circuit_status,
    is_executable: false,
};

/// The text of the command's file for this binary.
fn circuit_status_text(binary: &str) -> String {
    let program = shell_word(binary);
    format!(
        "---\ndescription: Show what haltline counts, what is open and what waits for you\n\
         allowed-tools: Bash({program} status:*)\n---\n\n\
         !`{program} status`\n\n\
         Show this as it is. Add one sentence on what is open and when it ends, if anything is.\n"
    )
}

/// The binary that the file runs, if haltline wrote the file and nobody changed it.
fn parse_circuit_status(text: &str) -> Option<Hook> {
    let line = text.lines().find_map(|line| line.strip_prefix("!`")?.strip_suffix(" status`"))?;
    let (binary, _) = first_word(line).filter(|(_, rest)| rest.is_empty())?;
    (circuit_status_text(&binary) == text).then(|| Hook { command: binary, args: Vec::new() })
}

/// Quotes a word for a shell, only if necessary.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Splits the first word, as [`shell_word`] writes it, from the rest of the line.
pub(super) fn first_word(line: &str) -> Option<(String, &str)> {
    if !line.starts_with('\'') {
        let end = line.find(' ').unwrap_or(line.len());
        return (end > 0).then(|| (line[..end].to_owned(), &line[end..]));
    }
    let mut word = String::new();
    let mut rest = &line[1..];
    loop {
        let end = rest.find('\'')?;
        word.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(r"\''") {
            Some(more) => {
                word.push('\'');
                rest = more;
            }
            None => return Some((word, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_it_must_be_and_read_back() {
        for word in ["/usr/bin/haltline", "/home/an a/haltline", "it's", "$HOME", "'"] {
            let line = format!("{} status", shell_word(word));
            assert_eq!(first_word(&line), Some((word.to_owned(), " status")), "{line}");
        }
        assert_eq!(shell_word("/usr/bin/haltline"), "/usr/bin/haltline");
    }

    #[test]
    fn the_command_is_recognised_for_any_binary_unless_changed() {
        for binary in ["/usr/bin/haltline", "/home/it's mine/haltline"] {
            let text = circuit_status_text(binary);
            let hook = Hook { command: binary.to_owned(), args: Vec::new() };
            assert_eq!(super::parse_circuit_status(&text), Some(hook), "{text}");
            assert_eq!(super::parse_circuit_status(&format!("{text}More.\n")), None);
        }
        assert_eq!(super::parse_circuit_status("---\ndescription: mine\n---\n"), None);
    }
}
