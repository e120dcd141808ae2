//! The bytes of a path, which need not be UTF-8, as text that loses nothing and cannot control a terminal.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path as the file system has it. As text, `\` escapes `\`, `n`, `t`, `r` and `xNN`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TreePath(Vec<u8>);

impl TreePath {
    pub(super) fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    pub(super) fn from_path(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    pub(super) fn join_to(&self, top: &Path) -> PathBuf {
        top.join(self.as_path())
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&self.0))
    }
}

impl Serialize for TreePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&escaped(&self.0))
    }
}

impl<'de> Deserialize<'de> for TreePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        read(&text).map(Self).ok_or_else(|| serde::de::Error::custom("a path with an invalid escape"))
    }
}

/// The bytes as one line of text from which they can be read back.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\r' => text.push_str("\\r"),
                ' '..='~' => text.push(letter),
                // Control characters, invisible characters, and those that change the writing direction.
                _ if letter.escape_debug().len() > 1 => {
                    letter.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_number(&mut text, byte));
                }
                _ => text.push(letter),
            }
        }
        chunk.invalid().iter().for_each(|&byte| push_number(&mut text, byte));
    }
    text
}

fn push_number(text: &mut String, byte: u8) {
    text.push_str(&format!("\\x{byte:02x}"));
}

fn read(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'\\' => b'\\',
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'x' => {
                let mut digit = || u8::try_from(char::from(rest.next()?).to_digit(16)?).ok();
                digit()? << 4 | digit()?
            }
            _ => return None,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_one_plain_line() {
        let name = b"a b\n\"q\" \\ \xc3\xa9 \xff \x1b[0m \xe2\x80\xae";
        assert_eq!(escaped(name), "a b\\n\"q\" \\\\ é \\xff \\x1b[0m \\xe2\\x80\\xae");
    }

    proptest::proptest! {
        #[test]
        fn every_name_round_trips(bytes: Vec<u8>) {
            let text = serde_json::to_string(&TreePath::new(bytes.clone())).expect("text");
            let back: TreePath = serde_json::from_str(&text).expect("the same");
            proptest::prop_assert_eq!(back.bytes(), &bytes[..]);
            proptest::prop_assert!(!back.to_string().contains(char::is_control));
        }

        #[test]
        fn any_text_is_read_or_rejected(text: String) {
            if let Some(bytes) = read(&text) {
                proptest::prop_assert!(bytes.len() <= text.len());
            }
        }
    }
}
