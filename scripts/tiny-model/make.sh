#!/bin/sh
# Remakes the model in the box: corpus, training, export, check. Usage: scripts/tiny-model/make.sh [MODEL.gguf]
# Python packages and intermediate files go to a build folder outside the repository (TINY_MODEL_BUILD).
set -eu

scripts=$(cd "$(dirname "$0")" && pwd)
model=${1:-"$scripts/../../assets/overnight-tiny.gguf"}
build=${TINY_MODEL_BUILD:-"${XDG_CACHE_HOME:-$HOME/.cache}/overnight/tiny-model"}

export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1

if [ ! -x "$build/python/bin/python" ]; then
    echo "Installing PyTorch and gguf into $build/python; on Linux the default PyTorch is about 3 GB."
    python3 -m venv "$build/python"
    "$build/python/bin/pip" install --quiet --requirement "$scripts/requirements.txt"
fi

python="$build/python/bin/python"
"$python" "$scripts/train.py" "$build"
"$python" "$scripts/export.py" "$build" "$build/overnight-tiny.gguf"
"$python" "$scripts/check.py" "$build" "$build/overnight-tiny.gguf"
cp "$build/overnight-tiny.gguf" "$model"
echo "Wrote $model"
