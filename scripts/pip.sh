#!/usr/bin/env bash
# Runs pip, that of the first Python that has it: the first Python in PATH may have none although Debian's has it.
#
#   scripts/pip.sh ARGUMENT...     PYTHON=... names the Python to begin with
for python in "${PYTHON:-python3}" /usr/bin/python3; do
  "$python" -m pip --version >/dev/null 2>&1 && exec "$python" -m pip --disable-pip-version-check "$@"
done
echo "No Python here has pip: install python3-pip" >&2
exit 1
