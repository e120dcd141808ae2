//! Scopes built from lists, graphs and contracts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use haltline_core::attempt::{Covered, Origin, Scope, Source};
use haltline_engine::scope_file::{BuiltScope, ScopeError, ScopeRequest, build};
use haltline_engine::scope_path::ProjectRoot;

struct Site {
    _folder: tempfile::TempDir,
    root: PathBuf,
    project_root: ProjectRoot,
}

fn site(files: &[(&str, &str)]) -> Site {
    let folder = tempfile::tempdir().expect("temp folder");
    let root = fs::canonicalize(folder.path()).expect("exists");
    for (path, content) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("created");
        fs::write(path, content).expect("written");
    }
    let project_root = ProjectRoot::open(&root).expect("exists");
    Site { _folder: folder, root, project_root }
}

impl Site {
    fn request<'request>(&'request self, slice: &'request str) -> ScopeRequest<'request> {
        ScopeRequest { slice, folder: &self.root, graph: None, contracts: &[], in_scope: None }
    }

    fn build(&self, slice: &str) -> Result<BuiltScope, ScopeError> {
        build(&self.project_root, self.request(slice))
    }

    fn given(&self, folder: &str, paths: &[&str]) -> Result<Vec<String>, String> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let folder = self.root.join(folder);
        let request = ScopeRequest { folder: &folder, in_scope: Some(&paths), ..self.request("S-1") };
        build(&self.project_root, request).map(|built| entries(&built.scope)).map_err(|error| error.to_string())
    }

    fn is_in(&self, scope: &Scope, path: &str) -> bool {
        let resolved = self.project_root.resolve(&self.root, Path::new(path)).expect("told");
        matches!(self.project_root.check_scope(scope, &resolved).0, Covered::By(_))
    }
}

fn entries(scope: &Scope) -> Vec<String> {
    scope.entries.iter().map(|entry| entry.path.clone()).collect()
}

const GRAPH: &str = r#"{
    "project": "parcels", "waves": 3,
    "slices": {
        "S-1": { "name": "Weigh", "packages": ["scale", "cmd/weigh.go"], "contracts": ["C-1"],
                 "deliverables": ["docs/scale.md (update)", "A working scale"], "wave": 1 },
        "S-2": { "files_in_scope": ["ship/", "main.go"], "packages": ["everything"] },
        "S-3": { "files_in_scope": [] },
        "S-4": { "files_in_scope": null, "deliverables": ["A pleasant page"] }
    }
}"#;

