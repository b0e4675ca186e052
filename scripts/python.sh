#!/usr/bin/env bash
# Builds the Python package asyncgrad for this machine's Python into build/release/python, after scripts/build.sh.
#
#   scripts/python.sh                 builds it; ctest -L python tests it then
#   scripts/python.sh --environment   only prints a Python, in .peers/python, that has what the build and the tests need
#   scripts/python.sh --mxnet         only prints a Python, in .peers/mxnet, that has MXNet 1.9.1: where it is, the tests
#                                     compare MXNet's names with MXNet itself. It needs Python 3.10 or 3.11.
#
# The status is 3 if there is no such Python, and it could not be made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

environment() {
  scripts/environment.sh python/tests/packages.txt .peers/python || {
    echo "The Python package is neither built nor tested." >&2
    return 1
  }
}

# As scripts/compare.sh makes it.
mxnet() {
  PYTHONPATH=benchmarks/peers PYTHONDONTWRITEBYTECODE=1 "${PYTHON:-python3}" -c 'import sys, systems
try:
    print(systems.environment("mxnet"))
except systems.Unavailable as reason:
    sys.exit(f"MXNet {reason}")'
}

if [[ ${1:-} == --mxnet ]]; then
  mxnet || exit 3
  exit
fi
has_headers() { "$1" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; }

python=$(environment) || exit 3
if [[ ${1:-} == --environment ]]; then
  echo "$python"
  exit
fi
has_headers "$python" || scripts/setup.sh python3-dev || true
has_headers "$python" || {
  echo "Python's header Python.h is missing: install python3-dev, or name another Python by PYTHON=..." >&2
  echo "The Python package is neither built nor tested." >&2
  exit 3
}
[[ -f build/release/build.ninja ]] || scripts/build.sh asyncgrad
cmake -B build/release -DASYNCGRAD_PYTHON=ON -DPython_EXECUTABLE="$python" >build/python.log 2>&1 || {
  cat build/python.log >&2
  exit 1
}
cmake --build build/release --target asyncgrad_core asyncgrad_stub asyncgrad_layer_stub -- --quiet >&2
