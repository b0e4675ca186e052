#!/usr/bin/env bash
# Reads damaged files for some minutes, under the address and undefined-behaviour sanitizers. The status is 0 if each was
# read or refused as it should be.
#
#   scripts/fuzz.sh [MINUTES [SEED]]     10 minutes; without a SEED one that is drawn and printed
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
minutes=${1:-10} seed=${2:-$RANDOM}
[[ $minutes =~ ^[0-9]+(\.[0-9]+)?$ && $seed =~ ^[0-9]+$ ]] || { echo "usage: scripts/fuzz.sh [MINUTES [SEED]]" >&2; exit 2; }
scripts/setup.sh
cmake --preset asan >/dev/null
cmake --build build/asan --target safetensors_fuzz -- --quiet
echo "The seed is $seed"
build/asan/tests/safetensors_fuzz --minutes "$minutes" --seed "$seed"
