#!/usr/bin/env bash
# Builds the site of the documentation into build/site: the pages of the tree, every public header, every module of the
# Python package. It needs no server and no network: open build/site/index.html.
#
#   scripts/docs.sh             installs what is missing, builds the Python package, then the site
#   scripts/docs.sh --check     does so, then follows every link, and looks at the pages in headless Chromium, of which it
#                               keeps pictures in build/site-pictures
#
# Any warning is an error. The packages are in docs/site/packages.txt, their environment is .peers/docs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

help() { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
check=${1:-}
case $check in
  '' | --check) ;;
  --help) help; exit ;;
  *) printf "There is no '%s'. See scripts/docs.sh --help\n" "$check" >&2; exit 2 ;;
esac
scripts/build.sh asyncgrad
scripts/python.sh
python=$(scripts/environment.sh docs/site/packages.txt .peers/docs)
version=$(sed -n 's/^project(asyncgrad VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=build/release/python ASYNCGRAD_VERSION=$version
"$python" docs/site/stage.py build/site-source
rm -rf build/site
"$python" -m sphinx --quiet --fail-on-warning --keep-going -b html -c docs/site build/site-source build/site >&2
rm -rf build/site/.doctrees build/site/.buildinfo
echo "build/site/index.html"
if [[ $check ]]; then
  "$python" tests/docs/complete.py build/site-source
  "$python" tests/docs/links.py build/site
  "$python" tests/docs/browser.py build/site build/site-pictures
fi
