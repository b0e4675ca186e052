#!/usr/bin/env bash
# Runs clang-tidy over the library's sources, or over those named. Needs clang-tidy 14.
#
#   scripts/tidy.sh [FILE...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v clang-tidy >/dev/null || { echo "clang-tidy is missing: apt-get install clang-tidy" >&2; exit 1; }
scripts/setup.sh
# clang-tidy cannot read GCC's precompiled headers.
cmake --preset release -B build/tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
(($#)) || mapfile -t files < <(git ls-files 'core/*.cpp' 'autograd/*.cpp' 'nn/*.cpp' 'optim/*.cpp' 'data/*.cpp' \
  'dist/*.cpp' 'backends/*.cpp' 'experiment/*.cpp')
printf '%s\n' "${@:-${files[@]}}" | xargs -d '\n' -P "$(nproc)" -n 1 clang-tidy -p build/tidy --quiet
