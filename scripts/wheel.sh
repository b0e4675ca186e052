#!/usr/bin/env bash
# Makes build/wheels/asyncgrad-*.whl, a Python package with everything inside but NumPy: for CPython 3.10 and newer on Linux, for
# the CPU alone. Installs what is missing first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh
python=$(scripts/python.sh --environment)
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
# The environment has what the build needs, so pip is not to fetch it again.
PATH=$(dirname "$python"):$PATH "$python" -m build --wheel --no-isolation --outdir "$built" python >"$built/log" 2>&1 || {
  tail -n 30 "$built/log" >&2
  exit 1
}
mkdir -p build/wheels
LD_LIBRARY_PATH=$PWD/.deps/onednn/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PATH=$(dirname "$python"):$PATH \
  "$python" -m auditwheel repair --strip --wheel-dir build/wheels "$built"/asyncgrad-*.whl
ls -1sh build/wheels/asyncgrad-*.whl
