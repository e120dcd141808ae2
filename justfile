# Each recipe is one line that can be typed as well.

# The command of the README: all tests that need nothing but the toolchain and git
test:
    cargo test --workspace

# Unmodified clients against a scripted model, offline; needs npm, root and iproute2. `just clients NAME` runs one
clients *ARGS:
    .ci/clients {{ARGS}}

# Formatting, lints, documentation
lint:
    cargo fmt --all --check && cargo clippy --workspace --all-targets -- -D warnings && cargo clippy --workspace --test clients -- -D warnings && RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# What CI runs: the lanes quick and clients. `just ci quick` runs one of them
ci *LANE:
    .ci/run {{LANE}}

# Many simulator seeds, fuzzing campaigns, every mutant: hours
long:
    .ci/run long

# Rewrite transcripts and reference pages; read the difference afterwards
docs:
    UPDATE_TRANSCRIPTS=1 cargo test -p haltline-sim --test it transcripts && UPDATE_REFERENCE=1 cargo test -p haltline --test it reference

# Process latency beside an empty program, a JSON parser, Python and bash
bench:
    bench/run

# Instruction counts against bench/instructions.txt; `just instructions --update` rewrites it
instructions *ARGS:
    bench/instructions {{ARGS}}

# Rates of right and wrong denials on recorded sessions and on bench/corpus
detection *ARGS:
    bench/detection {{ARGS}}

# Every mutant of the core; survivors are killed or explained in crates/haltline-core/mutants.txt. `just mutants --shard 0/16` runs a part
mutants *ARGS="--all":
    .ci/mutants {{ARGS}}

# Fuzz one target of fuzz/fuzz_targets for a while
fuzz TARGET SECONDS="300":
    fuzz/run {{TARGET}} {{SECONDS}}
