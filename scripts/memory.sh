#!/usr/bin/env bash
# Trains the networks of examples/ with and without barriers, budget and order, and writes docs/memory.md of their time and
# memory. Installs what is missing and builds first.
#
#   scripts/memory.sh [OPTION...]     OPTION: see scripts/memory.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2046  # a word for each network
"$root/scripts/build.sh" $(python3 "$root/scripts/memory.py" --list)
exec python3 "$root/scripts/memory.py" "$@"
