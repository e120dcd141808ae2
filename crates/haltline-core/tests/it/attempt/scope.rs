//! Tests of `attempt/scope.rs`.

use haltline_core::attempt::{CaseSensitivity, Covered, Entry, EntryError, Origin, Scope, Source};

fn entry(path: &str) -> Entry {
    Entry::parse(path, Source::Given).expect("a path")
}

fn scope(paths: &[&str]) -> Scope {
    Scope::explicit(paths.iter().map(|path| entry(path)).collect(), None)
}

fn is_in(paths: &[&str], path: &str) -> bool {
    matches!(scope(paths).covers(path, CaseSensitivity::Sensitive), Covered::By(_))
}

#[test]
fn an_entry_covers_itself_and_everything_below_but_no_name_that_only_begins_the_same() {
    for (entry, path, expected) in [
        ("src/users/", "src/users/service.ts", true),
        ("src/users/", "src/users/deep/er/x.ts", true),
        ("src/users/", "src/users", true),
        ("src/users/", "src/users.rs", false),
        ("src/users/", "src/usersx/a.ts", false),
        ("src/user", "src/users.rs", false),
        ("src/user", "src/user", true),
        ("internal/version/", "internal/version/version.go", true),
        ("internal/version", "internal/version/version.go", false),
        ("setup.py", "setup.py", true),
        ("setup.py", "setup.py/x", false),
        ("internal/version", "internal/version.go", false),
        ("internal/cmd/version.go", "internal/cmd/version.go", true),
        ("internal/cmd/version.go", "internal/cmd/version_test.go", false),
        ("./internal//version/./", "internal/version/a.go", true),
        ("internal/...", "internal/a/b.go", true),
        ("./...", "any/file", true),
        (".", "any/file", true),
        ("./", "any", true),
        ("users", "src/users/a", false),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", true),
        ("app/(auth)/page.tsx", "app/(auth)/page.tsx", true),
        ("what?.md", "what?.md", true),
        ("a b/c.md", "a b/c.md", true),
        ("ö/ä/", "ö/ä/ü", true),
        ("Src/", "src/a", false),
    ] {
        assert_eq!(is_in(&[entry], path), expected, "{entry:?} on {path:?}");
    }
}

#[test]
fn one_star_stays_within_a_name_and_two_stars_match_any_number_of_names() {
    for (entry, path, expected) in [
        ("src/*.ts", "src/a.ts", true),
        ("src/*.ts", "src/deep/a.ts", false),
        ("src/**/*.ts", "src/deep/er/a.ts", true),
        ("src/**/*.ts", "src/a.ts", true),
        ("src/**/*.ts", "src/a.rs", false),
        ("src/**", "src/a/b", true),
        ("**/users.rs", "users.rs", true),
        ("**/users.rs", "a/b/users.rs", true),
        ("**/users.rs", "a/b/xusers.rs", false),
        ("packages/*/src", "packages/one/src/deep/a.ts", true),
        ("packages/*/src", "packages/one/test/a.ts", false),
        ("src/v?.rs", "src/v1.rs", true),
        ("**", "a", true),
        ("a/**/b/**/c", "a/x/b/y/z/c/d", true),
        ("a/**/b/**/c", "a/x/c", false),
    ] {
        assert_eq!(is_in(&[entry], path), expected, "{entry:?} on {path:?}");
    }
}

#[test]
fn many_stars_take_linear_time() {
    let pattern = vec!["**"; 400].join("/") + "/x";
    let path = vec!["a"; 2000].join("/");
    assert!(!is_in(&[&pattern], &path));
}

#[test]
fn an_empty_list_leaves_nothing_in_scope_and_no_list_leaves_the_lock_off() {
    let empty = Scope::explicit(Vec::new(), None);
    assert_eq!(empty.covers("a", CaseSensitivity::Sensitive), Covered::Outside);
    let off = Scope::inferred(Vec::new(), Some("00".to_owned()));
    assert_eq!((off.origin, off.covers("a", CaseSensitivity::Sensitive)), (Origin::None, Covered::LockOff));
    assert!(!empty.is_same(&off));
    assert_eq!(empty.sentence(3), "The list of files in scope is empty: nothing is in scope.");
}

#[test]
fn inferred_entries_are_merged_and_keep_their_sources() {
    let contract = Source::Contract { file: "CONTRACTS.md".to_owned() };
    let entries = vec![
        Entry::parse("src/users/", Source::Packages).expect("a path"),
        Entry::parse("src/users/", contract.clone()).expect("a path"),
        Entry::parse("src/users/", Source::Packages).expect("a path"),
    ];
    let scope = Scope::inferred(entries, None);
    let expected = Entry { path: "src/users/".to_owned(), source: contract };
    assert_eq!(scope.entries.len(), 2);
    assert_eq!(scope.covers("src/users/a", CaseSensitivity::Sensitive), Covered::By(&expected));
    assert_eq!(scope.sentence(1), "In scope: src/users/ (named in CONTRACTS.md) and 1 more.");
}

#[test]
fn scopes_are_the_same_when_they_allow_the_same() {
    let one = Scope::explicit(vec![entry("a/"), entry("b")], Some("11".to_owned()));
    let other = Scope::inferred(vec![entry("./b"), entry("a/"), entry("./a/")], Some("22".to_owned()));
    assert!(one.is_same(&other));
    assert!(!one.is_same(&scope(&["a/"])));
    assert!(!one.is_same(&scope(&["a", "b"])), "a file is not a folder");
    assert!(!one.is_same(&scope(&["a/", "b", "c"])));
}

#[test]
fn a_text_that_is_not_a_project_path_is_not_an_entry() {
    for (text, expected) in [
        ("", EntryError::Empty),
        ("  ", EntryError::Empty),
        ("/etc/passwd", EntryError::Absolute),
        ("src/../../x", EntryError::Climbs),
        ("..", EntryError::Climbs),
        ("a\0b", EntryError::Unwritable),
        ("a\nb", EntryError::Unwritable),
    ] {
        assert_eq!(Entry::parse(text, Source::Given), Err(expected), "{text:?}");
    }
    assert_eq!(entry("..a/b..").path, "..a/b..");
}

#[test]
fn case_is_ignored_only_where_the_file_system_ignores_it() {
    let scope = scope(&["Src/Users/", "docs/*.MD"]);
    for path in ["src/users/a.ts", "Docs/a.md"] {
        assert_eq!(scope.covers(path, CaseSensitivity::Sensitive), Covered::Outside, "{path}");
        assert!(matches!(scope.covers(path, CaseSensitivity::Insensitive), Covered::By(_)), "{path}");
    }
}

#[test]
fn a_scope_survives_serialization() {
    let scope = Scope::inferred(vec![entry("a/"), entry("**/b")], Some("ab".to_owned()));
    let text = serde_json::to_string(&scope).expect("written");
    assert_eq!(
        text,
        r#"{"origin":"inferred","entries":[{"path":"**/b","source":"given"},{"path":"a/","source":"given"}],"graph":"ab"}"#
    );
    assert_eq!(serde_json::from_str::<Scope>(&text).expect("read"), scope);
}
