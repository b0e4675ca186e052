#!/usr/bin/env bash
# Runs the same workloads on asyncgrad and on PyTorch (from Python and from C++), JAX, MXNet and numpy in turn, or on a
# GPU on PyTorch in several ways, and prints the ratios of their times. PyTorch runs on a CPU with glibc's defaults and
# with glibc told to keep its memory, with one thread or all: the best counts. Installs missing packages, and the peers from
# PyPI into .peers (6 GB). A complete run writes its part of benchmarks/RESULTS.md.
#
#   scripts/compare.sh [OPTION...]     OPTION: see scripts/compare.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" python3-pip || echo "Going on with the installed peers." >&2
"$root/scripts/build.sh" peer_asyncgrad
"$root/scripts/python.sh" || echo "Going on without the Python package." >&2
exec python3 "$root/benchmarks/peers/compare.py" "$@"
