#!/bin/sh
# Remakes the embedding models of the tests and the vectors that they are compared with: scripts/tiny-embeddings/make.sh [FOLDER]
# Python packages go to a folder outside the repository (TINY_EMBEDDINGS_BUILD).
set -eu

scripts=$(cd "$(dirname "$0")" && pwd)
folder=${1:-"$scripts/../../crates/engine/tests/models"}
build=${TINY_EMBEDDINGS_BUILD:-"${XDG_CACHE_HOME:-$HOME/.cache}/overnight/tiny-embeddings"}

export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1

if [ ! -x "$build/python/bin/python" ]; then
    python3 -m venv "$build/python"
    "$build/python/bin/pip" install --quiet --requirement "$scripts/requirements.txt"
fi
mkdir -p "$folder"
"$build/python/bin/python" "$scripts/make.py" "$folder"
