// The steps of recurrent layers: each thread computes an element of the state of one sequence.
//
// Lengths lie on the device, so they cannot be checked before the operation runs. One below 0 is as 0, and one beyond
// the steps as all of them.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/cuda/kernels/recurrent_formulas.cuh"
#include "asyncgrad/backends/divided.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda {

namespace {

template <RecurrentKind kind, class T>
struct Cell {
  CellRow<T> first;
  const std::int64_t* lengths;  // or null
  std::int64_t step;

  __device__ void operator()(std::int64_t element) const {
    const std::int64_t n = first.n;
    const Divided at = divided(element, n);
    const std::int64_t j = at.remainder;
    const CellRow<T> row = first.at(kind, at.quotient);
    NewCell<T> cell{row.h_before[j], row.c_before == nullptr ? T(0) : row.c_before[j]};
    if (lengths == nullptr || lengths[at.quotient] > step) {
      T x[kept_gates], z[kept_gates];
      for (int gate = 0; gate < gate_count(kind); ++gate) {
        x[gate] = row.x[gate * n + j];
        z[gate] = row.z[gate * n + j];
      }
      cell = next_cell<kind>(x, z, cell.h, cell.c);
    }
    row.h[j] = cell.h;
    if constexpr (kind == RecurrentKind::lstm) row.c[j] = cell.c;
    if constexpr (has_gates(kind)) {
      for (int gate = 0; gate < kept_gates; ++gate) row.gates[gate * n + j] = cell.gates[gate];
    }
  }
};

template <RecurrentKind kind, class T>
struct CellGrad {
  CellGradRow<T> first;
  const std::int64_t* lengths;  // or null
  std::int64_t step;

  __device__ void operator()(std::int64_t element) const {
    const std::int64_t n = first.n;
    const Divided at = divided(element, n);
    const std::int64_t j = at.remainder;
    const CellGradRow<T> row = first.at(kind, at.quotient);
    const T given = row.dy[j] + row.dh[j];
    CellGradients<T> grad;
    if (lengths != nullptr && lengths[at.quotient] <= step) {
      grad.h = row.carried_h[j] + given;
      if constexpr (kind == RecurrentKind::lstm) grad.c = row.carried_c[j];
    } else {
      OldCell<T> old;
      T dc = 0;
      if constexpr (has_gates(kind)) {
        for (int gate = 0; gate < kept_gates; ++gate) old.gates[gate] = row.gates[gate * n + j];
      } else {
        old.h = row.h[j];
      }
      if constexpr (kind == RecurrentKind::gru) old.h_before = row.h_before[j];
      if constexpr (kind == RecurrentKind::lstm) {
        old.c = row.c[j];
        old.c_before = row.c_before[j];
        dc = row.carried_c[j];
      }
      grad = cell_gradients<kind>(old, given + row.carried_h[j], dc);
    }
    for (int gate = 0; gate < gate_count(kind); ++gate) {
      row.dx[gate * n + j] = grad.dx[gate];
      if constexpr (kind == RecurrentKind::gru) row.dz[gate * n + j] = grad.dz[gate];
    }
    row.carried_h[j] = grad.h;
    if constexpr (kind == RecurrentKind::lstm) row.carried_c[j] = grad.c;
  }
};

template <template <RecurrentKind, class> class Body, class T, class Row>
void for_kind(const KernelCall& call, const Row& first) {
  const auto& a = call.attributes<RecurrentAttributes>();
  visit_kind(a.kind, [&]<RecurrentKind kind>() {
    for_each(call, call.shape(0)[0] * first.n, Body<kind, T>{first, lengths_of(call), a.step});
  });
}

void run_cell(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) { for_kind<Cell, T>(call, first_cell_row<T>(call)); });
}
void run_cell_grad(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) { for_kind<CellGrad, T>(call, first_cell_grad_row<T>(call)); });
}

}  // namespace

constinit const Kernel kernels::recurrent_cell{.run = run_cell};
constinit const Kernel kernels::recurrent_cell_grad{.run = run_cell_grad};

}  // namespace asyncgrad::detail::cuda
