// Elements and rows by their indices, and the triangles of matrices.
//
// Indices lie on the device, so they cannot be checked before the operation runs. For an index out of range take and
// gather give NaN (the lowest number of integers), one_hot gives 0, and take_grad and scatter_add add nothing.
#include <limits>
#include <utility>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail::cuda {

namespace {

template <class T>
__device__ T nothing() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::min();
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(std::numeric_limits<float>::quiet_NaN());
  } else {
    return std::numeric_limits<T>::quiet_NaN();
  }
}

// --- take: out (outer, K, inner), in (outer, axis, inner), indices (K). gather: indices (outer, K, inner)

template <class T>
struct Take {
  T* out;
  const T* in;
  const std::int64_t* indices;
  IndexAttributes seen;
  std::int64_t count;
  bool is_gather;

  __device__ void operator()(std::int64_t i) const {
    const Divided row = divided(i, seen.inner), matrix = divided(row.quotient, count);
    const std::int64_t index = indices[is_gather ? i : matrix.remainder];
    const bool is_there = index >= 0 && index < seen.axis;
    out[i] = is_there ? in[(matrix.quotient * seen.axis + index) * seen.inner + row.remainder] : nothing<T>();
  }
};

// K of an operand (outer, K, inner).
std::int64_t rows_of(const KernelCall& call, int operand) {
  const auto& seen = call.attributes<IndexAttributes>();
  const std::int64_t others = seen.outer * seen.inner;
  return others == 0 ? 0 : call.numel(operand) / others;
}

template <bool is_gather>
void run_take(const KernelCall& call, int) {
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    for_each(call, call.numel(0),
             Take<T>{call.data<T>(0), call.data<T>(1), call.data<std::int64_t>(2), call.attributes<IndexAttributes>(),
                     rows_of(call, 0), is_gather});
  });
}

// --- take_grad: dx (outer, axis, inner) += dy (outer, K, inner) at indices (K). The places 0, …, K - 1 are sorted by
// their index, those
// --- of one index by themselves; who has the first place of an index adds up all of them. Stretches are sorted by
// --- counting, then merged two by two: each place finds its own way.

constexpr std::int64_t first_stretch = 1024;

// The position within its stretch: behind all places with a smaller index, and behind those with the same index that
// come before it.
struct SortStretch {
  std::int64_t* sorted;
  const std::int64_t* indices;
  std::int64_t count;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t place) const {
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

// Merges pairs of stretches of `size` places. Among places with the same index, those on the left come first.
struct MergeStretches {
  std::int64_t* merged;
  const std::int64_t *sorted, *indices;
  std::int64_t count, size;

  __device__ void operator()(std::int64_t i) const {
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
  __device__ std::int64_t within(std::int64_t end) const { return end < count ? end : count; }
  // The number of sorted places from `first` on for which is_so holds: these come before all others up to `last`.
  template <class IsSo>
  __device__ std::int64_t how_many(std::int64_t first, std::int64_t last, IsSo is_so) const {
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
  IndexAttributes seen;
  std::int64_t count;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, seen.inner), matrix = divided(at.quotient, count);
    std::int64_t place = matrix.remainder;
    const std::int64_t index = indices[sorted[place]];
    if (index < 0 || index >= seen.axis || (place > 0 && indices[sorted[place - 1]] == index)) return;
    T& to = dx[(matrix.quotient * seen.axis + index) * seen.inner + at.remainder];
    const T* const from = dy + matrix.quotient * count * seen.inner + at.remainder;
    T sum = to;
    for (; place < count && indices[sorted[place]] == index; ++place)
      sum = static_cast<T>(sum + from[sorted[place] * seen.inner]);
    to = sum;
  }
};

// The bytes of the sorted places, and of the places into which they are merged.
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
  visit_summed(call.dtype(0), [&]<class T>(T) {
    for_each(
        call, call.numel(2),
        AddPlaces<T>{call.data<T>(0), call.data<T>(2), sorted, indices, call.attributes<IndexAttributes>(), count});
  });
}

// --- scatter_add: out (outer, axis, inner) += in (outer, K, inner) at indices (outer, K, inner), in the order of k. A
// --- thread has all of an outer and an inner index, as others might add to the same element.

template <class T>
struct ScatterAdd {
  T* out;
  const std::int64_t* indices;
  const T* in;
  IndexAttributes seen;
  std::int64_t count;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, seen.inner);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t from = (at.quotient * count + k) * seen.inner + at.remainder, index = indices[from];
      if (index < 0 || index >= seen.axis) continue;
      T& to = out[(at.quotient * seen.axis + index) * seen.inner + at.remainder];
      to = static_cast<T>(to + in[from]);
    }
  }
};

void run_scatter_add(const KernelCall& call, int) {
  const auto& seen = call.attributes<IndexAttributes>();
  visit_summed(call.dtype(0), [&]<class T>(T) {
    for_each(call, seen.outer * seen.inner,
             ScatterAdd<T>{call.data<T>(0), call.data<std::int64_t>(1), call.data<T>(2), seen, rows_of(call, 1)});
  });
}

// --- one_hot: out (…, C), indices (…)

template <class T>
struct OneHot {
  T* out;
  const std::int64_t* indices;
  std::int64_t classes;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, classes);
    out[i] = indices[at.quotient] == at.remainder ? static_cast<T>(1.0F) : T{};
  }
};

void run_one_hot(const KernelCall& call, int) {
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    for_each(call, call.numel(0), OneHot<T>{call.data<T>(0), call.data<std::int64_t>(1), call.shape(0)[-1]});
  });
}

// --- triangle: out, in (…, rows, columns)

template <class T>
struct Triangle {
  T* out;
  const T* in;
  std::int64_t rows, columns;
  TriangleAttributes attributes;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, columns);
    const std::int64_t beyond = at.remainder - divided(at.quotient, rows).remainder - attributes.diagonal;
    out[i] = (attributes.is_upper ? beyond >= 0 : beyond <= 0) ? in[i] : T{};
  }
};

void run_triangle(const KernelCall& call, int) {
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    for_each(call, call.numel(0),
             Triangle<T>{call.data<T>(0), call.data<T>(1), call.shape(0)[-2], call.shape(0)[-1],
                         call.attributes<TriangleAttributes>()});
  });
}

}  // namespace

constinit const Kernel kernels::take{.run = run_take<false>};
constinit const Kernel kernels::gather{.run = run_take<true>};
constinit const Kernel kernels::scatter_add{.run = run_scatter_add};
constinit const Kernel kernels::one_hot{.run = run_one_hot};
constinit const Kernel kernels::triangle{.run = run_triangle};
constinit const Kernel kernels::take_grad{.run = run_take_grad, .scratch_bytes = take_grad_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
