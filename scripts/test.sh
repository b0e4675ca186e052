#!/usr/bin/env bash
# Installs what is missing, builds a release and runs every test, those of the Python package included where there is a
# Python.
#
#   scripts/test.sh [OPTION...]     OPTION: of ctest, such as -R softmax or -L core
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/build.sh
scripts/python.sh || (($? == 3)) # it has said why there is no Python to test
scripts/python.sh --mxnet >/dev/null || echo "Going on without MXNet: no test compares with it." >&2
progress=()
[[ -t 1 ]] && progress=(--progress)
exec ctest --preset release --parallel "$(nproc)" "${progress[@]}" "$@"
