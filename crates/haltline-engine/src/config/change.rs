//! Changes one key of a configuration file: the value is checked first, and everything else in the file stays as it is.

use toml_edit::{DocumentMut, Item, Table, TableLike, Value as EditedValue};

use super::key::{Key, Kind, Scope};
use super::layer::{find_key, parse};

/// A change of a file's content, as `config set` and `config unset` make it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The new content of the file.
    pub content: String,
    /// The value in the file before, as TOML; `None` if the file did not set the key.
    pub from: Option<String>,
    /// The value in the file now, as TOML; `None` if the file does not set the key.
    pub to: Option<String>,
}

/// All errors of a file's content.
pub fn check(content: &str, scope: Scope) -> Vec<String> {
    parse(content.as_bytes(), scope).err().unwrap_or_default()
}

/// Sets a key. A text needs no quotes.
pub fn set_key(content: &str, name: &str, value: &str, scope: Scope) -> Result<ConfigChange, Vec<String>> {
    let key = find_key(name, scope).map_err(|problem| vec![problem])?;
    let value = read_value(key, value).map_err(|problem| vec![problem])?;
    let mut document = read(content, scope)?;
    let to = value.to_string();
    let (path, last) = name.rsplit_once('.').unwrap_or(("", name));
    let table = table_at(&mut document, path).ok_or_else(|| vec![format!("{path}: expected a table")])?;
    let from = table.get(last).map(shown);
    let mut value = value.decorated(" ", "");
    if let Some(old) = table.get(last).and_then(Item::as_value) {
        // A comment behind the value stays.
        *value.decor_mut() = old.decor().clone();
    }
    match table.get_mut(last) {
        Some(item) => *item = Item::Value(value),
        None => {
            table.insert(last, Item::Value(value));
        }
    }
    finish(&document, scope, from, Some(to))
}

/// Removes a key; a file that does not set it stays as it is.
pub fn unset_key(content: &str, name: &str, scope: Scope) -> Result<ConfigChange, Vec<String>> {
    find_key(name, scope).map_err(|problem| vec![problem])?;
    let mut document = read(content, scope)?;
    let (path, last) = name.rsplit_once('.').unwrap_or(("", name));
    let is_set = parse(content.as_bytes(), scope)?.iter().any(|(key, _)| key.name == name);
    if !is_set {
        return Ok(ConfigChange { content: content.to_owned(), from: None, to: None });
    }
    let removed = table_at(&mut document, path).and_then(|table| table.remove(last));
    finish(&document, scope, removed.as_ref().map(shown), None)
}

/// The document, if the file has no error: a file with an error is left out whole, so a change of it would do nothing.
fn read(content: &str, scope: Scope) -> Result<DocumentMut, Vec<String>> {
    parse(content.as_bytes(), scope)?;
    content.parse().map_err(|error: toml_edit::TomlError| vec![error.to_string()])
}

fn finish(
    document: &DocumentMut,
    scope: Scope,
    from: Option<String>,
    to: Option<String>,
) -> Result<ConfigChange, Vec<String>> {
    let content = document.to_string();
    parse(content.as_bytes(), scope)?;
    Ok(ConfigChange { content, from, to })
}

/// The table with this path, created where it is missing; `None` if something else has its name.
fn table_at<'a>(document: &'a mut DocumentMut, path: &str) -> Option<&'a mut dyn TableLike> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        if table.get(part).is_none() {
            let mut created = Table::new();
            created.set_implicit(true);
            table.insert(part, Item::Table(created));
        }
        table = table.get_mut(part)?.as_table_like_mut()?;
    }
    Some(table)
}

fn shown(item: &Item) -> String {
    item.as_value().map(|value| value.clone().decorated("", "").to_string()).unwrap_or_default()
}

