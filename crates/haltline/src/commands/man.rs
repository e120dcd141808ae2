//! `haltline man`: manual pages, made from the definition of the command line.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap_mangen::Man as Page;

use super::help;
use crate::cli::{Arguments, Man};
use crate::error::Failure;
use crate::exit_code;

/// Prints the page of one command, or writes the pages of all.
pub fn run(arguments: &Man, is_json: bool) -> Result<ExitCode, Failure> {
    help::reject_json(is_json, "man")?;
    let mut whole = Arguments::grouped_command();
    whole.build();
    if let Some(folder) = &arguments.folder {
        let written = write_all(&whole, "haltline", folder)
            .map_err(|error| Failure::Plain(format!("--to {}: {error}", folder.display())))?;
        println!("Wrote {written} pages to {}.", folder.display());
        return Ok(exit_code::SUCCESS);
    }
    let command = help::find(&whole, &arguments.command)?;
    let title = std::iter::once("haltline").chain(arguments.command.iter().map(String::as_str));
    let page = render(command, &title.collect::<Vec<_>>().join("-"))?;
    std::io::stdout().lock().write_all(&page)?;
    Ok(exit_code::SUCCESS)
}

/// Writes the pages of a command and of those below it; returns how many.
fn write_all(command: &clap::Command, title: &str, folder: &Path) -> std::io::Result<usize> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(format!("{title}.1")), render(command, title)?)?;
    let mut written = 1;
    for below in command.get_subcommands() {
        written += write_all(below, &format!("{title}-{}", below.get_name()), folder)?;
    }
    Ok(written)
}

fn render(command: &clap::Command, title: &str) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Page::new(command.clone())
        .title(title)
        .source(concat!("haltline ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    Ok(page)
}
