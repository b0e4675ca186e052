#!/usr/bin/env bash
# Prints a Python that has the packages of LIST, in FOLDER. Makes it when there is none, and again when LIST has changed.
#
#   scripts/environment.sh LIST FOLDER
#
# PYTHON=... names another than python3. The status is 1 if there is no such Python, and it could not be made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
list=$1
folder=$2

python=${PYTHON:-python3}
if ! cmp -s "$list" "$folder/packages.txt"; then
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "Python 3.10 or newer is needed; PYTHON=... names another than python3." >&2
    exit 1
  }
  echo "Installing Python packages into $folder" >&2
  # One that worked stays beside it until the new one does. An environment cannot be moved and run.
  rm -rf "$folder.before"
  [[ ! -e $folder ]] || mv "$folder" "$folder.before"
  give_back() {
    rm -rf "$folder"
    [[ ! -e $folder.before ]] || mv "$folder.before" "$folder"
  }
  trap give_back EXIT
  # Without pip inside: Debian's venv cannot make that. The pip outside installs.
  "$python" -m venv --without-pip "$folder"
  PYTHON=$python scripts/pip.sh --python "$folder/bin/python" --quiet install --retries 2 \
    --only-binary=:all: --requirement "$list" >&2 || {
    echo "The packages of $list could not be fetched from PyPI." >&2
    exit 1
  }
  cp "$list" "$folder/packages.txt"
  trap - EXIT
  rm -rf "$folder.before"
fi
echo "$PWD/$folder/bin/python"
