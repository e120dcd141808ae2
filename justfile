# Each recipe is one line that can be typed as well.

# What README names: all tests that need nothing but the toolchain and git
test:
    cargo test --workspace

# Unmodified clients against a scripted model, offline; needs npm, root and iproute2. `just clients NAME` runs one
clients *ARGS:
    .ci/clients {{ARGS}}

# Formatting, lints, documentation
lint:
    cargo fmt --all --check && cargo clippy --workspace --all-targets --features haltline-sim/clients -- -D warnings && RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Everything CI runs
ci:
    .ci/run

# Write transcripts and reference pages anew; read the difference afterwards
docs:
    UPDATE_TRANSCRIPTS=1 cargo test -p haltline-sim --test transcripts && UPDATE_REFERENCE=1 cargo test -p haltline --test reference

# Process latency beside an empty program, a JSON parser, Python and bash
bench:
    bench/run

# Instruction counts against bench/instructions.txt; `just instructions --update` writes it anew
instructions *ARGS:
    bench/instructions {{ARGS}}

# Rates of right and wrong refusals on recorded sessions and on bench/corpus
detection *ARGS:
    bench/detection {{ARGS}}

# Every mutant of the core; survivors are killed or explained in crates/haltline-core/mutants.txt
mutants:
    .ci/mutants --all

# Fuzz one target for a while: config, front_matter, state_file, database
fuzz TARGET SECONDS="300":
    fuzz/run {{TARGET}} {{SECONDS}}
