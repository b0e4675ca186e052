#!/usr/bin/env bash
# Trains the chapter's MLP with and without barriers: installs what is missing, builds a release, runs it.
#
#   scripts/train.sh [OPTION...]     OPTION: see scripts/train.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/build.sh" async_training
exec "$root/build/release/async_training" "$@"
