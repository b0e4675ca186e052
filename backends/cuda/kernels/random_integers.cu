// randint and permutation, with the CPU's bits.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/philox.cuh"
#include "asyncgrad/backends/cuda/kernels/sorted_places.cuh"
#include "asyncgrad/backends/random_below.h"

namespace asyncgrad::detail::cuda {

namespace {

// The 64 random bits of an element, half of a block.
__device__ std::uint64_t bits_of(const RandintAttributes& a, std::int64_t element) {
  const Words words = philox(a.seed, a.first_block + static_cast<std::uint64_t>(element) / 2);
  const bool is_second = element % 2 != 0;
  return (is_second ? words.word[2] : words.word[0]) | std::uint64_t{is_second ? words.word[3] : words.word[1]} << 32;
}

struct RandomInteger {
  std::int64_t* out;
  RandintAttributes a;

  __device__ void operator()(std::int64_t i) const {
    out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(a.low) + below(bits_of(a, i), a.span));
  }
};

void run_randint(const KernelCall& call, int) {
  for_each(call, call.numel(0), RandomInteger{call.data<std::int64_t>(0), call.attributes<RandintAttributes>()});
}

// --- permutation. The CPU exchanges, in step i = 0, 1, …, the element i with one from i on, the step's target. Here all
// --- results are found at once. Before step i an element has been written by the last of the earlier steps that have it
// --- as a target, and else has its own number. What such a step j wrote there is what the element j had before it; so
// --- one goes from step to step, some ln n times, to one whose element nobody had written.

struct Targets {
  std::int64_t *targets, *writers;
  RandintAttributes a;
  std::int64_t count;

  __device__ void operator()(std::int64_t i) const {
    const std::uint64_t step = below(bits_of(a, i), static_cast<std::uint64_t>(count - i));
    targets[i] = i + static_cast<std::int64_t>(step);
    writers[i] = -1;
  }
};

// For the steps sorted by their targets: the step before each that has the same target, and the last step before each
// element's own that has the element as its target; -1 for none.
struct Writers {
  const std::int64_t *sorted, *targets;
  std::int64_t *steps_before, *writers;
  std::int64_t count;

  __device__ void operator()(std::int64_t i) const {
    const std::int64_t step = sorted[i], target = targets[step];
    const std::int64_t before = i > 0 && targets[sorted[i - 1]] == target ? sorted[i - 1] : -1;
    steps_before[step] = before;
    const bool is_last = i + 1 == count || targets[sorted[i + 1]] != target;
    if (is_last) writers[target] = step < target ? step : before;
  }
};

struct Permuted {
  std::int64_t* out;
  const std::int64_t *targets, *steps_before, *writers;

  __device__ void operator()(std::int64_t i) const {
    std::int64_t step = targets[i] == i ? i : steps_before[i];
    if (step < 0) {
      out[i] = targets[i];
      return;
    }
    while (writers[step] >= 0) step = writers[step];
    out[i] = step;
  }
};

// Three times the size of the result, and the sorted steps.
std::int64_t permutation_scratch_bytes(const KernelCall& call) {
  const std::int64_t count = call.numel(0);
  return 3 * count * static_cast<std::int64_t>(sizeof(std::int64_t)) + sorted_places_bytes(count);
}

void run_permutation(const KernelCall& call, int) {
  const std::int64_t count = call.numel(0);
  auto* const targets = reinterpret_cast<std::int64_t*>(call.scratch);
  std::int64_t *const writers = targets + count, *const steps_before = writers + count;
  for_each(call, count, Targets{targets, writers, call.attributes<RandintAttributes>(), count});
  const std::int64_t* const sorted =
      sorted_places(call, reinterpret_cast<std::byte*>(steps_before + count), targets, count);
  for_each(call, count, Writers{sorted, targets, steps_before, writers, count});
  for_each(call, count, Permuted{call.data<std::int64_t>(0), targets, steps_before, writers});
}

}  // namespace

constinit const Kernel kernels::randint{.run = run_randint};
constinit const Kernel kernels::permutation{.run = run_permutation, .scratch_bytes = permutation_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
