// Elements and rows by their indices, and the triangles of matrices.
//
// Indices lie on the device, so they cannot be checked before the operation runs. For an index out of range take and
// gather give NaN (the lowest number of integers), as does ravel_multi_index, one_hot gives 0, and take_grad and scatter_add add nothing.
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
  Divisor inner, count;
  bool is_gather;

  __device__ void operator()(std::int64_t i) const {
    const Divided row = inner(i), matrix = count(row.quotient);
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
  if (call.numel(0) == 0) return;
  const auto& seen = call.attributes<IndexAttributes>();
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    for_each(call, call.numel(0),
             Take<T>{call.data<T>(0), call.data<T>(1), call.data<std::int64_t>(2), seen, Divisor(seen.inner),
                     Divisor(rows_of(call, 0)), is_gather});
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

// The bytes of the sorted places, and of the sums of parts.
std::int64_t runs_scratch_bytes(std::int64_t count, std::int64_t columns, DType dtype) {
  const std::int64_t sums = Runs{nullptr, nullptr, count}.parts() * columns;
  return sorted_places_bytes(count) + sums * static_cast<std::int64_t>(size_bytes(dtype));
}

// `count` indices, for which the scratch memory is that of runs_scratch_bytes().
template <class T>
void add_at(const KernelCall& call, std::byte* scratch, T* dx, const T* dy, const std::int64_t* indices,
            std::int64_t count, const IndexAttributes& seen) {
  const Runs runs{sorted_places(call, scratch, indices, count), indices, count};
  T* const sums = reinterpret_cast<T*>(scratch + sorted_places_bytes(count));
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
// --- columns, of an outer and an inner index, a warp or a thread has all of one. Else the elements of `in` are taken as
// --- rows, and their places in `out` as indices of take_grad.

constexpr std::int64_t many_columns = 128;

bool has_many_columns(const IndexAttributes& seen) { return seen.outer * seen.inner >= many_columns; }

// Lanes have adjacent elements of a column. The first of those with one index adds up all of them, in their order.
template <class T>
struct AddColumn {
  T* out;
  const std::int64_t* indices;
  const T* in;
  IndexAttributes seen;
  std::int64_t count;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t column) const {
    const Divided at = divided(column, seen.inner);
    const std::int64_t first = at.quotient * count * seen.inner + at.remainder;
    T* const to = out + at.quotient * seen.axis * seen.inner + at.remainder;
    for (std::int64_t begin = 0; begin < count; begin += ahead * Team::size) {
      std::int64_t index[ahead];
      T term[ahead];
#pragma unroll
      for (int j = 0; j < ahead; ++j) {  // all of these loads are under way at a time
        const std::int64_t k = begin + j * Team::size + Team::lane(), from = first + k * seen.inner;
        index[j] = k < count ? indices[from] : -1;
        term[j] = k < count ? in[from] : T{};
      }
#pragma unroll
      for (int j = 0; j < ahead; ++j) add(team, to, index[j], term[j]);
    }
  }

 private:
  __device__ bool is_there(std::int64_t index) const { return index >= 0 && index < seen.axis; }

  __device__ void add(Team<1>, T* to, std::int64_t index, T term) const {
    if (!is_there(index)) return;
    T& sum = to[index * seen.inner];
    sum = static_cast<T>(sum + term);
  }
  __device__ void add(Team<warp_threads> team, T* to, std::int64_t index, T term) const {
    __shared__ T terms[block_threads];
    T* const of_warp = terms + threadIdx.x / warp_threads * warp_threads;
    of_warp[team.lane()] = term;
    unsigned same = __match_any_sync(~0U, static_cast<unsigned long long>(index));
    team.meet();
    if (is_there(index) && team.lane() == __ffs(static_cast<int>(same)) - 1) {
      T sum = to[index * seen.inner];
      for (; same != 0; same &= same - 1) {
        sum = static_cast<T>(sum + of_warp[__ffs(static_cast<int>(same)) - 1]);
      }
      to[index * seen.inner] = sum;
    }
    team.meet();  // the next terms are written there, and the sum is read by any lane
  }
};

// A thread adds up a column that is short, and each of columns that lie side by side if there are enough to keep a GPU
// busy. A warp adds up any other.
template <class T>
void add_columns(const KernelCall& call, const AddColumn<T>& add) {
  const std::int64_t columns = add.seen.outer * add.seen.inner;
  if (add.count <= 16 || (add.seen.inner >= warp_threads && columns >= 131'072)) {
    for_teams<1>(call, columns, add);
  } else {
    for_teams<warp_threads>(call, columns, add);
  }
}

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
      return add_columns(call, AddColumn<T>{out, indices, in, seen, count});
    }
    auto* const places = reinterpret_cast<std::int64_t*>(call.scratch);
    for_each(call, elements, PlaceInOut{places, indices, seen, count});
    add_at(call, reinterpret_cast<std::byte*>(places + elements), out, in, places, elements,
           IndexAttributes{1, call.numel(0), 1});
  });
}

