#!/usr/bin/env bash
# Runs the same work on asyncgrad and, in turn, on PyTorch (from Python and from C++), JAX, MXNet and numpy, and prints
# the ratios of their times. On a GPU it runs PyTorch alone, in several ways. Installs what is missing, the peers from
# PyPI into .peers (6 GB). A complete run writes its part of benchmarks/RESULTS.md.
#
#   scripts/compare.sh [OPTION...]     OPTION: see scripts/compare.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" python3-pip || echo "Going on with the peers that are there." >&2
"$root/scripts/build.sh" peer_asyncgrad
exec python3 "$root/benchmarks/peers/compare.py" "$@"
