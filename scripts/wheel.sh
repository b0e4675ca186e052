#!/usr/bin/env bash
# Makes build/wheels/asyncgrad-*.whl, a Python package with everything inside but NumPy and nanobind-backend: for CPython 3.10 and newer on Linux.
# Installs what is missing first.
#
#   scripts/wheel.sh           for the CPU alone
#   scripts/wheel.sh --cuda    with kernels for GPUs, in build/wheels/cuda; needs CUDA's compiler. CMAKE_ARGS may say for
#                              which: CMAKE_ARGS=-DCMAKE_CUDA_ARCHITECTURES=90. pip install 'FILE[cuda]' brings cuBLAS
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
wheels=build/wheels
settings=()
if [[ $* == --cuda ]]; then
  command -v nvcc >/dev/null || PATH+=:/usr/local/cuda/bin
  command -v nvcc >/dev/null || { echo "There is no nvcc: install CUDA's Toolkit" >&2; exit 1; }
  wheels+=/cuda
  settings=(--config-setting=cmake.define.ASYNCGRAD_CUDA=ON --config-setting=build-dir=../build/wheel_cuda)
elif (($#)); then
  echo "There is no '$*'. It is scripts/wheel.sh [--cuda]" >&2
  exit 2
fi
scripts/setup.sh
python=$(scripts/python.sh --environment)
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
# The environment has what the build needs, so pip is not to fetch it again.
PATH=$(dirname "$python"):$PATH "$python" -m build --wheel --no-isolation "${settings[@]}" --outdir "$built" python >"$built/log" 2>&1 || {
  tail -n 30 "$built/log" >&2
  exit 1
}
LD_LIBRARY_PATH=$PWD/.deps/onednn/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PATH=$(dirname "$python"):$PATH \
  "$python" -m auditwheel repair --strip --wheel-dir "$built/repaired" "$built"/asyncgrad-*.whl
mkdir -p "$wheels"
rm -f "$wheels"/asyncgrad-*.whl  # of another version
mv "$built"/repaired/asyncgrad-*.whl "$wheels"
ls -1sh "$wheels"/asyncgrad-*.whl
