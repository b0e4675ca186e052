#!/usr/bin/env bash
# Builds and runs a demonstration of the book's chapters, or lists them all.
#
#   scripts/demo.sh                      the list
#   scripts/demo.sh NAME [OPTION...]     OPTION: see scripts/demo.sh NAME --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# A demonstration includes support/demo.h, and its first line says what it shows.
list() {
  local file
  for file in "$root"/examples/*.cpp; do
    grep -q 'support/demo\.h' "$file" || continue
    printf '%-22s%s\n' "$(basename "$file" .cpp)" "$(sed -n '1s,^// ,,p' "$file")"
  done
}

if (($# == 0)); then
  list
  exit
fi
name=$1
shift
if [[ $name == */* ]] || ! grep -qs 'support/demo\.h' "$root/examples/$name.cpp"; then
  printf "There is no demonstration '%s'. There are:\n" "$name" >&2
  list >&2
  exit 2
fi
"$root/scripts/build.sh" "$name"
exec "$root/build/release/$name" "$@"
