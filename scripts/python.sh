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
list=python/tests/packages.txt
folder=.peers/python

# Made once, and again when the list changes.
environment() {
  local python=${PYTHON:-python3}
  if ! cmp -s "$list" "$folder/packages.txt"; then
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
      echo "Python 3.10 or newer is needed; PYTHON=... names another than python3." >&2
      return 1
    }
    "$python" -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3 # the first in PATH may have no pip
    echo "Installing Python packages into $folder" >&2
    rm -rf "$folder"
    # Without pip inside: Debian's venv cannot make that. The pip outside installs.
    "$python" -m venv --without-pip "$folder"
    "$python" -m pip --python "$folder/bin/python" --quiet --disable-pip-version-check install --retries 2 \
      --only-binary=:all: --requirement "$list" >&2 || {
      echo "The Python package is neither built nor tested: its packages could not be fetched from PyPI." >&2
      return 1
    }
    cp "$list" "$folder/packages.txt"
  fi
  echo "$PWD/$folder/bin/python"
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
python=$(environment) || exit 3
if [[ ${1:-} == --environment ]]; then
  echo "$python"
  exit
fi
cmake -B build/release -DASYNCGRAD_PYTHON=ON -DPython_EXECUTABLE="$python" >build/python.log 2>&1 || {
  cat build/python.log >&2
  exit 1
}
cmake --build build/release --target asyncgrad_core asyncgrad_stub asyncgrad_layer_stub -- --quiet >&2
