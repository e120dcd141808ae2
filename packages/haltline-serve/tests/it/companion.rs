//! How `haltline` finds this program.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::support::{SERVE, Site, haltline};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn assert_shows_help(output: &Output) {
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("Usage: haltline serve"), "{}", text(&output.stdout));
}

#[test]
fn haltline_becomes_the_program_beside_it_and_passes_every_argument() {
    let site = Site::new();
    assert_shows_help(&site.run(&haltline(), &["serve", "--help"]));
    let wrong = site.run(&haltline(), &["serve", "--no-such-option"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong.stderr));
    assert!(text(&wrong.stderr).contains("--no-such-option"));
}

#[test]
fn without_the_program_the_error_says_how_to_install_it() {
    let site = Site::new();
    let folder = site.project().join("bin");
    fs::create_dir(&folder).expect("created");
    let alone = folder.join("haltline");
    fs::copy(haltline(), &alone).expect("copied");
    let output = site.run(&alone, &["serve"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("cargo install") && error.contains("haltline-serve"), "{error}");
    assert!(error.contains(&format!("--root {}", site.project().display())), "{error}");
    // A link to the program finds what lies beside its target.
    fs::copy(SERVE, folder.join("haltline-serve")).expect("copied");
    let link = site.project().join("haltline");
    std::os::unix::fs::symlink(&alone, &link).expect("linked");
    assert_shows_help(&site.run(Path::new(&link), &["serve", "--help"]));
}
