#!/usr/bin/env bash
# What only a machine with a GPU can tell, without a network: builds a release with the CUDA backend, runs every test,
# those of CUDA under compute-sanitizer as well, and the chapter's experiment on the GPU. Writes results/gpu_check.txt;
# the status is 0 if all passed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
mkdir -p results
failed=()

# Names a step and runs it.
step() {
  local name=$1
  shift
  echo "=== $name: $*"
  "$@" 2>&1 || failed+=("$name")
}
versions() {
  git describe --always --dirty
  nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv && nvcc --version | tail -n 2
}
configure() { cmake --preset release -DASYNCGRAD_CUDA=ON -DASYNCGRAD_WERROR=ON; }
build() { cmake --build --preset release -- --quiet; }
# Under it kernels are slow, and what runs without a GPU says nothing. Calls that are refused are part of the tests.
# cuBLASLt's kernels are given what they touch, which memcheck looks at, but their races are not ours to judge.
sanitize() {
  local options=()
  [[ $1 == memcheck ]] && options=(--report-api-errors no)
  [[ $1 == racecheck ]] && options=(--kernel-name kernel_substring=asyncgrad)
  compute-sanitizer --tool "$1" "${options[@]}" --error-exitcode 1 build/release/tests/cuda_tests \
    --gtest_filter='-*CudaPrograms*:*CudaFaults*:CudaQueue*:CudaMemory*'
}
train() {
  build/release/async_training --device cuda:0 --runs batch,in-flight:1,none --repeat 5 \
    --json results/gpu_check.json --plot results/gpu_check.svg
}

check() {
  step versions versions
  step configure configure
  step build build
  step cuda ctest --preset release -L '^cuda$'
  step rest ctest --preset release -LE '^cuda$' --parallel "$(nproc)"
  step memcheck sanitize memcheck
  step racecheck sanitize racecheck
  step training train
  ((${#failed[@]})) || { echo "=== all passed"; return; }
  echo "=== failed: ${failed[*]}"
  return 1
}
check | tee results/gpu_check.txt
