#!/usr/bin/env bash
# Runs the array API standard's own tests, data-apis/array-api-tests, on asyncgrad.array_api, after scripts/python.sh.
#
#   scripts/array_api.sh SUITE [pytest's options]      --max-examples N is 50 at first
#
# SUITE is a folder that has the suite, which is no package and is not fetched here: its release 2026.02.26, with
# conftest.py and array_api_tests/, and in array-api/ the submodule of that release, which has spec/.
#
# python/tests/array_api_xfails.txt lists the tests that fail, with their reasons. The status is 0 if all others pass,
# and 3 if SUITE does not have the tests, or their packages could not be fetched.
set -euo pipefail
suite=${1:+$(realpath -m -- "$1")} # as seen from the folder of the caller
cd "$(dirname "${BASH_SOURCE[0]}")/.."
packages=.peers/array-api-packages
absent() {
  echo "The standard's tests were not run: $1" >&2
  exit 3
}

if [[ ! -e $suite/conftest.py || ! -d $suite/array_api_tests || ! -d $suite/array-api/spec ]]; then
  sed -n '/^#   scripts/,/has spec/s/^# \{0,3\}//p' scripts/array_api.sh >&2
  absent "${suite:-SUITE, which is not given,} does not have them"
fi
python=$(scripts/python.sh --environment) || absent "there is no Python environment"
[[ -e build/release/python/asyncgrad/_core.abi3.so ]] || absent "scripts/python.sh has not been run"
if [[ ! -e $packages ]]; then
  scripts/pip.sh install --quiet --target "$packages.new" --no-deps "ndindex==1.10.1" "pytest-json-report==1.5.0" \
    "pytest-metadata==3.1.1" || { rm -rf "$packages.new"; absent "PyPI cannot be reached"; }
  mv "$packages.new" "$packages"
fi

# The tests ask for complex numbers unless they are told that there are none, and make tensors of the default type of
# numbers that float32 refuses.
root=$PWD python=$(realpath -s "$python")
export ARRAY_API_TESTS_MODULE="exec('import asyncgrad; asyncgrad.set_default_dtype(\"float64\"); xp = asyncgrad.array_api')"
export ARRAY_API_TESTS_SKIP_DTYPES=complex64,complex128 ARRAY_API_TESTS_MAX_ARRAY_SIZE=64
export PYTHONPATH=$root/build/release/python:$root/$packages PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY=/tmp/asyncgrad_hypothesis
cd "$suite"
"$python" -m pytest -q -p no:cacheprovider --rootdir=. --disable-deadline --derandomize --max-examples 50 -k "not imag" \
  --xfails-file="$root/python/tests/array_api_xfails.txt" "${@:2}" array_api_tests
