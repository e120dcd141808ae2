//! The commands `/haltline` and `/circuit-status` of Claude Code (L11). haltline's hook answers them itself, without a
//! model request; their files make the client offer them to the person, and only to the person. Where the hook does
//! not answer, the client shows the output of `haltline status`.

use super::{GeneratedFile, Hook};

/// The file of `/haltline`, next to the settings.
pub const HALTLINE_COMMAND: GeneratedFile = GeneratedFile {
    title: "/haltline",
    purpose: "shows the status, and why haltline stopped work",
    text: |hook| haltline_text(&hook.command),
    parse_hook: |text| parse(text, haltline_text),
    is_executable: false,
};

/// The file of `/circuit-status`, next to the settings.
pub const CIRCUIT_STATUS: GeneratedFile = GeneratedFile {
    title: "/circuit-status",
    purpose: "shows `haltline status --verbose`",
    text: |hook| circuit_status_text(&hook.command),
    parse_hook: |text| {
        [circuit_status_text, advertised_text, short_advertised_text].iter().find_map(|known| parse(text, *known))
    },
    is_executable: false,
};

fn haltline_text(binary: &str) -> String {
    let hint = "argument-hint: \"[status | why | resume | false-positive]\"\n";
    command_text(binary, "Ask haltline what it counts and why it stopped the agent", hint, "status")
}

fn circuit_status_text(binary: &str) -> String {
    let description = "Show what haltline counts, which circuits are open and what needs you";
    command_text(binary, description, "", "status --verbose")
}

/// The text of a command's file for this binary.
fn command_text(binary: &str, description: &str, more_fields: &str, command: &str) -> String {
    let program = shell_word(binary);
    format!(
        "---\ndescription: {description}\n{more_fields}disable-model-invocation: true\n\
         allowed-tools: Bash({program} status:*)\n---\n\n\
         !`{program} {command}`\n\n\
         Show this as it is. If a circuit is open, add one sentence that says which one and when it closes.\n"
    )
}

/// The texts that earlier versions wrote, which the client told the model about.
fn advertised_text(binary: &str) -> String {
    circuit_status_text(binary).replace("disable-model-invocation: true\n", "")
}

fn short_advertised_text(binary: &str) -> String {
    advertised_text(binary).replace("status --verbose`", "status`")
}

/// The binary that the file runs, if haltline wrote the file and nobody changed it.
fn parse(text: &str, text_for: fn(&str) -> String) -> Option<Hook> {
    let line = text.lines().find_map(|line| line.strip_prefix("!`")?.strip_suffix('`'))?;
    let (binary, _command) = first_word(line)?;
    (text_for(&binary) == text).then(|| Hook { command: binary, args: Vec::new() })
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
            let hook = Hook { command: binary.to_owned(), args: Vec::new() };
            for file in [CIRCUIT_STATUS, HALTLINE_COMMAND] {
                let text = (file.text)(&hook);
                assert_eq!((file.parse_hook)(&text), Some(hook.clone()), "{text}");
                assert!(text.contains("\ndisable-model-invocation: true\n"), "{text}");
                assert_eq!((file.parse_hook)(&format!("{text}More.\n")), None);
                assert_eq!((file.parse_hook)("---\ndescription: mine\n---\n"), None);
            }
            for text in [advertised_text(binary), short_advertised_text(binary)] {
                assert_eq!((CIRCUIT_STATUS.parse_hook)(&text), Some(hook.clone()), "an earlier version's");
            }
        }
    }
}