/// The text as a value that the key allows: as TOML or, where that is no text, as a text.
fn read_value(key: &Key, text: &str) -> Result<EditedValue, String> {
    let as_text = EditedValue::from(text).to_string();
    let is_textual =
        matches!(key.kind, Kind::Choice(_) | Kind::Text(_) | Kind::Folder(_) | Kind::Money { .. } | Kind::Cost);
    let candidates = [Some(text), Some(as_text.as_str()).filter(|_| is_textual)];
    for candidate in candidates.into_iter().flatten() {
        let Ok(table) = format!("value = {candidate}\n").parse::<toml::Table>() else { continue };
        let is_one_value = table.len() == 1;
        let is_allowed = table.get("value").is_some_and(|value| key.from_toml(value).is_some());
        if let (true, true, Ok(value)) = (is_one_value, is_allowed, candidate.trim().parse::<EditedValue>()) {
            return Ok(value.decorated("", ""));
        }
    }
    let shown: String = text.escape_debug().take(60).collect();
    Err(format!("{} = {shown}: expected {}", key.name, key.expectation()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(content: &str, name: &str, value: &str) -> String {
        set_key(content, name, value, Scope::User).unwrap_or_else(|problems| panic!("{problems:?}")).content
    }

    #[test]
    fn a_key_is_added_and_changed_and_every_comment_stays() {
        assert_eq!(set("", "mode", "observe"), "mode = \"observe\"\n");
        let content = "# mine\nmode = \"enforce\" # for now\n\n[loop.repeat]\n# strict\ndeny = 5\n";
        let changed = set(content, "mode", "observe");
        assert_eq!(changed, content.replace("enforce", "observe"));
        let changed = set(&changed, "loop.repeat.deny", "6");
        assert_eq!(changed, content.replace("enforce", "observe").replace("deny = 5", "deny = 6"));
        let added = set(content, "loop.repeat.warn", "2");
        assert!(added.starts_with(content) && added.contains("warn = 2"), "{added}");
        let table = set("mode = \"observe\"\n", "loop.repeat.deny", "6");
        assert_eq!(table, "mode = \"observe\"\n\n[loop.repeat]\ndeny = 6\n");
        assert_eq!(set("loop.repeat.deny = 5\n", "loop.repeat.deny", "6"), "loop.repeat.deny = 6\n");
    }

    #[test]
    fn a_change_tells_the_old_and_the_new_value() {
        let change = set_key("mode = \"enforce\" # x\n", "mode", "observe", Scope::User).expect("valid");
        assert_eq!((change.from.as_deref(), change.to.as_deref()), (Some("\"enforce\""), Some("\"observe\"")));
        let change = set_key("", "mode", "observe", Scope::User).expect("valid");
        assert_eq!(change.from, None);
    }

    #[test]
    fn a_key_is_removed_and_a_missing_one_is_no_error() {
        let content = "# mine\nfail = \"open\"\nmode = \"observe\"\n";
        let change = unset_key(content, "mode", Scope::User).expect("valid");
        assert_eq!(
            (change.content.as_str(), change.from.as_deref()),
            ("# mine\nfail = \"open\"\n", Some("\"observe\""))
        );
        let change = unset_key(content, "loop.repeat.deny", Scope::User).expect("valid");
        assert_eq!((change.content.as_str(), change.from), (content, None));
    }

    #[test]
    fn nothing_is_changed_by_a_bad_value_an_unknown_key_or_a_file_with_errors() {
        for (content, name, value, problem) in [
            ("", "mode", "observ", "mode = observ: expected"),
            ("", "mod", "observe", "did you mean `mode`?"),
            ("", "loop.repeat.deny", "many", "loop.repeat.deny = many: expected"),
            ("", "loop.repeat.deny", "5\nmode = \"observe\"", "expected"),
            ("", "loop.repeat", "5", "expected a table"),
            ("mode = \"observ\"\n", "fail", "closed", "mode = \"observ\": expected"),
            ("mode =\n", "fail", "closed", "line 1"),
        ] {
            let problems = set_key(content, name, value, Scope::User).expect_err(name);
            assert!(problems[0].contains(problem), "{problems:?}");
        }
        let problems = set_key("", "operator.unattended", "true", Scope::Project).expect_err("for users only");
        assert!(problems[0].contains("only the user's own file can set"), "{problems:?}");
    }

    #[test]
    fn all_errors_of_a_file_are_reported() {
        let problems = check("mode = \"observ\"\n[loop]\ntreshold = 3\n[loop.repeat]\ndeny = -1\n", Scope::User);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert_eq!(check("mode = \"observe\"\n", Scope::User), Vec::<String>::new());
    }
}
