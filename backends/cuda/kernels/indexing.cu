// Elements and rows by their indices, and the triangles of matrices.
//
// Indices lie on the device, so they cannot be checked before the operation runs. For an index out of range take and
// gather give NaN (the lowest number of integers), one_hot gives 0, and take_grad and scatter_add add nothing.
#include <limits>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/sorted_places.cuh"

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
// --- their index, those of one index by themselves.

// The places of one index are a run. Who has the first place of a run adds up all of it, so a long run, such as that of
// padding, is cut where a part of so many places ends, and the parts that it goes on with are added up by others before.
constexpr std::int64_t part_places = 256;

struct Runs {
  const std::int64_t *sorted, *indices;
  std::int64_t count;

  __host__ __device__ std::int64_t parts() const { return (count + part_places - 1) / part_places; }
  __device__ std::int64_t index_at(std::int64_t place) const { return indices[sorted[place]]; }
  __device__ bool begins_at(std::int64_t place) const { return place == 0 || index_at(place - 1) != index_at(place); }
  __device__ static std::int64_t next_part(std::int64_t place) { return (place / part_places + 1) * part_places; }

  // `sum` and the terms of a run, from a place to the end of its part.
  template <class T>
  __device__ T sum(T sum, std::int64_t place, const T* terms, std::int64_t inner) const {
    const std::int64_t index = index_at(place), next = next_part(place), end = next < count ? next : count;
    for (; place < end && index_at(place) == index; ++place) sum = static_cast<T>(sum + terms[sorted[place] * inner]);
    return sum;
  }
};

template <class T>
struct SumParts {
  T* sums;  // (outer, parts, inner), of the run that goes on at the part's begin
  const T* dy;
  Runs runs;
  std::int64_t inner;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, inner), matrix = divided(at.quotient, runs.parts());
    const std::int64_t place = matrix.remainder * part_places;
    if (runs.begins_at(place)) return;
    sums[i] = runs.sum(T{}, place, dy + matrix.quotient * runs.count * inner + at.remainder, inner);
  }
};

template <class T>
struct AddRuns {
  T* dx;
  const T *dy, *sums;
  Runs runs;
  IndexAttributes seen;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, seen.inner), matrix = divided(at.quotient, runs.count);
    const std::int64_t place = matrix.remainder, index = runs.index_at(place);
    if (index < 0 || index >= seen.axis || !runs.begins_at(place)) return;
    T& to = dx[(matrix.quotient * seen.axis + index) * seen.inner + at.remainder];
    T sum = runs.sum(to, place, dy + matrix.quotient * runs.count * seen.inner + at.remainder, seen.inner);
    for (std::int64_t next = Runs::next_part(place); next < runs.count && runs.index_at(next) == index;
         next += part_places) {
      const std::int64_t part = matrix.quotient * runs.parts() + next / part_places;
      sum = static_cast<T>(sum + sums[part * seen.inner + at.remainder]);
    }
    to = sum;
  }
};

// The bytes of the sorted places, of the places into which they are merged, and of the sums of parts.
std::int64_t runs_scratch_bytes(std::int64_t count, std::int64_t columns, DType dtype) {
  const std::int64_t sums = Runs{nullptr, nullptr, count}.parts() * columns;
  return 2 * count * static_cast<std::int64_t>(sizeof(std::int64_t)) +
         sums * static_cast<std::int64_t>(size_bytes(dtype));
}

// `count` indices, for which the scratch memory is that of runs_scratch_bytes().
template <class T>
void add_at(const KernelCall& call, std::byte* scratch, T* dx, const T* dy, const std::int64_t* indices,
            std::int64_t count, const IndexAttributes& seen) {
  auto* const places = reinterpret_cast<std::int64_t*>(scratch);
  const Runs runs{sorted_places(call, places, 1, count, IntegerKeys{indices}).places, indices, count};
  T* const sums = reinterpret_cast<T*>(places + 2 * count);
  const std::int64_t columns = seen.outer * seen.inner;
  if (runs.parts() > 1) for_each(call, runs.parts() * columns, SumParts<T>{sums, dy, runs, seen.inner});
  for_each(call, count * columns, AddRuns<T>{dx, dy, sums, runs, seen});
}

