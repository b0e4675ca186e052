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
  "$python" -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3 # the first in PATH may have no pip
  echo "Installing Python packages into $folder" >&2
  rm -rf "$folder"
  # Without pip inside: Debian's venv cannot make that. The pip outside installs.
  "$python" -m venv --without-pip "$folder"
  "$python" -m pip --python "$folder/bin/python" --quiet --disable-pip-version-check install --retries 2 \
    --only-binary=:all: --requirement "$list" >&2 || {
    echo "The packages of $list could not be fetched from PyPI." >&2
    exit 1
  }
  cp "$list" "$folder/packages.txt"
fi
echo "$PWD/$folder/bin/python"