// --- first_places: out (n), indices (n)

// The place of the first of those with the same index, which the sort leaves in their order.
struct FirstPlace {
  std::int64_t* out;
  const std::int64_t *sorted, *indices;
  std::int64_t count;

  __device__ void operator()(std::int64_t k) const {
    std::int64_t begin = 0, end = count;
    while (begin < end) {
      const std::int64_t middle = begin + (end - begin) / 2;
      if (indices[sorted[middle]] < indices[k]) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    out[k] = sorted[begin];
  }
};

std::int64_t first_places_scratch_bytes(const KernelCall& call) { return sorted_places_bytes(call.numel(1)); }

void run_first_places(const KernelCall& call, int) {
  const auto* const indices = call.data<std::int64_t>(1);
  const std::int64_t count = call.numel(1);
  const std::int64_t* const sorted = sorted_places(call, call.scratch, indices, count);
  for_each(call, count, FirstPlace{call.data<std::int64_t>(0), sorted, indices, count});
}

// --- ravel_multi_index: out (n), indices (n) of each axis

struct RavelMultiIndex {
  std::int64_t* out;
  std::array<const std::int64_t*, Shape::max_rank> indices;
  MultiIndexAttributes attributes;
  int axes;

  __device__ void operator()(std::int64_t i) const {
    std::int64_t place = 0;
    for (int axis = 0; axis < axes; ++axis) {
      const std::int64_t extent = attributes.extents[axis], given = indices[axis][i];
      const std::int64_t index = given < 0 ? given + extent : given;
      if (index < 0 || index >= extent) {
        out[i] = nothing<std::int64_t>();
        return;
      }
      place = place * extent + index;
    }
    out[i] = place;
  }
};

void run_ravel_multi_index(const KernelCall& call, int) {
  if (call.numel(0) == 0) return;
  RavelMultiIndex places{call.data<std::int64_t>(0), {}, call.attributes<MultiIndexAttributes>(), call.view_count - 1};
  for (int axis = 0; axis < places.axes; ++axis) places.indices[axis] = call.data<std::int64_t>(1 + axis);
  for_each(call, call.numel(0), places);
}

// --- one_hot: out (…, C), indices (…)

template <class T>
struct OneHot {
  T* out;
  const std::int64_t* indices;
  Divisor classes;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = classes(i);
    out[i] = indices[at.quotient] == at.remainder ? static_cast<T>(1.0F) : T{};
  }
};

void run_one_hot(const KernelCall& call, int) {
  if (call.numel(0) == 0) return;
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    for_each(call, call.numel(0), OneHot<T>{call.data<T>(0), call.data<std::int64_t>(1), Divisor(call.shape(0)[-1])});
  });
}

// --- triangle: out, in (…, rows, columns)

template <class T>
struct Triangle {
  T* out;
  const T* in;
  Divisor rows, columns;
  TriangleAttributes attributes;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = columns(i);
    const std::int64_t beyond = at.remainder - rows(at.quotient).remainder - attributes.diagonal;
    out[i] = (attributes.is_upper ? beyond >= 0 : beyond <= 0) ? in[i] : T{};
  }
};

void run_triangle(const KernelCall& call, int) {
  if (call.numel(0) == 0) return;
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    for_each(call, call.numel(0),
             Triangle<T>{call.data<T>(0), call.data<T>(1), Divisor(call.shape(0)[-2]), Divisor(call.shape(0)[-1]),
                         call.attributes<TriangleAttributes>()});
  });
}

}  // namespace

constinit const Kernel kernels::take{.run = run_take<false>};
constinit const Kernel kernels::gather{.run = run_take<true>};
constinit const Kernel kernels::scatter_add{.run = run_scatter_add, .scratch_bytes = scatter_add_scratch_bytes};
constinit const Kernel kernels::first_places{.run = run_first_places, .scratch_bytes = first_places_scratch_bytes};
constinit const Kernel kernels::ravel_multi_index{.run = run_ravel_multi_index};
constinit const Kernel kernels::one_hot{.run = run_one_hot};
constinit const Kernel kernels::triangle{.run = run_triangle};
constinit const Kernel kernels::take_grad{.run = run_take_grad, .scratch_bytes = take_grad_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
