#!/usr/bin/env bash
# Checks everything on a machine with a GPU, without a network: builds a release with the CUDA backend, runs every test,
# those of the GPU also under compute-sanitizer, the chapter's experiment, the benchmarks of the GPU, and the comparison
# with PyTorch if it is installed. Writes results/gpu_check*.txt and the parts of benchmarks/RESULTS.md about a GPU;
# the status is 0 if all passed.
#
#   scripts/gpu_check.sh [PART...]     PART: build, tests, sanitizers, training, benchmarks, compare, networks, ops;
#                                      by default all
#
# A part takes less than ten minutes, the build on 16 cores. The machine needs CUDA 12.5 or newer with cuBLAS, g++, cmake
# and ninja; scripts/setup.sh --pack brings the rest. The networks are trained by the Python package, which is built where
# scripts/python.sh finds or makes a Python for it.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
command -v nvcc >/dev/null || PATH+=:/usr/local/cuda/bin
mkdir -p results
failed=()
limited=(timeout 280) # seconds: a step that hangs must not keep the others from running

# Names a step and runs it.
step() {
  local name=$1 started=$SECONDS
  shift
  echo "=== $name: $*"
  "$@" 2>&1 </dev/null || failed+=("$name")
  echo "=== $name took $((SECONDS - started)) s"
}
versions() {
  git describe --always --dirty
  g++ --version | head -n 1
  cmake --version | head -n 1
  nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv && nvcc --version | tail -n 2
}
configure() {
  cmake --preset release -DASYNCGRAD_CUDA=ON && return
  echo "If a package is missing: on a machine that has a network, scripts/setup.sh --pack FILE; here, tar -xzf FILE."
  echo "If CUDA's headers or libraries are in another place, name it in CPATH and LD_LIBRARY_PATH."
  return 1
}
build() { cmake --build --preset release -- --quiet; }
package() { scripts/python.sh || echo "Going on without the Python package."; }
# The tests also make calls that CUDA refuses. memcheck watches the memory that cuBLASLt's kernels get from us, too, and
# values end where pages end: else memory lies behind them. The others look at our own kernels only. racecheck is slow, a
# kernel is the same for both types, and cuBLASLt's products of bfloat16 do not run under it.
sanitize() (
  local options=(--kernel-name kernel_substring=asyncgrad) tests='*'
  [[ $1 == memcheck ]] && options=(--report-api-errors no) && export ASYNCGRAD_VALUES_AT_PAGE_ENDS=1
  [[ $1 == racecheck ]] && tests='*CudaDevice*float32:*LeNet*:*Transformer*-*bfloat16*'
  "${limited[@]}" compute-sanitizer --tool "$1" "${options[@]}" --error-exitcode 1 \
    build/release/tests/backends/cuda/gpu_tests --gtest_filter="$tests"
)
train() {
  rm -f results/gpu_check.json
  "${limited[@]}" build/release/async_training --device cuda:0 --runs batch,in-flight:1,none --repeat 5 \
    --json results/gpu_check.json --plot results/gpu_check.svg
}
# Every barrier must give the same bits.
same_parameters() {
  local hashes
  hashes=$(grep -o '"parameters_hash":"[0-9a-f]*"' results/gpu_check.json | sort | uniq -c)
  echo "$hashes"
  [[ $hashes && $(wc -l <<<"$hashes") == 1 ]]
}
# A skipped benchmark counts as a failure here.
benchmarks() {
  "${limited[@]}" build/release/gpu_bench --benchmark_out=results/gpu_bench.json --benchmark_out_format=json &&
    ! grep -q '"error_occurred": true' results/gpu_bench.json
}
compare_with_peers() { python3 benchmarks/peers/compare.py --device cuda:0 --minutes 9 "$@"; }

part() {
  local tool
  case $1 in
    build)
      step versions versions
      step configure configure
      step build build
      step package package
      ;;
    tests)
      step gpu "${limited[@]}" ctest --preset release -L '^gpu$'
      step rest "${limited[@]}" ctest --preset release -LE '^gpu$' --parallel "$(nproc)"
      ;;
    sanitizers)
      for tool in memcheck racecheck synccheck; do step "$tool" sanitize "$tool"; done
      ;;
    training)
      step training train
      step same_parameters same_parameters
      ;;
    benchmarks)
      step benchmarks benchmarks
      step results python3 benchmarks/gpu_results.py
      ;;
    compare) step compare compare_with_peers ;;
    networks | ops) step "$1" compare_with_peers --workload "$1" ;;
  esac
}
check() {
  local name
  for name in "$@"; do
    part "$name"
    [[ $name != build || ${#failed[@]} == 0 ]] || break # nothing else can pass
  done
  ((${#failed[@]})) || { echo "=== all passed"; return; }
  echo "=== failed: ${failed[*]}"
  return 1
}
for name in "$@"; do # the names become a part of the log's name
  [[ $name =~ ^(build|tests|sanitizers|training|benchmarks|compare|networks|ops)$ ]] || { echo "There is no part $name." >&2; exit 2; }
done
log=results/gpu_check${1:+_$(IFS=_; echo "$*")}.txt
(($#)) || set -- build tests sanitizers training benchmarks compare networks ops
check "$@" | tee "$log"
