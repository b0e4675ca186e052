// take, which copies rows, and take_grad, which adds them up.
//
// Indices lie on the device, so that nobody can check them before the operation runs. A row that is not there is NaN
// (the lowest number of int64) in take, and take_grad adds nothing for it.
#include <limits>

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

// --- take_grad: dx (rows, …) += dy (K, …) at indices (K). The places of an index are linked in their order, and who
// has
// --- the first one goes along.

struct Link {
  std::int64_t next;  // place of the same index, or the number of places
  bool is_first;
};

struct LinkPlaces {
  Link* links;
  const std::int64_t* indices;
  std::int64_t count;

  template <class Team>
  __host__ __device__ void operator()(Team team, std::int64_t i) const {
    const auto value = [&](std::int64_t j) {
      if (indices[j] != indices[i]) return Link{count, true};
      return Link{j > i ? j : count, j >= i};
    };
    const auto combine = [](const Link& x, const Link& y) {
      return Link{x.next < y.next ? x.next : y.next, x.is_first && y.is_first};
    };
    const Link link = team.reduce(count, Link{count, true}, value, combine);
    team.each(1, [&](std::int64_t) { links[i] = link; });
  }
};

template <class T>
struct AddPlaces {
  T* dx;
  const T* dy;
  const std::int64_t* indices;
  const Link* links;
  std::int64_t rows, elements, count;

  __host__ __device__ void operator()(std::int64_t i) const {
    const auto [place, column] = divided(i, elements);
    const std::int64_t row = indices[place];
    if (!links[place].is_first || row < 0 || row >= rows) return;
    T sum = dx[row * elements + column];
    for (std::int64_t j = place; j < count; j = links[j].next) sum += dy[j * elements + column];
    dx[row * elements + column] = sum;
  }
};

std::int64_t take_grad_scratch_bytes(const KernelCall& call) {
  return call.numel(1) * static_cast<std::int64_t>(sizeof(Link));
}

void run_take_grad(const KernelCall& call, int) {
  const auto* const indices = call.data<std::int64_t>(1);
  const std::int64_t count = call.numel(1);
  auto* const links = reinterpret_cast<Link*>(call.scratch);
  if (call.numel(2) == 0) return;
  for_teams_of(count, call, count, LinkPlaces{links, indices, count});
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for_each(
        call, call.numel(2),
        AddPlaces<T>{call.data<T>(0), call.data<T>(2), indices, links, call.shape(0)[0], row_elements(call, 2), count});
  });
}

}  // namespace

void add_indexing_kernels(Backend& backend) {
  kernel_of(backend, Op::take) = {.run = run_take};
  kernel_of(backend, Op::take_grad) = {.run = run_take_grad, .scratch_bytes = take_grad_scratch_bytes};
}

}  // namespace asyncgrad::detail::cuda
