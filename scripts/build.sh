#!/usr/bin/env bash
# Installs what is missing and builds the release preset, or only the targets named. Quick when nothing has changed.
#
#   scripts/build.sh [TARGET...]
#
# Kernels are compiled for this machine's processor alone. A build folder that exists keeps what was chosen when it was made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh

build=build/release
if [[ ! -f $build/build.ninja ]]; then
  echo "Building; the first time takes a few minutes" >&2
  mkdir -p build
  if ! cmake --preset release -DASYNCGRAD_INSTRUCTION_SETS=native >build/configure.log 2>&1; then
    cat build/configure.log >&2
    echo "CMake could not configure the build; its messages are above." >&2
    exit 1
  fi
fi
# On a terminal this shows a line of progress, elsewhere only errors.
quiet=(--quiet)
[[ -t 2 ]] && quiet=()
cmake --build $build ${1:+--target "$@"} -- "${quiet[@]}" >&2