#[test]
fn a_graph_gives_packages_and_deliverables_without_their_remarks() {
    let site = site(&[(".greenlight/GRAPH.json", GRAPH), ("scale/a.go", "")]);
    let built = site.build("S-1").expect("a scope");
    assert_eq!(built.scope.origin, Origin::Inferred);
    assert_eq!(entries(&built.scope), ["cmd/weigh.go", "docs/scale.md", "scale"]);
    assert_eq!(built.notes, [r#"deliverables: "A working scale" is left out: it does not look like a path"#]);
    let digest = built.scope.graph.clone().expect("a digest");
    assert_eq!(digest, haltline_core::attempt::file_digest(GRAPH.as_bytes()));
    assert!(site.is_in(&built.scope, "scale/deep/a.go") && !site.is_in(&built.scope, "scales.go"));
}

#[test]
fn an_explicit_list_replaces_all_else_and_an_empty_one_is_a_list() {
    let site = site(&[("GRAPH.json", GRAPH)]);
    let built = site.build("S-2").expect("a scope");
    assert_eq!((built.scope.origin, entries(&built.scope)), (Origin::Explicit, vec!["main.go".into(), "ship/".into()]));
    let built = site.build("S-3").expect("a scope");
    assert_eq!((built.scope.origin, built.scope.entries.len()), (Origin::Explicit, 0));
    let built = site.build("S-4").expect("a scope");
    assert_eq!((built.scope.origin, built.notes.len()), (Origin::None, 1));
    assert_eq!(site.given("", &["x/"]).expect("a scope"), ["x/"]);
    let nothing = site.build("S-9").expect_err("no such slice").to_string();
    assert!(
        nothing.starts_with(r#"slice "S-9" is not in "#) && nothing.contains(r#"which has "S-1", "S-2", "#),
        "{nothing}"
    );
}

#[test]
fn slices_may_be_a_list() {
    let graph = r#"{"slices": [{"id": "a", "packages": ["one"]}, {"id": "b", "packages": ["two/"]}]}"#;
    let site = site(&[("GRAPH.json", graph)]);
    let built = site.build("b").expect("a scope");
    assert_eq!(entries(&built.scope), ["two/"]);
    assert_eq!(built.notes, [r#"packages: "two/" does not exist yet; name a package by its folder"#]);
}

#[test]
fn without_graph_and_contracts_the_lock_is_off_but_a_named_file_must_be_there() {
    let site = site(&[("a", "")]);
    assert!(site.build("S-1").expect("a scope").scope.is_lock_off());
    let missing = Some(Path::new("G.json"));
    assert!(matches!(
        build(&site.project_root, ScopeRequest { graph: missing, ..site.request("S-1") }),
        Err(ScopeError::Unreadable { .. })
    ));
    let contracts = [PathBuf::from("none.md")];
    assert!(matches!(
        build(&site.project_root, ScopeRequest { contracts: &contracts, ..site.request("S-1") }),
        Err(ScopeError::Unreadable { .. })
    ));
}

#[test]
fn what_is_wrong_in_a_graph_is_named() {
    for (graph, expected) in [
        ("[]", "the graph is a list: expected an object"),
        ("{", "this is not JSON"),
        ("{}", "slices is missing: expected a map or a list"),
        (r#"{"slices": 3}"#, "slices is 3: expected a map or a list"),
        (r#"{"slices": {"S": 1}}"#, "slices.S is 1: expected an object"),
        (r#"{"slices": {"S": {"packages": "a"}}}"#, r#"slices.S.packages is "a": expected a list of strings"#),
        (r#"{"slices": {"S": {"deliverables": [1]}}}"#, "slices.S.deliverables[0] is 1: expected text"),
        (r#"{"slices": [{}]}"#, "slices[0].id is missing: expected the slice's id"),
        (r#"{"slices": [{"id": 1}]}"#, "slices[0].id is 1: expected text"),
        (r#"{"slices": [{"id": "S"}, {"id": "S"}]}"#, r#"slices[1].id: slice "S" appears twice"#),
    ] {
        let message = site(&[("GRAPH.json", graph)]).build("S").expect_err("no scope").to_string();
        assert!(message.contains(&format!("GRAPH.json: {expected}")), "{graph} gave {message}");
    }
}

#[test]
fn given_paths_start_where_they_are_given_and_must_be_of_the_project() {
    let site = site(&[("src/users/a.ts", ""), ("src/what?.ts", ""), ("shared/x", "")]);
    let absolute = site.root.join("shared/x");
    for (folder, path, expected) in [
        ("src", "users/", "src/users/"),
        ("src", "../shared/x", "shared/x"),
        ("src", ".", "src/"),
        ("src", "*.ts", "src/*.ts"),
        ("src", "what?.ts", "src/what?.ts"),
        ("src", "../shared/**/y", "shared/**/y"),
        ("", absolute.to_str().expect("text"), "shared/x"),
        ("", "./...", "."),
        ("", "src/...", "src/"),
        ("", "later/...", "later/"),
        ("", "src", "src/"),
        ("", "**/*.rs", "**/*.rs"),
        ("", "new/file.rs", "new/file.rs"),
    ] {
        assert_eq!(site.given(folder, &[path]), Ok(vec![expected.to_owned()]), "{path} in {folder}");
    }
    for path in ["", "../x", "/etc/passwd", "/*", "/...", "../*.ts", "~/x", "a\0"] {
        let message = site.given("", &[path]).expect_err("refused");
        assert!(message.starts_with("--in-scope = "), "{path:?} gave {message}");
    }
}

#[test]
fn an_entry_behind_a_link_stands_for_the_target() {
    let site = site(&[("packages/ui/a.ts", ""), ("AGENTS.md", "")]);
    symlink("packages/ui", site.root.join("ui")).expect("linked");
    symlink("AGENTS.md", site.root.join("NOTES.md")).expect("linked");
    symlink("/etc", site.root.join("out")).expect("linked");
    assert_eq!(site.given("", &["ui/"]), Ok(vec!["packages/ui/".to_owned(), "ui/".to_owned()]));
    assert_eq!(site.given("", &["ui/**/a.ts"]).expect("a scope").len(), 2);
    assert!(site.given("", &["out/"]).expect_err("refused").contains("it leads out of the project, to /etc"));
    let paths = ["ui/".to_owned(), "NOTES.md".to_owned()];
    let built =
        build(&site.project_root, ScopeRequest { in_scope: Some(&paths), ..site.request("S-1") }).expect("a scope");
    for path in ["ui/a.ts", "packages/ui/b.ts", "NOTES.md", "AGENTS.md"] {
        assert!(site.is_in(&built.scope, path), "{path}");
    }
    assert!(!site.is_in(&built.scope, "out/passwd"));
}

#[test]
fn contracts_are_joined_with_the_graph_and_only_their_sections_are_read() {
    let contracts = "## C-1: Weigh\nCreate `scale/weigh.ts`. Do not change `shared/errors.ts`.\n## C-2\n`other/x.ts`\n";
    let site = site(&[
        ("GRAPH.json", GRAPH),
        (".greenlight/CONTRACTS.md", contracts),
        ("docs/C.md", "`whole/y.ts`"),
        ("scale/a.go", ""),
    ]);
    let built = site.build("S-1").expect("a scope");
    assert_eq!(entries(&built.scope), ["cmd/weigh.go", "docs/scale.md", "scale", "scale/weigh.ts"]);
    let source = Source::Contract { file: ".greenlight/CONTRACTS.md, C-1".to_owned() };
    assert_eq!(built.scope.entries[3].source, source);
    assert_eq!(
        built.notes,
        [
            "only these sections were read: .greenlight/CONTRACTS.md, C-1",
            r#".greenlight/CONTRACTS.md: "shared/errors.ts" is left out: the contract says that it must not change"#,
            r#"deliverables: "A working scale" is left out: it does not look like a path"#,
        ]
    );
    let given = [PathBuf::from("C.md")];
    let folder = site.root.join("docs");
    let request = ScopeRequest { folder: &folder, contracts: &given, ..site.request("S-1") };
    let built = build(&site.project_root, request).expect("a scope");
    assert_eq!(entries(&built.scope), ["cmd/weigh.go", "docs/scale.md", "scale", "whole/y.ts"]);
    assert_eq!(built.notes[0], "docs/C.md: no heading names C-1 or S-1, so haltline uses the whole file");
}
