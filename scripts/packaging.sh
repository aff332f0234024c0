# Sourced by scripts/package and scripts/image: which programs are packaged, into which folder, and what makes the bytes the same again.
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
cd "$root"

# The programs in `built`: those in a folder that the arguments name, or those of this checkout, which are built now.
#   choose_programs "$@"
choose_programs() {
    if [ "${1:-}" = --built ] && [ -d "${2:-}" ]; then
        built=$(cd "$2" && pwd)
    elif [ $# -gt 0 ]; then
        say "usage: $0 [--built FOLDER]"
        exit 2
    else
        export GGML_NATIVE=OFF CARGO_TARGET_DIR=$CARGO_TARGET_DIR/package
        build_programs
        built=$CARGO_TARGET_DIR/release
    fi
    command -v cargo >/dev/null || PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
}

dist=${DIST:-$root/dist}
mkdir -p "$dist"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
machine="$(uname -m)-$(uname -s | tr '[:upper:]' '[:lower:]')"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# Every time below a folder is that of the commit.
settle() {
    find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

# An archive of a folder, on standard output; every file is root's:
#   archive FOLDER NAME…
archive() {
    tar --create --directory "$1" --sort=name --owner=0 --group=0 --numeric-owner "${@:2}"
}

# The checksums of everything of this version that is in `dist`.
write_checksums() {
    (cd "$dist" && sha256sum -- *"$version"* >SHA256SUMS)
}
