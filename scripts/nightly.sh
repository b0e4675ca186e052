#!/usr/bin/env bash
# Runs what takes too long for every commit: random programs for many minutes, in a release and under the thread
# sanitizer, all refusals, the CUDA backend with faults in it, processes in trouble, the Python package, trainings on a
# Ray cluster, and the site of the documentation. Every part runs; the status is 0 if all passed.
#
#   scripts/nightly.sh [--seed S] [PART...]     S: of the random programs; without it one that is drawn and printed
#   scripts/nightly.sh --help
#
#   release     10 minutes of random programs in a release
#   tsan        5 minutes of them under the thread sanitizer
#   refusals    every request to the system refused, one at a time and from there on, in a release
#   cuda        the tests of the CUDA backend with ten seeds of the emulator, with every call of CUDA failing, and with
#               each of the faults that a test must see; its kernels for every architecture, and the Python package
#               with them, by CUDA's compiler from PyPI
#   dist        1,000 troubles of one of several processes, with each MPI: it is stopped, killed, refused memory, …
#   wheel       the Python package, made and tested in a new environment of each Python that there is
#   ray         trainings on a Ray cluster that loses nodes
#   docs        the site of the documentation: every link, and every page and the search in headless Chromium
#
# Without a PART it runs all of them.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

help() { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

# The preset, the minutes.
random_programs() {
  cmake --preset "$1" >/dev/null && cmake --build "build/$1" --target random_programs -- --quiet &&
    TSAN_OPTIONS="suppressions=$PWD/cmake/tsan.supp second_deadlock_stack=1" \
      "build/$1/tests/random_programs" --minutes "$2" --seed "$seed"
}

all_refusals() {
  cmake --preset release >/dev/null && cmake --build build/release --target refusals -- --quiet &&
    build/release/tests/refusals --all
}

test_cuda() {
  local status=0 i
  cmake --preset release >/dev/null && cmake --build build/release --target cuda_tests -- --quiet || return
  for ((i = 0; i < 10; ++i)); do
    EMULATOR_SEED=$((seed + i)) build/release/tests/backends/cuda/cuda_tests --gtest_brief=1 ||
      { echo "EMULATOR_SEED=$((seed + i))"; status=1; }
  done
  FAULT_SWEEP=1 ctest --preset release --parallel "$(nproc)" -R CudaFaultSweep || status=1
  tests/backends/cuda/mutants/mutants.py || status=1
  compile_cuda || status=1
  return $status
}

compile_cuda() (
  scripts/setup.sh --cuda-compiler || command -v nvcc >/dev/null || return
  export PATH=$PWD/.deps/cuda_compiler/bin:$PATH
  cmake -S . -B build/cuda -G Ninja -DCMAKE_BUILD_TYPE=Release -DASYNCGRAD_CUDA=ON -DASYNCGRAD_WERROR=ON \
    -DASYNCGRAD_INSTRUCTION_SETS=native >/dev/null && cmake --build build/cuda --target asyncgrad -- --quiet &&
    scripts/wheel.sh --cuda && try_cuda_wheel
)

# Makes an environment and installs packages into it from outside: Debian's Python cannot make one that has pip.
new_environment() { # the Python, the folder, the packages
  "$1" -m venv --without-pip "$2" && scripts/pip.sh --python "$2/bin/python" --quiet install "${@:3}"
}

# In a new environment, without the compiler: the package says why there is no GPU, or computes there.
try_cuda_wheel() {
  local folder status=0
  folder=$(mktemp -d)
  { new_environment python3 "$folder" build/wheels/cuda/asyncgrad-*.whl &&
    env PATH=/usr/bin:/bin "$folder/bin/python" -c "
import asyncgrad as ag
print(ag.why_no_gpu() or ag.ones((2, 2), device='cuda:0').sum().item(), ag.ones((2, 2)).sum().item())"; } || status=1
  rm -rf "$folder"
  return $status
}

test_dist() {
  scripts/dist.sh && cmake --preset release -DASYNCGRAD_MPI=ON >/dev/null &&
    cmake --build build/release --target dist_tests -- --quiet &&
    TROUBLES=1000 build/release/tests/dist_tests --gtest_brief=1 --gtest_filter='*TroubleOfOneRank*:*EndsBeforeItsWorld*'
}

test_wheel() {
  local python folder tried=0 status=0
  scripts/wheel.sh || return
  folder=$(mktemp -d)
  for python in python3.10 python3.11 python3.12 python3.13; do
    "$python" -c '' 2>/dev/null || continue
    echo "--- $python"
    tried=1
    new_environment "$python" "$folder/$python" build/wheels/asyncgrad-*.whl pytest hypothesis safetensors nbclient ipykernel &&
      "$folder/$python/bin/python" -m pytest -q -rs -p no:cacheprovider python/tests || status=1
  done
  rm -rf "$folder"
  ((tried)) || { echo "There is no Python from 3.10 to 3.13" >&2; status=1; }
  return $status
}

# Where Chromium cannot be installed the links are followed all the same, and the part says that it has failed.
look_at_site() {
  scripts/setup.sh chromium chromium-driver || echo "Going on without Chromium" >&2
  scripts/docs.sh --check
}

declare -A minutes=([release]=10 [tsan]=5)
parts=()
seed=$RANDOM
while (($#)); do
  case $1 in
    --help) help; exit ;;
    --seed) seed=${2:?--seed wants a number}; shift ;;
    release | tsan | refusals | cuda | dist | wheel | ray | docs) parts+=("$1") ;;
    *) printf "There is no '%s'. See scripts/nightly.sh --help\n" "$1" >&2; exit 2 ;;
  esac
  shift
done
((${#parts[@]})) || parts=(release tsan refusals cuda dist wheel ray docs)

scripts/setup.sh || exit
echo "The seed is $seed"
failed=()
for part in "${parts[@]}"; do
  echo "=== $part"
  if [[ $part == refusals ]]; then
    all_refusals || failed+=("$part")
  elif [[ $part == cuda ]]; then
    test_cuda || failed+=("$part")
  elif [[ $part == dist ]]; then
    test_dist || failed+=("$part")
  elif [[ $part == wheel ]]; then
    test_wheel || failed+=("$part")
  elif [[ $part == ray ]]; then
    scripts/ray.sh || failed+=("$part")
  elif [[ $part == docs ]]; then
    look_at_site || failed+=("$part")
  else
    random_programs "$part" "${minutes[$part]}" || failed+=("$part")
  fi
done
((${#failed[@]})) && echo "Failed, with the seed $seed: ${failed[*]}"
((${#failed[@]} == 0))
