//! `.ralphrc`: a shell file, of which haltline reads only plain assignments. Nothing in it is ever run.

/// Names and values of the plain assignments, in the order of the file: `NAME=value`, `export NAME="value"`,
/// `NAME="${NAME:-value}"`. Anything a shell would have to evaluate is returned as it is written.
pub fn assignments(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        let (name, value) = line.split_once('=')?;
        let is_name = !name.is_empty()
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then(|| (name, default_of(name, plain(value))))
    })
}

/// The value without quotes and without a trailing comment.
fn plain(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote) {
            return inner.split_once(quote).map_or(inner, |(inner, _comment)| inner);
        }
    }
    let end = value.find([' ', '\t', '#', ';']).unwrap_or(value.len());
    &value[..end]
}

/// The default in `${NAME:-value}`. It applies only when NAME is not set, and only then does haltline read the file.
fn default_of<'a>(name: &str, value: &'a str) -> &'a str {
    let inner = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let default = inner.and_then(|inner| inner.strip_prefix(name)).and_then(|rest| rest.strip_prefix(":-"));
    default.unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_assignments_are_read_and_nothing_is_run() {
        let file = "# CB_A=1\nCB_A=2\n  export CB_B=\"3\" # why\nCB_C='4'\nCB_D=\"${CB_D:-5}\"\nCB_E=$(rm -rf /)\n\
            if [ x = y ]; then CB_F=6; fi\nCB_G=7;CB_H=8\nCB_I = 9\n1X=2\nCB_J=\n";
        let read: Vec<(&str, &str)> = assignments(file).collect();
        let expected =
            [("CB_A", "2"), ("CB_B", "3"), ("CB_C", "4"), ("CB_D", "5"), ("CB_E", "$(rm"), ("CB_G", "7"), ("CB_J", "")];
        assert_eq!(read, expected);
    }
}
