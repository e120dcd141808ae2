#!/bin/sh
# Installs haltline for this account: downloads the archive of this platform, checks its digest, and puts the program into
# ~/.local/bin. Options come as variables:
#   HALTLINE_VERSION   the version; default: the newest release
#   HALTLINE_RELEASES  where the releases are; default: the project's release page
#   HALTLINE_BIN       the folder of the program; default: ~/.local/bin
set -eu

releases=${HALTLINE_RELEASES:-@REPOSITORY@/releases/download}
bin=${HALTLINE_BIN:-$HOME/.local/bin}
version=${HALTLINE_VERSION:-@VERSION@}

fail() {
    echo "haltline is not installed: $1" >&2
    exit 1
}

case $(uname -s) in
    Linux) system=unknown-linux-gnu ;;
    Darwin) system=apple-darwin ;;
    *) fail "there is no program for $(uname -s)" ;;
esac
case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no program for $(uname -m)" ;;
esac
name=haltline-$version-$machine-$system

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fetch() {
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$folder/$1" "$releases/v$version/$1"
    elif command -v wget >/dev/null; then
        wget --quiet --output-document "$folder/$1" "$releases/v$version/$1"
    else
        fail "this script needs curl or wget"
    fi || fail "cannot download $releases/v$version/$1"
}
fetch "$name.tar.xz"
fetch SHA256SUMS

# The line of this archive only: the others were not downloaded.
grep " $name.tar.xz\$" "$folder/SHA256SUMS" >"$folder/sum" || fail "SHA256SUMS does not list $name.tar.xz"
if command -v sha256sum >/dev/null; then
    (cd "$folder" && sha256sum -c sum >/dev/null) || fail "the digest of $name.tar.xz is wrong"
else
    (cd "$folder" && shasum -a 256 -c sum >/dev/null) || fail "the digest of $name.tar.xz is wrong"
fi

tar -C "$folder" -xJf "$folder/$name.tar.xz"
mkdir -p "$bin"
# A rename within the folder: a hook that starts meanwhile runs the old or the new program.
cp "$folder/$name/haltline" "$bin/.haltline.$$"
chmod 755 "$bin/.haltline.$$"
mv "$bin/.haltline.$$" "$bin/haltline"
echo "installed $bin/haltline ($version)"

case ":$PATH:" in
    *":$bin:"*) command=haltline ;;
    *)
        command=$bin/haltline
        echo "add $bin to PATH to type \`haltline\`"
        ;;
esac
# The script itself may be what standard input holds, so the offer reads the terminal.
if [ -t 1 ] && (: </dev/tty) 2>/dev/null; then
    "$bin/haltline" </dev/tty
else
    echo "next: $command"
fi