std::int64_t take_grad_scratch_bytes(const KernelCall& call) {
  const auto& seen = call.attributes<IndexAttributes>();
  return runs_scratch_bytes(call.numel(1), seen.outer * seen.inner, call.dtype(0));
}

void run_take_grad(const KernelCall& call, int) {
  if (call.numel(2) == 0) return;
  visit_summed(call.dtype(0), [&]<class T>(T) {
    add_at(call, call.scratch, call.data<T>(0), call.data<T>(2), call.data<std::int64_t>(1), call.numel(1),
           call.attributes<IndexAttributes>());
  });
}

// --- scatter_add: out (outer, axis, inner) += in (outer, K, inner) at indices (outer, K, inner). Where there are many
// --- columns, of an outer and an inner index, a thread has all of one. Else the elements of `in` are taken as rows, and
// --- their places in `out` as indices of take_grad.

constexpr std::int64_t many_columns = 4096;

bool has_many_columns(const IndexAttributes& seen) { return seen.outer * seen.inner >= many_columns; }

template <class T>
struct AddColumn {
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

// Where an element is added, or -1 for nowhere.
struct PlaceInOut {
  std::int64_t* places;
  const std::int64_t* indices;
  IndexAttributes seen;
  std::int64_t count;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, seen.inner);
    const std::int64_t outer = divided(at.quotient, count).quotient, index = indices[i];
    const bool is_there = index >= 0 && index < seen.axis;
    places[i] = is_there ? (outer * seen.axis + index) * seen.inner + at.remainder : -1;
  }
};

std::int64_t scatter_add_scratch_bytes(const KernelCall& call) {
  if (has_many_columns(call.attributes<IndexAttributes>())) return 0;
  return call.numel(1) * static_cast<std::int64_t>(sizeof(std::int64_t)) +
         runs_scratch_bytes(call.numel(1), 1, call.dtype(0));
}

void run_scatter_add(const KernelCall& call, int) {
  const auto& seen = call.attributes<IndexAttributes>();
  const auto* const indices = call.data<std::int64_t>(1);
  const std::int64_t count = rows_of(call, 1), elements = call.numel(1);
  if (elements == 0) return;
  visit_summed(call.dtype(0), [&]<class T>(T) {
    T* const out = call.data<T>(0);
    const T* const in = call.data<T>(2);
    if (has_many_columns(seen)) {
      return for_each(call, seen.outer * seen.inner, AddColumn<T>{out, indices, in, seen, count});
    }
    auto* const places = reinterpret_cast<std::int64_t*>(call.scratch);
    for_each(call, elements, PlaceInOut{places, indices, seen, count});
    add_at(call, reinterpret_cast<std::byte*>(places + elements), out, in, places, elements,
           IndexAttributes{1, call.numel(0), 1});
  });
}

// --- first_places: out (n), indices (n)

struct FirstPlace {
  std::int64_t* out;
  const std::int64_t *sorted, *indices;
  std::int64_t count;

  __device__ void operator()(std::int64_t k) const {
    const std::int64_t index = indices[k];
    out[k] = sorted[how_many(sorted, 0, count, [&](std::int64_t place) { return indices[place] < index; })];
  }
};

// Twice the size of the result.
std::int64_t first_places_scratch_bytes(const KernelCall& call) {
  return 2 * call.numel(1) * static_cast<std::int64_t>(sizeof(std::int64_t));
}

void run_first_places(const KernelCall& call, int) {
  const auto* const indices = call.data<std::int64_t>(1);
  const std::int64_t count = call.numel(1);
  const std::int64_t* const sorted =
      sorted_places(call, reinterpret_cast<std::int64_t*>(call.scratch), 1, count, IntegerKeys{indices}).places;
  for_each(call, count, FirstPlace{call.data<std::int64_t>(0), sorted, indices, count});
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
constinit const Kernel kernels::scatter_add{.run = run_scatter_add, .scratch_bytes = scatter_add_scratch_bytes};
constinit const Kernel kernels::first_places{.run = run_first_places, .scratch_bytes = first_places_scratch_bytes};
constinit const Kernel kernels::one_hot{.run = run_one_hot};
constinit const Kernel kernels::triangle{.run = run_triangle};
constinit const Kernel kernels::take_grad{.run = run_take_grad, .scratch_bytes = take_grad_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
