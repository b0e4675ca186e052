// take, which copies rows, and take_grad, which adds them up.
//
// Indices lie on the device, so that nobody can check them before the operation runs. A row that is not there is NaN
// (the lowest number of int64) in take, and take_grad adds nothing for it.
#include <limits>
#include <utility>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/for_each.cuh"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail::cuda {

namespace {

// Elements of a row of operand `operand`, whose first axis counts rows.
std::int64_t row_elements(const KernelCall& call, int operand) {
  const Shape& shape = call.shape(operand);
  return shape[0] == 0 ? 0 : shape.numel() / shape[0];
}

// --- take: out (K, …), in (rows, …), indices (K)

template <class T>
struct Take {
  T* out;
  const T* in;
  const std::int64_t* indices;
  std::int64_t rows, elements;

  __host__ __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, elements);
    const std::int64_t row = indices[at.quotient];
    if (row >= 0 && row < rows) {
      out[i] = in[row * elements + at.remainder];
    } else if constexpr (std::is_integral_v<T>) {
      out[i] = std::numeric_limits<T>::min();
    } else {
      out[i] = std::numeric_limits<T>::quiet_NaN();
    }
  }
};

void run_take(const KernelCall& call, int) {
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    for_each(
        call, call.numel(0),
        Take<T>{call.data<T>(0), call.data<T>(1), call.data<std::int64_t>(2), call.shape(1)[0], row_elements(call, 0)});
  });
}

// --- take_grad: dx (rows, …) += dy (K, …) at indices (K). The places 0, …, K - 1 are sorted by their index, those
// --- of one index by themselves; who has the first place of an index adds up all of them. Stretches are sorted by
// --- counting, then merged two by two: each place finds its own way.

constexpr std::int64_t first_stretch = 1024;

// Within its stretch: behind all places of a smaller index, and those of the same one before it.
struct SortStretch {
  std::int64_t* sorted;
  const std::int64_t* indices;
  std::int64_t count;

  template <class Team>
  __host__ __device__ void operator()(Team team, std::int64_t place) const {
    const std::int64_t begin = place / first_stretch * first_stretch, index = indices[place];
    const std::int64_t size = count - begin < first_stretch ? count - begin : first_stretch;
    const auto comes_before = [&](std::int64_t i) -> std::int64_t {
      const std::int64_t other = indices[begin + i];
      return other < index || (other == index && begin + i < place) ? 1 : 0;
    };
    const std::int64_t before =
        team.reduce(size, std::int64_t{0}, comes_before, [](std::int64_t x, std::int64_t y) { return x + y; });
    team.each(1, [&](std::int64_t) { sorted[begin + before] = place; });
  }
};

// Merges each two stretches of `size` places. Of one index, those on the left come first.
struct MergeStretches {
  std::int64_t* merged;
  const std::int64_t *sorted, *indices;
  std::int64_t count, size;

  __host__ __device__ void operator()(std::int64_t i) const {
    const std::int64_t place = sorted[i], index = indices[place];
    const std::int64_t begin = i / (2 * size) * (2 * size);
    const std::int64_t middle = within(begin + size), end = within(middle + size);
    if (i < middle) {
      merged[i + how_many(middle, end, [&](std::int64_t other) { return other < index; })] = place;
    } else {
      merged[i - (middle - begin) + how_many(begin, middle, [&](std::int64_t other) { return other <= index; })] =
          place;
    }
  }

 private:
  __host__ __device__ std::int64_t within(std::int64_t end) const { return end < count ? end : count; }
  // Of the sorted places from `first` to `last`, all whose index is so come before those where it is not.
  template <class IsSo>
  __host__ __device__ std::int64_t how_many(std::int64_t first, std::int64_t last, IsSo is_so) const {
    std::int64_t begin = first, end = last;
    while (begin < end) {
      const std::int64_t middle = begin + (end - begin) / 2;
      if (is_so(indices[sorted[middle]])) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return begin - first;
  }
};

template <class T>
struct AddPlaces {
  T* dx;
  const T* dy;
  const std::int64_t *sorted, *indices;
  std::int64_t rows, elements, count;

  __host__ __device__ void operator()(std::int64_t i) const {
    auto [place, column] = divided(i, elements);
    const std::int64_t row = indices[sorted[place]];
    if (row < 0 || row >= rows || (place > 0 && indices[sorted[place - 1]] == row)) return;
    T sum = dx[row * elements + column];
    for (; place < count && indices[sorted[place]] == row; ++place) sum += dy[sorted[place] * elements + column];
    dx[row * elements + column] = sum;
  }
};

// Of the sorted places, and of what they are merged to.
std::int64_t take_grad_scratch_bytes(const KernelCall& call) {
  return 2 * call.numel(1) * static_cast<std::int64_t>(sizeof(std::int64_t));
}

const std::int64_t* sorted_places(const KernelCall& call, const std::int64_t* indices, std::int64_t count) {
  auto* sorted = reinterpret_cast<std::int64_t*>(call.scratch);
  auto* merged = sorted + count;
  for_teams_of(std::min(count, first_stretch), call, count, SortStretch{sorted, indices, count});
  for (std::int64_t size = first_stretch; size < count; size *= 2) {
    for_each(call, count, MergeStretches{merged, sorted, indices, count, size});
    std::swap(sorted, merged);
  }
  return sorted;
}

void run_take_grad(const KernelCall& call, int) {
  const auto* const indices = call.data<std::int64_t>(1);
  const std::int64_t count = call.numel(1);
  if (call.numel(2) == 0) return;
  const std::int64_t* const sorted = sorted_places(call, indices, count);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for_each(call, call.numel(2),
             AddPlaces<T>{call.data<T>(0), call.data<T>(2), sorted, indices, call.shape(0)[0], row_elements(call, 2),
                          count});
  });
}

}  // namespace

void add_indexing_kernels(Backend& backend) {
  kernel_of(backend, Op::take) = {.run = run_take};
  kernel_of(backend, Op::take_grad) = {.run = run_take_grad, .scratch_bytes = take_grad_scratch_bytes};
}

}  // namespace asyncgrad::detail::cuda
