//! One checkpoint, one comparison or one rollback, for `bench/checkpoint`.

use std::path::Path;
use std::process::ExitCode;

use haltline_engine::checkpoint::{CheckpointError, Checkpoints, RollBackOptions};
use haltline_engine::clock::Clock;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [act, root] = &arguments[..] else {
        eprintln!("usage: checkpoint_once take|changed|back FOLDER");
        return ExitCode::from(2);
    };
    match run(act, Path::new(root)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("checkpoint_once: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(act: &str, root: &Path) -> Result<(), CheckpointError> {
    let checkpoints = Checkpoints::open(root)?;
    let at = Clock::System.now().at;
    let found = || checkpoints.find("bench")?.ok_or_else(|| CheckpointError::Unknown("bench".to_owned()));
    match act {
        "take" => drop(checkpoints.create("bench", at)?),
        "changed" => println!("{}", checkpoints.changed_since(&found()?)?.paths.len()),
        _ => {
            let done = checkpoints.roll_back(&found()?, RollBackOptions::default(), at)?;
            println!("{} {} {}", done.restored, done.removed, done.unchanged);
        }
    }
    Ok(())
}
