#!/usr/bin/env bash
# Runs clang-tidy over the library's sources, or over those named. Needs clang-tidy 14 and a configured release.
#
#   scripts/tidy.sh [FILE...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v clang-tidy >/dev/null || { echo "clang-tidy is missing: apt-get install clang-tidy" >&2; exit 1; }
[[ -f build/release/compile_commands.json ]] || scripts/build.sh asyncgrad
(($#)) || mapfile -t files < <(git ls-files 'core/*.cpp' 'autograd/*.cpp' 'nn/*.cpp' 'optim/*.cpp' 'backends/*.cpp')
printf '%s\n' "${@:-${files[@]}}" | xargs -P "$(nproc)" -n 1 clang-tidy -p build/release --quiet
