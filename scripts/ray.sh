#!/usr/bin/env bash
# Tests `python -m asyncgrad.dist.ray` with Ray on a cluster of three nodes, all on this machine. It makes an environment
# with Ray in .peers/ray, fetches MPICH and Open MPI (scripts/dist.sh), and builds the Python package for both.
#
#   scripts/ray.sh [OPTION...]   options go to pytest
#
# The status is 3 if there is no such environment, and it could not be made. It needs Python 3.11 to 3.13.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$(scripts/environment.sh scripts/ray.txt .peers/ray) || {
  echo "asyncgrad.dist.ray is not tested." >&2
  exit 3
}
scripts/dist.sh
cmake --preset release -DASYNCGRAD_MPI=ON >/dev/null
scripts/python.sh
cmake --build build/release --target asyncgrad_mpich asyncgrad_openmpi -- --quiet
PYTHONPATH=build/release/python PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -rs -p no:cacheprovider \
  python/tests/test_ray.py "$@"
