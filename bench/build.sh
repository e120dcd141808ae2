# shellcheck shell=bash disable=SC2034
# Sourced by `run` and `instructions`: builds what they measure and finds it. Sets `bin`, `filler` and `work`.

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$bench")

say() { printf 'bench: %s\n' "$*" >&2; }

# build BINARY...: haltline as it is shipped, and programs of haltline-sim.
build() {
    cd "$root"
    say "building release binaries (fat LTO: minutes when cold)"
    # haltline alone, so that no feature of the test crates slips into what is measured.
    cargo build --release --locked --quiet -p haltline --bin haltline
    cargo build --release --locked --quiet -p haltline-sim --no-default-features "${@/#/--bin=}"
    # .cargo/config.toml names the target, so cargo puts binaries below its name.
    local triple
    triple=${CARGO_BUILD_TARGET:-$(rustc -vV | sed -n 's/^host: //p')}
    bin=$(realpath "${CARGO_TARGET_DIR:-target}")/$triple/release
    local name
    for name in haltline "$@"; do
        [[ -x $bin/$name ]] || { say "$bin/$name was not built"; exit 1; }
    done
}

# Builds what fills a store, without the optimisations that take minutes. Sets `filler`.
build_filler() {
    cargo build --locked --quiet -p haltline-sim --no-default-features --features fill --bin bench-fill
    filler=$(realpath "$bin/../debug/bench-fill")
}

# have TOOL: whether it is in /usr/bin, after trying to install the package of that name. What is measured sees no more
# of PATH than that.
have() {
    [[ -x /usr/bin/$1 ]] && return
    say "$1 is missing: trying apt-get install $1"
    local sudo=()
    [[ $(id -u) == 0 ]] || sudo=(sudo -n)
    "${sudo[@]}" apt-get install -y -qq "$1" >/dev/null 2>&1 && [[ -x /usr/bin/$1 ]]
}

# A folder for everything a run writes, gone when the run ends. Its path always has the same length: it is part of
# file names and environment, and so of the instruction counts.
make_work_folder() {
    work=$(mktemp -d /tmp/haltline-bench.XXXXXX)
    trap 'rm -rf "$work"' EXIT
}
