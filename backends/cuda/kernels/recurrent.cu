// The steps of recurrent layers: each thread computes an element of the state of one sequence. The formulas are those of
// PyTorch's RNN, GRU and LSTM.
//
// Lengths lie on the device, so they cannot be checked before the operation runs. One below 0 is as 0, and one beyond
// the steps as all of them.
#include <cmath>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/divided.h"
#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/backends/recurrent_operands.h"

namespace asyncgrad::detail::cuda {

namespace {

template <class T>
__device__ T logistic(T x) {
  return T(1) / (T(1) + std::exp(-x));
}
// The derivatives where the functions' value is y.
template <class T>
__device__ T logistic_derivative(T y) {
  return y * (T(1) - y);
}
template <class T>
__device__ T tanh_derivative(T y) {
  return T(1) - y * y;
}

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
    if (lengths != nullptr && lengths[at.quotient] <= step) return keep(row, j);
    const auto sum = [&](int gate) { return row.x[gate * n + j] + row.z[gate * n + j]; };
    if constexpr (kind == RecurrentKind::lstm) {
      const T i = logistic(sum(0)), f = logistic(sum(1)), g = std::tanh(sum(2)), o = logistic(sum(3));
      const T c = f * row.c_before[j] + i * g;
      put_gates(row, j, i, f, g, o);
      row.c[j] = c;
      row.h[j] = o * std::tanh(c);
    } else if constexpr (kind == RecurrentKind::gru) {
      const T r = logistic(sum(0)), z = logistic(sum(1)), share = row.z[2 * n + j];
      const T state = std::tanh(row.x[2 * n + j] + r * share);
      put_gates(row, j, r, z, state, share);
      row.h[j] = (T(1) - z) * state + z * row.h_before[j];
    } else if constexpr (kind == RecurrentKind::relu) {
      const T x = sum(0);
      row.h[j] = x < T(0) ? T(0) : x;
    } else {
      row.h[j] = std::tanh(sum(0));
    }
  }

 private:
  __device__ void put_gates(const CellRow<T>& row, std::int64_t j, T a, T b, T c, T d) const {
    row.gates[j] = a;
    row.gates[first.n + j] = b;
    row.gates[2 * first.n + j] = c;
    row.gates[3 * first.n + j] = d;
  }
  __device__ void keep(const CellRow<T>& row, std::int64_t j) const {
    row.h[j] = row.h_before[j];
    if constexpr (kind == RecurrentKind::lstm) row.c[j] = row.c_before[j];
    if constexpr (has_gates(kind)) put_gates(row, j, T(0), T(0), T(0), T(0));
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
    if (lengths != nullptr && lengths[at.quotient] <= step) return pass_on(row, j, given);
    const T dh = given + row.carried_h[j];
    const auto gate = [&](int part) { return row.gates[part * n + j]; };
    if constexpr (kind == RecurrentKind::lstm) {
      const T i = gate(0), f = gate(1), g = gate(2), o = gate(3), level = std::tanh(row.c[j]);
      const T dc = row.carried_c[j] + dh * o * tanh_derivative(level);
      row.dx[j] = dc * g * logistic_derivative(i);
      row.dx[n + j] = dc * row.c_before[j] * logistic_derivative(f);
      row.dx[2 * n + j] = dc * i * tanh_derivative(g);
      row.dx[3 * n + j] = dh * level * logistic_derivative(o);
      row.carried_c[j] = dc * f;
      row.carried_h[j] = 0;
    } else if constexpr (kind == RecurrentKind::gru) {
      const T r = gate(0), z = gate(1), state = gate(2), share = gate(3);
      const T dstate = dh * (T(1) - z) * tanh_derivative(state);
      const T dr = dstate * share * logistic_derivative(r);
      const T dz = dh * (row.h_before[j] - state) * logistic_derivative(z);
      row.dx[j] = row.dz[j] = dr;
      row.dx[n + j] = row.dz[n + j] = dz;
      row.dx[2 * n + j] = dstate;
      row.dz[2 * n + j] = dstate * r;
      row.carried_h[j] = dh * z;
    } else {
      const T h = row.h[j];
      if constexpr (kind == RecurrentKind::relu) {
        row.dx[j] = h > T(0) ? dh : T(0);
      } else {
        row.dx[j] = dh * tanh_derivative(h);
      }
      row.carried_h[j] = 0;
    }
  }

 private:
  __device__ void pass_on(const CellGradRow<T>& row, std::int64_t j, T given) const {
    row.carried_h[j] += given;
    for (int part = 0; part < gate_count(kind); ++part) {
      row.dx[part * first.n + j] = 0;
      if constexpr (kind == RecurrentKind::gru) row.dz[part * first.n + j] = 0;
    }
  }
};

template <template <RecurrentKind, class> class Body, class T, class Row>
void for_kind(const KernelCall& call, const Row& first) {
  const auto& a = call.attributes<RecurrentAttributes>();
  const auto run = [&]<RecurrentKind kind>(std::integral_constant<RecurrentKind, kind>) {
    for_each(call, call.shape(0)[0] * first.n, Body<kind, T>{first, lengths_of(call), a.step});
  };
  switch (a.kind) {
    case RecurrentKind::tanh:
      return run(std::integral_constant<RecurrentKind, RecurrentKind::tanh>());
    case RecurrentKind::relu:
      return run(std::integral_constant<RecurrentKind, RecurrentKind::relu>());
    case RecurrentKind::gru:
      return run(std::integral_constant<RecurrentKind, RecurrentKind::gru>());
    case RecurrentKind::lstm:
      return run(std::integral_constant<RecurrentKind, RecurrentKind::lstm>());
  }
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
