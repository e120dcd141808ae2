//! Feeds every reader of foreign bytes with damaged inputs of the fuzzing corpus, for `bench/campaign`.
//!
//! The same count and seed give the same inputs. A panic or an input that takes too long ends the program with the input.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haltline_sim::chance::Chance;
use haltline_sim::fuzz_targets::{TARGETS, Target};

/// An input that takes longer than this many seconds hangs.
const SECONDS_MAX: u64 = 20;

/// The database target writes files: it gets one input where the others get this many.
const DATABASE_SHARE: u64 = 2_000;

/// Inputs longer than this are cut: length is the concern of the tests of limits, not of this program.
const BYTES_MAX: usize = 16 * 1024;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, count, seed, corpus] = &arguments[..] else {
        eprintln!("usage: campaign-inputs COUNT SEED CORPUS");
        exit(2);
    };
    let number = |text: &String| text.parse::<u64>().unwrap_or_else(|error| panic!("{text}: {error}"));
    let (count, seed) = (number(count), number(seed));
    std::panic::set_hook(Box::new(|_| {}));
    let done = std::sync::Arc::new(AtomicU64::new(0));
    watch(std::sync::Arc::clone(&done));
    let seeds: Vec<(Target, Vec<Vec<u8>>)> =
        TARGETS.iter().map(|&target| (target, kept_inputs(&Path::new(corpus).join(target.0)))).collect();
    let mut chance = Chance::new(seed);
    for index in 0..count {
        let ((name, target), kept) = pick(&seeds, &mut chance);
        let input = damaged(kept, &mut chance);
        if catch_unwind(AssertUnwindSafe(|| target(&input))).is_err() {
            println!("input {index} of seed {seed}: {name} panics on {input:?}");
            exit(1);
        }
        done.store(index + 1, Ordering::Relaxed);
    }
    println!("{count} inputs to {} readers", TARGETS.len());
}

/// Ends the program when one input takes too long.
fn watch(done: std::sync::Arc<AtomicU64>) {
    std::thread::spawn(move || {
        let mut last = u64::MAX;
        loop {
            let now = done.load(Ordering::Relaxed);
            if now == last {
                println!("input {now} took longer than {SECONDS_MAX} s");
                exit(1);
            }
            last = now;
            std::thread::park_timeout(Duration::from_secs(SECONDS_MAX));
        }
    });
}

fn kept_inputs(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    let inputs = paths.iter().map(|path| std::fs::read(path).expect("a kept input can be read"));
    inputs
        .map(|mut input| {
            input.truncate(BYTES_MAX);
            input
        })
        .collect()
}

fn pick<'a>(seeds: &'a [(Target, Vec<Vec<u8>>)], chance: &mut Chance) -> (Target, &'a [Vec<u8>]) {
    loop {
        let (target, kept) = chance.pick(seeds);
        if target.0 != "database" || chance.below(DATABASE_SHARE) == 0 {
            return (*target, kept);
        }
    }
}

/// One kept input, changed in one to eight places, or spliced with another.
fn damaged(kept: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut input = chance.pick(kept).clone();
    if chance.below(4) == 0 {
        let other = chance.pick(kept);
        input.truncate(chance.index(input.len() + 1));
        input.extend_from_slice(&other[chance.index(other.len() + 1)..]);
    }
    for _ in 0..=chance.below(8) {
        let place = chance.index(input.len() + 1);
        let length = chance.index(17).min(input.len() - place);
        match chance.below(6) {
            0 if place < input.len() => input[place] ^= 1 << chance.below(8),
            1 => drop(input.drain(place..place + length)),
            2 => input.splice(place..place, chance.bytes(length)).for_each(drop),
            3 => {
                let copy = input[place..place + length].to_vec();
                let target = chance.index(input.len() + 1);
                input.splice(target..target, copy).for_each(drop);
            }
            4 => input.truncate(place),
            _ => input.splice(place..place, *chance.pick(&TOKENS)).for_each(drop),
        }
    }
    input.truncate(BYTES_MAX);
    input
}

/// Bytes that formats give a meaning to.
const TOKENS: [[u8; 4]; 12] = [
    *b"{\"a\"",
    *b"[[[[",
    *b"]]]]",
    *b"null",
    *b"-1e9",
    *b"\\u00",
    *b"\n---",
    *b"$(''",
    *b"<<E\n",
    *b"\0\0\0\0",
    [0xff; 4],
    [0xe2, 0x80, 0xae, b' '],
];
